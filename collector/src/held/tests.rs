//! Stories of a minute of one device, told as rows `start..end owner place share allocated/resident/busy`, in seconds.

use super::*;
use crate::allocation::{Allocation, DeviceName, OutOfUse, Target, WhyOutOfUse};
use crate::owner::OwnerRecord;
use crate::reading::Identity;
use proptest::prelude::*;
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;
use schema::wire::{BusyKind, DeviceWindow, MigInstance, Quality, Reason, Sharing, UsageSlice};

fn device() -> Arc<Identity> {
    Arc::new(Identity {
        uuid: "GPU-a".into(),
        model: "NVIDIA H100".into(),
        index: 6,
        minor: Some(0),
        pci_bus_id: "00000000:0A:00.0".into(),
        driver_version: "550".into(),
        memory_total_bytes: None,
        mig_slices: Some(7),
        gpm: true,
    })
}

fn owner(kind: OwnerKind, attributes: &[(&str, &str)]) -> Owner {
    let attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Owner { kind, attributes, evidence: String::new() }
}

/// A job as Slurm knows it.
fn job(id: &str) -> Owner {
    owner(OwnerKind::Slurm, &[("slurm_job", id), ("slurm_account", "vision")])
}

/// A job as a process's cgroup knows it.
fn process_of(id: &str) -> Owner {
    owner(OwnerKind::Slurm, &[("slurm_job", id), ("uid", "1000")])
}

/// A pod, to Kubernetes and to its processes' cgroups alike.
fn pod(name: &str) -> Owner {
    owner(OwnerKind::Kubernetes, &[("pod_uid", name), ("user", name)])
}

fn user(name: &str) -> Owner {
    owner(OwnerKind::User, &[("user", name)])
}

/// A minute that was observed, with these busy milliseconds by owner, all sharing equally.
pub(crate) fn minute(rows: &[(Owner, u64)]) -> Closed {
    let count = u32::try_from(rows.len().max(1)).expect("few");
    let usage = rows.iter().map(|(owner, busy_ms)| {
        let row = UsageSlice {
            start_ms: 0,
            end_ms: 60_000,
            share_num: 1,
            share_den: count,
            resident_ms: Some(60_000),
            busy_ms: Some(*busy_ms),
            busy_kind: BusyKind::KernelResident as i32,
            weight_num: 1,
            weight_den: 1,
            energy_mj: Some(1_000),
            held_quality: Quality::Measured as i32,
            busy_quality: Quality::Measured as i32,
            ..UsageSlice::default()
        };
        (row, Some(OwnerRecord::new(owner.clone())), None)
    });
    let window = DeviceWindow {
        end_ms: 60_000,
        observed_ms: 60_000,
        stranded_den: 1,
        busy_ms: Some(rows.iter().map(|(_, ms)| ms).sum()),
        busy_kind: BusyKind::KernelResident as i32,
        energy_mj: Some(6_000),
        ..DeviceWindow::default()
    };
    Closed { device: device(), window, usage: usage.collect(), gap: None, host_memory: Vec::new() }
}

/// A minute that nobody observed.
fn gap() -> Closed {
    let mut gap = minute(&[]);
    (gap.window.observed_ms, gap.window.busy_ms, gap.window.energy_mj) = (0, None, None);
    gap.window.reason = Reason::NvmlError as i32;
    gap.gap = Some(Reason::NvmlError);
    gap
}

fn given(
    target: impl Into<Target>,
    id: &str,
    share: (u32, u32),
    from_s: i64,
    to_s: Option<i64>,
) -> Allocation {
    Allocation {
        target: target.into(),
        owner: Arc::new(job(id)),
        share: Share::new(share.0, share.1),
        from_ms: from_s * 1000,
        to_ms: to_s.map(|s| s * 1000),
    }
}

fn word(known_until_s: i64, held: Vec<Allocation>) -> Arc<Allocations> {
    let owners = held
        .iter()
        .map(|held| ((OwnerKind::Slurm, held.owner.attributes["slurm_job"].clone()), held.owner.clone()))
        .collect();
    let known_until_ms = known_until_s * 1000;
    Arc::new(Allocations { source: "slurm", known_until_ms, held, owners, out_of_use: None })
}

