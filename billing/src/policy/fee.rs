//! `[[fee]]` and `[[overhead]]`: amounts that don't depend on use, a month at a time.

use super::entry::{Entry, Row};
use super::{PolicyError, Valid};
use crate::money::UnitPrice;
use crate::tenant::TenantId;
use serde::Deserialize;
use toml::Value;

/// Most units that a fee may count.
const UNITS_MAX: i64 = 1_000_000;

/// What a tenant pays a month, whatever it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// Unique name of the entry.
    pub id: String,
    /// Who pays it.
    pub payer: FeePayer,
    /// How much.
    pub price: FeePrice,
    /// What for, in words for people.
    pub what: String,
    /// When.
    pub valid: Valid,
}

/// Who pays a fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeePayer {
    /// This tenant, on its own statement and not on those of tenants below it.
    Tenant(TenantId),
    /// Each declared tenant without tenants below it, and whoever else has usage in the month.
    Everyone,
}

/// How much a fee is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeePrice {
    /// For a whole calendar month.
    PerMonth(UnitPrice),
    /// For each unit in a whole calendar month.
    PerUnit {
        /// Price of one.
        price: UnitPrice,
        /// How many.
        units: i64,
    },
}

/// What the platform costs a month besides its GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overhead {
    /// Unique name of the entry.
    pub id: String,
    /// What it is, in words for people.
    pub what: String,
    /// Cost of a whole calendar month.
    pub per_month: UnitPrice,
    /// When.
    pub valid: Valid,
}

/// A `[[fee]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeRow {
    id: String,
    tenant: String,
    per_month: Option<Value>,
    per_unit: Option<Value>,
    units: Option<i64>,
    what: String,
    from: Value,
    to: Option<Value>,
}

/// An `[[overhead]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverheadRow {
    id: String,
    what: String,
    per_month: Value,
    from: Value,
    to: Option<Value>,
}

impl Row for FeeRow {
    const SECTION: &'static str = "fee";
    type Read = Fee;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<Fee, PolicyError> {
        entry.filled("what", &self.what)?;
        let payer = match self.tenant.as_str() {
            "*" => FeePayer::Everyone,
            name => FeePayer::Tenant(entry.tenant("tenant", name)?),
        };
        let price = match (&self.per_month, &self.per_unit, self.units) {
            (Some(price), None, None) => FeePrice::PerMonth(entry.decimal("per_month", price)?),
            (None, Some(price), Some(units)) => FeePrice::PerUnit {
                price: entry.decimal("per_unit", price)?,
                units: entry.count("units", units, UNITS_MAX)?,
            },
            _ => return Err(entry.keys("must say how much it is: either per_month, or per_unit and units")),
        };
        let valid = entry.valid(&self.from, self.to.as_ref())?;
        Ok(Fee { id: self.id, payer, price, what: self.what, valid })
    }
}

impl Row for OverheadRow {
    const SECTION: &'static str = "overhead";
    type Read = Overhead;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<Overhead, PolicyError> {
        entry.filled("what", &self.what)?;
        Ok(Overhead {
            per_month: entry.decimal("per_month", &self.per_month)?,
            valid: entry.valid(&self.from, self.to.as_ref())?,
            id: self.id,
            what: self.what,
        })
    }
}
