//! Every refusal names file, line, entry, key and remedy.

use super::*;

fn h100(id: &str, rest: &str) -> String {
    price(id, "H100", rest)
}

/// A section's entry with these lines.
fn section(name: &str, lines: &str) -> String {
    format!("[[{name}]]\n{lines}\nfrom = 2026-01-01\n")
}

fn check(table: &[(String, &[&str])]) {
    for (text, parts) in table {
        let error = wrong(text);
        for part in *parts {
            assert!(error.contains(part), "{error}\nlacks {part:?} for\n{text}");
        }
        assert!(error.starts_with("prices.toml:"), "{error}");
    }
}

#[test]
fn of_prices_in_time() {
    check(&[
        (
            h100("a", "from = 2026-01-01") + &h100("b", "from = 2026-01-01"),
            &["prices.toml:6", "prices \"a\" and \"b\" of model \"H100\" overlap", "set `to` of \"a\""],
        ),
        (
            h100("a", "from = 2026-01-01\nto = 2026-03-01") + &h100("b", "from = 2026-02-01"),
            &["prices.toml:7", "\"a\"", "\"b\"", "overlap"],
        ),
        (
            h100("a", "from = 2026-01-01\nto = 2026-02-01") + &h100("b", "from = 2026-03-01"),
            &["no price of model \"H100\"", "between \"a\" and \"b\"", "set `to` of \"a\""],
        ),
        (
            h100("a", "from = 2026-01-01\nqos = [\"low\", \"high\"]")
                + &h100("b", "from = 2026-02-01\nqos = \"low\""),
            &["prices \"a\" and \"b\" of model \"H100\", qos \"low\" overlap"],
        ),
        (
            section(
                "purchase",
                "id = \"p\"\nmodel = \"H100\"\nprice = \"1\"\nlife_years = 1\nexpected_utilisation_percent = 50",
            ) + &h100("b", "from = 2026-01-01"),
            &["prices \"p\" and \"b\"", "overlap"],
        ),
        (
            h100("a", "from = 2026-01-01") + &price("a", "A100", "from = 2026-01-01"),
            &["id \"a\" is used twice"],
        ),
        (h100("a", "from = 2026-01-01T00:05"), &["prices.toml:1", "from of price \"a\"", "quarter hour"]),
        (h100("a", "from = \"soon\""), &["from of price \"a\"", "write 2026-09-16"]),
        (h100("a", "from = 2026-02-01\nto = 2026-01-01"), &["price \"a\" ends at or before its start"]),
        (
            h100("a", "from = 2026-01-01\nprice = 3"),
            &["prices.toml:6", "unknown field `price`", "prices.example.toml"],
        ),
        (h100("a", ""), &["missing field `from`"]),
        (h100("", "from = 2026-01-01"), &["id of price \"\" is empty: give it a text"]),
        (price("a", " ", "from = 2026-01-01"), &["model of price \"a\" is empty"]),
        (price(&"a".repeat(201), "H100", "from = 2026-01-01"), &["write at most 200 bytes"]),
        ("[[price]\n".into(), &["prices.toml:1"]),
    ]);
}

