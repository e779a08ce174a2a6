//! The two kinds of value that a scenario is written in: an instant in seconds and a series over time.
//!
//! Both are exact: seconds are kept as whole microseconds, and a series is turned into integers once, when the scenario
//! is compiled, so that every figure that the library answers and every figure of the ground truth agree to the unit.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant, counted from the scenario's start; negative before it. Written in seconds, whole or with decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds {
    micros: i64,
}

impl Seconds {
    /// The scenario's start.
    pub const ZERO: Seconds = Seconds { micros: 0 };

    /// Whole seconds after the start.
    pub const fn new(seconds: i64) -> Self {
        Self { micros: seconds * 1_000_000 }
    }

    /// Microseconds after the start.
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Microseconds after the start.
    pub const fn micros(self) -> i64 {
        self.micros
    }
}

impl From<i64> for Seconds {
    fn from(seconds: i64) -> Self {
        Self::new(seconds)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.micros % 1_000_000 == 0 {
            serializer.serialize_i64(self.micros / 1_000_000)
        } else {
            serializer.serialize_f64(self.micros as f64 / 1e6)
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsVisitor;
        impl Visitor<'_> for SecondsVisitor {
            type Value = Seconds;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("seconds after the scenario's start, a number")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Seconds, E> {
                value
                    .checked_mul(1_000_000)
                    .map(Seconds::from_micros)
                    .ok_or_else(|| E::custom("seconds beyond the range of microseconds"))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Seconds, E> {
                self.visit_i64(i64::try_from(value).map_err(E::custom)?)
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Seconds, E> {
                let micros = (value * 1e6).round();
                if micros.abs() < 9e15 {
                    Ok(Seconds::from_micros(micros as i64))
                } else {
                    Err(E::custom("seconds that are no number or beyond the range of microseconds"))
                }
            }
        }
        deserializer.deserialize_any(SecondsVisitor)
    }
}

/// A value over time: `50`, `[[0, 50], [60, 0]]` (from each instant on), or `{ period_s = 10, on_s = 3, percent = 90 }`.
#[derive(Clone, Debug, PartialEq)]
pub enum Series {
    /// The same value as long as its owner lives.
    Constant(f64),
    /// From each instant (after the scenario's start) on, this value; zero before the first.
    Steps(Vec<(Seconds, f64)>),
    /// On for the first part of every period, counted from its owner's start, and zero for the rest.
    Wave(Wave),
}

/// A square wave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// Length of a period.
    pub period_s: Seconds,
    /// How long of each period the value is on.
    pub on_s: Seconds,
    /// The value while it is on, in the series' own unit (percent for `busy`).
    pub percent: f64,
}

impl Default for Series {
    fn default() -> Self {
        Series::Constant(0.0)
    }
}

impl From<f64> for Series {
    fn from(value: f64) -> Self {
        Series::Constant(value)
    }
}

impl From<Vec<(Seconds, f64)>> for Series {
    fn from(steps: Vec<(Seconds, f64)>) -> Self {
        Series::Steps(steps)
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Series::Constant(value) => serializer.serialize_f64(*value),
            Series::Steps(steps) => steps.serialize(serializer),
            Series::Wave(wave) => wave.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SeriesVisitor;
        impl<'de> Visitor<'de> for SeriesVisitor {
            type Value = Series;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number, a list of [seconds, value], or { period_s, on_s, percent }")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Series, E> {
                Ok(Series::Constant(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Series, E> {
                Ok(Series::Constant(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Series, E> {
                Ok(Series::Constant(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Series, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Series::Steps)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Series, A::Error> {
                Wave::deserialize(MapAccessDeserializer::new(map)).map(Series::Wave)
            }
        }
        deserializer.deserialize_any(SeriesVisitor)
    }
}
