//! What must be so of usage before it is rated. Each breach is a defect upstream; a missing price is none.

use super::Rules;
use crate::usage::{DeviceTotal, UsageTotal};
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeMap;

/// Why usage can't be rated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// A price or rule changes inside a segment.
    #[error("a segment of {device} from {start_ms} to {end_ms} (Unix ms) crosses a change of {what} at {change_ms}: close its hour again, so that it is cut there", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    CrossesChange {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
        /// `prices` or `mapping rules`.
        what: &'static str,
        /// When it changes.
        change_ms: i64,
    },
    /// The two ledgers of a device don't sum.
    #[error("device {device} does not add up from {start_ms} to {end_ms} (Unix ms): close its hours again and report the defect", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    DoesNotAddUp {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
    },
    /// Workloads' held time and the devices' differ.
    #[error(
        "workloads hold {workloads} GPU-hours of device {device} and the device says {devices}: close its hours again and report the defect"
    )]
    HeldDiffers {
        /// Device UUID.
        device: String,
        /// Sum over the rows of usage.
        workloads: NanoGpuHours,
        /// Sum over the rows of the device.
        devices: NanoGpuHours,
    },
}

/// Every instant at which what a row is asked with changes.
#[derive(Debug, Clone)]
pub struct Changes([(&'static str, Vec<i64>); 2]);

impl Changes {
    /// Of a price book and of mapping rules.
    pub fn of(rules: Rules<'_>) -> Self {
        let always = Window::new(i64::MIN, i64::MAX);
        Self([
            ("prices", rules.prices.change_instants(always)),
            ("mapping rules", rules.tenants.change_instants(always)),
        ])
    }

    /// Whether no change lies inside a segment.
    ///
    /// # Errors
    /// The first change that does.
    pub fn check(&self, device: &str, segment: Window) -> Result<(), RateError> {
        for (what, instants) in &self.0 {
            let next = instants.partition_point(|at| *at <= segment.start_ms);
            if let Some(change_ms) = instants.get(next).filter(|at| **at < segment.end_ms) {
                return Err(RateError::CrossesChange {
                    device: device.into(),
                    segment,
                    what,
                    change_ms: *change_ms,
                });
            }
        }
        Ok(())
    }
}

/// What workloads and devices say was held, by device.
#[derive(Debug, Default)]
pub struct Balance(BTreeMap<String, (NanoGpuHours, NanoGpuHours)>);

impl Balance {
    /// Takes a row of usage.
    pub fn usage(&mut self, row: &UsageTotal) {
        self.of(&row.device).0.0 += row.held.0;
    }

    /// Takes a row of a device.
    ///
    /// # Errors
    /// The row doesn't add up by itself.
    pub fn device(&mut self, row: &DeviceTotal) -> Result<(), RateError> {
        if !row.adds_up() {
            return Err(RateError::DoesNotAddUp { device: row.device.clone(), segment: row.segment });
        }
        self.of(&row.device).1.0 += row.held.0;
        Ok(())
    }

    /// Whether both say the same.
    ///
    /// # Errors
    /// The first device for which they don't.
    pub fn check(&self) -> Result<(), RateError> {
        match self.0.iter().find(|(_, (workloads, devices))| workloads != devices) {
            Some((device, (workloads, devices))) => Err(RateError::HeldDiffers {
                device: device.clone(),
                workloads: *workloads,
                devices: *devices,
            }),
            None => Ok(()),
        }
    }

    fn of(&mut self, device: &str) -> &mut (NanoGpuHours, NanoGpuHours) {
        if !self.0.contains_key(device) {
            self.0.insert(device.into(), Default::default());
        }
        self.0.get_mut(device).expect("it was just put there")
    }
}
