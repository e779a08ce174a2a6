//! What stands in the way of closing a period. Every item can be waived with a reason, which the statements print, except
//! that the period must be over and its ledgers must add up.

use crate::price::Unpriced;
use crate::rating::LinePrice;
use crate::statement::{Bill, Converted};
use crate::tenant::TenantId;
use crate::words;
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};

/// The part of the fleet's time that must have been watched, in basis points.
const COVERAGE_MIN_BP: i128 = 9_900;
/// The most of the held time that may be nobody's, in basis points.
const UNATTRIBUTED_MAX_BP: i128 = 200;

/// What may stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// The period isn't over.
    NotOver,
    /// Statements don't add up to the hardware.
    Conservation,
    /// Hours between the first and the last aren't published.
    MissingHours,
    /// Lines without a price.
    Unpriced,
    /// Too much of the fleet's time was not seen by any witness.
    Coverage,
    /// Too much of the held time is nobody's.
    Unattributed,
    /// Rows that ingest refused.
    DeadLetters,
    /// Nodes that still have to deliver the period's end.
    LateCollectors,
    /// A price or a statement needs an exchange rate that is missing.
    ExchangeRate,
    /// Devices that two collectors reported at once.
    Contested,
}

/// One thing that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub item: Item,
    /// How much of it, and what to do.
    pub what: String,
}

/// A node whose newest row isn't from after the period's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateNode {
    /// Its cluster.
    pub cluster: String,
    /// The node.
    pub node: String,
}

/// What a check looks at besides the bill.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Whether the period is over.
    pub over: bool,
    /// Hours between the first and the last of the period that aren't published.
    pub missing_hours: i64,
    /// Rows refused in the period.
    pub dead_letters: u64,
    /// Nodes that are late.
    pub late: Vec<LateNode>,
    /// Device-hours for which one of two collectors was chosen.
    pub contested: u64,
}

impl Item {
    /// All, in the order of a check.
    pub const ALL: [Item; 10] = [
        Item::NotOver,
        Item::Conservation,
        Item::MissingHours,
        Item::Unpriced,
        Item::Coverage,
        Item::Unattributed,
        Item::DeadLetters,
        Item::LateCollectors,
        Item::ExchangeRate,
        Item::Contested,
    ];

    /// The name that `--waive` takes.
    pub fn name(self) -> &'static str {
        match self {
            Item::NotOver => "not-over",
            Item::Conservation => "conservation",
            Item::MissingHours => "missing-hours",
            Item::Unpriced => "unpriced",
            Item::Coverage => "coverage",
            Item::Unattributed => "unattributed",
            Item::DeadLetters => "dead-letters",
            Item::LateCollectors => "late-collectors",
            Item::ExchangeRate => "exchange-rate",
            Item::Contested => "contested",
        }
    }

    /// The item of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|item| item.name() == name)
    }

    /// Whether it can be waived.
    pub fn can_be_waived(self) -> bool {
        !matches!(self, Item::NotOver | Item::Conservation)
    }
}

/// Everything that stands in the way of closing, in the order of [`Item::ALL`].
pub fn findings(bill: &Bill, facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |item, what: String| found.push(Finding { item, what });
    if !facts.over {
        add(Item::NotOver, "the period isn't over: wait for its end".into());
    }
    if !bill.fleet.adds_up() {
        add(Item::Conservation, "the statements don't add up to the hardware: report the defect".into());
    }
    if facts.missing_hours > 0 {
        add(
            Item::MissingHours,
            format!("{} hours aren't published: see the service's log", facts.missing_hours),
        );
    }
    let unpriced = bill.tenants.iter().map(|s| s.totals.unpriced_lines).sum::<u32>()
        + bill.platform.totals.unpriced_lines;
    if unpriced > 0 {
        add(Item::Unpriced, format!("{unpriced} lines have no price: add entries to prices.toml"));
    }
    coverage(bill, &mut add);
    if facts.dead_letters > 0 {
        add(Item::DeadLetters, format!("{} rows were refused: see dead_letters", facts.dead_letters));
    }
    if !facts.late.is_empty() {
        add(Item::LateCollectors, late(&facts.late));
    }
    exchange(bill, &mut add);
    if facts.contested > 0 {
        add(Item::Contested, format!("{} device-hours were reported by two collectors", facts.contested));
    }
    found
}

fn exchange(bill: &Bill, add: &mut impl FnMut(Item, String)) {
    let missing =
        |line: &&crate::rating::Line| matches!(line.key.price, LinePrice::Unpriced(Unpriced::NoExchangeRate));
    let lines = bill.tenants.iter().flat_map(|s| &s.lines).filter(missing).count();
    if lines > 0 {
        add(
            Item::ExchangeRate,
            format!(
                "{lines} lines have a price in a currency without a rate: add an [[exchange_rate]] to prices.toml"
            ),
        );
    }
    for statement in bill.tenants.iter().filter(|s| s.converted == Converted::Missing) {
        add(
            Item::ExchangeRate,
            format!(
                "no one rate into the currency of {} holds over the period: add an [[exchange_rate]] to prices.toml",
                statement.tenant.id
            ),
        );
    }
}

fn coverage(bill: &Bill, add: &mut impl FnMut(Item, String)) {
    let part = |name: &str| {
        let parts = bill.fleet.parts.iter().filter(|part| part.name == name);
        parts.map(|part| part.quantity).sum::<NanoGpuHours>()
    };
    let below =
        |part: NanoGpuHours, whole: NanoGpuHours| i128::from(part.0) * 10_000 / i128::from(whole.0.max(1));
    let capacity = bill.fleet.capacity;
    let watched = below(capacity - part("unobserved"), capacity);
    if capacity.0 > 0 && watched < COVERAGE_MIN_BP {
        let what = "of the fleet's time was observed, 99 % are wanted: see the nodes that were silent";
        add(Item::Coverage, format!("{}.{:02} % {what}", watched / 100, watched % 100));
    }
    let nobody = part(TenantId::UNATTRIBUTED);
    let held: NanoGpuHours =
        bill.tenants.iter().flat_map(|s| &s.lines).map(|l| l.sums.held).sum::<NanoGpuHours>() + nobody;
    let share = below(nobody, held);
    if held.0 > 0 && share > UNATTRIBUTED_MAX_BP {
        add(
            Item::Unattributed,
            format!(
                "{} GPU-hours, {}.{:02} % of what was held, are nobody's: `slicemeter tenants unmapped` shows whose they may be",
                words::gpu_hours_short(nobody),
                share / 100,
                share % 100
            ),
        );
    }
}

/// Most nodes that are named.
const NAMED_MAX: usize = 5;

fn late(nodes: &[LateNode]) -> String {
    let named: Vec<String> =
        nodes.iter().take(NAMED_MAX).map(|n| format!("{}/{}", n.cluster, n.node)).collect();
    let more = nodes.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} nodes still have to deliver the period's end: {}{more}", nodes.len(), named.join(", "))
}
