//! Containers get their names from the daemons that run them, whatever those daemons do.

use super::daemon::{Daemon, Kind, Knowledge, Mood};
use super::proc::{Proc, Shown};
use super::{eventually, id, now_ms};
use collector::containers::{Noticed, Settings, Witness};
use collector::owner::{OwnerLookup, Procfs};
use schema::owner::{Owner, OwnerKind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A node with a witness of containers; its sockets lie in a folder of its own.
pub struct Host {
    dir: tempfile::TempDir,
    proc: Proc,
    pub witness: Witness,
    pub owners: Noticed<Procfs>,
}

impl Host {
    /// With both daemons' sockets and users' own, asked with this deadline.
    pub fn new(deadline: Duration, wait_ms: i64) -> Self {
        let dir = tempfile::tempdir().expect("folder");
        let proc = Proc::new(dir.path());
        let settings = Settings {
            sockets: vec![dir.path().join("docker.sock"), dir.path().join("podman.sock")],
            user_runtime: Some(dir.path().join("user")),
            labels: vec!["team".into()],
            deadline,
            wait_ms,
            aliases: true,
        };
        let witness = Witness::start(settings, now_ms).expect("starts");
        let register = Some(witness.register().clone());
        let owners = Noticed::new(Procfs::new(proc.root(), None), register, true, Arc::new(now_ms));
        Self { dir, proc, witness, owners }
    }

    pub fn socket(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Meets a process with this cgroup.
    fn meet(&mut self, pid: u32, cgroup: &str) {
        self.proc.put(pid, &Shown { cgroup: format!("0::{cgroup}\n"), ..Shown::default() });
        self.owners.lookup(pid);
    }

    /// The record on the board.
    fn record(&self, kind: OwnerKind, id: &str) -> Option<Owner> {
        let said = self.witness.register().board().current();
        said.owners.get(&(kind, id.to_owned())).map(|owner| Owner::clone(owner))
    }

    fn named(&self, id: &str) -> Owner {
        eventually("the container's record", || self.record(OwnerKind::Container, id))
    }

    /// Whether a window that ends now would be sent.
    fn is_all_known(&self) -> bool {
        let now = now_ms();
        eventually("a later word", || {
            let known_ms = self.witness.register().board().current().known_until_ms;
            (known_ms >= now || self.witness.health().standing().awaited > 0).then_some(known_ms >= now)
        })
    }
}

fn docker(id: &str) -> String {
    format!("/system.slice/docker-{id}.scope")
}

fn attributes(owner: &Owner) -> Vec<String> {
    owner.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

const SOON: Duration = Duration::from_secs(5);

/// The user whose sockets a test can serve: itself.
fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

#[test]
fn a_container_is_told_by_name_image_and_wanted_labels_whichever_daemon_runs_it() {
    let mut host = Host::new(SOON, 60_000);
    let (of_docker, of_podman) = (Knowledge::default(), Knowledge::default());
    let _docker = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &of_docker);
    let _podman = Daemon::start(&host.socket("podman.sock"), Kind::Podman, &of_podman);
    let (train, serve, other) = (id("train"), id("serve"), id("other"));
    of_docker.run(&train, "train", "nvcr.io/nvidia/pytorch:26.09-py3", &[("team", "vision"), ("x", "y")]);
    of_podman.run(&serve, "serve", "quay.io/serve:1", &[]);
    host.meet(1, &docker(&train));
    host.meet(2, &format!("/machine.slice/libpod-{serve}.scope/container"));
    host.meet(3, &docker(&other));

    let record = host.named(&train);
    assert_eq!(
        attributes(&record),
        [
            format!("container_id={train}"),
            "container_name=train".into(),
            "image=nvcr.io/nvidia/pytorch:26.09-py3".into(),
            "label:team=vision".into()
        ]
    );
    let socket = host.socket("docker.sock");
    assert_eq!(record.evidence, format!("Docker at {}: container train", socket.display()));
    let record = host.named(&serve);
    assert!(record.evidence.starts_with("Podman at "), "{}", record.evidence);
    assert!(!record.attributes.keys().any(|key| key.starts_with("label:")));
    // What neither knows is another runtime's: it is asked about once, and nothing waits for it.
    eventually("both said no", || (host.witness.health().standing().nobodys == 1).then_some(()));
    assert!(host.is_all_known());
    assert_eq!((of_docker.asked(&other), of_podman.asked(&other)), (1, 1));
    assert_eq!(host.witness.health().last_error(), None);
}

#[test]
fn a_users_container_is_told_by_the_users_own_daemon_and_by_no_other() {
    let mut host = Host::new(SOON, 60_000);
    let uid = own_uid();
    let stranger = uid + 1;
    let (of_root, of_user) = (Knowledge::default(), Knowledge::default());
    let _root = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &of_root);
    let own = host.socket(&format!("user/{uid}/podman/podman.sock"));
    let _own = Daemon::start(&own, Kind::Podman, &of_user);
    // Whoever has another user's folder lead to a daemon of his own isn't believed.
    let forged = host.socket(&format!("user/{stranger}/docker.sock"));
    std::fs::create_dir_all(forged.parent().expect("a folder")).expect("folder");
    std::os::unix::fs::symlink(&own, &forged).expect("link");
    let (train, victim) = (id("train"), id("victim"));
    of_root.run(&train, "root-owned", "r", &[("team", "platform")]);
    of_root.run(&victim, "victim", "r", &[("team", "platform")]);
    of_user.run(&train, "train", "t", &[("team", "vision")]);
    of_user.run(&victim, "victim", "t", &[("team", "vision")]);
    let path = |uid: u32, id: &str| {
        format!("/user.slice/user-{uid}.slice/user@{uid}.service/user.slice/libpod-{id}.scope/container")
    };
    host.meet(1, &path(uid, &train));
    host.meet(2, &path(stranger, &victim));

    let record = host.named(&format!("{uid}/{train}"));
    assert_eq!(record.attributes["label:team"], "vision");
    assert_eq!(record.attributes["uid"], uid.to_string());
    eventually("the stranger was refused", || (host.witness.health().counts().1 > 0).then_some(()));
    assert_eq!((of_user.asked(&victim), of_root.asked(&victim), of_root.asked(&train)), (0, 0, 0));
    assert_eq!(host.record(OwnerKind::Container, &format!("{stranger}/{victim}")), None);
    assert_eq!(host.witness.health().last_error(), None, "a user's daemon isn't the node's fault");
}

#[test]
fn a_daemon_that_hangs_holds_up_no_look_up_and_is_asked_again() {
    let mut host = Host::new(Duration::from_millis(200), 600_000);
    let (of_docker, of_podman) = (Knowledge::default(), Knowledge::default());
    let _docker = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &of_docker);
    let _podman = Daemon::start(&host.socket("podman.sock"), Kind::Podman, &of_podman);
    of_docker.set_mood(Mood::Hangs);
    let (train, serve) = (id("train"), id("serve"));
    of_docker.run(&train, "train", "t", &[]);
    of_podman.run(&serve, "serve", "s", &[]);
    host.meet(1, &docker(&train));
    host.meet(2, &format!("/machine.slice/libpod-{serve}.scope/container"));
    // The other daemon's containers are named meanwhile.
    host.named(&serve);
    assert!(!host.is_all_known(), "windows wait");
    let error = eventually("the deadline", || host.witness.health().last_error());
    assert!(error.ends_with("docker.sock: it didn't answer in time"), "{error}");
    of_docker.set_mood(Mood::Well);
    host.named(&train);
    assert!(host.is_all_known());
    eventually("all is well", || host.witness.health().last_error().is_none().then_some(()));
}

