//! What stands on a statement besides usage, and what rounding moved.

use super::Splits;
use super::row::{Account, Category, Head, Row, Sku, Split};
use crate::charge::{Charge, ChargeKind};
use crate::money::{Amount, Exact};
use crate::period::Period;
use crate::post::{Numbered, allocation};

/// The rows of charges, each with what rounding it moved.
pub(super) fn rows<'a>(
    head: &'a Head<'a>,
    account: &Account,
    charges: &[Numbered],
    splits: &Splits,
) -> Vec<Row<'a>> {
    let of = |numbered: &Numbered| {
        let (charge, line) = (&numbered.charge, format!("{}-{}", head.number, numbered.number));
        let moved = rounding(head, account, line, charge.exact, charge.amount);
        [row(head, account, numbered, splits), moved].into_iter().flatten()
    };
    charges.iter().flat_map(of).collect()
}

/// The row of a charge; `None` for one that only says why a cost stayed where it is.
fn row<'a>(head: &'a Head<'a>, account: &Account, numbered: &Numbered, splits: &Splits) -> Option<Row<'a>> {
    let charge = &numbered.charge;
    if charge.kind == ChargeKind::Allocation && charge.amount.0 == 0 {
        return None;
    }
    let (category, sku) = category(charge);
    let split = splits.split_of(charge);
    let correction = (charge.kind == ChargeKind::Correction).then(|| charge.reference.clone());
    let origin = correction.as_deref().and_then(|line| Period::of_number(line, head.context.period.zone()));
    // What a policy takes from another's statement stays that one's account; whose it is now stands beside.
    let from = charge.counterpart.as_ref().filter(|_| split.as_ref().is_some_and(|s| s.taken.is_some()));
    let what = charge.what.strip_suffix(allocation::TAKEN).unwrap_or(&charge.what);
    Some(Row {
        head,
        account: from
            .map_or_else(|| account.clone(), |from| Account { id: from.clone(), name: from.to_string() }),
        tenant: account.id.clone(),
        category,
        kind: charge.kind.word(),
        what: format!("{}: {what}", charge.kind.word()),
        when: origin.unwrap_or_else(|| head.context.period.clone()).window(),
        billed: charge.exact,
        line: format!("{}-{}", head.number, numbered.number),
        consumed: charge.quantity.filter(|_| category == Category::Usage && sku.is_some()),
        sku,
        device: None,
        of: None,
        split,
        corrects: correction,
        price_state: "priced",
    })
}

/// FOCUS's category, with what is sold where something is.
pub(super) fn category(charge: &Charge) -> (Category, Option<Sku>) {
    let sold = |prefix: &str| {
        let (quantity, price) = (charge.quantity?, charge.unit_price?);
        let id = format!("{prefix}.{}", charge.reference);
        (quantity.nano >= 0).then(|| Sku {
            price_id: charge.reference.clone(),
            id,
            details: serde_json::json!({ "x_Entry": charge.reference }).to_string(),
            list: price,
            contracted: price,
            quantity,
        })
    };
    let or_adjustment = |sku: Option<Sku>| match sku {
        Some(sku) => (Category::Usage, Some(sku)),
        None => (Category::Adjustment, None),
    };
    match charge.kind {
        ChargeKind::Reservation => or_adjustment(sold("reservation")),
        ChargeKind::Fee => or_adjustment(sold("fee")),
        ChargeKind::Energy => or_adjustment(sold("energy")),
        ChargeKind::Correction => (corrected(&charge.reference), None),
        ChargeKind::Credit => (Category::Credit, None),
        ChargeKind::Tax => (Category::Tax, None),
        ChargeKind::BasisDifference
        | ChargeKind::Allocation
        | ChargeKind::Adjustment
        | ChargeKind::Reconciliation => (Category::Adjustment, None),
    }
}

/// The category of the line that a correction is of: `VIS-2026-08-L3` is usage.
fn corrected(reference: &str) -> Category {
    let letter = reference.rsplit('-').next().and_then(|last| last.chars().next());
    match letter {
        Some('K') => Category::Credit,
        Some('T') => Category::Tax,
        Some('R' | 'B' | 'A' | 'M' | 'N' | 'C') => Category::Adjustment,
        _ => Category::Usage,
    }
}

/// What rounding a posted line once has moved; `None` where it moved nothing.
pub(super) fn rounding<'a>(
    head: &'a Head<'a>,
    account: &Account,
    line: String,
    exact: Exact,
    posted: Amount,
) -> Option<Row<'a>> {
    let moved = posted.exact(head.currency) - exact;
    (moved != Exact::ZERO).then(|| Row {
        head,
        account: account.clone(),
        tenant: account.id.clone(),
        category: Category::Adjustment,
        kind: "rounding",
        what: format!("rounding of {line} to the currency's unit"),
        when: head.context.period.window(),
        billed: moved,
        line,
        sku: None,
        consumed: None,
        device: None,
        of: None,
        split: None,
        corrects: None,
        price_state: "priced",
    })
}

impl Splits {
    /// The split that a charge is a part of, where a policy made it.
    fn split_of(&self, charge: &Charge) -> Option<Split> {
        if charge.kind != ChargeKind::Allocation {
            return None;
        }
        let method = self.methods.get(&charge.reference).copied()?;
        if charge.what.ends_with(allocation::TAKEN) {
            return Some(Split { method, taken: None });
        }
        let takers = self.takers.get(&(charge.reference.clone(), charge.what.clone()))?;
        let ratio = takers.iter().find(|(tenant, _)| *tenant == charge.tenant)?.1;
        Some(Split { method, taken: Some((charge.tenant.clone(), ratio)) })
    }
}
