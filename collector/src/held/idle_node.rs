//! A node that its scheduler gives to nobody: what nobody holds there isn't free but out of use, and says why.

use crate::allocation::{Allocations, OutOfUse, WhyOutOfUse};
use crate::slice::Closed;
use schema::wire::Reason;
use std::sync::Arc;

/// Since when and why the node is out of use by these schedulers' word, the earliest first.
pub fn since(said: &[Arc<Allocations>]) -> Option<(i64, Reason)> {
    let of = |out: &OutOfUse| (out.since_ms.unwrap_or(i64::MIN), reason(out.why));
    said.iter().filter_map(|word| word.out_of_use.as_ref().map(of)).min_by_key(|(since_ms, _)| *since_ms)
}

fn reason(why: WhyOutOfUse) -> Reason {
    match why {
        WhyOutOfUse::Failed => Reason::NodeFailed,
        WhyOutOfUse::Maintenance => Reason::Maintenance,
        WhyOutOfUse::Reconfiguring => Reason::Reconfiguring,
    }
}

/// Turns the observed time of a piece that nobody holds and nobody uses into unavailable time. Somebody who is there
/// holds it as before: draining nodes still run their last jobs.
pub fn take_out(piece: &mut Closed, reason: Reason) {
    if !piece.usage.is_empty() || piece.window.observed_ms == 0 {
        return;
    }
    let window = &mut piece.window;
    window.unavailable_ms += window.observed_ms;
    window.observed_ms = 0;
    window.free_unknown_ms = 0;
    window.reason = reason as i32;
}
