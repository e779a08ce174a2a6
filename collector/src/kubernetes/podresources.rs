//! The kubelet's PodResources API: the calls, and what an answer says in our own words.
//!
//! The kubelet knows pods by name only and may still list dead ones; whoever joins this with the API server's pods
//! decides. Here nothing is dropped but what is no GPU.

pub mod proto;

use super::device_id::{DeviceId, DeviceRef, Slot, may_be_gpu, resource_name};
use proto::{
    AllocatableResourcesResponse, Empty, GetPodResourcesRequest, GetPodResourcesResponse,
    ListPodResourcesResponse,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// Big nodes exceed gRPC's usual 4 MiB.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A kubelet under load was seen to take half a minute; past a minute the answer is given up.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A channel to the kubelet. It connects when it is first used and again after the kubelet has restarted.
#[derive(Debug, Clone)]
pub struct Kubelet(tonic::client::Grpc<Channel>);

/// The socket's path is no address.
#[derive(Debug, thiserror::Error)]
#[error("{0} can't be the path of a socket")]
pub struct BadSocket(String);

impl Kubelet {
    /// Over this socket, which needs not be there yet. Called within a Tokio runtime.
    ///
    /// # Errors
    /// A path that is no URI.
    pub fn new(socket: &Path) -> Result<Self, BadSocket> {
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()))
            .map_err(|_| BadSocket(socket.display().to_string()))?;
        let channel = endpoint.timeout(CALL_TIMEOUT).connect_timeout(CALL_TIMEOUT).connect_lazy();
        Ok(Self(tonic::client::Grpc::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX)))
    }

    async fn call<Q, A>(&mut self, method: &'static str, question: Q) -> Result<A, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let codec = tonic_prost::ProstCodec::<Q, A>::default();
        let answer = self.0.unary(Request::new(question), PathAndQuery::from_static(method), codec).await?;
        Ok(answer.into_inner())
    }

    /// Every pod with its devices.
    ///
    /// # Errors
    /// The kubelet's status.
    pub async fn list(&mut self) -> Result<ListPodResourcesResponse, Status> {
        self.call("/v1.PodResourcesLister/List", Empty {}).await
    }

    /// One pod with its devices.
    ///
    /// # Errors
    /// The kubelet's status; older kubelets don't offer the call.
    pub async fn get(&mut self, namespace: &str, name: &str) -> Result<GetPodResourcesResponse, Status> {
        let question = GetPodResourcesRequest { pod_name: name.into(), pod_namespace: namespace.into() };
        self.call("/v1.PodResourcesLister/Get", question).await
    }

    /// Everything that device plugins offer: how many slots a device is cut into.
    ///
    /// # Errors
    /// The kubelet's status.
    pub async fn allocatable(&mut self) -> Result<AllocatableResourcesResponse, Status> {
        self.call("/v1.PodResourcesLister/GetAllocatableResources", Empty {}).await
    }
}

/// A kubelet's refusal in one word, for a metric's label.
pub fn reason(status: &Status) -> &'static str {
    match status.code() {
        Code::ResourceExhausted => "rate_limited",
        Code::Unavailable => "unavailable",
        Code::DeadlineExceeded | Code::Cancelled => "timeout",
        Code::OutOfRange => "too_large",
        Code::Unimplemented => "unimplemented",
        Code::PermissionDenied | Code::Unauthenticated => "forbidden",
        _ => "other",
    }
}

/// A device of a resource claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimDevice {
    /// Namespace of the claim.
    pub namespace: String,
    /// Claim.
    pub claim: String,
    /// Driver.
    pub driver: String,
    /// Pool.
    pub pool: String,
    /// Device in the pool.
    pub device: String,
    /// Which share of it.
    pub share_id: Option<String>,
}

/// A container with its GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerDevices {
    /// Container.
    pub name: String,
    /// Device plugins' devices, in order, each once.
    pub devices: BTreeSet<DeviceId>,
    /// Resource claims' devices, in order, each once.
    pub claims: BTreeSet<ClaimDevice>,
}

