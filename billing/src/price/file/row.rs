//! One entry while it is read: where it stands, what errors call it, and its values by kind.

use crate::fixed;
use crate::instant;
use crate::money::{Currency, UnitPrice};
use crate::place::Place;
use crate::price::{PriceError, Span};
use crate::tenant::TenantId;
use chrono_tz::Tz;
use std::collections::BTreeSet;
use toml::Value;

/// Longest list of patterns: more are a pattern, or a pool.
const PATTERNS_MAX: usize = 100;
/// Longest id, name or pattern, bytes: they stand in tables.
const TEXT_LEN_MAX: usize = 200;

/// Ids of the whole file: a line names an entry by its id alone.
#[derive(Default)]
pub(super) struct Ids(BTreeSet<String>);

/// An entry of the file, for its errors.
pub(super) struct Row {
    pub place: Place,
    /// `price "h100"`, or `mig_factor 2` by its place from 1.
    pub what: String,
    /// Its id, or its place.
    pub name: String,
    pub zone: Tz,
}

impl Row {
    pub fn of_id(
        place: Place,
        section: &str,
        id: String,
        zone: Tz,
        ids: &mut Ids,
    ) -> Result<Self, PriceError> {
        let row = Self { place, what: format!("{section} {id:?}"), name: id, zone };
        row.filled("id", &row.name)?;
        if !ids.0.insert(row.name.clone()) {
            return Err(PriceError::SameId { place: row.place, id: row.name });
        }
        Ok(row)
    }

    pub fn numbered(place: Place, section: &str, at: usize, zone: Tz) -> Self {
        Self { place, what: format!("{section} {at}"), name: at.to_string(), zone }
    }

    /// A text that people and patterns need something in.
    pub fn filled(&self, key: &'static str, text: &str) -> Result<(), PriceError> {
        if text.trim().is_empty() {
            return Err(self.value(key, "empty", "give it a text"));
        }
        if text.len() > TEXT_LEN_MAX || text.chars().any(char::is_control) {
            return Err(self.value(key, &format!("{text:?}"), "write at most 200 bytes on one line"));
        }
        Ok(())
    }

    pub fn money(&self, key: &'static str, value: &Value) -> Result<UnitPrice, PriceError> {
        let Value::String(text) = value else { return Err(self.not_quoted(key)) };
        UnitPrice::parse(text).map_err(|source| PriceError::Money {
            place: self.place.clone(),
            what: self.what.clone(),
            key,
            source,
        })
    }

    pub fn currency(&self, key: &'static str, code: &str) -> Result<Currency, PriceError> {
        Currency::parse(code).map_err(|source| PriceError::Money {
            place: self.place.clone(),
            what: self.what.clone(),
            key,
            source,
        })
    }

    /// A decimal within bounds, both in units of `10^-decimals`; whole numbers may stand without quotes.
    pub fn decimal(
        &self,
        key: &'static str,
        value: &Value,
        decimals: u32,
        bounds: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, PriceError> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(whole) => whole.to_string(),
            _ => return Err(self.not_quoted(key)),
        };
        let width = usize::try_from(decimals).expect("a few decimals");
        let show = |bound: &i64| fixed::show(*bound, decimals);
        let fits = fixed::parse(&text, width).filter(|read| bounds.contains(read));
        fits.ok_or_else(|| {
            let (low, high) = (show(bounds.start()), show(bounds.end()));
            let finest =
                if decimals == 0 { "whole".into() } else { format!("of at most {decimals} decimals") };
            self.value(key, &format!("{text:?}"), &format!("write a number {finest} from {low} to {high}"))
        })
    }

    pub fn span(&self, from: &Value, to: Option<&Value>) -> Result<Span, PriceError> {
        let at = |key, value: &Value| {
            instant::parse(&instant::written(value), self.zone).map_err(|source| PriceError::Instant {
                place: self.place.clone(),
                what: self.what.clone(),
                key,
                source,
            })
        };
        let from_ms = at("from", from)?;
        let to_ms = to.map(|to| at("to", to)).transpose()?;
        if to_ms.is_some_and(|to_ms| to_ms <= from_ms) {
            return Err(PriceError::Backwards { place: self.place.clone(), what: self.what.clone() });
        }
        Ok(Span { from_ms, to_ms })
    }

    /// One pattern or a list of them, in the order of the alphabet; empty where the key is missing.
    pub fn patterns(&self, key: &'static str, value: Option<Value>) -> Result<Vec<String>, PriceError> {
        let list = match value {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(one) => vec![one],
        };
        let text = |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        };
        let patterns: Option<BTreeSet<String>> = list.into_iter().map(text).collect();
        let patterns = patterns.filter(|p| (1..=PATTERNS_MAX).contains(&p.len())).ok_or_else(|| {
            self.value(key, "not a list of patterns", "write one pattern in quotes, or a list of 1 to 100")
        })?;
        patterns.iter().try_for_each(|pattern| self.filled(key, pattern))?;
        Ok(patterns.into_iter().collect())
    }

    pub fn tenant(&self, id: Option<&str>) -> Result<Option<TenantId>, PriceError> {
        let read = |text: &str| {
            TenantId::parse(text).map_err(|_| {
                self.value(
                    "tenant",
                    &format!("{text:?}"),
                    "write the id of a tenant or of a node of the tree",
                )
            })
        };
        id.map(read).transpose()
    }

    pub fn value(&self, key: &'static str, value: &str, remedy: &str) -> PriceError {
        PriceError::Value {
            place: self.place.clone(),
            what: self.what.clone(),
            key,
            value: value.into(),
            remedy: remedy.into(),
        }
    }

    pub fn keys(&self, problem: impl Into<String>) -> PriceError {
        PriceError::Keys { place: self.place.clone(), what: self.what.clone(), problem: problem.into() }
    }

    fn not_quoted(&self, key: &'static str) -> PriceError {
        PriceError::NotQuoted { place: self.place.clone(), what: self.what.clone(), key }
    }
}
