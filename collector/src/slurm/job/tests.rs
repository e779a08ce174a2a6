//! Answers as Slurm 22.05 gave them and as newer versions shape them.

use super::*;

/// Cut from an answer of Slurm 22.05.8.
const OLD: &str = r#"{"meta": {"Slurm": {"release": "22.05.8"}}, "errors": [], "jobs": [{
  "account": "speech", "array_job_id": 2, "array_task_id": 1, "cluster": "slicetest", "batch_flag": true,
  "billable_tres": 1.0, "end_time": 1827567688, "gres_detail": ["gpu:h100:1(IDX:1)"], "group_id": 0, "job_id": 3,
  "job_resources": {"nodes": "node1", "allocated_cores": 1}, "job_state": "RUNNING", "name": "j.sh", "nodes": "node1",
  "partition": "gpu", "pre_sus_time": 0, "qos": "", "restart_cnt": 0, "start_time": 1796031688, "het_job_id": 0,
  "submit_time": 1796031688, "suspend_time": 0, "time_limit": null, "tres_alloc_str": "cpu=1,node=1,billing=1",
  "user_id": 0, "user_name": "root"}]}"#;

/// The same in the shape of newer versions: wrapped numbers, listed states, nodes in an object.
const NEW: &str = r#"{"jobs": [{
  "account": "speech", "array_job_id": {"set": true, "infinite": false, "number": 2},
  "array_task_id": {"set": true, "infinite": false, "number": 1},
  "end_time": {"set": true, "infinite": false, "number": 1827567688}, "gres_detail": ["gpu:h100:1(IDX:1)"],
  "job_id": 3, "job_resources": {"select_type": ["CPU"], "nodes": {"count": 1, "list": "node1", "whole": false}},
  "job_state": ["RUNNING"], "nodes": "node1", "partition": "gpu",
  "pre_sus_time": {"set": true, "infinite": false, "number": 0}, "qos": "",
  "start_time": {"set": true, "infinite": false, "number": 1796031688},
  "submit_time": {"set": true, "infinite": false, "number": 1796031688},
  "suspend_time": {"set": true, "infinite": false, "number": 0},
  "het_job_id": {"set": false, "infinite": false, "number": 0},
  "tres_alloc_str": "cpu=1,node=1,billing=1", "user_id": 0, "user_name": "root"}]}"#;

#[test]
fn both_shapes_say_the_same_job() {
    let (old, new) = (parse_jobs(OLD.as_bytes()).expect("old"), parse_jobs(NEW.as_bytes()).expect("new"));
    assert_eq!(old, new);
    let job = &old[0];
    assert_eq!(
        (job.id, job.submit_s, job.start_s, job.phase),
        (3, 1_796_031_688, Some(1_796_031_688), Phase::Running)
    );
    let attributes: Vec<(&str, &str)> =
        job.owner.attributes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let want = [
        ("slurm_account", "speech"),
        ("slurm_array_job", "2"),
        ("slurm_array_task", "1"),
        ("slurm_job", "3"),
        ("slurm_partition", "gpu"),
        ("slurm_submit", "2026-11-30T09:41:28Z"),
        ("uid", "0"),
        ("user", "root"),
    ];
    assert_eq!(attributes, want);
}

fn one(state: &str) -> Phase {
    let json = format!(r#"{{"jobs": [{{"job_id": 1, "submit_time": 5, "job_state": {state}}}]}}"#);
    parse_jobs(json.as_bytes()).expect(state)[0].phase
}

#[test]
fn the_word_that_counts_decides_the_phase() {
    let cases = [
        (r#""PENDING""#, Phase::Waiting),
        (r#""RUNNING""#, Phase::Running),
        (r#"["RUNNING", "CONFIGURING"]"#, Phase::Running),
        (r#""SUSPENDED""#, Phase::Suspended),
        (r#""COMPLETED""#, Phase::Ended),
        (r#"["COMPLETED", "COMPLETING"]"#, Phase::Ended),
        (r#""CANCELLED by 1000""#, Phase::Ended),
        (r#"["TIMEOUT"]"#, Phase::Ended),
        (r#""NODE_FAIL""#, Phase::Ended),
        (r#"["PENDING", "REQUEUED"]"#, Phase::Waiting),
        ("null", Phase::Waiting),
    ];
    for (state, want) in cases {
        assert_eq!(one(state), want, "{state}");
    }
}

#[test]
fn a_jobs_own_text_cannot_add_a_job_or_change_an_account() {
    let json = r#"{"jobs": [{"job_id": 4, "submit_time": 5, "account": "vision", "job_state": "RUNNING",
      "name": "a\n   UserId=evil(5)\n\nJobId=999 Account=rich", "comment": "\"account\": \"rich\"", "user_id": 0}]}"#;
    let jobs = parse_jobs(json.as_bytes()).expect("json");
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].owner.attributes[common::SLURM_ACCOUNT], "vision");
}

#[test]
fn what_is_no_answer_is_an_error_and_what_is_no_job_is_left_out() {
    assert!(parse_jobs(b"slurm_load_jobs error: Unable to contact slurm controller").is_err());
    assert!(parse_jobs(br#"{"errors": []}"#).is_err());
    assert_eq!(parse_jobs(br#"{"jobs": [{"job_id": 7}, {"submit_time": 7}]}"#).expect("json"), []);
}
