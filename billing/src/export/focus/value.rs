//! Cells of a FOCUS file: null means null, decimals are exact, instants are UTC.

use crate::charge::{Quantity, Unit};
use crate::instant::local;
use crate::money::{Exact, UnitPrice};
use chrono_tz::Tz;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string, JSON included.
    Text,
    /// A decimal.
    Decimal,
    /// An instant.
    Time,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A string.
    Text(String),
    /// In 1e-15.
    Decimal(Exact),
    /// Unix milliseconds.
    Time(i64),
}

impl Value {
    /// As a CSV cell: empty for null, a decimal with at least one decimal place (a column of whole numbers would be read as
    /// integers), an instant to the second.
    pub fn plain(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Text(text) => text.clone(),
            Value::Decimal(exact) => {
                let all = exact.to_string();
                let short = all.trim_end_matches('0');
                if short.ends_with('.') { format!("{short}0") } else { short.into() }
            }
            Value::Time(at_ms) => local(*at_ms, Tz::UTC).format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }
}

pub(super) fn text(text: Option<String>) -> Value {
    text.filter(|text| !text.is_empty()).map_or(Value::Null, Value::Text)
}

pub(super) fn word(text: &str) -> Value {
    self::text(Some(text.into()))
}

pub(super) fn cost(exact: Exact) -> Value {
    Value::Decimal(exact)
}

pub(super) fn price(price: UnitPrice) -> Value {
    Value::Decimal(Exact(i128::from(price.0) * 1_000_000_000))
}

pub(super) fn quantity(quantity: Quantity) -> Value {
    Value::Decimal(Exact(i128::from(quantity.nano) * 1_000_000))
}

/// A unit in FOCUS's unit format.
pub(super) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::GpuHour => "GPU-Hours",
        Unit::InstanceHour => "Instance-Hours",
        Unit::GibHour => "GiB-Hours",
        Unit::KilowattHour => "Kilowatt-Hours",
        Unit::Month => "Months",
        Unit::Piece => "Units",
    }
}
