//! What `prices.toml` says besides prices: reservations, fees, overheads, who takes the cost of what nobody held, which
//! lost work is credited, and tax.
//!
//! Here it is only read, checked and asked; [`crate::post`] makes charges from it. Every entry holds from an instant on,
//! so that a change is a new entry and history stays.

use crate::price::Span;
use crate::tenant::{Site, TenantId, Tenants};
use schema::window::Window;

mod allocation;
mod credit;
mod entry;
mod error;
mod fee;
mod file;
mod reservation;
mod scope;
mod tax;
pub use allocation::{AllocationPolicy, CostKind, PoolOwner, SharePart, Taker};
pub(crate) use allocation::{AllocationRow, PoolOwnerRow};
pub(crate) use credit::CreditRuleRow;
pub use credit::{CREDIT_HOURS_MAX, CreditRule, FATAL_XIDS, FailureReason};
pub use error::{EntryName, PolicyError, Spot};
pub use fee::{Fee, FeePayer, FeePrice, Overhead};
pub(crate) use fee::{FeeRow, OverheadRow};
pub(crate) use file::{Rows, read};
pub(crate) use reservation::ReservationRow;
pub use reservation::{Reservation, Reserved};
pub use scope::Scope;
pub(crate) use tax::TaxRow;
pub use tax::{Tax, TaxRate, Taxpayer};

use entry::{Named, Used};

/// Everything of one version of `prices.toml` besides its prices, each part in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policies {
    /// `[[reservation]]`.
    pub reservations: Vec<Reservation>,
    /// `[[fee]]`.
    pub fees: Vec<Fee>,
    /// `[[overhead]]`.
    pub overheads: Vec<Overhead>,
    /// `[[allocation]]`.
    pub allocations: Vec<AllocationPolicy>,
    /// `[[pool_owner]]`.
    pub pool_owners: Vec<PoolOwner>,
    /// `[[credit_rule]]`.
    pub credit_rules: Vec<CreditRule>,
    /// `[[tax]]`.
    pub taxes: Vec<Tax>,
    /// Tenants and pools that entries name, and where.
    used: Vec<Used>,
}

impl Policies {
    /// Every instant strictly inside the window at which some entry starts or ends, ascending: hours are cut there.
    pub fn change_instants(&self, window: Window) -> Vec<i64> {
        window.inside(self.valid().flat_map(Span::edges))
    }

    /// When each entry holds.
    fn valid(&self) -> impl Iterator<Item = &Span> {
        let reserved = self.reservations.iter().map(|r| &r.valid);
        let fees = self.fees.iter().map(|f| &f.valid).chain(self.overheads.iter().map(|o| &o.valid));
        let allocated =
            self.allocations.iter().map(|a| &a.valid).chain(self.pool_owners.iter().map(|p| &p.valid));
        let rest = self.credit_rules.iter().map(|c| &c.valid).chain(self.taxes.iter().map(|t| &t.valid));
        reserved.chain(fees).chain(allocated).chain(rest)
    }

    /// Checks the tenants and pools that entries name against `tenants.toml`. Where that has no rules, names come
    /// from namespaces, accounts and users, and any will do.
    ///
    /// # Errors
    /// The first name that isn't there, with file, line, entry, key and remedy.
    pub fn check_against(&self, tenants: &Tenants) -> Result<(), PolicyError> {
        self.used.iter().try_for_each(|used| {
            let known = match &used.named {
                Named::Tenant(id) => tenants.rules().is_empty() || tenants.is_declared(id),
                Named::Pool(name) => tenants.pool(name).is_some(),
            };
            if known { Ok(()) } else { Err(used.error()) }
        })
    }

    /// The reservation under which a device is at an instant, if it is reserved by name. Reservations by count reserve no
    /// particular device.
    pub fn reservation_of(&self, device: &str, at_ms: i64) -> Option<&Reservation> {
        self.reservations.iter().find(|r| r.valid.holds_at(at_ms) && r.names(device))
    }

    /// The reservation at whose price a tenant's use of a device is charged: the device is reserved by name, for the tenant
    /// or one above it.
    pub fn reserved_price(
        &self,
        device: &str,
        tenant: &TenantId,
        at_ms: i64,
        tenants: &Tenants,
    ) -> Option<&Reservation> {
        let found = self.reservation_of(device, at_ms)?;
        let alive = tenants.ended(&found.tenant, at_ms).is_none();
        (alive && tenants.is_within(tenant, &found.tenant, at_ms)).then_some(found)
    }

    /// Who owns a pool at an instant.
    pub fn owner_of(&self, pool: &str, at_ms: i64) -> Option<&TenantId> {
        self.pool_owners.iter().find(|o| o.pool == pool && o.valid.holds_at(at_ms)).map(|o| &o.tenant)
    }

    /// The owned pools that hold a node at an instant, with their owners.
    pub fn owned_pools_at<'a, 'b>(
        &'a self,
        site: Site<'b>,
        at_ms: i64,
        tenants: &'b Tenants,
    ) -> impl Iterator<Item = &'a PoolOwner> + use<'a, 'b> {
        let holds = move |name: &str| tenants.pool(name).is_some_and(|pool| pool.holds(site));
        self.pool_owners.iter().filter(move |o| o.valid.holds_at(at_ms) && holds(&o.pool))
    }

    /// The rule for credits that holds at an instant.
    pub fn credit_rule_at(&self, at_ms: i64) -> Option<&CreditRule> {
        self.credit_rules.iter().find(|rule| rule.valid.holds_at(at_ms))
    }
}

#[cfg(test)]
mod tests;
