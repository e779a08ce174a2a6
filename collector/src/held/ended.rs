//! A pod that has ended holds nothing more. Its processes ended with its containers, but a list that still had them is
//! all that residency knows until the next: without this, a pod would hold half a period beyond its own end.

use crate::allocation::Allocations;
use crate::slice::Closed;
use schema::owner::{Owner, OwnerKind, key};
use std::sync::Arc;

/// Marks what is there of pods that ended before the piece as given nothing. Rows that a claim has judged stay.
pub fn let_go(piece: &mut Closed, said: &[Arc<Allocations>]) {
    let at_ms = piece.window.start_ms;
    for (row, owner, _) in &mut piece.usage {
        let has_ended = owner.as_ref().is_some_and(|record| has_ended(&record.owner, said, at_ms));
        if has_ended && row.allocated_ms.is_none() {
            row.allocated_ms = Some(0);
        }
    }
}

/// Whether a scheduler tells that all this pod held was given back by then.
fn has_ended(owner: &Owner, said: &[Arc<Allocations>], at_ms: i64) -> bool {
    let Some(uid) = owner.attributes.get(key::POD_UID).filter(|_| owner.kind == OwnerKind::Kubernetes) else {
        return false;
    };
    let own = said
        .iter()
        .flat_map(|word| &word.held)
        .filter(|held| held.owner.attributes.get(key::POD_UID) == Some(uid));
    let mut ends = own.map(|held| held.to_ms).peekable();
    ends.peek().is_some() && ends.all(|to_ms| to_ms.is_some_and(|to| to <= at_ms))
}
