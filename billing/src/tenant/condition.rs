//! One condition of a rule, and who controls what it looks at.

use super::rule::kind_name;
use super::{Pool, Site};
use crate::glob;
use schema::owner::{Owner, OwnerKind, key};

/// Something that must be so of an owner or of where it ran. Of several patterns one must fit; each may carry `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// What started it.
    Kind(Vec<OwnerKind>),
    /// An identifying attribute fits a pattern; an owner without the attribute doesn't match.
    Attribute {
        /// Key as the owner carries it, of [`schema::owner::key`]; labels with their prefix.
        key: String,
        /// Patterns over its value.
        patterns: Vec<String>,
    },
    /// The evidence (a cgroup line) fits a pattern.
    Cgroup(Vec<String>),
    /// The cluster's name fits a pattern.
    Cluster(Vec<String>),
    /// The node's name fits a pattern.
    Node(Vec<String>),
    /// One of the pools holds the node.
    Pool(Vec<Pool>),
}

/// Attributes that a rule may look at, besides labels, `kind`, `cgroup` and the place.
pub(super) const ATTRIBUTES: [&str; 16] = [
    key::NAMESPACE,
    key::POD,
    key::POD_UID,
    "container",
    "priority_class",
    key::CONTAINER_ID,
    key::IMAGE,
    key::SLURM_ACCOUNT,
    "slurm_partition",
    "slurm_qos",
    key::SLURM_JOB,
    "slurm_array_job",
    key::UNIT,
    key::USER,
    key::UID,
    key::VM_ID,
];

/// Tables of labels in a match, and the prefix that an owner's attribute has.
pub(super) const LABELS: [(&str, &str); 2] =
    [("label", key::LABEL), ("namespace_label", key::NAMESPACE_LABEL)];

/// Attributes that whoever starts a workload chooses freely, besides its labels.
const USER_CONTROLLED: [&str; 3] = [key::POD, "container", key::IMAGE];

impl Condition {
    /// Whether it holds of an owner at a place.
    pub fn fits(&self, owner: &Owner, site: Site<'_>) -> bool {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|p| glob::fits(p, text));
        match self {
            Condition::Kind(kinds) => kinds.contains(&owner.kind),
            Condition::Attribute { key, patterns } => {
                owner.attributes.get(key).is_some_and(|value| any(patterns, value))
            }
            Condition::Cgroup(patterns) => any(patterns, &owner.evidence),
            Condition::Cluster(patterns) => any(patterns, site.cluster),
            Condition::Node(patterns) => any(patterns, site.node),
            Condition::Pool(pools) => pools.iter().any(|pool| pool.holds(site)),
        }
    }

    /// Whether whoever starts a workload chooses what this looks at: labels and names of pods and containers, images.
    /// The rest is what a scheduler, the system or the operator says.
    pub fn is_user_controlled(&self) -> bool {
        match self {
            Condition::Attribute { key, .. } => {
                USER_CONTROLLED.contains(&key.as_str()) || key.starts_with(key::LABEL)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let any =
            |patterns: &[String]| patterns.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(" or ");
        match self {
            Condition::Kind(kinds) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind_name(*kind)).collect();
                write!(f, "kind = {}", names.join(" or "))
            }
            Condition::Attribute { key, patterns } => {
                let label = LABELS.iter().find_map(|(name, prefix)| Some((name, key.strip_prefix(prefix)?)));
                match label {
                    Some((name, label)) => write!(f, "{name} {label} = {}", any(patterns)),
                    None => write!(f, "{key} = {}", any(patterns)),
                }
            }
            Condition::Cgroup(patterns) => write!(f, "cgroup = {}", any(patterns)),
            Condition::Cluster(patterns) => write!(f, "cluster = {}", any(patterns)),
            Condition::Node(patterns) => write!(f, "node = {}", any(patterns)),
            Condition::Pool(pools) => {
                let names: Vec<String> = pools.iter().map(|pool| pool.name.clone()).collect();
                write!(f, "pool = {}", any(&names))
            }
        }
    }
}