#[test]
fn of_a_price() {
    let bare = |lines: &str| section("price", &format!("id = \"a\"\nmodel = \"H100\"\n{lines}"));
    check(&[
        (bare("per_gpu_hour = 3.50"), &["per_gpu_hour of price \"a\" must be in quotes"]),
        (bare("per_gpu_hour = \"3.5000001\""), &["per_gpu_hour of price \"a\"", "round it to 6"]),
        (bare("per_gpu_hour = \"-1\""), &["is not a price"]),
        (bare("per_gpu_hour = \"1000000001\""), &["check the decimal point"]),
        (bare(""), &["price \"a\" has no price: write one of per_gpu_hour"]),
        (bare("per_gpu_hour = \"1\"\nper_gib_hour = \"1\""), &["has two prices: write only one"]),
        (bare("per_instance_hour = \"1\""), &["no profile: name the MIG profile"]),
        (
            bare("per_instance_hour = \"1\"\nprofile = \"large\""),
            &["profile of price \"a\" is \"large\"", "nvidia-smi"],
        ),
        (
            bare("per_gpu_hour = \"1\"\nprofile = 1"),
            &["profile of price \"a\"", "write one pattern in quotes"],
        ),
        (bare("per_gpu_hour = \"1\"\nqos = []"), &["qos of price \"a\"", "list of 1 to 100"]),
        (bare("per_gpu_hour = \"1\"\ncurrency = \"EURO\""), &["currency of price \"a\"", "ISO 4217"]),
        (
            bare("per_gpu_hour = \"1\"\ncurrency = \"EUR\""),
            &["no exchange rate into USD", "to_currency = \"USD\""],
        ),
        (
            bare("per_gpu_hour = \"1\"\ntenant = \"a b\""),
            &["tenant of price \"a\" is \"a b\"", "write the id"],
        ),
        (bare("per_gpu_hour = \"1\"\ntenant = \"nobody\""), &["tenant \"nobody\"", "add a [[tenant]]"]),
        (bare("per_gpu_hour = \"1\"\npool = \"none\""), &["pool \"none\"", "no [[pool]] of tenants.toml"]),
        (bare("per_gib_hour = \"1\""), &["no basis charges memory", "charge = \"memory\""]),
        (
            bare("per_gpu_hour = \"1\"\nservice_unit = \"SU\""),
            &["names a service_unit and is priced in money"],
        ),
        (bare("service_units_per_gpu_hour = \"1\""), &["there are none: add [[service_unit]]"]),
        (
            bare("service_units_per_gpu_hour = \"1\"\ncurrency = \"EUR\""),
            &["has a currency: write it in [[service_unit]]"],
        ),
    ]);
}

#[test]
fn of_tiers() {
    let tiers = |tiers: &str, mode: &str| {
        section("price", &format!("id = \"a\"\nmodel = \"H100\"\ntiers = [{tiers}]\n{mode}"))
    };
    let graduated = "tier_mode = \"graduated\"";
    let open = "{ per_gpu_hour = \"1\" }";
    check(&[
        (tiers(open, ""), &["has tiers and no tier_mode", "\"volume\""]),
        (tiers(open, "tier_mode = \"steps\""), &["tier_mode of price \"a\" is \"steps\"", "\"graduated\""]),
        (tiers(open, "tier_mode = \"volume\"\nper_gpu_hour = \"1\""), &["a price beside them"]),
        (h100("a", "from = 2026-01-01\ntier_mode = \"volume\""), &["a tier_mode and no tiers"]),
        (tiers("", graduated), &["has 0 tiers: write 1 to 20"]),
        (tiers(&[open; 2].join(", "), graduated), &["no up_to in tier 1"]),
        (tiers("{ up_to = 5, per_gpu_hour = \"1\" }", graduated), &["up_to in its last tier: leave it out"]),
        (
            tiers(
                &format!(
                    "{{ up_to = 5, per_gpu_hour = \"1\" }}, {{ up_to = 5, per_gpu_hour = \"1\" }}, {open}"
                ),
                graduated,
            ),
            &["tier 2 that is not above the one before"],
        ),
        (
            tiers(&format!("{{ up_to = 5, per_gib_hour = \"1\" }}, {open}"), graduated),
            &["tiers of different kinds"],
        ),
        (
            tiers(&format!("{{ up_to = 0, per_gpu_hour = \"1\" }}, {open}"), graduated),
            &["up_to of price \"a\" is \"0\"", "from 0.000000001 to"],
        ),
        (
            tiers(&format!("{{ up_to = 1.5, per_gpu_hour = \"1\" }}, {open}"), graduated),
            &["up_to of price \"a\" must be in quotes"],
        ),
        (tiers("{ up_to = 5 }", graduated), &["has no price"]),
        (tiers("{ upto = 5 }", graduated), &["unknown field `upto`"]),
    ]);
}

