//! A kubelet: PodResources served by tonic on a Unix socket.

use collector::kubernetes::podresources::proto::*;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status, body::Body};
use tonic_prost::ProstCodec;

/// How it answers.
#[derive(Debug, Clone, Default)]
pub enum Mood {
    /// At once.
    #[default]
    Well,
    /// Too many questions.
    RateLimited,
    /// Not before it is told to.
    Waits(tokio::sync::watch::Receiver<bool>),
}

#[derive(Debug, Default)]
struct State {
    pods: BTreeMap<String, PodResources>,
    offered: Vec<ContainerDevices>,
    mood: Mood,
    offers_get: bool,
    calls: BTreeMap<&'static str, u32>,
}

/// What it knows, whoever serves it.
#[derive(Debug, Clone, Default)]
pub struct Knowledge(Arc<Mutex<State>>);

impl Knowledge {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().expect("state"))
    }

    /// A container holds these ids.
    pub fn give(&self, pod: &str, container: &str, resource: &str, ids: &[String]) {
        let devices = vec![ContainerDevices { resource_name: resource.into(), device_ids: ids.to_vec() }];
        self.add(pod, ContainerResources { name: container.into(), devices, dynamic_resources: Vec::new() });
    }

    /// A container holds a device of a claim.
    pub fn claim(&self, pod: &str, container: &str, claim: &str, device: &str) {
        let resource = ClaimResource {
            cdi_devices: vec![CdiDevice { name: format!("k8s.gpu.nvidia.com/claim={claim}") }],
            driver_name: "gpu.nvidia.com".into(),
            pool_name: "n1".into(),
            device_name: device.into(),
            share_id: None,
        };
        let claim = DynamicResource {
            claim_name: claim.into(),
            claim_namespace: "ns".into(),
            claim_resources: vec![resource],
        };
        self.add(
            pod,
            ContainerResources {
                name: container.into(),
                devices: Vec::new(),
                dynamic_resources: vec![claim],
            },
        );
    }

    fn add(&self, pod: &str, container: ContainerResources) {
        let empty = || PodResources { name: pod.into(), namespace: "ns".into(), containers: Vec::new() };
        self.change(|state| state.pods.entry(pod.into()).or_insert_with(empty).containers.push(container));
    }

    /// It no longer lists a pod.
    pub fn take(&self, pod: &str) {
        self.change(|state| drop(state.pods.remove(pod)));
    }

    /// A device is cut into so many slots.
    pub fn offer(&self, device: &str, slots: u32) {
        let device_ids = (0..slots).map(|n| format!("{device}::{n}")).collect();
        self.change(|state| {
            state.offered.push(ContainerDevices { resource_name: "nvidia.com/gpu".into(), device_ids })
        });
    }

    /// It answers so from now on.
    pub fn set_mood(&self, mood: Mood) {
        self.change(|state| state.mood = mood);
    }

    /// It knows `Get`.
    pub fn set_get(&self, offers: bool) {
        self.change(|state| state.offers_get = offers);
    }

    /// How often it was asked so.
    pub fn calls(&self, method: &str) -> u32 {
        self.change(|state| state.calls.get(method).copied().unwrap_or(0))
    }

    async fn answer<A>(
        &self,
        method: &'static str,
        answer: impl FnOnce(&State) -> Result<A, Status>,
    ) -> Result<A, Status> {
        let mood = self.change(|state| {
            *state.calls.entry(method).or_default() += 1;
            state.mood.clone()
        });
        match mood {
            Mood::Well => {}
            Mood::RateLimited => return Err(Status::resource_exhausted("rejected by rate limit")),
            Mood::Waits(mut told) => drop(told.wait_for(|told| *told).await),
        }
        self.change(|state| answer(state))
    }
}

struct Call<F>(F);

impl<Q, A, F: FnMut(Q) -> Result<A, Status>> UnaryService<Q> for Call<F> {
    type Response = A;
    type Future = Ready<Result<Response<A>, Status>>;
    fn call(&mut self, question: Request<Q>) -> Self::Future {
        ready((self.0)(question.into_inner()).map(Response::new))
    }
}

#[derive(Clone)]
struct Lister(Knowledge);

impl NamedService for Lister {
    const NAME: &'static str = "v1.PodResourcesLister";
}

impl Service<http::Request<Body>> for Lister {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let knowledge = self.0.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            Ok(match path.as_str() {
                "/v1.PodResourcesLister/List" => {
                    let list = |state: &State| {
                        Ok(ListPodResourcesResponse { pod_resources: state.pods.values().cloned().collect() })
                    };
                    let mut answer = Some(knowledge.answer("List", list).await);
                    let call = Call(move |_: Empty| answer.take().expect("asked once"));
                    Grpc::new(ProstCodec::<ListPodResourcesResponse, Empty>::default())
                        .unary(call, request)
                        .await
                }
                "/v1.PodResourcesLister/GetAllocatableResources" => {
                    let offer =
                        |state: &State| Ok(AllocatableResourcesResponse { devices: state.offered.clone() });
                    let mut answer = Some(knowledge.answer("GetAllocatableResources", offer).await);
                    let call = Call(move |_: Empty| answer.take().expect("asked once"));
                    Grpc::new(ProstCodec::<AllocatableResourcesResponse, Empty>::default())
                        .unary(call, request)
                        .await
                }
                "/v1.PodResourcesLister/Get" => {
                    let call = Call(move |question: GetPodResourcesRequest| {
                        knowledge.change(|state| {
                            *state.calls.entry("Get").or_default() += 1;
                            if !state.offers_get {
                                return Err(Status::unimplemented(
                                    "the PodResources API Get method is disabled",
                                ));
                            }
                            let pod = state.pods.get(&question.pod_name).cloned();
                            Ok(GetPodResourcesResponse { pod_resources: pod })
                        })
                    });
                    Grpc::new(ProstCodec::<GetPodResourcesResponse, GetPodResourcesRequest>::default())
                        .unary(call, request)
                        .await
                }
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

/// A running kubelet; dropping it closes its socket.
pub struct Kubelet {
    socket: PathBuf,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Kubelet {
    /// Serves what is known on `kubelet.sock` in this folder.
    pub fn start(dir: &Path, knowledge: &Knowledge) -> Self {
        let socket = dir.join("kubelet.sock");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("runtime");
        let listener = {
            let _inside = runtime.enter();
            tokio::net::UnixListener::bind(&socket).expect("socket")
        };
        let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
        let server = tonic::transport::Server::builder().add_service(Lister(knowledge.clone()));
        runtime.spawn(server.serve_with_incoming(incoming));
        Self { socket, runtime: Some(runtime) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        drop(std::fs::remove_file(&self.socket));
    }
}