fn tell(pieces: &[Closed]) -> Vec<String> {
    let seconds = |ms: Option<u64>| ms.map_or("?".to_owned(), |ms| (ms / 1000).to_string());
    let row = |(row, owner, _): &(UsageSlice, Option<Arc<OwnerRecord>>, Option<String>)| {
        let owner = &owner.as_ref().expect("an owner").owner;
        let name = owner.attributes.get("slurm_job").or(owner.attributes.get("user")).expect("a name");
        let account = owner.attributes.get("slurm_account").map(|a| format!("@{a}")).unwrap_or_default();
        let place = row.gpu_instance.map(|gi| format!(" gi{gi}")).unwrap_or_default();
        let share = Share { num: row.share_num, den: row.share_den };
        let (start, end) = (row.start_ms / 1000, row.end_ms / 1000);
        let (allocated, resident, busy) =
            (seconds(row.allocated_ms), seconds(row.resident_ms), seconds(row.busy_ms));
        format!("{start}..{end} {name}{account}{place} x{share} {allocated}/{resident}/{busy}")
    };
    pieces.iter().flat_map(|piece| piece.usage.iter().map(row)).collect()
}

fn minor(minor: u32) -> Target {
    DeviceName::Minor(minor).into()
}

#[test]
fn a_job_without_a_process_holds_its_device_to_the_second() {
    let pieces = apply(minute(&[]), &[word(99, vec![given(minor(0), "7", (1, 1), 20, Some(50))])]);
    assert_eq!(tell(&pieces), ["20..50 7@vision x1 30/0/0"]);
    let spans: Vec<(i64, i64)> = pieces.iter().map(|p| (p.window.start_ms, p.window.end_ms)).collect();
    assert_eq!(spans, [(0, 20_000), (20_000, 50_000), (50_000, 60_000)]);
    assert_eq!(
        pieces[1].usage[0].0.energy_mj,
        Some(3_000),
        "the draw of an idle device is its only holder's"
    );
    let elsewhere = apply(minute(&[]), &[word(99, vec![given(minor(1), "7", (1, 1), 20, None)])]);
    assert_eq!((tell(&elsewhere), elsewhere.len()), (vec![], 1), "another device's jobs don't matter");
}

#[test]
fn given_to_one_and_used_by_another_shows_on_both_and_one_holds() {
    let slice = minute(&[(user("eve"), 40_000)]);
    let pieces = apply(slice, &[word(99, vec![given(minor(0), "7", (1, 1), 0, None)])]);
    assert_eq!(tell(&pieces), ["0..60 eve x1 0/60/40", "0..60 7@vision x1 60/0/0"]);
}

#[test]
fn use_of_a_device_that_nobody_was_given_is_held_by_its_processes() {
    let slice = minute(&[(user("eve"), 40_000)]);
    assert_eq!(tell(&apply(slice, &[word(99, vec![])])), ["0..60 eve x1 ?/60/40"]);
}

#[test]
fn a_process_of_a_job_gets_the_account_and_the_jobs_share() {
    let slice = minute(&[(process_of("7"), 30_000), (user("eve"), 10_000)]);
    let pieces = apply(slice, &[word(99, vec![given(minor(0), "7", (1, 1), -50, None)])]);
    assert_eq!(tell(&pieces), ["0..60 7@vision x1 60/60/30", "0..60 eve x1/2 0/60/10"]);
}

#[test]
fn a_pod_that_has_ended_holds_nothing_beyond_its_end_though_its_process_was_listed() {
    let hold = |to_s| Allocation { owner: Arc::new(pod("p")), ..given(minor(0), "7", (1, 1), 0, to_s) };
    let word = |held| {
        let known_until_ms = 99_000;
        vec![Arc::new(Allocations { source: "kubelet", known_until_ms, held, ..Allocations::default() })]
    };
    let there = || minute(&[(pod("p"), 30_000)]);
    let pieces = apply(there(), &word(vec![hold(Some(55))]));
    assert_eq!(tell(&pieces), ["0..55 p x1 55/55/27", "55..60 p x1 0/5/2"]);
    let before = Allocation { from_ms: -60_000, ..hold(Some(0)) };
    assert_eq!(tell(&apply(there(), &word(vec![before.clone()]))), ["0..60 p x1 0/60/30"]);
    let elsewhere = Allocation { target: minor(1), ..hold(None) };
    assert_eq!(
        tell(&apply(there(), &word(vec![before, elsewhere]))),
        ["0..60 p x1 ?/60/30"],
        "it lives, and uses what it gave back"
    );
}

