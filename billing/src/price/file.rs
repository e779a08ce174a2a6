//! Reading `prices.toml`: shape first, then each entry, then those for the same in time, then what they need of each
//! other.

use super::{BasisRule, PriceEntry, PriceError, Terms};
use crate::place::Place;
use crate::policy::{self, Policies};
use chrono_tz::Tz;
use serde::Deserialize;
use toml::Spanned;

mod basis;
mod change;
mod exchange;
mod follow;
mod price;
mod row;
mod terms;
use follow::{Placed, check_ties, follow};
use row::{Ids, Row};

/// Most entries of a section: every entry that fits a model is looked at for each price.
const ENTRIES_MAX: usize = 10_000;

/// `prices.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    price: Vec<Spanned<price::PriceRow>>,
    #[serde(default)]
    purchase: Vec<Spanned<price::PurchaseRow>>,
    #[serde(default)]
    discount: Vec<Spanned<terms::DiscountRow>>,
    #[serde(default)]
    mig_factor: Vec<Spanned<terms::MigFactorRow>>,
    #[serde(default)]
    service_unit: Vec<Spanned<terms::ServiceUnitRow>>,
    #[serde(default)]
    energy: Vec<Spanned<terms::EnergyRow>>,
    #[serde(default)]
    exchange_rate: Vec<Spanned<exchange::ExchangeRow>>,
    #[serde(default)]
    basis: Vec<Spanned<basis::BasisRow>>,
    #[serde(default)]
    change: Vec<Spanned<change::ChangeRow>>,
    #[serde(default)]
    reservation: Vec<Spanned<policy::ReservationRow>>,
    #[serde(default)]
    fee: Vec<Spanned<policy::FeeRow>>,
    #[serde(default)]
    overhead: Vec<Spanned<policy::OverheadRow>>,
    #[serde(default)]
    allocation: Vec<Spanned<policy::AllocationRow>>,
    #[serde(default)]
    pool_owner: Vec<Spanned<policy::PoolOwnerRow>>,
    #[serde(default)]
    credit_rule: Vec<Spanned<policy::CreditRuleRow>>,
    #[serde(default)]
    tax: Vec<Spanned<policy::TaxRow>>,
}

/// Every section, each ordered by scope and start; an entry without an end ends where the next of its scope begins; and the
/// policies beside them.
pub(super) fn read(file: &str, text: &str, zone: Tz) -> Result<(Terms, Policies), PriceError> {
    let parsed: File = toml::from_str(text).map_err(|error| PriceError::Toml {
        place: Place::at(file, text, error.span().map(|s| s.start)),
        message: error.message().to_string(),
    })?;
    let mut reading = Reading { file, text, zone, ids: Ids::default() };
    let mut prices = reading.section("price", parsed.price, |r| Some(&r.id), price::read)?;
    prices.extend(reading.section("purchase", parsed.purchase, |r| Some(&r.id), price::read_purchase)?);
    let discounts = reading.section("discount", parsed.discount, |r| Some(&r.id), terms::read_discount)?;
    let mig_factors = reading.section("mig_factor", parsed.mig_factor, |_| None, terms::read_mig_factor)?;
    let units = reading.section("service_unit", parsed.service_unit, |r| Some(&r.id), terms::read_unit)?;
    let energies = reading.section("energy", parsed.energy, |r| Some(&r.id), terms::read_energy)?;
    let rates = reading.section("exchange_rate", parsed.exchange_rate, |_| None, exchange::read)?;
    let bases = reading.section("basis", parsed.basis, |_| None, basis::read)?;
    let reasons = reading.section("change", parsed.change, |_| None, change::read)?;

    let (mut prices, bases) = (follow(prices)?, follow(bases)?);
    check_ties(&prices, PriceEntry::could_tie)?;
    check_ties(&bases, BasisRule::could_tie)?;
    let (discounts, units) = (follow(discounts)?, follow(units)?);
    price::settle_units(&mut prices, &units)?;
    basis::check_memory(&prices, &bases)?;
    let mentions = price::mentions(&prices, &units)
        .chain(discounts.iter().filter_map(|d| d.mention_tenant(d.item.tenant.as_ref())))
        .chain(bases.iter().filter_map(|b| b.mention_tenant(b.item.tenant.as_ref())))
        .collect();
    let rows = policy::Rows {
        reservation: parsed.reservation,
        fee: parsed.fee,
        overhead: parsed.overhead,
        allocation: parsed.allocation,
        pool_owner: parsed.pool_owner,
        credit_rule: parsed.credit_rule,
        tax: parsed.tax,
    };
    let terms = Terms {
        entries: items(prices),
        discounts: items(discounts),
        mig_factors: items(follow(mig_factors)?),
        service_units: items(units),
        energies: items(follow(energies)?),
        exchange_rates: items(follow(rates)?),
        bases: items(bases),
        reasons: items(reasons),
        mentions,
    };
    Ok((terms, policy::read(rows, file, text, zone)?))
}

fn items<T>(rows: Vec<Placed<T>>) -> Vec<T> {
    rows.into_iter().map(|row| row.item).collect()
}

/// The file as far as it was read.
struct Reading<'a> {
    file: &'a str,
    text: &'a str,
    zone: Tz,
    ids: Ids,
}

impl Reading<'_> {
    /// One section; `id` is the entry's id, where entries of the section have one.
    fn section<R, T>(
        &mut self,
        section: &'static str,
        rows: Vec<Spanned<R>>,
        id: impl Fn(&R) -> Option<&String>,
        read: impl Fn(&Row, R) -> Result<T, PriceError>,
    ) -> Result<Vec<Placed<T>>, PriceError> {
        let mut placed = Vec::with_capacity(rows.len());
        for (at, row) in (1..).zip(rows) {
            let place = Place::at(self.file, self.text, Some(row.span().start));
            let inner = row.into_inner();
            let row = match id(&inner) {
                Some(id) => Row::of_id(place, section, id.clone(), self.zone, &mut self.ids)?,
                None => Row::numbered(place, section, at, self.zone),
            };
            if at > ENTRIES_MAX {
                return Err(
                    row.keys(format!("is one too many: a section takes {ENTRIES_MAX} entries; use patterns"))
                );
            }
            let item = read(&row, inner)?;
            placed.push(Placed { row, item });
        }
        Ok(placed)
    }
}
