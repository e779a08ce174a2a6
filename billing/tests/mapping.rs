//! What mapping rules do to usage, on the worked month: what each catches, what nothing catches, and that no way of writing
//! them makes or loses a GPU-hour.

mod worked;

use billing::mapping::{dry_run, unmapped};
use billing::money::{Amount, Currency};
use billing::rating::{Owners, Rules, rate};
use billing::statement::{Mode, prepare};
use billing::tenant::Tenants;
use proptest::prelude::*;
use schema::owner::{Owner, OwnerKind};
use schema::units::NanoGpuHours;
use worked::{context, devices, owners, period, prices, usage};

fn parse(text: &str) -> Tenants {
    Tenants::parse("tenants.toml", text, period().zone()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn declared(ids: &[&str]) -> String {
    ids.iter().map(|id| format!("[[tenant]]\nid = \"{id}\"\n")).collect()
}

fn rule(tenant: &str, conditions: &str) -> String {
    format!("[[rule]]\ntenant = \"{tenant}\"\nmatch = {{ {conditions} }}\n")
}

#[test]
fn a_dry_run_says_what_each_rule_catches_and_who_takes_the_rest() {
    let text = declared(&["a", "b"])
        + &rule("a", "namespace = \"vision*\"")
        + &rule("b", "namespace = \"vision-dev\"")
        + &rule("b", "slurm_account = \"x\"");
    let run = dry_run(&usage(), &owners(), &parse(&text), None, &prices());
    let held = |namespace: &str| -> NanoGpuHours {
        let workload = worked::owner(namespace).workload();
        usage().iter().filter(|u| u.workload == workload).map(|u| u.held).sum()
    };
    assert_eq!(run.rules[0].catch.held, held("vision") + held("vision-dev"));
    assert_eq!(run.rules[0].catch.workloads(), 2);
    assert!(run.rules[1].catch.is_empty() && run.rules[1].taken_by.iter().eq([&1]));
    assert!(run.rules[2].catch.is_empty() && run.rules[2].taken_by.is_empty());
    assert_eq!(run.no_rule.held, held("speech"));
    let parts = run.rules.iter().map(|r| r.catch.held).sum::<NanoGpuHours>();
    assert_eq!(parts + run.no_rule.held + run.no_owner.held, run.total.held);
    assert_eq!(run.moved, []);
}

#[test]
fn another_version_shows_what_would_move_and_what_it_costs() {
    let now = parse(
        &(declared(&["a", "b"]) + &rule("a", "namespace = \"vision*\"") + &rule("b", "namespace = \"*\"")),
    );
    let then = parse(&(declared(&["a", "b"]) + &rule("b", "namespace = \"*\"")));
    let run = dry_run(&usage(), &owners(), &then, Some(&now), &prices());
    let [moved] = &run.moved[..] else { panic!("one move: {:?}", run.moved) };
    assert_eq!((moved.from.as_str(), moved.to.as_str()), ("a", "b"));
    // Exactly what a's statement was.
    let usd = Currency::parse("USD").expect("a currency");
    let rated = rate(&usage(), &devices(), &owners(), Rules { tenants: &now, prices: &prices() }, &usd)
        .expect("rates");
    let bill = prepare(&context(Mode::Showback), &rated, &devices(), &now);
    let a = bill.tenants.iter().find(|s| s.tenant.id.as_str() == "a").expect("a statement");
    assert_eq!((moved.catch.held, moved.exact), (a.totals.quantity, a.totals.exact));
    assert_eq!(moved.unpriced, a.totals.unpriced_lines > 0);
}

/// Usage of one device by owners of every kind, some of whom have nothing that a rule can look at.
fn of(owners: &[Owner]) -> (Vec<billing::usage::UsageTotal>, Owners) {
    let template = usage().remove(0);
    let rows = owners.iter().zip(1..).map(|(owner, n)| billing::usage::UsageTotal {
        workload: owner.workload(),
        held: NanoGpuHours(n * 1_000),
        ..template.clone()
    });
    (rows.collect(), owners.iter().map(|o| (o.workload(), o.clone())).collect())
}

fn owner(kind: OwnerKind, attributes: &[(&str, &str)], evidence: &str) -> Owner {
    let attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Owner { kind, attributes, evidence: evidence.into() }
}

#[test]
fn every_rule_that_is_proposed_catches_its_group_and_together_they_leave_nothing() {
    use OwnerKind::*;
    let (rows, owners) = of(&[
        owner(Kubernetes, &[("namespace", "a\"b\n"), ("pod", "x")], ""),
        owner(Kubernetes, &[("namespace", "platform"), ("pod", "y")], ""),
        owner(Slurm, &[("slurm_account", "phys"), ("user", "eve")], ""),
        owner(Slurm, &[("user", "phys")], ""),
        owner(Container, &[("image", "ghcr.io/acme/train:1")], ""),
        owner(Container, &[("image", "ghcr.io/acme/train:2")], ""),
        owner(Systemd, &[("unit", "whisper@1.service"), ("uid", "0")], ""),
        owner(User, &[("uid", "2001")], ""),
        owner(User, &[("user", "eve")], ""),
        owner(Vm, &[("vm_id", "vm-7")], ""),
        owner(Unknown, &[], "0::/odd.slice/x"),
        owner(Systemd, &[], ""),
    ]);
    let start = declared(&["known"]) + &rule("known", "namespace = \"known\"");
    let found = unmapped(&rows, &devices(), &owners, &parse(&start));
    assert_eq!(found.groups.len(), 10, "two images are one group, and one owner has nothing: {found:#?}");
    assert!(found.groups.windows(2).all(|pair| pair[0].catch.held >= pair[1].catch.held), "largest first");
    assert_eq!(found.apart.nameless.workloads(), 1);
    assert_eq!(found.sum() + found.apart.nameless.held, found.held);
    for group in &found.groups {
        let left = unmapped(&rows, &devices(), &owners, &parse(&(start.clone() + &group.rule)));
        assert!(
            left.groups.iter().all(|g| (g.attribute, &g.value) != (group.attribute, &group.value)),
            "{}",
            group.rule
        );
    }
    let all: String = found.groups.iter().map(|g| g.rule.as_str()).collect();
    assert_eq!(unmapped(&rows, &devices(), &owners, &parse(&(start + &all))).groups, []);
}

/// A list of rules over what the month's owners are, with and without validity, some never fitting.
fn rules() -> impl Strategy<Value = String> {
    let condition = prop::sample::select(vec![
        "namespace = \"vision*\"",
        "namespace = [\"speech\", \"vision-dev\"]",
        "pod = \"train-*\"",
        "kind = \"slurm\"",
        "cgroup = \"*speech*\"",
        "cluster = \"*\"",
        "node = \"nowhere\"",
        "pool = \"all\", namespace = \"vision\"",
    ]);
    let tenant = prop::sample::select(vec!["a", "b", "c", "unattributed"]);
    // The month's segments are its halves, so a rule may start or end between them.
    let validity = prop::sample::select(vec!["", "from = 2026-09-16\n", "to = 2026-09-16\n"]);
    let rules = prop::collection::vec((tenant, condition, validity), 0..6);
    (rules, prop::bool::ANY).prop_map(|(rules, ends)| {
        let ends = if ends { "ends = 2026-09-16\n" } else { "" };
        let pool = "[[pool]]\nname = \"all\"\nnodes = [\"*\"]\n";
        let rules: String =
            rules.iter().map(|(tenant, condition, validity)| rule(tenant, condition) + validity).collect();
        declared(&["b", "c"]) + "[[tenant]]\nid = \"a\"\n" + ends + pool + &rules
    })
}

proptest! {
    #[test]
    fn however_rules_are_written_the_same_hours_and_the_same_fleet_are_billed(text in rules()) {
        let usd = Currency::parse("USD").expect("a currency");
        let (usage, devices, tenants) = (usage(), devices(), parse(&text));
        let rated = rate(&usage, &devices, &owners(), Rules { tenants: &tenants, prices: &prices() }, &usd).expect("rates");
        let bill = prepare(&context(Mode::Chargeback), &rated, &devices, &tenants);
        prop_assert!(bill.fleet.adds_up());
        let held: NanoGpuHours = usage.iter().map(|u| u.held).sum();
        let billed = bill.tenants.iter().map(|s| s.totals.quantity).sum::<NanoGpuHours>()
            + bill.platform.unattributed.iter().map(|l| l.sums.held).sum::<NanoGpuHours>();
        prop_assert_eq!(billed, held);
        let plain = rate(&usage, &devices, &owners(), Rules { tenants: &Tenants::empty(), prices: &prices() }, &usd).expect("rates");
        let plain = prepare(&context(Mode::Chargeback), &plain, &devices, &Tenants::empty());
        let exact = |bill: &billing::statement::Bill| {
            bill.tenants.iter().map(|s| s.totals.exact).sum::<billing::money::Exact>() + bill.platform.totals.exact
        };
        prop_assert_eq!(exact(&bill), exact(&plain), "the fleet costs the same");
        let amounts = bill.tenants.iter().map(|s| s.totals.amount).sum::<Amount>() + bill.platform.totals.amount;
        prop_assert_eq!(amounts, bill.fleet.amount);
        // A dry run tells the same.
        let run = dry_run(&usage, &owners(), &tenants, None, &prices());
        let named = run.named.values().map(|c| c.held).sum::<NanoGpuHours>();
        let caught = run.rules.iter().map(|r| r.catch.held).sum::<NanoGpuHours>();
        prop_assert_eq!(caught + named + run.no_rule.held + run.no_owner.held, held);
    }
}
