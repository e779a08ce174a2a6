//! Posted months by any mix of dimensions: every posted line is opened into the workloads in it, and its amount shared over
//! them by largest remainder, so that any grouping of a month sums to what was posted.

use crate::charge::Charge;
use crate::money::{Amount, Currency};
use crate::opened::{Mismatch, Piece, open};
use crate::rating::{Line, LineKey, Owners, Rules, Sums};
use crate::split::split;
use crate::statement::Bill;
use crate::tenant::{Site, TenantId, Tenants};
use crate::usage::UsageTotal;
use crate::words;
use schema::owner::{Owner, key};
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

mod dimension;
pub use dimension::{Dimension, DimensionError};

/// Shown where a dimension says nothing of a row.
pub const NOTHING: &str = "-";

/// Whose organisation rows are sorted into.
#[derive(Debug, Clone, Copy)]
pub enum Org<'a> {
    /// As it was when the usage ran, and was posted.
    AsWas,
    /// As these tenants are at an instant; amounts stay what was posted.
    AsIs {
        /// The tenants and rules.
        tenants: &'a Tenants,
        /// Unix milliseconds.
        at_ms: i64,
    },
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Grouping<'a> {
    /// The dimensions, in the order of columns.
    pub by: &'a [Dimension],
    /// Only rows that stand on this tenant's statement.
    pub only: Option<&'a TenantId>,
    /// Whose organisation.
    pub org: Org<'a>,
}

/// What a group holds and costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Device time held, or kept by the platform.
    pub held: NanoGpuHours,
    /// The part of it known to be busy.
    pub busy: NanoGpuHours,
    /// The part of it whose use is unknown; capacity that nobody held is neither busy nor unknown.
    pub unknown: NanoGpuHours,
    /// Held and not busy: waste.
    pub not_busy: NanoGpuHours,
    /// Posted.
    pub amount: Amount,
    /// Device time without a price.
    pub unpriced: NanoGpuHours,
}

/// Groups while months come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// Of all amounts.
    pub currency: Currency,
    /// By the values of the dimensions.
    pub rows: BTreeMap<Vec<String>, Figures>,
}

/// Usage of a month while rows come in, by what makes a difference to a grouping.
#[derive(Debug, Clone, Default)]
pub struct Gathering(BTreeMap<(TenantId, LineKey, Vec<String>), Sums>);

/// A part of a line, by the values of its dimensions.
struct Gathered {
    key: LineKey,
    values: Vec<String>,
    sums: Sums,
}

impl Piece for Gathered {
    fn key(&self) -> &LineKey {
        &self.key
    }

    fn sums(&self) -> &Sums {
        &self.sums
    }
}

impl Gathering {
    /// Adds a row of usage; `rules` are those that its month was rated with.
    pub fn add(
        &mut self,
        row: &UsageTotal,
        owners: &Owners,
        rules: Rules<'_>,
        grouping: &Grouping<'_>,
        month: &str,
    ) {
        let owner = owners.get(&row.workload);
        let (resolved, key) = rules.line_of(row, owner);
        if grouping.only.is_some_and(|only| *only != resolved.tenant) {
            return;
        }
        let site = Site { cluster: &row.cluster, node: &row.node };
        let (tenants, at_ms) = match grouping.org {
            Org::AsWas => (rules.tenants, row.segment.start_ms),
            Org::AsIs { tenants, at_ms } => (tenants, at_ms),
        };
        let tenant = match grouping.org {
            Org::AsWas => resolved.tenant.clone(),
            Org::AsIs { .. } => tenants.resolve(owner, site, at_ms).tenant,
        };
        let of = Of { tenant: &tenant, tenants, at_ms, month, kind: "usage", usage: Some((row, owner)) };
        let values = grouping.by.iter().map(|dimension| dimension.value(&of)).collect();
        let sums = Sums::of(row, key.basis);
        self.0.entry((resolved.tenant, key, values)).and_modify(|known| known.add(&sums)).or_insert(sums);
    }
}

/// What a dimension looks at.
struct Of<'a> {
    tenant: &'a TenantId,
    tenants: &'a Tenants,
    at_ms: i64,
    month: &'a str,
    kind: &'a str,
    usage: Option<(&'a UsageTotal, Option<&'a Owner>)>,
}

impl Groups {
    /// None yet.
    pub fn new(by: &[Dimension], currency: &Currency) -> Self {
        Self {
            heads: by.iter().map(ToString::to_string).collect(),
            currency: currency.clone(),
            rows: BTreeMap::new(),
        }
    }

