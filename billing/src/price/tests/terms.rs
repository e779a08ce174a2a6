//! What prices are made of besides entries: units, rates, energy, purchases; and what is charged.

use super::*;
use crate::money::Amount;
use schema::units::NanoGpuHours;

#[test]
fn the_example_is_a_price_book_of_every_section() {
    // As it is, and with all that is commented out in it.
    let plain = parse(EXAMPLE).expect("the example parses");
    assert_eq!(plain.entries().len(), 4);
    let parsed = parse(&EXAMPLE.replace("#|", "")).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let example = include_str!("../../../tenants.example.toml");
    let tenants = Tenants::parse("tenants.toml", example, zone()).expect("tenants");
    let bound = parsed.bind(&usd(), &tenants).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let id = |model: &str, when: &str| match bound.lookup(model, at(when)) {
        Lookup::Priced(entry) => entry.id.clone(),
        Lookup::Unpriced(why) => format!("{why:?}"),
    };
    assert_eq!(id("NVIDIA H100 80GB HBM3", "2026-09-15T23:45"), "h100-2026");
    assert_eq!(id("NVIDIA H100 80GB HBM3", "2026-09-16"), "h100-2026-09");
    assert_eq!(id("NVIDIA A100-SXM4-80GB", "2026-12-31T23:45"), "a100");
    assert_eq!(id("NVIDIA A100-SXM4-80GB", "2027-01-01"), "NotAtThisTime");
    assert_eq!(id("NVIDIA L40S", "2025-12-31"), "NotAtThisTime");
    assert_eq!(id("NVIDIA B200", "2026-06-01"), "UnknownModel");
    assert_eq!(bound.hash().len(), 64);
    let terms = &bound.terms;
    let sections = [
        terms.entries.len(),
        terms.discounts.len(),
        terms.mig_factors.len(),
        terms.service_units.len(),
        terms.energies.len(),
        terms.exchange_rates.len(),
        terms.bases.len(),
    ];
    assert!(sections.iter().all(|entries| *entries > 0), "{sections:?}");
}

#[test]
fn every_edge_of_every_section_is_a_change_instant() {
    let text = price("p", "H100", "from = 2026-01-01\nto = 2026-12-01")
        + r#"
        [[discount]]
        id = "d"
        percent = "5"
        from = 2026-02-01
        [[mig_factor]]
        model = "H100"
        preset = "memory-eighths"
        from = 2026-03-01
        [[service_unit]]
        id = "su"
        name = "SU"
        price = "0.05"
        from = 2026-04-01
        [[energy]]
        id = "e"
        from = 2026-05-01
        [[exchange_rate]]
        from_currency = "EUR"
        to_currency = "USD"
        rate = "1.08"
        source = "ECB"
        date = 2026-05-29
        period = "2026-06"
        [[basis]]
        charge = "busy"
        from = 2026-08-01
    "#;
    let changes = book(&text).change_instants(Window::new(at("2026-01-01"), at("2027-01-01")));
    let want: Vec<i64> = [2, 3, 4, 5, 6, 7, 8, 12].iter().map(|m| at(&format!("2026-{m:02}-01"))).collect();
    assert_eq!(changes, want);
}

#[test]
fn service_units_have_weights_by_model_and_a_price_that_changes() {
    let text = r#"
        [[price]]
        id = "h100"
        model = "H100"
        service_units_per_gpu_hour = "2.5"
        from = 2026-02-01
        [[price]]
        id = "a100"
        model = "A100"
        service_units_per_gpu_hour = "1.000001"
        from = 2026-02-01
        [[service_unit]]
        id = "su-1"
        name = "SU"
        price = "1.50"
        from = 2026-01-01
        [[service_unit]]
        id = "su-2"
        name = "SU"
        price = "1.60"
        from = 2026-07-01
    "#;
    let book = book(text);
    assert_eq!(Ask::default().rate(&book), "h100: 3.75 of 3.75 per GPU-h");
    assert_eq!(Ask { at: "2026-07-01", ..Ask::default() }.rate(&book), "h100: 4.00 of 4.00 per GPU-h");
    // 1.5000015 lies between two prices of 6 decimals; the even one is taken.
    assert_eq!(Ask { model: "A100", ..Ask::default() }.rate(&book), "a100: 1.500002 of 1.500002 per GPU-h");
    let told = Ask::default().of(|asked| book.derivation(asked, Measure::Time, 0));
    assert_eq!(told, ["h100 2.50 SU per GPU-hour: 2.50", "x 1.50 a SU (su-1) = 3.75"]);
}

