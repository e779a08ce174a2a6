//! The table for readers: a row a scenario, errors in GPU-seconds. The README carries it, and a run holds it to that.

use super::Row;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- accuracy: begin -->\n";
const END: &str = "<!-- accuracy: end -->";

/// The table as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| scenario | slicemeter held | busy | OpenCost held | dcgm-exporter held | busy | nvitop-exporter held | busy |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let peer = |error: Option<f64>| error.map_or("-".to_owned(), whole);
        let cells = [
            tenth(row.ours_held_s),
            row.ours_busy.to_string(),
            peer(row.opencost_held_s),
            peer(row.dcgm_held_s),
            peer(row.dcgm_busy_s),
            peer(Some(row.nvitop_held_s)),
            peer(row.nvitop_busy_s),
        ];
        writeln!(text, "| {} | {} |", row.title, cells.join(" | ")).expect("a string takes what is written");
    }
    text
}

/// One decimal, none where it is nothing at all.
pub fn tenth(seconds: f64) -> String {
    if seconds == 0.0 { "0".to_owned() } else { format!("{seconds:.1}") }
}

/// Whole seconds, thousands apart.
fn whole(seconds: f64) -> String {
    let digits = format!("{seconds:.0}");
    if digits.len() < 4 {
        return digits;
    }
    let (front, back) = digits.split_at(digits.len() - 3);
    format!("{front},{back}")
}

/// Whether the file's table is this one; with `UPDATE_GOLDEN` set it is written first.
///
/// # Errors
/// The file can't be read or written, or has no place for the table.
pub fn is_in(file: &Path, table: &str) -> Result<bool> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let no_place = || format!("{} has no table between '{}' and '{END}'", file.display(), BEGIN.trim());
    let from = text.find(BEGIN).with_context(no_place)? + BEGIN.len();
    let to = text.find(END).filter(|to| from <= *to).with_context(no_place)?;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, format!("{}{table}{}", &text[..from], &text[to..]))?;
        return Ok(true);
    }
    Ok(&text[from..to] == table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_nothing_at_all_is_told_from_next_to_nothing() {
        assert_eq!([whole(0.4), whole(999.5), whole(5_399.6)], ["0", "1,000", "5,400"]);
        assert_eq!([tenth(0.0), tenth(0.04), tenth(308.57)], ["0", "0.0", "308.6"]);
    }

    #[test]
    fn a_file_is_held_to_the_table_between_its_marks() {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join("README.md");
        std::fs::write(&file, format!("before\n{BEGIN}| a |\n{END}\nafter")).expect("written");
        assert!(is_in(&file, "| a |\n").expect("read"));
        assert!(!is_in(&file, "| b |\n").expect("read"));
        std::fs::write(&file, "no marks").expect("written");
        assert!(is_in(&file, "| a |\n").is_err());
    }
}