    /// Adds a month as it was posted, opened by the usage that was gathered of it; `rules` are those that it was rated with.
    ///
    /// # Errors
    /// The usage isn't the bill's.
    pub fn add_month(
        &mut self,
        bill: &Bill,
        gathering: Gathering,
        rules: Rules<'_>,
        grouping: &Grouping<'_>,
    ) -> Result<(), Mismatch> {
        let mut by_tenant: BTreeMap<TenantId, Vec<Gathered>> = BTreeMap::new();
        for ((tenant, key, values), sums) in gathering.0 {
            by_tenant.entry(tenant).or_default().push(Gathered { key, values, sums });
        }
        let mut add = |tenant: &TenantId, lines: &[Line]| {
            let pieces = by_tenant.remove(tenant).unwrap_or_default();
            self.add_lines(lines, &pieces)
        };
        let asked = |tenant: &TenantId| grouping.only.is_none_or(|only| only == tenant);
        for statement in bill.tenants.iter().filter(|s| asked(&s.tenant.id)) {
            add(&statement.tenant.id, &statement.lines)?;
        }
        if asked(&TenantId::unattributed()) {
            add(&TenantId::unattributed(), &bill.platform.unattributed)?;
        }
        self.add_rest(bill, rules, grouping, asked);
        Ok(())
    }

    fn add_lines(&mut self, lines: &[Line], pieces: &[Gathered]) -> Result<(), Mismatch> {
        for piece in pieces {
            let sums = piece.sums;
            let unknown = sums.unknown.min(sums.held);
            let busy = sums.busy.min(sums.held - unknown);
            let figures = self.rows.entry(piece.values.clone()).or_default();
            figures.unknown = figures.unknown + unknown;
            figures.busy = figures.busy + busy;
            figures.not_busy = figures.not_busy + sums.held - unknown - busy;
        }
        let parts = open(lines, pieces)?;
        for own in parts.chunk_by(|a, b| a.line.number == b.line.number) {
            let line = own[0].line;
            let weights: Vec<u128> = own.iter().map(|part| u128::from(part.nano.unsigned_abs())).collect();
            let amounts = split(line.amount.unwrap_or_default().0, &weights);
            for (part, amount) in own.iter().zip(amounts) {
                let figures = self.rows.entry(part.piece.values.clone()).or_default();
                figures.held = figures.held + part.held;
                figures.amount = figures.amount + Amount(amount);
                if line.amount.is_none() {
                    figures.unpriced = figures.unpriced + part.held;
                }
            }
        }
        Ok(())
    }

    /// Charges, and what nobody held: of these there is no workload.
    fn add_rest(
        &mut self,
        bill: &Bill,
        rules: Rules<'_>,
        grouping: &Grouping<'_>,
        asked: impl Fn(&TenantId) -> bool,
    ) {
        let period = &bill.platform.context.period;
        let (tenants, at_ms) = match grouping.org {
            Org::AsWas => (rules.tenants, period.window().end_ms - 1),
            Org::AsIs { tenants, at_ms } => (tenants, at_ms),
        };
        let values = |tenant: &TenantId, kind: &str, model: Option<&str>| -> Vec<String> {
            let of = Of { tenant, tenants, at_ms, month: period.label(), kind, usage: None };
            let value = |dimension: &Dimension| match (dimension, model) {
                (Dimension::Model, Some(model)) => words::short_model(model).to_owned(),
                _ => dimension.value(&of),
            };
            grouping.by.iter().map(value).collect()
        };
        let mut add = |tenant: &TenantId, charge: &Charge| {
            let figures = self.rows.entry(values(tenant, charge.kind.word(), None)).or_default();
            figures.held = figures.held + charge.held;
            figures.amount = figures.amount + charge.amount;
        };
        for statement in bill.tenants.iter().filter(|s| asked(&s.tenant.id)) {
            statement.charges.iter().for_each(|row| add(&statement.tenant.id, &row.charge));
        }
        let platform = TenantId::platform();
        if !asked(&platform) {
            return;
        }
        bill.platform.charges.iter().for_each(|row| add(&platform, &row.charge));
        for line in &bill.platform.lines {
            let figures =
                self.rows.entry(values(&platform, line.kind.word(), Some(&line.model))).or_default();
            figures.held = figures.held + line.quantity;
            figures.amount = figures.amount + line.amount.unwrap_or_default();
            if line.amount.is_none() {
                figures.unpriced = figures.unpriced + line.quantity;
            }
        }
    }

    /// The sum of all groups.
    pub fn total(&self) -> Figures {
        self.rows.values().fold(Figures::default(), |sum, row| Figures {
            held: sum.held + row.held,
            busy: sum.busy + row.busy,
            unknown: sum.unknown + row.unknown,
            not_busy: sum.not_busy + row.not_busy,
            amount: sum.amount + row.amount,
            unpriced: sum.unpriced + row.unpriced,
        })
    }
}

/// An attribute of a workload's owner, or nothing.
fn attribute<'a>(of: &Of<'a>, name: &str) -> Option<&'a str> {
    let owner = of.usage?.1?;
    owner.attributes.get(name).map(String::as_str)
}

/// What a person calls a workload: a Slurm job, a pod, a unit, a machine, a container.
fn job(of: &Of<'_>) -> Option<String> {
    let pod = || Some(format!("{}/{}", attribute(of, key::NAMESPACE)?, attribute(of, key::POD)?));
    let plain = |name: &str| attribute(of, name).map(str::to_owned);
    plain(key::SLURM_JOB)
        .or_else(pod)
        .or_else(|| plain(key::UNIT))
        .or_else(|| plain(key::VM_ID))
        .or_else(|| plain(key::CONTAINER_ID))
}
