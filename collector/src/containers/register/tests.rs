//! Answers as they come, and what windows are told meanwhile.

use super::super::inspect::Inspected;
use super::*;

const ID: &str = "b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f";

fn container(id: &str, uid: Option<u32>) -> Owner {
    let uid = uid.map(|uid| (key::UID.to_owned(), uid.to_string()));
    let attributes = [(key::CONTAINER_ID.to_owned(), id.to_owned())].into_iter().chain(uid).collect();
    Owner { kind: OwnerKind::Container, attributes, evidence: "0::/docker".into() }
}

fn found(name: &str) -> Answer {
    let inspected = Inspected { name: name.into(), image: "cuda:13".into(), labels: BTreeMap::new() };
    Answer::Found { daemon: "Docker", inspected }
}

fn name(register: &Register, id: &str) -> Option<String> {
    let said = register.board().current();
    let owner = said.owners.get(&(OwnerKind::Container, id.to_owned()))?;
    owner.attributes.get("container_name").cloned()
}

#[test]
fn a_new_container_holds_the_word_back_to_its_start_until_it_is_named() {
    let register = Register::new(30_000);
    register.refresh(100_000);
    assert_eq!(register.board().current().known_until_ms, 100_000);
    register.notice(&container(ID, None), Vec::new(), Some(95_000), 101_000);
    assert_eq!(register.board().current().known_until_ms, 95_000, "at once, before the tick ends");
    let asked = register.awaited().remove(0);
    register.answered(&asked, found("train"), "/var/run/docker.sock");
    register.refresh(102_000);
    assert_eq!(register.board().current().known_until_ms, 102_000);
    assert_eq!(name(&register, ID).as_deref(), Some("train"));
    let said = register.board().current();
    let owner = &said.owners[&(OwnerKind::Container, ID.to_owned())];
    assert_eq!(owner.evidence, "Docker at /var/run/docker.sock: container train");
    assert_eq!(owner.attributes[key::CONTAINER_ID], ID);
    // It is asked about once, however often it is met.
    register.notice(&container(ID, None), Vec::new(), Some(95_000), 103_000);
    assert!(register.awaited().is_empty());
}

#[test]
fn a_daemon_that_is_gone_delays_the_windows_of_new_containers_only() {
    let register = Register::new(30_000);
    register.notice(&container(ID, None), Vec::new(), None, 100_000);
    register.refresh(129_999);
    assert_eq!(register.board().current().known_until_ms, 100_000);
    register.refresh(130_000);
    assert_eq!(register.board().current().known_until_ms, 130_000);
    assert_eq!(register.awaited().len(), 1, "it goes on being asked about");
}

#[test]
fn what_no_daemon_knows_is_asked_once_and_waits_for_nothing() {
    let register = Register::new(30_000);
    register.notice(&container(ID, None), Vec::new(), None, 100_000);
    let asked = register.awaited().remove(0);
    register.answered(&asked, Answer::Unknown, "");
    let standing = register.refresh(101_000);
    assert_eq!((standing.awaited, standing.nobodys), (0, 1));
    assert_eq!(register.board().current().known_until_ms, 101_000);
    assert_eq!(name(&register, ID), None);
}

#[test]
fn a_users_cgroup_of_anothers_id_is_not_the_other_container() {
    let register = Register::new(30_000);
    register.notice(&container(ID, None), Vec::new(), None, 100_000);
    register.notice(&container(ID, Some(1001)), Vec::new(), None, 100_000);
    let awaited = register.awaited();
    assert_eq!(awaited.iter().map(|asked| asked.uid).collect::<Vec<_>>(), [None, Some(1001)]);
    register.answered(&awaited[0], found("train"), "/var/run/docker.sock");
    register.answered(&awaited[1], Answer::Unknown, "");
    register.refresh(101_000);
    assert_eq!(name(&register, ID).as_deref(), Some("train"));
    assert_eq!(name(&register, &format!("1001/{ID}")), None);
}

#[test]
fn a_pod_that_nobody_else_knows_is_told_by_the_container_that_its_node_is() {
    let register = Register::new(30_000);
    let alias = (OwnerKind::Kubernetes, "pod/inner".to_owned());
    register.notice(&container(ID, None), vec![alias.clone()], None, 100_000);
    register.answered(&register.awaited()[0], found("kind-worker"), "/var/run/docker.sock");
    register.refresh(101_000);
    assert_eq!(register.board().current().owners[&alias].attributes["container_name"], "kind-worker");
}

#[test]
fn the_gone_are_forgotten_and_room_is_made_for_the_new() {
    let register = Register::new(30_000);
    for n in 0..=CONTAINERS_MAX {
        let now_ms = i64::try_from(n).expect("few");
        register.notice(&container(&format!("{n:064x}"), None), Vec::new(), None, now_ms);
    }
    let standing = register.refresh(10_000);
    assert_eq!((standing.known, standing.dropped), (CONTAINERS_MAX, 1));
    assert_eq!(register.awaited()[0].id, format!("{:064x}", 1), "the one seen longest ago went");
    assert_eq!(register.refresh(10_000 + KEEP_MS).known, 0);
}
