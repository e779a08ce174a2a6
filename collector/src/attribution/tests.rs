//! The law over random devices, owners and figures: what is handed out is what was measured.

use super::*;
use crate::reading::Identity;
use crate::slice::{Carry, RowSum, Slice, State, close};
use proptest::prelude::*;
use schema::owner::{Owner, OwnerKind};
use schema::wire::{BusyKind, Reason};
use std::collections::BTreeMap;

fn owner(number: u8) -> Arc<OwnerRecord> {
    let attributes = BTreeMap::from([("uid".to_owned(), number.to_string())]);
    OwnerRecord::new(Owner { kind: OwnerKind::User, attributes, evidence: String::new() })
}

fn holder(number: u8, place: Place) -> Holder {
    Holder { owner: owner(number), place, mps: None, vgpu_slots: None }
}

fn plain() -> Shape {
    Shape { slices: 1, instances: None, measures_instances: true }
}

/// GPU instances of these slices, each with compute instances of these.
fn mig(instances: &[(u32, &[u32])]) -> Shape {
    let mut all = Vec::new();
    for (gi, (gi_slices, compute)) in (0u32..).zip(instances) {
        for (ci, slices) in (0u32..).zip(*compute) {
            let instance = MigInstance {
                gpu_instance: gi,
                compute_instance: ci,
                slices: *slices,
                ..MigInstance::default()
            };
            all.push((instance, *gi_slices));
        }
    }
    Shape { slices: 7, instances: Some(all), measures_instances: true }
}

fn identity() -> Arc<Identity> {
    Arc::new(Identity {
        uuid: "GPU-1".into(),
        model: "m".into(),
        index: 0,
        minor: None,
        pci_bus_id: String::new(),
        driver_version: String::new(),
        memory_total_bytes: None,
        mig_slices: Some(7),
        gpm: true,
    })
}

fn slice(
    shape: &Shape,
    holders: &[Holder],
    weights: &[u64],
    input: &BusyInput,
    start_ms: i64,
    len_ms: u64,
) -> Slice {
    let (rows, oversubscribed) = divide(shape, holders);
    let weights: Vec<u64> = (0..rows.len()).map(|at| weights[at % weights.len()]).collect();
    let busy = attribute_busy(shape, &rows, &weights, input, len_ms);
    Slice {
        start_ms,
        end_ms: start_ms + i64::try_from(len_ms).expect("short"),
        state: State::Observed,
        shape: Arc::new(shape.clone()),
        rows: rows
            .into_iter()
            .zip(busy.rows)
            .map(|(row, b)| RowSum {
                row,
                busy_ns: b.busy_ns,
                estimated: b.estimated,
                memory_byte_ms: Some(1),
            })
            .collect(),
        ghosts: busy.ghosts,
        free_unknown_slices: busy.free_unknown_slices,
        device_busy_ns: match input {
            BusyInput::Device(total) => total.ok(),
            BusyInput::Instances(_) => None,
        },
        busy_kind: BusyKind::KernelResident,
        by_dcgm: false,
        energy_mj: Some(len_ms * 300),
        energy_reset: false,
        memory_byte_ms: Some(u128::from(len_ms)),
        oversubscribed,
    }
}

