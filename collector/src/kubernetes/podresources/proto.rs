//! The messages of the kubelet's PodResources API, version 1, as far as they are read: protobuf skips the rest.

/// Answer of `List`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListPodResourcesResponse {
    /// One a pod.
    #[prost(message, repeated, tag = "1")]
    pub pod_resources: Vec<PodResources>,
}

/// Question of `Get`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetPodResourcesRequest {
    /// Pod.
    #[prost(string, tag = "1")]
    pub pod_name: String,
    /// Its namespace.
    #[prost(string, tag = "2")]
    pub pod_namespace: String,
}

/// Answer of `Get`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GetPodResourcesResponse {
    /// The pod.
    #[prost(message, optional, tag = "1")]
    pub pod_resources: Option<PodResources>,
}

/// Question of `List` and `GetAllocatableResources`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Empty {}

/// Answer of `GetAllocatableResources`.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AllocatableResourcesResponse {
    /// Everything that device plugins offer on this node.
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<ContainerDevices>,
}

/// A pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodResources {
    /// Name. There is no UID.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Namespace.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Containers.
    #[prost(message, repeated, tag = "3")]
    pub containers: Vec<ContainerResources>,
}

/// A container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerResources {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Devices of device plugins.
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<ContainerDevices>,
    /// Devices of resource claims.
    #[prost(message, repeated, tag = "5")]
    pub dynamic_resources: Vec<DynamicResource>,
}

/// Devices of one resource.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerDevices {
    /// `nvidia.com/gpu`.
    #[prost(string, tag = "1")]
    pub resource_name: String,
    /// Device ids, in no order.
    #[prost(string, repeated, tag = "2")]
    pub device_ids: Vec<String>,
}

/// A resource claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DynamicResource {
    /// Claim.
    #[prost(string, tag = "2")]
    pub claim_name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub claim_namespace: String,
    /// Its devices.
    #[prost(message, repeated, tag = "4")]
    pub claim_resources: Vec<ClaimResource>,
}

/// One device of a claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClaimResource {
    /// CDI names.
    #[prost(message, repeated, tag = "1")]
    pub cdi_devices: Vec<CdiDevice>,
    /// `gpu.nvidia.com`.
    #[prost(string, tag = "2")]
    pub driver_name: String,
    /// Pool; usually the node's name.
    #[prost(string, tag = "3")]
    pub pool_name: String,
    /// Device in the pool.
    #[prost(string, tag = "4")]
    pub device_name: String,
    /// Which share of the device, where it is given several times.
    #[prost(string, optional, tag = "5")]
    pub share_id: Option<String>,
}

/// A device of the Container Device Interface.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CdiDevice {
    /// `vendor.com/gpu=gpu0`.
    #[prost(string, tag = "1")]
    pub name: String,
}
