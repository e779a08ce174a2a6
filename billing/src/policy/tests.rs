use super::*;
use crate::price::PriceBook;

const EXAMPLE: &str = include_str!("../../prices.example.toml");
const TENANTS: &str = include_str!("../../tenants.example.toml");

fn zone() -> chrono_tz::Tz {
    chrono_tz::Tz::America__Sao_Paulo
}

fn at(text: &str) -> i64 {
    crate::instant::parse(text, zone()).expect("an instant")
}

fn tenants() -> Tenants {
    Tenants::parse("tenants.toml", TENANTS, zone()).expect("tenants")
}

/// The whole chain of an error, as a person reads it.
fn read(text: &str) -> Result<Policies, String> {
    match PriceBook::parse("prices.toml", text, zone()) {
        Ok(book) => Ok(book.policies().clone()),
        Err(error) => {
            let source = std::error::Error::source(&error).map(|s| format!(": {s}")).unwrap_or_default();
            Err(format!("{error}{source}"))
        }
    }
}

fn entry(section: &str, id: &str, rest: &str) -> String {
    format!("[[{section}]]\nid = \"{id}\"\nfrom = 2026-01-01\n{rest}\n")
}

fn reservation(id: &str, rest: &str) -> String {
    entry("reservation", id, &format!("tenant = \"vision\"\nper_gpu_hour = \"3.00\"\n{rest}"))
}

#[test]
fn the_examples_entries_are_right_once_their_comment_is_taken_away() {
    let policies = read(&EXAMPLE.replace("#|", "")).unwrap_or_else(|e| panic!("{e}"));
    policies.check_against(&tenants()).expect("the example's tenants and pools");
    let counts = [
        policies.reservations.len(),
        policies.fees.len(),
        policies.overheads.len(),
        policies.allocations.len(),
        policies.pool_owners.len(),
        policies.credit_rules.len(),
        policies.taxes.len(),
    ];
    assert!(counts.iter().all(|count| *count > 0), "the example shows every section: {counts:?}");
}

#[test]
fn every_instant_at_which_an_entry_starts_or_ends_cuts_hours() {
    let text = reservation("a", "devices = [\"GPU-1\"]\nto = 2026-09-10")
        + &entry("overhead", "b", "what = \"net\"\nper_month = \"1\"\nto = 2026-09-20T06:15");
    let window = Window::new(at("2026-09-01"), at("2026-10-01"));
    let book = PriceBook::parse("prices.toml", &text, zone()).expect("parses");
    assert_eq!(book.change_instants(window), [at("2026-09-10"), at("2026-09-20T06:15")]);
}

#[test]
fn an_owners_use_of_a_device_reserved_by_name_has_the_reservations_price() {
    let policies = read(
        &reservation("a", "devices = [\"GPU-1\", \"GPU-2\"]\nto = 2026-09-10")
            .replace("\"vision\"", "\"research\""),
    )
    .expect("parses");
    let price = |device: &str, tenant: &str, when: &str| {
        let tenant = TenantId::parse(tenant).expect("an id");
        policies.reserved_price(device, &tenant, at(when), &tenants()).map(|r| r.per_gpu_hour.to_string())
    };
    assert_eq!(price("GPU-2", "research", "2026-09-09"), Some("3.00".into()));
    // A tenant below the owner; a tenant beside it; another device; another time.
    assert_eq!(price("GPU-2", "vision", "2026-09-09"), Some("3.00".into()));
    assert_eq!(price("GPU-2", "robotics", "2026-09-09"), None);
    assert_eq!(price("GPU-3", "vision", "2026-09-09"), None);
    assert_eq!(price("GPU-2", "vision", "2026-09-10"), None);
    let ended = read(&reservation("a", "devices = [\"GPU-1\"]").replace("\"vision\"", "\"robotics\""));
    let robotics = TenantId::parse("robotics").expect("an id");
    let of = |when| ended.as_ref().expect("parses").reserved_price("GPU-1", &robotics, at(when), &tenants());
    assert!(of("2026-10-31").is_some() && of("2026-11-01").is_none(), "a reservation ends with its owner");
}