/// A pod with its GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodDevices {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Containers that hold GPUs.
    pub containers: Vec<ContainerDevices>,
}

/// What to take for a GPU.
#[derive(Debug, Clone, Default)]
pub struct GpuNames {
    /// Operators' own resource names.
    pub resources: Vec<String>,
    /// DRA drivers.
    pub drivers: Vec<String>,
}

/// What the kubelet's answers say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeletView {
    /// Pods that hold GPUs.
    pub pods: Vec<PodDevices>,
    /// Into how many slots each device is cut.
    pub slots: BTreeMap<DeviceRef, u32>,
    /// Ids of no known form.
    pub unknown_ids: BTreeSet<String>,
}

impl KubeletView {
    /// Reads a list. `slots` stay as they were.
    pub fn set_pods(&mut self, list: &ListPodResourcesResponse, names: &GpuNames) {
        self.unknown_ids.clear();
        self.pods = list.pod_resources.iter().filter_map(|pod| self.read_pod(pod, names)).collect();
    }

    /// Namespaces and names of the claims that are used, each at least once.
    pub fn claim_names(&self) -> impl Iterator<Item = (String, String)> {
        let containers = self.pods.iter().flat_map(|pod| &pod.containers);
        containers
            .flat_map(|container| &container.claims)
            .map(|claim| (claim.namespace.clone(), claim.claim.clone()))
    }

    /// The devices of one claim.
    pub fn claim_devices(&self, name: &(String, String)) -> impl Iterator<Item = &ClaimDevice> {
        let containers = self.pods.iter().flat_map(|pod| &pod.containers);
        let all = containers.flat_map(|container| &container.claims);
        all.filter(move |claim| (&claim.namespace, &claim.claim) == (&name.0, &name.1))
    }

    /// Adds or replaces one pod.
    pub fn set_pod(&mut self, pod: &proto::PodResources, names: &GpuNames) {
        self.pods.retain(|known| (&known.namespace, &known.name) != (&pod.namespace, &pod.name));
        let read = self.read_pod(pod, names);
        self.pods.extend(read);
    }

    fn read_pod(&mut self, pod: &proto::PodResources, names: &GpuNames) -> Option<PodDevices> {
        let containers: Vec<ContainerDevices> = pod
            .containers
            .iter()
            .map(|container| ContainerDevices {
                name: container.name.clone(),
                devices: container.devices.iter().flat_map(|d| self.read_ids(d, names)).collect(),
                claims: container
                    .dynamic_resources
                    .iter()
                    .flat_map(|claim| claim_devices(claim, names))
                    .collect(),
            })
            .filter(|container| !container.devices.is_empty() || !container.claims.is_empty())
            .collect();
        let (namespace, name) = (pod.namespace.clone(), pod.name.clone());
        (!containers.is_empty()).then_some(PodDevices { namespace, name, containers })
    }

    fn read_ids(&mut self, devices: &proto::ContainerDevices, names: &GpuNames) -> Vec<DeviceId> {
        if resource_name(&devices.resource_name, &names.resources).is_none() {
            let parsed = devices.device_ids.iter().filter_map(|id| id.parse().ok());
            let is_renamed = may_be_gpu(&devices.resource_name);
            return parsed.filter(|id: &DeviceId| is_renamed && id.has_uuid()).collect();
        }
        let mut ids = Vec::with_capacity(devices.device_ids.len());
        for id in &devices.device_ids {
            match id.parse() {
                Ok(id) => ids.push(id),
                // A bound: a plugin with thousands of strange ids is one problem, not thousands.
                Err(_) if self.unknown_ids.len() >= UNKNOWN_IDS_MAX => {}
                Err(_) => {
                    self.unknown_ids.insert(id.clone());
                }
            }
        }
        ids
    }

