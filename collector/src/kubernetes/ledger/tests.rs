//! Edges over time, as lines `pod share [from, to)`.

use super::*;
use proptest::prelude::*;
use schema::owner::OwnerKind;

const DEVICE: &str = "GPU-aaaaaaaa-3e4b-5a69-7788-99aabbccddee";

static NOBODY: BTreeSet<String> = BTreeSet::new();

fn owner(pod: &str, label: &str) -> Owner {
    let uid = (!pod.contains('/')).then(|| (key::POD_UID.to_owned(), pod.to_owned()));
    let name = pod.rsplit('/').next().unwrap_or(pod).to_owned();
    let mut attributes: BTreeMap<String, String> = uid.into_iter().collect();
    attributes.insert(key::POD.into(), name);
    attributes.insert("label:team".into(), label.into());
    Owner { kind: OwnerKind::Kubernetes, attributes, evidence: String::new() }
}

fn hold(pod: &str, from_ms: Option<i64>, to_ms: Option<i64>) -> Hold {
    let part = Part::Equal { of: Share::WHOLE, group: DEVICE.into() };
    Hold {
        pod: pod.into(),
        container: Some("main".into()),
        target: DeviceRef::Gpu(DEVICE.into()),
        part,
        from_ms,
        to_ms,
        owner: owner(pod, "x"),
    }
}

fn at(now_ms: i64) -> Instant<'static> {
    Instant { now_ms, listed_ms: Some(now_ms - 3), settled: true, departed: &[], living: &NOBODY }
}

fn told(ledger: &Ledger) -> Vec<String> {
    let mut lines: Vec<String> = ledger
        .allocations()
        .iter()
        .map(|a| {
            let to = a.to_ms.map_or("..".to_owned(), |to| to.to_string());
            format!(
                "{} {} {} [{}, {to})",
                a.owner.attributes[key::POD],
                a.owner.attributes["label:team"],
                a.share,
                a.from_ms
            )
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_pod_holds_between_the_instants_that_the_api_server_tells() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"]);
    ledger.update(vec![hold("p", Some(100), Some(180))], at(200));
    ledger.update(vec![hold("p", Some(100), Some(180))], at(300));
    assert_eq!(told(&ledger), ["p x 1 [100, 180)"], "once, though it is told again");
    ledger.update(Vec::new(), at(181 + RETENTION_MS));
    assert!(told(&ledger).is_empty());
}

#[test]
fn a_pod_of_ten_seconds_between_two_looks_is_held_for_ten_seconds() {
    let mut ledger = Ledger::default();
    ledger.update(Vec::new(), at(20_000));
    ledger.update(vec![hold("p", Some(21_000), Some(31_000))], at(40_000));
    assert_eq!(told(&ledger), ["p x 1 [21000, 31000)"]);
}

#[test]
fn a_pod_that_was_deleted_holds_up_to_its_end_and_one_that_vanished_up_to_the_last_word() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None), hold("q", Some(100), None)], at(150));
    let departed =
        [Departed { uid: "p".into(), namespace: "n".into(), name: "p".into(), to_ms: 170, is_told: true }];
    ledger.update(Vec::new(), Instant { departed: &departed, ..at(200) });
    assert_eq!(told(&ledger), ["p x 1/2 [100, 170)", "q x 1 [170, 197)", "q x 1/2 [100, 170)"]);
}

#[test]
fn a_pod_that_vanished_unseen_holds_up_to_when_it_was_last_seen() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    let unseen =
        Departed { uid: "p".into(), namespace: "n".into(), name: "p".into(), to_ms: 110, is_told: false };
    ledger.update(Vec::new(), Instant { departed: &[unseen], ..at(900) });
    assert_eq!(told(&ledger), ["p x 1 [100, 147)"], "the kubelet listed it later than the watch spoke");
}

#[test]
fn a_living_pod_keeps_its_device_though_a_kubelet_that_restarted_lists_nobody() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    let living = ["p".to_owned()].into();
    ledger.update(Vec::new(), Instant { living: &living, ..at(200) });
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"]);
    ledger.update(Vec::new(), at(300));
    assert_eq!(told(&ledger), ["p x 1 [100, 297)"]);
}

#[test]
fn a_shared_claim_is_halved_while_the_second_pod_is_there() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("a", Some(0), None)], at(10));
    ledger.update(vec![hold("a", Some(0), None), hold("b", Some(30), Some(60))], at(100));
    assert_eq!(told(&ledger), ["a x 1 [0, 30)", "a x 1 [60, ..)", "a x 1/2 [30, 60)", "b x 1/2 [30, 60)"]);
}

#[test]
fn a_pod_of_the_same_name_is_another_pod_and_the_pause_is_nobodys() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("old", Some(100), Some(200))], at(250));
    ledger.update(vec![hold("new", Some(800), None)], at(900));
    assert_eq!(told(&ledger), ["new x 1 [800, ..)", "old x 1 [100, 200)"]);
}

#[test]
fn a_new_label_counts_from_when_it_was_set() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    let relabelled = Hold { owner: owner("p", "y"), ..hold("p", Some(100), None) };
    ledger.update(vec![relabelled], at(500));
    assert_eq!(told(&ledger), ["p x 1 [100, 500)", "p y 1 [500, ..)"]);
}

#[test]
fn a_label_that_is_set_as_the_pod_ends_moves_no_end() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    ledger.update(vec![Hold { owner: owner("p", "done"), ..hold("p", Some(100), Some(180)) }], at(500));
    assert_eq!(told(&ledger), ["p x 1 [100, 180)"]);
}

