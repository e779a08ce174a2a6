//! A slice in pieces. What was measured over the slice is shared out by time, whole units, none lost: how a slice's use
//! lay within it isn't known any more, so the parts are estimates where there are several.

use crate::slice::Closed;
use schema::share::split_largest_remainder;
use schema::window::Window;
use schema::wire::Quality;

/// The slice in these pieces, which tile it.
pub fn at(slice: Closed, pieces: &[Window]) -> Vec<Closed> {
    if pieces.len() < 2 {
        return vec![slice];
    }
    let lengths: Vec<u64> =
        pieces.iter().map(|p| u64::try_from(p.len_ms()).expect("a piece has a length")).collect();
    let parts = |total: u64| split_largest_remainder(total, &lengths);
    let maybe = |total: Option<u64>| -> Vec<Option<u64>> {
        total.map_or_else(|| vec![None; lengths.len()], |total| parts(total).into_iter().map(Some).collect())
    };
    let whole = &slice.window;
    let (observed, unavailable, free_unknown) =
        (parts(whole.observed_ms), parts(whole.unavailable_ms), parts(whole.free_unknown_ms));
    let (busy, energy, memory) = (maybe(whole.busy_ms), maybe(whole.energy_mj), maybe(whole.memory_byte_ms));
    let mut out: Vec<Closed> = pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| {
            let mut window = whole.clone();
            (window.start_ms, window.end_ms) = (piece.start_ms, piece.end_ms);
            if at > 0 {
                window.xids.clear();
            }
            (window.observed_ms, window.unavailable_ms, window.free_unknown_ms) =
                (observed[at], unavailable[at], free_unknown[at]);
            (window.busy_ms, window.energy_mj, window.memory_byte_ms) = (busy[at], energy[at], memory[at]);
            Closed {
                device: slice.device.clone(),
                window,
                usage: Vec::with_capacity(slice.usage.len()),
                gap: slice.gap,
                host_memory: Vec::new(),
            }
        })
        .collect();
    if let Some(first) = out.first_mut() {
        first.host_memory = slice.host_memory;
    }
    for (row, owner, profile) in &slice.usage {
        let (allocated, resident) = (maybe(row.allocated_ms), maybe(row.resident_ms));
        let (busy, energy, memory) = (maybe(row.busy_ms), maybe(row.energy_mj), maybe(row.memory_byte_ms));
        for (at, piece) in out.iter_mut().enumerate() {
            let mut part = *row;
            (part.start_ms, part.end_ms) = (piece.window.start_ms, piece.window.end_ms);
            (part.allocated_ms, part.resident_ms) = (allocated[at], resident[at]);
            (part.busy_ms, part.energy_mj, part.memory_byte_ms) = (busy[at], energy[at], memory[at]);
            if row.busy_ms.is_some_and(|ms| ms > 0) {
                part.busy_quality = Quality::Estimated as i32;
            }
            piece.usage.push((part, owner.clone(), profile.clone()));
        }
    }
    out
}
