//! The hour close in SQL: counted once, in any order; equal to the oracle to the last unit; identical when run again.

use crate::common::{HOUR, batch, full_hour, slice, store, unmigrated, window};
use billing::rollup::{InService, Received, close_hour};
use billing::usage::{DeviceTotal, UsageTotal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use prost::Message;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use schema::wire::{Batch, Sharing};
use server::ingest::accept::accept;
use server::jobs::close::{Cuts, close_dirty};
use server::store::Store;
use server::store::keys::NodeKey;
use server::store::rows::Rows;

const NOW: i64 = HOUR + HOUR_MS + 60_000;

fn key() -> NodeKey {
    NodeKey { hash: String::new(), cluster: "c".into(), node: "n".into(), backfill: true }
}

fn cuts() -> Cuts {
    Cuts { zone: chrono_tz::Tz::UTC, changes_ms: vec![HOUR + HOUR_MS / 2] }
}

/// Stores batches as ingest does.
pub(crate) async fn append(store: &Store, batches: &[Batch]) {
    let mut rows = Rows::default();
    for batch in batches {
        rows.append(accept(&batch.encode_to_vec(), &key(), NOW));
    }
    assert_eq!(rows.dead_letters, [], "these rows are all fine");
    store.writer().append(&rows).await.expect("stored");
}

async fn totals(store: &Store) -> (Vec<UsageTotal>, Vec<DeviceTotal>) {
    let closed = close_dirty(&store.closer(), &cuts(), NOW, 0).await.expect("closes");
    assert_eq!(closed.broken, [0u32; 0], "every hour adds up");
    let (window, half) = (Window::hour_of(HOUR), [HOUR + HOUR_MS / 2]);
    let reader = store.reader();
    (
        reader.usage_totals(window, &half).await.expect("sums"),
        reader.device_totals(window, &half).await.expect("sums"),
    )
}

#[tokio::test]
async fn migrations_apply_twice() {
    let store = unmigrated("migrated_twice").await;
    assert_eq!(store.migrate(1).await.expect("migrates"), schema::sql::MIGRATIONS.len());
    assert_eq!(store.migrate(2).await.expect("migrates again"), 0);
}

#[tokio::test]
async fn a_batch_counts_once_however_it_is_delivered() {
    let once = store().await;
    append(&once, &full_hour(7)).await;
    let want = totals(&once).await;
    assert_eq!(want.1.iter().map(|d| d.held).sum::<NanoGpuHours>(), NanoGpuHours(1_000_000_000));

    let again = store().await;
    let mut shuffled = full_hour(7);
    shuffled.reverse();
    append(&again, &shuffled[..40]).await;
    let _provisional = totals(&again).await;
    append(&again, &shuffled).await;
    append(&again, &full_hour(7)[10..20]).await;
    assert_eq!(totals(&again).await, want);
    // Nothing is dirty any more, and closing again would change nothing.
    assert_eq!(totals(&again).await, want);
}

#[tokio::test]
async fn of_two_contents_under_one_identity_one_counts() {
    let (store, clean) = (store().await, store().await);
    let mut other = full_hour(7);
    other[3].usage[0].busy_ms = Some(59_999);
    let (a, b) = (full_hour(7)[3].encode_to_vec(), other[3].encode_to_vec());
    append(&store, &full_hour(7)).await;
    append(&store, &other).await;
    append(&clean, if hash(&a) < hash(&b) { &other[..0] } else { &other }).await;
    append(&clean, if hash(&a) < hash(&b) { full_hour(7) } else { vec![] }.as_slice()).await;
    assert_eq!(totals(&store).await, totals(&clean).await);
}

#[tokio::test]
async fn a_device_reported_twice_is_counted_once_and_marked() {
    let store = store().await;
    append(&store, &full_hour(7)).await;
    append(&store, &full_hour(3)[..59]).await;
    let (usage, devices) = totals(&store).await;
    assert_eq!(usage.iter().map(|u| u.held).sum::<NanoGpuHours>(), NanoGpuHours(1_000_000_000));
    assert!(devices.iter().all(|d| d.contested && d.adds_up()));
}

#[tokio::test]
async fn what_only_a_scheduler_saw_is_a_line_of_its_own_and_unobserved() {
    let store = store().await;
    let mut batches = full_hour(7);
    for (minute, batch) in batches.iter_mut().enumerate() {
        let slice = &mut batch.usage[0];
        slice.allocated_ms = Some(60_000);
        match minute / 20 {
            // Used; then given and left alone; then nobody was there to see.
            0 => {}
            1 => (slice.resident_ms, slice.busy_ms) = (Some(0), Some(0)),
            _ => (slice.resident_ms, slice.busy_ms) = (None, None),
        }
    }
    append(&store, &batches).await;
    let (usage, devices) = totals(&store).await;
    let prices = billing::price::PriceBook::empty();
    let tenants = billing::tenant::Tenants::empty();
    let owners = store.reader().owners(Window::hour_of(HOUR)).await.expect("owners");
    let usd = billing::money::Currency::parse("USD").expect("a currency");
    let rated = billing::rating::rate(
        &usage,
        &devices,
        &owners,
        billing::rating::Rules { tenants: &tenants, prices: &prices },
        &usd,
    )
    .expect("rates");
    let [tenant] = &rated.tenants.values().collect::<Vec<_>>()[..] else { panic!("one tenant") };
    let lines: Vec<_> = tenant
        .lines
        .iter()
        .map(|l| (l.sums.natural_ms / 60_000, l.observed_percent(), billing::words::line_quality(&l.key)))
        .collect();
    let quality = |text: &str| text.to_string();
    assert_eq!(lines, [(40, 100, quality("measured")), (20, 0, quality("measured (scheduler record)"))]);
}

#[tokio::test]
async fn a_silent_device_keeps_counting_as_unobserved() {
    let store = store().await;
    append(&store, &full_hour(7)[..30]).await;
    let later = HOUR + 5 * HOUR_MS;
    close_dirty(&store.closer(), &cuts(), later, 0).await.expect("closes");
    let day = Window::new(HOUR, HOUR + 5 * HOUR_MS);
    let devices = store.reader().device_totals(day, &[]).await.expect("sums");
    assert_eq!(devices.iter().map(|d| d.capacity).sum::<NanoGpuHours>(), NanoGpuHours(5_000_000_000));
    assert_eq!(devices.iter().map(|d| d.unobserved).sum::<NanoGpuHours>(), NanoGpuHours(4_500_000_000));
}

/// Owner, kind of holding, and busy milliseconds of each slice of a minute.
type Held = Vec<(Option<u32>, u8, Option<u64>)>;
/// Slices, observed ms, unknown ms on a free device, energy in mJ.
type Minute = (Held, u64, u64, u64);

/// One minute of the hour: who held what, how busy, and how much of it was seen.
fn minute() -> impl Strategy<Value = Minute> {
    (
        prop::collection::vec(
            (prop::option::weighted(0.9, 0..6u32), 0..4u8, prop::option::weighted(0.8, 0..20_000u64)),
            0..4,
        ),
        prop_oneof![Just(60_000u64), 0..60_000u64],
        0..2_000u64,
        0..4_000u64,
    )
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let minutes: Vec<_> = (0..60).map(|_| minute()).collect();
    (minutes, 3_000..59_000i64, 0..50usize).prop_map(|(minutes, skew, late)| {
        let build = |(m, (held, seen, free_unknown, energy)): (usize, Minute)| {
            // The first window starts somewhere: a device is in service from its first sight.
            let at = m as i64 * 60_000 + if m == late { skew } else { 0 };
            let len = (m as i64 + 1) * 60_000 - at;
            let n = held.len().max(1) as u32;
            let seen = seen.min(len as u64);
            let mut out = batch(if m % 7 == 0 { 9 } else { 5 }, m as u64);
            for (owner, mode, busy) in held {
                let mut s = slice(owner, at, len, (1, n), busy.map(|b| b.min(len as u64)));
                if mode == 1 {
                    s.sharing = Sharing::Mig as i32;
                    (s.gpu_instance, s.compute_instance, s.profile) = (Some(1), Some(0), Some(0));
                    (s.share_num, s.share_den, s.weight_num, s.weight_den) = (1, 7, 1, 7);
                }
                if mode == 2 {
                    s.allocated_ms = Some(len as u64 / 2);
                    s.energy_mj = Some(energy);
                    s.memory_byte_ms = Some(energy << 20);
                }
                if mode == 3 {
                    // Held on a scheduler's record alone.
                    (s.allocated_ms, s.resident_ms, s.busy_ms) = (Some(len as u64), None, None);
                }
                out.usage.push(s);
            }
            let mut w = window(at, len, seen);
            (w.stranded_num, w.stranded_den) = if m % 5 == 0 { (1, 7) } else { (0, 1) };
            w.free_unknown_ms = free_unknown.min(seen);
            w.unavailable_ms = if m % 11 == 0 { len as u64 - seen } else { 0 };
            w.energy_mj = (m % 3 == 0).then_some(energy * 5);
            w.memory_byte_ms = (m % 4 == 0).then_some(energy << 22);
            out.device_windows.push(w);
            out
        };
        minutes.into_iter().enumerate().skip(late).map(build).collect()
    })
}

fn hash(encoded: &[u8]) -> u64 {
    use sha2::Digest;
    u64::from_be_bytes(sha2::Sha256::digest(encoded)[..8].try_into().expect("8 bytes"))
}

#[tokio::test]
async fn sql_and_oracle_give_the_same_digits() {
    let mut runner = TestRunner::deterministic();
    for case in 0..12 {
        let batches = batches().new_tree(&mut runner).expect("a case").current();
        let store = store().await;
        append(&store, &batches).await;
        let (usage, devices) = totals(&store).await;

        let first = batches.iter().flat_map(|b| &b.device_windows).map(|w| w.start_ms).min().expect("some");
        let inventory = InService {
            cluster: "c".into(),
            node: "n".into(),
            device: "GPU-1".into(),
            model: "NVIDIA H100".into(),
            window: Window::new(first, i64::MAX),
        };
        let received: Vec<Received> =
            batches.into_iter().map(|batch| Received { hash: hash(&batch.encode_to_vec()), batch }).collect();
        let want = close_hour(Window::hour_of(HOUR), &received, &[inventory], &[HOUR + HOUR_MS / 2]);
        let want_devices: Vec<DeviceTotal> = want.devices.iter().map(|d| d.total.clone()).collect();
        assert_eq!(devices, want_devices, "case {case}");
        // The oracle's rows are finer by MIG instance, which the sums of a period don't tell apart.
        let sums = |rows: &mut dyn Iterator<Item = (i64, u128, [i64; 6], u128)>| {
            let mut by = std::collections::BTreeMap::<(i64, u128), ([i64; 6], u128)>::new();
            for (start, workload, values, memory) in rows {
                let sum = by.entry((start, workload)).or_default();
                for (sum, value) in sum.0.iter_mut().zip(values) {
                    *sum += value;
                }
                sum.1 += memory;
            }
            by
        };
        let got = sums(&mut usage.iter().map(|u| {
            (
                u.segment.start_ms,
                u.workload.0,
                [u.natural_ms, u.observed_ms, u.held.0, u.busy.0, u.unknown.0, u.energy_mj],
                u.memory_byte_ms,
            )
        }));
        let wanted = sums(&mut want.usage.iter().map(|u| {
            let observed_ms = if u.key.unwatched { 0 } else { u.natural_ms };
            (
                u.segment.start_ms,
                u.key.workload.0,
                [u.natural_ms, observed_ms, u.held.0, u.busy.0, u.unknown.0, u.energy_mj],
                u.memory_byte_ms,
            )
        }));
        assert_eq!(got, wanted, "case {case}");
    }
}
