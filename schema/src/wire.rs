//! What a collector sends: protobuf under zstd, additive for ever.
//!
//! Rules of change: a tag is never reused or given another meaning; a new field is optional and its absence means what
//! it meant before; an unknown field is skipped by protobuf itself, an unknown enum value reads as `Unspecified`.
//!
//! A **batch** is one record of the collector's spool: its identity (cluster, node, incarnation, sequence) is minted
//! once, before it is first written, and is the same on every retry. A row's identity is the batch's plus the row's
//! position in its list. A **delivery** is one HTTP request: any number of batches, in any grouping. Because protobuf
//! messages concatenate, a delivery is made from spooled bytes without decoding them ([`frame_batch`]).
//!
//! `Option` is the three states of a value: `None` is unknown (the row's reason says why), `Some(0)` is known zero.

mod answers;
mod words;

pub use answers::{EnrolRequest, EnrolResponse, Receipt};
pub use words::{BusyKind, OwnerKind, Quality, Reason, Sharing};

/// Version stated in every batch; a server refuses a batch from a future *incompatible* version by name.
pub const WIRE_VERSION: u32 = 1;

/// HTTP content type of a delivery: protobuf under zstd.
pub const CONTENT_TYPE: &str = "application/x-slicemeter-delivery+zstd";

/// The largest encoded batch that a collector makes and a server takes, in bytes before compression.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// The largest delivery in bytes before compression.
pub const DELIVERY_BYTES_MAX: usize = 16 << 20;

/// The largest compressed delivery in bytes.
pub const DELIVERY_COMPRESSED_BYTES_MAX: usize = 8 << 20;

/// One request's worth of batches.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Delivery {
    /// The batches, in any order.
    #[prost(message, repeated, tag = "1")]
    pub batches: Vec<Batch>,
}

/// A delivery whose batches are still encoded: what a server reads first, so that one bad batch doesn't refuse the rest.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RawDelivery {
    /// Each an encoded [`Batch`].
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub batches: Vec<Vec<u8>>,
}

/// Appends an encoded batch to a delivery's bytes.
pub fn frame_batch(delivery: &mut Vec<u8>, encoded_batch: &[u8]) {
    prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, delivery);
    prost::encoding::encode_varint(encoded_batch.len() as u64, delivery);
    delivery.extend_from_slice(encoded_batch);
}

/// One spool record.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Batch {
    /// [`WIRE_VERSION`] of the sender.
    #[prost(uint32, tag = "1")]
    pub wire_version: u32,
    /// Cluster name, from the collector's configuration.
    #[prost(string, tag = "2")]
    pub cluster: String,
    /// Node name.
    #[prost(string, tag = "3")]
    pub node: String,
    /// Random 128-bit id of this collector start, 16 bytes big-endian.
    #[prost(bytes = "vec", tag = "4")]
    pub incarnation: Vec<u8>,
    /// 0, 1, 2, ... within the incarnation, without holes: a hole at the server is a batch still to come.
    #[prost(uint64, tag = "5")]
    pub sequence: u64,
    /// The kernel's boot id, to tell a reboot from a silent collector.
    #[prost(string, tag = "6")]
    pub boot_id: String,
    /// Version of the collector, for the operator.
    #[prost(string, tag = "7")]
    pub collector_version: String,
    /// When the batch was made, Unix milliseconds by the node's clock.
    #[prost(int64, tag = "8")]
    pub created_at_ms: i64,
    /// Devices that the rows point to by position.
    #[prost(message, repeated, tag = "9")]
    pub devices: Vec<Device>,
    /// Owners that the rows point to by position.
    #[prost(message, repeated, tag = "10")]
    pub owners: Vec<Owner>,
    /// What workloads held and used.
    #[prost(message, repeated, tag = "11")]
    pub usage: Vec<UsageSlice>,
    /// What each device did as a whole; the measure that usage must add up to.
    #[prost(message, repeated, tag = "12")]
    pub device_windows: Vec<DeviceWindow>,
    /// Time that was not observed, and why.
    #[prost(message, repeated, tag = "13")]
    pub gaps: Vec<Gap>,
    /// Batches that the spool had to drop, declared so that a hole stops being awaited.
    #[prost(message, repeated, tag = "14")]
    pub losses: Vec<Loss>,
    /// MIG profiles that the rows point to by position, in NVIDIA's words: `3g.40gb`, `1c.3g.40gb`.
    #[prost(string, repeated, tag = "15")]
    pub profiles: Vec<String>,
    /// Host memory that workloads held, on nodes whose host memory has tiers.
    #[prost(message, repeated, tag = "16")]
    pub host_memory: Vec<HostMemory>,
}

