//! One hour of one node and what it costs, each owner a tenant of its own: a pod by its name, a user by number.

use anyhow::Result;
use billing::money::Currency;
use billing::price::PriceBook;
use billing::rating::{Owners, Rules, rate};
use billing::rollup::{InService, Received, close_hour};
use billing::tenant::{Site, Tenants};
use billing::usage::{DeviceTotal, UsageTotal};
use collector::absence::Before;
use collector::clock::{Clock, ManualClock};
use collector::kubernetes::{KubernetesConfig, Witness, start};
use harness::kubernetes::api_server::{ApiServer, PODS};
use harness::kubernetes::kubelet::{Knowledge, Kubelet};
use harness::kubernetes::{cgroup, container_id, eventually};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use schema::id::WorkloadId;
use schema::owner::Owner;
use schema::units::HOUR_MS;
use schema::window::Window;
use schema::wire::{Batch, BusyKind, Quality, Sharing};
use serde_json::{Value, json};
use simulator::node::Cadence;
use simulator::scheduled::{ScheduledNode, Start};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// 2026-09-01T00:00:00Z.
pub const T0: i64 = 1_788_220_800_000;

/// UUID of the device of an index.
pub fn uuid(index: usize) -> String {
    format!("GPU-{index}0000000-3e4b-5a69-7788-99aabbccddee")
}

/// A node with devices of these presets, whose hour starts now.
pub fn node(presets: &[&str]) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(T0 * 1000);
    let gpu = |(index, preset): (usize, &&str)| Gpu { uuid: Some(uuid(index)), ..Gpu::new(preset) };
    node.gpus = presets.iter().enumerate().map(gpu).collect();
    node
}

/// A process of a pod's container.
pub fn process(pid: u32, gpu: usize, pod: &str) -> Process {
    Process::new(pid, gpu).cgroup(&cgroup(&format!("{pod}-uid"), &container_id(pod)))
}

/// What Kubernetes is told.
#[derive(Default)]
pub struct Cluster {
    pods: BTreeMap<String, Value>,
    given: Vec<(String, String, Vec<String>)>,
    offers: Vec<(String, u32)>,
    others: Vec<(String, Value)>,
    claims: Vec<(String, String, String)>,
}

impl Cluster {
    /// A pod that runs all the hour and was given these devices under a resource's name.
    pub fn pod(mut self, name: &str, resource: &str, ids: &[String]) -> Self {
        let id = format!("containerd://{}", container_id(name));
        let pod = json!({
            "metadata": {"name": name, "namespace": "ns", "uid": format!("{name}-uid")},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": "Running", "startTime": "2026-09-01T00:00:00Z",
                "containerStatuses": [{"name": "main", "containerID": id}]}
        });
        self.pods.insert(name.to_owned(), pod);
        if !ids.is_empty() {
            self.given.push((name.to_owned(), resource.to_owned(), ids.to_vec()));
        }
        self
    }

    /// With an annotation on a pod.
    pub fn annotated(mut self, pod: &str, key: &str, value: &str) -> Self {
        self.pods.get_mut(pod).expect("it is there")["metadata"]["annotations"][key] = value.into();
        self
    }

    /// A device is cut into so many slots.
    pub fn slots(mut self, device: &str, slots: u32) -> Self {
        self.offers.push((device.to_owned(), slots));
        self
    }

    /// A pod uses this device of a claim of that name.
    pub fn claim(mut self, pod: &str, claim: &str, device: &str) -> Self {
        self.claims.push((pod.to_owned(), claim.to_owned(), device.to_owned()));
        self
    }

    /// An object of the API server's.
    pub fn object(mut self, path: &str, object: Value) -> Self {
        self.others.push((path.to_owned(), object));
        self
    }
}

/// What an owner held and used in the hour.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// GPU-hours held.
    pub held: f64,
    /// GPU-hours known to be busy.
    pub busy: f64,
    /// GPU-hours held whose use is unknown.
    pub unknown: f64,
    /// Energy, joules.
    pub joules: f64,
    /// Memory over the hour, mean MiB.
    pub memory_mib: f64,
    /// Cost in the currency's unit, as posted.
    pub cost: String,
}

