//! `[[tax]]`: a percentage of what a statement posts, or the note that the payer owes the tax itself.

use super::entry::{Entry, Row};
use super::{PolicyError, Valid};
use crate::money::UnitPrice;
use crate::tenant::TenantId;
use serde::Deserialize;
use toml::Value;

/// A tax on statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tax {
    /// Unique name of the entry.
    pub id: String,
    /// On whose.
    pub payer: Taxpayer,
    /// How much.
    pub rate: TaxRate,
    /// Its name, in words for people: `VAT`.
    pub what: String,
    /// When; what holds at a period's last instant taxes the whole period.
    pub valid: Valid,
}

/// Whose statements are taxed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taxpayer {
    /// This tenant's and those of tenants below it that have no tax of their own.
    Tenant(TenantId),
    /// Everyone's who has no tax of its own.
    Everyone,
}

/// How much a tax is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaxRate {
    /// Percent, in 1e-6 percent.
    Percent(UnitPrice),
    /// Nothing: the payer accounts for it (reverse charge).
    ReverseCharge,
}

/// A `[[tax]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaxRow {
    id: String,
    tenant: String,
    percent: Option<Value>,
    #[serde(default)]
    reverse_charge: bool,
    what: String,
    from: Value,
    to: Option<Value>,
}

/// Highest tax, in 1e-6 percent.
const PERCENT_MAX: UnitPrice = UnitPrice(100_000_000);

impl Row for TaxRow {
    const SECTION: &'static str = "tax";
    type Read = Tax;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<Tax, PolicyError> {
        entry.filled("what", &self.what)?;
        let payer = match self.tenant.as_str() {
            "*" => Taxpayer::Everyone,
            name => Taxpayer::Tenant(entry.tenant("tenant", name)?),
        };
        let rate = match (&self.percent, self.reverse_charge) {
            (Some(percent), false) => TaxRate::Percent(entry.decimal("percent", percent)?),
            (None, true) => TaxRate::ReverseCharge,
            _ => {
                return Err(
                    entry.keys("must say how much it is: either percent = \"19\", or reverse_charge = true")
                );
            }
        };
        if matches!(rate, TaxRate::Percent(percent) if percent > PERCENT_MAX) {
            return Err(entry.keys("is above 100 percent: check the decimal point"));
        }
        let valid = entry.valid(&self.from, self.to.as_ref())?;
        Ok(Tax { id: self.id, payer, rate, what: self.what, valid })
    }
}
