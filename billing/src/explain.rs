//! A line opened: its price, why it is this tenant's, the owners with their evidence, the device-hours and the slices
//! under them. Sums are exact here; the rounding of the posted amount stands in a row of its own.

use crate::money::{Currency, Exact};
use crate::price::{PriceBook, PriceEntry};
use crate::rating::{Line, Owners, Rules, Sums};
use crate::statement::Statement;
use crate::tenant::{MatchedBy, Tenants};
use crate::usage::UsageTotal;
use schema::id::WorkloadId;
use schema::owner::Owner;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

/// Most device-hours and most slices that are listed; the sums are always over all.
pub const ROWS_MAX: usize = 1_000;

/// A slice as it lies in the raw ledger, for a person to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceRow {
    /// The slice's window, 60 s by default.
    pub window: Window,
    /// NVML UUID.
    pub device: String,
    /// Whose it was.
    pub workload: WorkloadId,
    /// Where it was made: incarnation, sequence, row.
    pub origin: String,
    /// Time for which a scheduler gave it, milliseconds; `None` where none was asked.
    pub allocated_ms: Option<i64>,
    /// Time in which a process was there, milliseconds; `None` where unknown.
    pub resident_ms: Option<i64>,
    /// Busy time, milliseconds; `None` where unknown.
    pub busy_ms: Option<i64>,
}

/// One device in one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceHour {
    /// The hour, or the part of it between cuts.
    pub segment: Window,
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// Whose it was.
    pub workload: WorkloadId,
    /// Time held, milliseconds of the share.
    pub natural_ms: i64,
    /// Device time held.
    pub held: NanoGpuHours,
    /// Device time busy.
    pub busy: NanoGpuHours,
    /// Device time whose use is unknown.
    pub unknown: NanoGpuHours,
    /// `held` times the price, exact.
    pub exact: Option<Exact>,
}

/// Host memory over time, on nodes where it has tiers: reported, never priced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// On NUMA nodes with processors, byte-milliseconds.
    pub near_byte_ms: u128,
    /// On NUMA nodes without, such as CXL expanders, byte-milliseconds.
    pub far_byte_ms: u128,
}

/// A device that a workload held a part of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Node of the device.
    pub node: String,
    /// NVML UUID.
    pub device: String,
    /// Device time held of it.
    pub held: NanoGpuHours,
}

/// One workload of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadPart {
    /// Its identity.
    pub workload: WorkloadId,
    /// Its owner with the evidence; `None` where none is known.
    pub owner: Option<Owner>,
    /// What decided that it is this tenant's.
    pub matched_by: BTreeSet<MatchedBy>,
    /// Device time held.
    pub held: NanoGpuHours,
    /// The devices that it held, by node: a job on many GPUs and nodes is one workload.
    pub members: Vec<Member>,
    /// Its host memory while the line's hours ran; `None` where no node's memory has tiers.
    pub host_memory: Option<HostMemory>,
}

/// A line opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// `VIS-2026-09-L3`.
    pub reference: String,
    /// The line.
    pub line: Line,
    /// Its price, where there is one.
    pub price: Option<PriceEntry>,
    /// How the price comes about, a step a line; empty where it is simply what the entry says.
    pub derivation: Vec<String>,
    /// Why the entry says something else of the past than it did once.
    pub changes: Vec<String>,
    /// The workloads in it, largest first.
    pub workloads: Vec<WorkloadPart>,
    /// The first [`ROWS_MAX`] device-hours, by time.
    pub hours: Vec<DeviceHour>,
    /// How many device-hours there are.
    pub hours_count: usize,
    /// Sum of all device-hours: the line's quantity, or the rows given are not the line's.
    pub hours_held: NanoGpuHours,
    /// The first [`ROWS_MAX`] slices of the line's workloads on its devices, by time.
    pub slices: Vec<SliceRow>,
    /// How many slices there are.
    pub slices_count: usize,
    /// Posted amount less exact cost.
    pub rounding: Option<Exact>,
}

/// What the service read to open a line.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// Rows of usage by the hour; rows of other lines are left out here.
    pub usage: &'a [UsageTotal],
    /// Slices under them.
    pub slices: &'a [SliceRow],
    /// Host memory of the workloads, where it was read.
    pub host_memory: &'a BTreeMap<WorkloadId, HostMemory>,
    /// Owners of the workloads.
    pub owners: &'a Owners,
    /// The tenants' file that the statement was made with.
    pub tenants: &'a Tenants,
    /// The price book that the statement was made with.
    pub prices: &'a PriceBook,
}

/// `VIS-2026-09-L3` as a statement's number and a line's; `None` for anything else.
///
/// ```
/// assert_eq!(billing::explain::parse_reference("VIS-2026-09-L3"), Some(("VIS-2026-09", 3)));
/// assert_eq!(billing::explain::parse_reference("VIS-2026-09"), None);
/// ```
pub fn parse_reference(text: &str) -> Option<(&str, u32)> {
    let (statement, line) = text.rsplit_once("-L")?;
    let plain = !line.starts_with('0') && line.bytes().all(|b| b.is_ascii_digit());
    let number = plain.then(|| line.parse().ok()).flatten()?;
    (!statement.is_empty()).then_some((statement, number))
}

