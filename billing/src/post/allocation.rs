//! Allocation: who takes the cost of what nobody held, of shared usage and of overheads.
//!
//! Of the policies that hold for a piece of cost the one with the narrowest scope takes it whole, so nothing is
//! distributed twice. What a policy moves is one row away from where the cost stands and rows onto the takers'
//! statements that sum to it, in device time and in money, by largest remainder. What nobody can take, or what has no
//! price, stays where it is, and a row of nothing says so.

use super::{Ledger, Piece, PostError, ReservedTime};
use crate::charge::{Charge, ChargeKind, Quantity};
use crate::money::{Amount, Exact};
use crate::policy::{AllocationPolicy, CostKind, Taker};
use crate::split::{split, weight};
use crate::tenant::TenantId;
use crate::words;
use schema::units::NanoGpuHours;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What the words of a row that takes a cost from where it stood end in.
pub(crate) const TAKEN: &str = ": taken by tenants";

/// Everything that is shared out, and what it is shared out by.
#[derive(Debug, Clone, Copy)]
pub struct Allocate<'a> {
    /// Usage and devices: what `usage` and `cost` weigh.
    pub ledger: Ledger<'a>,
    /// The cost: what reservations left, shared usage and overheads.
    pub pieces: &'a [Piece],
    /// What `reserved` weighs.
    pub reserved: &'a [ReservedTime],
    /// The tenants with a statement: what `even` counts.
    pub statements: &'a BTreeSet<TenantId>,
}

/// Costs that go the same way: one policy, one statement that they leave, one kind and model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'a> {
    policy: usize,
    from: &'a TenantId,
    what: &'a str,
    /// Owner of the pool, where the policy asks for it.
    owner: Option<&'a TenantId>,
    /// Tenants with a fixed share that had ended.
    ended: Vec<&'a TenantId>,
}

/// What goes one way.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Device time with a price.
    priced: NanoGpuHours,
    /// Device time without.
    unpriced: NanoGpuHours,
    /// Posted.
    amount: Amount,
}

/// A row of a statement whose cost is shared out, or not.
type LineOf<'a> = (&'a TenantId, CostKind, &'a str, &'a str);

impl<'a> Allocate<'a> {
    /// The rows that the policies make.
    ///
    /// # Errors
    /// Usage that isn't all that was held, or a device that two policies or owners claim alike.
    pub fn charges(&self) -> Result<Vec<Charge>, PostError> {
        self.ledger.check()?;
        let groups = self.groups()?;
        let policy_of = |group: &Group<'_>| &self.ledger.policies.allocations[group.policy];
        // Whose cost is shared out takes no part in sharing: else a part of it would be distributed again.
        let shared: BTreeSet<&TenantId> =
            groups.keys().filter(|g| policy_of(g).cost == CostKind::Shared).map(|g| g.from).collect();
        let mut weights: BTreeMap<usize, BTreeMap<&TenantId, u128>> = BTreeMap::new();
        let mut charges = Vec::new();
        for (group, cost) in &groups {
            let policy = policy_of(group);
            let table = weights.entry(group.policy).or_insert_with(|| self.weights(policy, &shared));
            let takers = match &policy.taker {
                Taker::Owner => group.owner.into_iter().map(|owner| (owner, 1)).collect(),
                _ => table.clone(),
            };
            charges.extend(self.rows(policy, group, *cost, &takers));
        }
        Ok(charges)
    }

