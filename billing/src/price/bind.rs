//! What a price book names of other files: tenants, pools, and currencies that need a rate into the service's.

use super::{Bound, PriceBook, PriceError, Span, exchange::ExchangeRate};
use crate::glob;
use crate::money::{Currency, UNIT_PRICE_MAX, UnitPrice};
use crate::place::Place;
use crate::tenant::{TenantId, Tenants};

/// Something of another file that an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    /// Where the entry stands.
    pub place: Place,
    /// The entry as errors call it.
    pub what: String,
    /// What it names.
    pub named: Named,
}

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// A tenant or tree node.
    Tenant(TenantId),
    /// A pattern over pools.
    Pool(String),
    /// A price in a currency.
    Price {
        currency: Currency,
        /// The dearest of its tiers.
        dearest: UnitPrice,
        span: Span,
    },
}

impl PriceBook {
    /// The book with the currency that it answers in and the pools that its entries name, checked against both files.
    ///
    /// # Errors
    /// An entry names a tenant or pool that isn't declared, or has a currency without any exchange rate into the
    /// service's; with file, line, entry and remedy.
    pub fn bind(mut self, service: &Currency, tenants: &Tenants) -> Result<Self, PriceError> {
        for mention in &self.terms.mentions {
            mention.check(service, tenants, &self.terms.exchange_rates)?;
        }
        self.policies.check_against(tenants)?;
        self.bound = Some(Bound { service: service.clone(), pools: tenants.pools().to_vec() });
        Ok(self)
    }
}

impl Mention {
    fn check(&self, service: &Currency, tenants: &Tenants, rates: &[ExchangeRate]) -> Result<(), PriceError> {
        let unknown = |named: String, problem: String| PriceError::Unknown {
            place: self.place.clone(),
            what: self.what.clone(),
            named,
            problem,
        };
        match &self.named {
            // Without rules, tenants come from namespaces, accounts and users, and nobody needs to declare them.
            Named::Tenant(id) => {
                let shown = [TenantId::UNATTRIBUTED, TenantId::PLATFORM].contains(&id.as_str());
                let known = shown || tenants.is_declared(id) || tenants.rules().is_empty();
                if known {
                    return Ok(());
                }
                Err(unknown(
                    format!("tenant {:?}", id.as_str()),
                    "tenants.toml does not declare: add a [[tenant]] of this id, or correct the name".into(),
                ))
            }
            Named::Pool(pattern) => {
                if tenants.pools().iter().any(|pool| glob::fits(pattern, &pool.name)) {
                    return Ok(());
                }
                Err(unknown(
                    format!("pool {pattern:?}"),
                    "is no [[pool]] of tenants.toml: add one of this name there, or correct the name".into(),
                ))
            }
            Named::Price { currency, .. } if currency == service => Ok(()),
            Named::Price { currency, dearest, span } => {
                let (from, to) = (currency.code(), service.code());
                let holding: Vec<&ExchangeRate> = rates
                    .iter()
                    .filter(|r| r.from == *currency && r.to == *service && r.span.overlaps(span))
                    .collect();
                if holding.is_empty() {
                    let problem = format!(
                        "has no exchange rate into {to} while the price holds: add [[exchange_rate]] with from_currency = {from:?}, to_currency = {to:?}, its rate, source and date"
                    );
                    return Err(unknown(format!("currency {from:?}"), problem));
                }
                let most = i128::from(UNIT_PRICE_MAX) * 10i128.pow(16);
                if holding.iter().any(|r| i128::from(r.rate_e10) * i128::from(dearest.0) > most) {
                    let problem =
                        format!("makes a price above {UNIT_PRICE_MAX} {to}: check the price and the rate");
                    return Err(unknown(format!("currency {from:?}"), problem));
                }
                Ok(())
            }
        }
    }
}
