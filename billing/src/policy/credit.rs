//! `[[credit_rule]]`: which lost work is proposed for a credit, and how much of it.

use super::entry::{Entry, Row};
use super::{PolicyError, Valid};
use serde::{Deserialize, Serialize};
use toml::Value;

/// Most hours that a rule may credit: a month.
const CAP_HOURS_MAX: i64 = 744;

/// Why work was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureReason {
    /// The node failed.
    NodeFailed,
    /// The driver reported an error that ends what runs on the device.
    FatalXid,
    /// The device fell off the bus.
    GpuLost,
}

/// Credits that are proposed from an instant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditRule {
    /// Unique name of the entry.
    pub id: String,
    /// Most hours before the failure that are credited.
    pub cap_hours: i64,
    /// For which failures.
    pub reasons: Vec<FailureReason>,
    /// When.
    pub valid: Valid,
}

/// A `[[credit_rule]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreditRuleRow {
    id: String,
    cap_hours: i64,
    reasons: Vec<String>,
    from: Value,
    to: Option<Value>,
}

const REASONS: [(&str, FailureReason); 3] = [
    ("node-failed", FailureReason::NodeFailed),
    ("fatal-xid", FailureReason::FatalXid),
    ("gpu-lost", FailureReason::GpuLost),
];

impl FailureReason {
    /// The words that people read.
    pub fn words(self) -> &'static str {
        match self {
            Self::NodeFailed => "node failed",
            Self::FatalXid => "fatal XID",
            Self::GpuLost => "GPU lost",
        }
    }
}

impl Row for CreditRuleRow {
    const SECTION: &'static str = "credit_rule";
    type Read = CreditRule;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<CreditRule, PolicyError> {
        let reasons = self.reasons.iter().map(|word| entry.word("reasons", word, &REASONS, ""));
        let reasons: Vec<FailureReason> = reasons.collect::<Result<_, _>>()?;
        if reasons.is_empty() {
            return Err(entry.keys(
                "has no reasons and would never propose a credit: name node-failed, fatal-xid or gpu-lost",
            ));
        }
        Ok(CreditRule {
            cap_hours: entry.count("cap_hours", self.cap_hours, CAP_HOURS_MAX)?,
            reasons,
            valid: entry.valid(&self.from, self.to.as_ref())?,
            id: self.id,
        })
    }
}
