//! What was posted, and what a closed period would be now, as text.

use crate::table::{Column, plain, render};
use billing::charge::{Charge, Quantity};
use billing::closing::Delta;
use billing::money::{Amount, Currency};
use billing::post::credit::Proposal;
use billing::words;

/// Rows that were posted, each with its statement.
pub fn charges(charges: &[Charge], currency: &Currency) -> String {
    let rows: Vec<Vec<String>> = charges
        .iter()
        .map(|charge| {
            let moved = if charge.held.0 == 0 { String::new() } else { words::gpu_hours(charge.held) };
            [
                charge.tenant.as_str().to_owned(),
                format!("{}: {}", charge.kind.word(), charge.what),
                moved,
                currency.show(charge.amount),
            ]
            .map(|cell| plain(&cell))
            .into()
        })
        .collect();
    render(&[Column::Left, Column::Fill, Column::Right, Column::Right], &rows)
}

/// Credits that are proposed, with the month that each was posted to, if it was.
pub fn proposals(proposed: &[(&Proposal, Option<&str>)], currency: &Currency) -> String {
    let head = ["id", "statement of", "device", "what", "lost", "price", currency.code(), "state"];
    let mut rows = vec![head.map(String::from).into()];
    for (proposal, posted) in proposed {
        let state = posted.map_or_else(|| "proposed".to_owned(), |month| format!("posted to {month}"));
        // The other side of each is the platform's and says nothing new.
        for charge in proposal.charges.iter().filter(|charge| charge.amount < Amount(0)) {
            let lost = charge.quantity.map(|q| words::quantity(Quantity { nano: -q.nano, ..q }));
            let failure = &proposal.failure;
            rows.push(
                [
                    proposal.id.clone(),
                    charge.tenant.as_str().to_owned(),
                    format!("{} {}", failure.node, failure.device),
                    charge.what.clone(),
                    lost.unwrap_or_default(),
                    charge.unit_price.map(|price| price.to_string()).unwrap_or_default(),
                    currency.show(charge.amount),
                    state.clone(),
                ]
                .map(|cell| plain(&cell))
                .into(),
            );
        }
    }
    let wide = Column::Wrap(20);
    let columns =
        [Column::Left, wide, wide, Column::Fill, Column::Right, Column::Right, Column::Right, Column::Left];
    render(&columns, &rows)
}

/// What a closed period would be now, against what was posted.
pub fn differences(period: &str, because: &str, deltas: &[Delta], currency: &Currency) -> String {
    if deltas.is_empty() {
        return format!("{period}: nothing differs from what was posted\n");
    }
    let mut rows =
        vec![["statement of", "row", "what", "GPU-hours", currency.code()].map(String::from).into()];
    rows.extend(deltas.iter().map(|delta| {
        [
            delta.id.tenant.as_str().to_owned(),
            delta.reference.clone(),
            delta.what.clone(),
            words::gpu_hours(delta.held),
            currency.show(delta.amount),
        ]
        .map(|cell| plain(&cell))
        .to_vec()
    }));
    let because = if because.is_empty() { "what was posted".to_owned() } else { because.to_owned() };
    format!(
        "{period} would be different now, because of {because}:\n{}",
        render(&[Column::Left, Column::Left, Column::Fill, Column::Right, Column::Right], &rows)
    )
}
