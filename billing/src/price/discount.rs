//! Percentages off the list price. Of several that fit, the nearest tenant's wins; they are never compounded.

use super::Span;
use super::selector::exactness;
use crate::fixed;
use crate::glob;
use crate::money::UnitPrice;
use crate::tenant::TenantId;

/// One percent of a price, as [`Discount::percent_e4`] counts it.
const PERCENT: i128 = 10_000;

/// A `[[discount]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// Unique name.
    pub id: String,
    /// The tenant or tree node that has it, with all below; `None` for everybody.
    pub tenant: Option<TenantId>,
    /// NVML product name, exact or with `*`.
    pub model: String,
    /// How much off, in 1e-4 of a percent: at most 100 %.
    pub percent_e4: i64,
    /// When it holds.
    pub span: Span,
}

impl Discount {
    /// The price less the discount, half-even at 6 decimals.
    ///
    /// ```
    /// # use billing::{money::UnitPrice, price::{Discount, Span}};
    /// # let span = Span { from_ms: 0, to_ms: None };
    /// let d = Discount { id: "d".into(), tenant: None, model: "*".into(), percent_e4: 200_000, span };
    /// assert_eq!(d.off(UnitPrice::parse("3.60").expect("a price")).to_string(), "2.88");
    /// ```
    pub fn off(&self, price: UnitPrice) -> UnitPrice {
        let rest = 100 * PERCENT - i128::from(self.percent_e4);
        let left = fixed::divide(i128::from(price.0) * rest, 100 * PERCENT);
        UnitPrice(i64::try_from(left).expect("no more than the price"))
    }

    /// The percentage for people: `12.5`.
    pub fn percent(&self) -> String {
        fixed::show(self.percent_e4, 4)
    }

    /// What it is a discount on, for people.
    pub fn scope(&self) -> String {
        let whose = self.tenant.as_ref().map(|t| format!(", for tenant {t}")).unwrap_or_default();
        format!("model {:?}{whose}", self.model)
    }
}

/// The discount on a model for whoever stands at the start of a path, if there is one: the nearest tenant's, then the
/// most exact model's.
pub(super) fn of<'a>(
    all: &'a [Discount],
    model: &str,
    path: &[TenantId],
    at_ms: i64,
) -> Option<&'a Discount> {
    let near = |d: &Discount| match &d.tenant {
        None => Some(usize::MAX),
        Some(tenant) => path.iter().position(|node| node == tenant),
    };
    all.iter()
        .filter(|d| d.span.holds_at(at_ms) && glob::fits(&d.model, model))
        .filter_map(|d| Some((near(d)?, d)))
        .max_by_key(|(near, d)| (std::cmp::Reverse(*near), exactness(&d.model)))
        .map(|(_, d)| d)
}
