//! What a MIG profile costs of its device: by compute slices unless a factor says otherwise.
//!
//! Quantities stay device time by compute slices, so that they sum to the hardware. A factor turns the unit price:
//! `price x factor / slices`, half-even at 6 decimals.

use super::profile::Profile;
use super::selector::exactness;
use super::{Asked, Span};
use crate::fixed;
use crate::glob;
use crate::money::UnitPrice;
use schema::share::Share;
use std::collections::BTreeMap;

/// A rule for all profiles of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// A profile costs its compute slices of the device: as without any factor.
    ComputeSlices,
    /// A profile costs its eighths of the device's memory.
    MemoryEighths,
}

/// A `[[mig_factor]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigFactor {
    /// Its place among the factors of the file, from 1: what errors call it.
    pub name: String,
    /// NVML product name, exact or with `*`.
    pub model: String,
    /// The rule for profiles that aren't listed; compute slices where there is none.
    pub preset: Option<Preset>,
    /// Part of the device's price by profile, in 1e-6; above zero, at most a whole.
    pub profiles_e6: BTreeMap<String, i64>,
    /// When it holds.
    pub span: Span,
}

/// A factor found for what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Part of the device's price that the profile costs: numerator and denominator.
    cost: (i64, i64),
    /// Part of the device's time that the profile is counted as.
    counted: Share,
    /// Where the factor comes from.
    pub by: TurnedBy,
}

/// Where a factor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnedBy {
    /// The profile is listed.
    Listed,
    /// The preset of memory eighths.
    Memory,
    /// Memory eighths were asked for, and the profile isn't known: compute slices.
    UnknownProfile,
}

impl Turn {
    /// The price of device time under the profile.
    pub fn price(&self, price: UnitPrice) -> UnitPrice {
        let numerator = i128::from(price.0) * i128::from(self.cost.0) * i128::from(self.counted.den);
        let denominator = i128::from(self.cost.1) * i128::from(self.counted.num);
        let micros = fixed::divide(numerator, denominator);
        UnitPrice(
            i64::try_from(micros).expect("a profile that has a factor is at least an eighth of its device"),
        )
    }

    /// `x 0.15 / (1/7)`.
    pub fn describe(&self) -> String {
        match self.cost {
            (part, 1_000_000) => format!("x {} / ({})", fixed::show(part, 6), self.counted),
            (num, den) => format!("x {num}/{den} / ({})", self.counted),
        }
    }
}

impl MigFactor {
    /// How the price of device time turns for a profile; `None` where it stays.
    fn turn(&self, asked: &Asked<'_>) -> Option<Turn> {
        let profile = Profile::parse(asked.profile);
        let listed = |name: &str| self.profiles_e6.get(name).copied();
        // A slot of an instance, or a compute instance in it, costs its part of the instance.
        let of_instance = || listed(profile?.gpu_instance);
        if let Some(cost) = listed(asked.profile).or_else(of_instance) {
            let counted = instance_share(asked.model, asked.profile, asked.share);
            return Some(Turn { cost: (cost, 1_000_000), counted, by: TurnedBy::Listed });
        }
        if self.preset != Some(Preset::MemoryEighths) {
            return None;
        }
        let counted = instance_share(asked.model, asked.profile, asked.share);
        Some(match profile.and_then(|profile| profile.memory(asked.model)) {
            Some(part) => Turn { cost: (part.num.into(), part.den.into()), counted, by: TurnedBy::Memory },
            None => {
                Turn { cost: (counted.num.into(), counted.den.into()), counted, by: TurnedBy::UnknownProfile }
            }
        })
    }

    /// What it is the factor of, for people.
    pub fn scope(&self) -> String {
        format!("model {:?}", self.model)
    }

    /// For people: `memory-eighths, 1g.10gb 0.15`.
    pub fn describe(&self) -> String {
        let preset = self.preset.map(|preset| match preset {
            Preset::ComputeSlices => "compute-slices".to_string(),
            Preset::MemoryEighths => "memory-eighths".to_string(),
        });
        let listed = self.profiles_e6.iter().map(|(name, e6)| format!("{name} {}", fixed::show(*e6, 6)));
        preset.into_iter().chain(listed).collect::<Vec<_>>().join(", ")
    }
}

/// The share of the device that a whole instance of the profile is counted as, of which `held` is held: a slot holds a
/// part of it. Compute slices by the profile's name; where the name isn't known or says less than is held, what is held.
pub(super) fn instance_share(model: &str, profile: &str, held: Share) -> Share {
    let named = Profile::parse(profile).map(|profile| profile.compute(model));
    let less = |whole: &Share| {
        u64::from(whole.num) * u64::from(held.den) < u64::from(held.num) * u64::from(whole.den)
    };
    named.filter(|whole| !less(whole)).unwrap_or(held)
}

/// The factor of what is asked, and how it turns the price; `None` outside MIG and where the price stays.
pub(super) fn of<'a>(all: &'a [MigFactor], asked: &Asked<'_>) -> Option<(&'a MigFactor, Turn)> {
    if asked.profile.is_empty() || asked.share.num == 0 {
        return None;
    }
    let fitting = all.iter().filter(|f| f.span.holds_at(asked.at_ms) && glob::fits(&f.model, asked.model));
    let factor = fitting.max_by_key(|f| exactness(&f.model))?;
    Some((factor, factor.turn(asked)?))
}
