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
            "price \"b\" of model \"H100\": 35.01 per GPU-hour (b) after 3.50 per GPU-hour (a) is less than a tenth or more than ten times: correct it, or add jump_confirmed = true to the entry"
        ]
    );
    let confirmed = next("35.01") + "jump_confirmed = true\n";
    assert_eq!(jumps(&confirmed), [""; 0]);
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
        section: "price",
        entries: [before, after]
            .into_iter()
            .flatten()
            .map(|shown| shown[shown.len() - 2..shown.len() - 1].to_owned())
            .collect(),
        from_ms: at(from),
        to_ms,
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    let (a, b) = ("3.50 per GPU-hour (a)", "3.36 per GPU-hour (b)");
    assert_eq!(
        changes(&h100("a", "3.50", "from = 2026-01-01")),
        [Change { entries: vec!["a".into(), "b".into()], ..change("2026-06-16", now, Some(b), Some(a)) }]
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

#[test]
fn history_is_rewritten_with_a_new_reason_only() {
    let metered = Window::new(at("2026-03-01"), at("2026-07-01"));
    let eur = "[[exchange_rate]]\nfrom_currency = \"EUR\"\nto_currency = \"USD\"\nrate = \"1.08\"\nsource = \"ECB\"\ndate = 2026-05-29\nfrom = 2026-01-01\n";
    let change =
        |entry: &str, reason: &str| format!("[[change]]\nentry = \"{entry}\"\nreason = \"{reason}\"\n");
    let a = h100("a", "3.50", "from = 2026-01-01");
    let old = book(&(a.clone() + eur + &change("a", "an older one")));
    let refused = |text: &str| -> Vec<Vec<String>> {
        let text = format!("{text}{}", change("a", "an older one"));
        book(&text).unexplained(&old, metered).into_iter().map(|change| change.entries).collect()
    };
    let dearer = h100("a", "3.60", "from = 2026-01-01");
    let none: [[&str; 1]; 0] = [];
    for (what, text, want) in [
        ("nothing", a.clone() + eur, &none[..]),
        ("to come", a.clone() + eur + &h100("b", "3.60", "from = 2026-07-01"), &none),
        ("ended to come", h100("a", "3.50", "from = 2026-01-01\nto = 2026-08-01") + eur, &none),
        ("before anything was metered", h100("a", "3.50", "from = 2026-02-01") + eur, &none),
        ("another name", h100("z", "3.50", "from = 2026-01-01") + eur, &none),
        ("a model without a price", a.clone() + eur + &price("n", "B200", "from = 2026-01-01"), &none),
        ("dearer", dearer.clone() + eur, &[["a"]]),
        ("dearer, with the old reason", dearer.clone() + eur + &change("a", "an older one"), &[["a"]]),
        ("dearer, with another's reason", dearer.clone() + eur + &change("b", "why"), &[["a"]]),
        ("dearer, with a reason", dearer + eur + &change("a", "typed wrong"), &none),
        ("gone", eur.to_owned(), &[["a"]]),
        ("gone, with a reason", eur.to_owned() + &change("a", "never agreed"), &none),
        ("ended in the past", h100("a", "3.50", "from = 2026-01-01\nto = 2026-06-01") + eur, &[["a"]]),
        ("a price of its own beside it", a.clone() + eur + &price("p", "H1*", "from = 2026-06-01"), &[["p"]]),
        ("a rate", a.clone() + &eur.replace("1.08", "1.09"), &[["exchange_rate 1"]]),
        (
            "a rate, with a reason",
            a + &eur.replace("1.08", "1.09") + &change("exchange_rate 1", "ECB"),
            &none,
        ),
    ] {
        assert_eq!(refused(&text), want, "{what}");
    }
    let change = &book(&h100("a", "3.60", "from = 2026-01-01"))
        .unexplained(&book(&h100("a", "3.50", "from = 2026-01-01")), metered)[0];
    assert_eq!(
        change.describe(chrono_tz::Tz::America__Sao_Paulo),
        "price of model \"H100\": from 2026-01-01 00:00 to 2026-07-01 00:00 it was 3.50 per GPU-hour (a) and would be 3.60 per GPU-hour (a), and that time is metered: take it back, or say why in a [[change]] with entry = \"a\" and reason = \"...\""
    );
}