/// A physical device as NVML names it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Device {
    /// NVML UUID, `GPU-...`.
    #[prost(string, tag = "1")]
    pub uuid: String,
    /// NVML product name, which prices refer to.
    #[prost(string, tag = "2")]
    pub model: String,
    /// NVML index at this time: for display, never a key.
    #[prost(uint32, tag = "3")]
    pub index: u32,
    /// PCI bus id.
    #[prost(string, tag = "4")]
    pub pci_bus_id: String,
    /// Total framebuffer in bytes; `None` where NVML doesn't say.
    #[prost(uint64, optional, tag = "5")]
    pub memory_total_bytes: Option<u64>,
    /// Compute slices of the device under MIG (7; A30: 4); `None` where it can't do MIG.
    #[prost(uint32, optional, tag = "6")]
    pub mig_slices: Option<u32>,
    /// Driver version.
    #[prost(string, tag = "7")]
    pub driver_version: String,
}

/// One attribute of an owner.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Attribute {
    /// See [`crate::owner::key`].
    #[prost(string, tag = "1")]
    pub key: String,
    /// As read on the node.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// An owner record; see [`crate::owner::Owner`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct Owner {
    /// 16 bytes big-endian: [`crate::id::WorkloadId`].
    #[prost(bytes = "vec", tag = "1")]
    pub workload: Vec<u8>,
    /// What started it.
    #[prost(enumeration = "OwnerKind", tag = "2")]
    pub kind: i32,
    /// Identifying attributes in key order.
    #[prost(message, repeated, tag = "3")]
    pub attributes: Vec<Attribute>,
    /// What was read to know it.
    #[prost(string, tag = "4")]
    pub evidence: String,
}

/// What one workload held and used of one device (or MIG instance) in one window.
///
/// A window never crosses an hour, a MIG epoch or a change of owners. Held time is `allocated_ms` where a scheduler
/// allocated the device, else `resident_ms`; the device's share held is `share_num / share_den` during it.
/// `busy_ms` is time on the resource the row is about (device or instance); `weight_num / weight_den` turns it into
/// device time (slices / 7 under MIG, 1 otherwise). Where busy is unknown the weight turns held time into the device
/// time whose use is unknown.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct UsageSlice {
    /// Position in [`Batch::devices`].
    #[prost(uint32, tag = "1")]
    pub device: u32,
    /// Position in [`Batch::owners`]; `None` is ghost use: busy with no process to be found.
    #[prost(uint32, optional, tag = "2")]
    pub owner: Option<u32>,
    /// Start, Unix milliseconds.
    #[prost(int64, tag = "3")]
    pub start_ms: i64,
    /// End, Unix milliseconds, not part of the window.
    #[prost(int64, tag = "4")]
    pub end_ms: i64,
    /// GPU instance id under MIG.
    #[prost(uint32, optional, tag = "5")]
    pub gpu_instance: Option<u32>,
    /// Compute instance id under MIG.
    #[prost(uint32, optional, tag = "6")]
    pub compute_instance: Option<u32>,
    /// Position in [`Batch::profiles`] of the MIG profile; `None` outside MIG.
    #[prost(uint32, optional, tag = "7")]
    pub profile: Option<u32>,
    /// How the device is divided.
    #[prost(enumeration = "Sharing", tag = "8")]
    pub sharing: i32,
    /// Share of the device held: parts.
    #[prost(uint32, tag = "9")]
    pub share_num: u32,
    /// Share of the device held: parts in the whole device; never 0.
    #[prost(uint32, tag = "10")]
    pub share_den: u32,
    /// Time for which a scheduler gave it; `None` where no scheduler was asked.
    #[prost(uint64, optional, tag = "11")]
    pub allocated_ms: Option<u64>,
    /// Time in which a process was there; `None` where process lists couldn't be read.
    #[prost(uint64, optional, tag = "12")]
    pub resident_ms: Option<u64>,
    /// Busy time on the device or instance; `None` where unknown.
    #[prost(uint64, optional, tag = "13")]
    pub busy_ms: Option<u64>,
    /// What busy means here.
    #[prost(enumeration = "BusyKind", tag = "14")]
    pub busy_kind: i32,
    /// Device time per busy time: parts.
    #[prost(uint32, tag = "15")]
    pub weight_num: u32,
    /// Device time per busy time: whole; never 0.
    #[prost(uint32, tag = "16")]
    pub weight_den: u32,
    /// Integral of memory held, byte-milliseconds; `None` where unknown.
    #[prost(uint64, optional, tag = "17")]
    pub memory_byte_ms: Option<u64>,
    /// Part of the device's energy, millijoules; `None` where the device has no counter.
    #[prost(uint64, optional, tag = "18")]
    pub energy_mj: Option<u64>,
    /// Quality of the held time and share.
    #[prost(enumeration = "Quality", tag = "19")]
    pub held_quality: i32,
    /// Quality of the busy time.
    #[prost(enumeration = "Quality", tag = "20")]
    pub busy_quality: i32,
    /// Why busy (or memory) is unknown.
    #[prost(enumeration = "Reason", tag = "21")]
    pub unknown_reason: i32,
}

