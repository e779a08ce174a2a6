//! A price book on trial: what each statement of a period would come to.

use crate::table::{Column, plain, render};
use billing::statement::Bill;
use billing::words;
use std::collections::BTreeMap;

/// Totals now, then, and the difference, by tenant; the platform and the whole fleet last. Lines that only one of the two
/// can price are counted.
pub fn what_if(now: &Bill, then: &Bill) -> String {
    let currency = &now.platform.currency;
    let mut totals: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for (at, bill) in [now, then].into_iter().enumerate() {
        for statement in &bill.tenants {
            totals.entry(statement.tenant.id.as_str()).or_default()[at] = statement.totals.amount.0;
        }
    }
    let row = |name: &str, [now, then]: [i64; 2]| -> Vec<String> {
        let show = |amount| currency.show(billing::money::Amount(amount));
        vec![plain(name), show(now), show(then), show(then - now)]
    };
    let mut rows: Vec<Vec<String>> =
        vec![["statement of", "now", "then", "difference"].map(String::from).into()];
    rows.extend(totals.into_iter().map(|(name, pair)| row(name, pair)));
    rows.push(row("platform", [now.platform.totals.amount.0, then.platform.totals.amount.0]));
    rows.push(row("all", [now.fleet.amount.0, then.fleet.amount.0]));
    let context = &now.platform.context;
    let mut out = format!(
        "WHAT IF, {} in {}: prices v{} now, the file on trial then\n{}",
        context.period.label(),
        currency.code(),
        context.prices.number,
        render(&[Column::Fill, Column::Right, Column::Right, Column::Right], &rows)
    );
    let unpriced = |bill: &Bill| bill.fleet.unpriced;
    if unpriced(now) != unpriced(then) {
        out.push_str(&format!(
            "Without a price: {} GPU-hours now, {} then\n",
            words::gpu_hours_short(unpriced(now)),
            words::gpu_hours_short(unpriced(then))
        ));
    }
    out
}
