//! What nobody held, at its price: the platform keeps its cost, so that all statements together are the whole fleet.

use super::{LinePrice, Rules};
use crate::money::{Amount, Currency, Exact};
use crate::usage::DeviceTotal;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// Why nobody held it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlatformKind {
    /// Nobody asked for it.
    Free,
    /// No MIG instance covers it.
    Stranded,
    /// Failed, lost or reconfiguring.
    Unavailable,
    /// No witness saw it.
    Unobserved,
}

impl PlatformKind {
    /// All four, in the order of a proof.
    pub const ALL: [PlatformKind; 4] = [Self::Free, Self::Stranded, Self::Unavailable, Self::Unobserved];

    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Stranded => "stranded",
            Self::Unavailable => "unavailable",
            Self::Unobserved => "unobserved",
        }
    }

    /// Its part of a device's time.
    pub fn of(self, device: &DeviceTotal) -> NanoGpuHours {
        match self {
            Self::Free => device.free,
            Self::Stranded => device.stranded,
            Self::Unavailable => device.unavailable,
            Self::Unobserved => device.unobserved,
        }
    }
}

/// A line of the platform's own statement.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlatformLine {
    /// Position on the statement from 1: `P1`.
    pub number: u32,
    /// NVML product name.
    pub model: String,
    /// Why nobody held it.
    pub kind: PlatformKind,
    /// The price, or why there is none.
    pub price: LinePrice,
    /// Device time.
    pub quantity: NanoGpuHours,
    /// Quantity times price, exact; `None` where there is no price.
    pub exact: Option<Exact>,
    /// `exact` rounded once.
    pub amount: Option<Amount>,
}

/// The platform's lines: by model, kind and price, without those of no time.
pub(super) fn lines(devices: &[DeviceTotal], rules: Rules<'_>, currency: &Currency) -> Vec<PlatformLine> {
    let mut sums: BTreeMap<(&str, PlatformKind, LinePrice), NanoGpuHours> = BTreeMap::new();
    for device in devices {
        let price = rules.own_price(device);
        for kind in PlatformKind::ALL {
            let sum = sums.entry((&device.model, kind, price.clone())).or_default();
            *sum = *sum + kind.of(device);
        }
    }
    let some = sums.into_iter().filter(|(_, quantity)| *quantity != NanoGpuHours(0));
    some.zip(1..)
        .map(|(((model, kind, price), quantity), number)| {
            let exact = price.unit().map(|unit| Exact::of(quantity, unit));
            let amount = exact.map(|exact| exact.round_half_even(currency));
            PlatformLine { number, model: model.into(), kind, price, quantity, exact, amount }
        })
        .collect()
}