#[test]
fn of_discounts_factors_and_energy() {
    let discount = |id: &str, lines: &str| section("discount", &format!("id = \"{id}\"\n{lines}"));
    let factor = |lines: &str| section("mig_factor", &format!("model = \"H100\"\n{lines}"));
    let energy = |lines: &str| section("energy", &format!("id = \"e\"\n{lines}"));
    check(&[
        (discount("d", "percent = \"101\""), &["percent of discount \"d\" is \"101\"", "from 0 to 100"]),
        (discount("d", "percent = \"1.00001\""), &["at most 4 decimals"]),
        (discount("d", "percent = 1.5"), &["percent of discount \"d\" must be in quotes"]),
        (discount("d", "percent = 5\ntenant = \"nobody\""), &["discount \"d\" names tenant \"nobody\""]),
        (
            discount("d", "percent = 5") + &discount("e", "percent = 6"),
            &["discounts \"d\" and \"e\" of model \"*\" overlap"],
        ),
        (factor(""), &["mig_factor 1 has neither preset nor profiles"]),
        (factor("preset = \"memory\""), &["preset of mig_factor 1 is \"memory\"", "\"memory-eighths\""]),
        (factor("profiles = { big = \"0.5\" }"), &["profiles of mig_factor 1 is \"big\"", "nvidia-smi"]),
        (factor("profiles = { \"1g.10gb\" = \"1.1\" }"), &["profiles of mig_factor 1 is \"1.1\"", "to 1"]),
        (factor("profiles = { \"1g.10gb\" = \"0\" }"), &["from 0.000001 to 1"]),
        (
            factor("preset = \"compute-slices\"").repeat(2),
            &["mig_factors \"1\" and \"2\" of model \"H100\" overlap"],
        ),
        (energy("pue = \"0.9\""), &["pue of energy \"e\" is \"0.9\"", "from 1 to 10"]),
        (energy("per_kwh = 0.3"), &["per_kwh of energy \"e\" must be in quotes"]),
        (energy("grams_co2e_per_kwh = \"-1\""), &["grams_co2e_per_kwh of energy \"e\""]),
        (energy("cluster = \"\""), &["cluster of energy \"e\" is empty"]),
    ]);
}