const EURO: &str = r#"
[[price]]
id = "euro"
model = "H100"
per_gpu_hour = "3.00"
currency = "EUR"
from = 2026-01-01
[[exchange_rate]]
from_currency = "EUR"
to_currency = "USD"
rate = "1.08255"
source = "ECB"
date = 2026-05-29
period = "2026-06"
"#;

#[test]
fn a_price_in_another_currency_needs_a_rate_that_holds() {
    let book = book(EURO);
    assert_eq!(Ask::default().rate(&book), "euro: 3.24765 of 3.24765 per GPU-h");
    assert_eq!(Ask { at: "2026-07-01", ..Ask::default() }.rate(&book), "NoExchangeRate");
    let told = Ask::default().of(|asked| book.derivation(asked, Measure::Time, 0));
    assert_eq!(told[1], "at 1 EUR = 1.08255 USD (ECB, 2026-05-29) = 3.24765 USD");
    // The same price where the service's currency is its own.
    let eur = Currency::parse("EUR").expect("a currency");
    let own = parse(EURO).expect("parses").bind(&eur, &tenants()).expect("binds");
    assert_eq!(Ask { at: "2026-07-01", ..Ask::default() }.rate(&own), "euro: 3.00 of 3.00 per GPU-h");
}

#[test]
fn an_amount_is_changed_by_the_rate_of_its_period_and_a_missing_one_is_an_error() {
    let book = book(EURO);
    let [eur, usd, jpy] = ["EUR", "USD", "JPY"].map(|c| Currency::parse(c).expect("a currency"));
    let june = crate::period::Period::parse("2026-06", zone()).expect("a period").window();
    let rate = book.exchange_over(&eur, &usd, june).expect("a rate");
    assert_eq!(rate.amount(Amount(10_000)), Amount(10_826));
    assert_eq!(rate.amount(Amount(-10_000)), Amount(-10_826));
    assert_eq!(book.exchange(&eur, &usd, at("2026-06-30T23:45")), Ok(rate));
    let yen = ExchangeRate { to: jpy.clone(), rate_e10: 1_650_000_000_000, ..rate.clone() };
    assert_eq!(yen.amount(Amount(150)), Amount(248));
    let back = ExchangeRate { from: jpy, to: usd.clone(), rate_e10: 61_250_000, ..rate.clone() };
    assert_eq!(back.amount(Amount(1000)), Amount(612));

    let july = crate::period::Period::parse("2026-07", zone()).expect("a period").window();
    let missing = book.exchange_over(&eur, &usd, july).expect_err("no rate of July").to_string();
    assert_eq!(
        missing,
        "no exchange rate from EUR to USD holds over all of 2026-07-01T03:00Z..2026-08-01T03:00Z: add [[exchange_rate]] with from_currency = \"EUR\", to_currency = \"USD\", its rate, source and date to prices.toml"
    );
    assert!(
        book.exchange(&usd, &eur, at("2026-06-15"))
            .expect_err("no way back")
            .to_string()
            .contains("at 2026-")
    );
}

#[test]
fn a_bought_device_has_a_price_that_shows_how_it_came_about() {
    let text = r#"
        [[purchase]]
        id = "bought"
        model = "H100"
        price = "32000"
        life_years = 4
        expected_utilisation_percent = "70"
        from = 2026-01-01
    "#;
    let book = book(text);
    // 32,000 / (4 x 8,760 x 0.7)
    assert_eq!(Ask::default().rate(&book), "bought: 1.304631 of 1.304631 per GPU-h");
    assert_eq!(
        book.entry("bought").expect("an entry").derivation().expect("a derivation"),
        "32000.00 over 48 months of 730 h at 70 % expected utilisation = 1.304631 per GPU-hour"
    );
}