#[test]
fn a_job_that_slurm_does_not_know_stays_what_its_cgroup_says() {
    let slice = minute(&[(process_of("s8FXKTA79XAR00"), 30_000)]);
    assert_eq!(tell(&apply(slice, &[word(99, vec![])])), ["0..60 s8FXKTA79XAR00 x1 ?/60/30"]);
}

#[test]
fn shards_hold_their_parts_and_more_than_the_device_is_scaled_to_it() {
    let shard = |id, num| given(minor(0), id, (num, 4), 0, None);
    let pieces = apply(minute(&[(process_of("7"), 30_000)]), &[word(99, vec![shard("7", 1), shard("8", 2)])]);
    assert_eq!(tell(&pieces), ["0..60 7@vision x1/4 60/60/30", "0..60 8@vision x1/2 60/0/0"]);
    assert!(!pieces[0].window.oversubscribed);
    let three = apply(minute(&[]), &[word(99, vec![shard("7", 4), shard("8", 4), shard("9", 4)])]);
    assert_eq!(
        tell(&three),
        ["0..60 7@vision x1/3 60/0/0", "0..60 8@vision x1/3 60/0/0", "0..60 9@vision x1/3 60/0/0"]
    );
    assert!(three[0].window.oversubscribed);
}

fn under_mig(mut slice: Closed) -> Closed {
    let instance = |gi: u32, slices: u32, uuid: &str| MigInstance {
        gpu_instance: gi,
        compute_instance: 0,
        uuid: uuid.into(),
        profile: format!("{slices}g.{slices}0gb"),
        slices,
    };
    slice.window.mig = true;
    slice.window.busy_ms = None;
    slice.window.instances = vec![instance(1, 4, "MIG-b"), instance(2, 3, "MIG-c")];
    slice
}

#[test]
fn an_instance_is_found_by_uuid_or_id_and_a_whole_device_is_all_its_instances() {
    let by = |target: Target| {
        tell(&apply(under_mig(minute(&[])), &[word(99, vec![given(target, "7", (1, 1), 0, None)])]))
    };
    let by_uuid: Target = DeviceName::MigUuid("MIG-c".into()).into();
    assert_eq!(by(by_uuid), ["0..60 7@vision gi2 x3/7 60/0/0"]);
    let by_id = Target { device: DeviceName::Index(6), gpu_instance: Some(1), compute_instance: None };
    assert_eq!(by(by_id), ["0..60 7@vision gi1 x4/7 60/0/0"]);
    assert_eq!(by(minor(0)), ["0..60 7@vision gi1 x4/7 60/0/0", "0..60 7@vision gi2 x3/7 60/0/0"]);
    assert_eq!(by(DeviceName::MigUuid("MIG-gone".into()).into()), [""; 0]);
}

#[test]
fn a_gap_is_held_by_the_schedulers_record_only_as_far_as_it_reaches() {
    let pieces = apply(gap(), &[word(40, vec![given(minor(0), "7", (1, 1), 10, None)])]);
    assert_eq!(tell(&pieces), ["10..40 7@vision x1 30/?/?"]);
    let observed: Vec<u64> = pieces.iter().map(|piece| piece.window.observed_ms).collect();
    assert_eq!(observed, [0, 30_000, 0], "what is held is accounted for, the rest stays unobserved");
    let row = pieces[1].usage[0].0;
    assert_eq!((row.held_quality, row.unknown_reason), (Quality::Allocated as i32, Reason::NvmlError as i32));
    let half = apply(gap(), &[word(99, vec![given(minor(0), "7", (1, 2), 0, None)])]);
    assert_eq!(half[0].window.observed_ms, 30_000, "half of the device is held, half isn't known");
}

