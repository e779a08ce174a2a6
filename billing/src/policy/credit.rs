//! `[[credit_rule]]`: which lost work is proposed for a credit, and how much of it.

use super::PolicyError;
use super::entry::{Entry, Row};
use crate::price::Span;
use serde::{Deserialize, Serialize};
use toml::Value;

/// Most hours that a rule may credit: a month.
pub const CREDIT_HOURS_MAX: i64 = 744;

/// XIDs of NVIDIA's list that end what runs on a device and are the device's doing: it stopped (46), memory that can't be
/// corrected (48, 64, 94, 95, 140), its controller or firmware halted (62, 119, 120), an NVLink error (74), off the bus (79).
/// A fault that programs bring about themselves (13, 31), or that only follows (43, 45), is none of them.
pub const FATAL_XIDS: [u32; 11] = [46, 48, 62, 64, 74, 79, 94, 95, 119, 120, 140];

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
    pub valid: Span,
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
            cap_hours: entry.count("cap_hours", self.cap_hours, CREDIT_HOURS_MAX)?,
            reasons,
            valid: entry.valid(&self.from, self.to.as_ref())?,
            id: self.id,
        })
    }
}
