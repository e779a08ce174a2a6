//! What no rule catches, by the attribute that tells most, largest first, each with the rule that would catch it.

use super::Catch;
use crate::rating::Owners;
use crate::tenant::{MatchedBy, Site, TenantId, Tenants, kind_name};
use crate::usage::{DeviceTotal, UsageTotal};
use schema::owner::{Owner, OwnerKind, key};
use schema::units::NanoGpuHours;
use std::collections::{BTreeMap, BTreeSet};

/// What nothing catches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmapped {
    /// Largest first.
    pub groups: Vec<Group>,
    /// What no rule can catch, or needs none.
    pub apart: Apart,
    /// Everything that was held.
    pub held: NanoGpuHours,
    /// No rules are written yet.
    pub no_rules: bool,
}

/// What stands apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apart {
    /// Busy with no owner to be found, device time.
    pub ghost: NanoGpuHours,
    /// Held by a workload of which the service knows no owner.
    pub no_owner: Catch,
    /// Held by an owner of which the node sent nothing that a rule can look at.
    pub nameless: Catch,
    /// Of tenants that had ended.
    pub ended: BTreeMap<TenantId, Catch>,
}

/// Use that one rule would catch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What started it, in a word.
    pub kind: &'static str,
    /// The attribute that tells most: `namespace`.
    pub attribute: &'static str,
    /// Its value, or a pattern over values.
    pub value: String,
    /// How much.
    pub catch: Catch,
    /// Clusters that it was used in.
    pub clusters: BTreeSet<String>,
    /// The id of the tenant in [`Group::rule`].
    pub tenant: String,
    /// TOML to add at the end of `tenants.toml`: the rule, and the tenant where it isn't declared.
    pub rule: String,
}

impl Unmapped {
    /// Sum of the groups.
    pub fn sum(&self) -> NanoGpuHours {
        self.groups.iter().map(|group| group.catch.held).sum()
    }
}

/// What a group is grouped by.
///
/// In a tie the order is by kind, attribute and value.
type GroupKey = (&'static str, &'static str, String);

/// Finds what no rule of `tenants` catches.
pub fn unmapped(
    usage: &[UsageTotal],
    devices: &[DeviceTotal],
    owners: &Owners,
    tenants: &Tenants,
) -> Unmapped {
    let mut apart = Apart { ghost: devices.iter().map(|d| d.ghost).sum(), ..Apart::default() };
    let mut groups: BTreeMap<GroupKey, (Catch, BTreeSet<String>)> = BTreeMap::new();
    for row in usage {
        let owner = owners.get(&row.workload);
        match tenants.resolve(owner, Site::of(row), row.segment.start_ms).by {
            MatchedBy::NoRule => {}
            MatchedBy::NoOwner => {
                apart.no_owner.take(row);
                continue;
            }
            MatchedBy::TenantEnded(ended) => {
                apart.ended.entry(ended.tenant).or_default().take(row);
                continue;
            }
            MatchedBy::Rule(_) | MatchedBy::Attribute(_) => continue,
        }
        let Some(key) = owner.and_then(telling) else {
            apart.nameless.take(row);
            continue;
        };
        let (catch, clusters) = groups.entry(key).or_default();
        catch.take(row);
        clusters.insert(row.cluster.clone());
    }
    let mut ranked: Vec<_> = groups.into_iter().collect();
    ranked.sort_by(|(a_key, a), (b_key, b)| (b.0.held, a_key).cmp(&(a.0.held, b_key)));
    let mut proposed = BTreeSet::new();
    let groups = ranked
        .into_iter()
        .map(|(key, (catch, clusters))| group(key, catch, clusters, tenants, &mut proposed))
        .collect();
    let held = usage.iter().map(|row| row.held).sum();
    Unmapped { groups, apart, held, no_rules: tenants.rules().is_empty() }
}

