//! Entries for the same follow each other in time, without a gap and without an overlap.

use super::Row;
use crate::price::bind::{Mention, Named};
use crate::price::{
    BasisRule, Discount, Energy, ExchangeRate, MigFactor, PriceEntry, PriceError, ServiceUnit, Span,
};
use crate::tenant::TenantId;
use std::cmp::Ordering;

/// An entry and where it stands.
pub(super) struct Placed<T> {
    pub row: Row,
    pub item: T,
}

/// An entry that holds for a time.
pub(super) trait Dated {
    /// What errors call one, and several.
    const WORDS: (&'static str, &'static str);
    /// What it is of: entries of one scope follow each other.
    fn scope(&self) -> String;
    fn span(&self) -> Span;
    fn span_mut(&mut self) -> &mut Span;
}

/// Every section's entry has its scope and its span.
macro_rules! dated {
    ($($entry:ty: $one:literal, $many:literal;)*) => {$(
        impl Dated for $entry {
            const WORDS: (&'static str, &'static str) = ($one, $many);
            fn scope(&self) -> String {
                <$entry>::scope(self)
            }
            fn span(&self) -> Span {
                self.span
            }
            fn span_mut(&mut self) -> &mut Span {
                &mut self.span
            }
        }
    )*};
}

dated! {
    PriceEntry: "price", "prices";
    Discount: "discount", "discounts";
    MigFactor: "mig_factor", "mig_factors";
    ServiceUnit: "price of a service_unit", "prices of service_units";
    Energy: "energy", "energies";
    ExchangeRate: "exchange_rate", "exchange_rates";
    BasisRule: "basis", "bases";
}

impl<T> Placed<T> {
    /// That it names a tenant, where it does.
    pub fn mention_tenant(&self, tenant: Option<&TenantId>) -> Option<Mention> {
        Some(self.mention(Named::Tenant(tenant?.clone())))
    }

    pub fn mention(&self, named: Named) -> Mention {
        Mention { place: self.row.place.clone(), what: self.row.what.clone(), named }
    }
}

/// The entries by scope and start, each ending where the next of its scope begins unless it ends itself.
pub(super) fn follow<T: Dated>(rows: Vec<Placed<T>>) -> Result<Vec<Placed<T>>, PriceError> {
    let mut scoped: Vec<(String, Placed<T>)> = rows.into_iter().map(|row| (row.item.scope(), row)).collect();
    scoped.sort_by(|(a, first), (b, second)| {
        let (one, other) = (first.item.span().from_ms, second.item.span().from_ms);
        (a, one, &first.row.name).cmp(&(b, other, &second.row.name))
    });
    for i in 1..scoped.len() {
        let (before, after) = scoped.split_at_mut(i);
        let ((scope, first), (other, second)) = (&mut before[i - 1], &after[0]);
        if scope == other {
            end_at(scope, first, second)?;
        }
    }
    Ok(scoped.into_iter().map(|(_, row)| row).collect())
}

fn end_at<T: Dated>(scope: &str, first: &mut Placed<T>, second: &Placed<T>) -> Result<(), PriceError> {
    let next_ms = second.item.span().from_ms;
    let span = first.item.span_mut();
    let to_ms = *span.to_ms.get_or_insert(next_ms);
    match to_ms.cmp(&next_ms) {
        Ordering::Equal if span.from_ms < next_ms => Ok(()),
        Ordering::Less => Err(PriceError::Gap {
            place: second.row.place.clone(),
            section: T::WORDS.0,
            first: first.row.name.clone(),
            second: second.row.name.clone(),
            scope: scope.into(),
        }),
        _ => Err(overlap(first, second)),
    }
}

/// Entries that aren't of one scope and could still both be the answer must not hold at once.
pub(super) fn check_ties<T: Dated>(
    rows: &[Placed<T>],
    could_tie: impl Fn(&T, &T) -> bool,
) -> Result<(), PriceError> {
    for (at, second) in rows.iter().enumerate() {
        let tied = |first: &&Placed<T>| {
            first.item.span().overlaps(&second.item.span()) && could_tie(&first.item, &second.item)
        };
        if let Some(first) = rows[..at].iter().find(tied) {
            return Err(overlap(first, second));
        }
    }
    Ok(())
}

fn overlap<T: Dated>(first: &Placed<T>, second: &Placed<T>) -> PriceError {
    let order = |row: &Placed<T>| (row.item.span().from_ms, row.row.place.line);
    let (first, second) = if order(first) <= order(second) { (first, second) } else { (second, first) };
    PriceError::Overlap {
        place: second.row.place.clone(),
        section: T::WORDS.1,
        first: first.row.name.clone(),
        second: second.row.name.clone(),
        scope: second.item.scope(),
    }
}
