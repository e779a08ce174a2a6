//! The laws of the hour close: parts are the whole, order and repetition change nothing, and another model of the same
//! rule, in big integers, gives the same digits.

use super::*;
use num_bigint::BigUint;
use proptest::prelude::*;
use schema::units::HOUR_MS;
use schema::wire::{Device, DeviceWindow, Owner, UsageSlice};

const HOUR: Window = Window { start_ms: 500_000 * HOUR_MS, end_ms: 500_001 * HOUR_MS };

fn device() -> InService {
    InService {
        cluster: "c".into(),
        node: "n".into(),
        device: "GPU-1".into(),
        model: "NVIDIA H100".into(),
        window: Window::new(0, i64::MAX),
    }
}

/// A slice of workload `owner` (0, 1, ...) over `ms` from `at_ms` into the hour, held in `share`, busy for `busy_ms`.
fn slice(owner: u32, at_ms: i64, ms: u64, share: (u32, u32), busy_ms: Option<u64>) -> UsageSlice {
    UsageSlice {
        owner: Some(owner),
        start_ms: HOUR.start_ms + at_ms,
        end_ms: HOUR.start_ms + at_ms + ms as i64,
        share_num: share.0,
        share_den: share.1,
        weight_num: share.0,
        weight_den: share.1,
        resident_ms: Some(ms),
        busy_ms,
        ..Default::default()
    }
}

fn window(at_ms: i64, end_ms: i64, observed_ms: u64) -> DeviceWindow {
    DeviceWindow {
        start_ms: HOUR.start_ms + at_ms,
        end_ms: HOUR.start_ms + end_ms,
        observed_ms,
        stranded_num: 0,
        stranded_den: 1,
        ..Default::default()
    }
}

fn batch(incarnation: u128, sequence: u64, usage: Vec<UsageSlice>, windows: Vec<DeviceWindow>) -> Received {
    let batch = Batch {
        cluster: "c".into(),
        node: "n".into(),
        incarnation: Incarnation(incarnation).to_bytes(),
        sequence,
        devices: vec![Device { uuid: "GPU-1".into(), ..Default::default() }],
        owners: (10u128..30)
            .map(|id| Owner { workload: WorkloadId(id).to_bytes(), ..Default::default() })
            .collect(),
        usage,
        device_windows: windows,
        ..Default::default()
    };
    Received { batch, hash: 7 }
}

fn close(batches: &[Received]) -> HourClose {
    close_hour(HOUR, batches, &[device()], &[])
}

#[test]
fn three_equal_holders_share_the_odd_unit_by_workload_order() {
    let usage = (0..3).map(|owner| slice(owner, 0, 3_600_000, (1, 3), Some(1_800_000))).collect();
    let close = close(&[batch(1, 0, usage, vec![window(0, HOUR_MS, 3_600_000)])]);
    let held: Vec<i64> = close.usage.iter().map(|r| r.held.0).collect();
    assert_eq!(held, [333_333_334, 333_333_333, 333_333_333]);
    assert_eq!(close.devices[0].total.free.0, 0);
    assert_eq!(close.devices[0].total.not_busy.0, 500_000_000);
}

#[test]
fn a_device_that_nobody_reported_is_unobserved_and_one_out_of_service_is_no_capacity() {
    assert_eq!(close(&[]).devices[0].total.unobserved.0, 1_000_000_000);
    let retired = InService { window: Window::new(0, HOUR.start_ms + HOUR_MS / 4), ..device() };
    let rows = close_hour(HOUR, &[], &[retired], &[HOUR.start_ms + HOUR_MS / 2]).devices;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].total.capacity.0, 250_000_000);
}

#[test]
fn the_smaller_hash_counts_where_two_contents_claim_one_identity() {
    let one = batch(1, 0, vec![], vec![window(0, HOUR_MS, 3_600_000)]);
    let mut other = batch(1, 0, vec![], vec![window(0, HOUR_MS, 1_800_000)]);
    other.hash = 6;
    let close = close(&[one, other]);
    assert_eq!((close.conflicts, close.devices[0].total.free.0), (1, 500_000_000));
}

