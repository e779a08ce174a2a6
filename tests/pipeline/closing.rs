//! A month is closed by two commands at once while its last batches are still on their way, in any order and some of them
//! twice: both agree on one close, it stays as it was, and what it lacked is a correction.

use crate::periods::{amounts, closed_month, in_service, owner_of_one_gpu, said};
use crate::stage::{HOUR_MS, Stage, batches};
use schema::wire::Batch;
use simulator::node::Cadence;
use std::sync::Barrier;

const HOURS: i64 = 4;

#[test]
fn a_month_closed_by_two_while_batches_arrive_and_its_corrections_are_the_whole_month() {
    let (month, end_ms, next) = closed_month();
    let start_ms = end_ms - HOURS * HOUR_MS;
    let made = batches(&owner_of_one_gpu(start_ms), HOURS + 1, Cadence::BACKFILL, 1).expect("the node runs");
    let stage = Stage::new().expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    in_service(&stage, &made, start_ms, end_ms + HOUR_MS);
    // The last hour is the next month's, and says that the node is awake.
    let (own, after): (Vec<Batch>, Vec<Batch>) =
        made.into_iter().partition(|b| b.device_windows.iter().all(|w| w.start_ms < end_ms));
    stage.service.ship(&credential, &[&own[..1], &after].concat()).expect("accepted");
    // Every hour is published once, those that no batch has touched too.
    assert_eq!(said(&stage, &["period", "check", &month]).0, Some(1));

    let close = [
        ["period", "close", &month, "--author", "ada"].as_slice(),
        &["--waive", "coverage", "--reason", "batches are on their way"],
    ]
    .concat();
    let begun = Barrier::new(3);
    let manifests = std::thread::scope(|scope| {
        let closes = [(); 2].map(|()| {
            scope.spawn(|| {
                begun.wait();
                loop {
                    let (status, text) = said(&stage, &close);
                    match status {
                        Some(0) => return text.trim().rsplit(' ').next().expect("a manifest").to_owned(),
                        _ => assert!(text.contains("try again later"), "{text}"),
                    }
                }
            })
        });
        for (number, at) in (0..own.len()).rev().chain((0..own.len()).step_by(3)).enumerate() {
            if number == own.len() / 3 {
                begun.wait();
            }
            stage.service.ship(&credential, &own[at..=at]).expect("accepted");
        }
        closes.map(|close| close.join().expect("no panic"))
    });
    assert_eq!(manifests[0], manifests[1]);
    stage.service.wait_closed().expect("closed");
    let closed = stage.bill(&month).expect("a bill");
    assert_eq!(closed["statements"][0]["context"]["manifest"], manifests[0].as_str());
    assert_eq!(closed["fleet"]["adds_up"], true);
    let verified = said(&stage, &["period", "verify", &month]);
    assert_eq!(
        (verified.0, verified.1.contains("everything is as it was closed")),
        (Some(0), true),
        "{verified:?}"
    );

    let (status, text) =
        said(&stage, &["period", "correct", &month, "--into", &next, "--reason", "came after the close"]);
    assert_eq!(status, Some(0), "{text}");
    let bill = stage.bill(&next).expect("a bill");
    let (posted, corrected) = (amounts(&closed, "one").0, amounts(&bill, "one").1);
    assert!((posted + corrected - HOURS as f64 * 3.60).abs() < 1e-9, "{posted} and {corrected}");
    assert_eq!(stage.bill(&month).expect("a bill"), closed, "a closed month never changes");
    let (status, text) = said(&stage, &["period", "diff", &month]);
    assert_eq!((status, text.contains("nothing differs")), (Some(0), true), "{text}");
}
