//! The statement to sign, line by line: quantities, prices, amounts, where the money went, and the proof.

mod worked;

use billing::money::Amount;
use billing::statement::{Mode, Statement, by_model};
use billing::words;
use worked::bill;

fn vision() -> Statement {
    bill(Mode::Chargeback)
        .tenants
        .into_iter()
        .find(|s| s.number == "VIS-2026-09")
        .expect("vision has a statement")
}

#[test]
fn each_line_is_quantity_times_price() {
    let statement = vision();
    let table: Vec<String> = statement
        .lines
        .iter()
        .map(|line| {
            let currency = &statement.currency;
            format!(
                "L{} {} | {} {} | {} | {} | {} | {} | {} | {}",
                line.number,
                words::line_what(&line.key),
                words::hours(line.sums.natural_ms),
                words::natural_unit(line.key.sharing),
                line.key.share,
                line.sums.held,
                words::price(&line.key.price),
                line.amount.map_or_else(String::new, |a| currency.show(a)),
                line.observed_percent(),
                words::line_quality(&line.key),
            )
        })
        .collect();
    assert_eq!(
        table,
        [
            "L1 A100-SXM4-80GB MIG 3g.40gb | 714 inst-h | 3/7 | 306.000000000 | 2.10 | 642.60 | 100 | allocated",
            "L2 A100-SXM4-80GB MIG 3g.40gb | 6 inst-h | 3/7 | 2.571428571 | 2.10 | 5.40 | 0 | allocated (scheduler record)",
            "L3 H100 80GB HBM3 exclusive | 300 dev-h | 1 | 300.000000000 | 3.50 | 1,050.00 | 100 | measured",
            "L4 H100 80GB HBM3 exclusive | 180 dev-h | 1 | 180.000000000 | 3.36 | 604.80 | 100 | measured",
            "L5 H100 80GB HBM3 MIG 1g.10gb, shared | 100 slot-h | 1/14 | 7.142857143 | 3.36 | 24.00 | 100 | estimated busy",
            "L6 L40S time-sliced, 1 of 4 | 696 slot-h | 1/4 | 174.000000000 | 1.20 | 208.80 | 100 | measured",
        ]
    );
    assert_eq!(statement.totals.quantity.to_string(), "969.714285714");
    assert_eq!(statement.currency.show(statement.totals.amount), "2,535.60");
    assert_eq!(statement.totals.rounding.to_string(), "0.000000000420000");
}

#[test]
fn where_the_money_went_is_the_posted_total() {
    let (statement, went) = (vision(), vision().where_it_went);
    let show = |amount| statement.currency.show(amount);
    // Busy: 200 x 3.50 + 120 x 3.36 + 29.4 x 1.20 + 5 x 3.36; unknown: all of the A100.
    assert_eq!([show(went.busy), show(went.not_busy), show(went.unknown)], ["1,155.28", "732.32", "648.00"]);
    assert_eq!(went.busy + went.not_busy + went.unknown, statement.totals.amount);
}

#[test]
fn the_proof_of_each_device_is_its_720_hours() {
    let statement = vision();
    let table: Vec<String> = statement
        .proof
        .iter()
        .map(|row| {
            assert!(row.adds_up(), "{row:?}");
            let parts = row.parts().into_iter().filter(|(_, part)| part.0 > 0);
            let parts: Vec<String> =
                parts.map(|(word, part)| format!("{} {word}", words::gpu_hours_short(part))).collect();
            format!("{} {} = {}", row.device, parts.join(" + "), words::gpu_hours_short(row.capacity))
        })
        .collect();
    assert_eq!(
        table,
        [
            "GPU-a100-mig 308.571428571 yours + 342.857142857 others + 65.142857143 free + 3.428571429 unobserved = 720",
            "GPU-h100-mig 7.142857143 yours + 500 others + 212.857142857 free = 720",
            "GPU-h100-whole 480 yours + 220 free + 20 unavailable = 720",
            "GPU-l40s-sliced 174 yours + 348 others + 174 free + 24 unavailable = 720",
        ]
    );
    let models = by_model(&statement.proof);
    assert_eq!(models.iter().map(|m| m.devices).collect::<Vec<_>>(), [1, 2, 1]);
    assert!(models.iter().all(|m| m.sum.adds_up()));
    assert_eq!(statement.coverage().basis_points(), 9_988);
}

#[test]
fn all_statements_together_are_the_fleet() {
    let bill = bill(Mode::Showback);
    assert!(bill.fleet.adds_up());
    assert_eq!(bill.fleet.capacity.to_string(), "3600.000000000");
    assert_eq!(bill.fleet.devices, 5);
    let tenants: Amount = bill.tenants.iter().map(|s| s.totals.amount).sum();
    assert_eq!(tenants + bill.platform.totals.amount, bill.fleet.amount);
    assert_eq!(bill.platform.ghost.to_string(), "2.000000000");
    // The B200 has no price: its hours are there, its amount is not.
    let speech = &bill.tenants[0];
    assert_eq!(speech.number, "speech-2026-09");
    let unpriced: Vec<&str> =
        speech.lines.iter().filter(|l| l.amount.is_none()).map(|l| l.key.model.as_str()).collect();
    assert_eq!((unpriced, speech.totals.unpriced_lines), (vec![worked::B200], 1));
    assert_eq!(bill.platform.totals.unpriced_lines, 2);
    // Without a price is not for nothing.
    let stranded = bill.fleet.parts.iter().find(|p| p.name == "stranded").expect("a row");
    assert_eq!((stranded.quantity, stranded.amount_known()), (stranded.unpriced, None));
    assert_eq!(bill.fleet.unpriced.to_string(), "720.000000000");
}
