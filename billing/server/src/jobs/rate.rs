//! Rating as a job: days whose hours have other revisions than they were rated from are rated again, and published.
//!
//! A day is streamed: usage by workload beside owners by workload, so that memory holds one owner and the day's sums, never
//! its rows. Every run appends under a revision of its own, so two services rating one day write the same rows twice and
//! one pointer counts.

use super::close::next_revision;
use crate::config::Loaded;
use crate::store::charges::{ChargeRow, Days, HourRevision, RatedDayRow};
use crate::store::owners::OwnerStream;
use crate::store::{Reader, Store, StoreError};
use billing::period::days_of;
use billing::rating::{Changes, LineKey, RateError, Rules, Sums};
use billing::tenant::TenantId;
use billing::usage::UsageTotal;
use chrono_tz::Tz;
use schema::units::HOUR_MS;
use schema::window::Window;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Why a day can't be rated.
#[derive(Debug, thiserror::Error)]
pub enum RatingError {
    /// A defect upstream, or a price on trial that changes inside an hour.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The store refuses or can't be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A day to be rated, and what from.
#[derive(Debug, Clone)]
pub struct DirtyDay {
    window: Window,
    hours: Vec<HourRevision>,
    fingerprint: u64,
}

/// Rates every day that touches `window` and needs it, oldest first, and says how many that were.
///
/// # Errors
/// See [`RatingError`]. Days that were rated before it stay published.
pub async fn rate_dirty(store: &Store, config: &Loaded, window: Window) -> Result<u64, RatingError> {
    let reader = store.reader();
    let rules = config.rules();
    let name = config.rules_name();
    let changes_ms = config.changes_ms();
    let dirty = dirty_days(&reader, &name, config.zone, window).await?;
    for day in &dirty {
        let charges = rate_day(&reader, rules, &changes_ms, day).await?;
        let now_ms = crate::clock::now_ms();
        let revision = next_revision(reader.last_day_revision().await?, now_ms);
        let day_s = u32::try_from(day.window.start_ms / 1000).unwrap_or(0);
        let published = RatedDayRow {
            rules: name.clone(),
            day: day_s,
            revision,
            fingerprint: day.fingerprint,
            rated_at_ms: now_ms,
            held_nano: 0,
        };
        let rows = charges.rows(day_s, revision);
        store.writer().post_day(day.window, &changes_ms, &day.hours, rows, published).await?;
    }
    Ok(dirty.len() as u64)
}

/// Local days that `window` touches whose hours aren't those that they were rated from.
///
/// # Errors
/// The store refuses or can't be reached.
pub async fn dirty_days(
    reader: &Reader,
    rules: &str,
    zone: Tz,
    window: Window,
) -> Result<Vec<DirtyDay>, StoreError> {
    let days = days_of(window, zone);
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return Ok(Vec::new()) };
    let window = Window::new(first.start_ms, last.end_ms);
    let hours = reader.revisions(window).await?;
    let rated = reader.rated_from(Days { rules, window }).await?;
    let rated: BTreeMap<i64, u64> =
        rated.into_iter().map(|r| (i64::from(r.day_s) * 1000, r.day_fingerprint)).collect();
    let mut dirty = Vec::new();
    for day in days {
        // An hour that a midnight cuts belongs to both days.
        let first = hours.partition_point(|h| hour_ms(h) + HOUR_MS <= day.start_ms);
        let end = hours.partition_point(|h| hour_ms(h) < day.end_ms);
        let hours = &hours[first..end.max(first)];
        let fingerprint = fingerprint(hours);
        if !hours.is_empty() && rated.get(&day.start_ms) != Some(&fingerprint) {
            dirty.push(DirtyDay { window: day, hours: hours.to_vec(), fingerprint });
        }
    }
    Ok(dirty)
}

fn hour_ms(hour: &HourRevision) -> i64 {
    i64::from(hour.hour_s) * 1000
}

