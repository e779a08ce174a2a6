//! The chain of layers that `/proc/<pid>/cgroup` tells of: pure text, version 1, 2 and hybrid.
//!
//! Components are recognised by their own form, never by where the path starts, because collectors, kubelets and
//! systemd all run inside other things. The chain runs from the outermost layer to the innermost.

/// One recognised layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// A Kubernetes pod, and its container once the path reaches it.
    Pod {
        /// Pod UID; a static pod's is its config hash.
        uid: String,
        /// Container id.
        container: Option<String>,
    },
    /// A Slurm job or, from Slurm 26.05, its SLUID.
    Slurm {
        /// Raw job id or SLUID.
        job: String,
        /// User id, where the path names it (version 1).
        uid: Option<u32>,
    },
    /// A container outside Kubernetes.
    Container {
        /// 64 hexadecimal digits.
        id: String,
    },
    /// A container of LXC: a whole system with users and units of its own.
    Lxc {
        /// Its name.
        name: String,
    },
    /// A virtual machine.
    Machine {
        /// Name without systemd's escapes and prefixes.
        name: String,
    },
    /// A systemd unit.
    Unit {
        /// Unescaped name.
        name: String,
    },
    /// A user's slice.
    User {
        /// User id.
        uid: u32,
    },
}

impl Layer {
    /// How much a layer says: a pod more than a job, a job more than a container, a container more than a unit.
    fn rank(&self) -> u8 {
        match self {
            Layer::Pod { .. } => 6,
            Layer::Slurm { .. } => 5,
            Layer::Container { .. } | Layer::Lxc { .. } => 4,
            Layer::Machine { .. } => 3,
            Layer::User { .. } => 2,
            Layer::Unit { .. } => 1,
        }
    }
}

/// The layers of the most telling line of a cgroup file, and that line. Empty where no line says anything.
pub fn layers(file: &str) -> (Vec<Layer>, &str) {
    let mut best: (Vec<Layer>, &str) = (Vec::new(), "");
    for line in file.lines() {
        // Only the first two colons separate: containerd under cgroupfs puts more into the path.
        let Some(path) = line.splitn(3, ':').nth(2) else { continue };
        let chain = chain(path);
        let rank = |chain: &[Layer]| chain.iter().map(Layer::rank).max().unwrap_or(0);
        if rank(&chain) > rank(&best.0) {
            best = (chain, line);
        }
    }
    best
}

fn chain(path: &str) -> Vec<Layer> {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let mut chain: Vec<Layer> = Vec::new();
    let mut in_kubepods = false;
    let mut slurm_uid = None;
    let mut in_slurm = false;
    // Below its manager a user may make cgroups of any name: what looks like a scheduler's there is the user's own.
    let mut of_user = false;
    let mut before = "";
    for component in path.split('/').flat_map(split_containerd) {
        let parent = std::mem::replace(&mut before, component);
        of_user |= component.starts_with("user@");
        in_kubepods |= component.contains("kubepods") && !of_user;
        if component == "slurm" && matches!(chain.last(), Some(Layer::Slurm { .. })) {
            // The step's own daemon: it is in the job, and isn't the job's.
            chain.pop();
            continue;
        }
        in_slurm |= !of_user
            && (component == "slurmstepd.scope"
                || component.ends_with("_slurmstepd.scope")
                || component == "slurm"
                || component.starts_with("slurm_"));
        if in_kubepods && let Some(uid) = pod_uid(component) {
            chain.push(Layer::Pod { uid, container: None });
        } else if let Some(id) = container_id(component) {
            match chain.iter_mut().rev().find_map(|layer| match layer {
                Layer::Pod { container, .. } => Some(container),
                _ => None,
            }) {
                // A container started inside a pod's container is the pod's: only the first is kept.
                Some(container) => *container = container.take().or(Some(id)),
                None => chain.push(Layer::Container { id }),
            }
        } else if in_slurm && let Some(uid) = component.strip_prefix("uid_").and_then(|uid| uid.parse().ok())
        {
            slurm_uid = Some(uid);
        } else if in_slurm && let Some(job) = slurm_job(component) {
            chain.push(Layer::Slurm { job, uid: slurm_uid });
        } else if let Some(name) = lxc(parent, component) {
            chain.push(Layer::Lxc { name: name.to_owned() });
        } else if !of_user && let Some(name) = machine(component) {
            chain.push(Layer::Machine { name });
        } else if let Some(layer) = plain(component) {
            chain.push(layer);
        }
    }
    chain
}

