//! History through the command line: dry run, import, import again, what is at odds is refused by line, and live metering goes
//! first. The guide's own example is what is run.

use crate::stage::{CLUSTER, Stage, batches, decimal, gpu_hours, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use simulator::node::Cadence;
use std::path::Path;
use std::process::Output;

const GUIDE: &str = include_str!("../../docs/IMPORT.md");
/// Two days around the example's.
const PERIOD: &str = "2026-02-28..2026-03-03";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr)
}

/// The commands of the guide with what they print: `$ slicemeter ...` and the lines below it.
fn examples() -> Vec<(Vec<String>, String)> {
    let block = |block: &str| {
        let (command, printed) = block.strip_prefix("$ slicemeter ")?.split_once('\n')?;
        // Blanks inside quotes don't part arguments.
        let words = command.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        });
        Some((words.collect(), printed.to_owned()))
    };
    GUIDE.split("```\n").filter_map(block).collect()
}

#[test]
fn the_guides_examples_print_what_it_says_and_count_once() {
    let stage = Stage::with("").expect("the service starts");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/import");
    let examples = examples();
    assert_eq!(examples.len(), 2, "the guide has two examples");
    let run = |words: &[String]| {
        let in_folder = |word: &String| match folder.join(word) {
            path if word.contains('.') && path.is_file() => path.display().to_string(),
            _ => word.clone(),
        };
        let words: Vec<String> = words.iter().map(in_folder).collect();
        let output =
            stage.service.cli(&words.iter().map(String::as_str).collect::<Vec<_>>()).expect("it runs");
        (output.status.code(), said(&output).replace(&format!("{}/", folder.display()), ""))
    };
    for (words, printed) in &examples {
        let (code, text) = run(words);
        assert_eq!((code, text.as_str()), (Some(0), printed.as_str()), "{words:?}");
    }
    let months = stage.service.cli_ok(&["period", "list"]).expect("it runs");
    assert_eq!(months, "", "a dry run writes nothing");
    let wet: Vec<Vec<String>> = examples
        .iter()
        .map(|(words, _)| words.iter().filter(|word| *word != "--dry-run").cloned().collect())
        .collect();
    for words in &wet {
        assert!(run(words).1.contains(": added "), "{words:?}");
    }
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(PERIOD).expect("a bill");
    // Pods and jobs of one team are one tenant's: 5 + 3, and 1 + 1.5 + 2.
    assert_eq!(gpu_hours(&bill, "vision"), 5.0 + 3.0);
    assert_eq!(gpu_hours(&bill, "speech"), 1.0 + 1.5 + 2.0);
    let lines: Vec<_> = bill["statements"]
        .as_array()
        .expect("statements")
        .iter()
        .flat_map(|s| s["lines"].as_array().expect("lines"))
        .collect();
    assert!(lines.iter().all(|l| decimal(&l["use_unknown_gpu_hours"]) == decimal(&l["gpu_hours"])));
    assert_eq!(bill["fleet"]["adds_up"], true);
    for words in &wet {
        let (code, text) = run(words);
        assert!(
            code == Some(0) && text.contains("added 0 runs") && text.contains("counted already"),
            "{text}"
        );
    }
    stage.service.wait_closed().expect("closed");
    let again = stage.bill(PERIOD).expect("a bill");
    assert_eq!(again["statements"], bill["statements"]);
    let number = bill["statements"][0]["number"].as_str().expect("a number");
    let opened = stage.service.cli_ok(&["explain", &format!("{number}-L1")]).expect("explained");
    assert!(opened.contains("sacct of jobs.txt") || opened.contains("import of pods.csv"), "{opened}");
}

