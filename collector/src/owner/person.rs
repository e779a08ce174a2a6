//! Which person a process is of, from four numbers that may all differ: the user of its cgroup's path, the id that logged
//! in, its real id, and the root of its user namespace. Pure: what was read goes in, a user id and its reason come out.

use super::cgroup::Layer;
use schema::owner::OwnerKind;

/// What was read of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ids {
    /// Real user id.
    pub real: Option<u32>,
    /// The user that logged in, whatever the process turned into since.
    pub login: Option<u32>,
    /// The person behind the process's user namespace, where it is in one and there is such a person.
    pub namespace: Option<u32>,
    /// Whether it is in a user namespace other than the host's, or its real id is a subordinate one.
    pub in_namespace: bool,
}

/// The person, and what more than the path was looked at to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// User id on the host.
    pub uid: u32,
    /// For the evidence; empty where the path or the real id alone says it.
    pub said: String,
}

/// The person that a process of this kind is of; `None` where nothing tells one.
pub(super) fn person(kind: OwnerKind, chain: &[Layer], ids: Ids) -> Option<Person> {
    let plain = |uid| Person { uid, said: String::new() };
    let path = user_of_path(chain);
    match kind {
        // They run as root, or as whatever their image says, for everybody: their ids say nothing of a person.
        OwnerKind::Kubernetes | OwnerKind::Vm => path.map(plain),
        OwnerKind::Container => path.map(plain).or_else(|| {
            ids.namespace.map(|uid| Person { uid, said: format!("user namespace of uid {uid}") })
        }),
        _ => path.filter(|uid| *uid != 0).map(plain).or_else(|| by_ids(kind, ids)).or(path.map(plain)),
    }
}

/// The user whose slice, or whose job, the process is in. Slices within a container are those of another system.
fn user_of_path(chain: &[Layer]) -> Option<u32> {
    let is_system = |layer: &&Layer| {
        !matches!(
            layer,
            Layer::Pod { .. } | Layer::Container { .. } | Layer::Lxc { .. } | Layer::Machine { .. }
        )
    };
    chain.iter().take_while(is_system).find_map(|layer| match layer {
        Layer::User { uid } => Some(*uid),
        Layer::Slurm { uid, .. } => *uid,
        _ => None,
    })
}

fn by_ids(kind: OwnerKind, ids: Ids) -> Option<Person> {
    let real = ids.real.map_or("unknown".to_owned(), |uid| uid.to_string());
    // A job's processes are its user's. Elsewhere whoever logged in is charged, not whom they turned into.
    if let Some(uid) = ids.login.filter(|uid| kind != OwnerKind::Slurm && ids.real != Some(*uid)) {
        return Some(Person { uid, said: format!("real uid {real}, login uid {uid}") });
    }
    if ids.in_namespace
        && let Some(uid) = ids.namespace
    {
        return Some(Person { uid, said: format!("real uid {real}, user namespace of uid {uid}") });
    }
    ids.real.map(|uid| Person { uid, said: String::new() })
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::layers;
    use super::*;

    fn uid(kind: OwnerKind, cgroup: &str, ids: Ids) -> Option<u32> {
        person(kind, &layers(cgroup).0, ids).map(|person| person.uid)
    }

    #[test]
    fn the_person_is_found_behind_what_a_process_turned_into() {
        use OwnerKind::{Container, Kubernetes, Slurm, Systemd, User};
        let real = |real| Ids { real: Some(real), ..Ids::default() };
        let sudo = Ids { login: Some(1000), ..real(0) };
        let rootless = Ids { namespace: Some(1000), in_namespace: true, ..real(100_999) };
        let remapped = Ids { in_namespace: true, ..real(300_000) };
        let docker = &format!("0::/system.slice/docker-{}.scope", "a".repeat(64));
        let cases: [(OwnerKind, &str, Ids, Option<u32>, &str); 14] = [
            (User, "0::/", real(1000), Some(1000), "a plain process"),
            (User, "0::/", sudo, Some(1000), "sudo: who logged in"),
            (User, "0::/", Ids { login: Some(1000), ..real(1001) }, Some(1000), "su to a shared account"),
            (User, "0::/", rootless, Some(1000), "a rootless container that no cgroup tells of"),
            (User, "0::/", remapped, Some(300_000), "an id behind which nobody is known"),
            (
                User,
                "0::/user.slice/user-1000.slice/session-1.scope",
                real(0),
                Some(1000),
                "sudo in a session",
            ),
            (
                User,
                "0::/user.slice/user-0.slice/session-1.scope",
                sudo,
                Some(1000),
                "sudo with a new session",
            ),
            (User, "0::/user.slice/user-0.slice/session-1.scope", real(0), Some(0), "root itself"),
            (Systemd, "0::/system.slice/a.service", real(33), Some(33), "a service's user"),
            (
                Slurm,
                "0::/system.slice/slurmstepd.scope/job_1/step_0",
                sudo,
                Some(0),
                "a job's own user counts",
            ),
            (Container, docker, real(0), None, "a container of the daemon's is root's for everybody"),
            (Container, docker, remapped, None, "nor does a remapped root say anything"),
            (Container, docker, rootless, Some(1000), "a rootless one is its user's"),
            (Kubernetes, "0::/kubepods/podx", sudo, None, "a pod's ids are its image's"),
        ];
        for (kind, cgroup, ids, want, what) in cases {
            assert_eq!(uid(kind, cgroup, ids), want, "{what}");
        }
    }

    #[test]
    fn the_evidence_keeps_both_ids() {
        let ids = Ids { real: Some(0), login: Some(1000), ..Ids::default() };
        let person = person(OwnerKind::User, &[], ids).expect("a person");
        assert_eq!(person.said, "real uid 0, login uid 1000");
    }
}
