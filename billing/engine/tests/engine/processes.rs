//! Who starts the engine, who finds it, and with whom it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use engine::child::{Options, Report};
use engine::{Supervisor, discover};

use crate::support::{MEMORY_BYTES, TestEngine, config};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slicemeter-engine");

fn options(data_dir: &Path, parent_pid: Option<u32>) -> String {
    let options = Options {
        library: None,
        data_dir: data_dir.to_path_buf(),
        port: 0,
        secret: "test".into(),
        max_server_memory_bytes: MEMORY_BYTES,
        concurrency: 2,
        config_file: None,
        parent_pid,
    };
    serde_json::to_string(&options).expect("plain values") + "\n"
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("spawned")
}

/// Sends the options, and reads the report.
fn introduce(process: &mut Child, options: &str) -> (Report, BufReader<ChildStdout>) {
    process.stdin.as_mut().expect("piped").write_all(options.as_bytes()).expect("sent");
    let mut output = BufReader::new(process.stdout.take().expect("piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("readable");
    (serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}")), output)
}

#[test]
fn the_engine_dies_with_its_parent() {
    let directory = tempfile::tempdir().expect("a directory");
    // A shell is the parent; the test keeps the engine's standard input open, so only the signal can end it.
    let mut parent = spawn(Command::new("sh").args(["-c", "exec 3<&0; \"$0\" <&3 & wait", PROGRAM]));
    let pid = parent.id();
    let (report, mut output) = introduce(&mut parent, &options(directory.path(), Some(pid)));
    assert!(matches!(report, Report::Listening(_)), "{report:?}");
    assert!(discover(directory.path()).is_some(), "it serves");

    parent.kill().expect("it ran");
    // The end of its output is the end of the engine; one that lives on is stopped by dropping its input.
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(output.read_to_end(&mut Vec::new()).is_ok()));
    assert_eq!(end.recv_timeout(Duration::from_secs(30)), Ok(true), "an orphan holds the directory");
    assert_eq!(discover(directory.path()), None);
    parent.wait().expect("reaped");
}

#[test]
fn the_end_of_its_input_stops_the_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut process = spawn(&mut Command::new(PROGRAM));
    let (report, _output) = introduce(&mut process, &options(directory.path(), None));
    assert!(matches!(report, Report::Listening(_)), "{report:?}");
    drop(process.stdin.take());
    assert!(process.wait().expect("an end").success(), "it stops by itself, in order");
    assert!(!directory.path().join("engine.json").exists());
}

#[test]
fn a_child_whose_parent_is_gone_does_not_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut process = spawn(&mut Command::new(PROGRAM));
    let somebody_else = process.id();
    let (report, _output) = introduce(&mut process, &options(directory.path(), Some(somebody_else)));
    let Report::Failed(reason) = report else { panic!("{report:?}") };
    assert!(reason.contains("is gone"), "{reason}");
    assert_eq!(process.wait().expect("an end").code(), Some(2));
}

#[tokio::test]
async fn a_second_engine_on_the_directory_is_refused_by_name() {
    let engine = TestEngine::start().await;
    let error = Supervisor::start(config(engine.directory.path())).await.err().expect("refused").to_string();
    let pid = engine.supervisor.endpoint().pid;
    assert!(error.contains(&format!("in use by the engine process {pid}")), "{error}");
    assert!(error.contains(&format!("kill {pid}")), "{error}");
    assert_eq!(engine.number("SELECT toUInt64(1)").await, 1, "the first one goes on");
}

#[tokio::test]
async fn a_missing_library_says_how_to_install_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = config(directory.path());
    config.library = Some(directory.path().join("libchdb.so"));
    let error = Supervisor::start(config).await.err().expect("no library").to_string();
    assert!(error.contains("run `deploy/install-engine.sh`"), "{error}");
}

#[tokio::test]
async fn a_running_engine_is_found_by_its_owner_only() {
    let engine = TestEngine::start().await;
    let directory = engine.directory;
    assert_eq!(discover(directory.path()), Some(engine.supervisor.endpoint()));
    let mode = std::fs::metadata(directory.path().join("engine.json")).expect("written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    engine.supervisor.stop().await;
    assert_eq!(discover(directory.path()), None);
    assert!(!directory.path().join("engine.json").exists());

    // The lock went with the process: the directory opens again.
    let again = Supervisor::start(config(directory.path())).await.expect("free again");
    again.stop().await;
}

#[tokio::test]
async fn an_operators_configuration_is_kept_under_ours() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("operator.xml");
    std::fs::write(
        &file,
        "<clickhouse><macros><shard>s7</shard></macros><max_server_memory_usage>1</max_server_memory_usage>\
         <merge_tree><fsync_after_insert>0</fsync_after_insert><max_parts_in_total>4321</max_parts_in_total></merge_tree></clickhouse>",
    )
    .expect("written");
    let engine = TestEngine::start_with(|config| config.config_file = Some(file)).await;
    assert_eq!(engine.post("", b"SELECT getMacro('shard')").text(), "s7\n");
    assert_eq!(
        engine
            .post("", b"SELECT value FROM system.merge_tree_settings WHERE name = 'max_parts_in_total'")
            .text(),
        "4321\n"
    );
}