/// Host memory that one workload held in one window, by tier. A window never crosses a quarter hour.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct HostMemory {
    /// Position in [`Batch::owners`].
    #[prost(uint32, tag = "1")]
    pub owner: u32,
    /// Start, Unix milliseconds.
    #[prost(int64, tag = "2")]
    pub start_ms: i64,
    /// End, Unix milliseconds, not part of the window.
    #[prost(int64, tag = "3")]
    pub end_ms: i64,
    /// Integral of memory on NUMA nodes with processors, byte-milliseconds.
    #[prost(uint64, tag = "4")]
    pub near_byte_ms: u64,
    /// Integral of memory on NUMA nodes without processors (CXL expanders and their like), byte-milliseconds.
    #[prost(uint64, tag = "5")]
    pub far_byte_ms: u64,
}

/// One MIG compute instance as it stood during a device window.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MigInstance {
    /// GPU instance id.
    #[prost(uint32, tag = "1")]
    pub gpu_instance: u32,
    /// Compute instance id.
    #[prost(uint32, tag = "2")]
    pub compute_instance: u32,
    /// NVML UUID, `MIG-...`.
    #[prost(string, tag = "3")]
    pub uuid: String,
    /// Profile in NVIDIA's words: `3g.40gb`, or `1c.3g.40gb` for a part of a GPU instance.
    #[prost(string, tag = "4")]
    pub profile: String,
    /// Compute slices of this compute instance.
    #[prost(uint32, tag = "5")]
    pub slices: u32,
}

