//! Ships batches: deliveries cut to the wire's limits, sent until the server says that they are durable.
//!
//! A delivery is made of encoded batches as they lie in the spool, so that a retry carries the same bytes and the same
//! identities. What the server refuses for good is set aside, never retried for ever.

mod credential;
mod delivery;
mod work;

pub use credential::{Enrolment, enrol};
pub use delivery::{DeliverError, Outcome, deliver, send};
pub use work::{Shipper, ShipperStats};
