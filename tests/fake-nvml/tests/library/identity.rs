//! The `/proc` that fits: who each process is, kept in step with the clock.

use std::fs;

use nvidia_ml::scenario::{Gpu, Process, Scenario, Seconds};

use crate::node::{Node, START_US};

fn scenario() -> Scenario {
    let mut scenario = Scenario::new("n");
    scenario.gpus.extend([Gpu::new("h100"), Gpu::new("h100")]);
    scenario.processes.push(Process {
        ns_pids: vec![12],
        environ: vec!["SLURM_JOB_ID=7".to_owned()],
        ..Process::new(100, 0).uid(1000).name("/opt/train (v2)").cgroup("0::/kubepods.slice/a").alive(1, 10)
    });
    scenario.processes.push(Process::new(200, 0).alive(5, 20));
    scenario.processes.push(Process::new(200, 1).alive(6, 30));
    scenario.processes.push(Process::new(100, 1).uid(1001).alive(10, 40));
    scenario.processes.push(Process::without_gpu(300).alive(0, 15));
    scenario
}

#[test]
fn proc_shows_the_processes_that_live() {
    let node = Node::new(scenario());
    let proc = node.keep_procfs();
    let shown = |seconds: f64| {
        node.at(seconds).gpu(0).running_compute_processes().unwrap();
        let names =
            fs::read_dir(&proc).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut pids: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(shown(0.0), [300]);
    assert_eq!(shown(1.0), [100, 300]);
    assert_eq!(shown(5.0), [100, 200, 300]);
    assert_eq!(shown(15.0), [100, 200]);
    assert_eq!(shown(29.0), [100, 200], "200 lives as long as it is on any GPU");
    assert_eq!(shown(30.0), [100]);
    assert!(shown(40.0).is_empty());
}

#[test]
fn proc_says_who_a_process_is_and_when_it_started() {
    let node = Node::new(scenario());
    let proc = node.keep_procfs();
    node.at(5.5).gpu(0).running_compute_processes().unwrap();
    let read = |path: &str| fs::read_to_string(proc.join(path)).unwrap();
    assert_eq!(read("100/cgroup"), "0::/kubepods.slice/a\n");
    assert_eq!(read("100/comm"), "train (v2)\n");
    assert_eq!(read("100/environ"), "SLURM_JOB_ID=7\0");
    assert_eq!(read("100/loginuid"), "1000");
    let status = read("100/status");
    assert!(
        status.contains("Uid:\t1000\t1000\t1000\t1000\n") && status.contains("NSpid:\t100\t12\n"),
        "{status}"
    );

    // Field 22 is the start in clock ticks since boot, `btime` the boot in seconds.
    let stat = read("100/stat");
    let after_comm = stat.rsplit_once(')').unwrap().1;
    let ticks: i64 = after_comm.split_whitespace().nth(22 - 3).unwrap().parse().unwrap();
    let btime: i64 =
        read("stat").lines().find_map(|line| line.strip_prefix("btime ")).unwrap().parse().unwrap();
    assert_eq!(btime * 1_000_000 + ticks * 10_000, START_US + 1_000_000);
    assert_eq!(read("sys/kernel/random/boot_id").trim().len(), 36);
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let node = Node::new(scenario());
    let proc = node.keep_procfs();
    node.at(9.99).gpu(0).running_compute_processes().unwrap();
    let before = fs::read_to_string(proc.join("100/stat")).unwrap();
    node.at(10.0).gpu(0).running_compute_processes().unwrap();
    assert_ne!(fs::read_to_string(proc.join("100/stat")).unwrap(), before);
    assert_eq!(fs::read_to_string(proc.join("100/loginuid")).unwrap(), "1001");
}

#[test]
fn an_untouched_set_of_processes_is_not_written_again() {
    let mut still = Scenario::new("n");
    still.gpus.push(Gpu::new("h100"));
    still.processes.push(Process::new(1, 0).alive(0, Seconds::new(1000)));
    let node = Node::new(still);
    let proc = node.keep_procfs();
    fs::remove_dir_all(proc.join("1")).unwrap();
    node.at(500.0).gpu(0).running_compute_processes().unwrap();
    assert!(!proc.join("1").exists(), "nothing changed, so nothing is written");
}

#[test]
fn what_an_earlier_library_left_goes_but_only_from_a_directory_of_ours() {
    let node = Node::new(scenario());
    let proc = node.dir.path().join("proc");
    fs::create_dir_all(proc.join("77")).unwrap();
    node.keep_procfs();
    assert!(proc.join("77").exists(), "the directory bore no mark");
    node.keep_procfs();
    assert!(!proc.join("77").exists() && proc.join("300").exists());
}
