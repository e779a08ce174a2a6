//! What is still there to be settled, and what was taken: nothing is taken twice.

use super::charges::Taken;
use crate::money::Exact;
use crate::policy::{CostKind, Reservation};
use crate::post::{Held, Ledger, OwnPrice};
use crate::split::share_of;
use crate::tenant::{Site, TenantId};
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeMap;

/// A device in a segment.
pub(super) struct Device<'a> {
    pub total: &'a DeviceTotal,
    pub price: Option<OwnPrice>,
    /// Free time that no reservation has taken.
    pub free: NanoGpuHours,
    /// Stranded time that no reservation has taken.
    pub stranded: NanoGpuHours,
    /// Time that reservations by count reserve of it.
    pub claimed: NanoGpuHours,
    /// Reserved by name, and so in no reservation by count.
    pub by_name: bool,
}

/// What a tenant held of a device in a segment, on one line.
pub(super) struct Row<'a> {
    pub row: &'a Held,
    pub device: usize,
    /// All of it.
    pub held: NanoGpuHours,
    /// Its cost; `None` where there is no price.
    pub exact: Option<Exact>,
    /// What is neither used nor lent under a reservation yet.
    pub left: NanoGpuHours,
}

pub(super) struct Books<'a> {
    /// By segment and place.
    pub devices: Vec<Device<'a>>,
    /// By device, tenant and line.
    pub rows: Vec<Row<'a>>,
    pub taken: Taken<'a>,
}

type RowKey<'a> = (usize, &'a TenantId, &'a str);

impl<'a> Books<'a> {
    /// Puts the ledger in an order of its own and rows of one line together, so that neither order nor grouping of the
    /// input changes a result.
    pub fn open(ledger: &Ledger<'a>, own_price: impl Fn(&DeviceTotal) -> Option<OwnPrice>) -> Self {
        let mut totals: Vec<&DeviceTotal> = ledger.devices.iter().collect();
        totals.sort_by_key(|d| (d.segment, &d.cluster, &d.node, &d.device));
        let position: BTreeMap<(Window, &str), usize> =
            totals.iter().enumerate().map(|(at, d)| ((d.segment, d.device.as_str()), at)).collect();
        let mut rows: BTreeMap<RowKey<'a>, Row<'a>> = BTreeMap::new();
        for row in ledger.held.iter().filter(|row| row.held.0 != 0) {
            // A ledger that was checked has a device for every row that holds something.
            let device = position[&(row.segment, row.device.as_str())];
            let none = NanoGpuHours(0);
            let sum = rows.entry((device, &row.tenant, &row.line)).or_insert(Row {
                row,
                device,
                held: none,
                exact: Some(Exact::ZERO),
                left: none,
            });
            sum.held = sum.held + row.held;
            sum.left = sum.held;
            sum.exact = sum.exact.zip(row.exact).map(|(a, b)| a + b);
        }
        let devices = totals.into_iter().map(|total| Device {
            total,
            price: own_price(total),
            free: total.free,
            stranded: total.stranded,
            claimed: NanoGpuHours(0),
            by_name: false,
        });
        Self { devices: devices.collect(), rows: rows.into_values().collect(), taken: Taken::default() }
    }

    /// The rows of a device, by position.
    pub fn rows_of(&self, device: usize) -> std::ops::Range<usize> {
        let start = self.rows.partition_point(|row| row.device < device);
        start..self.rows.partition_point(|row| row.device <= device)
    }

    /// Free or stranded time becomes the owner's.
    pub fn take_unused(&mut self, of: &'a Reservation, at: usize, kind: CostKind, time: NanoGpuHours) {
        if time.0 == 0 {
            return;
        }
        let device = &mut self.devices[at];
        match kind {
            CostKind::Stranded => device.stranded = device.stranded - time,
            _ => device.free = device.free - time,
        }
        self.taken.unused(of, device.total, kind, device.price.as_ref(), time);
    }

    /// The owner holds a device reserved by name: its usage line says the price.
    pub fn take_own_by_name(&mut self, of: &'a Reservation, row: usize) {
        let row = &mut self.rows[row];
        self.taken.charged(of, self.devices[row.device].total, row.left);
        row.left = NanoGpuHours(0);
    }

    /// The owner holds devices under a reservation by count.
    pub fn take_own(&mut self, of: &'a Reservation, row: usize, time: NanoGpuHours) {
        let exact = self.part(row, time);
        let row = &self.rows[row];
        self.taken.own(of, self.devices[row.device].total, row.row, time, exact);
    }

    /// Another holds what is reserved.
    pub fn take_lent(&mut self, of: &'a Reservation, row: usize, time: NanoGpuHours) {
        let exact = self.part(row, time);
        let row = &self.rows[row];
        self.taken.lent(of, self.devices[row.device].total, row.row, time, exact);
    }

    /// Takes a part of a row; its cost.
    fn part(&mut self, row: usize, time: NanoGpuHours) -> Option<Exact> {
        let row = &mut self.rows[row];
        row.left = row.left - time;
        row.exact.map(|exact| Exact(share_of(exact.0, time, row.held)))
    }
}

impl Device<'_> {
    /// Where it is.
    pub fn site(&self) -> Site<'_> {
        Site { cluster: &self.total.cluster, node: &self.total.node }
    }
}
