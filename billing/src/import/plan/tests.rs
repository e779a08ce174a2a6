//! Counted once, at odds with nothing: what is new, repeated, changed, overlapping, or metered live.

use super::*;
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;

const HOUR: i64 = 3_600_000;
/// 1 March 2026.
const T0: i64 = 1_772_323_200_000;

fn run(job: &str, from_h: i64, to_h: i64) -> Run {
    let owner = Owner { kind: OwnerKind::Slurm, attributes: Default::default(), evidence: "sacct".into() };
    Run {
        key: RunKey {
            cluster: "c".into(),
            job: job.into(),
            submit_ms: T0,
            start_ms: T0 + from_h * HOUR,
            part: String::new(),
        },
        end_ms: T0 + to_h * HOUR,
        owner,
        model: "NVIDIA A100".into(),
        profile: String::new(),
        gpus: 1,
        share: Share::WHOLE,
        nodes: String::new(),
        device: None,
    }
}

fn row(line: u64, run: Run) -> Row {
    Row { line, read: Read::Runs(vec![run]) }
}

fn known(run: &Run) -> KnownRun {
    KnownRun { key: run.key.clone(), end_ms: run.end_ms, content_hash: run.content_hash() }
}

fn device(node: &str, uuid: &str, metered_h: Option<(i64, i64)>) -> KnownDevice {
    let window = |(from, to): (i64, i64)| Window::new(T0 + from * HOUR, T0 + to * HOUR);
    KnownDevice {
        cluster: "c".into(),
        node: node.into(),
        device: uuid.into(),
        metered: metered_h.map(window),
        in_service: window((0, 1000)),
    }
}

/// The plan as a reader sees it: each line and what becomes of it.
fn told(plan: &Plan) -> Vec<String> {
    let mut told: Vec<(u64, String)> = Vec::new();
    told.extend(plan.added.iter().map(|(line, run)| (*line, format!("added {}", run.held()))));
    told.extend(plan.repeated.iter().map(|line| (*line, "repeated".into())));
    told.extend(plan.skipped.iter().map(|(line, why)| (*line, format!("skipped {why}"))));
    told.extend(plan.refused.iter().map(|(line, why)| (*line, why.to_string())));
    told.sort();
    told.into_iter().map(|(line, text)| format!("{line} {text}")).collect()
}

#[test]
fn a_run_is_new_once_and_another_content_under_its_key_is_refused() {
    let mut longer = run("7", 0, 2);
    longer.end_ms += 1;
    let mut other_model = run("8", 0, 1);
    other_model.model = "NVIDIA H100".into();
    let rows = vec![
        row(2, run("7", 0, 2)),
        row(3, run("7", 0, 2)),
        row(4, longer),
        row(5, run("8", 0, 1)),
        row(6, other_model),
        row(7, run("7", 1, 3)),
        row(8, run("7", 2, 3)),
    ];
    let plan = plan(rows, &[known(&run("8", 0, 1))], &[]);
    let told = told(&plan);
    assert_eq!(told[0], "2 added 2.000000000");
    assert_eq!(told[1], "3 repeated");
    assert!(told[2].contains("job 7 is on line 2 too"), "{}", told[2]);
    assert_eq!(told[3], "5 repeated");
    assert!(told[4].contains("imported already with other content"), "{}", told[4]);
    assert!(told[5].contains("overlaps its own run"), "{}", told[5]);
    assert_eq!(told[6], "8 added 1.000000000", "a requeued run begins where the one before ended");
}

#[test]
fn a_job_of_two_types_is_taken_whole_or_not_at_all() {
    let part = |part: &str, end_h: i64| {
        let mut run = run("7", 0, end_h);
        run.key.part = part.into();
        run
    };
    let rows = vec![Row { line: 2, read: Read::Runs(vec![part("a", 1), part("b", 2)]) }];
    let plan = plan(rows, &[known(&part("b", 1))], &[]);
    assert_eq!((plan.added.len(), plan.refused.len()), (0, 1));
}

#[test]
fn what_is_metered_live_is_refused_by_device_by_node_and_by_cluster() {
    let devices = [device("n1.example.org", "GPU-1", Some((10, 20))), device("n2", "GPU-2", None)];
    let on = |nodes: &[&str], from_h, to_h| Run { nodes: nodes.join(","), ..run("7", from_h, to_h) };
    let named = |uuid: &str, from_h, to_h| Run { device: Some(uuid.into()), ..run("7", from_h, to_h) };
    let refusal =
        |run: Run| plan(vec![row(2, run)], &[], &devices).refused.pop().map(|(_, why)| why.to_string());
    for (run, want) in [
        (on(&[], 9, 11), Some("cluster c was metered live from 2026-03-01T10:00:00Z")),
        (on(&[], 5, 10), None),
        (on(&[], 20, 21), None),
        (on(&["n3"], 9, 11), None),
        (on(&["n3", "n1"], 9, 11), Some("node n1.example.org was metered live")),
        (on(&["n10"], 9, 11), None),
        (named("GPU-1", 19, 21), Some("device GPU-1 was metered live")),
        (named("GPU-1", 20, 21), None),
        (named("GPU-2", 9, 11), None),
        (named("GPU-3", 9, 11), Some("slicemeter inventory expect --device GPU-3")),
        (named("GPU-2", 999, 1001), Some("was not in service")),
        (Run { key: RunKey { cluster: "d".into(), ..run("7", 9, 11).key }, ..run("7", 9, 11) }, None),
    ] {
        let got = refusal(run);
        match want {
            Some(part) => assert!(got.as_ref().is_some_and(|text| text.contains(part)), "{got:?}: {part}"),
            None => assert_eq!(got, None),
        }
    }
}

#[test]
fn what_was_judged_once_is_a_repetition_though_metering_began_since() {
    let devices = [device("n1", "GPU-1", Some((0, 20)))];
    let plan = plan(vec![row(2, run("7", 0, 2))], &[known(&run("7", 0, 2))], &devices);
    assert_eq!(told(&plan), ["2 repeated"]);
}
