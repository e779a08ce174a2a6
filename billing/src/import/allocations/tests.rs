//! Any CSV: quoted cells, fractions in every form, and what is wrong said by line and column.

use super::*;
use crate::import::{Models, Skip, time::Clock};

const NOW: i64 = 1_790_000_000_000;

fn options() -> Options {
    Options {
        file: "pods.csv".into(),
        cluster: Some("c".into()),
        models: Models { default: Some("NVIDIA A100".into()), names: Default::default() },
        clock: Clock { zone: chrono_tz::Tz::UTC, origin_ms: 1_767_225_600_000, unit_ms: 1000 },
        until_ms: None,
        suspended_holds: false,
        shards_per_gpu: None,
        now_ms: NOW,
    }
}

fn map(maps: &[&str]) -> ColumnMap {
    ColumnMap::parse(&maps.iter().map(|m| m.to_string()).collect::<Vec<_>>(), None).expect("a map")
}

/// Each row in words: line, and the runs or the reason.
fn told(text: &str, map: &ColumnMap, options: &Options) -> Vec<String> {
    let show = |row: Row| match row.read {
        Read::Runs(runs) => {
            let runs: Vec<String> = runs
                .iter()
                .map(|r| format!("{} {}x{} {} {}", r.key.job, r.gpus, r.share, r.place(), r.held()))
                .collect();
            format!("{}: {}", row.line, runs.join(" + "))
        }
        Read::Skipped(skip) => format!("{}: skipped, {skip}", row.line),
        Read::Wrong(error) => format!("{}: {error}", row.line),
    };
    read(text, map, options).expect("a file").into_iter().map(show).collect()
}

#[test]
fn rows_are_runs_skips_or_errors_with_their_line() {
    let csv = "\u{feff}name,gpus,milli,from,to,qos\n\
               a,1,470,0,3600,LS\n\
               \"b,\n2\",8,1000,0,1800,BE\n\
               c,0,0,0,3600,BE\n\
               d,1,,,,BE\n\
               e,1,,10,,BE\n\
               f,1,,10,10,BE\n\
               g,1,1001,0,60,BE\n\
               h,1.5,,0,60,BE\n\
               i,1,,60,0,BE\n\
               j,1,,soon,60,BE\n\
               k,1,,0,999999999,BE\n\
               l,1,,0,60\n\
               ,1,,0,60,BE\n";
    let map = map(&["name=job", "gpus=gpus", "milli=milli", "from=start", "to=end", "qos=qos"]);
    let told = told(csv, &map, &options());
    let want = [
        "2: a 1x47/100 virtual:c:NVIDIA A100 0.470000000",
        "3: b,\n2 8x1 virtual:c:NVIDIA A100 4.000000000",
        "5: skipped, held no GPU",
        "6: skipped, never started",
        "7: skipped, has not ended: import it again when it has",
        "8: skipped, took no time",
        "9: milli: \"1001\" is not thousandths of a GPU, 0 to 1000",
        "10: gpus: \"1.5\" is not a number of GPUs, or a fraction below 1 (for equal shares of several map a count and a fraction)",
        "11: it ends at 2026-01-01T00:00:00Z before it starts at 2026-01-01T00:01:00Z",
        "12: from: \"soon\" is not a date: write 2026-09-16, 2026-09-16T06:00 (both local) or 2026-09-16T06:00:00Z",
        "13: it ends at 2057-09-09T01:46:39Z, which is still to come: import a run after its end",
        "14: it has 5 cells where the header has 6: a cell holds the delimiter, or a line break",
        "15: job is empty: every run needs one, because it is counted under it",
    ];
    assert_eq!(told, want);
}

#[test]
fn owners_are_as_collectors_make_them() {
    let csv = "id,team,q,when,start,end,l\n7,vision,BE,0,60,120,a\n";
    let read_one = |maps: &[&str]| {
        let rows = read(csv, &map(maps), &options()).expect("a file");
        let Read::Runs(runs) = &rows[0].read else { panic!("{rows:?}") };
        let owner = &runs[0].owner;
        let shown: Vec<String> = owner.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
        (owner.kind, shown.join(" "), owner.evidence.clone())
    };
    let pod = read_one(&["id=job", "team=tenant", "q=qos", "start=start", "end=end", "l=label:app"]);
    assert_eq!(pod.0, OwnerKind::Kubernetes);
    assert_eq!(pod.1, "label:app=a namespace=vision pod=7 slurm_qos=BE");
    assert_eq!(pod.2, "import of pods.csv, line 2: job 7");
    let job = read_one(&["id=job", "team=account", "q=qos", "when=submit", "start=start", "end=end"]);
    assert_eq!(job.0, OwnerKind::Slurm);
    assert_eq!(job.1, "slurm_account=vision slurm_job=7 slurm_qos=BE slurm_submit=2026-01-01T00:00:00Z");
}

