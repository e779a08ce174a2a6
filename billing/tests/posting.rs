//! What holds of anything that is posted: pairs sum to zero, what is shared out is its origin, nothing is taken twice, and
//! neither order nor grouping of the input changes a row.

mod posted;

use billing::charge::{Charge, ChargeKind, Unit};
use billing::money::{Amount, Exact};
use billing::policy::CostKind;
use billing::post::allocation::Allocate;
use billing::post::reservation::{Settled, settle};
use billing::post::{Held, Piece, fee, number, shared};
use billing::tenant::TenantId;
use posted::{A100, B200, H, H100, L40S, Month, Parts, day, september, usd};
use proptest::prelude::*;
use schema::units::NanoGpuHours;
use std::collections::{BTreeMap, BTreeSet};

const HOLDERS: [&str; 6] = ["vision", "vision-dev", "speech", "infra", "robotics", "unattributed"];
const NODES: [&str; 3] = ["t-1", "t-2", "e-1"];
const MODELS: [&str; 4] = [H100, A100, L40S, B200];

/// Reservations to choose from; those by count overlap each other.
const RESERVATIONS: [&str; 6] = [
    "id = \"r-device\"\ntenant = \"vision\"\ndevices = [\"GPU-0\", \"GPU-9\"]\nper_gpu_hour = \"3.01\"",
    "id = \"r-robot\"\ntenant = \"robotics\"\ndevices = [\"GPU-1\"]\nper_gpu_hour = \"2.999999\"",
    "id = \"r-speech\"\ntenant = \"speech\"\nmodel = \"NVIDIA A100*\"\ncount = 2\npool = \"train\"\nper_gpu_hour = \"1.80\"",
    "id = \"r-vision\"\ntenant = \"vision\"\nmodel = \"NVIDIA A100*\"\ncount = 1\npool = \"train\"\nper_gpu_hour = \"1.90\"",
    "id = \"r-dev\"\ntenant = \"vision-dev\"\nmodel = \"NVIDIA A100*\"\ncount = 1\nper_gpu_hour = \"1.70\"",
    "id = \"r-new\"\ntenant = \"infra\"\nmodel = \"NVIDIA B200\"\ncount = 3\nper_gpu_hour = \"9.00\"",
];
const POLICIES: [&str; 9] = [
    "id = \"free-train\"\ncost = \"free\"\npool = \"train\"\nby = \"owner\"",
    "id = \"free-edge\"\ncost = \"free\"\npool = \"edge\"\nby = \"owner\"",
    "id = \"free\"\ncost = \"free\"\nby = \"usage\"",
    "id = \"stranded\"\ncost = \"stranded\"\nby = \"cost\"",
    "id = \"lost-a100\"\ncost = \"unavailable\"\nmodel = \"NVIDIA A100*\"\nby = \"reserved\"",
    "id = \"lost\"\ncost = \"unavailable\"\nby = \"even\"",
    "id = \"unseen\"\ncost = \"unobserved\"\nby = { vision = \"0.5\", robotics = \"0.3\", speech = \"0.2\" }",
    "id = \"infra\"\ncost = \"shared\"\ntenant = \"infra\"\nby = \"cost\"",
    "id = \"net\"\ncost = \"overhead\"\nby = \"usage\"",
];

fn entries(section: &str, all: &[&str], chosen: u32) -> String {
    let some = all.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
    some.map(|(_, entry)| format!("[[{section}]]\n{entry}\nfrom = 2026-01-01\n")).collect()
}

fn prices(reservations: u32, policies: u32) -> String {
    let rest = "[[pool_owner]]\npool = \"train\"\ntenant = \"speech\"\nfrom = 2026-01-01\n\
        [[overhead]]\nid = \"network\"\nwhat = \"network\"\nper_month = \"900.01\"\nfrom = 2026-09-03\nto = 2026-09-20\n";
    entries("reservation", &RESERVATIONS, reservations) + &entries("allocation", &POLICIES, policies) + rest
}

/// A device's day: parts of 24 h in proportion to the weights, six tenants and four kinds of rest.
fn device_day() -> impl Strategy<Value = (usize, usize, [u32; 10])> {
    // Zeros are common, so that tenants without use and devices without rest appear.
    let weight = prop_oneof![Just(0u32), 1u32..1000];
    (0..NODES.len(), 0..MODELS.len(), prop::array::uniform10(weight))
}

