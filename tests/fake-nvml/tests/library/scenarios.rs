//! Scenario files: the examples load, what is written reads back, and what is wrong is named.

use std::path::Path;

use nvidia_ml::scenario::{Event, Gpu, GpuInstance, Process, Scenario, Seconds, Series, Wave};

#[test]
fn every_example_is_a_scenario() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 6);
    for file in files {
        let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario, "{}", file.display());
    }
}

#[test]
fn what_is_written_reads_back_as_it_was() {
    let mut scenario = Scenario::new("n").starting_at_us(1_788_220_800_123_456);
    scenario.gpus.push(Gpu::new("h100").with_mig(vec![GpuInstance::new(2, "3g.40gb")]));
    let wave = Wave { period_s: Seconds::from_micros(1_500_000), on_s: Seconds::new(1), percent: 12.5 };
    scenario
        .processes
        .push(Process::new(1, 0).on_instance(2, 0).alive(0, 3600).busy(Series::Wave(wave)).memory_mib(1.0));
    let steps: Vec<_> = (0..1400).map(|step| (Seconds::new(step * 60), step as f64 / 14.0)).collect();
    scenario.processes.push(Process::new(2, 0).on_instance(2, 0).alive(60, 90_000).busy(steps));
    scenario.events.push(Event::Xid { gpu: 0, t: Seconds::new(5), code: 79, gi: Some(2) });
    scenario.check().unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml()).unwrap(), scenario);
}

/// A GPU of the given lines, then the given rest.
fn refused(gpu: &str, rest: &str) -> String {
    let text = format!("node = \"n\"\n[[gpus]]\n{gpu}\n{rest}");
    Scenario::parse(&text).expect_err("it contradicts itself").to_string()
}

#[test]
fn what_is_wrong_is_named_with_its_remedy() {
    let cut = "preset = \"h100\"\n[[gpus.mig]]\ninstances = [{ gi = 1, profile = \"4g.40gb\" }]";
    for (gpu, rest, words) in [
        ("preset = \"h10\"", "", &["gpus[0].preset", "h10 is unknown", "h100"][..]),
        ("preset = \"h100\"\ncolour = 3", "", &["unknown field", "colour", "mps_utilization"]),
        (
            "preset = \"h100\"",
            "[[processes]]\npid = 1\ngpu = 7",
            &["processes[0].gpu", "7 does not exist", "1 GPUs"],
        ),
        (
            "preset = \"h100\"",
            "[[processes]]\npid = 1\ngpu = 0\nbusy = 101",
            &["processes[0].busy", "0 to 100"],
        ),
        (
            "preset = \"h100\"",
            "[[processes]]\npid = 1\ngpu = 0\nbusy = \"x\"",
            &["busy", "a list of [seconds, value]"],
        ),
        (
            "preset = \"h100\"",
            "[[processes]]\npid = 1\ngpu = 0\ngi = 1",
            &["processes[0].gi", "no one layout"],
        ),
        (
            "preset = \"h100\"",
            "[[processes]]\npid = 1\ngpu = 0\nbusy = { period_s = 0.5, on_s = 0.1, percent = 9 }",
            &["processes[0].busy", "500000 periods"],
        ),
        (cut, "[[processes]]\npid = 1\ngpu = 0", &["processes[0].gi", "is missing"]),
        (
            cut,
            "[[events]]\nkind = \"delay\"\nfunction = \"nvmlNo\"\nmicros = 1",
            &["events[0].function", "nvmlNo"],
        ),
        (&cut.replace("4g.40gb", "5g.50gb"), "", &["instances[0].profile", "5g.50gb", "7g.80gb"]),
        (&cut.replace("}]", "}, { gi = 2, profile = \"4g.40gb\" }]"), "", &["8 compute", "has 7 compute"]),
        ("preset = \"t4\"\nmig = [{}]", "", &["t4 has no MIG", "remove the layout"]),
    ] {
        let message = refused(gpu, rest);
        for word in words {
            assert!(message.contains(word), "{message:?} should say {word:?}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = Scenario::load(Path::new("/nowhere/s.toml")).unwrap_err().to_string();
    assert!(message.contains("/nowhere/s.toml"), "{message}");
}