    /// What goes which way. What a row posts is cut between the ways that its parts go, so that however many policies
    /// share it they move what it posts and not a cent more or less.
    fn groups(&self) -> Result<BTreeMap<Group<'a>, Cost>, PostError> {
        let mut groups: BTreeMap<Group<'a>, Cost> = BTreeMap::new();
        let mut lines: BTreeMap<LineOf<'a>, BTreeMap<Option<Group<'a>>, Exact>> = BTreeMap::new();
        for piece in self.pieces {
            let way = self.group_of(piece)?;
            if let Some(exact) = piece.exact {
                let line = (&piece.from, piece.kind, piece.what.as_str(), piece.line.as_str());
                let sum = lines.entry(line).or_default().entry(way.clone()).or_default();
                *sum = *sum + exact;
            }
            if let Some(group) = way {
                let cost = groups.entry(group).or_default();
                let time = if piece.exact.is_some() { &mut cost.priced } else { &mut cost.unpriced };
                *time = *time + piece.held;
            }
        }
        for ways in lines.into_values() {
            let whole: Exact = ways.values().copied().sum();
            let posted = whole.round_half_even(self.ledger.currency);
            let weights: Vec<u128> = ways.values().map(|exact| exact.0.unsigned_abs()).collect();
            for (way, part) in ways.into_keys().zip(split(posted.0, &weights)) {
                if let Some(cost) = way.and_then(|group| groups.get_mut(&group)) {
                    cost.amount = cost.amount + Amount(part);
                }
            }
        }
        Ok(groups)
    }

    /// Which way a piece goes; `None` where it stays without more ado.
    fn group_of(&self, piece: &'a Piece) -> Result<Option<Group<'a>>, PostError> {
        let at_ms = piece.segment.start_ms;
        let Some(policy) = self.policy_of(piece)? else { return Ok(None) };
        let chosen = &self.ledger.policies.allocations[policy];
        let gone = |tenant: &TenantId| self.ledger.tenants.ended(tenant, at_ms).is_some();
        let (mut owner, mut ended) = (None, Vec::new());
        match &chosen.taker {
            Taker::Platform => return Ok(None),
            Taker::Owner => owner = self.owner_of(chosen, piece)?.filter(|owner| !gone(owner)),
            Taker::Fixed(parts) => {
                ended = parts.iter().map(|part| &part.tenant).filter(|tenant| gone(tenant)).collect();
            }
            Taker::Even | Taker::Usage | Taker::Cost | Taker::Reserved => {}
        }
        Ok(Some(Group { policy, from: &piece.from, what: &piece.what, owner, ended }))
    }

    /// The narrowest policy that holds for a piece, by position.
    fn policy_of(&self, piece: &Piece) -> Result<Option<usize>, PostError> {
        let (site, at_ms) = (piece.site(), piece.segment.start_ms);
        let mut best: Option<usize> = None;
        let all = &self.ledger.policies.allocations;
        for (at, policy) in all.iter().enumerate() {
            let whose = policy.shared.as_ref().is_none_or(|tenant| *tenant == piece.from);
            let about = policy.cost == piece.kind && whose && policy.valid.holds_at(at_ms);
            let here = piece.kind == CostKind::Overhead
                || policy.scope.holds(site, &piece.what, self.ledger.tenants);
            if !about || !here {
                continue;
            }
            let Some(other) = best.map(|at| &all[at]) else {
                best = Some(at);
                continue;
            };
            match policy.scope.exactness().cmp(&other.scope.exactness()) {
                Ordering::Greater => best = Some(at),
                Ordering::Less => {}
                Ordering::Equal => {
                    return Err(PostError::TwoPolicies {
                        first: other.id.clone(),
                        second: policy.id.clone(),
                        cost: piece.kind.word(),
                        what: piece.what.clone(),
                        node: piece.node.clone(),
                    });
                }
            }
        }
        Ok(best)
    }

    /// The owner of the pool that a piece is in: the policy's own pool where it names one.
    fn owner_of(&self, policy: &AllocationPolicy, piece: &Piece) -> Result<Option<&'a TenantId>, PostError> {
        let at_ms = piece.segment.start_ms;
        let (policies, tenants) = (self.ledger.policies, self.ledger.tenants);
        if let Some(pool) = &policy.scope.pool {
            return Ok(policies.owner_of(pool, at_ms));
        }
        let mut owned = policies.owned_pools_at(piece.site(), at_ms, tenants);
        match (owned.next(), owned.next()) {
            (Some(first), Some(second)) => Err(PostError::TwoOwners {
                policy: policy.id.clone(),
                node: piece.node.clone(),
                first: first.pool.clone(),
                second: second.pool.clone(),
            }),
            (first, _) => Ok(first.map(|owner| &owner.tenant)),
        }
    }

    /// Who takes part in a policy and with which weight; nobody with none.
    fn weights(
        &self,
        policy: &'a AllocationPolicy,
        shared: &BTreeSet<&TenantId>,
    ) -> BTreeMap<&'a TenantId, u128> {
        let tenants = self.ledger.tenants;
        let usage = || {
            self.ledger.held.iter().filter(|row| {
                policy.valid.holds_at(row.segment.start_ms)
                    && policy.scope.holds(row.site(), &row.model, tenants)
            })
        };
        let mut table: BTreeMap<&TenantId, u128> = BTreeMap::new();
        let mut add = |tenant: &'a TenantId, more: u128| *table.entry(tenant).or_default() += more;
        match &policy.taker {
            Taker::Platform | Taker::Owner => {}
            Taker::Even => self.statements.iter().for_each(|tenant| add(tenant, 1)),
            Taker::Usage => usage().for_each(|row| add(&row.tenant, weight(row.held))),
            Taker::Cost => usage()
                .filter_map(|row| Some((row, u128::try_from(row.exact?.0).ok()?)))
                .for_each(|(row, cost)| add(&row.tenant, cost)),
            Taker::Reserved => self
                .reserved
                .iter()
                .filter(|time| policy.valid.holds_at(time.segment.start_ms))
                .filter(|time| policy.scope.holds(time.site(), &time.model, tenants))
                .for_each(|time| add(&time.tenant, weight(time.hours))),
            // A fixed share is what it says, whoever else takes part.
            Taker::Fixed(parts) => {
                let parts = parts.iter().map(|part| (&part.tenant, u128::from(part.weight.0.unsigned_abs())));
                return parts.filter(|(_, weight)| *weight > 0).collect();
            }
        }
        table.retain(|tenant, weight| *weight > 0 && !tenant.is_reserved() && !shared.contains(tenant));
        table
    }

    fn rows(
        &self,
        policy: &AllocationPolicy,
        group: &Group<'_>,
        cost: Cost,
        takers: &BTreeMap<&TenantId, u128>,
    ) -> Vec<Charge> {
        let mut rows = Vec::new();
        let subject = subject_of(policy, group);
        if cost.unpriced.0 != 0 {
            rows.push(stays(policy, group, &format!("{subject} stays here: it has no price"), cost.unpriced));
        }
        if cost.priced.0 == 0 && cost.amount.0 == 0 {
            return rows;
        }
        if takers.is_empty() {
            let what = format!("{subject} stays here: there is nobody to take it {}", policy.taker.method());
            rows.push(stays(policy, group, &what, cost.priced));
            return rows;
        }
        let weights: Vec<u128> = takers.values().copied().collect();
        let hours: Vec<NanoGpuHours> = split(cost.priced.0, &weights).into_iter().map(NanoGpuHours).collect();
        let amounts = split(cost.amount.0, &weights).into_iter().map(Amount);
        let (mut moved, mut moved_amount) = (NanoGpuHours(0), Amount(0));
        let mut onto = Vec::new();
        for ((tenant, hours), amount) in takers.keys().zip(hours).zip(amounts) {
            if group.ended.contains(tenant) {
                let what = format!("{subject} stays here: the share of {tenant}, which had ended");
                rows.push(stays(policy, group, &what, hours));
            } else if hours.0 != 0 || amount.0 != 0 {
                (moved, moved_amount) = (moved + hours, moved_amount + amount);
                onto.push((*tenant, hours, amount));
            }
        }
        if onto.is_empty() {
            return rows;
        }
        let only = if let [(tenant, ..)] = onto.as_slice() { Some((*tenant).clone()) } else { None };
        let away = (group.from, NanoGpuHours(-moved.0), -moved_amount);
        let what = format!("{subject}, {}", policy.taker.method());
        rows.push(self.row(policy, away, &format!("{what}{TAKEN}"), only));
        for part in onto {
            rows.push(self.row(policy, part, &what, Some(group.from.clone())));
        }
        rows
    }

    fn row(
        &self,
        policy: &AllocationPolicy,
        (tenant, held, amount): (&TenantId, NanoGpuHours, Amount),
        what: &str,
        counterpart: Option<TenantId>,
    ) -> Charge {
        Charge {
            tenant: tenant.clone(),
            kind: ChargeKind::Allocation,
            what: what.into(),
            held,
            quantity: (policy.cost != CostKind::Overhead).then(|| Quantity::gpu_hours(held)),
            unit_price: None,
            exact: amount.exact(self.ledger.currency),
            amount,
            reference: policy.id.clone(),
            counterpart,
        }
    }
}

/// What is shared out, for people: `free H100 80GB HBM3`, `shared usage of infra, L40S`, `overhead: network`.
fn subject_of(policy: &AllocationPolicy, group: &Group<'_>) -> String {
    match policy.cost {
        CostKind::Shared => format!("shared usage of {}, {}", group.from, words::short_model(group.what)),
        CostKind::Overhead => format!("overhead: {}", group.what),
        kind => format!("{} {}", kind.word(), words::short_model(group.what)),
    }
}

/// A row of nothing that says why a cost is where it is.
fn stays(policy: &AllocationPolicy, group: &Group<'_>, what: &str, time: NanoGpuHours) -> Charge {
    Charge {
        tenant: group.from.clone(),
        kind: ChargeKind::Allocation,
        what: what.into(),
        held: NanoGpuHours(0),
        quantity: (time.0 != 0).then(|| Quantity::gpu_hours(time)),
        unit_price: None,
        exact: Exact::ZERO,
        amount: Amount(0),
        reference: policy.id.clone(),
        counterpart: None,
    }
}
