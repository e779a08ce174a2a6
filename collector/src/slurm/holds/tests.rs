//! Stories of jobs, answer by answer, told as `job device from..to` in seconds.

use super::super::job::parse_jobs;
use super::*;

struct Story {
    book: Book,
    devices: Devices,
    policy: Policy,
}

impl Story {
    fn new() -> Self {
        let devices = Devices::from_names(&["/dev/nvidia0".into(), "/dev/nvidia1".into()]).expect("names");
        Self { book: Book::default(), devices, policy: Policy::default() }
    }

    /// Asks at a second, gets these jobs, and tells what is held.
    fn ask(&mut self, at_s: i64, jobs: &[String]) -> Vec<String> {
        let json = format!(r#"{{"jobs": [{}]}}"#, jobs.join(","));
        let jobs = parse_jobs(json.as_bytes()).expect("jobs");
        let said = self.book.take(at_s * 1000, &jobs, "node2", &self.devices, self.policy);
        let mut told: Vec<String> = said.held.iter().map(tell).collect();
        told.sort();
        told
    }
}

fn tell(held: &Allocation) -> String {
    let crate::allocation::DeviceName::Minor(minor) = held.target.device else { panic!("a minor") };
    let seconds = |ms: i64| ms / 1000;
    let to = held.to_ms.map(|ms| seconds(ms).to_string()).unwrap_or_default();
    format!(
        "{} gpu{minor} x{} {}..{to}",
        held.owner.attributes["slurm_job"],
        held.share,
        seconds(held.from_ms)
    )
}

/// A job on node1 and node2 that was submitted at 10; `more` overrides.
fn job(id: u64, state: &str, detail: &str, more: &str) -> String {
    format!(
        r#"{{"job_id": {id}, "submit_time": 10, "job_state": "{state}", "account": "vision", "nodes": "node[1-2]",
            "tres_alloc_str": "cpu=1,gres/gpu=1,gres/gpu:h100=1", "gres_detail": ["gpu:h100:2(IDX:0-1)", "{detail}"], {more}}}"#
    )
}

#[test]
fn a_job_holds_its_devices_from_start_to_end_without_any_process() {
    let mut story = Story::new();
    assert_eq!(story.ask(15, &[job(7, "PENDING", "", r#""start_time": 999"#)]), [""; 0]);
    let running = job(7, "RUNNING", "gpu:h100:1(IDX:1)", r#""start_time": 20, "end_time": 9999"#);
    assert_eq!(story.ask(30, &[running]), ["7 gpu1 x1 20.."]);
    // Ended, and Slurm has forgotten which device it was.
    let ended = job(7, "COMPLETED", "", r#""start_time": 20, "end_time": 55"#);
    assert_eq!(story.ask(60, std::slice::from_ref(&ended)), ["7 gpu1 x1 20..55"]);
    assert_eq!(story.ask(70, &[ended]), ["7 gpu1 x1 20..55"]);
    assert_eq!(
        story.ask(500, &[]),
        ["7 gpu1 x1 20..55"],
        "an end that was told stands when the job is forgotten"
    );
    assert_eq!(story.ask(70 + 3600, &[]), [""; 0], "an hour after it was last heard of");
}

#[test]
fn the_detail_of_this_node_counts_and_another_nodes_does_not() {
    let mut story = Story::new();
    let elsewhere = r#"{"job_id": 8, "submit_time": 10, "start_time": 20, "job_state": "RUNNING", "nodes": "node1",
        "gres_detail": ["gpu:h100:2(IDX:0-1)"]}"#;
    let here = job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#);
    assert_eq!(story.ask(30, &[elsewhere.to_owned(), here]), ["7 gpu0 x1 20.."]);
}

#[test]
fn suspended_time_is_not_held_unless_the_site_says_so() {
    let suspended = job(
        7,
        "SUSPENDED",
        "gpu:h100:1(IDX:0)",
        r#""start_time": 20, "suspend_time": 30, "pre_sus_time": 10"#,
    );
    let resumed =
        job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20, "suspend_time": 70, "pre_sus_time": 10"#);
    let ended = job(
        7,
        "COMPLETED",
        "",
        r#""start_time": 20, "suspend_time": 70, "pre_sus_time": 10, "end_time": 80"#,
    );
    let mut story = Story::new();
    assert_eq!(
        story.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]),
        ["7 gpu0 x1 20.."]
    );
    assert_eq!(story.ask(40, std::slice::from_ref(&suspended)), ["7 gpu0 x1 20..30"]);
    assert_eq!(story.ask(75, std::slice::from_ref(&resumed)), ["7 gpu0 x1 20..30", "7 gpu0 x1 70.."]);
    assert_eq!(story.ask(85, std::slice::from_ref(&ended)), ["7 gpu0 x1 20..30", "7 gpu0 x1 70..80"]);

    let mut unseen = Story::new();
    assert_eq!(
        unseen.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]),
        ["7 gpu0 x1 20.."]
    );
    let both = unseen.ask(75, std::slice::from_ref(&resumed));
    assert_eq!(both, ["7 gpu0 x1 20..30", "7 gpu0 x1 70.."], "stopped and resumed between two answers");

    let mut late = Story::new();
    assert_eq!(
        late.ask(75, std::slice::from_ref(&resumed)),
        ["7 gpu0 x1 20..30", "7 gpu0 x1 70.."],
        "first seen when resumed"
    );

    let cancelled = job(
        7,
        "CANCELLED",
        "",
        r#""start_time": 20, "suspend_time": 30, "pre_sus_time": 10, "end_time": 80"#,
    );
    let mut stopped = Story::new();
    stopped.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]);
    assert_eq!(stopped.ask(85, &[cancelled]), ["7 gpu0 x1 20..30"], "cancelled while suspended");

    let mut whole = Story { policy: Policy { suspended_holds: true }, ..Story::new() };
    whole.ask(40, &[suspended]);
    assert_eq!(whole.ask(85, &[ended]), ["7 gpu0 x1 20..80"]);
}

