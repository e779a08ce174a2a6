//! Instants as people write them in configuration: a local date, a local date and time, or RFC 3339.

use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use schema::units::QUARTER_MS;

/// Why a text isn't an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstantError {
    /// Not a date or time.
    #[error("{0:?} is not a date: write 2026-09-16, 2026-09-16T06:00 (both local) or 2026-09-16T06:00:00Z")]
    NotADate(String),
    /// The local time doesn't exist or exists twice.
    #[error(
        "{text:?} is skipped or repeated by a clock change in {zone}: write it with an offset, such as 2026-09-16T06:00:00-03:00"
    )]
    ClockChange {
        /// As written.
        text: String,
        /// The billing zone.
        zone: Tz,
    },
    /// Not on a quarter hour.
    #[error("{0:?} is not on a quarter hour: use :00, :15, :30 or :45, because usage is cut only there")]
    NotAQuarterHour(String),
}

/// Unix milliseconds of a local date (its first instant), a local date and time, or an RFC 3339 instant; on a whole
/// quarter hour.
///
/// # Errors
/// Anything else, in words that name the remedy.
pub fn parse(text: &str, zone: Tz) -> Result<i64, InstantError> {
    let at_ms = parse_any(text, zone)?;
    // Raw windows are cut there and so never straddle a change.
    if at_ms % QUARTER_MS != 0 {
        return Err(InstantError::NotAQuarterHour(text.into()));
    }
    Ok(at_ms)
}

/// The same at any millisecond; what is finer is cut off.
///
/// # Errors
/// Anything else, in words that name the remedy.
pub fn parse_any(text: &str, zone: Tz) -> Result<i64, InstantError> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(start_of_day_ms(date, zone));
    }
    // RFC 3339 wants seconds; people leave them out.
    let offset =
        DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%#z"));
    if let Ok(instant) = offset {
        return Ok(instant.timestamp_millis());
    }
    let local = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
        .ok_or_else(|| InstantError::NotADate(text.into()))?;
    let only = zone.from_local_datetime(&local).single();
    Ok(only.ok_or_else(|| InstantError::ClockChange { text: text.into(), zone })?.timestamp_millis())
}

/// The first instant of a local day. Where a clock change skips midnight, that is the first instant after the gap;
/// where it repeats midnight, the first of the two.
pub fn start_of_day_ms(date: NaiveDate, zone: Tz) -> i64 {
    let midnight = date.and_time(chrono::NaiveTime::MIN);
    // A whole day can be missing (Samoa skipped 30 December 2011), so up to two days of quarter hours are tried.
    (0..192)
        .map(|quarter| midnight + TimeDelta::minutes(15 * quarter))
        .find_map(|local| zone.from_local_datetime(&local).earliest())
        .expect("no zone skips two days")
        .timestamp_millis()
}

/// The local date of an instant.
pub fn date_of(at_ms: i64, zone: Tz) -> NaiveDate {
    local(at_ms, zone).date_naive()
}

/// The day after; dates here are far from the calendar's end.
pub(crate) fn next_day(date: NaiveDate) -> NaiveDate {
    date.checked_add_days(Days::new(1)).expect("dates here are far from the calendar's end")
}

/// An instant on a local clock.
pub fn local(at_ms: i64, zone: Tz) -> DateTime<Tz> {
    DateTime::from_timestamp_millis(at_ms)
        .expect("instants here are within the calendar")
        .with_timezone(&zone)
}

/// A date as TOML holds it, quoted or bare, as text for [`parse`]; other values as they were written.
pub(crate) fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_local_and_what_the_clock_makes_unclear_is_refused() {
        let berlin = Tz::Europe__Berlin;
        let utc = |text: &str| {
            parse(text, berlin).map(|at_ms| local(at_ms, Tz::UTC).to_rfc3339()).map_err(|e| e.to_string())
        };
        for (text, want) in [
            ("2026-09-16", Ok("2026-09-15T22:00:00+00:00")),
            ("2026-09-16T06:15", Ok("2026-09-16T04:15:00+00:00")),
            ("2026-09-16 06:15:00", Ok("2026-09-16T04:15:00+00:00")),
            ("2026-09-16T06:00:00Z", Ok("2026-09-16T06:00:00+00:00")),
            ("2026-09-16T06:00Z", Ok("2026-09-16T06:00:00+00:00")),
            ("2026-10-25T02:30:00+01:00", Ok("2026-10-25T01:30:00+00:00")),
            ("2026-10-25T02:30", Err("write it with an offset")),
            ("2026-03-29T02:30", Err("write it with an offset")),
            ("2026-09-16T06:10", Err("not on a quarter hour")),
            ("2026-09-16T06:00:00.001Z", Err("not on a quarter hour")),
            ("16.9.2026", Err("is not a date")),
            ("2026-02-30", Err("is not a date")),
            ("3", Err("is not a date")),
        ] {
            match (utc(text), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{text}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }

    #[test]
    fn a_day_starts_at_the_first_instant_that_bears_its_date() {
        let start = |zone: Tz, y, m, d| {
            let date = NaiveDate::from_ymd_opt(y, m, d).expect("a date");
            let at_ms = start_of_day_ms(date, zone);
            assert_eq!(date_of(at_ms, zone).max(date), date_of(at_ms, zone));
            assert!(date_of(at_ms - 1, zone) < date, "the instant before is of an earlier day");
            local(at_ms, zone).format("%Y-%m-%d %H:%M").to_string()
        };
        // Skipped midnights, a repeated one, and a day that never was.
        assert_eq!(start(Tz::Africa__Cairo, 2026, 4, 24), "2026-04-24 01:00");
        assert_eq!(start(Tz::America__Havana, 2026, 11, 1), "2026-11-01 00:00");
        assert_eq!(start(Tz::America__Sao_Paulo, 2018, 11, 4), "2018-11-04 01:00");
        assert_eq!(start(Tz::Pacific__Apia, 2011, 12, 30), "2011-12-31 00:00");
    }
}
