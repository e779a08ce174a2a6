use super::*;
use proptest::prelude::*;
use schema::owner::{OwnerKind, key};

const EXAMPLE: &str = include_str!("../../tenants.example.toml");

fn owner(kind: OwnerKind, attributes: &[(&str, &str)]) -> Owner {
    let attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Owner { kind, attributes, evidence: "/system.slice/speech.slice/x.service".into() }
}

fn parse(text: &str) -> Result<Tenants, TenantError> {
    Tenants::parse("tenants.toml", text, Tz::UTC)
}

const SITE: Site<'static> = Site { cluster: "berlin", node: "gpu-a-3" };

fn id(text: &str) -> TenantId {
    TenantId::parse(text).expect("an id")
}

fn at(text: &str) -> i64 {
    crate::instant::parse(text, Tz::UTC).expect("an instant")
}

#[test]
fn the_first_rule_that_holds_and_fits_decides() {
    use OwnerKind::*;
    let tenants = parse(EXAMPLE).expect("the example parses");
    for (kind, attributes, when, tenant, by) in [
        (Kubernetes, &[(key::NAMESPACE, "vision-dev")][..], "2026-08-11", "vision", MatchedBy::Rule(2)),
        (Kubernetes, &[(key::NAMESPACE, "vision-dev")], "2026-08-12", "speech", MatchedBy::Rule(1)),
        (Kubernetes, &[(key::NAMESPACE, "vision-dev")], "2026-10-01", "vision", MatchedBy::Rule(2)),
        (Kubernetes, &[(key::NAMESPACE, "vision")], "2026-09-01", "vision", MatchedBy::Rule(2)),
        (Slurm, &[(key::SLURM_ACCOUNT, "vis")], "2026-09-01", "vision", MatchedBy::Rule(3)),
        // A cgroup fits whatever the kind; an account named like a namespace does not.
        (Slurm, &[(key::SLURM_ACCOUNT, "vision")], "2026-09-01", "speech", MatchedBy::Rule(6)),
        (Systemd, &[(key::UNIT, "whisper-1.service")], "2026-09-01", "speech", MatchedBy::Rule(5)),
    ] {
        let resolved = tenants.resolve(Some(&owner(kind, attributes)), SITE, at(when));
        assert_eq!((resolved.tenant.as_str(), resolved.by), (tenant, by), "{attributes:?} on {when}");
    }
    let nobody = Owner { evidence: String::new(), ..owner(User, &[(key::UID, "0")]) };
    assert_eq!(tenants.resolve(Some(&nobody), SITE, 0).by, MatchedBy::NoRule);
    assert_eq!(tenants.resolve(None, SITE, 0).tenant, TenantId::unattributed());
    let august = Window::new(at("2026-08-01"), at("2026-09-01"));
    assert_eq!(tenants.change_instants(august), [at("2026-08-12")]);
    assert_eq!(tenants.rules()[2].describe(), "kind = slurm and slurm_account = \"vis\" or \"vis-*\"");
}

#[test]
fn the_tree_gives_paths_names_and_prefixes() {
    let tenants = parse(EXAMPLE).expect("the example parses");
    assert_eq!(tenants.path(&id("vision"), 0), "/research/vision");
    assert_eq!(tenants.path(&id("stranger"), 0), "/stranger");
    let vision = tenants.get(&id("vision"), 0);
    assert_eq!((vision.statement_prefix.as_str(), vision.cost_centre.as_deref()), ("VIS", Some("4711")));
    assert_eq!(tenants.get(&id("speech"), 0).statement_prefix, "speech");
    // Nobody gets another's statement number by choosing a name.
    assert_eq!(tenants.get(&id("VIS"), 0).statement_prefix, "VIS~");
    assert_eq!(tenants.get(&id("PLATFORM"), 0).statement_prefix, "PLATFORM~");
}

#[test]
fn with_no_rules_what_the_scheduler_says_names_the_tenant() {
    use OwnerKind::*;
    let tenants = Tenants::empty();
    for (kind, attributes, tenant, by) in [
        (
            Kubernetes,
            &[(key::NAMESPACE, "team-a"), (key::USER, "root")][..],
            "team-a",
            MatchedBy::Attribute(key::NAMESPACE),
        ),
        (
            Slurm,
            &[(key::SLURM_ACCOUNT, "phys"), (key::USER, "eve")],
            "phys",
            MatchedBy::Attribute(key::SLURM_ACCOUNT),
        ),
        (Slurm, &[(key::SLURM_ACCOUNT, ""), (key::USER, "eve")], "eve", MatchedBy::Attribute(key::USER)),
        (User, &[(key::UID, "1000")], "uid-1000", MatchedBy::Attribute(key::UID)),
        (User, &[(key::UID, "1000"), (key::USER, "eve")], "eve", MatchedBy::Attribute(key::USER)),
        (Systemd, &[(key::UNIT, "x.service"), (key::UID, "0")], "unattributed", MatchedBy::NoRule),
        (Unknown, &[(key::USER, "eve")], "unattributed", MatchedBy::NoRule),
        // Nobody becomes the platform, or a path, by choosing a name.
        (Kubernetes, &[(key::NAMESPACE, "platform")], "~70latform", MatchedBy::Attribute(key::NAMESPACE)),
        (User, &[(key::USER, "../é")], "~2e.~2f~c3~a9", MatchedBy::Attribute(key::USER)),
    ] {
        let resolved = tenants.resolve(Some(&owner(kind, attributes)), SITE, 0);
        assert_eq!((resolved.tenant.as_str(), resolved.by), (tenant, by), "{attributes:?}");
    }
}

