//! What Kubernetes gave to whom on this node: the second witness to held time, and the names behind pods' UIDs.
//!
//! ```text
//! kubelet PodResources -> kubelet (last word) --\
//! API server -> watch (mirrors) -> cluster ------> holds -> ledger -> allocations on a board -> sampler
//!                                                         ^-> kept (the state directory)
//! ```
//!
//! Parsers and joins are pure; only `api`, `watch`, `podresources`, `kubelet`, `kept` and `service` touch the outside. The law:
//! what the kubelet or the API server didn't say is held by nobody and counted as unresolved, and nothing here can
//! delay a sample.

pub mod api;
pub mod claims;
pub mod cluster;
pub mod config;
pub mod device_id;
pub mod devices;
pub mod dra;
pub mod fractions;
pub mod health;
pub mod holds;
pub mod kept;
pub mod kubelet;
pub mod ledger;
pub mod metrics;
pub mod objects;
pub mod owners;
pub mod pod;
pub mod podresources;
pub mod quantity;
pub mod service;
pub mod watch;

pub use config::{Enabled, KubernetesConfig};
pub use health::degradations;
pub use service::{Clock, Running, StartError, Witness, start};
