//! The page that works the month: what it quotes is what the golden files say, and what it calculates is true, so that it
//! can't fall behind either.

mod arithmetic;

use super::golden;
use arithmetic::Equation;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The page's text outside its quotations, and its quotations by the file that they name.
struct Page {
    prose: Vec<String>,
    quoted: BTreeMap<String, String>,
}

fn page() -> Page {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/walkthroughs/a-month.md");
    let text = std::fs::read_to_string(path).expect("the page is there");
    let mut page = Page { prose: Vec::new(), quoted: BTreeMap::new() };
    let mut fence: Option<Option<String>> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &fence) {
            (Some(info), None) => fence = Some(info.split_whitespace().nth(1).map(str::to_owned)),
            (Some(_), Some(_)) => fence = None,
            (None, Some(Some(file))) => {
                let quoted = page.quoted.entry(file.clone()).or_default();
                quoted.push_str(line);
                quoted.push('\n');
            }
            (None, Some(None)) => {}
            (None, None) => page.prose.push(line.into()),
        }
    }
    page
}

/// Every golden statement by `MONTH/FILE`.
fn statements() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for month in std::fs::read_dir(golden::folder()).expect("the golden folder").flatten() {
        for file in std::fs::read_dir(month.path()).expect("a month's folder").flatten() {
            let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(file.path()).expect("a statement");
            all.insert(format!("{}/{}", name(&month), name(&file)), text);
        }
    }
    all
}

/// The numbers of a statement's numbered rows, such as `L3`: what a row's first printed line says.
fn rows(statement: &str) -> Vec<(String, BTreeSet<String>)> {
    let is_number = |word: &str| {
        let mut chars = word.chars();
        chars.next().is_some_and(|c| "LPRFACKT".contains(c))
            && word.len() > 1
            && chars.all(|c| c.is_ascii_digit())
    };
    let lines = statement.lines().filter(|line| !line.starts_with(' '));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let number = words.next().filter(|word| is_number(word))?;
            Some((number.to_owned(), words.map(str::to_owned).collect()))
        })
        .collect()
}

/// The calculations of the page: everything in backquotes with an equals sign between spaces, and where.
fn equations(page: &Page) -> Vec<(String, Equation)> {
    let mut all = Vec::new();
    for line in &page.prose {
        for span in line.split('`').skip(1).step_by(2).filter(|span| span.contains(" = ")) {
            let equation = Equation::parse(span).unwrap_or_else(|error| panic!("{span}: {error}"));
            all.push((span.to_owned(), equation));
        }
    }
    all
}

#[test]
fn the_page_quotes_every_statement_of_the_golden_month_as_it_is() {
    let (page, statements) = (page(), statements());
    let names = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(&page.quoted),
        names(&statements),
        "each is quoted once, in a block that names its file"
    );
    for (name, text) in &statements {
        assert!(
            page.quoted[name] == *text,
            "docs/walkthroughs/a-month.md quotes another text of {name}; it is\n{text}"
        );
    }
}

#[test]
fn the_page_calculates_every_posted_row_and_calculates_it_right() {
    let equations = equations(&page());
    for (text, equation) in &equations {
        equation.check().unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    // Each row's amount is what some calculation ends in; where that one has GPU-hours, they are the row's too.
    let results: Vec<(Option<String>, String)> =
        equations.iter().map(|(_, e)| (e.gpu_hours(), e.result())).collect();
    for (name, statement) in statements() {
        for (number, words) in rows(&statement) {
            let worked = results.iter().any(|(hours, result)| {
                words.contains(result) && hours.as_ref().is_none_or(|hours| words.contains(hours))
            });
            assert!(worked, "{name}: row {number} ({words:?}) isn't worked on the page");
        }
    }
}
