//! What holds of any usage: sums, roundings, and that grouping and order change nothing.

mod worked;

use billing::money::{Amount, Currency, Exact};
use billing::rating::{RateError, Rules, rate};
use billing::statement::{Mode, Statement, prepare};
use billing::tenant::Tenants;
use billing::usage::{DeviceTotal, UsageTotal};
use proptest::prelude::*;
use schema::units::NanoGpuHours;
use worked::{Kind, MIG, NEW, SLICED, SLOTTED, WHOLE, context, halves, owners, prices, tenants, used};

fn usd() -> Currency {
    Currency::parse("USD").expect("a currency")
}

/// Rows of anybody on any device, and the devices that they add up to.
fn month() -> impl Strategy<Value = (Vec<UsageTotal>, Vec<DeviceTotal>)> {
    let kinds = prop::sample::select(vec![WHOLE, MIG, SLICED, SLOTTED, NEW]);
    let names = prop::sample::select(vec!["vision", "vision-dev", "speech", "stranger", ""]);
    let row = (kinds, 0usize..2, names, 0i64..700, 0i64..40_000_000_000, 0u8..=100, any::<bool>()).prop_map(
        |(kind, half, name, hours, held, busy_percent, known): (Kind, _, _, _, i64, u8, bool)| {
            let busy = held * i64::from(busy_percent) / 100;
            if known {
                used(kind, half, name, hours, held, busy, 0)
            } else {
                used(kind, half, name, hours, held, 0, held)
            }
        },
    );
    (prop::collection::vec(row, 0..9), any::<u32>()).prop_map(|(usage, odd)| {
        let devices = devices_of(&usage, i64::from(odd % 1_000_000));
        (usage, devices)
    })
}

fn devices_of(usage: &[UsageTotal], odd: i64) -> Vec<DeviceTotal> {
    let mut devices = worked::devices();
    for device in &mut devices {
        let here = || usage.iter().filter(|u| u.device == device.device && u.segment == device.segment);
        device.held = here().map(|u| u.held).sum();
        device.busy = here().map(|u| u.busy).sum();
        device.unknown = here().map(|u| u.unknown).sum();
        (device.ghost, device.stranded) = (NanoGpuHours(0), NanoGpuHours(odd));
        (device.unavailable, device.unobserved) = (NanoGpuHours(odd * 3), NanoGpuHours(odd * 7));
        let observed = device.capacity - device.unavailable - device.unobserved;
        device.free = observed - device.held - device.stranded;
        device.not_busy = observed - device.busy - device.unknown;
    }
    devices
}