#[test]
fn a_drained_node_is_out_of_use_but_for_its_last_job() {
    let drained = |held| {
        let out = OutOfUse { why: WhyOutOfUse::Maintenance, since_ms: Some(10_000), reason: "fan".into() };
        Arc::new(Allocations { out_of_use: Some(out), ..(*word(99, held)).clone() })
    };
    let told = |pieces: Vec<Closed>| -> Vec<(u64, u64, i32)> {
        let of = |p: &Closed| (p.window.observed_ms, p.window.unavailable_ms, p.window.reason);
        pieces.iter().map(of).collect()
    };
    let reason = Reason::Maintenance as i32;
    let idle = apply(minute(&[]), &[drained(vec![])]);
    assert_eq!(told(idle), [(10_000, 0, 0), (0, 50_000, reason)]);
    let last_job = apply(minute(&[]), &[drained(vec![given(minor(0), "7", (1, 1), 0, Some(40))])]);
    assert_eq!(told(last_job), [(10_000, 0, 0), (30_000, 0, 0), (0, 20_000, reason)]);
    let used = apply(minute(&[(user("eve"), 40_000)]), &[drained(vec![])]);
    assert_eq!(told(used), [(10_000, 0, 0), (50_000, 0, 0)], "who is there anyway holds it");
}

#[test]
fn slices_wait_for_the_word_and_go_without_it_when_it_does_not_come() {
    let board = Board::default();
    let mut held = Held::new(vec![board.clone()], 30_000);
    assert_eq!(tell(&held.pass(vec![minute(&[(process_of("7"), 1_000)])], 61_000)), [""; 0]);
    board.publish((*word(59, vec![])).clone());
    assert_eq!(tell(&held.pass(vec![], 62_000)), [""; 0]);
    board.publish((*word(60, vec![given(minor(0), "7", (1, 1), 0, None)])).clone());
    assert_eq!(tell(&held.pass(vec![], 63_000)), ["0..60 7@vision x1 60/60/1"]);
    let mut silent = Held::new(vec![Board::default()], 30_000);
    silent.pass(vec![minute(&[(process_of("7"), 1_000)])], 61_000);
    assert_eq!(tell(&silent.pass(vec![], 90_000)), ["0..60 7 x1 ?/60/1"]);
    assert_eq!(tell(&silent.pass(vec![minute(&[(process_of("8"), 1_000)])], 61_000)), [""; 0]);
    assert_eq!(
        tell(&silent.finish(vec![])),
        ["0..60 8 x1 ?/60/1"],
        "nothing is left behind at the end of a run"
    );
}

#[test]
fn a_slot_of_an_mps_device_is_held_where_its_holders_processes_are() {
    let mps = |uuid: &str, minor: u32, rows: &[(Owner, u64)]| {
        let mut slice = minute(rows);
        slice.device = Arc::new(Identity { uuid: uuid.into(), minor: Some(minor), ..(*device()).clone() });
        slice.usage.iter_mut().for_each(|(row, ..)| row.sharing = Sharing::Mps as i32);
        slice
    };
    let told = |slices: Vec<Closed>, held: Vec<Allocation>| {
        let board = Board::default();
        board.publish((*word(99, held)).clone());
        let mut waiting = Held::new(vec![board], 30_000);
        let pieces = waiting.pass(slices, 61_000);
        let of = |uuid: &str| {
            tell(&pieces.iter().filter(|p| p.device.uuid == uuid).cloned().collect::<Vec<_>>()).join(", ")
        };
        (of("GPU-a"), of("GPU-b"), waiting.moved())
    };
    let slots = || vec![given(minor(1), "7", (1, 4), 0, None), given(minor(0), "8", (1, 4), 0, None)];
    let both = || {
        vec![
            mps("GPU-a", 0, &[(process_of("7"), 30_000), (process_of("8"), 10_000)]),
            mps("GPU-b", 1, &[(user("eve"), 5_000)]),
        ]
    };
    let want = ("0..60 7@vision x1/4 60/60/30, 0..60 8@vision x1/4 60/60/10", "0..60 eve x1 ?/60/5", 1);
    let got = told(both(), slots());
    assert_eq!((&*got.0, &*got.1, got.2), want, "no slot of GPU-b is held, and the move is counted");

    let mut time_sliced = both();
    time_sliced.iter_mut().flat_map(|s| &mut s.usage).for_each(|(row, ..)| row.sharing = 0);
    let got = told(time_sliced, slots());
    assert_eq!(got.2, 0, "only an MPS server hands clients another device than their slot's");
    assert!(got.1.contains("7@vision x1/4 60/0/0"), "given to it, used by another, both show: {}", got.1);
}