#[test]
fn energy_is_what_the_site_drew_and_free_of_charge_without_a_price() {
    let text = r#"
        [[energy]]
        id = "shown"
        from = 2026-01-01
        [[energy]]
        id = "berlin"
        cluster = "berlin"
        per_kwh = "0.30"
        pue = "1.25"
        grams_co2e_per_kwh = "380.5"
        from = 2026-01-01
    "#;
    let book = book(text);
    let of = |cluster| book.energy(cluster, at("2026-06-15")).expect("energy");
    let (shown, berlin) = (of("oslo"), of("berlin"));
    // 2 kWh of devices.
    let drawn = (shown.nano_kwh(7_200_000_000), berlin.nano_kwh(7_200_000_000));
    assert_eq!(drawn, (2_000_000_000, 2_500_000_000));
    assert_eq!((shown.price().0, shown.mg_co2e(drawn.0)), (0, None));
    assert_eq!(berlin.cost(drawn.1).round_half_even(&usd()), Amount(75));
    assert_eq!(berlin.mg_co2e(drawn.1), Some(951_250));
    assert_eq!(berlin.describe(), "0.30 per kWh, PUE 1.25, 380.5 g CO2e per kWh");
    assert!(book.energy("berlin", at("2025-12-31")).is_none());
}

#[test]
fn memory_is_priced_apart_from_time() {
    let text = price("time", "H100", "from = 2026-01-01")
        + "[[price]]\nid = \"mem\"\nmodel = \"H100\"\nper_gib_hour = \"0.04\"\nfrom = 2026-01-01\n[[basis]]\nsharing = \"time-sliced\"\ncharge = \"memory\"\nfrom = 2026-01-01\n";
    let book = book(&text);
    assert_eq!(Ask::default().rate(&book), "time: 3.50 of 3.50 per GPU-h");
    let memory = Ask::default().of(|asked| book.memory_rate(asked, 0)).expect("a price");
    assert_eq!((memory.entry.as_str(), memory.unit), ("mem", crate::charge::Unit::GibHour));
    assert_eq!(gib_hours_nano(1 << 30), 278);
}

#[test]
fn the_basis_is_held_unless_the_nearest_tenant_and_the_sharing_say_otherwise() {
    let text = r#"
        [[basis]]
        sharing = ["time-sliced", "mps"]
        charge = "max"
        from = 2026-01-01
        [[basis]]
        tenant = "research"
        charge = "busy"
        from = 2026-01-01
        [[basis]]
        tenant = "research"
        sharing = "mig"
        charge = { held = "0.25", busy = "0.75" }
        from = 2026-01-01
        to = 2026-07-01
    "#;
    let book = book(text);
    let of = |tenant, sharing, when| {
        Ask { tenant, at: when, ..Ask::default() }
            .of(|asked| book.basis(sharing, asked.path, asked.at_ms))
            .to_string()
    };
    for (tenant, sharing, when, want) in [
        ("sales", Sharing::Whole, "2026-06-15", "held"),
        ("sales", Sharing::Mps, "2026-06-15", "max(held, busy)"),
        ("vision", Sharing::Mps, "2026-06-15", "busy"),
        ("vision", Sharing::Mig, "2026-06-15", "25 % held + 75 % busy"),
        ("vision", Sharing::Mig, "2026-07-01", "busy"),
        ("vision", Sharing::Mig, "2025-07-01", "held"),
    ] {
        assert_eq!(of(tenant, sharing, when), want, "{tenant} {sharing:?} {when}");
    }
    let blend = Basis::Blend { held_e6: 250_000, busy_e6: 750_000 };
    let json = serde_json::to_string(&blend).expect("writes");
    assert_eq!(serde_json::from_str::<Basis>(&json).expect("reads"), blend);
}

#[test]
fn a_basis_that_looks_at_busy_time_is_refused_where_it_is_not_measured() {
    let blend = Basis::Blend { held_e6: 500_000, busy_e6: 500_000 };
    let n = NanoGpuHours;
    for (basis, known, unknown) in [
        (Basis::Held, Ok(7), Ok(7)),
        (Basis::Memory, Ok(7), Ok(7)),
        (Basis::Busy, Ok(10), Err(())),
        (Basis::Max, Ok(10), Err(())),
        // 8.5 goes to the even one.
        (blend, Ok(8), Err(())),
    ] {
        let charged = |rest| basis.charged(n(7), n(10), n(rest)).map(|c| c.0).map_err(|_| ());
        assert_eq!((charged(0), charged(1)), (known, unknown), "{basis}");
    }
    let refused = Basis::Busy.charged(n(7), n(2), n(5)).expect_err("unknown use").to_string();
    assert_eq!(
        refused,
        "the basis busy needs busy time, which is unknown for 0.000000005 GPU-hours: charge these held with [[basis]] of prices.toml"
    );
}