#[test]
fn of_units_purchases_and_rates() {
    let unit = |id: &str, name: &str, rest: &str| {
        format!("[[service_unit]]\nid = \"{id}\"\nname = \"{name}\"\nprice = \"1000000\"\n{rest}\n")
    };
    let in_units = |rest: &str| {
        section(
            "price",
            &format!("id = \"a\"\nmodel = \"H100\"\nservice_units_per_gpu_hour = \"2000\"\n{rest}"),
        )
    };
    let purchase = |lines: &str| {
        section(
            "purchase",
            &format!("id = \"p\"\nmodel = \"H100\"\nexpected_utilisation_percent = 50\n{lines}"),
        )
    };
    let rate = |from: &str, rate: &str, rest: &str| {
        format!(
            "[[exchange_rate]]\nfrom_currency = \"{from}\"\nto_currency = \"USD\"\nrate = \"{rate}\"\nsource = \"ECB\"\ndate = 2026-05-29\n{rest}\n"
        )
    };
    let held = "from = 2026-01-01";
    check(&[
        (
            in_units("") + &unit("u", "SU", held) + &unit("v", "NU", held),
            &["price \"a\"", "several: name one with service_unit"],
        ),
        (
            in_units("service_unit = \"XU\"") + &unit("u", "SU", held),
            &["service_unit \"XU\", which there is none of"],
        ),
        (
            in_units("") + &unit("u", "SU", "from = 2026-02-01"),
            &["service_unit \"SU\" (\"u\" to \"u\") has no price"],
        ),
        (in_units("") + &unit("u", "SU", held), &["price above 1000000000 per GPU-hour"]),
        (
            unit("u", "SU", held) + &unit("v", "SU", held),
            &["prices of service_units \"u\" and \"v\" of \"SU\" overlap"],
        ),
        (purchase("price = \"1\""), &["purchase \"p\" needs one of life_months and life_years"]),
        (purchase("price = \"1\"\nlife_years = 1\nlife_months = 1"), &["needs one of"]),
        (
            purchase("price = \"1\"\nlife_years = \"1.5\""),
            &["life_years of purchase \"p\" is \"1.5\"", "a number whole"],
        ),
        (
            purchase("price = \"1000000000\"\nlife_months = 1").replace("= 50", "= \"0.0001\""),
            &["makes", "above 1000000000: check its figures"],
        ),
        (rate("USD", "1", "period = \"2026-06\""), &["exchange_rate 1 changes a currency into itself"]),
        (rate("EUR", "1.00000000001", "period = \"2026-06\""), &["rate of exchange_rate 1", "10 decimals"]),
        (rate("EUR", "0", "period = \"2026-06\""), &["rate of exchange_rate 1 is \"0\""]),
        (rate("EUR", "1", "period = \"June\""), &["unusable period", "write a month 2026-10"]),
        (rate("EUR", "1", ""), &["needs a period, or a from"]),
        (rate("EUR", "1", "period = \"2026-06\"\nto = 2026-07-01"), &["needs a period, or a from"]),
        (
            rate("EUR", "1", held).replace("2026-05-29", "\"May\""),
            &["date of exchange_rate 1", "such as 2026-09-30"],
        ),
        (rate("EUR", "1", held).replace("ECB", ""), &["source of exchange_rate 1 is empty"]),
        (
            rate("EUR", "1", "period = \"2026-Q2\"") + &rate("EUR", "1", "period = \"2026-06\""),
            &["exchange_rates \"1\" and \"2\" of EUR to USD overlap"],
        ),
        (
            rate("EUR", "1", "period = \"2026-04\"") + &rate("EUR", "1", "period = \"2026-06\""),
            &["no exchange_rate of EUR to USD holds between \"1\" and \"2\""],
        ),
        (
            h100("a", "from = 2026-01-01\ncurrency = \"EUR\"").replace("3.50", "1000000000")
                + &rate("EUR", "1.1", held),
            &["currency \"EUR\", which makes a price above 1000000000 USD"],
        ),
    ]);
}

#[test]
fn of_bases() {
    let basis = |lines: &str| section("basis", lines);
    check(&[
        (basis("charge = \"used\""), &["charge of basis 1 is \"used\"", "\"max\""]),
        (basis("charge = 1"), &["charge of basis 1 is 1"]),
        (basis("charge = { held = \"0.5\" }"), &["without both parts"]),
        (basis("charge = { held = \"0.5\", busy = \"0.4\" }"), &["sum to 1"]),
        (basis("charge = { held = \"0.5\", busy = \"0.5\", memory = \"0\" }"), &["sum to 1"]),
        (
            basis("charge = { held = \"1\", busy = \"0\" }"),
            &["charge of basis 1", "from 0.000001 to 0.999999"],
        ),
        (
            basis("charge = \"held\"\nsharing = \"half\""),
            &["sharing of basis 1 is \"half\"", "\"time-sliced\""],
        ),
        (basis("charge = \"held\"\ntenant = \"nobody\""), &["basis 1 names tenant \"nobody\""]),
        (basis("charge = \"memory\""), &["basis 1 charges memory", "per_gib_hour"]),
        (basis("charge = \"busy\"").repeat(2), &["bases \"1\" and \"2\" of any sharing overlap"]),
        (
            basis("charge = \"busy\"\nsharing = [\"mps\", \"mig\"]")
                + &basis("charge = \"held\"\nsharing = \"mig\""),
            &["bases \"1\" and \"2\"", "overlap"],
        ),
    ]);
}

#[test]
fn without_rules_any_tenant_may_be_named() {
    let text = h100("a", "from = 2026-01-01\ntenant = \"ml-team\"");
    assert!(parse(&text).expect("parses").bind(&usd(), &Tenants::empty()).is_ok());
}
