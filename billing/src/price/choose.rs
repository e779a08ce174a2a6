//! From what is asked to a price: the most exact entry, then service units, exchange, MIG factor and discount, in this
//! order. Each is rounded half-even to 6 decimals, so that a person gets the same with a pocket calculator.

use super::entry::Measure;
use super::factor::TurnedBy;
use super::selector::Rank;
use super::{
    Answer, Asked, Per, PriceBook, PriceEntry, Rate, ServiceUnit, Unpriced, discount, exchange, factor,
};
use crate::charge::Unit;
use crate::fixed;
use crate::glob;
use crate::money::UnitPrice;
use std::cmp::Reverse;

/// A price on its way to the answer.
struct Working<'t> {
    /// The latest instant from which all that was used holds.
    from_ms: i64,
    price: UnitPrice,
    /// Takes each step in words; nobody listens while millions of rows are rated.
    tell: Option<&'t mut Vec<String>>,
}

impl Working<'_> {
    fn step(&mut self, from_ms: i64, price: UnitPrice, words: impl FnOnce(UnitPrice) -> String) {
        self.from_ms = self.from_ms.max(from_ms);
        self.price = price;
        if let Some(told) = &mut self.tell {
            told.push(words(price));
        }
    }
}

impl PriceBook {
    /// The price of device or instance time, of the first tier.
    pub fn rate(&self, asked: &Asked<'_>) -> Answer {
        self.answer(asked, Measure::Time, 0, None)
    }

    /// The price of memory over time in a tier, for rows that are charged by [`super::Basis::Memory`].
    pub fn memory_rate(&self, asked: &Asked<'_>, tier: u32) -> Answer {
        self.answer(asked, Measure::Memory, tier, None)
    }

    /// How the price of a tier comes about, a step a line, for whoever opens a charge. Empty where there is no entry.
    pub fn derivation(&self, asked: &Asked<'_>, measure: Measure, tier: u32) -> Vec<String> {
        let mut told = Vec::new();
        // A price that stops half-way has told how far it came.
        let _ = self.answer(asked, measure, tier, Some(&mut told));
        told
    }

    fn answer(
        &self,
        asked: &Asked<'_>,
        measure: Measure,
        tier: u32,
        tell: Option<&mut Vec<String>>,
    ) -> Answer {
        let (best, list) = self.find(asked, measure)?;
        let tier = tier.min(u32::try_from(best.tiers.tiers.len() - 1).expect("few tiers"));
        let mut own = Working { from_ms: best.span.from_ms, price: UnitPrice(0), tell };
        self.work_out(asked, best, tier, &mut own)?;
        let unit = best.per.unit();
        let list_price = if best.is_list() {
            own.price
        } else {
            // Tiers of another entry count for those who pay it, so its first is what stands on the list.
            let in_unit = |entry| {
                let mut other = Working { from_ms: 0, price: UnitPrice(0), tell: None };
                self.work_out(asked, entry, 0, &mut other).ok()?;
                in_unit(other.price, entry.per.unit(), unit, asked)
            };
            list.and_then(in_unit).unwrap_or(own.price)
        };
        self.take_discount(asked, best, &mut own);
        Ok(Rate {
            from_ms: own.from_ms,
            entry: best.id.clone(),
            unit,
            list: list_price,
            price: own.price,
            tier,
        })
    }

    /// What another tier of the entry that a price came from costs; `None` where the book has no such entry any more. Of
    /// `asked`, owner and site don't matter: the entry is known.
    pub fn in_tier(&self, rate: &Rate, asked: &Asked<'_>, tier: u32) -> Option<Rate> {
        let entry = self.entry(&rate.entry)?;
        let mut own = Working { from_ms: entry.span.from_ms, price: UnitPrice(0), tell: None };
        self.work_out(asked, entry, tier, &mut own).ok()?;
        self.take_discount(asked, entry, &mut own);
        Some(Rate { price: own.price, tier, ..rate.clone() })
    }

    /// The nearest discount off a list price.
    fn take_discount(&self, asked: &Asked<'_>, entry: &PriceEntry, own: &mut Working<'_>) {
        let discount = discount::of(&self.terms.discounts, asked.model, asked.path, asked.at_ms);
        if let Some(less) = discount.filter(|_| entry.is_list()) {
            own.step(less.span.from_ms, less.off(own.price), |price| {
                format!("less {} % by discount {} = {price}", less.percent(), less.id)
            });
        }
    }

