//! A row of CostAndUsage before it is written: what it is of, what was multiplied, and which statement it stands on.

use super::Issuer;
use crate::charge::{Quantity, Unit};
use crate::money::{Currency, Exact, UnitPrice};
use crate::statement::{Context, Mode};
use crate::tenant::TenantId;
use schema::window::Window;

/// What all rows of a statement share.
pub(super) struct Head<'a> {
    pub issuer: &'a Issuer,
    pub context: &'a Context,
    pub currency: &'a Currency,
    /// `VIS-2026-09`.
    pub number: &'a str,
    pub path: &'a str,
    pub cost_centre: Option<&'a str>,
}

impl Head<'_> {
    /// A showback is no invoice.
    pub fn is_invoiced(&self) -> bool {
        self.context.mode == Mode::Chargeback
    }

    /// Tags of our own have our name in front.
    pub fn tags(&self) -> Option<String> {
        let tags = serde_json::json!({ "slicemeter:cost_centre": self.cost_centre? });
        Some(tags.to_string())
    }
}

/// FOCUS's charge categories. Fees and reserved time are usage of what is sold, too: a purchase is what covers later
/// charges, and of those version 1.2 wants no effective cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    Usage,
    Tax,
    Credit,
    Adjustment,
}

impl Category {
    pub fn word(self) -> &'static str {
        match self {
            Self::Usage => "Usage",
            Self::Tax => "Tax",
            Self::Credit => "Credit",
            Self::Adjustment => "Adjustment",
        }
    }
}

/// A tenant as an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub id: TenantId,
    pub name: String,
}

/// What is sold, and at what price.
pub(super) struct Sku {
    pub id: String,
    /// The price book's entry; with `#2` for its second tier.
    pub price_id: String,
    /// JSON.
    pub details: String,
    pub list: UnitPrice,
    pub contracted: UnitPrice,
    pub quantity: Quantity,
}

impl Sku {
    /// What is measured.
    pub fn meter(&self) -> &'static str {
        match self.quantity.unit {
            Unit::GpuHour => "GPU Allocation Hours",
            Unit::InstanceHour => "GPU Instance Hours",
            Unit::GibHour => "GPU Memory Hours",
            Unit::KilowattHour => "Energy",
            Unit::Month => "Subscription",
            Unit::Piece => "Units",
        }
    }
}

/// A device of a cluster.
pub(super) struct Device {
    pub cluster: String,
    pub node: String,
    pub uuid: String,
}

/// What kind of device time it is.
pub(super) struct Of {
    pub model: String,
    pub profile: Option<String>,
    pub sharing: Option<&'static str>,
}

/// A share of a cost that a policy moves: a tenant's part, or what is taken from where it stood.
pub(super) struct Split {
    pub method: &'static str,
    /// Who takes it, and its part of all that is taken in 1e-9; `None` for the remainder.
    pub taken: Option<(TenantId, i64)>,
}

impl Split {
    pub fn receiver(&self) -> Option<String> {
        self.taken.as_ref().map(|(tenant, _)| tenant.to_string())
    }

    pub fn details(&self) -> Option<String> {
        let (_, ratio) = self.taken.as_ref()?;
        let (whole, nano) = (ratio / 1_000_000_000, ratio % 1_000_000_000);
        Some(format!("{{\"Elements\":[{{\"AllocatedRatio\":{whole}.{nano:09}}}]}}"))
    }

    pub fn tags(&self) -> Option<String> {
        let (tenant, _) = self.taken.as_ref()?;
        Some(serde_json::json!({ "slicemeter:tenant": tenant }).to_string())
    }
}

/// A row.
pub(super) struct Row<'a> {
    pub head: &'a Head<'a>,
    /// Whose cost it was before any policy moved it.
    pub account: Account,
    /// Whose it is.
    pub tenant: TenantId,
    pub category: Category,
    /// `usage`, `credit`: our own word.
    pub kind: &'static str,
    pub what: String,
    pub when: Window,
    pub billed: Exact,
    /// `VIS-2026-09-L3`.
    pub line: String,
    pub sku: Option<Sku>,
    pub consumed: Option<Quantity>,
    pub device: Option<Device>,
    pub of: Option<Of>,
    pub split: Option<Split>,
    /// The line of a closed period that it corrects.
    pub corrects: Option<String>,
    /// `priced`, or `unpriced`: its cost of nothing is no price of nothing.
    pub price_state: &'static str,
}

impl Row<'_> {
    pub fn frequency(&self) -> &'static str {
        let recurs =
            self.sku.as_ref().is_some_and(|sku| matches!(sku.quantity.unit, Unit::Month | Unit::Piece));
        match self.category {
            Category::Usage if recurs => "Recurring",
            Category::Usage => "Usage-Based",
            Category::Tax | Category::Credit | Category::Adjustment => "One-Time",
        }
    }

    /// The cost at one of its prices; what is billed where there is no price.
    pub fn cost_at(&self, price: fn(&Sku) -> UnitPrice) -> Exact {
        self.sku.as_ref().map_or(self.billed, |sku| Exact::times(sku.quantity, price(sku)))
    }
}
