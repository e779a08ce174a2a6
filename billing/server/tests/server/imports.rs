//! Imported runs through the real engine: equal to the oracle to the last unit, whole however they are cut, counted once.

use crate::common::{HOUR, batch, full_hour, slice, store, window};
use billing::import::{Run, RunKey, held};
use billing::rollup::{InService, Received, close_hour_with_history, close_pools};
use billing::usage::{DeviceTotal, UsageTotal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use prost::Message;
use schema::owner::{Owner, OwnerKind, key};
use schema::share::Share;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use server::ingest::accept::accept;
use server::jobs::close::{Cuts, close_dirty};
use server::store::Store;
use server::store::imports::Source;
use server::store::inventory::Statement;
use server::store::keys::NodeKey;
use std::collections::BTreeMap;

const NOW: i64 = HOUR + 6 * HOUR_MS;
const SOURCE: Source = Source { format: "allocations", file: "pods.csv" };
const HALF: i64 = HOUR + HOUR_MS / 2;

fn run(job: u32, start_ms: i64, end_ms: i64, gpus: u32, share: (u32, u32), device: Option<&str>) -> Run {
    let attributes = BTreeMap::from([(key::NAMESPACE.to_string(), format!("team-{}", job % 3))]);
    Run {
        key: RunKey {
            cluster: "c".into(),
            job: job.to_string(),
            submit_ms: start_ms,
            start_ms,
            part: device.unwrap_or_default().into(),
        },
        end_ms,
        owner: Owner { kind: OwnerKind::Kubernetes, attributes, evidence: "a line".into() },
        model: "NVIDIA H100".into(),
        profile: if share == (3, 7) { "3g.40gb".into() } else { String::new() },
        gpus,
        share: Share::new(share.0, share.1),
        nodes: String::new(),
        device: device.map(str::to_owned),
    }
}

async fn import(store: &Store, runs: &[Run]) {
    let lined: Vec<(u64, Run)> = (2..).zip(runs.iter().cloned()).collect();
    store.writer().import(&lined, SOURCE, NOW).await.expect("stored");
}

async fn close(store: &Store) -> u64 {
    let cuts = Cuts { zone: chrono_tz::Tz::UTC, changes_ms: vec![HALF] };
    let closed = close_dirty(&store.closer(), &cuts, NOW, 0).await.expect("closes");
    assert_eq!(closed.broken, [0u32; 0], "every hour adds up");
    closed.hours
}

async fn totals(store: &Store, window: Window) -> (Vec<UsageTotal>, Vec<DeviceTotal>) {
    let reader = store.reader();
    (
        reader.usage_totals(window, &[HALF]).await.expect("sums"),
        reader.device_totals(window, &[HALF]).await.expect("sums"),
    )
}

/// Runs around the hour that the tests look at: pools and a named device, shares of every kind.
fn runs() -> impl Strategy<Value = Vec<Run>> {
    let one = (-HOUR_MS..HOUR_MS, 1..2 * HOUR_MS, 1..9u32, 0..4usize, 0..3u8);
    prop::collection::vec(one, 1..12).prop_map(|runs| {
        let build = |(job, (from, len, gpus, share, named)): (u32, (i64, i64, u32, usize, u8))| {
            let share = [(1, 1), (47, 100), (3, 7), (1, 3)][share];
            let (gpus, device) = if named == 0 { (1, Some("GPU-1")) } else { (gpus, None) };
            run(job, HOUR + from, HOUR + from + len, gpus, share, device)
        };
        (1..).zip(runs).map(build).collect()
    })
}

type Sums = BTreeMap<(i64, String, u128, Share), [i64; 5]>;

fn sums(rows: impl Iterator<Item = (i64, String, u128, Share, [i64; 5])>) -> Sums {
    let mut sums = Sums::new();
    for (start_ms, device, workload, share, values) in rows {
        let sum = sums.entry((start_ms, device, workload, share)).or_default();
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums
}

#[tokio::test]
async fn sql_and_oracle_give_the_same_digits_for_history() {
    let mut runner = TestRunner::deterministic();
    for case in 0..8 {
        let runs = runs().new_tree(&mut runner).expect("a case").current();
        let store = store().await;
        let expected = Statement::Expect { node: "n".into(), model: "NVIDIA H100".into() };
        store.writer().state("c", "GPU-1", &expected, HOUR - 2 * HOUR_MS, 1).await.expect("stored");
        // Some of the hour is metered live too: the ledger scales what is claimed twice, and says so.
        let live = batch(5, 0);
        let live = schema::wire::Batch {
            usage: vec![slice(Some(0), 0, 60_000, (1, 2), Some(9_000))],
            device_windows: vec![window(0, 60_000, 60_000)],
            ..live
        };
        let key = NodeKey { hash: String::new(), cluster: "c".into(), node: "n".into(), backfill: true };
        store.writer().append(&accept(&live.encode_to_vec(), &key, NOW)).await.expect("stored");
        import(&store, &runs).await;
        close(&store).await;
        let (usage, devices) = totals(&store, Window::hour_of(HOUR)).await;

        let inventory = InService {
            cluster: "c".into(),
            node: "n".into(),
            device: "GPU-1".into(),
            model: "NVIDIA H100".into(),
            window: Window::new(HOUR - 2 * HOUR_MS, i64::MAX),
        };
        let hour = Window::hour_of(HOUR);
        let received = [Received { hash: 1, batch: live }];
        let named = close_hour_with_history(hour, &received, &runs, &[inventory], &[HALF]);
        let (pooled, pools) = close_pools(hour, &runs, &[HALF]);
        let mut want: Vec<DeviceTotal> = named.devices.into_iter().map(|d| d.total).chain(pools).collect();
        want.sort_by(|a, b| (a.segment, &a.device).cmp(&(b.segment, &b.device)));
        assert_eq!(devices, want, "case {case}");
        assert!(devices.iter().all(DeviceTotal::adds_up));
        let got = sums(usage.iter().map(|u| {
            let values = [u.natural_ms, u.observed_ms, u.held.0, u.busy.0, u.unknown.0];
            (u.segment.start_ms, u.device.clone(), u.workload.0, u.share, values)
        }));
        let wanted = sums(named.usage.iter().chain(&pooled).map(|u| {
            let observed_ms = if u.key.unwatched { 0 } else { u.natural_ms };
            let values = [u.natural_ms, observed_ms, u.held.0, u.busy.0, u.unknown.0];
            (u.segment.start_ms, u.device.clone(), u.key.workload.0, u.key.share, values)
        }));
        assert_eq!(got, wanted, "case {case}");
    }
}

#[tokio::test]
async fn a_run_is_whole_however_it_is_cut_and_counts_once_however_often_it_is_written() {
    let store = store().await;
    // From one odd millisecond to another, over five hours and a cut.
    let runs = [
        run(1, HOUR + 1, HOUR + 4 * HOUR_MS + 777, 3, (47, 100), None),
        run(2, HOUR - 12_345, HOUR + 1_234_567, 1, (1, 3), None),
    ];
    import(&store, &runs).await;
    assert_eq!(close(&store).await, 6);
    let window = Window::new(HOUR - HOUR_MS, HOUR + 5 * HOUR_MS);
    let want = totals(&store, window).await;
    assert_eq!(want.0.iter().map(|u| u.held).sum::<NanoGpuHours>(), held(&runs));
    assert!(want.0.iter().all(|u| u.observed_ms == 0 && u.unknown == u.held), "nobody was there to see");
    assert!(want.1.iter().all(|d| d.capacity == d.held && d.device == "virtual:c:NVIDIA H100"));
    // The same import again, and one that races with it and has one of the runs: the same totals.
    import(&store, &runs).await;
    import(&store, &runs[..1]).await;
    close(&store).await;
    assert_eq!(totals(&store, window).await, want);
}

#[tokio::test]
async fn of_two_contents_that_raced_one_counts_in_every_hour() {
    let (short, long) =
        (run(1, HOUR, HOUR + HOUR_MS, 1, (1, 1), None), run(1, HOUR, HOUR + 3 * HOUR_MS, 1, (1, 1), None));
    let store = store().await;
    import(&store, std::slice::from_ref(&short)).await;
    import(&store, std::slice::from_ref(&long)).await;
    close(&store).await;
    let window = Window::new(HOUR, HOUR + 4 * HOUR_MS);
    let total: NanoGpuHours = totals(&store, window).await.0.iter().map(|u| u.held).sum();
    let counts = if short.content_hash() < long.content_hash() { short } else { long };
    assert_eq!(total, counts.held());
}

#[tokio::test]
async fn history_of_a_device_turns_unobserved_time_into_held_time_inside_its_capacity() {
    let store = store().await;
    let expected = Statement::Expect { node: "n".into(), model: "NVIDIA H100".into() };
    store.writer().state("c", "GPU-1", &expected, HOUR - HOUR_MS, 1).await.expect("stored");
    let key = NodeKey { hash: String::new(), cluster: "c".into(), node: "n".into(), backfill: true };
    for batch in full_hour(7) {
        store.writer().append(&accept(&batch.encode_to_vec(), &key, NOW)).await.expect("stored");
    }
    import(&store, &[run(1, HOUR - HOUR_MS / 2, HOUR, 1, (1, 4), Some("GPU-1"))]).await;
    close(&store).await;
    let before = totals(&store, Window::new(HOUR - HOUR_MS, HOUR)).await.1.remove(0);
    assert_eq!((before.capacity.0, before.held.0), (1_000_000_000, 125_000_000));
    assert_eq!((before.unobserved.0, before.free.0, before.oversubscribed), (875_000_000, 0, false));
    let metered = totals(&store, Window::hour_of(HOUR)).await.1;
    assert_eq!(metered.iter().map(|d| d.held).sum::<NanoGpuHours>(), NanoGpuHours(1_000_000_000));
}
