//! Why a period can't be posted. Each stops the whole, because half a distribution would look like a bill.

use schema::units::NanoGpuHours;
use schema::window::Window;

/// Why nothing was posted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// An entry starts or ends inside a segment.
    #[error("a segment of {device} from {start_ms} to {end_ms} (Unix ms) crosses a change of prices.toml at {change_ms}: close its hour again, so that it is cut there", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    CrossesChange {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
        /// When it changes.
        change_ms: i64,
    },
    /// What tenants held and what the device says was held differ: a table was read half, or not at all.
    #[error("tenants hold {tenants} GPU-hours of device {device} from {start_ms} to {end_ms} (Unix ms) and the device says {device_held}: nothing is posted; read the period again and report the defect", start_ms = segment.start_ms, end_ms = segment.end_ms)]
    HeldDiffers {
        /// Device UUID.
        device: String,
        /// The segment.
        segment: Window,
        /// Sum over tenants.
        tenants: NanoGpuHours,
        /// The device's own.
        device_held: NanoGpuHours,
    },
    /// One device in two scopes that are equally narrow.
    #[error(
        "allocations {first:?} and {second:?} both take the {cost} cost of {what} on node {node}: narrow one of them, or take the node out of one pool"
    )]
    TwoPolicies {
        /// The first policy.
        first: String,
        /// The second.
        second: String,
        /// The cost's word.
        cost: &'static str,
        /// The model.
        what: String,
        /// The node.
        node: String,
    },
    /// One node in two pools that have owners.
    #[error(
        "node {node} is in the owned pools {first:?} and {second:?}: take it out of one, or give allocation {policy:?} a pool"
    )]
    TwoOwners {
        /// The policy that asks for the owner.
        policy: String,
        /// The node.
        node: String,
        /// The first pool.
        first: String,
        /// The second.
        second: String,
    },
}