/// The attribute of an owner that tells most of whose it is, what a scheduler says before what a user chooses
/// (of a plain container nothing is said by one: its image tells most).
fn telling(owner: &Owner) -> Option<GroupKey> {
    let order: &[&'static str] = match owner.kind {
        OwnerKind::Kubernetes => &[key::NAMESPACE],
        OwnerKind::Slurm => &[key::SLURM_ACCOUNT, key::USER, key::UID, "slurm_partition"],
        OwnerKind::Container => &[key::IMAGE, key::USER, key::UID, key::CONTAINER_ID],
        OwnerKind::Systemd => &[key::UNIT],
        OwnerKind::User => &[key::USER, key::UID],
        OwnerKind::Vm => &[key::VM_ID],
        OwnerKind::Unknown | OwnerKind::Unspecified => &[key::USER, key::UID, key::UNIT],
    };
    let named = order.iter().find_map(|attribute| {
        let value = owner.attributes.get(*attribute).filter(|value| !value.is_empty())?;
        let value = if *attribute == key::IMAGE { any_tag(value) } else { value.clone() };
        Some((kind_name(owner.kind), *attribute, value))
    });
    let evidence =
        || (!owner.evidence.is_empty()).then(|| (kind_name(owner.kind), "cgroup", owner.evidence.clone()));
    named.or_else(evidence)
}

/// An image in any version: `ghcr.io/acme/train:1.2` and its digests are `ghcr.io/acme/train*`.
fn any_tag(image: &str) -> String {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    // A colon before the last slash is a port.
    let from = name.rfind('/').map_or(0, |at| at + 1);
    let end = name[from..].find(':').map_or(name.len(), |at| from + at);
    format!("{}*", &name[..end])
}

fn group(
    (kind, attribute, value): GroupKey,
    catch: Catch,
    clusters: BTreeSet<String>,
    tenants: &Tenants,
    proposed: &mut BTreeSet<String>,
) -> Group {
    let own = slug(&value, attribute);
    // A second group of the same name is perhaps another's: it gets a name of its own.
    let names = std::iter::once(own.clone()).chain((2..).map(|n| format!("{own}-{attribute}-{n}")));
    let tenant = names.into_iter().find(|name| proposed.insert(name.clone())).expect("names don't end");
    let declared = TenantId::parse(&tenant).is_ok_and(|id| tenants.is_declared(&id));
    let text = |text: &str| toml::Value::String(text.into()).to_string();
    let mut rule = String::new();
    if !declared {
        rule.push_str(&format!("[[tenant]]\nid = {}\n\n", text(&tenant)));
    }
    // A namespace, an account, a unit or a virtual machine is of one kind; users and images are of several.
    let of_kind = [key::USER, key::UID, key::IMAGE].contains(&attribute) && kind != "unknown";
    let kind_words = if of_kind { format!("kind = {}, ", text(kind)) } else { String::new() };
    rule.push_str(&format!(
        "[[rule]]\ntenant = {}\nmatch = {{ {kind_words}{attribute} = {} }}\n",
        text(&tenant),
        text(&value)
    ));
    Group { kind, attribute, value, catch, clusters, tenant, rule }
}

/// A tenant's id made of a value: what isn't plain becomes a dash.
fn slug(value: &str, attribute: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let text: String = value.chars().map(plain).take(60).collect();
    let text = text.trim_matches(|c| "._-".contains(c));
    let reserved = TenantId::RESERVED.contains(&text);
    if text.is_empty() || reserved || text.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{}-{text}", attribute.replace('_', "-")).trim_end_matches('-').into();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_grouped_without_tag_and_digest() {
        for (image, want) in [
            ("ghcr.io/acme/train:1.2", "ghcr.io/acme/train*"),
            ("localhost:5000/train@sha256:00", "localhost:5000/train*"),
            ("localhost:5000/train", "localhost:5000/train*"),
            ("train:1", "train*"),
        ] {
            assert_eq!(any_tag(image), want);
        }
    }

    #[test]
    fn a_proposed_id_is_a_tenants() {
        for (value, want) in [
            ("vision", "vision"),
            ("whisper-1.service", "whisper-1.service"),
            ("ghcr.io/acme/train*", "ghcr.io-acme-train"),
            ("platform", "namespace-platform"),
            ("2001", "namespace-2001"),
            ("*é", "namespace"),
        ] {
            let id = slug(value, "namespace");
            assert_eq!(id, want);
            assert!(TenantId::parse(&id).is_ok_and(|id| !id.is_reserved()));
        }
    }
}
