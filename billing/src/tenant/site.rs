//! Where a workload ran: cluster and node, and pools, which are nodes by name.

use crate::glob;

/// Where something ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site<'a> {
    /// Cluster of the device.
    pub cluster: &'a str,
    /// Node of the device.
    pub node: &'a str,
}

/// Nodes under one name, a `[[pool]]` of `tenants.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// What rules call it.
    pub name: String,
    /// Patterns over node names; one must fit.
    pub nodes: Vec<String>,
    /// Patterns over cluster names; one must fit, or there are none.
    pub clusters: Vec<String>,
}

impl Pool {
    /// Whether it holds a node.
    pub fn holds(&self, site: Site<'_>) -> bool {
        let any = |patterns: &[String], text| patterns.iter().any(|p| glob::fits(p, text));
        any(&self.nodes, site.node) && (self.clusters.is_empty() || any(&self.clusters, site.cluster))
    }
}

impl<'a> Site<'a> {
    /// Where a row of usage was made.
    pub fn of(row: &'a crate::usage::UsageTotal) -> Self {
        Self { cluster: &row.cluster, node: &row.node }
    }
}