/// The hour.
pub struct Hour {
    /// By owner.
    pub owners: BTreeMap<String, Share>,
    /// By device.
    pub devices: Vec<DeviceTotal>,
    /// What the node made.
    pub batches: Vec<Batch>,
    /// Posted cost of everybody and of what nobody held.
    pub total: String,
    /// The platform's part by word.
    pub platform: BTreeMap<&'static str, String>,
}

impl Hour {
    /// Costs by owner, `name cost` in order.
    pub fn costs(&self) -> String {
        let shown = self.owners.iter().map(|(name, share)| format!("{name} {}", share.cost));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// An owner's share.
    pub fn of(&self, name: &str) -> &Share {
        self.owners.get(name).unwrap_or_else(|| panic!("{name} isn't among {:?}", self.owners.keys()))
    }
}

/// Lets the hour pass and closes it.
pub fn hour(scenario: &Scenario, cluster: Option<Cluster>) -> Hour {
    let batches = run(scenario, cluster).expect("the hour passes");
    bill(batches)
}

fn run(scenario: &Scenario, cluster: Option<Cluster>) -> Result<Vec<Batch>> {
    let dir = tempfile::tempdir()?;
    let node_dir = dir.path().join("node");
    std::fs::create_dir(&node_dir)?;
    let witness = cluster.as_ref().map(|_| Witness::default());
    let mut node = ScheduledNode::new(Start {
        dir: &node_dir,
        cluster: "c",
        scenario,
        cadence: Cadence::DEFAULT,
        at_ms: T0,
        incarnation: 1,
        witness: witness.clone(),
        before: Before::default(),
    })?;
    let (Some(cluster), Some(witness)) = (cluster, witness) else {
        node.advance_to(T0 + HOUR_MS)?;
        return Ok(node.finish());
    };
    let (knowledge, api) = (Knowledge::default(), ApiServer::start());
    let _kubelet = Kubelet::start(dir.path(), &knowledge);
    cluster.offers.iter().for_each(|(device, slots)| knowledge.offer(device, *slots));
    cluster.given.iter().for_each(|(pod, resource, ids)| knowledge.give(pod, "main", resource, ids));
    cluster.claims.iter().for_each(|(pod, claim, device)| knowledge.claim(pod, "main", claim, device));
    cluster.others.iter().for_each(|(path, object)| api.put(path, object.clone()));
    cluster.pods.values().for_each(|pod| api.put(PODS, pod.clone()));
    let config = KubernetesConfig {
        socket: dir.path().join("kubelet.sock"),
        poll_seconds: 1,
        ..KubernetesConfig::default()
    };
    let clock = ManualClock::at(T0);
    let time = clock.clone();
    let running = start(config, "n1", Some(api.url()), &witness, &(Arc::new(move || time.wall_ms()) as _))?;
    let holders: BTreeSet<&String> =
        cluster.given.iter().map(|(pod, ..)| pod).chain(cluster.claims.iter().map(|(pod, ..)| pod)).collect();
    eventually("everybody's hold", || {
        let said = witness.board.current();
        let told: BTreeSet<&String> =
            said.held.iter().filter_map(|held| held.owner.attributes.get("pod")).collect();
        (told == holders).then_some(())
    });
    node.advance_to(T0 + HOUR_MS)?;
    clock.advance_to(T0 + HOUR_MS);
    eventually("the last word", || (witness.board.current().known_until_ms >= T0 + HOUR_MS).then_some(()));
    let batches = node.finish();
    drop(running);
    Ok(batches)
}

fn bill(batches: Vec<Batch>) -> Hour {
    let window = Window::new(T0, T0 + HOUR_MS);
    let received: Vec<Received> =
        (0..).zip(&batches).map(|(hash, batch)| Received { batch: batch.clone(), hash }).collect();
    let mut inventory: BTreeMap<String, InService> = BTreeMap::new();
    let mut owners = Owners::new();
    for batch in &batches {
        for device in &batch.devices {
            inventory.entry(device.uuid.clone()).or_insert_with(|| InService {
                cluster: "c".into(),
                node: "n1".into(),
                device: device.uuid.clone(),
                model: device.model.clone(),
                window,
            });
        }
        for owner in &batch.owners {
            owners
                .insert(WorkloadId::from_bytes(&owner.workload).expect("16 bytes"), Owner::from_wire(owner));
        }
    }
    let inventory: Vec<InService> = inventory.into_values().collect();
    let close = close_hour(window, &received, &inventory, &[]);
    assert_eq!(close.conflicts, 0);
    let usage: Vec<UsageTotal> = close
        .usage
        .iter()
        .map(|row| UsageTotal {
            segment: row.segment,
            cluster: row.cluster.clone(),
            node: row.node.clone(),
            device: row.device.clone(),
            model: row.model.clone(),
            workload: row.key.workload,
            profile: row.key.profile.clone(),
            sharing: Sharing::try_from(row.key.sharing).expect("known"),
            share: row.key.share,
            quality: Quality::try_from(row.key.quality).expect("known"),
            busy_kind: BusyKind::try_from(row.key.busy_kind).expect("known"),
            busy_quality: Quality::try_from(row.key.busy_quality).expect("known"),
            natural_ms: row.natural_ms,
            observed_ms: row.natural_ms,
            held: row.held,
            busy: row.busy,
            most: row.held.max(row.busy),
            unknown: row.unknown,
            energy_mj: row.energy_mj,
            memory_byte_ms: row.memory_byte_ms,
        })
        .collect();
    let devices: Vec<DeviceTotal> = close.devices.into_iter().map(|row| row.total).collect();
    assert!(devices.iter().all(DeviceTotal::adds_up), "both ledgers of every device add up");
    rated(&usage, devices, &owners, batches)
}

/// Who a workload is, in a word that is a tenant's id.
fn name(owner: &Owner) -> String {
    let of = |key: &str| owner.attributes.get(key).cloned();
    of("pod").or(of("uid").map(|uid| format!("uid-{uid}"))).unwrap_or_else(|| "unknown".into())
}

fn rated(usage: &[UsageTotal], devices: Vec<DeviceTotal>, owners: &Owners, batches: Vec<Batch>) -> Hour {
    let names: BTreeSet<String> = owners.values().map(name).filter(|name| name != "unknown").collect();
    let mut rules = String::new();
    for name in &names {
        let (key, value) = match name.strip_prefix("uid-") {
            Some(uid) => ("uid", uid),
            None => ("pod", name.as_str()),
        };
        let _ = write!(
            rules,
            "[[tenant]]\nid = {name:?}\n[[rule]]\ntenant = {name:?}\nmatch = {{ {key} = {value:?} }}\n"
        );
    }
    let zone = chrono_tz::UTC;
    let tenants = Tenants::parse("tenants.toml", &rules, zone).expect("rules");
    let book = "[[price]]\nid = \"all\"\nmodel = \"*\"\nper_gpu_hour = \"3.60\"\nfrom = 2026-01-01\n";
    let prices = PriceBook::parse("prices.toml", book, zone).expect("prices");
    let currency = Currency::parse("USD").expect("a currency");
    let rated = rate(usage, &devices, owners, Rules { tenants: &tenants, prices: &prices }, &currency)
        .expect("it adds up");
    let gpu_hours = |nano: schema::units::NanoGpuHours| nano.0 as f64 / 1e9;
    let mut total = 0;
    let mut shares = BTreeMap::new();
    for (tenant, own) in &rated.tenants {
        let cost: i64 = own.lines.iter().filter_map(|line| line.amount).map(|amount| amount.0).sum();
        total += cost;
        let rows = usage.iter().filter(|row| {
            let site = Site { cluster: &row.cluster, node: &row.node };
            tenants.resolve(owners.get(&row.workload), site, row.segment.start_ms).tenant == *tenant
        });
        let mut share = Share { cost: dollars(cost), ..Share::default() };
        for row in rows {
            share.held += gpu_hours(row.held);
            share.busy += gpu_hours(row.busy);
            share.unknown += gpu_hours(row.unknown);
            share.joules += row.energy_mj as f64 / 1e3;
            share.memory_mib += row.memory_byte_ms as f64 / f64::from(1 << 20) / HOUR_MS as f64;
        }
        shares.insert(tenant.as_str().to_owned(), share);
    }
    let mut platform = BTreeMap::new();
    for line in &rated.platform {
        let amount = line.amount.expect("priced").0;
        total += amount;
        platform.insert(line.kind.word(), dollars(amount));
    }
    Hour { owners: shares, devices, batches, total: dollars(total), platform }
}

fn dollars(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