fn fingerprint(hours: &[HourRevision]) -> u64 {
    let mut hash = Sha256::new();
    for hour in hours {
        hash.update(hour.hour_s.to_be_bytes());
        hash.update(hour.hour_revision.to_be_bytes());
    }
    u64::from_be_bytes(*hash.finalize().first_chunk().expect("a SHA-256 has 32 bytes"))
}

async fn rate_day(
    reader: &Reader,
    rules: Rules<'_>,
    changes_ms: &[i64],
    day: &DirtyDay,
) -> Result<DayCharges, RatingError> {
    let changes = Changes::of(rules);
    let mut owners = OwnerStream::new(reader, day.window)?;
    let mut usage = reader.day_usage(day.window, changes_ms, &day.hours)?;
    let mut charges = DayCharges::default();
    while let Some((row, last_ms)) = usage.next().await? {
        // Sums end at change instants; the hours in them must too.
        changes.check(&row.device, Window::new(row.segment.start_ms, last_ms.max(row.segment.start_ms)))?;
        let owner = owners.of(row.workload).await?;
        let (resolved, key) = rules.line_of(&row, owner);
        charges.take(&row, resolved.tenant, key);
    }
    Ok(charges)
}

/// A day's sums by tenant, line, device and piece. Names are kept once.
#[derive(Default)]
struct DayCharges {
    tenants: Names<TenantId>,
    lines: Names<LineKey>,
    places: Names<Place>,
    sums: BTreeMap<(u32, u32, u32, i64), Sums>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    cluster: String,
    node: String,
    device: String,
    model: String,
}

impl DayCharges {
    fn take(&mut self, row: &UsageTotal, tenant: TenantId, key: LineKey) {
        let place = Place {
            cluster: row.cluster.clone(),
            node: row.node.clone(),
            device: row.device.clone(),
            model: row.model.clone(),
        };
        let sums = Sums::of(row, key.basis);
        let at = (self.tenants.of(tenant), self.lines.of(key), self.places.of(place), row.segment.start_ms);
        self.sums.entry(at).and_modify(|known| known.add(&sums)).or_insert(sums);
    }

    /// The rows, made as they are taken: a day of a large fleet would be many at once.
    fn rows(self, day: u32, revision: u64) -> impl Iterator<Item = ChargeRow> {
        let keys: Vec<String> = self
            .lines
            .names()
            .iter()
            .map(|key| serde_json::to_string(key).expect("a key of strings and integers serialises"))
            .collect();
        let (tenants, places) = (self.tenants.names(), self.places.names());
        let row = move |((tenant, line, place, _), sums): ((u32, u32, u32, i64), Sums)| {
            let place = &places[place as usize];
            ChargeRow {
                day,
                revision,
                start_ms: sums.span.start_ms,
                end_ms: sums.span.end_ms,
                tenant: tenants[tenant as usize].as_str().into(),
                line: keys[line as usize].clone(),
                cluster: place.cluster.clone(),
                node: place.node.clone(),
                device: place.device.clone(),
                model: place.model.clone(),
                natural_ms: sums.natural_ms,
                observed_ms: sums.observed_ms,
                held_nano: sums.held.0,
                charged_nano: sums.charged.0,
                busy_nano: sums.busy.0,
                unknown_nano: sums.unknown.0,
                energy_mj: sums.energy_mj,
                memory_byte_ms: sums.memory_byte_ms,
            }
        };
        self.sums.into_iter().map(row)
    }
}

/// Numbers for things, in the order in which they came.
struct Names<T> {
    numbers: HashMap<T, u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new() }
    }
}

impl<T: Hash + Eq + Clone> Names<T> {
    fn of(&mut self, name: T) -> u32 {
        let next = u32::try_from(self.numbers.len()).expect("a day has fewer than 4 billion of anything");
        *self.numbers.entry(name).or_insert(next)
    }

    /// By number.
    fn names(&self) -> Vec<T> {
        let mut names: Vec<(u32, T)> =
            self.numbers.iter().map(|(name, number)| (*number, name.clone())).collect();
        names.sort_by_key(|(number, _)| *number);
        names.into_iter().map(|(_, name)| name).collect()
    }
}
