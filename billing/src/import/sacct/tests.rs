//! What sacct of several versions printed, shortened by hand: requeued runs, suspended time, arrays, steps, running jobs.

use super::*;
use crate::import::{Models, time::Clock};

const NOW: i64 = 1_790_000_000_000;

fn options() -> Options {
    let names = [("a100", "NVIDIA A100-SXM4-80GB"), ("h100", "NVIDIA H100 80GB HBM3")];
    Options {
        file: "jobs.txt".into(),
        cluster: Some("hpc".into()),
        models: Models {
            default: Some("Tesla V100".into()),
            names: names.into_iter().map(|(a, b)| (a.into(), b.into())).collect(),
        },
        clock: Clock { zone: chrono_tz::Tz::Europe__Berlin, origin_ms: 0, unit_ms: 1000 },
        until_ms: None,
        suspended_holds: false,
        shards_per_gpu: None,
        now_ms: NOW,
    }
}

fn told(text: &str, options: &Options) -> Vec<String> {
    let show = |row: Row| match row.read {
        Read::Runs(runs) => {
            let runs: Vec<String> = runs
                .iter()
                .map(|r| format!("{}/{} {}x {} {}", r.key.cluster, r.key.job, r.gpus, r.model, r.held()))
                .collect();
            format!("{}: {}", row.line, runs.join(" + "))
        }
        Read::Skipped(skip) => format!("{}: skipped, {skip}", row.line),
        Read::Wrong(error) => format!("{}: {error}", row.line),
    };
    read(text, options).expect("sacct's").into_iter().map(show).collect()
}

#[test]
fn text_of_21_08_to_26_05_gives_the_runs_that_were() {
    let text = include_str!("tests/sacct-22.05.txt");
    let want = [
        "2: hpc/1001 1x NVIDIA A100-SXM4-80GB 2.000000000",
        "3: skipped, is a step of a job",
        "4: skipped, is a step of a job",
        "5: hpc/1003 2x NVIDIA H100 80GB HBM3 1.000000000",
        // Requeued twice: three runs under one id.
        "6: hpc/1004 1x Tesla V100 0.500000000",
        "7: hpc/1004 1x Tesla V100 0.250000000",
        "8: hpc/1004 1x Tesla V100 1.000000000",
        // Suspended for 10 of 12 hours.
        "9: hpc/1005 1x Tesla V100 2.000000000",
        "10: skipped, has not ended: import it again when it has",
        "11: skipped, never started",
        "12: skipped, held no GPU",
        "13: hpc/1009 1x a 1.000000000 + hpc/1009 2x b 2.000000000",
    ];
    assert_eq!(told(text, &options()), want);
    let held = Options { suspended_holds: true, ..options() };
    assert_eq!(told(text, &held)[7], "9: hpc/1005 1x Tesla V100 12.000000000");
    // Other versions and formats of the same: offsets or Unix seconds, a delimiter at the end, fewer columns.
    for (text, want) in [
        (
            "JobID|Submit|Start|End|AllocGRES|\n77|2026-03-01T08:00:00+0100|2026-03-01T09:00:00+0100|2026-03-01T10:00:00+0100|gpu:a100:1|\n",
            "2: hpc/77 1x NVIDIA A100-SXM4-80GB 1.000000000",
        ),
        (
            "jobidraw|cluster|submit|start|end|alloctres\n77|other|1772350000|1772352000|1772355600|gres/gpu=1,gres/gpu:h100=1\n",
            "2: other/77 1x NVIDIA H100 80GB HBM3 1.000000000",
        ),
    ] {
        assert_eq!(told(text, &options()), [want]);
    }
}