/// What one device did as a whole in one window: what the rows of usage must add up to.
///
/// `observed_ms + unavailable_ms <= end_ms - start_ms`; the rest is unobserved. Observed time, in device time, is
/// workloads' held shares + free + stranded, and again workloads' busy + ghost + not busy + unknown.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceWindow {
    /// Position in [`Batch::devices`].
    #[prost(uint32, tag = "1")]
    pub device: u32,
    /// Start, Unix milliseconds.
    #[prost(int64, tag = "2")]
    pub start_ms: i64,
    /// End, Unix milliseconds, not part of the window.
    #[prost(int64, tag = "3")]
    pub end_ms: i64,
    /// Time for which the device answered.
    #[prost(uint64, tag = "4")]
    pub observed_ms: u64,
    /// Time known to be out of use (lost, reconfiguring).
    #[prost(uint64, tag = "5")]
    pub unavailable_ms: u64,
    /// Why time is unavailable or unobserved.
    #[prost(enumeration = "Reason", tag = "6")]
    pub reason: i32,
    /// Whether MIG was on.
    #[prost(bool, tag = "7")]
    pub mig: bool,
    /// The MIG layout, empty outside MIG.
    #[prost(message, repeated, tag = "8")]
    pub instances: Vec<MigInstance>,
    /// Share of the device that no instance covers, during observed time: parts.
    #[prost(uint32, tag = "9")]
    pub stranded_num: u32,
    /// Share that no instance covers: parts in the whole; never 0.
    #[prost(uint32, tag = "10")]
    pub stranded_den: u32,
    /// Device busy time as the device itself says; `None` under MIG or where unknown.
    #[prost(uint64, optional, tag = "11")]
    pub busy_ms: Option<u64>,
    /// What busy means here.
    #[prost(enumeration = "BusyKind", tag = "12")]
    pub busy_kind: i32,
    /// Growth of the device's energy counter, millijoules; `None` where it has none.
    #[prost(uint64, optional, tag = "13")]
    pub energy_mj: Option<u64>,
    /// The energy counter was reset within the window (driver reload); growth counts from zero.
    #[prost(bool, tag = "14")]
    pub energy_reset: bool,
    /// Integral of device memory used, byte-milliseconds; `None` where unknown.
    #[prost(uint64, optional, tag = "15")]
    pub memory_byte_ms: Option<u64>,
    /// Shares claimed more than the device and were scaled to it.
    #[prost(bool, tag = "16")]
    pub oversubscribed: bool,
    /// Observed device time whose use is unknown though nobody holds it (busy unreadable on a free device).
    #[prost(uint64, tag = "17")]
    pub free_unknown_ms: u64,
    /// XIDs that the driver reported since the last window was closed; one may lie a little before or after this one.
    #[prost(message, repeated, tag = "18")]
    pub xids: Vec<Xid>,
}

/// Most XIDs of one window.
pub const XIDS_MAX: usize = 64;

/// An error that the driver reported of a device.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Xid {
    /// When it was read, Unix milliseconds.
    #[prost(int64, tag = "1")]
    pub at_ms: i64,
    /// NVIDIA's number.
    #[prost(uint32, tag = "2")]
    pub number: u32,
}

/// Time not observed on a device, or on the whole node where `device` is `None`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Gap {
    /// Position in [`Batch::devices`]; `None` for every device of the node.
    #[prost(uint32, optional, tag = "1")]
    pub device: Option<u32>,
    /// Start, Unix milliseconds.
    #[prost(int64, tag = "2")]
    pub start_ms: i64,
    /// End, Unix milliseconds, not part of the gap.
    #[prost(int64, tag = "3")]
    pub end_ms: i64,
    /// Why.
    #[prost(enumeration = "Reason", tag = "4")]
    pub reason: i32,
}

/// Sequences that will never come, because the spool had to let them go.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Loss {
    /// Incarnation the lost batches belonged to, 16 bytes big-endian.
    #[prost(bytes = "vec", tag = "1")]
    pub incarnation: Vec<u8>,
    /// First lost sequence.
    #[prost(uint64, tag = "2")]
    pub first_sequence: u64,
    /// Last lost sequence, inclusive.
    #[prost(uint64, tag = "3")]
    pub last_sequence: u64,
    /// Why: `spool_full`, `damaged`.
    #[prost(string, tag = "4")]
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn framed_batches_decode_as_a_delivery() {
        let batch = Batch { cluster: "c".into(), sequence: 7, ..Default::default() };
        let mut bytes = Vec::new();
        frame_batch(&mut bytes, &batch.encode_to_vec());
        frame_batch(&mut bytes, &batch.encode_to_vec());
        assert_eq!(Delivery::decode(&bytes[..]).expect("decodes").batches, [batch.clone(), batch]);
    }

    #[test]
    fn an_older_server_skips_what_a_newer_collector_adds() {
        let mut bytes = Batch { node: "n".into(), ..Default::default() }.encode_to_vec();
        prost::encoding::string::encode(900, &"from the future".to_string(), &mut bytes);
        assert_eq!(Batch::decode(&bytes[..]).expect("decodes").node, "n");
    }
}