#[test]
fn a_daemon_that_is_down_is_said_and_its_containers_are_named_when_it_is_back() {
    let mut host = Host::new(SOON, 600_000);
    let knowledge = Knowledge::default();
    let _podman = Daemon::start(&host.socket("podman.sock"), Kind::Podman, &Knowledge::default());
    let first = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &knowledge);
    let (before, after) = (id("before"), id("after"));
    knowledge.run(&before, "before", "b", &[]);
    knowledge.run(&after, "after", "a", &[]);
    host.meet(1, &docker(&before));
    host.named(&before);
    drop(first);
    host.meet(2, &docker(&after));
    let error = eventually("it is said", || host.witness.health().last_error());
    assert!(error.contains("docker.sock: could not connect"), "{error}");
    assert!(!host.is_all_known());
    let page = host.witness.health().render("n1");
    assert!(page.contains("slicemeter_containers{node=\"n1\",state=\"awaited\"} 1"), "{page}");
    let _second = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &knowledge);
    host.named(&after);
    assert_eq!(knowledge.asked(&before), 1, "what was answered is asked no second time");
    eventually("all is well", || host.witness.health().last_error().is_none().then_some(()));
}

#[test]
fn an_answer_that_is_none_is_a_failure_and_not_a_name() {
    let mut host = Host::new(SOON, 600_000);
    let knowledge = Knowledge::default();
    let _docker = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &knowledge);
    let _podman = Daemon::start(&host.socket("podman.sock"), Kind::Podman, &Knowledge::default());
    let moods = [
        (Mood::Refuses(500), "status 500"),
        (Mood::Floods, "less than 1 MiB"),
        (Mood::Babbles, "no container's"),
    ];
    for (pid, (mood, want)) in (1..).zip(moods) {
        let own = id(&format!("c{pid}"));
        knowledge.run(&own, "train", "t", &[("team", "vision")]);
        knowledge.set_mood(mood);
        host.meet(pid, &docker(&own));
        eventually(want, || host.witness.health().last_error().filter(|said| said.contains(want)));
        assert_eq!(host.record(OwnerKind::Container, &own), None, "{mood:?}");
        knowledge.set_mood(Mood::Well);
        host.named(&own);
    }
}

#[test]
fn a_pod_in_kind_is_told_by_its_nodes_container_where_nobody_knows_pods() {
    let mut host = Host::new(SOON, 60_000);
    let knowledge = Knowledge::default();
    let _docker = Daemon::start(&host.socket("docker.sock"), Kind::Docker, &knowledge);
    let _podman = Daemon::start(&host.socket("podman.sock"), Kind::Podman, &Knowledge::default());
    let (node, inner) = (id("node"), id("inner"));
    knowledge.run(&node, "kind-worker", "kindest/node:v1.34", &[("team", "vision")]);
    let pod =
        "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podeab5a334_93fe_48a8_b139_9e8079c1f163.slice";
    host.meet(1, &format!("{}/{pod}/cri-containerd-{inner}.scope", docker(&node)));
    let key = format!("eab5a334-93fe-48a8-b139-9e8079c1f163/{inner}");
    let record = eventually("the node's record", || host.record(OwnerKind::Kubernetes, &key));
    assert_eq!(record.attributes["container_name"], "kind-worker");
}

#[test]
fn without_a_container_nobody_is_asked_and_nothing_waits() {
    let host = Host::new(SOON, 60_000);
    assert!(host.is_all_known());
    assert_eq!(host.witness.health().counts(), (0, 0));
    assert_eq!(host.witness.health().last_error(), None);
}