#[test]
fn json_of_every_shape_gives_the_run_that_text_gives() {
    for json in [
        include_str!("tests/sacct-21.08.json"),
        include_str!("tests/sacct-23.02.json"),
        include_str!("tests/sacct-24.05.json"),
    ] {
        let want = [
            "1: hpc/1003 2x NVIDIA H100 80GB HBM3 1.000000000",
            "2: skipped, has not ended: import it again when it has",
            "3: skipped, never started",
        ];
        assert_eq!(told(json, &options()), want, "{json}");
        let rows = read(json, &options()).expect("sacct's");
        let Read::Runs(runs) = &rows[0].read else { panic!("{rows:?}") };
        assert_eq!(runs[0].node_names(), ["node1", "node2"]);
        let shown: Vec<String> = runs[0].owner.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            shown.join(" "),
            "slurm_account=vision slurm_array_job=1000 slurm_array_task=3 slurm_job=1003 slurm_partition=gpu \
             slurm_qos=normal slurm_submit=2026-03-01T07:00:00Z user=ada"
        );
    }
}

#[test]
fn an_owner_is_the_one_that_a_collector_names() {
    let rows = read(include_str!("tests/sacct-22.05.txt"), &options()).expect("sacct's");
    let Read::Runs(runs) = &rows[3].read else { panic!("{rows:?}") };
    let owner = &runs[0].owner;
    let shown: Vec<String> = owner.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(
        shown.join(" "),
        "slurm_account=vision slurm_array_job=1000 slurm_array_task=3 slurm_job=1003 slurm_partition=gpu \
         slurm_qos=normal slurm_submit=2026-03-01T07:00:00Z uid=1000 user=ada"
    );
    assert_eq!(owner.evidence, "sacct of jobs.txt: job 1003");
}

#[test]
fn rows_that_can_not_be_meant_say_why_and_files_that_can_not_are_refused() {
    let head = "JobIDRaw|Submit|Start|End|AllocTRES|NodeList\n";
    for (line, want) in [
        ("1|1772350000|1772352000|1772355600", "it has 4 cells where the header has 6"),
        ("1|1772350000|1772352000|1772355600|gres/gpu=x|n1", "can't be read as an allocation of GPUs"),
        ("1|1772350000|1772352000|1772355600|gres/shard=2|n1", "--shards-per-gpu N"),
        ("1|1772350000|1772352000|1772355600|gres/gpu=1|n[1-", "no list of nodes"),
        ("|1772350000|1772352000|1772355600|gres/gpu=1|n1", "JobID is empty"),
        ("1||1772352000|1772355600|gres/gpu=1|n1", "Submit is empty"),
        // An hour that a clock change repeats.
        ("1|1772350000|2025-10-26T02:30:00|2025-10-26T05:00:00|gres/gpu=1|n1", "write it with an offset"),
    ] {
        let told = told(&format!("{head}{line}\n"), &options());
        assert!(told[0].contains(want), "{line}: {told:?}");
    }
    let wrong = |text: &str| read(text, &options()).expect_err("not sacct's").to_string();
    assert!(wrong("JobID|JobName|Start\n").contains("JobName is text that users write"));
    assert!(wrong("JobID|Submit|Start|End\n").contains("--format="));
    assert!(wrong("{\"jobs\": 1}").contains("sacct --json"));
    assert!(wrong("").contains("no header"));
}

proptest::proptest! {
    /// A job that spans months is its pieces: sacct's --truncate for each month sums to the whole.
    #[test]
    fn a_run_cut_anywhere_sums_to_the_whole(len_s in 2i64..9_000_000, at in 1i64..99, gpus in 1u32..9) {
        let start = 1_772_352_000;
        let middle = start + (len_s * at / 100).max(1);
        let line = |from: i64, to: i64| {
            let text = format!("JobID|Submit|Start|End|AllocTRES\n1|1772350000|{from}|{to}|gres/gpu={gpus}\n");
            let rows = read(&text, &options()).expect("sacct's");
            let Read::Runs(runs) = &rows[0].read else { panic!("{rows:?}") };
            runs[0].clone()
        };
        let whole = line(start, start + len_s);
        let (first, second) = (line(start, middle), line(middle, start + len_s));
        let cut = whole.held_until(middle * 1000);
        proptest::prop_assert_eq!(first.held(), cut);
        let rest = whole.held() - cut;
        // Floors of two starts can differ by one unit.
        proptest::prop_assert!((rest.0 - second.held().0).abs() <= 1);
    }
}