#[test]
fn rules_look_at_labels_images_slurm_and_the_place() {
    use OwnerKind::*;
    let text = "[[tenant]]\nid = \"t\"\n[[pool]]\nname = \"old\"\nnodes = [\"gpu-a-*\", \"x\"]\ncluster = \"ber*\"\n";
    let pod = owner(
        Kubernetes,
        &[
            ("label:team", "vision"),
            ("namespace_label:cost/centre", "4711"),
            ("container", "main"),
            ("priority_class", "low"),
        ],
    );
    let job = owner(Slurm, &[("slurm_partition", "a100"), ("slurm_qos", "high"), ("slurm_array_job", "7")]);
    let box_ = owner(Container, &[(key::IMAGE, "ghcr.io/acme/train:1"), ("label:com.acme.team", "speech")]);
    for (condition, whose, fits) in [
        ("label = { team = \"vis*\" }", &pod, true),
        ("label = { team = [\"speech\", \"vision\"] }", &pod, true),
        ("label = { team = \"vision\", tier = \"*\" }", &pod, false),
        ("namespace_label = { \"cost/centre\" = \"4711\" }, container = \"main\"", &pod, true),
        ("namespace_label = { team = \"vision\" }", &pod, false),
        ("priority_class = \"low\"", &pod, true),
        ("slurm_partition = \"a100\", slurm_qos = \"high\", slurm_array_job = \"7\"", &job, true),
        ("image = \"ghcr.io/acme/*\"", &box_, true),
        ("image = \"ghcr.io/other/*\"", &box_, false),
        ("label = { \"com.acme.team\" = \"speech\" }", &box_, true),
        ("kind = [\"slurm\", \"container\"]", &box_, true),
        ("kind = [\"slurm\", \"container\"]", &pod, false),
        ("cluster = \"berlin\", node = \"gpu-*\"", &pod, true),
        ("cluster = \"paris\"", &pod, false),
        ("pool = \"old\"", &pod, true),
    ] {
        let tenants =
            parse(&format!("{text}[[rule]]\ntenant = \"t\"\nmatch = {{ {condition} }}\n")).expect("parses");
        let resolved = tenants.resolve(Some(whose), SITE, 0);
        assert_eq!(resolved.by == MatchedBy::Rule(1), fits, "{condition}");
        if condition.starts_with("pool") {
            for site in [Site { node: "gpu-b-1", ..SITE }, Site { cluster: "paris", ..SITE }] {
                assert_eq!(tenants.resolve(Some(whose), site, 0).by, MatchedBy::NoRule, "{site:?}");
            }
        }
    }
}

#[test]
fn pods_of_one_name_in_two_namespaces_never_mix() {
    let pod = |namespace: &str, uid: &str| {
        owner(OwnerKind::Kubernetes, &[(key::NAMESPACE, namespace), (key::POD, "web-0"), (key::POD_UID, uid)])
    };
    let rules = "[[tenant]]\nid = \"a\"\n[[tenant]]\nid = \"b\"\n\
        [[rule]]\ntenant = \"a\"\nmatch = { namespace = \"a\", pod = \"web-0\" }\n\
        [[rule]]\ntenant = \"b\"\nmatch = { namespace = \"b\", pod = \"web-0\" }\n";
    for tenants in [parse(rules).expect("parses"), Tenants::empty()] {
        for (namespace, uid) in [("a", "1"), ("b", "2"), ("a", "2"), ("b", "1")] {
            let resolved = tenants.resolve(Some(&pod(namespace, uid)), SITE, 0);
            assert_eq!(resolved.tenant.as_str(), namespace);
        }
    }
    assert_ne!(pod("a", "1").workload(), pod("b", "1").workload());
}

