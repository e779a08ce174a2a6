//! What posted months can be grouped by.

use super::{NOTHING, Of, attribute, job};
use crate::tenant::Site;
use crate::words;
use schema::owner::key;

/// A dimension of a grouping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dimension {
    /// The month.
    Month,
    /// The tenant.
    Tenant,
    /// The tree node at a depth, from 1 at the root.
    Level(usize),
    /// `usage`, `credit`, `free`: the kind of row.
    Kind,
    /// User name, or uid where no name is known.
    User,
    /// Slurm job, pod, unit, machine or container.
    Job,
    /// Slurm account.
    Account,
    /// Slurm partition.
    Partition,
    /// Slurm QOS.
    Qos,
    /// Kubernetes namespace.
    Namespace,
    /// Device model.
    Model,
    /// MIG profile.
    Profile,
    /// How the device was divided.
    Sharing,
    /// Node pools that the node is in.
    Pool,
    /// Cluster.
    Cluster,
    /// Node.
    Node,
    /// A label of the pod or container.
    Label(String),
}

/// Not a dimension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is nothing to group by: write month, tenant, level:N, kind, user, job, account, partition, qos, namespace, model, profile, sharing, pool, cluster, node or label:KEY"
)]
pub struct DimensionError(pub String);

/// The dimensions that are one word.
const PLAIN: [(&str, Dimension); 15] = [
    ("month", Dimension::Month),
    ("tenant", Dimension::Tenant),
    ("kind", Dimension::Kind),
    ("user", Dimension::User),
    ("job", Dimension::Job),
    ("account", Dimension::Account),
    ("partition", Dimension::Partition),
    ("qos", Dimension::Qos),
    ("namespace", Dimension::Namespace),
    ("model", Dimension::Model),
    ("profile", Dimension::Profile),
    ("sharing", Dimension::Sharing),
    ("pool", Dimension::Pool),
    ("cluster", Dimension::Cluster),
    ("node", Dimension::Node),
];

impl std::str::FromStr for Dimension {
    type Err = DimensionError;

    fn from_str(text: &str) -> Result<Self, DimensionError> {
        let wrong = || DimensionError(text.into());
        match text.split_once(':') {
            Some(("level", depth)) => match depth.parse() {
                Ok(depth @ 1..=64) => Ok(Self::Level(depth)),
                _ => Err(wrong()),
            },
            Some(("label", key)) if !key.is_empty() => Ok(Self::Label(key.into())),
            _ => {
                let found = PLAIN.iter().find(|(name, _)| *name == text);
                found.map(|(_, dimension)| dimension.clone()).ok_or_else(wrong)
            }
        }
    }
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Level(depth) => write!(f, "level:{depth}"),
            Self::Label(key) => write!(f, "label:{key}"),
            plain => {
                let found = PLAIN.iter().find(|(_, dimension)| dimension == plain);
                f.write_str(found.map_or("", |(name, _)| name))
            }
        }
    }
}

impl Dimension {
    /// What it says of a row; [`NOTHING`] where that has no such thing.
    pub(super) fn value(&self, of: &Of<'_>) -> String {
        let plain = |text: Option<&str>| text.filter(|t| !t.is_empty()).unwrap_or(NOTHING).to_owned();
        let row = of.usage.map(|(row, _)| row);
        match self {
            Self::Month => of.month.into(),
            Self::Tenant => of.tenant.to_string(),
            Self::Level(depth) => {
                let mut path = of.tenants.ancestors(of.tenant, of.at_ms);
                path.reverse();
                path.get(depth - 1).map_or_else(|| NOTHING.into(), ToString::to_string)
            }
            Self::Kind => of.kind.into(),
            Self::User => plain(attribute(of, key::USER).or_else(|| attribute(of, key::UID))),
            Self::Job => job(of).unwrap_or_else(|| NOTHING.into()),
            Self::Account => plain(attribute(of, key::SLURM_ACCOUNT)),
            Self::Partition => plain(attribute(of, "slurm_partition")),
            Self::Qos => plain(attribute(of, "slurm_qos")),
            Self::Namespace => plain(attribute(of, key::NAMESPACE)),
            Self::Model => plain(row.map(|row| words::short_model(&row.model))),
            Self::Profile => plain(row.map(|row| row.profile.as_str())),
            Self::Sharing => plain(row.map(|row| words::sharing(row.sharing))),
            Self::Pool => {
                let pools =
                    row.map(|row| of.tenants.pools_of(Site { cluster: &row.cluster, node: &row.node }));
                plain(pools.map(|pools| pools.join("+")).as_deref())
            }
            Self::Cluster => plain(row.map(|row| row.cluster.as_str())),
            Self::Node => plain(row.map(|row| row.node.as_str())),
            Self::Label(name) => plain(attribute(of, &format!("{}{name}", key::LABEL))),
        }
    }
}
