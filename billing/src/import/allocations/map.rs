//! Which column is which field.

use super::super::FileError;
use schema::owner::{OwnerKind, key};
use std::fmt;

/// What a column says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// Name or number of the job, pod or allocation: a run is counted under it.
    Job,
    /// When it was submitted; its start where missing.
    Submit,
    /// When it started.
    Start,
    /// First instant after it.
    End,
    /// Cluster.
    Cluster,
    /// Node, or a list `node1,node[3-5]`.
    Node,
    /// NVML UUIDs of the devices.
    Device,
    /// Model.
    Model,
    /// MIG profile.
    Profile,
    /// Number of GPUs, or a fraction of one.
    Gpus,
    /// Share of each GPU in thousandths.
    Milli,
    /// Share of each GPU as a decimal.
    Fraction,
    /// An attribute of the owner, by its key.
    Attribute(String),
}

/// Names of fields that aren't attributes.
const FIELDS: [(&str, Field); 12] = [
    ("job", Field::Job),
    ("submit", Field::Submit),
    ("start", Field::Start),
    ("end", Field::End),
    ("cluster", Field::Cluster),
    ("node", Field::Node),
    ("device", Field::Device),
    ("model", Field::Model),
    ("profile", Field::Profile),
    ("gpus", Field::Gpus),
    ("milli", Field::Milli),
    ("fraction", Field::Fraction),
];

/// Names of attributes, and the keys that owners carry them under.
const ATTRIBUTES: [(&str, &str); 10] = [
    ("namespace", key::NAMESPACE),
    ("pod", key::POD),
    ("pod_uid", key::POD_UID),
    ("priority_class", "priority_class"),
    ("account", key::SLURM_ACCOUNT),
    ("partition", "slurm_partition"),
    ("qos", "slurm_qos"),
    ("user", key::USER),
    ("uid", key::UID),
    ("image", key::IMAGE),
];

/// Why a map can't be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the texts say what each field is
pub enum MapError {
    #[error("{0:?} is no map: write COLUMN=FIELD, such as num_gpu=gpus")]
    NotAMap(String),
    #[error("{0:?} is no field: those are {list}", list = names())]
    NoField(String),
    #[error("two columns are mapped to {0}: a field has one")]
    Twice(String),
    #[error("no column is mapped to {0}: add --map COLUMN={0}")]
    Lacks(&'static str),
    #[error("both milli and fraction are mapped: a share is said once")]
    TwoShares,
}

impl Field {
    /// The attribute that it is of the owner.
    pub fn attribute(&self) -> Option<String> {
        match self {
            Field::Attribute(key) => Some(key.clone()),
            _ => None,
        }
    }
}

/// The name in a map.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Attribute(key) => {
                f.write_str(ATTRIBUTES.iter().find(|(_, own)| own == key).map_or(key, |(name, _)| *name))
            }
            _ => f.write_str(FIELDS.iter().find(|(_, own)| own == self).map_or("", |(name, _)| *name)),
        }
    }
}

/// Every name, for errors and help.
pub fn names() -> String {
    let fields = FIELDS.iter().map(|(name, _)| *name);
    let attributes = ATTRIBUTES.iter().map(|(name, _)| *name);
    fields.chain(["tenant"]).chain(attributes).chain(["label:KEY"]).collect::<Vec<_>>().join(", ")
}

/// Columns by field, and what kind of owner they make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMap {
    columns: Vec<(Field, String)>,
    kind: OwnerKind,
}

impl ColumnMap {
    /// From `COLUMN=FIELD` texts. Without a `kind`, accounts and partitions make Slurm jobs and everything else pods. `tenant`
    /// is what becomes a tenant of that name without rules: a pod's namespace, a Slurm job's account.
    ///
    /// # Errors
    /// Not a map, no such field, a field twice, or one that is needed is missing.
    pub fn parse(maps: &[String], kind: Option<OwnerKind>) -> Result<Self, MapError> {
        let mut pairs = Vec::with_capacity(maps.len());
        for map in maps {
            // A column's name may hold `=`; a field's never does.
            let (column, field) = map.rsplit_once('=').ok_or_else(|| MapError::NotAMap(map.clone()))?;
            pairs.push((field.trim(), column.trim().to_owned()));
        }
        let is_slurm = |(field, _): &(&str, String)| ["account", "partition"].contains(field);
        let guessed = if pairs.iter().any(is_slurm) { OwnerKind::Slurm } else { OwnerKind::Kubernetes };
        let kind = kind.unwrap_or(guessed);
        let mut columns: Vec<(Field, String)> = Vec::with_capacity(pairs.len());
        for (name, column) in pairs {
            let field = field(name, kind).ok_or_else(|| MapError::NoField(name.to_owned()))?;
            if columns.iter().any(|(own, _)| *own == field) {
                return Err(MapError::Twice(name.to_owned()));
            }
            columns.push((field, column));
        }
        let has = |field: &Field| columns.iter().any(|(own, _)| own == field);
        for (name, field) in [("job", Field::Job), ("start", Field::Start), ("end", Field::End)] {
            if !has(&field) {
                return Err(MapError::Lacks(name));
            }
        }
        if has(&Field::Milli) && has(&Field::Fraction) {
            return Err(MapError::TwoShares);
        }
        Ok(Self { columns, kind })
    }

    /// What kind of owner rows make.
    pub fn kind(&self) -> OwnerKind {
        self.kind
    }

    /// Where the columns are in a header.
    pub(super) fn locate(&self, header: &[String]) -> Result<Vec<(Field, String, usize)>, FileError> {
        let have = || header.iter().map(|name| name.trim()).collect::<Vec<_>>().join(", ");
        let located = self.columns.iter().map(|(field, column)| {
            let mut places = header.iter().enumerate().filter(|(_, name)| name.trim() == column);
            match (places.next(), places.next()) {
                (Some((at, _)), None) => Ok((field.clone(), column.clone(), at)),
                (Some(_), Some(_)) => Err(FileError::TwoColumns(column.clone())),
                (None, _) => Err(FileError::NoColumn { column: column.clone(), have: have() }),
            }
        });
        located.collect()
    }
}

fn field(name: &str, kind: OwnerKind) -> Option<Field> {
    if let Some((_, field)) = FIELDS.iter().find(|(own, _)| *own == name) {
        return Some(field.clone());
    }
    if name.strip_prefix(key::LABEL).is_some_and(|label| !label.is_empty()) {
        return Some(Field::Attribute(name.to_owned()));
    }
    let name = match (name, kind) {
        ("tenant", OwnerKind::Slurm) => "account",
        ("tenant", _) => "namespace",
        (name, _) => name,
    };
    let (_, key) = ATTRIBUTES.iter().find(|(own, _)| *own == name)?;
    Some(Field::Attribute((*key).to_owned()))
}
