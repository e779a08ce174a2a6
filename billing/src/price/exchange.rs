//! Exchange rates: each with its source and date, for a period or from an instant on. A missing rate is an error.

use super::Span;
use crate::fixed;
use crate::instant::local;
use crate::money::{Amount, Currency, UnitPrice};
use chrono::NaiveDate;
use chrono_tz::Tz;
use schema::window::Window;

/// A rate of 1, as [`ExchangeRate::rate_e10`] counts it.
const ONE: i128 = 10_000_000_000;

/// An `[[exchange_rate]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRate {
    /// Its place among the rates of the file, from 1: what errors call it.
    pub name: String,
    /// The currency that is changed.
    pub from: Currency,
    /// The currency that it is changed into.
    pub to: Currency,
    /// What one of `from` is of `to`, in 1e-10.
    pub rate_e10: i64,
    /// Who says so.
    pub source: String,
    /// The day whose rate it is.
    pub date: NaiveDate,
    /// Whether someone confirmed that it lies far from the last.
    pub jump_confirmed: bool,
    /// When it holds.
    pub span: Span,
}

/// No rate holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no exchange rate from {from} to {to} holds {when}: add [[exchange_rate]] with from_currency = {from:?}, to_currency = {to:?}, its rate, source and date to prices.toml"
)]
pub struct MissingRate {
    /// The currency that is to be changed.
    pub from: String,
    /// The currency that it is to be changed into.
    pub to: String,
    /// At which instant, or over which window.
    pub when: String,
}

impl ExchangeRate {
    /// A price in the other currency, half-even at 6 decimals.
    pub fn price(&self, price: UnitPrice) -> UnitPrice {
        let micros = fixed::divide(i128::from(price.0) * i128::from(self.rate_e10), ONE);
        UnitPrice(
            i64::try_from(micros).expect("the product was checked when the book was bound to a currency"),
        )
    }

    /// A posted amount in the other currency, half-even in its smallest unit.
    ///
    /// # Panics
    /// Where the result is above 9e18 of the smallest unit.
    pub fn amount(&self, amount: Amount) -> Amount {
        let up = 10i128.pow(self.to.minor_digits());
        let down = ONE * 10i128.pow(self.from.minor_digits());
        let changed = fixed::divide(i128::from(amount.0) * i128::from(self.rate_e10) * up, down);
        Amount(i64::try_from(changed).expect("an amount is below 9e18 of the smallest unit"))
    }

    /// The rate for people: `1.0825`.
    pub fn rate(&self) -> String {
        fixed::show(self.rate_e10, 10)
    }

    /// For a statement: `1 EUR = 1.0825 USD (ECB, 2026-09-30)`.
    pub fn describe(&self) -> String {
        let (from, to) = (self.from.code(), self.to.code());
        format!("1 {from} = {} {to} ({}, {})", self.rate(), self.source, self.date)
    }

    /// What it is a rate of, for people.
    pub fn scope(&self) -> String {
        format!("{} to {}", self.from.code(), self.to.code())
    }

    fn is_between(&self, from: &Currency, to: &Currency) -> bool {
        self.from == *from && self.to == *to
    }
}

/// The rate that holds at an instant.
pub(super) fn at<'a>(
    all: &'a [ExchangeRate],
    from: &Currency,
    to: &Currency,
    at_ms: i64,
) -> Result<&'a ExchangeRate, MissingRate> {
    let found = all.iter().find(|rate| rate.is_between(from, to) && rate.span.holds_at(at_ms));
    found.ok_or_else(|| missing(from, to, format!("at {}", local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%MZ"))))
}

/// The one rate that holds over a whole window: what a statement of a period is changed by.
pub(super) fn over<'a>(
    all: &'a [ExchangeRate],
    from: &Currency,
    to: &Currency,
    window: Window,
) -> Result<&'a ExchangeRate, MissingRate> {
    let whole = Span { from_ms: window.start_ms, to_ms: Some(window.end_ms) };
    let found = all.iter().find(|rate| rate.is_between(from, to) && rate.span.covers(&whole));
    let show = |at_ms| local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%MZ").to_string();
    found.ok_or_else(|| {
        missing(from, to, format!("over all of {}..{}", show(window.start_ms), show(window.end_ms)))
    })
}

fn missing(from: &Currency, to: &Currency, when: String) -> MissingRate {
    MissingRate { from: from.code().into(), to: to.code().into(), when }
}
