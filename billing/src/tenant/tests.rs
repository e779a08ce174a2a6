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
        (Slurm, &[(key::SLURM_ACCOUNT, "vision")], "2026-09-01", "speech", MatchedBy::Rule(5)),
        (Systemd, &[(key::UNIT, "whisper-1.service")], "2026-09-01", "speech", MatchedBy::Rule(4)),
    ] {
        let resolved = tenants.resolve(Some(&owner(kind, attributes)), at(when));
        assert_eq!((resolved.tenant.as_str(), resolved.by), (tenant, by), "{attributes:?} on {when}");
    }
    let nobody = Owner { evidence: String::new(), ..owner(User, &[(key::UID, "0")]) };
    assert_eq!(tenants.resolve(Some(&nobody), 0).by, MatchedBy::NoRule);
    assert_eq!(tenants.resolve(None, 0).tenant, TenantId::unattributed());
    let august = Window::new(at("2026-08-01"), at("2026-09-01"));
    assert_eq!(tenants.change_instants(august), [at("2026-08-12")]);
    assert_eq!(tenants.rules()[2].describe(), "kind = slurm and slurm_account = \"vis\"");
}

#[test]
fn the_tree_gives_paths_names_and_prefixes() {
    let tenants = parse(EXAMPLE).expect("the example parses");
    let id = |text: &str| TenantId::parse(text).expect("an id");
    assert_eq!(tenants.path(&id("vision")), "/research/vision");
    assert_eq!(tenants.path(&id("stranger")), "/stranger");
    let vision = tenants.get(&id("vision"));
    assert_eq!((vision.statement_prefix.as_str(), vision.cost_centre.as_deref()), ("VIS", Some("4711")));
    assert_eq!(tenants.get(&id("speech")).statement_prefix, "speech");
    // Nobody gets another's statement number by choosing a name.
    assert_eq!(tenants.get(&id("VIS")).statement_prefix, "VIS~");
    assert_eq!(tenants.get(&id("PLATFORM")).statement_prefix, "PLATFORM~");
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
        let resolved = tenants.resolve(Some(&owner(kind, attributes)), 0);
        assert_eq!((resolved.tenant.as_str(), resolved.by), (tenant, by), "{attributes:?}");
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
        (rule("match = { label = \"x\" }"), &["rule 1 matches on \"label\"", "namespace"]),
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
