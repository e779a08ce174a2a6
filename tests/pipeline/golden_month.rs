//! One month worked through to the cent: three nodes, every way of sharing, a reservation that is lent out, a price change, a
//! tenant's move, a clock change, a batch that comes after the close, a credit and a correction.
//!
//! `docs/walkthroughs/a-month.md` works every line of it by hand; the statements are golden files, which
//! `UPDATE_GOLDEN=1 cargo test -p slicemeter-e2e --test pipeline golden_month` writes anew. The month is a past one, so that
//! nothing in a statement depends on when it is made.

mod fleet;
mod golden;
mod page;
mod scheduler;

use crate::stage::CLUSTER;
use chrono::DateTime;
use chrono_tz::Europe::Berlin;
use collector::absence::Before;
use fleet::{SimulatedNode, fleet, october_ms};
use schema::wire::Batch;
use simulator::http;
use simulator::node::SimNode;
use simulator::scheduled::{ScheduledNode, Start};
use simulator::service::{Service, Settings};

const MONTH: &str = "2025-10";
const NEXT: &str = "2025-11";

/// Slices are kept for ten years: by default this month's would have gone.
const MORE: &str = "mode = \"chargeback\"\n[retention]\nslices_months = 120\n";

struct Month {
    service: Service,
    /// Goes after the service that writes into it.
    _dir: tempfile::TempDir,
}

impl Month {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            billing_zone: "Europe/Berlin",
            currency: "EUR",
            prices: include_str!("golden_month/prices.toml"),
            tenants: include_str!("golden_month/tenants.toml"),
            more: MORE,
        };
        let service = Service::start(dir.path(), &settings).expect("the service starts");
        Self { service, _dir: dir }
    }

    /// What a command says, and that it ends as it should.
    fn says(&self, want: i32, args: &[&str]) -> String {
        let output = self.service.cli(args).expect("the command runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(want), "slicemeter {}: {text}", args.join(" "));
        text
    }

    fn in_service(&self, node: &SimulatedNode, made: &[Batch]) {
        let local = |ms: i64| {
            let at = DateTime::from_timestamp_millis(ms).expect("an instant").with_timezone(&Berlin);
            at.format("%Y-%m-%dT%H:%M").to_string()
        };
        let (from, to) = (local(node.from_ms), local(node.to_ms));
        for device in &made[0].devices {
            let what = ["--cluster", CLUSTER, "--device", &device.uuid];
            let expect = ["--node", &node.scenario.node, "--model", &device.model, "--from", &from];
            self.says(0, &[&["inventory", "expect"], &what[..], &expect].concat());
            self.says(0, &[&["inventory", "retire"], &what[..], &["--at", &to]].concat());
        }
    }

    fn ship(&self, credential: &str, batches: &[Batch]) {
        for some in batches.chunks(200) {
            let receipt = self.service.ship(credential, some).expect("accepted");
            assert_eq!(receipt.dead_letters, 0);
        }
    }

    /// Every statement of a month is what its golden file says.
    fn check(&self, month: &str) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().to_str().expect("a path of ASCII");
        self.says(0, &["report", "--period", month, "--output", path]);
        golden::check(month, dir.path());
    }
}

/// What a node's collector makes of its time in service.
fn batches(node: &SimulatedNode, incarnation: u128) -> Vec<Batch> {
    let dir = tempfile::tempdir().expect("a directory");
    let SimulatedNode { scenario, from_ms, to_ms, cadence, scheduler } = node;
    let Some(scheduler) = scheduler else {
        let mut node =
            SimNode::new(dir.path(), CLUSTER, scenario, *cadence, *from_ms, incarnation).expect("a node");
        let mut made = node.advance_to(*to_ms).expect("time passes");
        made.extend(node.flush());
        return made;
    };
    let mut node = ScheduledNode::new(Start {
        dir: dir.path(),
        cluster: CLUSTER,
        scenario,
        cadence: *cadence,
        at_ms: *from_ms,
        incarnation,
        witness: Some(scheduler.witness()),
        before: Before::default(),
    })
    .expect("a node");
    node.advance_to(*to_ms).expect("time passes");
    node.finish()
}

/// Whether a batch tells of 30 October on `kube-1`: the day on which that node had no network.
fn is_late(batch: &Batch) -> bool {
    let day = october_ms(30, 0)..october_ms(31, 0);
    batch.node == "kube-1" && batch.device_windows.iter().any(|window| day.contains(&window.start_ms))
}

#[test]
fn a_month_comes_out_to_the_cent_and_stays_so() {
    let fleet = fleet();
    let made: Vec<Vec<Batch>> =
        fleet.iter().zip(1..).map(|(node, incarnation)| batches(node, incarnation)).collect();
    let month = Month::start();
    let join = month.service.token(&["--join", "--backfill"]).expect("a token");
    for (node, made) in fleet.iter().zip(&made) {
        month.in_service(node, made);
    }
    let mut late = Vec::new();
    for (node, made) in fleet.iter().zip(made) {
        let (held_back, punctual): (Vec<Batch>, Vec<Batch>) = made.into_iter().partition(is_late);
        let credential =
            http::enrol(&month.service.url(), &join, CLUSTER, &node.scenario.node).expect("joins");
        month.ship(&credential, &punctual);
        late.push((credential, held_back));
    }
    month.service.wait_closed().expect("closed");

    let credit =
        ["adjust", "add", "--period", MONTH, "--tenant", "speech", "--kind", "credit", "--amount=-3.60"];
    let why = ["--reason", "XID 79, 28 Oct, job 88121: 4 h lost", "--author", "ada"];
    month.says(0, &[&credit[..], &why].concat());
    let found = month.says(1, &["period", "check", MONTH]);
    assert!(found.contains("coverage: 97.35 %") && found.contains("they add up to the hardware"), "{found}");
    let close = ["period", "close", MONTH, "--waive", "coverage", "--author", "ada"];
    month.says(0, &[&close[..], &["--reason", "kube-1 had no network on 30 Oct"]].concat());
    month.check(MONTH);

    for (credential, batches) in &late {
        month.ship(credential, batches);
    }
    month.service.wait_closed().expect("closed");
    month.check(MONTH);
    let differs = month.says(1, &["period", "diff", MONTH]);
    assert!(differs.contains("late or corrected usage"), "{differs}");
    let correct = ["period", "correct", MONTH, "--into", NEXT, "--author", "ada"];
    month.says(0, &[&correct[..], &["--reason", "30 Oct came late"]].concat());
    month.says(0, &["period", "diff", MONTH]);
    month.check(MONTH);
    month.check(NEXT);
    month.says(0, &["period", "verify", MONTH]);
}