/// Both ledgers of a closed slice, multiplied out to one denominator.
fn check_law(closed: &crate::slice::Closed) -> Result<(), TestCaseError> {
    let window = &closed.window;
    let den: u128 = closed.usage.iter().fold(u128::from(window.stranded_den), |den, (row, _, _)| {
        let lcm = |a: u128, b: u128| {
            let (mut x, mut y) = (a, b);
            while y != 0 {
                (x, y) = (y, x % y);
            }
            a / x * b
        };
        lcm(lcm(den, u128::from(row.share_den)), u128::from(row.weight_den))
    });
    let part = |ms: u64, num: u32, of: u32| u128::from(ms) * u128::from(num) * (den / u128::from(of));
    let observed = u128::from(window.observed_ms) * den;
    let mut held = part(window.observed_ms, window.stranded_num, window.stranded_den);
    let mut busy = u128::from(window.free_unknown_ms) * den;
    let (mut busy_ms, mut energy, mut memory) = (0, 0, 0);
    for (row, _, _) in &closed.usage {
        held += part(row.resident_ms.expect("known"), row.share_num, row.share_den);
        let ms = row.busy_ms.unwrap_or(row.resident_ms.expect("known"));
        busy += part(ms, row.weight_num, row.weight_den);
        busy_ms += row.busy_ms.unwrap_or(0);
        energy += row.energy_mj.unwrap_or(0);
        memory += row.memory_byte_ms.unwrap_or(0);
        prop_assert!(ms <= window.observed_ms);
    }
    prop_assert!(held <= observed, "held {held} of {observed}");
    prop_assert!(busy <= observed, "busy {busy} of {observed}");
    prop_assert!(energy <= window.energy_mj.expect("known"));
    prop_assert!(memory <= window.memory_byte_ms.expect("known"));
    if let Some(device) = window.busy_ms {
        prop_assert_eq!(busy_ms, device, "parts of the device's busy time");
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_plain_device_is_handed_out_exactly_and_nothing_drifts(
        stretches in prop::collection::vec((1u64..70_000, 0u64..=1_000_000, prop::collection::vec(0u8..5, 0..5), any::<bool>()), 1..40),
        limits in prop::option::of(prop::collection::vec(prop::option::weighted(0.8, 1u32..=100), 5)),
        slots in prop::option::of(prop::collection::vec(1u32..=32, 5)),
        weights in prop::collection::vec(0u64..1 << 40, 1..5),
    ) {
        let mut carry = Carry::default();
        let (mut start_ms, mut measured_ns, mut handed_ms) = (0, 0u64, 0u64);
        for (len_ms, ppm, owners, known) in stretches {
            let holders: Vec<Holder> = owners.iter().map(|n| Holder {
                mps: limits.as_ref().map(|all| MpsClient { threads_percent: all[usize::from(*n)] }),
                vgpu_slots: slots.as_ref().map(|all| Some(all[usize::from(*n)])),
                ..holder(*n, Place::DEVICE)
            }).collect();
            let total = if known { Ok(ppm * len_ms) } else { Err(Reason::NvmlError) };
            let slice = slice(&plain(), &holders, &weights, &BusyInput::Device(total), start_ms, len_ms);
            let closed = close(&slice, &identity(), Some(60), &mut carry);
            check_law(&closed)?;
            start_ms = slice.end_ms;
            measured_ns += total.unwrap_or(0);
            handed_ms += closed.window.busy_ms.unwrap_or(0);
        }
        prop_assert_eq!(handed_ms, measured_ns / 1_000_000, "less than a millisecond is ever carried");
    }

    #[test]
    fn a_mig_device_keeps_the_law(
        len_ms in 1u64..70_000,
        ppm in prop::collection::vec(0u64..=1_000_000, 3),
        known in prop::collection::vec(any::<bool>(), 3),
        holders in prop::collection::vec((0u8..5, 0usize..4), 0..8),
    ) {
        let shape = mig(&[(3, &[1, 2]), (2, &[2]), (1, &[1])]);
        let places: Vec<Place> = shape.instances.iter().flatten().map(|(i, _)| Place::instance(i.gpu_instance, i.compute_instance)).collect();
        let holders: Vec<Holder> = holders.into_iter().map(|(n, at)| holder(n, places[at])).collect();
        let input = BusyInput::Instances((0u32..3).map(|gi| InstanceBusy {
            gpu_instance: gi,
            busy_ns: if known[gi as usize] { Ok(ppm[gi as usize] * len_ms) } else { Err(Reason::MigPreHopper) },
            own_ns: Vec::new(),
        }).collect());
        let slice = slice(&shape, &holders, &[0, 5], &input, 0, len_ms);
        check_law(&close(&slice, &identity(), None, &mut Carry::default()))?;
    }
}

#[test]
fn shares_follow_how_the_device_is_divided() {
    let shape = mig(&[(3, &[3]), (2, &[2])]);
    let (rows, _) = divide(
        &shape,
        &[
            holder(1, Place::instance(0, 0)),
            holder(2, Place::instance(1, 0)),
            holder(3, Place::instance(1, 0)),
        ],
    );
    let shown: Vec<String> =
        rows.iter().map(|r| format!("{:?} {} {:?}", r.sharing, r.share, r.quality)).collect();
    let mut shown = shown;
    shown.sort();
    assert_eq!(shown, ["Mig 3/7 Measured", "MigShared 1/7 Estimated", "MigShared 1/7 Estimated"]);
    assert_eq!(shape.stranded(), Share::new(2, 7));
    let (rows, _) =
        divide(&plain(), &[holder(1, Place::DEVICE), holder(1, Place::DEVICE), holder(2, Place::DEVICE)]);
    assert!(rows.iter().all(|r| r.share == Share::new(1, 2) && r.sharing == Sharing::TimeSliced));
}

/// Share and quality of each owner in the order given, and whether they were scaled to the device.
fn shares(holders: &[Holder]) -> (Vec<String>, bool) {
    let (rows, over) = divide(&plain(), holders);
    let of = |holder: &Holder| rows.iter().find(|row| row.owner.workload == holder.owner.workload);
    let shown = |row: &Row| format!("{:?} {} {:?}", row.sharing, row.share, row.quality);
    (holders.iter().map(|h| shown(of(h).expect("every owner has a row"))).collect(), over)
}

#[test]
fn mps_clients_hold_the_threads_they_may_use_and_equal_parts_where_nobody_limits_them() {
    let client = |number, threads_percent| Holder {
        mps: Some(MpsClient { threads_percent }),
        ..holder(number, Place::DEVICE)
    };
    let shown = |clients: &[Holder]| {
        let (shares, over) = shares(clients);
        (shares.join(", "), over)
    };
    assert_eq!(
        shown(&[client(1, Some(30)), client(2, Some(50))]),
        ("Mps 3/10 Allocated, Mps 1/2 Allocated".into(), false)
    );
    assert_eq!(
        shown(&[client(1, Some(100)), client(2, Some(50))]),
        ("Mps 2/3 Allocated, Mps 1/3 Allocated".into(), true),
        "more than the device is scaled to it, and said so"
    );
    for unlimited in [Some(100), None] {
        assert_eq!(
            shown(&[client(1, unlimited), client(2, unlimited)]),
            ("Mps 1/2 Estimated, Mps 1/2 Estimated".into(), false)
        );
    }
    assert_eq!(
        shown(&[client(1, Some(20)), client(2, None)]),
        ("Mps 1/2 Estimated, Mps 1/2 Estimated".into(), false),
        "a limit that isn't known leaves equal parts"
    );
}

#[test]
fn a_machine_holds_the_slots_of_all_its_vgpus() {
    let vgpu = |number, slots| Holder { vgpu_slots: Some(Some(slots)), ..holder(number, Place::DEVICE) };
    let (shown, over) = shares(&[vgpu(1, 4), vgpu(1, 4), vgpu(2, 4)]);
    assert_eq!(shown, ["Vgpu 1/2 Measured", "Vgpu 1/2 Measured", "Vgpu 1/4 Measured"]);
    assert!(!over);
}

#[test]
fn where_samples_say_nothing_busy_time_follows_the_shares_held() {
    let client = |number, percent| Holder {
        mps: Some(MpsClient { threads_percent: Some(percent) }),
        ..holder(number, Place::DEVICE)
    };
    let (rows, _) = divide(&plain(), &[client(1, 25), client(2, 75)]);
    let busy = attribute_busy(&plain(), &rows, &[0, 0], &BusyInput::Device(Ok(1_000)), 1);
    for (row, busy) in rows.iter().zip(&busy.rows) {
        let want = 1_000 * u64::from(row.share.num) / u64::from(row.share.den);
        assert_eq!((busy.busy_ns, busy.estimated), (Ok(want), true));
    }
}

#[test]
fn busy_with_nobody_there_is_a_ghost_and_unknown_is_not_zero() {
    let ghost = attribute_busy(&plain(), &[], &[], &BusyInput::Device(Ok(5)), 1);
    assert_eq!(ghost.ghosts, [(Place::DEVICE, 5, 1)]);
    let unknown = attribute_busy(&plain(), &[], &[], &BusyInput::Device(Err(Reason::NvmlError)), 1);
    assert_eq!((unknown.ghosts.len(), unknown.free_unknown_slices), (0, 1));
}

#[test]
fn energy_under_no_load_is_the_holders_only_where_he_holds_alone() {
    let half = Share::new(1, 2);
    let shared = EnergyInput {
        total_mj: 1000,
        idle_mj: 400,
        held: &[(half, false), (half, false)],
        busy: Some(&[3, 1]),
        ghost: 0,
    };
    assert_eq!(attribute_energy(&shared), [450, 150]);
    let whole =
        EnergyInput { total_mj: 1000, idle_mj: 400, held: &[(Share::WHOLE, true)], busy: None, ghost: 0 };
    assert_eq!(attribute_energy(&whole), [1000]);
    let instance = EnergyInput {
        total_mj: 700,
        idle_mj: 700,
        held: &[(Share::new(3, 7), true)],
        busy: Some(&[0]),
        ghost: 0,
    };
    assert_eq!(attribute_energy(&instance), [300]);
}