#[test]
fn what_is_at_odds_is_refused_by_line_and_nothing_is_half_written() {
    let stage = Stage::with("").expect("the service starts");
    let file = stage.path("jobs.csv");
    let import = |text: &str, more: &[&str]| {
        std::fs::write(&file, text).expect("written");
        let args = [
            "import",
            "allocations",
            file.to_str().expect("UTF-8"),
            "--cluster",
            "c",
            "--model",
            "NVIDIA H100",
        ];
        let maps = ["--map", "id=job", "--map", "from=start", "--map", "to=end"];
        let output = stage.service.cli(&[&args[..], &maps[..], more].concat()).expect("it runs");
        (output.status.code(), said(&output))
    };
    let good = "id,from,to\n1,2026-03-01T08:00Z,2026-03-01T09:00Z\n";
    assert_eq!(import(good, &[]).0, Some(0));
    let mixed = "id,from,to\n1,2026-03-01T08:00Z,2026-03-01T10:00Z\n2,2026-03-01T08:00Z,2026-03-01T09:00Z\n3,then,now\n";
    let (code, text) = import(mixed, &[]);
    assert_eq!(code, Some(1), "{text}");
    for part in [
        "nothing was written",
        "line 2: job 1",
        "imported already with other content",
        "line 4: from: \"then\"",
        "--skip-bad",
    ] {
        assert!(text.contains(part), "{part:?} is missing from: {text}");
    }
    stage.service.wait_closed().expect("closed");
    let total =
        || stage.bill(PERIOD).map(|bill| decimal(&bill["fleet"]["capacity_gpu_hours"])).expect("a bill");
    assert_eq!(total(), 1.0, "nothing of the mixed file counts");
    let (code, text) = import(mixed, &["--skip-bad"]);
    assert!(code == Some(1) && text.contains("added 1 run of 1.000000000"), "{text}");
    stage.service.wait_closed().expect("closed");
    assert_eq!(total(), 2.0);
    let (code, text) = import("id,from\n", &[]);
    assert!(code == Some(2) && text.contains("no column \"to\"; its columns are id, from"), "{text}");
    let (code, text) = import(good, &["--map", "x=colour"]);
    assert!(code == Some(2) && text.contains("\"colour\" is no field"), "{text}");
}

#[test]
fn live_metering_goes_first_and_history_is_cut_where_it_began() {
    let (start_ms, period) = recent(4);
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus.push(Gpu::new("h100"));
    node.processes.push(Process::new(1, 0).uid(2001).busy(10.0));
    let made = batches(&node, 2, Cadence::BACKFILL, 1).expect("the node runs");
    let uuid = made[0].devices[0].uuid.clone();
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, &made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    let at = |hours: i64| {
        let at =
            chrono::DateTime::from_timestamp_millis(start_ms + hours * 3_600_000).expect("a near instant");
        at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    let file = stage.path("jobs.csv");
    let import = |node: &str, device: &str, more: &[&str]| {
        let text = format!("id,team,from,to,node,device\n9,two,{},{},{node},{device}\n", at(-2), at(1));
        std::fs::write(&file, text).expect("written");
        let args = [
            "import",
            "allocations",
            file.to_str().expect("UTF-8"),
            "--cluster",
            CLUSTER,
            "--model",
            "NVIDIA H100 80GB HBM3",
        ];
        let maps = ["id=job", "team=uid", "from=start", "to=end", "node=node", "device=device"];
        let maps: Vec<&str> = maps.into_iter().flat_map(|map| ["--map", map]).collect();
        let output = stage.service.cli(&[&args[..], &maps[..], more].concat()).expect("it runs");
        (output.status.code(), said(&output))
    };
    for (node, device, what) in [
        ("", "", format!("cluster {CLUSTER} was metered live")),
        ("n1", "", "node n1 was metered live".into()),
    ] {
        let (code, text) = import(node, device, &[]);
        assert!(code == Some(1) && text.contains(&what) && text.contains("--until"), "{text}");
    }
    let (code, text) = import("", &uuid, &["--until", &at(0)]);
    assert!(code == Some(1) && text.contains("inventory expect --device"), "{text}");
    let (code, text) = import("n1", "", &["--until", &at(0)]);
    assert!(code == Some(0) && text.contains("added 1 run of 2.000000000"), "{text}");
    stage.service.wait_closed().expect("closed");
    let bill = stage.bill(&period).expect("a bill");
    assert!((gpu_hours(&bill, "one") - 2.0).abs() < 1e-6, "what was metered stays as it was");
    assert_eq!(bill["fleet"]["adds_up"], true);
}
