//! A piece that the collector didn't observe, where a scheduler's record says who held it: held, its use unknown.

use super::claims::Claim;
use super::rows::{held_row, parts, places};
use crate::slice::Closed;
use schema::share::Share;
use schema::wire::UsageSlice;

/// Turns the part of the gap that the claims cover into held time. Device time that nobody claims stays unobserved: a
/// process without a scheduler's leave may have been there.
pub fn cover(piece: &mut Closed, claims: &[&Claim]) {
    let len_ms = u64::try_from(piece.window.end_ms - piece.window.start_ms).expect("a piece has a length");
    let mut covered_ms = 0;
    for (place, whole) in places(claims) {
        let (parts, over) = parts(claims, place);
        piece.window.oversubscribed |= over;
        for part in parts {
            covered_ms += (len_ms * u64::from(part.share.num)).div_ceil(u64::from(part.share.den));
            let (held, profile) = held_row(piece, place, whole, part.share, len_ms);
            let row = UsageSlice { unknown_reason: piece.window.reason, ..held };
            piece.usage.push((row, Some(part.owner), profile));
        }
    }
    // As much device time as is held is accounted for, and none of it is stranded or free.
    piece.window.observed_ms = covered_ms.min(len_ms);
    (piece.window.stranded_num, piece.window.stranded_den) = (Share::NONE.num, Share::NONE.den);
}
