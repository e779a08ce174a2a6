//! Ships batches: deliveries cut to the wire's limits, sent until the server says that they are durable.
//!
//! A delivery is made of encoded batches as they lie in the spool, so that a retry carries the same bytes and the same
//! identities. What the server refuses for good is set aside, never retried for ever.

mod delivery;

pub use delivery::{DeliverError, Outcome, deliver, send};