#[test]
fn a_requeued_job_is_two_runs_and_neither_overwrites_the_other() {
    let mut story = Story::new();
    story.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]);
    let waiting =
        r#"{"job_id": 7, "submit_time": 44, "start_time": 164, "job_state": "PENDING", "nodes": ""}"#;
    assert_eq!(story.ask(50, &[waiting.to_owned()]), ["7 gpu0 x1 20..44"]);
    let again = r#"{"job_id": 7, "submit_time": 44, "start_time": 170, "job_state": "RUNNING", "nodes": "node2",
        "gres_detail": ["gpu:h100:1(IDX:1)"]}"#;
    assert_eq!(story.ask(200, &[again.to_owned()]), ["7 gpu0 x1 20..44", "7 gpu1 x1 170.."]);
}

#[test]
fn a_job_id_that_comes_again_after_the_last_one_is_another_workload() {
    let mut story = Story::new();
    story.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]);
    let ended = job(7, "COMPLETED", "", r#""start_time": 20, "end_time": 30"#);
    let wrapped = r#"{"job_id": 7, "submit_time": 44, "start_time": 50, "job_state": "RUNNING", "nodes": "node2",
        "account": "vision", "gres_detail": ["gpu:h100:1(IDX:0)"]}"#;
    assert_eq!(story.ask(60, &[ended, wrapped.to_owned()]), ["7 gpu0 x1 20..30", "7 gpu0 x1 50.."]);
    let workloads: Vec<_> =
        story.book.allocations(60_000).held.iter().map(|held| held.owner.workload()).collect();
    assert_ne!(workloads[0], workloads[1]);
}

