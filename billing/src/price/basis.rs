//! What is charged: the time that was held, the time that was busy, the greater of both, memory, or a stated blend.
//!
//! Held is the default everywhere. Where busy time isn't known, a basis that looks at it is refused: unknown is not zero.

use super::Span;
use crate::fixed;
use crate::tenant::TenantId;
use schema::units::NanoGpuHours;
use schema::wire::Sharing;
use serde::{Deserialize, Serialize};

/// A whole, as the parts of a blend count it.
pub const BLEND_WHOLE_E6: u32 = 1_000_000;

/// What of a row of usage is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Device time held.
    #[default]
    Held,
    /// Device time known to be busy.
    Busy,
    /// The greater of held and busy.
    Max,
    /// Device memory held over time, at a price per GiB-hour.
    Memory,
    /// A part of each.
    Blend {
        /// Part of the held time, in 1e-6; with `busy_e6` it is a whole.
        held_e6: u32,
        /// Part of the busy time, in 1e-6.
        busy_e6: u32,
    },
}

/// Busy time isn't known of all that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the basis {basis} needs busy time, which is unknown for {unknown} GPU-hours: charge these held with [[basis]] of prices.toml"
)]
pub struct NotMeasured {
    /// The basis.
    pub basis: Basis,
    /// Device time whose use is unknown.
    pub unknown: NanoGpuHours,
}

/// A `[[basis]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasisRule {
    /// Its place among the bases of the file, from 1: what errors call it.
    pub name: String,
    /// How the device is divided; empty for any.
    pub sharing: Vec<Sharing>,
    /// The tenant or tree node that it holds for, with all below; `None` for everybody.
    pub tenant: Option<TenantId>,
    /// What is charged.
    pub basis: Basis,
    /// When it holds.
    pub span: Span,
}

/// What `[[basis]]` calls the kinds of sharing.
pub(super) const SHARINGS: [(&str, Sharing); 6] = [
    ("exclusive", Sharing::Whole),
    ("time-sliced", Sharing::TimeSliced),
    ("mps", Sharing::Mps),
    ("mig", Sharing::Mig),
    ("mig-shared", Sharing::MigShared),
    ("vgpu", Sharing::Vgpu),
];

impl Basis {
    /// The device time that is charged. Under [`Basis::Memory`] it is the held time, whose memory is charged by
    /// [`gib_hours_nano`] instead. A blend is rounded half-even to 1e-9 GPU-hours.
    ///
    /// # Errors
    /// It looks at busy time, and the use of some of the held time is unknown.
    pub fn charged(
        self,
        held: NanoGpuHours,
        busy: NanoGpuHours,
        unknown: NanoGpuHours,
    ) -> Result<NanoGpuHours, NotMeasured> {
        if self.needs_busy() && unknown.0 != 0 {
            return Err(NotMeasured { basis: self, unknown });
        }
        Ok(match self {
            Basis::Held | Basis::Memory => held,
            Basis::Busy => busy,
            Basis::Max => held.max(busy),
            Basis::Blend { held_e6, busy_e6 } => {
                let parts =
                    i128::from(held.0) * i128::from(held_e6) + i128::from(busy.0) * i128::from(busy_e6);
                let nano = fixed::divide(parts, i128::from(BLEND_WHOLE_E6));
                NanoGpuHours(i64::try_from(nano).expect("a mean lies between its two parts"))
            }
        })
    }

    /// Whether it looks at busy time.
    pub fn needs_busy(self) -> bool {
        matches!(self, Basis::Busy | Basis::Max | Basis::Blend { .. })
    }
}

/// Memory over time in 1e-9 GiB-hours, half-even.
///
/// ```
/// let gib_for_two_hours = (1u128 << 30) * 7_200_000;
/// assert_eq!(billing::price::gib_hours_nano(gib_for_two_hours), 2_000_000_000);
/// ```
pub fn gib_hours_nano(memory_byte_ms: u128) -> i64 {
    // 1e9 / (2^30 x 3.6e6) in lowest terms, so that a fleet's memory over a century stays far inside 128 bits.
    const NUMERATOR: i128 = 625;
    const DENOMINATOR: i128 = (1 << 27) * 18;
    let bytes = i128::try_from(memory_byte_ms).expect("a fleet's memory over a period is below 1e38 byte-ms");
    i64::try_from(fixed::divide(bytes * NUMERATOR, DENOMINATOR)).expect("a line is below 9e9 GiB-hours")
}

/// `held`, `busy`, `max(held, busy)`, `memory`, `50 % held + 50 % busy`.
impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Basis::Held => f.write_str("held"),
            Basis::Busy => f.write_str("busy"),
            Basis::Max => f.write_str("max(held, busy)"),
            Basis::Memory => f.write_str("memory"),
            Basis::Blend { held_e6, busy_e6 } => {
                let percent = |part: &u32| fixed::show(i64::from(*part), 4);
                write!(f, "{} % held + {} % busy", percent(held_e6), percent(busy_e6))
            }
        }
    }
}

impl BasisRule {
    /// What it is the basis of, for people.
    pub fn scope(&self) -> String {
        let name =
            |s: &Sharing| SHARINGS.iter().find(|(_, known)| known == s).map_or("unknown", |(name, _)| name);
        let sharing: Vec<&str> = self.sharing.iter().map(name).collect();
        let sharing = if sharing.is_empty() { "any sharing".into() } else { sharing.join(" or ") };
        let whose = self.tenant.as_ref().map(|t| format!(", for tenant {t}")).unwrap_or_default();
        format!("{sharing}{whose}")
    }

    /// Whether both could hold of one row.
    pub(super) fn could_tie(&self, other: &BasisRule) -> bool {
        let share = (self.sharing.is_empty() && other.sharing.is_empty())
            || self.sharing.iter().any(|s| other.sharing.contains(s));
        self.tenant == other.tenant && share
    }
}

/// The basis of a row: the nearest tenant's, then the one that names the sharing; held where none holds.
pub(super) fn of(all: &[BasisRule], sharing: Sharing, path: &[TenantId], at_ms: i64) -> Basis {
    let near = |rule: &BasisRule| match &rule.tenant {
        None => Some(usize::MAX),
        Some(tenant) => path.iter().position(|node| node == tenant),
    };
    all.iter()
        .filter(|rule| rule.span.holds_at(at_ms))
        .filter(|rule| rule.sharing.is_empty() || rule.sharing.contains(&sharing))
        .filter_map(|rule| Some((near(rule)?, rule)))
        .max_by_key(|(near, rule)| (std::cmp::Reverse(*near), !rule.sharing.is_empty()))
        .map_or(Basis::Held, |(_, rule)| rule.basis)
}
