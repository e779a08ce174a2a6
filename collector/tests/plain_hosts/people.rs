//! Owners of plain hosts' processes, as `/proc` shows them.

use super::id;
use super::proc::{Proc, Shown};
use collector::owner::{OwnerLookup, Procfs, WrongPlace};
use schema::owner::{Owner, OwnerKind};
use std::path::Path;

fn procfs(dir: &Path, proc: &Proc) -> Procfs {
    let (passwd, subuid) = (dir.join("passwd"), dir.join("subuid"));
    std::fs::write(&passwd, "root:x:0:0::/:/bin/sh\nada:x:1000:1000::/:/bin/sh\ndockremap:x:900:900::/:\n")
        .expect("file");
    std::fs::write(&subuid, "ada:100000:65536\ndockremap:300000:65536\nroot:500000:65536\n").expect("file");
    Procfs::new(proc.root(), Some(passwd)).with_subuid(Some(subuid))
}

/// An owner as `Kind key=value ...`.
fn told(owner: &Owner) -> String {
    let attributes: Vec<String> =
        owner.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{:?} {}", owner.kind, attributes.join(" "))
}

/// Rootless, as `podman run` and `dockerd-rootless` map it.
const ROOTLESS: &str = "         0       1000          1\n         1     100000      65536\n";

#[test]
fn every_owner_of_a_plain_host_is_told_by_what_started_it() {
    let c = id("c");
    let user = "0::/user.slice/user-1000.slice/user@1000.service";
    let rows: Vec<(&str, String, Shown, String)> = vec![
        (
            "a container of the daemon's is nobody's by its user",
            format!("0::/system.slice/docker-{c}.scope"),
            Shown { login: Some(1000), ..Shown::default() },
            format!("Container container_id={c}"),
        ),
        (
            "rootless podman, the user in the path",
            format!("{user}/user.slice/libpod-{c}.scope/container"),
            Shown { uid: 100_999, uid_map: ROOTLESS, ..Shown::default() },
            format!("Container container_id={c} uid=1000 user=ada"),
        ),
        (
            "rootless docker, the user in the namespace's map alone",
            format!("0::/docker/{c}"),
            Shown { uid: 100_999, uid_map: ROOTLESS, ..Shown::default() },
            format!("Container container_id={c} uid=1000 user=ada"),
        ),
        (
            "podman --userns=keep-id: the namespace's root is a subordinate id",
            format!("0::/libpod_parent/libpod-{c}"),
            Shown {
                uid: 1000,
                uid_map: "         0     100000       1000\n      1000       1000          1\n",
                ..Shown::default()
            },
            format!("Container container_id={c} uid=1000 user=ada"),
        ),
        (
            "docker's userns-remap is the daemon's, and nobody's",
            format!("0::/system.slice/docker-{c}.scope"),
            Shown { uid: 300_000, uid_map: "         0     300000      65536\n", ..Shown::default() },
            format!("Container container_id={c}"),
        ),
        (
            "quadlet: unit and container",
            format!("0::/system.slice/train.service/libpod-payload-{c}"),
            Shown::default(),
            format!("Container container_id={c} unit=train.service"),
        ),
        (
            "docker within docker is the outer container's",
            format!("0::/system.slice/docker-{c}.scope/docker/{}", id("inner")),
            Shown::default(),
            format!("Container container_id={c}"),
        ),
        (
            "a service in LXC is the container's, and its users are another system's",
            "0::/lxc.payload.first/user.slice/user-1000.slice/session-1.scope".into(),
            Shown { uid: 501_000, uid_map: "         0     500000      65536\n", ..Shown::default() },
            "Container container_name=first".into(),
        ),
        (
            "a service and the user that it runs as",
            "0::/system.slice/train.service".into(),
            Shown { uid: 1000, ..Shown::default() },
            "Systemd uid=1000 unit=train.service user=ada".into(),
        ),
        (
            "a service that somebody started by hand through sudo",
            "0::/system.slice/train.service".into(),
            Shown { login: Some(1000), ..Shown::default() },
            "Systemd uid=1000 unit=train.service user=ada".into(),
        ),
        (
            "a unit of a user's own manager",
            format!("{user}/app.slice/notebook.service"),
            Shown { uid: 1000, ..Shown::default() },
            "User uid=1000 user=ada user_unit=notebook.service".into(),
        ),
        (
            "what the user's manager numbers is the user's alone",
            format!("{user}/app.slice/run-r3f1.service"),
            Shown { uid: 1000, ..Shown::default() },
            "User uid=1000 user=ada".into(),
        ),
        (
            "a login",
            "0::/user.slice/user-1000.slice/session-3.scope".into(),
            Shown { uid: 1000, ..Shown::default() },
            "User uid=1000 user=ada".into(),
        ),
        (
            "root, become by somebody who logged in",
            "0::/init.scope".into(),
            Shown { login: Some(1000), ..Shown::default() },
            "User uid=1000 user=ada".into(),
        ),
        (
            "a rootless container without a cgroup of its own",
            "0::/".into(),
            Shown { uid: 100_999, uid_map: ROOTLESS, ..Shown::default() },
            "User uid=1000 user=ada".into(),
        ),
        (
            "a user that no file names",
            "0::/".into(),
            Shown { uid: 54_321, ..Shown::default() },
            "User uid=54321".into(),
        ),
        (
            "libvirt's machine",
            r"0::/machine.slice/machine-qemu\x2d2\x2dinstance\x2d00000001.scope/libvirt/emulator".into(),
            Shown { uid: 64_055, ..Shown::default() },
            "Vm vm_id=instance-00000001".into(),
        ),
        (
            "a step's own daemon is root's and not the job's",
            "0::/system.slice/slurmstepd.scope/job_211/step_batch/slurm".into(),
            Shown::default(),
            "User uid=0 user=root".into(),
        ),
        ("Talos' own", "0::/podruntime/runtime".into(), Shown::default(), "User uid=0 user=root".into()),
    ];
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    let mut owners = procfs(dir.path(), &proc);
    for (pid, (shows, cgroup, shown, want)) in (1..).zip(rows) {
        proc.put(pid, &Shown { cgroup, ..shown });
        assert_eq!(told(&owners.lookup(pid).owner.owner), want, "{shows}");
    }
}