    /// Reads what is on offer: replicas of a device are its slots.
    pub fn set_slots(&mut self, allocatable: &AllocatableResourcesResponse, names: &GpuNames) {
        let mut slots: BTreeMap<DeviceRef, BTreeSet<Slot>> = BTreeMap::new();
        for devices in &allocatable.devices {
            for id in self.read_ids(devices, names) {
                if let Some(slot) = id.slot {
                    slots.entry(id.device).or_default().insert(slot);
                }
            }
        }
        let count = |slots: BTreeSet<Slot>| u32::try_from(slots.len()).unwrap_or(u32::MAX);
        self.slots = slots.into_iter().map(|(device, slots)| (device, count(slots))).collect();
    }
}

/// Strange ids that are kept to be named.
const UNKNOWN_IDS_MAX: usize = 64;

fn claim_devices(claim: &proto::DynamicResource, names: &GpuNames) -> Vec<ClaimDevice> {
    let of_gpus = claim.claim_resources.iter().filter(|device| names.drivers.contains(&device.driver_name));
    of_gpus
        .map(|device| ClaimDevice {
            namespace: claim.claim_namespace.clone(),
            claim: claim.claim_name.clone(),
            driver: device.driver_name.clone(),
            pool: device.pool_name.clone(),
            device: device.device_name.clone(),
            share_id: device.share_id.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(resource: &str, ids: &[&str]) -> proto::ContainerDevices {
        let device_ids = ids.iter().map(|id| (*id).to_owned()).collect();
        proto::ContainerDevices { resource_name: resource.into(), device_ids }
    }

    fn pod(name: &str, devices: Vec<proto::ContainerDevices>) -> proto::PodResources {
        let containers =
            vec![proto::ContainerResources { name: "main".into(), devices, dynamic_resources: Vec::new() }];
        proto::PodResources { name: name.into(), namespace: "a".into(), containers }
    }

    const GPU: &str = "GPU-8f0a1c2d-3e4b-5a69-7788-99aabbccddee";

    #[test]
    fn a_list_is_read_for_gpus_and_strange_ids_are_named() {
        let names = GpuNames { resources: Vec::new(), drivers: vec!["gpu.nvidia.com".into()] };
        let replica = |n| format!("{GPU}::{n}");
        let list = ListPodResourcesResponse {
            pod_resources: vec![
                pod("shared", vec![devices("nvidia.com/gpu.shared", &[&replica(5), &replica(0)])]),
                pod("odd", vec![devices("nvidia.com/gpu", &["what-is-this"])]),
                pod("cpu-only", vec![devices("rdma/hca", &["x"])]),
                pod(
                    "renamed",
                    vec![devices("nvidia.com/small", &["MIG-2ce7a541-c516-5dbc-a76e-26cc100d9b55"])],
                ),
                pod("network", vec![devices("nvidia.com/hostdev", &["0000:3b:00.2", "0"])]),
            ],
        };
        let mut view = KubeletView::default();
        view.set_pods(&list, &names);
        let read: Vec<(&str, usize)> =
            view.pods.iter().map(|p| (p.name.as_str(), p.containers[0].devices.len())).collect();
        assert_eq!(read, [("shared", 2), ("renamed", 1)]);
        assert_eq!(view.unknown_ids, ["what-is-this".to_owned()].into());
    }

    #[test]
    fn each_device_has_its_own_number_of_slots() {
        let other = "GPU-00000000-3e4b-5a69-7788-99aabbccddee";
        let ids: Vec<String> =
            (0..4).map(|n| format!("{GPU}::{n}")).chain((0..2).map(|n| format!("{other}::{n}"))).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut view = KubeletView::default();
        let offered = AllocatableResourcesResponse { devices: vec![devices("nvidia.com/gpu", &ids)] };
        view.set_slots(&offered, &GpuNames::default());
        let slots: Vec<u32> = view.slots.into_values().collect();
        assert_eq!(slots, [2, 4]);
    }
}
