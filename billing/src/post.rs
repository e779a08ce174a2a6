//! What is posted besides usage: charges made from the policies of `prices.toml`, from what people write, and from what
//! usage left over. All of it is integers over values, in an order of its own: the same input gives the same rows.
//!
//! In the order of a close: reservations are settled and say what the platform still keeps ([`reservation`]); fees and
//! overheads come in ([`fee`]); what is left, shared usage and overheads are allocated ([`allocation`]); people add
//! adjustments ([`adjust`], [`credit`]); a real invoice is reconciled ([`reconcile`]); tax comes last ([`tax`]).

use crate::money::Currency;
use crate::policy::Policies;
use crate::tenant::Tenants;
use crate::usage::DeviceTotal;

pub mod adjust;
pub mod allocation;
pub mod credit;
mod error;
pub mod fee;
mod held;
mod number;
pub mod reconcile;
pub mod reservation;
mod sum;
pub mod tax;
pub use error::PostError;
pub use held::{Held, OwnPrice, Piece, ReservedTime, shared};
pub use number::{Numbered, number};

/// A period's usage as posting sees it, with what it is posted by.
#[derive(Debug, Clone, Copy)]
pub struct Ledger<'a> {
    /// Reservations, fees, policies.
    pub policies: &'a Policies,
    /// The tree and the pools.
    pub tenants: &'a Tenants,
    /// What each tenant held of each device, in segments that no change instant and no local midnight cuts; with
    /// `unattributed`, so that it is all that was held.
    pub held: &'a [Held],
    /// The devices in the same segments.
    pub devices: &'a [DeviceTotal],
    /// Of all amounts.
    pub currency: &'a Currency,
}
