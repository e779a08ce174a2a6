//! Reading the sections of `prices.toml` that aren't prices: each entry, then what no two may say at once.

use super::allocation::{AllocationRow, PoolOwnerRow};
use super::credit::CreditRuleRow;
use super::entry::{Entry, Row, Used};
use super::fee::{FeeRow, OverheadRow};
use super::reservation::ReservationRow;
use super::tax::TaxRow;
use super::{EntryName, Policies, PolicyError, Reserved, Taxpayer, Valid};
use crate::instant::local;
use crate::place::Place;
use chrono_tz::Tz;
use std::collections::BTreeSet;
use toml::Spanned;

/// The sections as TOML has them.
#[derive(Default)]
pub(crate) struct Rows {
    pub reservation: Vec<Spanned<ReservationRow>>,
    pub fee: Vec<Spanned<FeeRow>>,
    pub overhead: Vec<Spanned<OverheadRow>>,
    pub allocation: Vec<Spanned<AllocationRow>>,
    pub pool_owner: Vec<Spanned<PoolOwnerRow>>,
    pub credit_rule: Vec<Spanned<CreditRuleRow>>,
    pub tax: Vec<Spanned<TaxRow>>,
}

/// Where each entry of a section stands and what it is, by position.
type Read<T> = Vec<(Place, EntryName, T)>;

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    zone: Tz,
    ids: BTreeSet<String>,
    used: Vec<Used>,
}

/// Reads all sections; `file` is the name in errors, `text` the whole file, `zone` what local dates are in.
pub(crate) fn read(rows: Rows, file: &str, text: &str, zone: Tz) -> Result<Policies, PolicyError> {
    let mut reader = Reader { file, text, zone, ids: BTreeSet::new(), used: Vec::new() };
    let reservations = reader.section(rows.reservation)?;
    let fees = reader.section(rows.fee)?;
    let overheads = reader.section(rows.overhead)?;
    let allocations = reader.section(rows.allocation)?;
    let pool_owners = reader.section(rows.pool_owner)?;
    let credit_rules = reader.section(rows.credit_rule)?;
    let taxes = reader.section(rows.tax)?;
    apart(
        &reservations,
        zone,
        |r| r.valid,
        |a, b| match &a.reserved {
            Reserved::Devices(devices) => {
                devices.iter().find(|device| b.names(device)).map(|device| format!("device {device}"))
            }
            Reserved::Count { .. } => None,
        },
    )?;
    apart(
        &allocations,
        zone,
        |a| a.valid,
        |a, b| {
            let same = a.cost == b.cost && a.shared == b.shared && a.scope == b.scope;
            same.then(|| match &a.shared {
                Some(tenant) => format!("{} cost of {tenant}, {}", a.cost.word(), a.scope),
                None => format!("{} cost of {}", a.cost.word(), a.scope),
            })
        },
    )?;
    apart(
        &pool_owners,
        zone,
        |o| o.valid,
        |a, b| (a.pool == b.pool).then(|| format!("the owner of pool {}", a.pool)),
    )?;
    apart(&credit_rules, zone, |c| c.valid, |_, _| Some("credits".into()))?;
    apart(
        &taxes,
        zone,
        |t| t.valid,
        |a, b| {
            (a.payer == b.payer && a.what == b.what).then(|| match &a.payer {
                Taxpayer::Tenant(id) => format!("{} of {id}", a.what),
                Taxpayer::Everyone => format!("{} of everyone", a.what),
            })
        },
    )?;
    Ok(Policies {
        reservations: plain(reservations),
        fees: plain(fees),
        overheads: plain(overheads),
        allocations: plain(allocations),
        pool_owners: plain(pool_owners),
        credit_rules: plain(credit_rules),
        taxes: plain(taxes),
        used: reader.used,
    })
}

impl Reader<'_> {
    fn section<R: Row>(&mut self, rows: Vec<Spanned<R>>) -> Result<Read<R::Read>, PolicyError> {
        let mut read = Vec::with_capacity(rows.len());
        for spanned in rows {
            let place = Place::at(self.file, self.text, Some(spanned.span().start));
            let row = spanned.into_inner();
            let mut entry = Entry::start(&row, place.clone(), self.zone, &mut self.ids, &mut self.used)?;
            let name = entry.name.clone();
            read.push((place, name, row.read(&mut entry)?));
        }
        Ok(read)
    }
}

/// No two entries that are about the same thing hold at once.
fn apart<T>(
    entries: &Read<T>,
    zone: Tz,
    valid: impl Fn(&T) -> Valid,
    same: impl Fn(&T, &T) -> Option<String>,
) -> Result<(), PolicyError> {
    for (at, (place, second_name, second)) in entries.iter().enumerate() {
        for (_, first_name, first) in &entries[..at] {
            if !valid(first).overlaps(&valid(second)) {
                continue;
            }
            if let Some(thing) = same(first, second) {
                let at_ms = valid(first).from_ms.max(valid(second).from_ms);
                return Err(PolicyError::SameTime {
                    place: place.clone(),
                    first: first_name.clone(),
                    second: second_name.clone(),
                    thing,
                    at: local(at_ms, zone).format("%Y-%m-%d %H:%M").to_string(),
                });
            }
        }
    }
    Ok(())
}

fn plain<T>(entries: Read<T>) -> Vec<T> {
    entries.into_iter().map(|(_, _, entry)| entry).collect()
}