#[test]
fn named_devices_are_each_a_run_and_profiles_are_slices() {
    let csv =
        "j,s,e,d,g,p\n1,0,3600,GPU-a;GPU-b,2,\n2,0,3600,GPU-a,2,\n3,0,3600,,1,3g.20gb\n4,0,3600,,1,big\n";
    let map = map(&["j=job", "s=start", "e=end", "d=device", "g=gpus", "p=profile"]);
    let told = told(csv, &map, &options());
    assert_eq!(told[0], "2: 1 1x1 GPU-a 1.000000000 + 1 1x1 GPU-b 1.000000000");
    assert_eq!(told[1], "3: 1 devices are named for 2 GPUs: name as many as were held, or none");
    assert_eq!(told[2], "4: 3 1x3/7 virtual:c:NVIDIA A100 0.428571428");
    assert_eq!(told[3], "5: profile: \"big\" is not a MIG profile such as 3g.20gb");
}

#[test]
fn a_run_is_cut_where_live_metering_began_and_a_cluster_and_model_are_needed() {
    let csv = "j,s,e,m\n1,0,7200,a\n2,3600,7200,a\n";
    let map = map(&["j=job", "s=start", "e=end", "m=model"]);
    let mut options = options();
    options.until_ms = Some(options.clock.origin_ms + 3_600_000);
    options.models.names.insert("a".into(), "NVIDIA A30".into());
    let rows = told(csv, &map, &options);
    assert_eq!(
        rows,
        ["2: 1 1x1 virtual:c:NVIDIA A30 1.000000000", &format!("3: skipped, {}", Skip::AfterUntil)]
    );
    options.cluster = None;
    assert!(told(csv, &map, &options)[0].contains("--cluster NAME"));
    (options.cluster, options.models) = (Some("c".into()), Models::default());
    assert!(told("j,s,e,m\n1,0,60,\n", &map, &options)[0].contains("--model NAME"));
    options.clock.origin_ms = 0;
    assert!(told(csv, &map, &options)[0].contains("--time-origin"));
}

#[test]
fn a_map_or_file_that_can_not_be_meant_is_refused_with_the_remedy() {
    let parse = |maps: &[&str]| {
        let maps: Vec<String> = maps.iter().map(|m| m.to_string()).collect();
        ColumnMap::parse(&maps, None).expect_err("no map").to_string()
    };
    for (maps, want) in [
        (&["job"][..], "write COLUMN=FIELD"),
        (&["a=colour"], "those are job, submit, start"),
        (&["a=job", "b=job"], "two columns are mapped to job"),
        (&["a=job", "b=start"], "add --map COLUMN=end"),
        (&["a=job", "b=start", "c=end", "d=milli", "e=fraction"], "a share is said once"),
        (&["a=job", "b=start", "c=end", "d=tenant", "e=namespace"], "two columns are mapped to namespace"),
    ] {
        assert!(parse(maps).contains(want), "{maps:?}: {}", parse(maps));
    }
    let map = map(&["a=job", "b=start", "c=end"]);
    let wrong = |text: &str| read(text, &map, &options()).expect_err("no file").to_string();
    assert!(wrong("").contains("no header"));
    assert!(wrong("a,b\n").contains("no column \"c\"; its columns are a, b"));
    assert!(wrong("a,b,c,a\n").contains("two columns \"a\""));
}

proptest::proptest! {
    /// Whatever a file holds, each of its records is told of, and nothing panics.
    #[test]
    fn no_row_is_lost(cells in proptest::collection::vec("[a-z0-9.,\":-]{0,8}", 0..40)) {
        let map = map(&["a=job", "b=start", "c=end", "d=gpus", "e=fraction"]);
        let mut text = String::from("a,b,c,d,e\n");
        for row in cells.chunks(5) {
            let quoted: Vec<String> = row.iter().map(|c| format!("\"{}\"", c.replace('"', "\"\""))).collect();
            text.push_str(&quoted.join(","));
            text.push('\n');
        }
        let rows = read(&text, &map, &options()).expect("a file");
        proptest::prop_assert_eq!(rows.len(), cells.chunks(5).count());
    }
}
