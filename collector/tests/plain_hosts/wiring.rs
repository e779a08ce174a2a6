//! From a configuration file to what the daemon shows: the witnesses as `run` starts them.

use super::daemon::{Daemon, Kind, Knowledge};
use super::proc::{Proc, Shown};
use super::{eventually, id};
use collector::absence::Before;
use collector::config::Config;
use collector::owner::{OwnerLookup, Procfs};
use collector::schedulers::Schedulers;
use std::path::Path;

fn config(dir: &Path, sections: &str) -> Config {
    let dir = dir.display();
    let text = format!(
        "[node]\ncluster = \"c\"\n[kubernetes]\nenabled = \"off\"\n[owner]\nprocfs = \"{dir}/proc\"\n\
         libvirt_directory = \"{dir}/libvirt\"\n{sections}"
    );
    Config::parse(&text, "collector.toml").expect("parses")
}

#[test]
fn a_daemon_that_cannot_be_asked_is_a_line_of_readiness_until_it_can() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    let socket = dir.path().join("docker.sock");
    let section = format!("[containers]\nsockets = [\"{}\"]\n", socket.display());
    let config = config(dir.path(), &section);
    let schedulers = Schedulers::start(&config, &Before::default(), String::new()).expect("starts");
    let mut owners = schedulers.owners(Procfs::new(proc.root(), None), &config);
    assert_eq!(schedulers.not_ready(0), Vec::<String>::new(), "nobody needs the daemon yet");

    let train = id("train");
    proc.put(7, &Shown { cgroup: format!("0::/system.slice/docker-{train}.scope"), ..Shown::default() });
    assert_eq!(owners.lookup(7).owner.owner.attributes["container_id"], train);
    let said = eventually("it is said", || schedulers.not_ready(0).pop());
    assert!(
        said.starts_with("containers: known by id alone: ") && said.contains("containers.sockets"),
        "{said}"
    );

    let knowledge = Knowledge::default();
    knowledge.run(&train, "train", "cuda:13", &[]);
    let _docker = Daemon::start(&socket, Kind::Docker, &knowledge);
    let named = "slicemeter_containers{node=\"n1\",state=\"named\"} 1";
    eventually("it is named", || schedulers.render("n1", 0).contains(named).then_some(()));
    assert_eq!(schedulers.not_ready(0), Vec::<String>::new());
}

#[test]
fn without_the_section_no_daemon_is_asked() {
    let dir = tempfile::tempdir().expect("folder");
    let proc = Proc::new(dir.path());
    let config = config(dir.path(), "");
    let schedulers = Schedulers::start(&config, &Before::default(), String::new()).expect("starts");
    let mut owners = schedulers.owners(Procfs::new(proc.root(), None), &config);
    proc.put(7, &Shown { cgroup: format!("0::/docker/{}", id("train")), ..Shown::default() });
    let found = owners.lookup(7);
    assert_eq!(found.owner.owner.attributes.keys().collect::<Vec<_>>(), ["container_id"]);
    assert_eq!(schedulers.not_ready(0), Vec::<String>::new());
    assert!(!schedulers.render("n1", 0).contains("slicemeter_containers"));
}