#[test]
fn the_evidence_holds_the_path_and_both_ids() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    proc.put(7, &Shown { cgroup: "0::/a\n".into(), login: Some(1000), ..Shown::default() });
    let found = procfs(dir.path(), &proc).lookup(7);
    assert_eq!(found.owner.owner.evidence, "uid 1000; cgroup \"0::/a\"; real uid 0, login uid 1000");
}

#[test]
fn a_number_that_is_used_again_is_another_process_from_its_own_start_on() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    let mut owners = procfs(dir.path(), &proc);
    proc.put(4242, &Shown { uid: 1000, ticks: 500, ..Shown::default() });
    let first = owners.lookup(4242);
    proc.put(4242, &Shown { uid: 1001, ticks: 900, ..Shown::default() });
    let second = owners.lookup(4242);
    assert_eq!(first.owner.owner.attributes["uid"], "1000");
    assert_eq!(second.owner.owner.attributes["uid"], "1001");
    assert_eq!((first.started_ms, second.started_ms), (Some(1_005_000), Some(1_009_000)));
}

#[test]
fn a_collector_that_sees_none_of_the_drivers_processes_says_where_it_wrongly_stands() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    let mut owners = procfs(dir.path(), &proc);
    for _ in 0..2 {
        let found = owners.lookup(7);
        assert_eq!(found.owner.owner.kind, OwnerKind::Unknown, "to unattributed, not to nobody");
        owners.keep_only(&[7]);
    }
    assert_eq!(owners.wrong_place(), Some(WrongPlace::NoHostPids));
    assert_eq!(owners.unresolved(), 2);
    proc.put(7, &Shown::default());
    owners.lookup(7);
    owners.keep_only(&[7]);
    assert_eq!(owners.wrong_place(), None);
}

#[test]
fn a_cgroup_namespace_that_hides_everybody_is_said_and_its_processes_are_nobodys() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    std::fs::create_dir_all(proc.root().join("self/ns")).expect("folder");
    std::os::unix::fs::symlink("cgroup:[4026532501]", proc.root().join("self/ns/cgroup")).expect("link");
    let mut owners = procfs(dir.path(), &proc);
    proc.put(7, &Shown { cgroup: "0::/\n".into(), uid: 1000, ..Shown::default() });
    proc.put(8, &Shown { cgroup: "0::/../../..\n".into(), uid: 1000, ..Shown::default() });
    for _ in 0..2 {
        assert_eq!(owners.lookup(7).owner.owner.kind, OwnerKind::Unknown);
        assert_eq!(owners.lookup(8).owner.owner.kind, OwnerKind::Unknown);
        owners.keep_only(&[7, 8]);
    }
    assert_eq!(owners.wrong_place(), Some(WrongPlace::HiddenCgroups));
    proc.remove(8);
}