impl Explained {
    /// Opens a line of a statement.
    pub fn open(statement: &Statement, line: &Line, opening: Opening<'_>) -> Self {
        let Opening { usage, slices, host_memory, owners, tenants, prices } = opening;
        let mut workloads: BTreeMap<WorkloadId, WorkloadPart> = BTreeMap::new();
        let mut hours = Vec::new();
        let rules = Rules { tenants, prices };
        let mut derivation = Vec::new();
        for row in usage {
            let (resolved, key) = rules.line_among(row, owners);
            if resolved.tenant != statement.tenant.id || key != line.key {
                continue;
            }
            let part = workloads.entry(row.workload).or_insert_with(|| WorkloadPart {
                workload: row.workload,
                owner: owners.get(&row.workload).cloned(),
                matched_by: BTreeSet::new(),
                held: NanoGpuHours(0),
                members: Vec::new(),
                host_memory: host_memory.get(&row.workload).copied(),
            });
            part.add(row);
            if derivation.is_empty() {
                derivation = rules.derivation(row, &resolved.tenant, owners, line);
            }
            part.matched_by.insert(resolved.by);
            hours.push(device_hour(row, line));
        }
        hours.sort_by(|a, b| (a.segment, &a.device, a.workload).cmp(&(b.segment, &b.device, b.workload)));
        let mut slices = slices_under(&hours, slices);
        slices.sort_by(|a, b| (a.window, &a.device, a.workload).cmp(&(b.window, &b.device, b.workload)));
        let mut workloads: Vec<WorkloadPart> = workloads.into_values().collect();
        workloads.sort_by_key(|part| (std::cmp::Reverse(part.held), part.workload));
        let (hours_count, slices_count) = (hours.len(), slices.len());
        let price = line.key.price.entry().and_then(|id| prices.entry(id)).cloned();
        // An entry's own figure alone says nothing new.
        let simple = derivation.len() < 2 && price.as_ref().is_none_or(|entry| entry.purchase.is_none());
        if simple {
            derivation.clear();
        }
        let hours_held = hours.iter().map(|h| h.held).sum();
        hours.truncate(ROWS_MAX);
        slices.truncate(ROWS_MAX);
        Self {
            reference: format!("{}-L{}", statement.number, line.number),
            changes: line
                .key
                .price
                .entry()
                .iter()
                .flat_map(|id| prices.reasons(id))
                .map(Into::into)
                .collect(),
            price,
            derivation,
            rounding: rounding(line, &statement.currency),
            line: line.clone(),
            workloads,
            hours,
            hours_count,
            hours_held,
            slices,
            slices_count,
        }
    }

    /// Whether the device-hours sum to the line.
    pub fn adds_up(&self) -> bool {
        self.hours_held == self.line.sums.held
    }
}

impl WorkloadPart {
    fn add(&mut self, row: &UsageTotal) {
        self.held = self.held + row.held;
        let known = |m: &Member| (m.node.as_str(), m.device.as_str()).cmp(&(&row.node, &row.device));
        match self.members.binary_search_by(known) {
            Ok(at) => self.members[at].held = self.members[at].held + row.held,
            Err(at) => {
                let member = Member { node: row.node.clone(), device: row.device.clone(), held: row.held };
                self.members.insert(at, member);
            }
        }
    }
}

/// The slices that start in one of the device-hours, of its device and workload.
fn slices_under(hours: &[DeviceHour], slices: &[SliceRow]) -> Vec<SliceRow> {
    let mut segments: BTreeMap<(&str, WorkloadId), BTreeMap<i64, i64>> = BTreeMap::new();
    for hour in hours {
        let of_device = segments.entry((&hour.device, hour.workload)).or_default();
        of_device.insert(hour.segment.start_ms, hour.segment.end_ms);
    }
    let under = |slice: &&SliceRow| {
        let of_device = segments.get(&(slice.device.as_str(), slice.workload));
        let last = of_device.and_then(|s| s.range(..=slice.window.start_ms).next_back());
        last.is_some_and(|(_, end_ms)| slice.window.start_ms < *end_ms)
    };
    slices.iter().filter(under).cloned().collect()
}

fn device_hour(row: &UsageTotal, line: &Line) -> DeviceHour {
    DeviceHour {
        segment: row.segment,
        node: row.node.clone(),
        device: row.device.clone(),
        workload: row.workload,
        natural_ms: row.natural_ms,
        held: row.held,
        busy: row.busy,
        unknown: row.unknown,
        exact: line.key.price.cost_of(&Sums::of(row, line.key.basis)),
    }
}

fn rounding(line: &Line, currency: &Currency) -> Option<Exact> {
    Some(line.amount?.exact(currency) - line.exact?)
}
