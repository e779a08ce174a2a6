//! The order and the numbers of a statement's charges.

use crate::charge::Charge;

/// A charge with its number on the statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// `R1`, `F1`, `C1`: the kind's letter and a count from 1.
    pub number: String,
    /// The charge.
    pub charge: Charge,
}

/// Puts the charges of one statement in their order, by kind, words and reference, and numbers each kind from 1. The
/// order in which they come changes nothing.
pub fn number(mut charges: Vec<Charge>) -> Vec<Numbered> {
    charges.sort_by(|a, b| {
        let key = |c: &Charge| (c.kind, c.amount, c.exact, c.held);
        (a.kind, &a.what, &a.reference, &a.counterpart)
            .cmp(&(b.kind, &b.what, &b.reference, &b.counterpart))
            .then_with(|| key(a).cmp(&key(b)))
    });
    let mut count = 0;
    let mut last = None;
    charges
        .into_iter()
        .map(|charge| {
            count = if last == Some(charge.kind) { count + 1 } else { 1 };
            last = Some(charge.kind);
            Numbered { number: format!("{}{count}", charge.kind.letter()), charge }
        })
        .collect()
}
