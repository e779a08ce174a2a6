//! Reservations: the owner pays what is reserved, less what was unavailable or unobserved, less what others paid for it.
//!
//! - *Used*: the owner, or a tenant below it, holds a reserved device. Of a device reserved by name its usage line already
//!   has the reservation's price ([`Policies::reserved_price`]). Of a reservation by count a pair of rows brings it there.
//! - *Unused*: free and stranded time of reserved devices moves from the platform to the owner, at the reservation's price
//!   there and at the platform's price here.
//! - *Lent*: others hold a reserved device and pay their own price. The owner pays the reservation's price for it and gets
//!   exactly the borrower's charge; what is left of the two is the difference in price.
//!
//! A reservation holds while its owner does.
//!
//! [`Policies::reserved_price`]: crate::policy::Policies::reserved_price

use super::{Ledger, OwnPrice, Piece, PostError, ReservedTime};
use crate::charge::Charge;
use crate::policy::{CostKind, Reservation};
use crate::tenant::TenantId;
use crate::usage::DeviceTotal;

mod books;
mod charges;
mod count;
use books::Books;

/// What settling reservations gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// The owners' charges and the platform's side of them.
    pub charges: Vec<Charge>,
    /// What the platform still keeps, by device and segment: free, stranded, unavailable, unobserved.
    pub pieces: Vec<Piece>,
    /// Reserved time that was charged.
    pub reserved: Vec<ReservedTime>,
}

/// Settles all reservations; `own_price` is what the platform's own time on a device costs in a segment.
///
/// # Errors
/// A segment that a change cuts, or usage that isn't all that was held: defects upstream.
pub fn settle(
    ledger: &Ledger<'_>,
    own_price: impl Fn(&DeviceTotal) -> Option<OwnPrice>,
) -> Result<Settled, PostError> {
    ledger.check()?;
    let mut books = Books::open(ledger, own_price);
    by_name(ledger, &mut books);
    count::settle(ledger, &mut books);
    let pieces = left(&books);
    let (charges, reserved) = books.taken.close(ledger.currency);
    Ok(Settled { charges, pieces, reserved })
}

/// Whether a reservation holds at an instant: in its time, and its owner's.
fn holds(reservation: &Reservation, ledger: &Ledger<'_>, at_ms: i64) -> bool {
    reservation.valid.holds_at(at_ms) && ledger.tenants.ended(&reservation.tenant, at_ms).is_none()
}

/// Devices reserved by name: all of their free and stranded time is unused, all that others hold is lent.
fn by_name<'a>(ledger: &Ledger<'a>, books: &mut Books<'a>) {
    for at in 0..books.devices.len() {
        let (device, start_ms) = (books.devices[at].total, books.devices[at].total.segment.start_ms);
        let found = ledger.policies.reservation_of(&device.device, start_ms);
        let Some(reservation) = found.filter(|r| holds(r, ledger, start_ms)) else { continue };
        books.devices[at].by_name = true;
        books.take_unused(reservation, at, CostKind::Free, device.free);
        books.take_unused(reservation, at, CostKind::Stranded, device.stranded);
        for row in books.rows_of(at) {
            let (holder, held) = (&books.rows[row].row.tenant, books.rows[row].left);
            if ledger.tenants.is_within(holder, &reservation.tenant, start_ms) {
                books.take_own_by_name(reservation, row);
            } else {
                books.take_lent(reservation, row, held);
            }
        }
    }
}

/// What no reservation took.
fn left(books: &Books<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for device in &books.devices {
        let total = device.total;
        for (kind, held) in [
            (CostKind::Free, device.free),
            (CostKind::Stranded, device.stranded),
            (CostKind::Unavailable, total.unavailable),
            (CostKind::Unobserved, total.unobserved),
        ] {
            if held.0 == 0 {
                continue;
            }
            pieces.push(Piece {
                kind,
                from: TenantId::platform(),
                segment: total.segment,
                cluster: total.cluster.clone(),
                node: total.node.clone(),
                what: total.model.clone(),
                line: device.price.as_ref().map_or_else(String::new, |p| p.entry.clone()),
                held,
                exact: device.price.as_ref().map(|p| crate::money::Exact::of(held, p.per_gpu_hour)),
            });
        }
    }
    pieces
}