#[test]
fn what_is_learned_of_a_pod_while_starting_up_counts_from_its_beginning() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("ns/p", None, None)], Instant { settled: false, ..at(150) });
    assert_eq!(told(&ledger), ["p x 1 [147, ..)"]);
    let known = Hold {
        owner: Owner { attributes: owner("u", "x").attributes, ..owner("u", "x") },
        ..hold("u", Some(100), None)
    };
    let mut named = known;
    named.owner.attributes.insert(key::POD.into(), "p".into());
    ledger.update(vec![named], at(160));
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"]);
}

proptest! {
    #[test]
    fn the_parts_of_a_group_sum_to_the_whole_at_every_instant(
        spans in prop::collection::vec((0u8..6, 0u8..2, 0i64..50, 1i64..50), 1..12),
    ) {
        let mut seen = BTreeSet::new();
        let holds: Vec<Hold> = spans
            .iter()
            .filter(|(pod, container, _, _)| seen.insert((*pod, *container)))
            .map(|(pod, container, from, len)| Hold { container: Some(container.to_string()), ..hold(&pod.to_string(), Some(*from), Some(from + len)) })
            .collect();
        let mut ledger = Ledger::default();
        ledger.update(holds.clone(), at(1_000));
        let given = ledger.allocations();
        for instant in 0..100 {
            let there = |from: i64, to: Option<i64>| from <= instant && to.is_none_or(|to| instant < to);
            let sum = given.iter().filter(|a| there(a.from_ms, a.to_ms)).fold(Share::NONE, |sum, a| super::super::fractions::add(sum, a.share));
            let is_held = holds.iter().any(|h| there(h.from_ms.expect("given"), h.to_ms));
            prop_assert_eq!(sum, if is_held { Share::WHOLE } else { Share::NONE });
        }
    }
}

#[test]
fn a_pod_that_had_completed_before_its_uid_was_known_holds_up_to_its_own_end() {
    let mut ledger = Ledger::default();
    ledger.update(vec![hold("n/p", None, None)], at(500));
    assert_eq!(told(&ledger), ["p x 1 [497, ..)"], "a stale list says so");
    let departed =
        [Departed { uid: "u".into(), namespace: "n".into(), name: "p".into(), to_ms: 180, is_told: true }];
    let mut known = hold("u", Some(100), Some(180));
    known.owner.attributes.insert(key::POD.into(), "p".into());
    ledger.update(vec![known], Instant { departed: &departed, ..at(600) });
    assert_eq!(told(&ledger), ["p x 1 [100, 180)"]);
}

/// A collector that knew `p` since 100, last saw it at 147 and is started again at `restart_ms`.
fn restarted(restart_ms: i64) -> Ledger {
    let mut before = Ledger::default();
    before.update(vec![hold("p", Some(100), None)], at(150));
    Ledger::restored(before.kept(0, 150), restart_ms)
}

fn unanswered(now_ms: i64) -> Instant<'static> {
    Instant { listed_ms: None, settled: false, ..at(now_ms) }
}

#[test]
fn what_held_before_a_start_ends_when_its_pod_did_or_when_it_was_last_seen() {
    let hours = 5 * 3_600_000;
    let mut ledger = restarted(hours);
    ledger.update(Vec::new(), unanswered(hours));
    assert_eq!(told(&ledger), ["p x 1 [100, 147)"], "no further before anybody said so");
    assert_eq!(ledger.whole_until_ms(hours), Some(147), "and the word isn't whole");
    assert_eq!(ledger.whole_until_ms(hours + 90_000), None, "but isn't waited for without end");
    let departed =
        [Departed { uid: "p".into(), namespace: "n".into(), name: "p".into(), to_ms: 7_000, is_told: true }];
    ledger.update(Vec::new(), Instant { departed: &departed, ..unanswered(hours) });
    assert_eq!(told(&ledger), ["p x 1 [100, 7000)"], "long ago, but in a gap that is only opened now");
    assert_eq!(ledger.whole_until_ms(hours), None);

    let mut ledger = restarted(hours);
    ledger.update(Vec::new(), at(hours));
    assert_eq!(told(&ledger), ["p x 1 [100, 147)"], "nobody knows it any more");
    ledger.update(Vec::new(), at(hours + RETENTION_MS + 1));
    assert!(told(&ledger).is_empty(), "it isn't kept for ever");
}

#[test]
fn what_holds_on_after_a_start_is_one_hold() {
    let mut ledger = restarted(900);
    let living = ["p".to_owned()].into();
    ledger.update(Vec::new(), Instant { living: &living, ..unanswered(900) });
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"], "before the kubelet lists anybody");
    ledger.update(vec![hold("p", Some(100), None)], at(950));
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"]);

    let mut ledger = restarted(900);
    ledger.update(vec![hold("p", Some(100), None)], at(950));
    assert_eq!(told(&ledger), ["p x 1 [100, ..)"], "the kubelet is first");
}

#[test]
fn a_start_that_ends_before_it_has_an_answer_loses_nothing_and_lately_ended_holds_are_kept_too() {
    let mut ledger = restarted(900);
    ledger.update(Vec::new(), unanswered(900));
    let again = Ledger::restored(ledger.kept(0, 910), 2_000);
    assert_eq!(told(&again), ["p x 1 [100, 147)"]);

    let mut ledger = Ledger::default();
    ledger.update(vec![hold("p", Some(100), None)], at(150));
    ledger.update(vec![hold("p", Some(100), Some(180))], at(200));
    let again = Ledger::restored(ledger.kept(0, 210), 2_000);
    assert_eq!(told(&again), ["p x 1 [100, 180)"]);
    assert_eq!(again.whole_until_ms(2_000), None, "of it nothing is left to be said");
}
