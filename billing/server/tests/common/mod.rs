//! One real engine for all tests of this program, a database for each, and builders for what collectors send.

use prost::Message;
use schema::id::Incarnation;
use schema::owner::{Owner, OwnerKind, key};
use schema::units::HOUR_MS;
use schema::wire::{Batch, Device, DeviceWindow, Quality, Sharing, UsageSlice, frame_batch};
use server::store::{Address, Store, connect};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Start of the hour that tests fill, Unix milliseconds.
pub const HOUR: i64 = 490_000 * HOUR_MS;

/// A running engine and where its data lies.
pub struct Lab {
    /// Data directory: a configuration that names it finds the engine.
    pub data_dir: PathBuf,
    engine: engine::Supervisor,
}

/// The engine of this test program, started at its first use. It dies with the program.
pub fn lab() -> &'static Lab {
    static LAB: OnceLock<Lab> = OnceLock::new();
    LAB.get_or_init(|| {
        let data_dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("engine");
        if data_dir.exists() {
            std::fs::remove_dir_all(&data_dir).expect("an earlier run's data goes");
        }
        let config = engine::SupervisorConfig {
            program: env!("CARGO_BIN_EXE_slicemeter").into(),
            arguments: vec!["engine".into(), "--child".into()],
            library: None,
            data_dir: data_dir.clone(),
            port: 0,
            max_server_memory_bytes: 2 << 30,
            concurrency: 4,
            config_file: None,
        };
        let start = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(engine::Supervisor::start(config))
        };
        // A test's own runtime can't wait for another.
        let engine = std::thread::spawn(start).join().expect("no panic").unwrap_or_else(|e| panic!("{e}"));
        Lab { data_dir, engine }
    })
}

/// An empty, migrated database that keeps raw rows for ten years: those of [`HOUR`] are old.
pub async fn store() -> Store {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let store = unmigrated(&format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))).await;
    store.migrate(1).await.expect("migrates");
    store.retain(120).await.expect("keeps");
    store
}

/// A database without tables.
pub async fn unmigrated(database: &str) -> Store {
    let endpoint = lab().engine.endpoint();
    let address = Address {
        url: endpoint.url,
        user: endpoint.user,
        password: endpoint.secret,
        database: database.into(),
    };
    connect(&address).await.expect("connects")
}

/// A Kubernetes pod of a namespace.
pub fn pod(namespace: &str, uid: u32) -> schema::wire::Owner {
    let attributes = BTreeMap::from([
        (key::NAMESPACE.to_string(), namespace.to_string()),
        (key::POD_UID.to_string(), format!("uid-{uid}")),
    ]);
    Owner { kind: OwnerKind::Kubernetes, attributes, evidence: "0::/kubepods/x".into() }.to_wire()
}

/// A batch of node `n` with one H100, six pods in two namespaces, and no rows.
pub fn batch(incarnation: u128, sequence: u64) -> Batch {
    Batch {
        wire_version: 1,
        cluster: "c".into(),
        node: "n".into(),
        incarnation: Incarnation(incarnation).to_bytes(),
        sequence,
        created_at_ms: HOUR,
        devices: vec![Device { uuid: "GPU-1".into(), model: "NVIDIA H100".into(), ..Default::default() }],
        owners: (0..6).map(|uid| pod(if uid % 2 == 0 { "vision" } else { "speech" }, uid)).collect(),
        profiles: vec!["3g.40gb".into()],
        ..Default::default()
    }
}

/// Owner `owner` holds `share` of the device for `len_ms` from `at_ms` into the hour.
pub fn slice(
    owner: Option<u32>,
    at_ms: i64,
    len_ms: i64,
    share: (u32, u32),
    busy_ms: Option<u64>,
) -> UsageSlice {
    let whole = share == (1, 1);
    UsageSlice {
        owner,
        start_ms: HOUR + at_ms,
        end_ms: HOUR + at_ms + len_ms,
        sharing: if whole { Sharing::Whole } else { Sharing::TimeSliced } as i32,
        share_num: share.0,
        share_den: share.1,
        weight_num: 1,
        weight_den: 1,
        resident_ms: owner.map(|_| len_ms as u64),
        busy_ms,
        held_quality: Quality::Measured as i32,
        busy_quality: Quality::Measured as i32,
        ..Default::default()
    }
}

/// The device was seen for `observed_ms` of `len_ms` from `at_ms` into the hour.
pub fn window(at_ms: i64, len_ms: i64, observed_ms: u64) -> DeviceWindow {
    DeviceWindow {
        start_ms: HOUR + at_ms,
        end_ms: HOUR + at_ms + len_ms,
        observed_ms,
        stranded_den: 1,
        ..Default::default()
    }
}

/// A whole hour of one device in 60 s windows, a batch each, held by owner 0 and busy for half of it.
pub fn full_hour(incarnation: u128) -> Vec<Batch> {
    let minute = |m: i64| Batch {
        usage: vec![slice(Some(0), m * 60_000, 60_000, (1, 1), Some(30_000))],
        device_windows: vec![window(m * 60_000, 60_000, 60_000)],
        ..batch(incarnation, m as u64)
    };
    (0..60).map(minute).collect()
}

/// A compressed delivery of batches.
pub fn delivery(batches: &[Batch]) -> Vec<u8> {
    let mut framed = Vec::new();
    for batch in batches {
        frame_batch(&mut framed, &batch.encode_to_vec());
    }
    zstd::encode_all(&framed[..], 1).expect("memory takes it")
}
