//! Rows of the ledger cut at a failure: which part of the failure's hour was before it, by the slices under the hour.

use super::WorkHeld;
use crate::explain::SliceRow;
use crate::split::share_of;
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeMap;

/// A row of the ledger cut in two where the failure lies in it, so that what the workload held of the hour afterwards (it
/// may have started again) isn't taken for lost. `slices` are those of the rows' workloads up to the failure; a row without
/// any stands on a scheduler's record alone and stays whole.
pub fn cut(rows: Vec<WorkHeld>, at_ms: i64, slices: &[SliceRow]) -> Vec<WorkHeld> {
    let mut before: BTreeMap<_, i64> = BTreeMap::new();
    let mut whole: BTreeMap<_, i64> = BTreeMap::new();
    let hit = |row: &WorkHeld| row.segment.start_ms < at_ms && at_ms < row.segment.end_ms;
    for row in rows.iter().filter(|row| hit(row)) {
        *whole.entry((row.workload, row.device.clone(), row.segment.start_ms)).or_default() += row.natural_ms;
    }
    for (workload, device, start_ms) in whole.keys() {
        let of_row = slices.iter().filter(|slice| {
            let in_time = *start_ms <= slice.window.start_ms && slice.window.start_ms < at_ms;
            slice.workload == *workload && slice.device == *device && in_time
        });
        for slice in of_row {
            *before.entry((*workload, device.clone(), *start_ms)).or_default() += held_before(slice, at_ms);
        }
    }
    rows.into_iter()
        .flat_map(|row| {
            let key = (row.workload, row.device.clone(), row.segment.start_ms);
            match before.get(&key).filter(|_| hit(&row) && row.natural_ms > 0) {
                Some(before_ms) => parts(row, at_ms, *before_ms, whole[&key]),
                None => vec![row],
            }
        })
        .collect()
}

/// What a slice holds before an instant, milliseconds: all of it, or its part by time.
fn held_before(slice: &SliceRow, at_ms: i64) -> i64 {
    let held_ms = slice.allocated_ms.or(slice.resident_ms).unwrap_or(0);
    let (length_ms, before_ms) = (slice.window.end_ms - slice.window.start_ms, at_ms - slice.window.start_ms);
    if before_ms >= length_ms { held_ms } else { part(held_ms, before_ms, length_ms) }
}

/// A row in two at an instant, of which all rows of its kind held `before_ms` of `whole_ms` before.
fn parts(row: WorkHeld, at_ms: i64, before_ms: i64, whole_ms: i64) -> Vec<WorkHeld> {
    let mut first = row.clone();
    first.segment = Window::new(row.segment.start_ms, at_ms);
    first.natural_ms = part(row.natural_ms, before_ms.min(whole_ms), whole_ms);
    first.quantity.nano = part(row.quantity.nano, first.natural_ms, row.natural_ms);
    let mut rest = row;
    rest.segment.start_ms = at_ms;
    rest.natural_ms -= first.natural_ms;
    rest.quantity.nano -= first.quantity.nano;
    vec![first, rest]
}

/// `whole * part / of`, rounded down.
fn part(whole: i64, part: i64, of: i64) -> i64 {
    let share = share_of(i128::from(whole), NanoGpuHours(part), NanoGpuHours(of));
    i64::try_from(share).expect("a part is at most the whole")
}
