//! The parts of the API server's objects that this collector reads; the rest is skipped while it is parsed.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One page of a list.
#[derive(Debug, Deserialize)]
pub struct List<T> {
    /// Where the list stands.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The objects.
    #[serde(default = "Option::default")]
    pub items: Option<Vec<T>>,
}

/// Where a list stands.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// Version from which to watch.
    #[serde(default)]
    pub resource_version: String,
    /// Token for the next page; empty after the last.
    #[serde(default, rename = "continue")]
    pub next: String,
}

/// One line of a watch.
#[derive(Debug, Deserialize)]
pub struct Event<T> {
    /// `ADDED`, `MODIFIED`, `DELETED`; bookmarks and errors are read as [`Notice`].
    #[serde(rename = "type")]
    pub kind: String,
    /// The object.
    pub object: T,
}

/// A bookmark or an error in a watch.
#[derive(Debug, Deserialize)]
pub struct Notice {
    /// `BOOKMARK` or `ERROR`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A bookmark's metadata, or the error's status.
    #[serde(default)]
    pub object: NoticeObject,
}

/// What a notice carries.
#[derive(Debug, Default, Deserialize)]
pub struct NoticeObject {
    /// A bookmark's version.
    #[serde(default)]
    pub metadata: Meta,
    /// An error's HTTP code.
    #[serde(default)]
    pub code: u16,
}

/// An object of any kind that has a version.
pub trait Versioned {
    /// Its metadata.
    fn meta(&self) -> &Meta;
}

/// Object metadata.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Name.
    pub name: String,
    /// Namespace; empty for cluster-wide objects.
    pub namespace: String,
    /// UID.
    pub uid: String,
    /// Version.
    pub resource_version: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// When it is to be gone.
    pub deletion_timestamp: Option<DateTime<Utc>>,
}

macro_rules! versioned {
    ($($kind:ident),*) => { $(impl Versioned for $kind {
        fn meta(&self) -> &Meta {
            &self.metadata
        }
    })* };
}
versioned!(Pod, Namespace, Node, ResourceSlice);

/// A namespace, of which only the metadata is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Namespace {
    /// Metadata.
    pub metadata: Meta,
}

/// A node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Metadata.
    pub metadata: Meta,
    /// What was asked of it.
    pub spec: NodeSpec,
    /// How it is.
    pub status: ConditionsOf,
}

/// What was asked of a node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
    /// Taints; a cordon's says since when.
    pub taints: Vec<Taint>,
}

/// A taint.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// `node.kubernetes.io/unschedulable`.
    pub key: String,
    /// Since when.
    pub time_added: Option<DateTime<Utc>>,
}

/// A status of which only conditions are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConditionsOf {
    /// Conditions.
    pub conditions: Vec<Condition>,
}

/// A condition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// `Ready`, `PodScheduled`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Since when.
    pub last_transition_time: Option<DateTime<Utc>>,
}

/// A pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Metadata.
    pub metadata: Meta,
    /// What was asked.
    pub spec: PodSpec,
    /// How it is.
    pub status: PodStatus,
}

/// What a pod asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Containers.
    pub containers: Vec<Container>,
    /// Init containers; those with `restartPolicy: Always` are sidecars.
    pub init_containers: Vec<Container>,
    /// Priority class.
    pub priority_class_name: Option<String>,
    /// Resource claims.
    pub resource_claims: Vec<PodClaim>,
}

/// A container's specification.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Name.
    pub name: String,
    /// Resources.
    pub resources: Resources,
    /// `Always` on a sidecar.
    pub restart_policy: Option<String>,
}

/// Limits; for extended resources requests are the same.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// By resource name, as quantities.
    pub limits: BTreeMap<String, serde_json::Value>,
}

/// A claim of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodClaim {
    /// Claim that exists by itself, or that the scheduler made.
    pub resource_claim_name: Option<String>,
}

/// How a pod is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`.
    pub phase: String,
    /// When the kubelet took it up.
    pub start_time: Option<DateTime<Utc>>,
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Containers.
    pub container_statuses: Vec<ContainerStatus>,
    /// Init containers and sidecars.
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Debug containers.
    pub ephemeral_container_statuses: Vec<ContainerStatus>,
    /// The claim that the scheduler made for extended resources.
    pub extended_resource_claim_status: Option<PodClaim>,
}

/// How a container is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Name.
    pub name: String,
    /// `containerd://<id>`.
    #[serde(rename = "containerID")]
    pub container_id: Option<String>,
    /// Now.
    pub state: ContainerState,
    /// Before the last restart.
    pub last_state: ContainerState,
}

/// A container's state: one of these is set.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// Runs.
    pub running: Option<ContainerTimes>,
    /// Ended.
    pub terminated: Option<ContainerTimes>,
}

/// When a container started and ended.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerTimes {
    /// Start.
    pub started_at: Option<DateTime<Utc>>,
    /// End.
    pub finished_at: Option<DateTime<Utc>>,
    /// Which container this was, after a restart.
    #[serde(rename = "containerID")]
    pub container_id: Option<String>,
}

/// A claim on devices.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResourceClaim {
    /// Metadata.
    pub metadata: Meta,
    /// What was given.
    pub status: ClaimStatus,
}

/// A claim's status.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimStatus {
    /// What was given; absent before.
    pub allocation: Option<ClaimAllocation>,
}

/// What a claim was given.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimAllocation {
    /// Devices.
    pub devices: ClaimDevices,
}

/// Devices of a claim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimDevices {
    /// One a device.
    pub results: Vec<ClaimResult>,
}

/// One device given to a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimResult {
    /// Driver.
    pub driver: String,
    /// Pool; usually the node's name.
    pub pool: String,
    /// Device in the pool.
    pub device: String,
    /// For monitoring: never charged.
    pub admin_access: Option<bool>,
    /// Which of the device's shares, where it can be given several times.
    #[serde(rename = "shareID")]
    pub share_id: Option<String>,
    /// How much of the device's capacity, as quantities.
    pub consumed_capacity: BTreeMap<String, String>,
}

/// Devices that a driver offers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResourceSlice {
    /// Metadata.
    pub metadata: Meta,
    /// The devices.
    pub spec: SliceSpec,
}

/// Devices of a slice.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SliceSpec {
    /// Driver.
    pub driver: String,
    /// Pool.
    pub pool: Pool,
    /// The devices.
    pub devices: Vec<SliceDevice>,
}

/// A pool of devices.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// Name.
    pub name: String,
}

/// One device offered. Its properties are here since v1beta2, and under `basic` before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SliceDevice {
    /// Name in the pool.
    pub name: String,
    /// Attributes and capacity.
    #[serde(flatten)]
    pub properties: DeviceProperties,
    /// Attributes and capacity in v1beta1.
    pub basic: Option<DeviceProperties>,
}

/// Attributes and capacity of a device.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DeviceProperties {
    /// By name, with or without the driver's domain before it.
    pub attributes: BTreeMap<String, Attribute>,
    /// By name.
    pub capacity: BTreeMap<String, Capacity>,
}

/// An attribute's value; only texts are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Attribute {
    /// A text.
    pub string: Option<String>,
}

/// A capacity.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Capacity {
    /// A quantity.
    pub value: String,
}
