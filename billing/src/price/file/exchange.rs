//! `[[exchange_rate]]`: of a period, or from an instant on.

use super::Row;
use crate::instant;
use crate::period::Period;
use crate::price::{ExchangeRate, PriceError, Span};
use chrono::NaiveDate;
use serde::Deserialize;
use toml::Value;

/// An `[[exchange_rate]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExchangeRow {
    from_currency: String,
    to_currency: String,
    rate: Value,
    source: String,
    date: Value,
    period: Option<String>,
    from: Option<Value>,
    to: Option<Value>,
}

/// The dearest unit of a currency in the cheapest: far above any pair.
const RATE_MAX_E10: i64 = 10_000_000 * 10_000_000_000;

pub(super) fn read(row: &Row, from: ExchangeRow) -> Result<ExchangeRate, PriceError> {
    let (one, other) = (
        row.currency("from_currency", &from.from_currency)?,
        row.currency("to_currency", &from.to_currency)?,
    );
    if one == other {
        return Err(row.keys("changes a currency into itself: correct one of the two"));
    }
    row.filled("source", &from.source)?;
    let date = instant::written(&from.date);
    let date = NaiveDate::parse_from_str(&date, "%Y-%m-%d").map_err(|_| {
        row.value("date", &format!("{date:?}"), "write the day whose rate it is, such as 2026-09-30")
    })?;
    let span = match (&from.period, &from.from) {
        (Some(period), None) if from.to.is_none() => {
            let window = Period::parse(period, row.zone)
                .map_err(|error| row.keys(format!("has an unusable period: {error}")))?
                .window();
            Span { from_ms: window.start_ms, to_ms: Some(window.end_ms) }
        }
        (None, Some(start)) => row.span(start, from.to.as_ref())?,
        _ => return Err(row.keys("needs a period, or a from with or without a to: say when the rate holds")),
    };
    Ok(ExchangeRate {
        name: row.name.clone(),
        from: one,
        to: other,
        rate_e10: row.decimal("rate", &from.rate, 10, 1..=RATE_MAX_E10)?,
        source: from.source,
        date,
        span,
    })
}
