//! SIGKILL at the worst moments: nothing that was durable is lost, nothing is told twice differently.

use crate::ingest::Ingest;
use crate::rig::{Rig, Setup, node};
use schema::wire::Batch;
use std::collections::BTreeMap;
use std::io::Write;

/// Sequences by incarnation, in the spool's order.
fn sequences(batches: &[Batch]) -> Vec<(Vec<u8>, Vec<u64>)> {
    let mut runs: Vec<(Vec<u8>, Vec<u64>)> = Vec::new();
    for batch in batches {
        match runs.last_mut() {
            Some((incarnation, run)) if *incarnation == batch.incarnation => run.push(batch.sequence),
            _ => runs.push((batch.incarnation.clone(), vec![batch.sequence])),
        }
    }
    runs
}

/// A record that was being written when the power went: its head promises more than there is.
fn tear(rig: &Rig) {
    let mut segments: Vec<_> = std::fs::read_dir(rig.state().join("spool"))
        .expect("the spool")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "seg"))
        .collect();
    segments.sort();
    let last = segments.last().expect("a segment");
    let mut file = std::fs::File::options().append(true).open(last).expect("opens");
    file.write_all(&[200, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).expect("written");
}

#[test]
fn a_killed_collector_loses_nothing_durable_and_tells_nothing_twice_differently() {
    let mut rig = Rig::running(&node("h100", 2), Setup::default());
    rig.until_ready();
    let grown = |rig: &Rig, by: f64| {
        let name = "slicemeter_collector_spool_bytes";
        let bytes = rig.metrics().sample(name, &[]).expect("bytes");
        rig.until_at_least(name, &[], bytes + by);
    };
    grown(&rig, 1.0);
    grown(&rig, 1.0);
    rig.kill();
    let durable = rig.spooled();
    assert!(durable.len() >= 2);
    tear(&rig);

    // The service has the delivery, but its answer doesn't say so; then the collector is killed again.
    let ingest = Ingest::start(503);
    rig.configure(&Setup { server: Some(ingest.url.clone()), ..Setup::default() });
    rig.start();
    rig.until("a first delivery", |_| (ingest.came().len() >= durable.len()).then_some(()));
    grown(&rig, 1.0);
    rig.kill();
    let kept = rig.spooled();
    assert_eq!(kept[..durable.len()], durable[..], "the torn tail was cut and the rest stayed");

    ingest.answer(200);
    rig.start();
    rig.until_at_least("slicemeter_collector_shipped_batches_total", &[], kept.len() as f64 + 1.0);
    assert!(rig.stop().success());
    let left = rig.spooled();

    let mut told: BTreeMap<(Vec<u8>, u64), Vec<u8>> = BTreeMap::new();
    let came = ingest.came();
    let again = came.len();
    for (identity, bytes) in came {
        let first = told.entry(identity).or_insert_with(|| bytes.clone());
        assert_eq!(*first, bytes, "the same identity with other content");
    }
    assert!(told.len() < again, "something was delivered twice");
    for batch in &kept {
        assert!(
            told.contains_key(&(batch.incarnation.clone(), batch.sequence)),
            "a durable batch never came"
        );
    }
    let runs = sequences(&kept);
    assert_eq!(runs.len(), 2, "an incarnation of its own for each start");
    let last_start = told.keys().map(|(incarnation, _)| incarnation.clone());
    let incarnations: std::collections::BTreeSet<_> = last_start.collect();
    assert_eq!(incarnations.len(), 3);
    for incarnation in incarnations {
        let mut run: Vec<u64> = told.keys().filter(|(i, _)| *i == incarnation).map(|(_, s)| *s).collect();
        run.extend(left.iter().filter(|b| b.incarnation == incarnation).map(|b| b.sequence));
        run.sort_unstable();
        run.dedup();
        assert_eq!(run, (0..run.len() as u64).collect::<Vec<_>>(), "a hole in an incarnation's sequences");
    }
}
