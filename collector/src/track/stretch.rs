//! A stretch of time in which nobody came or went: its slice, by what the gauges said and who was there.

use super::residency::Stay;
use super::span::Span;
use crate::attribution::{self, Holder, Shape};
use crate::slice::{RowSum, Slice, State};
use schema::wire::BusyKind;
use std::sync::Arc;

/// The slice of a stretch within a span, with those who were there throughout.
pub(super) fn observed(shape: &Arc<Shape>, start_ms: i64, end_ms: i64, span: &Span, here: &[&Stay]) -> Slice {
    let len_ms = u64::try_from(end_ms - start_ms).expect("a stretch's end isn't before its start");
    let holders: Vec<Holder> = here.iter().map(|stay| stay.holder.clone()).collect();
    let (rows, oversubscribed) = attribution::divide(shape, &holders);
    let own = |row: &attribution::Row| {
        let (place, workload) = (row.place, row.owner.workload);
        here.iter().filter(move |stay| stay.holder.place == place && stay.holder.owner.workload == workload)
    };
    let memory: Vec<Option<u64>> = rows
        .iter()
        .map(|row| {
            let listed = own(row).map(|stay| stay.memory_bytes).sum::<Option<u64>>();
            listed.or_else(|| span.instance_memory(row.place, &rows))
        })
        .collect();
    let weights: Vec<u64> = if shape.instances.is_some() {
        memory.iter().map(|bytes| bytes.unwrap_or(0)).collect()
    } else {
        rows.iter().map(|row| own(row).map(|stay| span.weight(stay.pid)).sum()).collect()
    };
    let input = span.busy(start_ms, end_ms);
    let busy = attribution::attribute_busy(shape, &rows, &weights, &input, len_ms);
    let device_busy_ns = match &input {
        attribution::BusyInput::Device(total) => total.ok(),
        attribution::BusyInput::Instances(_) => None,
    };
    Slice {
        start_ms,
        end_ms,
        state: State::Observed,
        shape: shape.clone(),
        rows: rows
            .into_iter()
            .zip(busy.rows)
            .zip(memory)
            .map(|((row, busy), memory)| RowSum {
                row,
                busy_ns: busy.busy_ns,
                estimated: busy.estimated,
                memory_byte_ms: memory.map(|bytes| u128::from(bytes) * u128::from(len_ms)),
            })
            .collect(),
        ghosts: busy.ghosts,
        free_unknown_slices: busy.free_unknown_slices,
        device_busy_ns,
        busy_kind: span.kind,
        by_dcgm: span.by_dcgm,
        energy_mj: span.energy_between(start_ms, end_ms),
        energy_reset: span.energy.is_some_and(|(_, reset)| reset),
        memory_byte_ms: span.memory_used.map(|used| u128::from(used) * u128::from(len_ms)),
        oversubscribed,
    }
}

/// The slice of a time without observation.
pub(super) fn unseen(shape: &Arc<Shape>, start_ms: i64, end_ms: i64, state: State) -> Slice {
    Slice {
        start_ms,
        end_ms,
        state,
        shape: shape.clone(),
        rows: Vec::new(),
        ghosts: Vec::new(),
        free_unknown_slices: 0,
        device_busy_ns: None,
        busy_kind: BusyKind::Unspecified,
        by_dcgm: false,
        energy_mj: None,
        energy_reset: false,
        memory_byte_ms: None,
        oversubscribed: false,
    }
}
