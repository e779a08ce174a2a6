//! A billing period: a month, quarter, year or range of days on the billing zone's calendar, as a UTC window.
//!
//! Everything that says "September" asks this module, so that a report, a quota and a page can't mean different hours.

use crate::instant::{date_of, local, next_day, start_of_day_ms};
use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;
use schema::units::HOUR_MS;
use schema::window::Window;
use serde::{Deserialize, Serialize};

/// The years a period may lie in: zone rules are known for them, and a mistyped year is caught.
const YEARS: std::ops::RangeInclusive<i32> = 2000..=2099;

/// A period on the billing zone's calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    label: String,
    zone: Tz,
    first: NaiveDate,
    end: NaiveDate,
    window: Window,
}

/// As its label and zone; the rest follows from them.
#[derive(Serialize, Deserialize)]
struct Written {
    label: String,
    zone: String,
}

impl Serialize for Period {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Written { label: self.label.clone(), zone: self.zone.name().into() }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(d)?;
        let read = || Self::parse(&written.label, parse_zone(&written.zone)?);
        read().map_err(serde::de::Error::custom)
    }
}

/// Why a text isn't a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    /// None of the four forms.
    #[error(
        "{0:?} is not a period: write a month 2026-10, a quarter 2026-Q3, a year 2026, or days 2026-10-01..2026-10-15 (the second day is not part of it)"
    )]
    NotAPeriod(String),
    /// A range that is empty or backwards.
    #[error(
        "{0:?} has no days in it: the second day must be after the first, and is itself not part of the period"
    )]
    Empty(String),
    /// Outside 2000 to 2099.
    #[error("{0:?} lies outside the years 2000 to 2099: check the year")]
    Year(String),
    /// Not an IANA zone.
    #[error("{0:?} is not a time zone: write an IANA name, such as \"America/Sao_Paulo\" or \"UTC\"")]
    UnknownZone(String),
}

/// A zone by its IANA name.
///
/// # Errors
/// A name that isn't one.
pub fn parse_zone(name: &str) -> Result<Tz, PeriodError> {
    name.parse().map_err(|_| PeriodError::UnknownZone(name.into()))
}

impl Period {
    /// `2026-10`, `2026-Q3`, `2026` or `2026-10-01..2026-10-15` (end exclusive) in the billing zone.
    ///
    /// # Errors
    /// Anything else, in words that name the forms.
    pub fn parse(text: &str, zone: Tz) -> Result<Self, PeriodError> {
        let (first, end) = days(text)?;
        if !YEARS.contains(&first.year()) || !YEARS.contains(&end.pred_opt().unwrap_or(end).year()) {
            return Err(PeriodError::Year(text.into()));
        }
        let window = Window::new(start_of_day_ms(first, zone), start_of_day_ms(end, zone));
        Ok(Self { label: text.into(), zone, first, end, window })
    }

    /// The calendar month that an instant lies in.
    ///
    /// # Errors
    /// An instant outside 2000 to 2099.
    pub fn month_of(at_ms: i64, zone: Tz) -> Result<Self, PeriodError> {
        let date = date_of(at_ms, zone);
        Self::parse(&format!("{:04}-{:02}", date.year(), date.month()), zone)
    }

    /// The period that a statement's number, or a line's, names: `VIS-2026-09-L3` is of 2026-09.
    pub fn of_number(number: &str, zone: Tz) -> Option<Self> {
        number.match_indices('-').find_map(|(at, _)| {
            let rest = &number[at + 1..];
            // The longest that is a period: the name may go on with a line's number.
            let mut ends: Vec<usize> = rest.match_indices('-').map(|(end, _)| end).collect();
            ends.push(rest.len());
            ends.into_iter().rev().find_map(|end| Self::parse(&rest[..end], zone).ok())
        })
    }

    /// Whether it is one calendar month.
    pub fn is_month(&self) -> bool {
        Self::month_of(self.window.start_ms, self.zone).is_ok_and(|month| month.window == self.window)
    }

    /// The calendar months that lie in it as a whole, in order.
    pub fn months(&self) -> Vec<Period> {
        let mut months = Vec::new();
        let mut at_ms = self.window.start_ms;
        while at_ms < self.window.end_ms {
            let month = Self::month_of(at_ms, self.zone).expect("an instant of a period lies in its years");
            at_ms = month.window.end_ms;
            if self.window.start_ms <= month.window.start_ms && month.window.end_ms <= self.window.end_ms {
                months.push(month);
            }
        }
        months
    }