#[test]
fn of_two_collectors_on_one_device_the_one_that_saw_more_counts() {
    let half = slice(0, 0, 1_800_000, (1, 1), Some(0));
    let whole = slice(1, 0, 3_600_000, (1, 1), Some(0));
    let less = batch(1, 0, vec![half], vec![window(0, 1_800_000, 1_800_000)]);
    let more = batch(2, 0, vec![whole], vec![window(0, HOUR_MS, 3_600_000)]);
    let close = close(&[less, more]);
    assert!(close.devices[0].total.contested);
    let held: Vec<(u128, i64)> = close.usage.iter().map(|r| (r.key.workload.0, r.held.0)).collect();
    assert_eq!(held, [(11, 1_000_000_000)]);
}

#[test]
fn a_collector_that_restarts_in_the_hour_contests_nothing() {
    let first = batch(1, 0, vec![], vec![window(0, 1_800_000, 1_800_000)]);
    let second = batch(2, 0, vec![], vec![window(1_800_000, HOUR_MS, 1_800_000)]);
    let total = &close(&[first, second]).devices[0].total;
    assert!(!total.contested && total.free.0 == 1_000_000_000);
}

#[test]
fn claims_beyond_the_device_are_scaled_to_it_and_marked() {
    let usage = (0..2).map(|owner| slice(owner, 0, 3_600_000, (3, 4), Some(3_600_000))).collect();
    let close = close(&[batch(1, 0, usage, vec![window(0, HOUR_MS, 3_600_000)])]);
    let total = &close.devices[0].total;
    assert!(total.oversubscribed && total.adds_up());
    assert_eq!(close.usage.iter().map(|r| r.held.0).collect::<Vec<_>>(), [500_000_000, 500_000_000]);
    assert_eq!((total.free.0, total.not_busy.0), (0, 0));
}

#[test]
fn ghosts_hold_nothing_and_their_energy_is_nobody_s() {
    let ghost = UsageSlice { owner: None, energy_mj: Some(5), ..slice(0, 0, 60_000, (1, 1), Some(60_000)) };
    let seen = DeviceWindow { energy_mj: Some(9), ..window(0, HOUR_MS, 3_600_000) };
    let close = close(&[batch(1, 0, vec![ghost], vec![seen])]);
    let total = &close.devices[0].total;
    assert!(close.usage.is_empty());
    assert_eq!((total.ghost.0, total.free.0, total.energy_unattributed_mj), (16_666_667, 1_000_000_000, 9));
}

#[test]
fn a_unit_goes_back_where_unavailable_and_unobserved_both_took_one() {
    // Remainders: unavailable .5, unobserved .4 (in nano-GPU-hours, 1 ms = 277.7..), four holders' fractions sum to 1.1.
    let mut seen = 0;
    for unavailable_ms in 1..40u64 {
        for observed_ms in 3_599_000..3_599_060u64 {
            let usage = (0..4).map(|o| slice(o, 0, observed_ms - 7, (1, 13 + o), Some(0))).collect();
            let window = DeviceWindow { unavailable_ms, ..window(0, HOUR_MS, observed_ms) };
            let total = close(&[batch(1, 0, usage, vec![window])]).devices.remove(0).total;
            assert!(total.adds_up(), "{total:?}");
            let floor = i64::try_from(observed_ms * 1_000_000_000 / 3_600_000).expect("fits");
            seen += i32::from((total.capacity - total.unavailable - total.unobserved).0 < floor);
        }
    }
    assert!(seen > 0, "no case met the corner that this test is about");
}

/// A device-hour as a table row: what each workload has (share, resident, busy) and what the device saw.
#[derive(Debug, Clone)]
struct Case {
    slices: Vec<(u32, u32, u32, u64, Option<u64>)>,
    observed_ms: u64,
    unavailable_ms: u64,
    stranded: u32,
    free_unknown_ms: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let one = (0u32..6, 1u32..8, 7u32..15, 0u64..=900_000, prop::option::of(0u64..=900_000));
    let seen = (0u64..=3_600_000, 0u64..=600_000, 0u32..4, 0u64..100_000);
    (prop::collection::vec(one, 0..12), seen).prop_map(|(slices, seen)| Case {
        slices,
        observed_ms: seen.0,
        unavailable_ms: seen.1,
        stranded: seen.2,
        free_unknown_ms: seen.3,
    })
}

