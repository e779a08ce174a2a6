//! Both pages against golden files, from a fixed reading. `UPDATE_GOLDEN=1` writes them anew; read the difference.

use super::*;
use crate::config::{BusySource, Sample};
use crate::owner::{OwnerLookup, OwnerRecord, ProcessOwner};
use crate::reading::{
    BusySample, DeviceReading, Gauges, Gpm, Identity, Instance, LinkBytes, Memory, NodeReading, Plan,
    Process, Source,
};
use crate::sampler::Sampler;
use schema::owner::{Owner, key};
use schema::wire::Reason;
use std::sync::Arc;

struct Fixed;

fn memory(total: u64, used: u64) -> Memory {
    Memory {
        total_bytes: total << 20,
        reserved_bytes: 512 << 20,
        free_bytes: (total - used - 512) << 20,
        used_bytes: used << 20,
    }
}

fn identity(index: u32, model: &str) -> Arc<Identity> {
    Arc::new(Identity {
        uuid: format!("GPU-{index}"),
        model: model.into(),
        index,
        minor: Some(index),
        pci_bus_id: format!("00000000:8{index}:00.0"),
        driver_version: "590.48.01".into(),
        memory_total_bytes: Some(81_559 << 20),
        mig_slices: Some(7),
        gpm: true,
    })
}

fn gauges() -> Gauges {
    let gpm = Gpm { sm: 0.25, occupancy: Some(0.125), tensor: Some(0.5), dram: None, graphics: Some(0.75) };
    Gauges {
        utilization: Ok((40, 12)),
        busy_samples: Ok(vec![BusySample { at_us: 1, percent: 40 }]),
        process_samples: Ok(Vec::new()),
        processes: Some(Ok(vec![Process {
            pid: 7,
            memory_bytes: Some(1 << 30),
            gpu_instance: None,
            compute_instance: None,
            mps_client: false,
        }])),
        vgpus: None,
        memory: Ok(memory(81_559, 16_925)),
        energy_mj: Ok(123_456_789),
        power_mw: Ok(345_600),
        temperature_c: Some(36),
        sm_clock_mhz: Some(1980),
        memory_clock_mhz: Some(2619),
        links: Some(LinkBytes { pcie_sent: Some(1 << 32), pcie_received: Some(7), ..LinkBytes::default() }),
        gpm: Ok(gpm),
        mig: None,
    }
}

fn mig_gauges() -> Gauges {
    let plain = gauges();
    let instance = |gi: u32, ci: u32, slices: u32, profile: &str| Instance {
        gpu_instance: gi,
        compute_instance: ci,
        uuid: format!("MIG-{gi}-{ci}"),
        profile: profile.into(),
        gpu_instance_slices: 3,
        slices,
        multiprocessors: 60,
        memory: Ok(memory(40_000, 9000)),
        gpm: plain.gpm,
        own_gpm: None,
        dcgm: None,
    };
    Gauges {
        utilization: Err(Reason::NotSupported),
        busy_samples: Err(Reason::NotSupported),
        gpm: Err(Reason::NotSupported),
        processes: Some(Ok(Vec::new())),
        mig: Some(vec![instance(2, 0, 1, "1c.3g.40gb"), instance(2, 1, 2, "2c.3g.40gb")]),
        ..plain
    }
}

impl Source for Fixed {
    fn read(&mut self, _: &Plan) -> NodeReading {
        let device = |identity: Arc<Identity>, outcome| DeviceReading {
            identity,
            boot_ms: 0,
            xids: Vec::new(),
            outcome,
        };
        NodeReading {
            devices: vec![
                device(identity(0, "NVIDIA H200"), Ok(Box::new(gauges()))),
                device(identity(1, "NVIDIA \"H100\""), Ok(Box::new(mig_gauges()))),
                device(identity(2, "NVIDIA H200"), Err(Reason::GpuLost)),
            ],
            ..NodeReading::default()
        }
    }
    fn release(&mut self) -> bool {
        true
    }
}

struct Pods;

impl OwnerLookup for Pods {
    fn lookup(&mut self, _: u32) -> ProcessOwner {
        let attributes = BTreeMap::from([(key::POD_UID.to_owned(), "odd\"pod\\uid\n".to_owned())]);
        let owner =
            OwnerRecord::new(Owner { kind: OwnerKind::Kubernetes, attributes, evidence: String::new() });
        ProcessOwner { owner, start_ticks: 1, started_ms: None, mps_server: false }
    }
    fn keep_only(&mut self, _: &[u32]) {}
}

fn sampler() -> Sampler {
    let mut sampler = Sampler::new(Sample::default().cadence(), BusySource::default());
    sampler.tick(0, &|boot_ms| boot_ms, &mut Fixed, &mut Pods);
    sampler
}

fn check(name: &str, page: &str) {
    let path = format!("{}/src/metrics/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, page).expect("golden file");
    }
    assert_eq!(page, std::fs::read_to_string(&path).expect("golden file"), "{name}");
}

#[test]
fn the_dcgm_page_is_what_dashboards_expect() {
    let xids = BTreeMap::from([("GPU-0".to_owned(), 79)]);
    let page = render_dcgm("node7", "Hostname", &sampler(), &xids);
    check("dcgm.txt", &page);
    let of = |gpu: &str, name: &str| {
        page.lines().filter(|l| l.starts_with(&format!("{name}{{gpu=\"{gpu}\""))).count()
    };
    assert_eq!(
        (of("1", "DCGM_FI_DEV_GPU_UTIL"), of("1", "DCGM_FI_DEV_FB_USED"), of("1", "DCGM_FI_DEV_POWER_USAGE")),
        (0, 1, 1)
    );
    assert_eq!(of("2", "DCGM_FI_DEV_POWER_USAGE"), 0, "a lost device has no series");
}

#[test]
fn our_own_page_holds_what_is_known_and_nothing_else() {
    let sampler = sampler();
    let input = OwnInput {
        node: "node7",
        sampler: &sampler,
        usage: &UsageTotals::default(),
        spool: Some(crate::spool::SpoolStats { bytes: 4096, segments: 1, ..Default::default() }),
        shipper: None,
        xids: &BTreeMap::from([(("GPU-0".to_owned(), 79), 2)]),
        tick_s: 0.0125,
        clock_steps: 0,
        owners_unresolved: 3,
        moved_slots: 2,
        parked_threads: 1,
        read_at_s: 1_788_220_800.0,
    };
    let page = render_own(&input).replace(REVISION, "REVISION").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    check("own.txt", &page);
}