/// `kubepods-...-pod<uid>.slice:cri-containerd:<id>` is two layers in one component.
fn split_containerd(component: &str) -> impl Iterator<Item = &str> {
    let mut parts = component.splitn(3, ':');
    let first = parts.next();
    let (_, last) = (parts.next(), parts.next());
    first.into_iter().chain(last)
}

/// `pod<uid>` or `...-pod<uid>.slice`. It is anchored on the component: the `d` of `pod` is a hexadecimal digit too.
fn pod_uid(component: &str) -> Option<String> {
    let uid = match component.strip_suffix(".slice") {
        Some(slice) => slice.rsplit_once("-pod").map(|(_, uid)| uid)?.replace('_', "-"),
        None => component.strip_prefix("pod")?.to_owned(),
    };
    let plausible = !uid.is_empty() && uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    plausible.then_some(uid)
}

/// 64 hexadecimal digits, alone or behind a runtime's prefix. Helpers that wait beside a container aren't it.
fn container_id(component: &str) -> Option<String> {
    let name = component.strip_suffix(".scope").unwrap_or(component);
    if name.contains("conmon-") {
        return None;
    }
    let id = name.rsplit('-').next().unwrap_or(name);
    (id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id.to_owned())
}

fn slurm_job(component: &str) -> Option<String> {
    if let Some(job) = component.strip_prefix("job_") {
        return job.bytes().all(|b| b.is_ascii_digit()).then(|| job.to_owned()).filter(|job| !job.is_empty());
    }
    let sluid = component.strip_prefix('s')?;
    let crockford = |b: u8| b.is_ascii_digit() || (b.is_ascii_uppercase() && !b"ILOU".contains(&b));
    (sluid.len() == 13 && sluid.bytes().all(crockford)).then(|| component.to_owned())
}

/// `lxc.payload.<name>`, and `lxc/<name>` as older LXC and Proxmox have it; its monitor isn't it.
fn lxc<'a>(parent: &str, component: &'a str) -> Option<&'a str> {
    let name = match component.strip_prefix("lxc.payload.") {
        Some(name) => name,
        None => (parent == "lxc").then_some(component)?,
    };
    (!name.is_empty()).then_some(name)
}

/// `machine-<name>.scope`; libvirt's name there is `qemu-<number>-<name>`.
fn machine(component: &str) -> Option<String> {
    let name = unescape(component.strip_prefix("machine-")?.strip_suffix(".scope")?);
    Some(match name.strip_prefix("qemu-").and_then(|rest| rest.split_once('-')) {
        Some((_, name)) => name.to_owned(),
        None => name,
    })
}

/// Units that run others rather than being somebody's work.
const RUNNERS: [&str; 8] = [
    "containerd.service",
    "crio.service",
    "docker.service",
    "kubelet.service",
    "libvirtd.service",
    "podman.service",
    "slurmd.service",
    "virtqemud.service",
];

fn plain(component: &str) -> Option<Layer> {
    if let Some(uid) = component.strip_prefix("user-").and_then(|rest| rest.strip_suffix(".slice")) {
        return uid.parse().ok().map(|uid| Layer::User { uid });
    }
    let is_unit = component.ends_with(".service")
        || (component.ends_with(".slice") && component.starts_with("system-"));
    let is_own = is_unit && !component.starts_with("user@") && !RUNNERS.contains(&component);
    is_own.then(|| Layer::Unit { name: unescape(component) })
}

/// Undoes systemd's `\x2d`.
fn unescape(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("\\x") {
        plain.push_str(&rest[..at]);
        match rest.get(at + 2..at + 4).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                plain.push_str("\\x");
                rest = &rest[at + 2..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;
