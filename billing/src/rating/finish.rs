//! From a tenant's sums to its lines: the basis is settled over the period, quantities are cut into tiers, each line is
//! numbered and rounded once.

use super::{Gathered, Line, LineBasis, LineKey, LinePrice, Rules, Sums, TenantUsage};
use crate::charge::Quantity;
use crate::money::Currency;
use crate::price::{Asked, Basis, Rate, Tiers};
use crate::split::split;
use crate::tenant::{Site, TenantId};
use crate::wide::apportion;
use schema::units::NanoGpuHours;
use std::collections::BTreeMap;

/// A basis that looks at busy time is refused below this part of a tenant's time that was watched, in percent.
const WATCHED_PERCENT_MIN: i128 = 95;

/// The lines of a tenant.
pub(super) fn finish(
    tenant: TenantId,
    gathered: Gathered,
    rules: Rules<'_>,
    currency: &Currency,
) -> TenantUsage {
    let lines = settle_basis(gathered.lines);
    let lines = cut_at_tiers(&tenant, lines, rules);
    let numbered = lines
        .into_iter()
        .zip(1..)
        .map(|((key, sums, quantity), number)| Line::new(number, key, sums, quantity, currency));
    TenantUsage { lines: numbered.collect(), held_by_device: gathered.held_by_device, tenant }
}

/// Where too little of the time under a basis of busy time was watched, all of it is charged as held.
fn settle_basis(lines: BTreeMap<LineKey, Sums>) -> BTreeMap<LineKey, Sums> {
    let (mut natural, mut observed) = (0i128, 0i128);
    for sums in lines.iter().filter(|(key, _)| key.basis.asked.needs_busy()).map(|(_, sums)| sums) {
        natural += i128::from(sums.natural_ms);
        observed += i128::from(sums.observed_ms);
    }
    if observed * 100 >= natural * WATCHED_PERCENT_MIN {
        return lines;
    }
    let mut settled: BTreeMap<LineKey, Sums> = BTreeMap::new();
    for (mut key, mut sums) in lines {
        if key.basis.charged.needs_busy() {
            key.basis = LineBasis { charged: Basis::Held, ..key.basis };
            sums.charged = sums.held;
        }
        settled.entry(key).and_modify(|known| known.add(&sums)).or_insert(sums);
    }
    settled
}

/// A line with what is multiplied.
type Part = (LineKey, Sums, Quantity);

/// Lines whose price has tiers become a line for each tier that they reach, in the order of their keys.
fn cut_at_tiers(tenant: &TenantId, lines: BTreeMap<LineKey, Sums>, rules: Rules<'_>) -> Vec<Part> {
    let whole = |(key, sums): (LineKey, Sums)| {
        let quantity = key.price.quantity(&sums);
        (key, sums, quantity)
    };
    let parts: Vec<Part> = lines.into_iter().map(whole).collect();
    let mut by_entry: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (key, _, _)) in parts.iter().enumerate() {
        let entry = key.price.entry().filter(|id| rules.prices.tiers(id).is_some_and(|t| !t.is_flat()));
        if let Some(entry) = entry {
            by_entry.entry(entry.into()).or_default().push(at);
        }
    }
    if by_entry.is_empty() {
        return parts;
    }
    let mut cut: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    for (entry, at) in by_entry {
        let tiers = rules.prices.tiers(&entry).expect("only entries with tiers were kept");
        cut.extend(cut_lines(tenant, &parts, &at, tiers, rules));
    }
    let keep = |(at, part): (usize, Part)| cut.remove(&at).unwrap_or_else(|| vec![part]);
    let mut done: Vec<Part> = parts.into_iter().enumerate().flat_map(keep).collect();
    done.sort_by(|a, b| a.0.cmp(&b.0));
    done
}

/// The lines at some places, all of one entry, cut into its tiers.
fn cut_lines(
    tenant: &TenantId,
    parts: &[Part],
    at: &[usize],
    tiers: &Tiers,
    rules: Rules<'_>,
) -> BTreeMap<usize, Vec<Part>> {
    let quantities: Vec<i64> = at.iter().map(|at| parts[*at].2.nano).collect();
    let pieces = tiers.split(&quantities);
    let mut cut = BTreeMap::new();
    for (line, at) in at.iter().enumerate() {
        let (key, sums, quantity) = &parts[*at];
        let own: Vec<_> = pieces.iter().filter(|piece| piece.line == line).collect();
        let weights: Vec<u128> = own.iter().map(|piece| u128::from(piece.nano.unsigned_abs())).collect();
        let lines = own.iter().zip(split_sums(sums, &weights)).map(|(piece, sums)| {
            let price = LinePrice::Priced(rate_in_tier(tenant, key, &sums, piece.tier, rules));
            (LineKey { price, ..key.clone() }, sums, Quantity { nano: piece.nano, ..*quantity })
        });
        cut.insert(*at, lines.collect());
    }
    cut
}

/// The line's price in a tier.
fn rate_in_tier(tenant: &TenantId, key: &LineKey, sums: &Sums, tier: u32, rules: Rules<'_>) -> Rate {
    let rate = key.price.rate().expect("a line without a price has no tiers");
    let at_ms = sums.span.start_ms;
    let path = rules.tenants.ancestors(tenant, at_ms);
    let asked = Asked {
        model: &key.model,
        profile: &key.profile,
        share: key.share,
        path: &path,
        owner: None,
        site: Site { cluster: "", node: "" },
        at_ms,
    };
    rules.prices.in_tier(rate, &asked, tier).unwrap_or_else(|| rate.clone())
}

/// Sums in parts by weight, each figure by largest remainder, so that the parts sum to the whole.
fn split_sums(sums: &Sums, weights: &[u128]) -> Vec<Sums> {
    // Nothing to weigh by: all of it is the first part's.
    let first: Vec<u128> = (0..weights.len()).map(|at| u128::from(at == 0)).collect();
    let weights = if weights.iter().all(|w| *w == 0) { &first } else { weights };
    let cut = |value: i64| split(value, weights);
    let nano = |value: NanoGpuHours| cut(value.0);
    let (natural, observed, energy) = (cut(sums.natural_ms), cut(sums.observed_ms), cut(sums.energy_mj));
    let (held, charged) = (nano(sums.held), nano(sums.charged));
    let (busy, unknown) = (nano(sums.busy), nano(sums.unknown));
    let memory = apportion(sums.memory_byte_ms, weights);
    (0..weights.len())
        .map(|at| Sums {
            span: sums.span,
            natural_ms: natural[at],
            observed_ms: observed[at],
            held: NanoGpuHours(held[at]),
            charged: NanoGpuHours(charged[at]),
            busy: NanoGpuHours(busy[at]),
            unknown: NanoGpuHours(unknown[at]),
            energy_mj: energy[at],
            memory_byte_ms: memory[at],
        })
        .collect()
}
