//! Stories of tenants, through the real service: who pays when rules change, what an end does, and what nothing catches.

use crate::stage::{CLUSTER, HOUR_MS, Stage, batches, fleet_part, gpu_hours, recent};
use nvidia_ml::scenario::{Gpu, Process, Scenario};
use schema::owner::{Owner, OwnerKind, key};
use schema::wire::Batch;
use serde_json::Value;
use simulator::http;
use simulator::node::Cadence;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const QUARTER_MS: i64 = 900_000;

/// Two devices, one pod on each: uid 2001 and uid 2002 are what the pods are made of.
fn two_pods(start_ms: i64) -> Scenario {
    let mut node = Scenario::new("n1").starting_at_us(start_ms * 1000);
    node.gpus = vec![Gpu::new("h100"), Gpu::new("h100")];
    for (gpu, uid) in [(0, 2001), (1, 2002)] {
        node.processes.push(Process::new(4000 + uid, gpu).uid(uid).busy(50.0));
    }
    node
}

fn pod(namespace: &str, name: &str, uid: &str, more: &[(&str, &str)]) -> Owner {
    let own = [(key::NAMESPACE, namespace), (key::POD, name), (key::POD_UID, uid)];
    let attributes = own.iter().chain(more).map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Owner { kind: OwnerKind::Kubernetes, attributes, evidence: format!("API server: pod {namespace}/{name}") }
}

/// The batches with each process's owner replaced by what `of` makes of its uid and the batch's first instant.
fn owned(mut made: Vec<Batch>, of: impl Fn(&str, i64) -> Option<Owner>) -> Vec<Batch> {
    for batch in &mut made {
        let starts =
            batch.usage.iter().map(|s| s.start_ms).chain(batch.device_windows.iter().map(|w| w.start_ms));
        let Some(start_ms) = starts.min() else { continue };
        for wire in &mut batch.owners {
            let uid = Owner::from_wire(wire).attributes.get(key::UID).cloned().unwrap_or_default();
            if let Some(owner) = of(&uid, start_ms) {
                *wire = owner.to_wire();
            }
        }
    }
    made
}

fn rfc3339(at_ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(at_ms).expect("a near instant");
    format!("\"{}\"", at.format("%Y-%m-%dT%H:%M:%SZ"))
}

fn tenants_toml(ids: &[&str], rest: &str) -> String {
    let declared: String = ids.iter().map(|id| format!("[[tenant]]\nid = \"{id}\"\n")).collect();
    declared + rest
}

fn staged(tenants: &str, made: &[Batch]) -> Stage {
    let stage = Stage::with(tenants).expect("the service starts");
    let credential = stage.enrol("n1").expect("the node joins");
    stage.service.ship(&credential, made).expect("accepted");
    stage.service.wait_closed().expect("closed");
    stage
}

/// Everything of a bill but when it was last added to.
fn statements(bill: &Value) -> Value {
    let mut statements = bill["statements"].clone();
    for statement in statements.as_array_mut().expect("statements") {
        statement["context"]["data_through"] = Value::Null;
    }
    statements
}

fn total(bill: &Value) -> String {
    bill["fleet"]["capacity_gpu_hours"].as_str().expect("a decimal").into()
}

