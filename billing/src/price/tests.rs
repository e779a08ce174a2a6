use super::*;

const EXAMPLE: &str = include_str!("../../prices.example.toml");

fn zone() -> Tz {
    Tz::America__Sao_Paulo
}

fn at(text: &str) -> i64 {
    crate::instant::parse(text, zone()).expect("an instant")
}

fn price(id: &str, model: &str, rest: &str) -> String {
    format!("[[price]]\nid = \"{id}\"\nmodel = \"{model}\"\nper_gpu_hour = \"3.50\"\n{rest}\n")
}

fn parse(text: &str) -> Result<PriceBook, PriceError> {
    PriceBook::parse("prices.toml", text, zone())
}

/// The whole chain, as a person reads it.
fn chain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|s| format!(": {s}")).unwrap_or_default();
    format!("{error}{source}")
}

#[test]
fn the_example_is_a_price_book_whose_prices_follow_each_other() {
    let book = parse(EXAMPLE).expect("the example parses");
    let id = |model: &str, when: &str| match book.lookup(model, at(when)) {
        Lookup::Priced(entry) => entry.id.clone(),
        Lookup::Unpriced(why) => format!("{why:?}"),
    };
    assert_eq!(id("NVIDIA H100 80GB HBM3", "2026-09-15T23:45"), "h100-2026");
    assert_eq!(id("NVIDIA H100 80GB HBM3", "2026-09-16"), "h100-2026-09");
    assert_eq!(id("NVIDIA A100-SXM4-80GB", "2026-12-31T23:45"), "a100");
    assert_eq!(id("NVIDIA A100-SXM4-80GB", "2027-01-01"), "NotAtThisTime");
    assert_eq!(id("NVIDIA L40S", "2025-12-31"), "NotAtThisTime");
    assert_eq!(id("NVIDIA B200", "2026-06-01"), "UnknownModel");
    assert_eq!(book.change_instants(Window::new(at("2026-09-01"), at("2026-10-01"))), [at("2026-09-16")]);
    assert_eq!(book.hash().len(), 64);
}

#[test]
fn the_most_exact_name_that_holds_wins() {
    let text = [
        price("any", "*", "from = 2026-01-01"),
        price("family", "NVIDIA H100*", "from = 2026-01-01"),
        price("one", "NVIDIA H100 NVL", "from = 2026-02-01\nto = 2026-03-01"),
    ]
    .concat();
    let book = parse(&text).expect("parses");
    let id = |model: &str, when: &str| match book.lookup(model, at(when)) {
        Lookup::Priced(entry) => entry.id.clone(),
        Lookup::Unpriced(why) => panic!("{why:?}"),
    };
    assert_eq!(id("NVIDIA H100 NVL", "2026-02-15"), "one");
    assert_eq!(id("NVIDIA H100 NVL", "2026-03-01"), "family");
    assert_eq!(id("Tesla T4", "2026-03-01"), "any");
}

#[test]
fn every_error_names_file_line_entries_and_remedy() {
    let h100 = |id: &str, rest: &str| price(id, "H100", rest);
    for (text, parts) in [
        (
            h100("a", "from = 2026-01-01") + &h100("b", "from = 2026-01-01"),
            &["prices.toml:6", "\"a\"", "\"b\"", "overlap", "set `to` of \"a\""][..],
        ),
        (
            h100("a", "from = 2026-01-01\nto = 2026-03-01") + &h100("b", "from = 2026-02-01"),
            &["prices.toml:7", "\"a\"", "\"b\"", "overlap"],
        ),
        (
            h100("a", "from = 2026-01-01\nto = 2026-02-01") + &h100("b", "from = 2026-03-01"),
            &["no price", "between \"a\" and \"b\""],
        ),
        (
            h100("a", "from = 2026-01-01") + &price("a", "A100", "from = 2026-01-01"),
            &["id \"a\" is used twice"],
        ),
        (h100("a", "from = 2026-01-01T00:05"), &["prices.toml:1", "from of price \"a\"", "quarter hour"]),
        (h100("a", "from = \"soon\""), &["from of price \"a\"", "write 2026-09-16"]),
        (h100("a", "from = 2026-02-01\nto = 2026-01-01"), &["ends at or before its start"]),
        (
            h100("a", "from = 2026-01-01\nprice = 3"),
            &["prices.toml:6", "unknown field `price`", "prices.example.toml"],
        ),
        (h100("a", ""), &["missing field `from`"]),
        (h100("", "from = 2026-01-01"), &["id of price \"\" is empty"]),
        (h100("a", "from = 2026-01-01").replace("\"3.50\"", "3.50"), &["must be in quotes"]),
        (
            h100("a", "from = 2026-01-01").replace("3.50", "3.5000001"),
            &["per_gpu_hour of price \"a\"", "round it to 6"],
        ),
        (h100("a", "from = 2026-01-01").replace("3.50", "-1"), &["is not a price"]),
        ("[[price]\n".into(), &["prices.toml:1"]),
    ] {
        let error = chain(&parse(&text).expect_err(&text));
        for part in parts {
            assert!(error.contains(part), "{error}\nlacks {part:?}");
        }
    }
}