fn add(month: &mut Month, at: usize, number: u32, (node, model, mut weights): (usize, usize, [u32; 10])) {
    // From the tenth on robotics has no use.
    if number > 9 {
        weights[4] = 0;
    }
    if weights.iter().all(|w| *w == 0) {
        weights[6] = 1;
    }
    let sum: i64 = weights.iter().map(|w| i64::from(*w)).sum();
    let mut parts: Vec<i64> = weights.iter().map(|w| 24 * H / sum * i64::from(*w)).collect();
    let last = weights.iter().rposition(|w| *w > 0).expect("some weight");
    parts[last] += 24 * H - parts.iter().sum::<i64>();
    let held: Vec<(&str, i64)> =
        HOLDERS.into_iter().zip(parts[..6].iter().copied()).filter(|(_, held)| *held > 0).collect();
    let rest = [parts[6], parts[7], parts[8], parts[9]];
    let device = format!("GPU-{at}");
    month.add(
        day(number),
        &Parts { node: NODES[node], device: &device, model: MODELS[model], held: &held, rest },
    );
}

fn month_of(reservations: u32, policies: u32, days: &[Vec<(usize, usize, [u32; 10])>]) -> Month {
    let mut month = Month::new(&prices(reservations, policies));
    for (devices, number) in days.iter().zip([9, 11]) {
        for (at, device) in devices.iter().enumerate() {
            add(&mut month, at, number, *device);
        }
    }
    month
}

fn month() -> impl Strategy<Value = Month> {
    let days = prop::collection::vec(prop::collection::vec(device_day(), 1..6), 2);
    (any::<u32>(), any::<u32>(), days).prop_map(|(r, p, days)| month_of(r, p, &days))
}

fn pieces(month: &Month, settled: &Settled) -> Vec<Piece> {
    let ledger = month.ledger();
    let overheads = fee::overhead_pieces(ledger.policies, &september());
    [settled.pieces.clone(), shared(&ledger), overheads].concat()
}

fn users(month: &Month) -> BTreeSet<TenantId> {
    month.held.iter().map(|row| row.tenant.clone()).collect()
}

fn post(month: &Month) -> (Settled, Vec<Charge>) {
    let settled = settle(&month.ledger(), month.own_price()).expect("settles");
    let (pieces, statements) = (pieces(month, &settled), users(month));
    let (ledger, reserved) = (month.ledger(), &settled.reserved[..]);
    let allocate = Allocate { ledger, pieces: &pieces, reserved, statements: &statements };
    let charges = allocate.charges().expect("allocates");
    (settled, charges)
}

fn sum<'a>(charges: impl Iterator<Item = &'a Charge>) -> (NanoGpuHours, Amount) {
    charges.fold(Default::default(), |(held, amount), c| (held + c.held, amount + c.amount))
}