fn check_statement(statement: &Statement) -> Result<(), TestCaseError> {
    let priced = || statement.lines.iter().filter(|l| l.amount.is_some());
    let exact: Exact = priced().filter_map(|l| l.exact).sum();
    let totals = &statement.totals;
    prop_assert_eq!(totals.amount, priced().filter_map(|l| l.amount).sum::<Amount>());
    prop_assert_eq!(exact + totals.rounding, totals.amount.exact(&statement.currency));
    // Half a cent a line at most.
    prop_assert!(totals.rounding.0.abs() * 2 <= 10i128.pow(13) * statement.lines.len() as i128);
    let went = &statement.where_it_went;
    prop_assert_eq!(went.busy + went.not_busy + went.unknown, totals.amount);
    prop_assert!(went.busy.0 >= 0 && went.not_busy.0 >= 0 && went.unknown.0 >= 0);
    prop_assert!(statement.proof.iter().all(|row| row.adds_up()));
    let yours: NanoGpuHours = statement.proof.iter().map(|row| row.yours).sum();
    prop_assert_eq!(yours, totals.quantity);
    for line in &statement.lines {
        prop_assert_eq!(line.busy_held() + line.not_busy_held() + line.unknown_held(), line.sums.held);
        prop_assert_eq!(line.exact.is_none(), line.key.model == worked::B200);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_statement_sums_and_all_of_them_are_the_fleet((usage, devices) in month()) {
        let rated = rate(&usage, &devices, &owners(), Rules { tenants: &tenants(), prices: &prices() }, &usd()).expect("rates");
        let bill = prepare(&context(Mode::Chargeback), &rated, &devices, &tenants());
        bill.tenants.iter().try_for_each(check_statement)?;
        prop_assert!(bill.fleet.adds_up());
        // The same money by model, by tenant, by anything: groups sum posted lines.
        let mut by_model = std::collections::BTreeMap::<&str, Amount>::new();
        let lines = bill.tenants.iter().flat_map(|s| &s.lines).chain(&bill.platform.unattributed);
        for (model, amount) in lines.map(|l| (l.key.model.as_str(), l.amount)).chain(bill.platform.lines.iter().map(|l| (l.model.as_str(), l.amount))) {
            let sum = by_model.entry(model).or_default();
            *sum = *sum + amount.unwrap_or_default();
        }
        prop_assert_eq!(by_model.into_values().sum::<Amount>(), bill.fleet.amount);
    }

    #[test]
    fn order_and_grouping_of_rows_change_no_statement((usage, devices) in month(), seed in any::<usize>()) {
        let once = rate(&usage, &devices, &owners(), Rules { tenants: &tenants(), prices: &prices() }, &usd()).expect("rates");
        let mut pieces: Vec<UsageTotal> = usage.iter().flat_map(halve).collect();
        let len = pieces.len().max(1);
        for i in 0..pieces.len() {
            pieces.swap(i, seed.wrapping_mul(i + 1) % len);
        }
        let again = rate(&pieces, &devices, &owners(), Rules { tenants: &tenants(), prices: &prices() }, &usd()).expect("rates");
        prop_assert_eq!(once, again);
    }
}

/// A row in two that sum to it.
fn halve(row: &UsageTotal) -> [UsageTotal; 2] {
    let mut first = row.clone();
    let mut second = row.clone();
    let half = |a: &mut NanoGpuHours, b: &mut NanoGpuHours| {
        a.0 /= 2;
        b.0 -= a.0;
    };
    half(&mut first.held, &mut second.held);
    half(&mut first.busy, &mut second.busy);
    half(&mut first.most, &mut second.most);
    half(&mut first.unknown, &mut second.unknown);
    for (a, b) in
        [(&mut first.natural_ms, &mut second.natural_ms), (&mut first.energy_mj, &mut second.energy_mj)]
    {
        *a /= 3;
        *b -= *a;
    }
    // Both halves were watched, or neither.
    first.observed_ms = if row.observed_ms == 0 { 0 } else { first.natural_ms };
    second.observed_ms = row.observed_ms - first.observed_ms;
    [first, second]
}

#[test]
fn a_segment_across_a_price_change_is_refused_with_a_remedy() {
    let mut devices = worked::devices();
    devices.truncate(1);
    devices[0].segment.end_ms = halves()[1].end_ms;
    let error = rate(&[], &devices, &owners(), Rules { tenants: &tenants(), prices: &prices() }, &usd())
        .expect_err("crosses");
    assert!(
        matches!(&error, RateError::CrossesChange { change_ms, .. } if *change_ms == halves()[1].start_ms)
    );
    assert!(error.to_string().contains("close its hour again"));
}

#[test]
fn ledgers_that_differ_are_refused() {
    let (mut usage, mut devices) = (worked::usage(), worked::devices());
    usage.pop();
    let rated = |usage: &[_], devices: &[_]| {
        rate(usage, devices, &owners(), Rules { tenants: &tenants(), prices: &prices() }, &usd())
    };
    assert!(matches!(rated(&usage, &devices), Err(RateError::HeldDiffers { .. })));
    devices[0].free = devices[0].free + NanoGpuHours(1);
    assert!(matches!(rated(&worked::usage(), &devices), Err(RateError::DoesNotAddUp { .. })));
}

#[test]
fn without_rules_a_namespace_is_its_own_tenant_and_pays_the_same() {
    let (usage, devices) = (worked::usage(), worked::devices());
    let rated =
        rate(&usage, &devices, &owners(), Rules { tenants: &Tenants::empty(), prices: &prices() }, &usd())
            .expect("rates");
    let names: Vec<&str> = rated.tenants.keys().map(|t| t.as_str()).collect();
    assert_eq!(names, ["speech", "unattributed", "vision", "vision-dev"]);
    let bill = prepare(&context(Mode::Showback), &rated, &devices, &Tenants::empty());
    assert!(bill.fleet.adds_up());
    assert_eq!(bill.tenants[2].number, "vision-dev-2026-09");
}
