//! One version against another, and against the fleet.

use super::*;

fn h100(id: &str, price: &str, rest: &str) -> String {
    format!("[[price]]\nid = \"{id}\"\nmodel = \"H100\"\nper_gpu_hour = \"{price}\"\n{rest}\n")
}

#[test]
fn a_price_beyond_ten_times_the_last_is_to_be_confirmed() {
    let old = book(&h100("a", "3.50", "from = 2026-01-01"));
    let jumps = |text: &str| book(text).jumps(&old).iter().map(ToString::to_string).collect::<Vec<_>>();
    let next = |price: &str| h100("a", "3.50", "from = 2026-01-01") + &h100("b", price, "from = 2026-07-01");
    assert_eq!(jumps(&next("35")), [""; 0]);
    assert_eq!(jumps(&next("0.35")), [""; 0]);
    assert_eq!(
        jumps(&next("35.01")),
        [
            "price \"b\" of model \"H100\": 35.01 per GPU-hour (b) after 3.50 per GPU-hour (a), outside a tenth to ten times"
        ]
    );
    assert_eq!(jumps(&next("0.349999")).len(), 1);
    assert_eq!(jumps(&next("0")).len(), 1);
    assert_eq!(jumps(&h100("a", "350", "from = 2026-01-01")).len(), 1);
    // Another currency is another figure, and a new model has no last one.
    let other = "[[price]]\nid = \"n\"\nmodel = \"B200\"\nper_gpu_hour = \"1000\"\nfrom = 2026-01-01\n";
    assert_eq!(jumps(other), [""; 0]);
}

#[test]
fn what_changed_in_the_past_is_listed_and_what_is_to_come_is_not() {
    let old = book(&(h100("a", "3.50", "from = 2026-01-01") + &h100("b", "3.36", "from = 2026-06-16")));
    let now = at("2026-07-01");
    let changes = |text: &str| book(text).changes(&old, now);
    let unchanged = h100("renamed", "3.50", "from = 2026-01-01") + &h100("b", "3.36", "from = 2026-06-16");
    assert_eq!(changes(&(unchanged.clone() + &h100("c", "9.00", "from = 2026-07-01"))), []);
    let change = |from: &str, to_ms, before: Option<&str>, after: Option<&str>| Change {
        what: "price of model \"H100\"".into(),
        from_ms: at(from),
        to_ms,
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    let (a, b) = ("3.50 per GPU-hour (a)", "3.36 per GPU-hour (b)");
    assert_eq!(
        changes(&h100("a", "3.50", "from = 2026-01-01")),
        [change("2026-06-16", now, Some(b), Some(a))]
    );
    assert_eq!(
        changes(&h100("b", "3.36", "from = 2026-06-16")),
        [change("2026-01-01", at("2026-06-16"), Some(a), None)]
    );
    assert_eq!(changes("").len(), 2);
    let less = unchanged + "[[discount]]\nid = \"d\"\npercent = \"5\"\nfrom = 2026-06-01\n";
    assert_eq!(changes(&less)[0].what, "discount of model \"*\"");
    assert_eq!(changes(&less)[0].after.as_deref(), Some("5 % (d)"));
}

#[test]
fn entries_that_price_nothing_that_was_seen_are_found() {
    let book =
        book(&(h100("a", "3.50", "from = 2026-01-01") + &price("typo", "NVIDA*", "from = 2026-01-01")));
    let matched = book.matched(["H100", "H200", "H100"]);
    let shown: Vec<String> = matched.iter().map(|m| format!("{} {}", m.entry, m.models.join(","))).collect();
    assert_eq!(shown, ["a H100", "typo "]);
}