/// Polls until `is` says so.
fn wait(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < deadline, "not within two minutes: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Held GPU-hours by tenant, as the running service answers.
fn served(stage: &Stage, token: &str, period: &str) -> BTreeMap<String, f64> {
    let url = format!("{}/api/v1/statements?period={period}", stage.service.url());
    let list: Value = serde_json::from_str(&http::get(&url, Some(token)).expect("answered")).expect("JSON");
    let statement = |s: &Value| {
        let hours = crate::stage::decimal(&s["gpu_hours"]);
        (s["tenant"].as_str().expect("an id").to_string(), hours)
    };
    list["statements"].as_array().expect("a list").iter().map(statement).collect()
}

fn near(got: f64, want: f64) -> bool {
    (got - want).abs() < 1e-6
}

#[test]
fn a_namespace_that_changes_hands_within_an_hour_is_paid_by_each_to_the_instant() {
    let (start_ms, period) = recent(5);
    let at_ms = start_ms + HOUR_MS + 2 * QUARTER_MS;
    let made = batches(&two_pods(start_ms), 3, Cadence::BACKFILL, 1).expect("the node runs");
    // The first pod's namespace is remapped by validity; the second's is relabelled, and keeps its rules.
    let made = owned(made, |uid, window_ms| {
        let team = if window_ms < at_ms { "one" } else { "two" };
        Some(match uid {
            "2001" => pod("vision", "train-0", "u1", &[]),
            _ => pod("shared", "train-0", "u2", &[("namespace_label:team", team)]),
        })
    });
    let at = rfc3339(at_ms);
    let rules = format!(
        "[[rule]]\ntenant = \"one\"\nmatch = {{ namespace = \"vision\" }}\nto = {at}\n\
         [[rule]]\ntenant = \"two\"\nmatch = {{ namespace = \"vision\" }}\nfrom = {at}\n\
         [[rule]]\ntenant = \"one\"\nmatch = {{ namespace_label = {{ team = \"one\" }} }}\n\
         [[rule]]\ntenant = \"three\"\nmatch = {{ namespace_label = {{ team = \"two\" }} }}\n"
    );
    let stage = staged(&tenants_toml(&["one", "two", "three"], &rules), &made);
    let first = stage.bill(&period).expect("a bill");
    assert!(near(gpu_hours(&first, "one"), 3.0), "{first:#}");
    assert!(near(gpu_hours(&first, "two"), 1.5) && near(gpu_hours(&first, "three"), 1.5));
    assert_eq!(first["fleet"]["adds_up"], true);
    // Made again after everything was delivered again: the same.
    let credential = stage.enrol("n1").expect("the node joins again");
    stage.service.ship(&credential, &made).expect("accepted again");
    stage.service.wait_closed().expect("closed again");
    assert_eq!(statements(&first), statements(&stage.bill(&period).expect("a bill")));
}

#[test]
fn pods_of_one_name_in_two_namespaces_never_mix() {
    let (start_ms, period) = recent(4);
    let made = batches(&two_pods(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let made = owned(made, |uid, _| {
        let (namespace, team) = if uid == "2001" { ("a", "red") } else { ("b", "blue") };
        Some(pod(namespace, "web-0", &format!("u-{namespace}"), &[("label:team", team)]))
    });
    // No rules: each namespace is its own tenant.
    let stage = staged("", &made);
    let bill = stage.bill(&period).expect("a bill");
    assert!(near(gpu_hours(&bill, "a"), 2.0) && near(gpu_hours(&bill, "b"), 2.0));
    for (own, foreign) in [("a", ["u-b", "=blue", "namespace=b"]), ("b", ["u-a", "=red", "namespace=a"])] {
        let opened = stage.service.cli_ok(&["explain", &format!("{own}-{period}-L1")]).expect("explained");
        assert!(opened.contains("pod=web-0") && opened.contains(&format!("namespace={own}")), "{opened}");
        for field in foreign {
            assert!(!opened.contains(field), "{field} of the other pod crossed:\n{opened}");
        }
    }
}

#[test]
fn an_edit_while_the_service_runs_moves_open_usage_and_a_wrong_one_changes_nothing() {
    let (start_ms, period) = recent(4);
    let made = batches(&two_pods(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let made =
        owned(made, |uid, _| Some(pod(if uid == "2001" { "vision" } else { "speech" }, "p", uid, &[])));
    let rule = |tenant: &str, namespace: &str, rest: &str| {
        format!("[[rule]]\ntenant = \"{tenant}\"\nmatch = {{ namespace = \"{namespace}\" }}\n{rest}")
    };
    let file = |rules: &str| tenants_toml(&["one", "two"], rules);
    let stage = staged(&file(&(rule("one", "vision", "") + &rule("two", "speech", ""))), &made);
    let operator = stage.service.token(&["--role", "operator"]).expect("a token");
    let before = served(&stage, &operator, &period);
    assert!(near(before["one"], 2.0) && near(before["two"], 2.0), "{before:?}");
    let held = total(&stage.bill(&period).expect("a bill"));

    // From half past on, what was vision's is the other's: the hour is cut and closed again.
    let at = rfc3339(start_ms + 2 * QUARTER_MS);
    let moved = rule("one", "vision", &format!("to = {at}\n")) + &rule("two", "*", "");
    stage.write_tenants(&file(&moved));
    wait("the edit is in force", || near(served(&stage, &operator, &period)["one"], 0.5));
    let after = served(&stage, &operator, &period);
    assert!(near(after["two"], 3.5), "{after:?}");
    let bill = stage.bill(&period).expect("a bill");
    assert_eq!(total(&bill), held, "the fleet is the same whoever pays for it");
    assert_eq!(bill["fleet"]["adds_up"], true);

    // A wrong edit is said and counted, and what was in force stays.
    stage.write_tenants(&file(&rule("nobody", "vision", "")));
    let failed = |value: &str| {
        let metrics = http::get(&format!("{}/metrics", stage.service.url()), None).expect("metrics");
        metrics.contains(&format!("slicemeter_config_load_failed{{file=\"tenants.toml\"}} {value}\n"))
    };
    wait("the wrong edit is counted", || failed("1"));
    assert_eq!(served(&stage, &operator, &period), after);
    assert!(stage.service.log().contains("tenant = nobody names no declared tenant"));
    http::get(&format!("{}/readyz", stage.service.url()), None).expect("still ready");

    stage.write_tenants(&file(&(rule("one", "vision", "") + &rule("two", "speech", ""))));
    wait("the first file is in force again", || served(&stage, &operator, &period) == before);
    assert!(failed("0"));
}

#[test]
fn what_a_tenant_uses_after_its_end_is_on_the_platform_and_its_token_is_nobodys() {
    let (start_ms, period) = recent(4);
    let made = batches(&two_pods(start_ms), 2, Cadence::BACKFILL, 1).expect("the node runs");
    let made =
        owned(made, |uid, _| Some(pod(if uid == "2001" { "vision" } else { "speech" }, "p", uid, &[])));
    let stage = staged("", &made);
    let own =
        stage.service.token(&["--role", "tenant", "--tenant", "vision", "--name", "v"]).expect("a token");
    let url = format!("{}/api/v1/statements/vision?period={period}", stage.service.url());
    http::get(&url, Some(&own)).expect("its own statement");

    let ends_ms = start_ms + 3 * QUARTER_MS;
    stage.write_tenants(&format!("[[tenant]]\nid = \"vision\"\nends = {}\n", rfc3339(ends_ms)));
    let refused = |token: &str| http::get(&url, Some(token)).map_err(|e| format!("{e:#}"));
    wait("the token is refused", || refused(&own).is_err());
    assert_eq!(refused(&own), refused("smt_unknown"), "as an unknown one is");
    let listed = stage.service.cli_ok(&["token", "list"]).expect("listed");
    assert!(listed.contains("ENDED with its tenant"), "{listed}");

    let bill = stage.bill(&period).expect("a bill");
    assert!(near(gpu_hours(&bill, "vision"), 0.75) && near(gpu_hours(&bill, "speech"), 2.0), "{bill:#}");
    assert_eq!(bill["fleet"]["adds_up"], true);
    assert!(near(fleet_part(&bill, "unattributed"), 1.25));
    let vision =
        bill["statements"].as_array().expect("statements").iter().find(|s| s["tenant"]["id"] == "vision");
    assert_eq!(vision.expect("its last one")["tenant"]["final_statement"], true);
    let lines = &bill["platform"]["unattributed"];
    assert!(lines[0]["because"].as_str().expect("words").starts_with("unattributed: tenant vision ended 2"));
    let text = |tenant: &str| {
        stage.service.cli_ok(&["report", "--period", &period, "--tenant", tenant]).expect("reported")
    };
    let opened = stage.service.cli_ok(&["explain", &format!("PLATFORM-{period}-L1")]).expect("explained");
    assert!(opened.contains("because unattributed: tenant vision ended 2"), "{opened}");
    assert!(text("platform").contains("tenant vision ended"), "{}", text("platform"));
    assert!(
        text("vision").contains("final statement of this tenant")
            && !text("speech").contains("final statement")
    );

    // An alert asks for this figure.
    wait("the metric is there", || {
        let metrics = http::get(&format!("{}/metrics", stage.service.url()), None).expect("metrics");
        metrics.contains("slicemeter_tenant_ended_use_gpu_hours{tenant=\"vision\"} 1.25\n")
    });
}

#[test]
fn dry_run_and_unmapped_say_what_rules_do_and_what_to_add() {
    let (start_ms, period) = recent(4);
    let mut node = two_pods(start_ms);
    node.gpus.push(Gpu::new("h100"));
    node.processes.push(Process::new(7000, 2).uid(2003).busy(50.0).alive(0, 3600));
    let made = batches(&node, 2, Cadence::BACKFILL, 1).expect("the node runs");
    let made = owned(made, |uid, _| {
        Some(match uid {
            "2001" => pod("vision", "train-0", "u1", &[]),
            "2002" => pod("stranger", "train-0", "u2", &[]),
            _ => Owner {
                kind: OwnerKind::Container,
                attributes: [(key::IMAGE.to_string(), "ghcr.io/acme/train:1.2".to_string())].into(),
                evidence: "docker".into(),
            },
        })
    });
    let rules = "[[rule]]\ntenant = \"one\"\nmatch = { namespace = \"vis*\" }\n\
                 [[rule]]\ntenant = \"two\"\nmatch = { namespace = \"vision\" }\n\
                 [[rule]]\ntenant = \"two\"\nmatch = { slurm_account = \"phys\" }\n";
    let stage = staged(&tenants_toml(&["one", "two"], rules), &made);
    let cli = |args: &[&str]| {
        let output = stage.service.cli(args).expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout).replace(&period, "PERIOD");
        (output.status.code(), said, String::from_utf8_lossy(&output.stderr).to_string())
    };

    let (code, said, error) = cli(&["tenants", "dry-run", "--period", &period]);
    assert_eq!((code, said.as_str()), (Some(0), include_str!("../golden/tenants/dry-run.txt")), "{error}");

    let other = stage.path("other.toml");
    std::fs::write(&other, tenants_toml(&["one", "two"], &rules.replace("\"one\"\nmatch", "\"two\"\nmatch")))
        .expect("written");
    let other = other.to_str().expect("UTF-8");
    let (code, said, error) = cli(&["tenants", "dry-run", "--period", &period, "--tenants-file", other]);
    assert_eq!(
        (code, said.as_str()),
        (Some(0), include_str!("../golden/tenants/dry-run-other.txt")),
        "{error}"
    );
    let (_, json, _) =
        cli(&["tenants", "dry-run", "--period", &period, "--tenants-file", other, "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["moves"][0]["moved"]["gpu_hours"], "2.000000000");
    assert_eq!(json["moves"][0]["amount"], "7.20");

    let (code, said, error) = cli(&["tenants", "unmapped", "--period", &period]);
    assert_eq!((code, said.as_str()), (Some(1), include_str!("../golden/tenants/unmapped.txt")), "{error}");
    // As it is printed it can be added to the file, and then nothing is unmapped.
    stage.write_tenants(&(tenants_toml(&["one", "two"], rules) + &said));
    let (code, said, error) = cli(&["tenants", "unmapped", "--period", &period]);
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "# PERIOD: nothing is unmapped; 5 GPU-hours were held.\n"),
        "{error}"
    );
    assert!(near(gpu_hours(&stage.bill(&period).expect("a bill"), "stranger"), 2.0));
    assert_eq!(cli(&["tenants", "unmapped", "--period", "2001-01"]).0, Some(3));
    assert_eq!(cli(&["tenants", "dry-run", "--period", &period, "--tenants-file", "/nowhere"]).0, Some(2));
    assert_eq!(CLUSTER, "stage", "the golden text names it");
}