#[test]
fn master_data_holds_from_its_instant_and_a_statement_names_every_cost_centre() {
    let tenants = parse(EXAMPLE).expect("the example parses");
    let vision = id("vision");
    assert_eq!(tenants.get(&vision, at("2026-09-15")).cost_centre.as_deref(), Some("4711"));
    let after = tenants.get(&vision, at("2026-09-16"));
    assert_eq!(after.cost_centre.as_deref(), Some("4715"));
    assert_eq!((after.name.as_str(), after.contacts.len()), ("Computer vision", 1), "the rest stays");
    let words = |from, to| {
        let spans = tenants.cost_centres(&vision, Window::new(at(from), at(to)));
        crate::words::cost_centres(&spans, Tz::UTC).unwrap_or_default()
    };
    assert_eq!(words("2026-08-01", "2026-09-01"), "4711");
    assert_eq!(words("2026-09-01", "2026-10-01"), "4711, 4715 from 16 Sep");
    assert_eq!(words("2026-09-16", "2026-10-01"), "4715");
    assert_eq!(tenants.cost_centres(&id("research"), Window::new(0, 1)), []);

    let moved = "[[tenant]]\nid = \"a\"\n[[tenant]]\nid = \"b\"\nparent = \"a\"\n[[tenant.change]]\nfrom = 2026-01-01\nparent = \"\"\n";
    let tenants = parse(moved).expect("parses");
    let path = |when| tenants.path(&id("b"), at(when));
    assert_eq!((path("2025-12-31"), path("2026-01-01")), ("/a/b".into(), "/b".into()));
}

