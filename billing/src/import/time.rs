//! Times as schedulers and exports write them: local, with an offset, or numbers since an origin.

use crate::instant::{self, InstantError};
use chrono::DateTime;
use chrono_tz::Tz;

/// How the times of a file are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Zone of local times.
    pub zone: Tz,
    /// What numbers count from, Unix milliseconds.
    pub origin_ms: i64,
    /// Milliseconds in the unit of numbers: 1000 or 1.
    pub unit_ms: i64,
}

/// Why a text isn't a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not a date or time.
    #[error(transparent)]
    Instant(#[from] InstantError),
    /// A number out of any calendar.
    #[error("{0:?} is not a time: seconds or milliseconds since the origin are expected")]
    NotANumber(String),
}

impl Clock {
    /// Unix milliseconds; `None` where the text says that there is no such instant.
    ///
    /// # Errors
    /// Not a time, or a local time that a clock change makes unclear.
    pub fn read(&self, text: &str) -> Result<Option<i64>, TimeError> {
        let Some(text) = super::said(text) else { return Ok(None) };
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-')
            && text.bytes().skip(1).all(|byte| byte != b'-')
        {
            let number = self.number(text).ok_or_else(|| TimeError::NotANumber(text.into()))?;
            return Ok(Some(number));
        }
        // `%z` takes an offset without a colon too, as strftime writes it.
        if let Ok(instant) = DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%z") {
            return Ok(Some(instant.timestamp_millis()));
        }
        Ok(Some(instant::parse_any(text, self.zone)?))
    }

    /// A whole number or a decimal of units since the origin; what is finer than a millisecond is cut off.
    fn number(&self, text: &str) -> Option<i64> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(fraction) {
            return None;
        }
        let sign = if whole.starts_with('-') { -1 } else { 1 };
        let milli =
            if self.unit_ms == 1 { 0 } else { format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()? };
        let at_ms = whole.parse::<i64>().ok()?.checked_mul(self.unit_ms)?.checked_add(sign * milli)?;
        // Within the years that chrono can show.
        let at_ms = at_ms.checked_add(self.origin_ms)?;
        DateTime::from_timestamp_millis(at_ms).map(|_| at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_every_form_that_schedulers_print() {
        let clock = Clock { zone: Tz::Europe__Berlin, origin_ms: 1_000, unit_ms: 1000 };
        for (text, want) in [
            ("0", Some(1_000)),
            ("12.5", Some(13_500)),
            ("12.0004", Some(13_000)),
            ("-1.5", Some(-500)),
            ("1970-01-01T01:00:00", Some(0)),
            ("1970-01-01T00:00:00+0000", Some(0)),
            ("1970-01-01T00:00:00.250Z", Some(250)),
            ("1970-01-01 01:00:00.5", Some(500)),
            ("Unknown", None),
            ("", None),
        ] {
            assert_eq!(clock.read(text), Ok(want), "{text}");
        }
        let ms = Clock { unit_ms: 1, ..clock };
        assert_eq!(ms.read("250"), Ok(Some(1_250)));
        for text in ["tomorrow", "1.2.3", "99999999999999999999", "9223372036854775", "2026-10-25T02:30:00"] {
            assert!(clock.read(text).is_err(), "{text}");
        }
    }
}
