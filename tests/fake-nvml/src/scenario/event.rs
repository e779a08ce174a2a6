//! What happens to a node besides its work: faults, resets, slow calls.

use serde::{Deserialize, Serialize};

use super::value::Seconds;

/// One thing that happens. `gpu` is an index; a function is named as NVML exports it, and `"*"` is every function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The driver reports an XID.
    Xid {
        /// GPU it happens to.
        gpu: usize,
        /// When.
        t: Seconds,
        /// The XID's number.
        code: u64,
        /// GPU instance that it names, under MIG.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gi: Option<u32>,
    },
    /// Every call on the GPU answers GPU_IS_LOST, and handles taken before are lost afterwards too.
    GpuLost {
        /// GPU that is lost.
        gpu: usize,
        /// First instant.
        from: Seconds,
        /// When it is back; never where it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Seconds>,
    },
    /// The driver is loaded again: energy counters restart at zero, and until the next init all is UNINITIALIZED.
    DriverReload {
        /// When.
        t: Seconds,
    },
    /// A call answers with this code.
    CallError {
        /// Only for this GPU, where it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gpu: Option<usize>,
        /// Which call.
        function: String,
        /// First instant.
        #[serde(default)]
        from: Seconds,
        /// First instant after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Seconds>,
        /// `nvmlReturn_t`.
        code: u32,
    },
    /// A call takes this much longer, of real time.
    Delay {
        /// Only for this GPU, where it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gpu: Option<usize>,
        /// Which call.
        function: String,
        /// First instant.
        #[serde(default)]
        from: Seconds,
        /// First instant after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Seconds>,
        /// How long, in microseconds of real time.
        micros: u64,
    },
    /// A call doesn't return before the interval is over or, where `real_ms` is given, this much real time.
    Hang {
        /// Only for this GPU, where it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gpu: Option<usize>,
        /// Which call.
        function: String,
        /// First instant.
        #[serde(default)]
        from: Seconds,
        /// When it returns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Seconds>,
        /// At most this long, in milliseconds of real time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        real_ms: Option<u64>,
    },
}
