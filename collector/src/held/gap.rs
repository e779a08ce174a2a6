//! A piece that the collector didn't observe, where a scheduler's record says who held it: held, its use unknown.

use super::claims::Claim;
use super::rows::{parts, places};
use crate::attribution::Place;
use crate::slice::Closed;
use schema::share::Share;
use schema::wire::{Quality, Sharing, UsageSlice};

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
            let sharing = match (place, part.share == whole) {
                (Place::DEVICE, true) => Sharing::Whole,
                (Place::DEVICE, false) => Sharing::TimeSliced,
                (_, true) => Sharing::Mig,
                (_, false) => Sharing::MigShared,
            };
            let instance =
                |i: &&schema::wire::MigInstance| Place::instance(i.gpu_instance, i.compute_instance) == place;
            let profile =
                piece.window.instances.iter().find(instance).map(|instance| instance.profile.clone());
            let row = UsageSlice {
                start_ms: piece.window.start_ms,
                end_ms: piece.window.end_ms,
                gpu_instance: place.gpu_instance,
                compute_instance: place.compute_instance,
                sharing: sharing as i32,
                share_num: part.share.num,
                share_den: part.share.den,
                allocated_ms: Some(len_ms),
                // What is unknown of its use is as much as it held.
                weight_num: part.share.num,
                weight_den: part.share.den,
                held_quality: Quality::Allocated as i32,
                busy_quality: Quality::Unspecified as i32,
                unknown_reason: piece.window.reason,
                ..UsageSlice::default()
            };
            piece.usage.push((row, Some(part.owner), profile));
        }
    }
    // As much device time as is held is accounted for, and none of it is stranded or free.
    piece.window.observed_ms = covered_ms.min(len_ms);
    (piece.window.stranded_num, piece.window.stranded_den) = (Share::NONE.num, Share::NONE.den);
}
