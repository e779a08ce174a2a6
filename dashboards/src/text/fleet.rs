//! The fleet of a period as text: who held what, and that it is the hardware.

use super::statement::{heading, paragraph};
use crate::line::{NO_AMOUNT, percent};
use crate::table::{Column, plain, render};
use billing::statement::Bill;
use billing::words;

/// All parts of the fleet's time with their amounts, and the check.
pub fn fleet(bill: &Bill) -> String {
    let (fleet, currency) = (&bill.fleet, &bill.platform.currency);
    let number = format!("FLEET-{}", bill.platform.context.period.label());
    let mut out = heading(&number, &format!("   {} devices", fleet.devices), &bill.platform.context);
    let amount = format!("= {}", currency.code());
    let mut rows: Vec<Vec<String>> =
        vec![["who or what", "GPU-hours", "of fleet", &amount].map(String::from).into()];
    for part in &fleet.parts {
        rows.push(vec![
            plain(&part.name),
            words::gpu_hours(part.quantity),
            of_fleet(part.quantity.0, fleet.capacity.0),
            part.amount_known().map_or_else(|| NO_AMOUNT.into(), |amount| currency.show(amount)),
        ]);
    }
    rows.push(vec![
        "FLEET".into(),
        words::gpu_hours(fleet.capacity),
        of_fleet(fleet.capacity.0, fleet.capacity.0),
        currency.show(fleet.amount),
    ]);
    out.push_str(&render(&[Column::Fill, Column::Right, Column::Right, Column::Right], &rows));
    paragraph(
        &mut out,
        &format!(
            "Use of the observed time: {} busy + {} ghost + {} not busy + {} use unknown (GPU-hours).",
            words::gpu_hours_short(fleet.busy),
            words::gpu_hours_short(fleet.ghost),
            words::gpu_hours_short(fleet.not_busy),
            words::gpu_hours_short(fleet.unknown),
        ),
    );
    if fleet.unpriced.0 > 0 {
        let hours = words::gpu_hours_short(fleet.unpriced);
        paragraph(&mut out, &format!("{hours} GPU-hours have no price and are in no amount."));
    }
    paragraph(&mut out, check(bill));
    out
}

/// The check in a sentence.
pub(crate) fn check(bill: &Bill) -> &'static str {
    if bill.fleet.adds_up() {
        "Check: the parts are the fleet's time in service exactly, in both ledgers."
    } else {
        "Check FAILED: the parts are not the fleet's time in service. Don't publish; report the defect."
    }
}

/// A part of the fleet in hundredths of a percent, rounded down.
pub(crate) fn of_fleet(part: i64, whole: i64) -> String {
    if whole == 0 {
        return percent(0);
    }
    let points = i128::from(part) * 10_000 / i128::from(whole);
    percent(i64::try_from(points).expect("a part of a whole is at most 10,000 basis points"))
}