#[test]
fn how_a_device_is_shared_is_what_the_scheduler_gave_whoever_else_is_there() {
    let shared = |now: Sharing, share: (u32, u32)| {
        let mut slice = minute(&[(process_of("7"), 30_000)]);
        slice.usage[0].0.sharing = now as i32;
        let pieces = apply(slice, &[word(99, vec![given(minor(0), "7", share, 0, None)])]);
        pieces[0].usage[0].0.sharing()
    };
    assert_eq!(
        shared(Sharing::Whole, (1, 4)),
        Sharing::TimeSliced,
        "alone, and yet only one slot of four is its"
    );
    assert_eq!(
        shared(Sharing::TimeSliced, (1, 1)),
        Sharing::Whole,
        "others are there who were given nothing"
    );
    assert_eq!(shared(Sharing::Mps, (1, 4)), Sharing::Mps);
}

proptest! {
    /// Cutting and holding change neither what was measured nor the device's limits.
    #[test]
    fn nothing_measured_is_lost_and_no_more_than_the_device_is_held(
        busy in prop::collection::vec(0u64..20_000, 0..3),
        jobs in prop::collection::vec((0i64..70, 1i64..40, 1u32..5), 0..6),
        known_until_s in 0i64..80,
    ) {
        let owners = [process_of("1"), process_of("2"), user("eve")];
        let rows: Vec<(Owner, u64)> = owners.iter().cloned().zip(busy).collect();
        let before = minute(&rows);
        let held = jobs.iter().enumerate().map(|(at, (from, len, quarter))| {
            given(minor(0), &at.to_string(), ((*quarter).min(4), 4), *from, Some(from + len))
        });
        let pieces = apply(before.clone(), &[word(known_until_s, held.collect())]);
        let sum = |of: &dyn Fn(&Closed) -> u64| pieces.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(&|p| p.window.observed_ms), 60_000);
        prop_assert_eq!(sum(&|p| p.window.busy_ms.unwrap_or(0)), before.window.busy_ms.unwrap_or(0));
        let rows_busy = |p: &Closed| p.usage.iter().filter_map(|(row, ..)| row.busy_ms).sum::<u64>();
        prop_assert_eq!(sum(&rows_busy), before.window.busy_ms.unwrap_or(0));
        for piece in &pieces {
            let len_ms = (piece.window.end_ms - piece.window.start_ms) as f64;
            let held: f64 = piece.usage.iter().map(|(row, ..)| {
                row.allocated_ms.or(row.resident_ms).unwrap_or(0) as f64 * f64::from(row.share_num) / f64::from(row.share_den)
            }).sum();
            prop_assert!(held <= len_ms * 1.000_001, "{} of {}", held, len_ms);
            for (row, ..) in &piece.usage {
                prop_assert!(row.busy_ms.unwrap_or(0) <= len_ms as u64);
            }
        }
    }
}

#[test]
fn an_instance_of_unknown_use_that_is_held_is_its_holders_unknown_and_nobody_elses() {
    let mut piece = minute(&[]);
    piece.window.mig = true;
    piece.window.busy_ms = None;
    let instance = |gpu_instance: u32, slices: u32| MigInstance {
        gpu_instance,
        uuid: format!("MIG-{gpu_instance}"),
        slices,
        ..MigInstance::default()
    };
    piece.window.instances = vec![instance(1, 3), instance(2, 4)];
    piece.window.free_unknown_ms = 60_000;
    let claim = given(DeviceName::MigUuid("MIG-1".into()), "1", (1, 1), 0, None);
    let [piece] = &apply(piece, &[word(60, vec![claim])])[..] else { panic!("one piece") };
    let (row, ..) = &piece.usage[0];
    assert_eq!((row.busy_ms, row.share_num, row.share_den), (None, 3, 7));
    assert_eq!(piece.window.free_unknown_ms, 60_000 - (60_000u64 * 3).div_ceil(7));
}