const NOTHING: (NanoGpuHours, Amount) = (NanoGpuHours(0), Amount(0));

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn reservations_take_no_more_than_is_there_and_leave_the_rest(month in month()) {
        let settled = settle(&month.ledger(), month.own_price()).expect("settles");
        prop_assert_eq!(sum(settled.charges.iter()).0, NanoGpuHours(0));
        for kind in [CostKind::Free, CostKind::Stranded, CostKind::Unavailable, CostKind::Unobserved] {
            let there: NanoGpuHours = month.devices.iter().map(|d| match kind {
                CostKind::Free => d.free,
                CostKind::Stranded => d.stranded,
                CostKind::Unavailable => d.unavailable,
                _ => d.unobserved,
            }).sum();
            let left: NanoGpuHours = settled.pieces.iter().filter(|p| p.kind == kind).map(|p| p.held).sum();
            let platform = settled.charges.iter().filter(|c| c.tenant == TenantId::platform());
            let taken: NanoGpuHours =
                platform.filter(|c| c.what.starts_with(kind.word())).map(|c| c.held).sum();
            prop_assert_eq!(left, there + taken);
        }
        prop_assert!(settled.pieces.iter().all(|piece| piece.held.0 > 0));
        // Each row is quantity times price, and rounded once.
        for charge in settled.charges.iter().filter(|c| c.unit_price.is_some()) {
            let quantity = charge.quantity.expect("a quantity");
            prop_assert_eq!(quantity.unit, Unit::GpuHour);
            prop_assert_eq!(NanoGpuHours(quantity.nano), charge.held);
            prop_assert_eq!(Exact::of(charge.held, charge.unit_price.expect("a price")), charge.exact);
            prop_assert_eq!(charge.exact.round_half_even(&usd()), charge.amount);
        }
        // Nothing is lent or used twice: of each tenant no more than it held.
        let mut held: BTreeMap<&TenantId, NanoGpuHours> = BTreeMap::new();
        for row in &month.held {
            let sum = held.entry(&row.tenant).or_default();
            *sum = *sum + row.held;
        }
        for (tenant, held) in held {
            let lent = settled.charges.iter().filter(|c| c.counterpart.as_ref() == Some(tenant));
            let lent: NanoGpuHours = lent.filter(|c| c.held.0 > 0 && c.what.contains("lent")).map(|c| c.held).sum();
            let used = settled.charges.iter().filter(|c| c.tenant == *tenant);
            let used: NanoGpuHours = used.filter(|c| c.what.ends_with("reserved, used")).map(|c| c.held).sum();
            prop_assert!(lent + used <= held, "{tenant}: {lent} + {used} of {held}");
        }
    }

    #[test]
    fn an_owner_pays_for_what_is_reserved_less_what_nobody_could_use(
        days in prop::collection::vec(prop::collection::vec(device_day(), 1..6), 2),
        by_count in any::<bool>(),
    ) {
        let month = month_of(if by_count { 4 } else { 1 }, 0, &days);
        let settled = settle(&month.ledger(), month.own_price()).expect("settles");
        let charged: NanoGpuHours = settled.reserved.iter().map(|time| time.hours).sum();
        let mut want = NanoGpuHours(0);
        for number in [9, 11] {
            let here = month.devices.iter().filter(|d| d.segment == day(number));
            if by_count {
                let pool: Vec<_> = here.filter(|d| d.model == A100 && d.node.starts_with("t-")).collect();
                let capacity: NanoGpuHours = pool.iter().map(|d| d.capacity).sum();
                let lost: NanoGpuHours = pool.iter().map(|d| d.unavailable + d.unobserved).sum();
                let own: NanoGpuHours = month.held.iter()
                    .filter(|h| h.segment == day(number) && h.tenant.as_str() == "speech")
                    .filter(|h| pool.iter().any(|d| d.device == h.device))
                    .map(|h| h.held).sum();
                let free: NanoGpuHours = pool.iter().map(|d| d.free + d.stranded).sum();
                let reserved = NanoGpuHours(48 * H);
                // Lost time falls on what is reserved before it falls on anybody else, but what the owner used or could
                // have used is charged. Where fewer are there than are reserved, what was there is.
                want = want + if capacity < reserved {
                    capacity - lost
                } else {
                    (reserved - lost).max(reserved.min(own + free))
                };
            } else {
                want = want + here.filter(|d| d.device == "GPU-0")
                    .map(|d| d.capacity - d.unavailable - d.unobserved).sum();
            }
        }
        prop_assert_eq!(charged, want);
    }

    #[test]
    fn what_is_shared_out_is_its_origin_and_nobody_else_pays(month in month()) {
        let (settled, charges) = post(&month);
        let shares_infra = month.policies().allocations.iter().any(|p| p.id == "infra")
            && month.held.iter().any(|row| row.tenant.as_str() == "infra");
        let mut policies: BTreeMap<&str, Vec<&Charge>> = BTreeMap::new();
        for charge in &charges {
            prop_assert_eq!(charge.kind, ChargeKind::Allocation);
            policies.entry(&charge.reference).or_default().push(charge);
        }
        for (policy, rows) in policies {
            prop_assert_eq!(sum(rows.iter().copied()), NOTHING, "{}", policy);
            for row in rows.iter().filter(|c| c.amount.0 > 0 || c.held.0 > 0) {
                prop_assert!(!row.tenant.is_reserved());
                // Whose own cost is shared out takes part in nothing, or a part of it would be shared out again.
                prop_assert!(!(shares_infra && row.tenant.as_str() == "infra"), "{}", policy);
                prop_assert!(policy == "infra" || row.counterpart == Some(TenantId::platform()));
            }
        }
        // All that a policy takes moves or stays with a row that says so: to the unit of time of each piece.
        for (kind, ids) in [
            (CostKind::Free, &["free-train", "free-edge", "free"][..]),
            (CostKind::Stranded, &["stranded"]),
            (CostKind::Unavailable, &["lost-a100", "lost"]),
            (CostKind::Unobserved, &["unseen"]),
            (CostKind::Shared, &["infra"]),
        ] {
            let origin: NanoGpuHours = pieces(&month, &settled).iter()
                .filter(|p| p.kind == kind && covers(&month, p))
                .map(|p| p.held).sum();
            let of = |c: &&Charge| ids.contains(&c.reference.as_str());
            let moved: NanoGpuHours = charges.iter().filter(of).filter(|c| c.held.0 > 0).map(|c| c.held).sum();
            let stays: NanoGpuHours = charges.iter().filter(of).filter(|c| c.what.contains("stays here"))
                .filter_map(|c| c.quantity).map(|q| NanoGpuHours(q.nano)).sum();
            prop_assert_eq!(moved + stays, origin, "{:?}", kind);
            // In money: what its lines post, where all of it moves.
            let of_kind = pieces(&month, &settled).into_iter().filter(|p| p.kind == kind).collect::<Vec<_>>();
            let priced_stays = charges.iter().filter(of)
                .any(|c| c.what.contains("stays here") && !c.what.contains("no price"));
            if of_kind.iter().all(|p| covers(&month, p)) && !priced_stays {
                let mut lines: BTreeMap<(&TenantId, &str, &str), Exact> = BTreeMap::new();
                for piece in of_kind.iter().filter(|p| p.exact.is_some()) {
                    let sum = lines.entry((&piece.from, &piece.what, &piece.line)).or_default();
                    *sum = *sum + piece.exact.expect("priced");
                }
                let posted: Amount = lines.into_values().map(|exact| exact.round_half_even(&usd())).sum();
                let moved = charges.iter().filter(of).filter(|c| c.amount.0 > 0).map(|c| c.amount).sum();
                prop_assert_eq!(posted, moved, "{:?}", kind);
            }
        }
    }

    #[test]
    fn order_and_grouping_change_no_row(month in month(), seed in any::<usize>()) {
        let (settled, charges) = post(&month);
        let mut other = month_like(&month);
        other.held = month.held.iter().flat_map(halves).collect();
        let len = other.held.len().max(1);
        for at in 0..other.held.len() {
            other.held.swap(at, seed.wrapping_mul(at + 1) % len);
        }
        other.devices = month.devices.iter().rev().cloned().collect();
        let (settled_again, charges_again) = post(&other);
        prop_assert_eq!(number(settled.charges), number(settled_again.charges));
        prop_assert_eq!(settled.pieces, settled_again.pieces);
        prop_assert_eq!(settled.reserved, settled_again.reserved);
        prop_assert_eq!(number(charges), number(charges_again));
    }
}

/// Whether the month has a policy for a piece, found without the maker's help.
fn covers(month: &Month, piece: &Piece) -> bool {
    let train = piece.node.starts_with("t-");
    month.policies().allocations.iter().any(|policy| {
        policy.cost == piece.kind
            && match policy.id.as_str() {
                "free-train" => train,
                "free-edge" => !train,
                "lost-a100" => piece.what == A100,
                "infra" => piece.from.as_str() == "infra",
                _ => true,
            }
    })
}

fn month_like(month: &Month) -> Month {
    Month {
        book: month.book.clone(),
        tenants: month.tenants.clone(),
        currency: usd(),
        devices: Vec::new(),
        held: Vec::new(),
    }
}

/// A row in two that sum to it.
fn halves(row: &Held) -> [Held; 2] {
    let (mut a, mut b) = (row.clone(), row.clone());
    a.held.0 /= 3;
    b.held.0 -= a.held.0;
    a.exact = row.exact.map(|exact| Exact(exact.0 / 3));
    b.exact = row.exact.zip(a.exact).map(|(whole, a)| whole - a);
    [a, b]
}