    /// The most exact entry of all, and of those that are nobody's own.
    fn find(
        &self,
        asked: &Asked<'_>,
        measure: Measure,
    ) -> Result<(&PriceEntry, Option<&PriceEntry>), Unpriced> {
        let pools = self.bound.as_ref().map_or(&[][..], |bound| &bound.pools);
        let mut best: Option<(Key<'_>, &PriceEntry)> = None;
        let mut list: Option<(Key<'_>, &PriceEntry)> = None;
        let (mut named, mut holds) = (false, false);
        let of_model = |e: &&PriceEntry| e.per.measure() == measure && glob::fits(&e.model, asked.model);
        for entry in self.terms.entries.iter().filter(of_model) {
            named = true;
            if !entry.holds_at(asked.at_ms) {
                continue;
            }
            holds = true;
            let Some(rank) = entry.selectors.rank(&entry.model, asked, pools) else { continue };
            let key = (rank, Reverse(entry.id.as_str()));
            if entry.is_list() && list.as_ref().is_none_or(|(than, _)| *than < key) {
                list = Some((key.clone(), entry));
            }
            if best.as_ref().is_none_or(|(than, _)| *than < key) {
                best = Some((key, entry));
            }
        }
        match best {
            Some((_, best)) => Ok((best, list.map(|(_, list)| list))),
            None if holds => Err(Unpriced::NotForThis),
            None if named => Err(Unpriced::NotAtThisTime),
            None => Err(Unpriced::UnknownModel),
        }
    }

    /// An entry's price of a tier in the service's currency, turned by the factor of the MIG profile.
    fn work_out(
        &self,
        asked: &Asked<'_>,
        entry: &PriceEntry,
        tier: u32,
        work: &mut Working<'_>,
    ) -> Result<(), Unpriced> {
        work.step(entry.span.from_ms, entry.tiers.tier(tier).price, |price| {
            let of_tier = if entry.tiers.is_flat() { String::new() } else { format!(", tier {}", tier + 1) };
            let how = entry.derivation().map(|how| format!(": {how}")).unwrap_or_default();
            format!("{} {}{of_tier}: {price}{how}", entry.id, entry.describe())
        });
        let mut currency = entry.currency.as_ref();
        if let Per::ServiceUnits(name) = &entry.per {
            let holds = |u: &&ServiceUnit| u.name == *name && u.span.holds_at(asked.at_ms);
            let unit = self.terms.service_units.iter().find(holds).ok_or(Unpriced::NotAtThisTime)?;
            work.step(unit.span.from_ms, unit.price_of(work.price), |price| {
                format!("x {} a {name} ({}) = {price}", unit.price, unit.id)
            });
            currency = unit.currency.as_ref();
        }
        if let Some(from) = currency.filter(|c| self.bound.as_ref().is_none_or(|b| b.service != **c)) {
            let service = &self.bound.as_ref().ok_or(Unpriced::NoExchangeRate)?.service;
            let rate = exchange::at(&self.terms.exchange_rates, from, service, asked.at_ms)
                .map_err(|_| Unpriced::NoExchangeRate)?;
            work.step(rate.span.from_ms, rate.price(work.price), |price| {
                format!("at {} = {price} {}", rate.describe(), service.code())
            });
        }
        if entry.per == Per::InstanceHour {
            let whole = factor::instance_share(asked.model, asked.profile, asked.share);
            if whole != asked.share && whole.num > 0 {
                let (num, den) = (asked.share.num, asked.share.den);
                let part = (i128::from(num) * i128::from(whole.den), i128::from(den) * i128::from(whole.num));
                work.step(0, times(work.price, part), |price| {
                    format!("x ({}) / ({whole}), its part of the instance = {price}", asked.share)
                });
            }
        }
        if entry.per.unit() == Unit::GpuHour
            && let Some((by, turn)) = factor::of(&self.terms.mig_factors, asked)
        {
            work.step(by.span.from_ms, turn.price(work.price), |price| {
                let of = match turn.by {
                    TurnedBy::Listed => String::new(),
                    TurnedBy::Memory => ", memory eighths".into(),
                    TurnedBy::UnknownProfile => ", whose memory is not known, so by compute slices".into(),
                };
                format!("{} for {}{of} (mig_factor {}) = {price}", turn.describe(), asked.profile, by.name)
            });
        }
        Ok(())
    }
}

/// How exactly an entry fits, and its id to tell entries of patterns that are alike apart.
type Key<'a> = (Rank<'a>, Reverse<&'a str>);

/// A price times a part of at most a whole, half-even at 6 decimals.
fn times(price: UnitPrice, (num, den): (i128, i128)) -> UnitPrice {
    let micros = fixed::divide(i128::from(price.0) * num, den);
    UnitPrice(i64::try_from(micros).expect("a part of a price is no more than the price"))
}

/// A list price in the unit of a contracted one: an hour of what is held is its share of an hour of the device. `None`
/// where neither can be told by the other.
fn in_unit(price: UnitPrice, from: Unit, to: Unit, asked: &Asked<'_>) -> Option<UnitPrice> {
    match (from, to) {
        _ if from == to => Some(price),
        (Unit::GpuHour, Unit::InstanceHour) => {
            Some(times(price, (asked.share.num.into(), asked.share.den.into())))
        }
        (Unit::InstanceHour, Unit::GpuHour) if asked.share.num > 0 => {
            let micros = i128::from(price.0) * i128::from(asked.share.den);
            i64::try_from(fixed::divide(micros, i128::from(asked.share.num))).ok().map(UnitPrice)
        }
        _ => None,
    }
}