/// The case as batches of at most `per_batch` slices.
fn batches(case: &Case, per_batch: usize) -> Vec<Received> {
    let slices: Vec<UsageSlice> = case
        .slices
        .iter()
        .map(|(owner, num, den, ms, busy)| slice(*owner, 0, *ms, (*num, *den), busy.map(|b| b.min(*ms))))
        .collect();
    let device = DeviceWindow {
        unavailable_ms: case.unavailable_ms,
        stranded_num: case.stranded,
        stranded_den: 7,
        free_unknown_ms: case.free_unknown_ms,
        ..window(0, HOUR_MS, case.observed_ms)
    };
    let mut out = vec![batch(1, 0, vec![], vec![device])];
    out.extend(
        slices.chunks(per_batch).zip(1..).map(|(chunk, sequence)| batch(1, sequence, chunk.into(), vec![])),
    );
    out
}

proptest! {
    #[test]
    fn both_ledgers_are_the_device_exactly(case in cases()) {
        let close = close(&batches(&case, 5));
        let total = &close.devices[0].total;
        prop_assert!(total.adds_up());
        prop_assert_eq!(total.capacity.0, 1_000_000_000);
        let parts = [total.held, total.free, total.stranded, total.unavailable, total.unobserved,
            total.busy, total.ghost, total.not_busy, total.unknown];
        prop_assert!(parts.iter().all(|p| p.0 >= 0));
        prop_assert_eq!(close.usage.iter().map(|r| r.held).sum::<NanoGpuHours>(), total.held);
        prop_assert_eq!(close.usage.iter().map(|r| r.busy).sum::<NanoGpuHours>(), total.busy);
    }

    #[test]
    fn order_repetition_and_batching_change_nothing(case in cases(), seed in any::<u64>(), per_batch in 1usize..6) {
        let once = close(&batches(&case, 12));
        let mut other = batches(&case, per_batch);
        other.extend(other.clone());
        let len = other.len();
        for i in 0..len {
            other.swap(i, (seed as usize).wrapping_mul(i + 1) % len);
        }
        prop_assert_eq!(once, close(&other));
    }

    /// The same rule written again over big integers, sharing no arithmetic with the oracle.
    #[test]
    fn big_integers_give_the_same_digits(case in cases()) {
        let close = close(&batches(&case, 4));
        let want = big::held(&case, &close);
        let got: Vec<i64> = close.usage.iter().map(|r| r.held.0).collect();
        let total = &close.devices[0].total;
        let rest = [total.free.0, total.stranded.0, total.unavailable.0, total.unobserved.0];
        prop_assert_eq!([got, rest.to_vec()].concat(), want);
    }
}

mod big {
    use super::*;

    fn hours(ms_parts: u64, den: u64) -> BigUint {
        BigUint::from(ms_parts) * BigUint::from(10u8).pow(27) / (BigUint::from(den) * 3_600_000u64)
    }

    /// The held ledger of a case; keys are taken from the close, their sums are not.
    pub fn held(case: &Case, close: &HourClose) -> Vec<i64> {
        let span = BigUint::from(10u8).pow(27);
        let seen = hours(case.observed_ms, 1).min(span.clone());
        let unavailable = hours(case.unavailable_ms, 1).min(&span - &seen);
        let stranded = hours(case.observed_ms * u64::from(case.stranded), 7).min(seen.clone());
        let mut parts: Vec<BigUint> = close
            .usage
            .iter()
            .map(|row| {
                let (num, den) = (row.key.share.num, row.key.share.den);
                let of_key = case
                    .slices
                    .iter()
                    .filter(|s| u128::from(s.0) + 10 == row.key.workload.0 && (s.1, s.2) == (num, den));
                hours(of_key.map(|s| s.3).sum::<u64>() * u64::from(num), u64::from(den))
            })
            .collect();
        let claimed: BigUint = parts.iter().sum();
        let holdable = &seen - &stranded;
        if claimed > holdable {
            parts.iter_mut().for_each(|p| *p = &*p * &holdable / &claimed);
        }
        let free = &holdable - parts.iter().sum::<BigUint>();
        parts.extend([free, stranded, unavailable.clone(), &span - &seen - &unavailable]);
        let nano = BigUint::from(10u8).pow(18);
        let mut out: Vec<i64> = parts
            .iter()
            .map(|p| i64::try_from(u64::try_from(p / &nano).expect("fits")).expect("fits"))
            .collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by(|a, b| (&parts[*b] % &nano).cmp(&(&parts[*a] % &nano)).then(a.cmp(b)));
        let left = 1_000_000_000 - out.iter().sum::<i64>();
        order.iter().take(usize::try_from(left).expect("not negative")).for_each(|i| out[*i] += 1);
        out
    }
}