#[test]
fn a_move_in_the_tree_is_a_change_and_pools_know_their_nodes() {
    let tenants = parse(
        r#"
        [[tenant]]
        id = "a"
        [[tenant]]
        id = "b"
        parent = "a"
        [[tenant]]
        id = "c"
        parent = "a"
        [[tenant.change]]
        from = 2026-08-03
        name = "C"
        [[tenant.change]]
        from = 2026-08-12
        parent = "b"
        [[tenant.change]]
        from = 2026-08-20
        parent = ""
        [[pool]]
        name = "spot"
        nodes = "spot-*"
        [[pool]]
        name = "berlin"
        nodes = "*"
        cluster = "berlin"
    "#,
    )
    .expect("parses");
    let above = |when: &str| {
        let path = tenants.ancestors(&id("c"), at(when));
        path.iter().map(TenantId::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([above("2026-08-11"), above("2026-08-12"), above("2026-08-20")], ["c a", "c b a", "c"]);
    assert_eq!(tenants.ancestors(&id("stranger"), 0), [id("stranger")]);
    let august = Window::new(at("2026-08-01"), at("2026-09-01"));
    assert_eq!(tenants.change_instants(august), [at("2026-08-12"), at("2026-08-20")]);
    let pools = |cluster, node| tenants.pools_of(Site { cluster, node });
    assert_eq!(pools("berlin", "spot-1"), ["berlin", "spot"]);
    assert_eq!(pools("oslo", "node-1"), [""; 0]);
}

#[test]
fn what_an_ended_tenant_uses_is_unattributed_from_its_end_on() {
    use OwnerKind::*;
    let ends = at("2026-09-15");
    let rules = "[[tenant]]\nid = \"gone\"\nends = 2026-09-15\n";
    let with_rule = format!("{rules}[[rule]]\ntenant = \"gone\"\nmatch = {{ namespace = \"gone\" }}\n");
    for text in [rules, &with_rule] {
        let tenants = parse(text).expect("parses");
        let pod = owner(Kubernetes, &[(key::NAMESPACE, "gone")]);
        assert_eq!(tenants.resolve(Some(&pod), SITE, ends - 1).tenant.as_str(), "gone");
        let after = tenants.resolve(Some(&pod), SITE, ends);
        assert_eq!(after.tenant, TenantId::unattributed());
        let MatchedBy::TenantEnded(ended) = &after.by else { panic!("{after:?}") };
        assert_eq!(
            crate::words::unattributed(Some(ended), Tz::UTC),
            "unattributed: tenant gone ended 2026-09-15"
        );
        assert_eq!(tenants.change_instants(Window::new(ends - 1, ends + 1)), [ends], "hours are cut there");
        let gone = tenants.get(&id("gone"), ends);
        let september = Window::new(at("2026-09-01"), at("2026-10-01"));
        assert_eq!(gone.alive_in(september), Some(Window::new(september.start_ms, ends)));
        assert_eq!(gone.alive_in(Window::new(ends, ends + 1)), None);
        assert!(gone.ends_in(september) && gone.ends_in(Window::new(ends - 1, ends)));
        assert!(!gone.ends_in(Window::new(ends, ends + 1)), "its last statement was the one before");
    }
}

#[test]
fn every_error_names_file_line_and_remedy() {
    let a = "[[tenant]]\nid = \"a\"\n";
    let rule = |rest: &str| format!("{a}[[rule]]\ntenant = \"a\"\n{rest}\n");
    for (text, parts) in [
        (format!("{a}{a}"), &["tenants.toml:3", "declared twice"][..]),
        ("[[tenant]]\nid = \"a b\"\n".into(), &["tenants.toml:1", "id", "can't be a tenant id"]),
        ("[[tenant]]\nid = \"free\"\n".into(), &["free is reserved"]),
        (format!("{a}parent = \"b\"\n"), &["parent = b names no declared tenant"]),
        (format!("{a}parent = \"a\"\n"), &["its own ancestor"]),
        (format!("{a}parent = \"b\"\n[[tenant]]\nid = \"b\"\nparent = \"a\"\n"), &["its own ancestor"]),
        (
            format!("{a}[[tenant]]\nid = \"b\"\nstatement_prefix = \"a\"\n"),
            &["tenants a and b share", "\"a\""],
        ),
        (format!("{a}statement_prefix = \"../x\"\n"), &["statement_prefix \"../x\""]),
        (format!("{a}statement_prefix = \"PLATFORM\"\n"), &["and not PLATFORM"]),
        (format!("{a}colour = 1\n"), &["tenants.toml:3", "unknown field `colour`"]),
        (rule("match = {}"), &["tenants.toml:3", "rule 1 has an empty match"]),
        (rule("match = { colour = \"x\" }"), &["rule 1 matches on \"colour\"", "namespace", "label = { KEY"]),
        (rule("match = { label = \"x\" }"), &["label of rule 1", "label = { team = \"vision\" }"]),
        (rule("match = { label = {} }"), &["rule 1 has an empty match"]),
        (rule("match = { uid = 2001 }"), &["tenants.toml:3", "uid of rule 1", "in quotes"]),
        (rule("match = { user = [] }"), &["user of rule 1", "a list of 1 to 100"]),
        (rule("match = { pool = \"a100\" }"), &["pool \"a100\" of rule 1 is not declared", "[[pool]]"]),
        (format!("{a}[[pool]]\nname = \"p\"\nnodes = []\n"), &["tenants.toml:3", "nodes of pool \"p\""]),
        (format!("{a}contacts = [\"vision\"]\n"), &["contacts of tenant a: \"vision\"", "e-mail"]),
        (format!("{a}contacts = [\"a@b@c.de\"]\n"), &["contacts of tenant a"]),
        (format!("{a}language = \"english\"\n"), &["language of tenant a: \"english\"", "pt-BR"]),
        (format!("{a}currency = \"EURO\"\n"), &["currency of tenant a: \"EURO\"", "ISO 4217"]),
        (format!("{a}ends = 2026-01-01T00:01\n"), &["ends of tenant a", "quarter hour"]),
        (format!("{a}[[tenant.change]]\nfrom = 2026-01-01\n"), &["a change of tenant a names nothing"]),
        (
            format!(
                "{a}[[tenant.change]]\nfrom = 2026-02-01\nname = \"x\"\n[[tenant.change]]\nfrom = 2026-01-01\nname = \"y\"\n"
            ),
            &["changes of tenant a are not in the order"],
        ),
        (
            format!("{a}ends = 2026-01-01\n[[tenant.change]]\nfrom = 2026-01-01\nname = \"x\"\n"),
            &["a change of tenant a starts at or after its end"],
        ),
        (
            format!(
                "{a}[[tenant.change]]\nfrom = 2026-01-01\nparent = \"b\"\n[[tenant]]\nid = \"b\"\nparent = \"a\"\n"
            ),
            &["its own ancestor"],
        ),
        (rule("match = { kind = \"nomad\" }"), &["kind = \"nomad\" of rule 1", "use kubernetes"]),
        (rule("match = { user = \"x\" }\nfrom = 2026-01-01T00:01"), &["from of rule 1", "quarter hour"]),
        (rule("match = { user = \"x\" }\nfrom = 2026-01-02\nto = 2026-01-01"), &["rule 1 ends at or before"]),
        (
            rule("").replace("tenant = \"a\"\n\n", "tenant = \"b\"\nmatch = { user = \"x\" }\n"),
            &["tenant = b names no declared"],
        ),
    ] {
        let error = parse(&text).expect_err(&text);
        let source = std::error::Error::source(&error).map(|s| format!(": {s}")).unwrap_or_default();
        let error = format!("{error}{source}");
        for part in parts {
            assert!(error.contains(part), "{error}\nlacks {part:?}");
        }
    }
}

proptest! {
    #[test]
    fn different_names_are_different_safe_tenants(a in "\\PC{1,200}", b in "\\PC{1,200}") {
        let (x, y) = (TenantId::from_name(&a), TenantId::from_name(&b));
        prop_assert_eq!(a == b, x == y);
        prop_assert!(!x.is_reserved());
        prop_assert_eq!(TenantId::parse(x.as_str()), Ok(x));
    }
}
