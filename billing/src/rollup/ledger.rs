//! The two ledgers of one device and segment, apportioned in whole nano-GPU-hours.

use super::gather::{Gathered, fine, fine_of};
use super::{DeviceRow, HourRow, InService};
use crate::usage::DeviceTotal;
use crate::wide::mul_div;
use schema::units::NanoGpuHours;
use schema::window::Window;

/// 1e-27 GPU-hours in a nano-GPU-hour.
const FINE_PER_NANO: u128 = 10u128.pow(18);

/// Both ledgers as exact fractions, in the order that breaks ties.
struct Exact {
    /// Keys' held, free, stranded, unavailable, unobserved.
    held: Vec<u128>,
    /// Keys' busy, keys' unknown, ghost, not busy, unknown on a free device.
    busy: Vec<u128>,
    /// Claims exceeded the device.
    scaled: bool,
}

/// The device's row and its workloads' rows. `span` is the part of the segment in which the device is in service.
pub(super) fn close(
    device: &InService,
    segment: Window,
    span: Window,
    gathered: Gathered,
    contested: bool,
) -> (DeviceRow, Vec<HourRow>) {
    let n = gathered.keys.len();
    let exact = exact(span, &gathered);
    let capacity = NanoGpuHours::of_span(span.start_ms, span.end_ms);
    let held = apportion(capacity, &exact.held);
    let [free, stranded, unavailable, unobserved] = last(&held);
    let busy = apportion(capacity - unavailable - unobserved, &exact.busy);
    let [ghost, not_busy, free_unknown] = last(&busy);
    let sum = |parts: &[NanoGpuHours]| parts.iter().copied().sum::<NanoGpuHours>();
    let energy_of_keys: u128 = gathered.keys.values().map(|s| s.energy_mj).sum();
    let memory_of_keys: u128 = gathered.keys.values().map(|s| s.memory_byte_ms).sum();
    let total = DeviceTotal {
        segment,
        cluster: device.cluster.clone(),
        node: device.node.clone(),
        device: device.device.clone(),
        model: device.model.clone(),
        capacity,
        held: sum(&held[..n]),
        free,
        stranded,
        unavailable,
        unobserved,
        busy: sum(&busy[..n]),
        ghost,
        not_busy,
        unknown: sum(&busy[n..2 * n]) + free_unknown,
        energy_mj: gathered.energy_mj.map(to_i64),
        energy_unattributed_mj: to_i64(gathered.energy_mj.unwrap_or(0)) - to_i64(energy_of_keys),
        oversubscribed: gathered.oversubscribed || exact.scaled,
        contested,
    };
    let row = DeviceRow {
        total,
        memory_byte_ms: gathered.memory_byte_ms,
        memory_unattributed_byte_ms: to_i128(gathered.memory_byte_ms.unwrap_or(0)) - to_i128(memory_of_keys),
    };
    let usage = gathered.keys.into_iter().enumerate().map(|(i, (key, sums))| HourRow {
        segment,
        cluster: device.cluster.clone(),
        node: device.node.clone(),
        device: device.device.clone(),
        model: device.model.clone(),
        key,
        natural_ms: to_i64(sums.natural_ms),
        held: held[i],
        busy: busy[i],
        unknown: busy[n + i],
        memory_byte_ms: sums.memory_byte_ms,
        energy_mj: to_i64(sums.energy_mj),
    });
    (row, usage.collect())
}

fn exact(span: Window, gathered: &Gathered) -> Exact {
    let span = fine(u128::from(span.len_ms().unsigned_abs()));
    let seen = (fine(gathered.observed_ms) + gathered.recorded).min(span);
    let unavailable = fine(gathered.unavailable_ms).min(span - seen);
    let stranded = fine_of(&gathered.stranded).min(seen);
    let held = |(key, sums): (&super::UsageKey, &super::gather::Sums)| {
        let parts = [(key.share.den, sums.natural_ms * u128::from(key.share.num))];
        if key.share.den == 0 { 0 } else { fine_of(&parts.into()) }
    };
    let mut held: Vec<u128> = gathered.keys.iter().map(held).collect();
    let mut scaled = scale(&mut held, seen - stranded);
    let free = seen - stranded - held.iter().sum::<u128>();
    held.extend([free, stranded, unavailable, span - seen - unavailable]);

    let mut busy: Vec<u128> = gathered.keys.values().map(|s| fine_of(&s.busy)).collect();
    busy.extend(gathered.keys.values().map(|s| fine_of(&s.unknown)));
    busy.extend([fine_of(&gathered.ghost), fine(gathered.free_unknown_ms)]);
    scaled |= scale(&mut busy, seen);
    let not_busy = seen - busy.iter().sum::<u128>();
    busy.insert(busy.len() - 1, not_busy);
    Exact { held, busy, scaled }
}

/// Scales claims down to a limit that they exceed; says whether they did.
fn scale(claims: &mut [u128], limit: u128) -> bool {
    let sum: u128 = claims.iter().sum();
    if sum <= limit {
        return false;
    }
    for claim in claims {
        *claim = mul_div(*claim, limit, sum).0;
    }
    true
}

/// Whole units first, then one each to the largest remainders, ties to the earlier part; where the whole units already
/// exceed the whole by one, it goes back from the smallest remainder among parts that have a unit.
fn apportion(whole: NanoGpuHours, exact: &[u128]) -> Vec<NanoGpuHours> {
    let mut parts: Vec<i64> = exact.iter().map(|e| to_i64(e / FINE_PER_NANO)).collect();
    let remainder = |i: &usize| exact[*i] % FINE_PER_NANO;
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(remainder(i)), *i));
    let left = whole.0 - parts.iter().sum::<i64>();
    if left < 0 {
        let last =
            order.iter().rev().find(|i| parts[**i] > 0).expect("parts that exceed a whole are not all zero");
        parts[*last] -= 1;
    }
    for i in order.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        parts[i] += 1;
    }
    parts.into_iter().map(NanoGpuHours).collect()
}

fn last<const N: usize>(parts: &[NanoGpuHours]) -> [NanoGpuHours; N] {
    *parts.last_chunk().expect("a ledger ends in its fixed parts")
}

fn to_i64(value: u128) -> i64 {
    i64::try_from(value).expect("an hour of one device is far below 9e18 of any unit")
}

fn to_i128(value: u128) -> i128 {
    i128::try_from(value).expect("an hour of one device is far below 1e38 byte-milliseconds")
}
