//! MPS as its control daemon tells of it: the driver lists the server alone, the daemon its clients and what they may use.

use crate::rig::{Rig, Setup, node};
use nvidia_ml::scenario::{Mode, Process, Scenario};
use schema::wire::Sharing;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SERVER: u32 = 700;
const CLIENTS: [u32; 2] = [701, 702];

/// A server on the device, its clients only in `/proc`: one keeps to a quarter of the threads by its own environment.
fn scenario() -> Scenario {
    let mut scenario = node("a100-80gb", 1);
    scenario.gpus[0].mode = Mode::Mps;
    let mut server =
        Process::new(SERVER, 0).name("nvidia-cuda-mps-server").uid(0).busy(60.0).memory_mib(30.0);
    server.mps_server = true;
    scenario.processes.push(server);
    for (pid, uid) in CLIENTS.into_iter().zip([1001, 1002]) {
        let mut client = Process::new(pid, 0).uid(uid);
        client.gpu = None;
        if pid == CLIENTS[0] {
            client.environ = vec!["PATH=/bin".into(), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25".into()];
        }
        scenario.processes.push(client);
    }
    scenario
}

/// A stand-in for the daemon's command, which reads one question. Put in place by another process: a file that this one
/// has open for writing can't be run while a child that another test forks still has it too.
fn control(dir: &Path) -> PathBuf {
    let (text, path) = (dir.join("mps.text"), dir.join("nvidia-cuda-mps-control"));
    let [a, b] = CLIENTS;
    let script = format!(
        "#!/bin/sh\nread question\ncase \"$CUDA_MPS_PIPE_DIRECTORY $question\" in\n\
         '/run/mps get_server_list') echo {SERVER};;\n\
         '/run/mps get_client_list {SERVER}') echo {a}; echo {b};;\n\
         '/run/mps get_active_thread_percentage {SERVER}') echo 50.0;;\n\
         *) echo 'Cannot find MPS control daemon process' >&2; exit 1;;\nesac\n"
    );
    std::fs::write(&text, script).expect("the folder can be written");
    assert!(Command::new("cp").arg(&text).arg(&path).status().expect("cp runs").success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

fn section(control: &Path, directories: &str) -> String {
    format!("[mps]\ncontrol_command = {control:?}\npipe_directories = {directories}\npoll_ms = 100\n")
}

#[test]
fn clients_that_the_driver_does_not_list_hold_the_threads_they_may_use() {
    let dir = tempfile::tempdir().expect("a folder");
    let more = section(&control(dir.path()), "[\"/run/mps\"]");
    let mut rig = Rig::running(&scenario(), Setup { more, ..Setup::default() });
    rig.until_ready();
    rig.until_at_least("slicemeter_mps_answers_total", &["n1"], 1.0);
    rig.until_at_least("slicemeter_usage_held_seconds_total", &["user"], 3.0);
    assert!(rig.stop().success());
    let batches = rig.spooled();
    let last = batches.iter().rev().find(|batch| batch.usage.len() >= 2).expect("rows of both");
    let mut shares: Vec<(String, u32, u32)> = last
        .usage
        .iter()
        .filter(|row| row.end_ms == last.usage.last().expect("rows").end_ms)
        .map(|row| {
            assert_eq!(row.sharing(), Sharing::Mps);
            assert_eq!(row.memory_byte_ms, None, "nobody says what a client has");
            let owner = &last.owners[row.owner.expect("an owner") as usize];
            let uid = owner.attributes.iter().find(|a| a.key == "uid").expect("a uid");
            (uid.value.clone(), row.share_num, row.share_den)
        })
        .collect();
    shares.sort();
    assert_eq!(
        shares,
        [("1001".into(), 1, 4), ("1002".into(), 1, 2)],
        "the server is no holder, a quarter is free"
    );
}

#[test]
fn a_daemon_that_is_not_there_leaves_the_drivers_list_and_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let more = section(&control(dir.path()), "[\"/run/other\"]");
    let rig = Rig::running(&scenario(), Setup { more, ..Setup::default() });
    rig.until_at_least("slicemeter_mps_failures_total", &["n1"], 1.0);
    rig.until_at_least("slicemeter_usage_held_seconds_total", &["user"], 0.5);
    rig.until_unready("MPS: clients are those that the driver lists, in equal parts: /run/other");
}
