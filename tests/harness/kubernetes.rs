//! A cluster's two mouths, as far as a node's witness listens: a kubelet on its Unix socket and an API server over HTTP,
//! both in the shapes of the real ones.

pub mod api_server;
pub mod kubelet;

use std::time::{Duration, Instant};

/// How long the threads under test may take: far more than they need on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so: the threads under test answer in their own time. `None` after a minute.
pub fn in_time<T>(mut is_so: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(found) = is_so() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// [`in_time`] for tests.
///
/// # Panics
/// It never came.
pub fn eventually<T>(what: &str, is_so: impl FnMut() -> Option<T>) -> T {
    in_time(is_so).unwrap_or_else(|| panic!("never came: {what}"))
}

/// A container's id: 64 hexadecimal digits, always the same for a name.
pub fn container_id(name: &str) -> String {
    format!("{:0<64}", name.bytes().map(|b| format!("{b:02x}")).collect::<String>())
}

/// The line in `/proc/<pid>/cgroup` of a process in a container, from a kubelet with the systemd driver.
pub fn cgroup(pod_uid: &str, container_id: &str) -> String {
    let uid = pod_uid.replace('-', "_");
    let pod = format!("kubepods-burstable-pod{uid}.slice");
    format!("0::/kubepods.slice/kubepods-burstable.slice/{pod}/cri-containerd-{container_id}.scope")
}