#[test]
fn names_are_checked_against_the_tenants_file_and_any_will_do_without_one() {
    let unknown = reservation("a", "devices = [\"GPU-1\"]").replace("\"vision\"", "\"visoin\"");
    let policies = read(&unknown).expect("parses");
    let error = policies.check_against(&tenants()).expect_err("no such tenant").to_string();
    for part in ["prices.toml:1", "tenant of reservation \"a\" is visoin", "add a [[tenant]]"] {
        assert!(error.contains(part), "{error}\nlacks {part:?}");
    }
    policies.check_against(&Tenants::empty()).expect("names come from namespaces");
    let pool =
        read(&reservation("a", "model = \"NVIDIA H100*\"\ncount = 1\npool = \"h100\"")).expect("parses");
    let error = pool.check_against(&tenants()).expect_err("no such pool").to_string();
    assert!(error.contains("pool of reservation \"a\" is \"h100\"") && error.contains("[[pool]]"), "{error}");
}

#[test]
fn every_error_names_file_line_entry_key_and_remedy() {
    let device = "devices = [\"GPU-1\"]";
    let free = |id: &str, rest: &str| entry("allocation", id, &format!("cost = \"free\"\n{rest}"));
    for (text, parts) in [
        (
            reservation("a", device) + &reservation("b", "devices = [\"GPU-0\", \"GPU-1\"]"),
            &["prices.toml:7", "reservation \"a\" and reservation \"b\"", "device GPU-1", "set `to`"][..],
        ),
        (
            reservation("a", device) + &entry("overhead", "a", "what = \"x\"\nper_month = \"1\""),
            &["\"a\" is used twice"],
        ),
        (reservation("a", "model = \"NVIDIA H100*\""), &["reservation \"a\" must say what is reserved"]),
        (reservation("a", "devices = []"), &["empty list of devices"]),
        (reservation("a", "devices = [\"GPU-1\"]\npool = \"a100\""), &["remove pool"]),
        (
            reservation("a", "model = \"NVIDIA H100*\"\ncount = 0"),
            &["count of reservation \"a\" is 0", "1 to 1000000"],
        ),
        (
            reservation("a", device).replace("\"3.00\"", "3.00"),
            &["per_gpu_hour of reservation \"a\"", "in quotes"],
        ),
        (reservation("a", device).replace("\"3.00\"", "\"3.0000001\""), &["per_gpu_hour", "round it to 6"]),
        (
            reservation("a", device).replace("2026-01-01", "2026-01-01T00:05"),
            &["from of reservation \"a\"", "quarter"],
        ),
        (reservation("a", &format!("{device}\nto = 2025-01-01")), &["ends at or before its start"]),
        (
            reservation("a", &format!("{device}\nprice = 3")),
            &["unknown field `price`", "prices.example.toml"],
        ),
        (reservation(" ", device), &["id of reservation \" \" is empty"]),
        (reservation("a", device).replace("\"vision\"", "\"platform\""), &["platform, which is no tenant"]),
        (
            reservation("a", device).replace("\"vision\"", "\"two words\""),
            &["tenant of reservation \"a\"", "can't be"],
        ),
        (
            entry("fee", "f", "tenant = \"*\"\nwhat = \"x\"\nper_unit = \"5\""),
            &["either per_month, or per_unit and units"],
        ),
        (
            entry("fee", "f", "tenant = \"*\"\nwhat = \"\"\nper_month = \"5\""),
            &["what of fee \"f\" is empty"],
        ),
        (
            free("a", "by = \"waste\""),
            &["by of allocation \"a\" is \"waste\"", "\"usage\"", "table of shares"],
        ),
        (free("a", "by = 3"), &["by of allocation \"a\" is \"3\""]),
        (free("a", "by = { vision = \"0.6\", speech = \"0.3\" }"), &["sum to 0.90", "to 1 or to 100"]),
        (
            free("a", "by = { vision = 0.6, speech = 0.4 }"),
            &["by.speech of allocation \"a\" must be in quotes"],
        ),
        (free("a", "by = \"even\"\ntenant = \"vision\""), &["remove tenant"]),
        (
            free("a", "by = \"even\"").replace("free", "idle"),
            &["cost of allocation \"a\" is \"idle\"", "\"stranded\""],
        ),
        (free("a", "by = \"even\"").replace("free", "shared"), &["name it with tenant"]),
        (free("a", "by = \"even\"\npool = \"a100\"").replace("free", "overhead"), &["remove pool and model"]),
        (free("a", "by = \"owner\"").replace("free", "overhead"), &["choose another `by`"]),
        (
            free("a", "by = \"even\"\nmodel = \"NVIDIA*\"")
                + &free("b", "by = \"usage\"\nmodel = \"NVIDIA*\""),
            &["allocation \"a\" and allocation \"b\"", "free cost of NVIDIA*", "2026-01-01 00:00"],
        ),
        (
            "[[pool_owner]]\npool = \"p\"\ntenant = \"vision\"\nfrom = 2026-01-01\nto = 2026-03-01\n\
             [[pool_owner]]\npool = \"p\"\ntenant = \"speech\"\nfrom = 2026-02-01\n"
                .into(),
            &["prices.toml:6", "the owner of pool p at 2026-02-01"],
        ),
        (entry("credit_rule", "c", "cap_hours = 4\nreasons = []"), &["would never propose"]),
        (
            entry("credit_rule", "c", "cap_hours = 4\nreasons = [\"bad luck\"]"),
            &["\"bad luck\"", "\"fatal-xid\""],
        ),
        (entry("credit_rule", "c", "cap_hours = 800\nreasons = [\"gpu-lost\"]"), &["cap_hours", "1 to 744"]),
        (entry("tax", "t", "tenant = \"*\"\nwhat = \"VAT\""), &["either percent", "reverse_charge"]),
        (entry("tax", "t", "tenant = \"*\"\nwhat = \"VAT\"\npercent = \"1900\""), &["above 100 percent"]),
        (
            entry("tax", "t", "tenant = \"*\"\nwhat = \"VAT\"\npercent = \"19\"")
                + &entry("tax", "u", "tenant = \"*\"\nwhat = \"VAT\"\npercent = \"16\""),
            &["tax \"t\" and tax \"u\"", "VAT of everyone"],
        ),
    ] {
        let error = read(&text).expect_err(&text);
        assert!(error.contains("prices.toml:"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{error}\nlacks {part:?}");
        }
    }
}

#[test]
fn entries_that_follow_each_other_or_say_different_things_stand_side_by_side() {
    let free =
        |id: &str, rest: &str| entry("allocation", id, &format!("cost = \"free\"\nby = \"even\"\n{rest}"));
    let text = reservation("a", "devices = [\"GPU-1\"]\nto = 2026-09-10")
        + &reservation("b", "devices = [\"GPU-1\"]").replace("2026-01-01", "2026-09-10")
        + &free("c", "to = 2026-09-10")
        + &free("d", "pool = \"a100\"")
        + &free("e", "").replace("2026-01-01", "2026-09-10")
        + &entry("tax", "f", "tenant = \"*\"\nwhat = \"VAT\"\npercent = \"5\"")
        + &entry("tax", "g", "tenant = \"*\"\nwhat = \"surcharge\"\npercent = \"1.5\"");
    let policies = read(&text).unwrap_or_else(|e| panic!("{e}"));
    let reserved = |when| policies.reservation_of("GPU-1", at(when)).map(|r| r.id.as_str());
    assert_eq!([reserved("2026-09-09"), reserved("2026-09-10")], [Some("a"), Some("b")]);
}
