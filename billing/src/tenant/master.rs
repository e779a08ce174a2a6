//! A tenant's master data, and how it changes over time.

use super::TenantId;
use crate::money::Currency;
use crate::place::Place;
use schema::window::Window;

/// A tenant's master data at an instant.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tenant {
    /// Its id: a safe name.
    pub id: TenantId,
    /// Name for people.
    pub name: String,
    /// The tenant it is part of.
    pub parent: Option<TenantId>,
    /// Cost centre that its statements name.
    pub cost_centre: Option<String>,
    /// Account that an ERP posts its statements to.
    #[serde(default)]
    pub account: Option<String>,
    /// E-mail addresses of the people to ask.
    pub contacts: Vec<String>,
    /// Language of its statements, BCP 47.
    pub language: Option<String>,
    /// Currency of its statements; the service's where it says none.
    pub currency: Option<Currency>,
    /// Prefix of its statement numbers: `VIS` in `VIS-2026-09`.
    pub statement_prefix: String,
    /// First instant at which it no longer exists; `None` while no end is known.
    pub ends_ms: Option<i64>,
}

/// A cost centre, and since when it is the tenant's within a window.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CostCentre {
    /// From when, Unix milliseconds; the window's start for the first.
    pub from_ms: i64,
    /// Its name; `None` while there is none.
    pub name: Option<String>,
}

impl Tenant {
    /// A tenant that `tenants.toml` doesn't name.
    pub(crate) fn undeclared(id: &TenantId, statement_prefix: String) -> Self {
        Self {
            id: id.clone(),
            name: id.as_str().into(),
            parent: None,
            cost_centre: None,
            account: None,
            contacts: Vec::new(),
            language: None,
            currency: None,
            statement_prefix,
            ends_ms: None,
        }
    }

    /// The part of a window in which the tenant exists: what a fee of the window is prorated by. `None` where it had ended
    /// before.
    pub fn alive_in(&self, window: Window) -> Option<Window> {
        let end_ms = self.ends_ms.map_or(window.end_ms, |ends_ms| ends_ms.min(window.end_ms));
        (window.start_ms < end_ms).then(|| Window::new(window.start_ms, end_ms))
    }

    /// Whether it ends within a window or with it, so that the window's statement is its last.
    pub fn ends_in(&self, window: Window) -> bool {
        self.ends_ms.is_some_and(|ends_ms| window.start_ms < ends_ms && ends_ms <= window.end_ms)
    }
}

/// A declared tenant: its data since ever, then from each change on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct History {
    /// Ascending by the instant from which they hold; the first since ever.
    rows: Vec<(i64, Tenant)>,
    /// Where it is declared.
    place: Place,
}

impl History {
    pub fn new(place: Place, tenant: Tenant) -> Self {
        Self { rows: vec![(i64::MIN, tenant)], place }
    }

    /// Adds data that hold from an instant on; changes come in the order of time.
    pub fn push(&mut self, from_ms: i64, tenant: Tenant) {
        self.rows.push((from_ms, tenant));
    }

    /// The data at an instant.
    pub fn at(&self, at_ms: i64) -> &Tenant {
        let after = self.rows.partition_point(|(from_ms, _)| *from_ms <= at_ms);
        &self.rows[after.saturating_sub(1)].1
    }

    /// The newest data.
    pub fn latest(&self) -> &Tenant {
        &self.rows.last().expect("a history has a first row").1
    }

    /// Instants at which data change, and the first of all.
    pub fn instants(&self) -> impl Iterator<Item = i64> {
        self.rows.iter().map(|(from_ms, _)| *from_ms)
    }

    pub fn ends_ms(&self) -> Option<i64> {
        self.rows[0].1.ends_ms
    }

    /// Instants at which it gets another parent, or none.
    pub fn moves_ms(&self) -> impl Iterator<Item = i64> {
        self.rows.windows(2).filter(|two| two[0].1.parent != two[1].1.parent).map(|two| two[1].0)
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Equal neighbours are one; empty where there is never one.
    pub fn cost_centres(&self, window: Window) -> Vec<CostCentre> {
        let inside = self.instants().filter(|at| window.start_ms < *at && *at < window.end_ms);
        let mut spans: Vec<CostCentre> = Vec::new();
        for from_ms in std::iter::once(window.start_ms).chain(inside) {
            let name = self.at(from_ms).cost_centre.clone();
            if spans.last().is_none_or(|last| last.name != name) {
                spans.push(CostCentre { from_ms, name });
            }
        }
        if spans.iter().all(|span| span.name.is_none()) { Vec::new() } else { spans }
    }
}
