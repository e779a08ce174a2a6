//! The thread against scripts that stand for Slurm's commands.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Copied into place by another process: a file that this one has open for writing is inherited by a child that
/// another test's thread is just forking, and can't be run as long as it is ("text file busy").
fn script(folder: &Path, name: &str, body: &str) {
    let (text, path) = (folder.join(format!("{name}.text")), folder.join(name));
    std::fs::write(&text, format!("#!/bin/sh\n{body}\n")).expect("text");
    assert!(std::process::Command::new("cp").arg(&text).arg(&path).status().expect("cp runs").success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

fn settings(folder: &Path) -> Settings {
    Settings {
        node: "node1".into(),
        commands: Some(folder.into()),
        conf: Some("/etc/slurm/slurm.conf".into()),
        period: Duration::from_millis(10),
        deadline: Duration::from_secs(20),
        gpus: None,
        job_files: None,
        policy: Policy::default(),
        unasked_since_ms: None,
    }
}

/// Waits for the board to say so; the thread publishes by itself.
fn until(board: &Board, said: impl Fn(&Allocations) -> bool) -> Arc<Allocations> {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        let current = board.current();
        if said(&current) {
            return current;
        }
        assert!(std::time::Instant::now() < deadline, "never said; last: {current:?}");
        std::thread::yield_now();
    }
}

const JOB: &str = r#"{"jobs": [{"job_id": 7, "submit_time": 10, "start_time": 20, "job_state": "RUNNING",
  "account": "vision", "nodes": "node1", "gres_detail": ["gpu:h100:1(IDX:0)"]}]}"#;

#[test]
fn an_answer_reaches_the_board_with_the_devices_order_and_the_nodes_state() {
    let folder = tempfile::tempdir().expect("folder");
    script(
        folder.path(),
        "squeue",
        &format!("[ \"$*\" = '--json --states=all --nodelist=node1' ] && cat <<'X'\n{JOB}\nX"),
    );
    script(
        folder.path(),
        "slurmd",
        "echo 'slurmd: Gres Name=gpu Type=h100 Count=1 Index=5 File=/dev/nvidia5 (null)' >&2",
    );
    script(
        folder.path(),
        "scontrol",
        "echo \"NodeName=node1 State=IDLE+DRAIN Reason=fan [root@1970-01-01T00:00:09]\"",
    );
    let board = Board::default();
    let witness = Witness::start(settings(folder.path()), board.clone(), || 40_000);
    let said = until(&board, |said| said.known_until_ms > 0);
    assert_eq!(said.held.len(), 1);
    assert_eq!(said.held[0].target, crate::allocation::DeviceName::Minor(5).into());
    assert_eq!((said.held[0].from_ms, said.held[0].to_ms), (20_000, None));
    assert_eq!(said.out_of_use.as_ref().expect("drained").since_ms, Some(9_000));
    assert_eq!(witness.health().last_error(), None);
}

#[test]
fn a_controller_that_fails_leaves_the_last_word_and_says_why() {
    let folder = tempfile::tempdir().expect("folder");
    let mark = folder.path().join("asked");
    let body = format!(
        "if [ -e {0} ]; then echo no contact >&2; exit 1; fi; touch {0}; cat <<'X'\n{JOB}\nX",
        mark.display()
    );
    script(folder.path(), "squeue", &body);
    let board = Board::default();
    let settings = Settings { gpus: Devices::from_names(&["GPU-a".into()]), ..settings(folder.path()) };
    let witness = Witness::start(settings, board.clone(), || 40_000);
    let health = witness.health().clone();
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while health.failures.load(Ordering::Acquire) == 0 {
        assert!(std::time::Instant::now() < deadline, "never failed");
        std::thread::yield_now();
    }
    assert!(health.last_error().is_some_and(|error| error.contains("no contact")));
    assert_eq!(board.current().held.len(), 1, "what was said stands; how far it reaches is known");
    assert_eq!(board.current().known_until_ms, 39_000);
}

#[test]
fn where_slurm_never_answers_the_prologs_files_stand_in() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "squeue", "exit 1");
    let files = tempfile::tempdir().expect("folder");
    std::fs::write(files.path().join("0"), "211 1000\n").expect("file");
    std::fs::write(files.path().join("1"), "212\n213\n").expect("file");
    let board = Board::default();
    let settings = Settings {
        gpus: Some(Devices::default()),
        job_files: Some(files.path().into()),
        ..settings(folder.path())
    };
    let _witness = Witness::start(settings, board.clone(), || 40_000);
    let said = until(&board, |said| !said.held.is_empty());
    let told: Vec<(String, String)> = said
        .held
        .iter()
        .map(|held| (held.owner.attributes["slurm_job"].clone(), held.share.to_string()))
        .collect();
    let want = [("211", "1"), ("212", "1/2"), ("213", "1/2")];
    assert_eq!(told, want.map(|(job, share)| (job.to_owned(), share.to_owned())));
}

#[test]
fn a_job_that_ran_while_nobody_asked_is_known_from_accounting() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "squeue", &format!("cat <<'X'\n{JOB}\nX"));
    let asked = "--nodelist=node1 --starttime=1970-01-01T00:10:00";
    let line = "5|5|speech|eve|1001|gpu|normal|90|700|900|00:00:00|COMPLETED|cpu=1,gres/gpu=1|node1";
    let body = format!(
        "case \"$*\" in *'{asked}') [ \"$SLURM_TIME_FORMAT $TZ\" = '%s UTC' ] && echo '{line}';; *) exit 2;; esac"
    );
    script(folder.path(), "sacct", &body);
    let board = Board::default();
    let gpus = Devices::from_names(&["/dev/nvidia0".into(), "/dev/nvidia1".into()]);
    let settings = Settings { gpus, unasked_since_ms: Some(600_000), ..settings(folder.path()) };
    let witness = Witness::start(settings, board.clone(), || 2_000_000);
    let said = until(&board, |said| said.held.len() == 2);
    let past = said.held.iter().find(|held| held.owner.attributes["slurm_job"] == "5").expect("it is there");
    assert_eq!((past.from_ms, past.to_ms), (700_000, Some(900_000)));
    assert_eq!(past.target, crate::allocation::DeviceName::Minor(1).into(), "job 7 has the other since 20");
    assert!(past.owner.evidence.ends_with("which GPUs it had isn't on record"), "{}", past.owner.evidence);
    assert_eq!(witness.health().accounting_failures.load(Ordering::Relaxed), 0);
}

#[test]
fn without_accounting_what_ran_while_nobody_asked_stays_unknown_and_is_counted() {
    let folder = tempfile::tempdir().expect("folder");
    script(folder.path(), "squeue", &format!("cat <<'X'\n{JOB}\nX"));
    script(folder.path(), "sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    let board = Board::default();
    let gpus = Devices::from_names(&["/dev/nvidia0".into()]);
    let settings = Settings { gpus, unasked_since_ms: Some(600_000), ..settings(folder.path()) };
    let witness = Witness::start(settings, board.clone(), || 2_000_000);
    until(&board, |said| said.held.len() == 1);
    assert_eq!(witness.health().accounting_failures.load(Ordering::Relaxed), 1, "asked once, not for ever");
    assert_eq!(witness.health().last_error(), None, "the present is known");
}
