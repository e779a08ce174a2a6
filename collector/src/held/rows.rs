//! Who holds what of a piece that was observed, where a scheduler gave it to somebody.

use super::claims::Claim;
use crate::attribution::{self, Place};
use crate::owner::OwnerRecord;
use crate::slice::Closed;
use schema::share::Share;
use schema::wire::{BusyKind, Quality, Reason, Sharing, UsageSlice};
use std::sync::Arc;

/// One owner's part of one place, its claims added up.
pub struct Part {
    /// Who.
    pub owner: Arc<OwnerRecord>,
    /// Share of the device.
    pub share: Share,
}

/// The parts of a place by its claims, and whether they were more than the place and had to be scaled down to it.
pub fn parts(claims: &[&Claim], place: Place) -> (Vec<Part>, bool) {
    let mut owners: Vec<&Claim> = Vec::new();
    let mut entitlements: Vec<Vec<Share>> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.place == place) {
        match owners.iter().position(|known| known.owner.workload == claim.owner.workload) {
            Some(at) => entitlements[at].push(claim.share),
            None => {
                owners.push(claim);
                entitlements.push(vec![claim.share]);
            }
        }
    }
    let (shares, over) = attribution::scale(&entitlements);
    let part =
        |(claim, share): (&&Claim, Share)| Part { owner: claim.owner.clone(), share: share.of(claim.whole) };
    (owners.iter().zip(shares).map(part).collect(), over)
}

/// Places of the piece that somebody claims, in order.
pub fn places(claims: &[&Claim]) -> Vec<(Place, Share)> {
    let mut places: Vec<(Place, Share)> = claims.iter().map(|claim| (claim.place, claim.whole)).collect();
    places.sort_by_key(|(place, _)| *place);
    places.dedup_by_key(|(place, _)| *place);
    places
}

/// Puts the claims on the piece's rows.
pub fn hold(piece: &mut Closed, claims: &[&Claim]) {
    let len_ms = u64::try_from(piece.window.end_ms - piece.window.start_ms).expect("a piece has a length");
    // What isn't known is somebody's who is there, or nobody's: where nobody's is none, an empty instance's use is known.
    let instances_known = piece.window.free_unknown_ms == 0;
    for (place, whole) in places(claims) {
        let (parts, over) = parts(claims, place);
        piece.window.oversubscribed |= over;
        let use_known = match place {
            Place::DEVICE => piece.window.busy_ms.is_some(),
            _ => instances_known,
        };
        let is_empty = !piece.usage.iter().any(|(row, ..)| is_at(row, place));
        // Somebody who is there without having been given the place holds nothing of it.
        for (row, owner, _) in &mut piece.usage {
            if owner.is_some() && is_at(row, place) {
                row.allocated_ms = Some(0);
            }
        }
        for part in parts {
            let known = piece.usage.iter_mut().find(|(row, owner, _)| {
                is_at(row, place) && owner.as_ref().is_some_and(|owner| owner.workload == part.owner.workload)
            });
            match known {
                Some((row, ..)) => {
                    row.allocated_ms = Some(len_ms);
                    (row.share_num, row.share_den) = (part.share.num, part.share.den);
                    let quality = if part.share == whole { Quality::Measured } else { Quality::Allocated };
                    row.held_quality = quality as i32;
                    // Who is alone on a device of four slots still holds one slot of it. Who shares by MPS or as a virtual
                    // machine does so whoever gave the share.
                    if ![Sharing::Mps as i32, Sharing::Vgpu as i32].contains(&row.sharing) {
                        row.sharing = sharing(place, part.share == whole) as i32;
                    }
                }
                None => {
                    add_row(piece, place, whole, &part, use_known);
                    if is_empty && !use_known {
                        no_longer_free(piece, part.share, len_ms);
                    }
                }
            }
        }
    }
}

/// How a place is shared of which a scheduler gave somebody all or a part.
fn sharing(place: Place, all: bool) -> Sharing {
    match (place, all) {
        (Place::DEVICE, true) => Sharing::Whole,
        (Place::DEVICE, false) => Sharing::TimeSliced,
        (_, true) => Sharing::Mig,
        (_, false) => Sharing::MigShared,
    }
}

fn is_at(row: &UsageSlice, place: Place) -> bool {
    row.gpu_instance == place.gpu_instance && row.compute_instance == place.compute_instance
}

/// What is unknown of a place's use is its holder's now: it isn't told as nobody's too.
fn no_longer_free(piece: &mut Closed, share: Share, len_ms: u64) {
    let held_ms = (len_ms * u64::from(share.num)).div_ceil(u64::from(share.den));
    piece.window.free_unknown_ms = piece.window.free_unknown_ms.saturating_sub(held_ms);
}

/// A row for a holder without a process: what it used is known to be nothing where the place's use is known.
fn add_row(piece: &mut Closed, place: Place, whole: Share, part: &Part, use_known: bool) {
    let len_ms = u64::try_from(piece.window.end_ms - piece.window.start_ms).expect("a piece has a length");
    // The draw of an idle device is whoever's who holds it alone.
    let alone = part.share == Share::WHOLE && piece.usage.is_empty();
    let reason = match (use_known, place) {
        (true, _) => Reason::Unspecified,
        (false, Place::DEVICE) => Reason::NotSupported,
        (false, _) => Reason::MigPreHopper,
    };
    let weight = if use_known { whole } else { part.share };
    let (held, profile) = held_row(piece, place, whole, part.share, len_ms);
    let row = UsageSlice {
        resident_ms: Some(0),
        busy_ms: use_known.then_some(0),
        busy_kind: if use_known { piece.window.busy_kind } else { BusyKind::Unspecified as i32 },
        weight_num: weight.num,
        weight_den: weight.den,
        memory_byte_ms: Some(0),
        energy_mj: piece.window.energy_mj.map(|mj| if alone { mj } else { 0 }),
        busy_quality: if use_known { Quality::Measured as i32 } else { Quality::Unspecified as i32 },
        unknown_reason: reason as i32,
        ..held
    };
    piece.usage.push((row, Some(part.owner.clone()), profile));
}

/// A row that says only that a share of a place was held for a piece, on a scheduler's word, and the place's profile.
/// What is unknown of its use is as much as it held.
pub(super) fn held_row(
    piece: &Closed,
    place: Place,
    whole: Share,
    share: Share,
    len_ms: u64,
) -> (UsageSlice, Option<String>) {
    let row = UsageSlice {
        start_ms: piece.window.start_ms,
        end_ms: piece.window.end_ms,
        gpu_instance: place.gpu_instance,
        compute_instance: place.compute_instance,
        sharing: sharing(place, share == whole) as i32,
        share_num: share.num,
        share_den: share.den,
        allocated_ms: Some(len_ms),
        weight_num: share.num,
        weight_den: share.den,
        held_quality: Quality::Allocated as i32,
        ..UsageSlice::default()
    };
    let instance =
        piece.window.instances.iter().find(|i| Place::instance(i.gpu_instance, i.compute_instance) == place);
    (row, instance.map(|instance| instance.profile.clone()))
}