    /// Its calendar months, where it is made of whole ones.
    pub fn whole_months(&self) -> Option<Vec<Period>> {
        let months = self.months();
        let len_ms: i64 = months.iter().map(Period::len_ms).sum();
        (len_ms == self.len_ms()).then_some(months)
    }

    /// As it was written: `2026-10`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The billing zone.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// Its UTC bounds, half-open.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Length in milliseconds: a 31-day month with a clock change has 743 or 745 hours of them.
    pub fn len_ms(&self) -> i64 {
        self.window.len_ms()
    }

    /// Hours for people: `720`, or `719.5` where a zone moves its clock by half an hour.
    pub fn hours(&self) -> String {
        let (whole, rest) = (self.len_ms() / HOUR_MS, self.len_ms() % HOUR_MS);
        if rest == 0 {
            return whole.to_string();
        }
        // Clock changes are whole minutes, so two decimals show every one that is a multiple of 36 s.
        format!("{whole}.{:02}", rest * 100 / HOUR_MS).trim_end_matches('0').to_string()
    }

    /// Whole local days.
    pub fn days(&self) -> i64 {
        (self.end - self.first).num_days()
    }

    /// Every local midnight strictly inside the period, Unix milliseconds: the hours that they cut are cut.
    pub fn midnights_ms(&self) -> Vec<i64> {
        midnights_ms(self.window, self.zone)
    }

    /// `1 Sep 2026 00:00 - 1 Oct 2026 00:00 America/Sao_Paulo`.
    pub fn local_bounds(&self) -> String {
        let show = |at_ms| local(at_ms, self.zone).format("%-d %b %Y %H:%M");
        format!("{} - {} {}", show(self.window.start_ms), show(self.window.end_ms), self.zone)
    }

    /// `2026-09-01T03:00Z..2026-10-01T03:00Z`.
    pub fn utc_bounds(&self) -> String {
        let show = |at_ms| local(at_ms, Tz::UTC).format("%Y-%m-%dT%H:%MZ");
        format!("{}..{}", show(self.window.start_ms), show(self.window.end_ms))
    }
}

/// The whole local days that a window touches, each as a UTC window, ascending.
pub fn days_of(window: Window, zone: Tz) -> Vec<Window> {
    if window.is_empty() {
        return Vec::new();
    }
    let start_ms = start_of_day_ms(date_of(window.start_ms, zone), zone);
    let end_ms = start_of_day_ms(next_day(date_of(window.end_ms - 1, zone)), zone);
    let whole = Window::new(start_ms, end_ms);
    whole.cut_at(&midnights_ms(whole, zone))
}

/// Every first instant of a local day strictly inside a window, Unix milliseconds, ascending.
pub fn midnights_ms(window: Window, zone: Tz) -> Vec<i64> {
    let mut cuts = Vec::new();
    let mut date = date_of(window.start_ms, zone);
    loop {
        date = next_day(date);
        let at_ms = start_of_day_ms(date, zone);
        if at_ms >= window.end_ms {
            return cuts;
        }
        // A skipped day starts where the next one does.
        if at_ms > window.start_ms && cuts.last() != Some(&at_ms) {
            cuts.push(at_ms);
        }
    }
}

/// The first day and the day after the last.
fn days(text: &str) -> Result<(NaiveDate, NaiveDate), PeriodError> {
    let wrong = || PeriodError::NotAPeriod(text.into());
    if let Some((first, end)) = text.split_once("..") {
        let day = |t: &str| strict_date(t).ok_or_else(wrong);
        let (first, end) = (day(first)?, day(end)?);
        return if first < end { Ok((first, end)) } else { Err(PeriodError::Empty(text.into())) };
    }
    let (year, rest) = text.split_once('-').map_or((text, None), |(year, rest)| (year, Some(rest)));
    let year: i32 = number(year, 4).ok_or_else(wrong)?.try_into().expect("four digits");
    let (month, months) = match rest {
        None => (1, 12),
        Some("Q1") => (1, 3),
        Some("Q2") => (4, 3),
        Some("Q3") => (7, 3),
        Some("Q4") => (10, 3),
        Some(month) => (number(month, 2).ok_or_else(wrong)?, 1),
    };
    let first = NaiveDate::from_ymd_opt(year, month, 1).ok_or_else(wrong)?;
    let end = first.checked_add_months(chrono::Months::new(months)).ok_or_else(wrong)?;
    Ok((first, end))
}

/// Exactly `len` digits.
fn number(text: &str, len: usize) -> Option<u32> {
    (text.len() == len && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// `2026-10-01` and no shorter form of it.
fn strict_date(text: &str) -> Option<NaiveDate> {
    (text.len() == 10).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()).flatten()
}

#[cfg(test)]
mod tests;