#[test]
fn gpus_that_were_asked_for_per_node_or_job_are_held_as_others_are() {
    let asked = r#"{"job_id": 7, "submit_time": 10, "start_time": 20, "job_state": "RUNNING", "nodes": "node2",
        "tres_per_node": "gres/gpu:1", "tres_per_job": "", "gres_detail": ["gpu:h100:1(IDX:1)"],
        "tres_alloc_str": "cpu=1,gres/gpu=1"}"#;
    assert_eq!(Story::new().ask(30, &[asked.to_owned()]), ["7 gpu1 x1 20.."]);
    let unseen =
        asked.replace("RUNNING", "COMPLETED").replace("gpu:h100:1(IDX:1)", "").replace("gpu=1", "gpu=2");
    assert_eq!(
        Story::new().ask(30, &[unseen.replace(r#""submit"#, r#""end_time": 25, "submit"#)]),
        ["7 gpu0 x1 20..25", "7 gpu1 x1 20..25"],
        "what was given says it where the detail is gone"
    );
}

#[test]
fn a_job_that_vanished_ends_when_it_was_last_known() {
    let mut story = Story::new();
    story.ask(25, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]);
    story.ask(35, &[job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#)]);
    assert_eq!(story.ask(2000, &[]), ["7 gpu0 x1 20..35"]);
}

#[test]
fn a_job_that_ended_unseen_is_placed_on_free_devices_and_said_to_be() {
    let ended = |tres: &str| {
        format!(
            r#"{{"job_id": 7, "submit_time": 10, "start_time": 20, "end_time": 30, "job_state": "COMPLETED",
                "nodes": "node2", "gres_detail": [""], "tres_alloc_str": "{tres}"}}"#
        )
    };
    let mut story = Story::new();
    assert_eq!(story.ask(60, &[ended("cpu=1,gres/gpu=1")]), ["7 gpu0 x1 20..30"]);
    assert_eq!(story.ask(70, &[ended("cpu=1,gres/gpu=1")]), ["7 gpu0 x1 20..30"]);
    let mut more = Story::new();
    assert_eq!(more.ask(60, &[ended("cpu=1,gres/gpu=3")]), [""; 0], "more than the node has");
    more.ask(70, &[ended("cpu=1,gres/gpu=3")]);
    assert_eq!(more.book.unplaced, 1, "counted once");
    let mut all = Story::new();
    assert_eq!(
        all.ask(60, &[ended("cpu=1,gres/gpu=2,gres/gpu:h100=2")]),
        ["7 gpu0 x1 20..30", "7 gpu1 x1 20..30"]
    );
    assert_eq!(all.book.unplaced, 0);
}

#[test]
fn an_array_is_as_many_jobs_with_one_array_id() {
    let mut story = Story::new();
    let task = |id: u64, number: u64, index: u64| {
        let more = format!(r#""start_time": 20, "array_job_id": 1000, "array_task_id": {number}"#);
        job(id, "RUNNING", &format!("gpu:h100:1(IDX:{index})"), &more)
    };
    assert_eq!(
        story.ask(30, &[task(1001, 0, 0), task(1002, 1, 1)]),
        ["1001 gpu0 x1 20..", "1002 gpu1 x1 20.."]
    );
}

#[test]
fn owners_are_found_by_job_id_and_by_the_newer_id_of_cgroups() {
    let mut book = Book::default();
    let json = r#"{"jobs": [{"job_id": 7, "sluid": "s8FXKTA79XAR00", "submit_time": 10, "start_time": 20,
        "job_state": "RUNNING", "account": "vision", "nodes": "node2", "gres_detail": ["gpu:1(IDX:0)"]}]}"#;
    let jobs = parse_jobs(json.as_bytes()).expect("jobs");
    let said = book.take(30_000, &jobs, "node2", &Devices::default(), Policy::default());
    for id in ["7", "s8FXKTA79XAR00"] {
        let owner = &said.owners[&(OwnerKind::Slurm, id.to_owned())];
        assert_eq!(owner.attributes["slurm_account"], "vision");
    }
    assert_eq!(
        said.known_until_ms, 29_000,
        "what happened in the second of the question may not be told yet"
    );
}

#[test]
fn runs_that_were_over_before_they_were_seen_are_put_on_devices_that_nobody_had_then() {
    let mut story = Story::new();
    let one = |id: u64, times: &str| {
        format!(
            r#"{{"job_id": {id}, "submit_time": 10, "job_state": "COMPLETED", "nodes": "node2",
                "tres_alloc_str": "gres/gpu=1", {times}}}"#
        )
    };
    let running = job(7, "RUNNING", "gpu:h100:1(IDX:0)", r#""start_time": 20"#);
    let jobs = [
        one(3, r#""start_time": 50, "end_time": 60"#),
        one(4, r#""start_time": 60, "end_time": 70"#),
        one(5, r#""start_time": 65, "end_time": 70"#),
        running,
    ];
    assert_eq!(story.ask(80, &jobs), ["3 gpu1 x1 50..60", "4 gpu1 x1 60..70", "7 gpu0 x1 20.."]);
    assert_eq!(story.book.unplaced, 1, "a third at once has no device left, and is counted");
}
