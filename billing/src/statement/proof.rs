//! The proof: for each device in which a tenant had a share, where all of its hours went.

use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// One device over the period. The parts sum to `capacity` exactly.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProofRow {
    /// NVML UUID.
    pub device: String,
    /// NVML product name.
    pub model: String,
    /// Node it was last on.
    pub node: String,
    /// What this tenant held.
    pub yours: NanoGpuHours,
    /// What others held.
    pub others: NanoGpuHours,
    /// Held by nobody.
    pub free: NanoGpuHours,
    /// Covered by no MIG instance.
    pub stranded: NanoGpuHours,
    /// Failed, lost or reconfiguring.
    pub unavailable: NanoGpuHours,
    /// Not seen by any witness.
    pub unobserved: NanoGpuHours,
    /// The device's time in service in the period.
    pub capacity: NanoGpuHours,
}

/// Rows of one model together, for a statement with many devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProof {
    /// How many devices.
    pub devices: usize,
    /// Their sums; `device` and `node` are empty.
    pub sum: ProofRow,
}

/// Each device's time over the period, all of it with `others`.
pub(super) fn table(devices: &[DeviceTotal]) -> BTreeMap<&str, ProofRow> {
    let mut table: BTreeMap<&str, (i64, ProofRow)> = BTreeMap::new();
    for device in devices {
        let (last_ms, row) = table.entry(&device.device).or_insert_with(|| (i64::MIN, ProofRow::empty()));
        if *last_ms <= device.segment.end_ms {
            *last_ms = device.segment.end_ms;
            row.device.clone_from(&device.device);
            row.model.clone_from(&device.model);
            row.node.clone_from(&device.node);
        }
        row.others = row.others + device.held;
        row.free = row.free + device.free;
        row.stranded = row.stranded + device.stranded;
        row.unavailable = row.unavailable + device.unavailable;
        row.unobserved = row.unobserved + device.unobserved;
        row.capacity = row.capacity + device.capacity;
    }
    table.into_iter().map(|(device, (_, row))| (device, row)).collect()
}

/// The rows of the devices in which somebody had a share, by model and device.
pub(super) fn rows(table: &BTreeMap<&str, ProofRow>, held: &BTreeMap<String, NanoGpuHours>) -> Vec<ProofRow> {
    let mut rows: Vec<ProofRow> = held
        .iter()
        .filter_map(|(device, yours)| {
            let mut row = table.get(device.as_str())?.clone();
            row.yours = *yours;
            row.others = row.others - *yours;
            Some(row)
        })
        .collect();
    rows.sort_by(|a, b| (&a.model, &a.device).cmp(&(&b.model, &b.device)));
    rows
}

/// The rows of each model together, by model.
pub fn by_model(rows: &[ProofRow]) -> Vec<ModelProof> {
    let mut models: BTreeMap<&str, ModelProof> = BTreeMap::new();
    for row in rows {
        let model =
            models.entry(&row.model).or_insert_with(|| ModelProof { devices: 0, sum: ProofRow::empty() });
        model.devices += 1;
        model.sum.model.clone_from(&row.model);
        model.sum.add(row);
    }
    models.into_values().collect()
}

impl ProofRow {
    fn empty() -> Self {
        let none = NanoGpuHours(0);
        Self {
            device: String::new(),
            model: String::new(),
            node: String::new(),
            yours: none,
            others: none,
            free: none,
            stranded: none,
            unavailable: none,
            unobserved: none,
            capacity: none,
        }
    }

    /// Whether the parts sum to the capacity.
    pub fn adds_up(&self) -> bool {
        self.parts().iter().map(|(_, part)| *part).sum::<NanoGpuHours>() == self.capacity
    }

    /// The parts with the words that people read.
    pub fn parts(&self) -> [(&'static str, NanoGpuHours); 6] {
        [
            ("yours", self.yours),
            ("others", self.others),
            ("free", self.free),
            ("stranded", self.stranded),
            ("unavailable", self.unavailable),
            ("unobserved", self.unobserved),
        ]
    }

    fn add(&mut self, other: &ProofRow) {
        let pairs = [
            (&mut self.yours, other.yours),
            (&mut self.others, other.others),
            (&mut self.free, other.free),
            (&mut self.stranded, other.stranded),
            (&mut self.unavailable, other.unavailable),
            (&mut self.unobserved, other.unobserved),
            (&mut self.capacity, other.capacity),
        ];
        for (sum, part) in pairs {
            *sum = *sum + part;
        }
    }
}
