//! A month to check by hand: the tenant `vision` on four devices of a fleet of five, September 2026 in Sao Paulo.
//!
//! Quantities are chosen so that every line, price and amount can be verified with pencil and paper. Shared by the
//! tests of `billing` and `dashboards`.
#![allow(dead_code, reason = "each test binary uses its part of the fixture")]

use billing::charge::{Charge, ChargeKind, Quantity};
use billing::closing::{Item, Waiver};
use billing::money::{Currency, Exact, UnitPrice};
use billing::period::{Period, parse_zone};
use billing::price::PriceBook;
use billing::rating::{Owners, Rules, rate};
use billing::statement::{Bill, Closed, Context, Mode, Status, Version, prepare};
use billing::tenant::{TenantId, Tenants};
use billing::usage::{DeviceTotal, UsageTotal};
use schema::id::WorkloadId;
use schema::owner::{Owner, OwnerKind};
use schema::share::Share;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use schema::wire::{BusyKind, Quality, Sharing};

pub const PRICES: &str = include_str!("prices.toml");
pub const TENANTS: &str = include_str!("tenants.toml");

pub const H100: &str = "NVIDIA H100 80GB HBM3";
pub const A100: &str = "NVIDIA A100-SXM4-80GB";
pub const L40S: &str = "NVIDIA L40S";
pub const B200: &str = "NVIDIA B200";

pub fn period() -> Period {
    Period::parse("2026-09", parse_zone("America/Sao_Paulo").expect("a zone")).expect("a period")
}

pub fn prices() -> PriceBook {
    PriceBook::parse("prices.toml", PRICES, period().zone()).expect("prices")
}

pub fn tenants() -> Tenants {
    Tenants::parse("tenants.toml", TENANTS, period().zone()).expect("tenants")
}

/// The first half of the month, at the old prices, and the second.
pub fn halves() -> [Window; 2] {
    let month = period().window();
    let change_ms = prices().change_instants(month)[0];
    [Window::new(month.start_ms, change_ms), Window::new(change_ms, month.end_ms)]
}

pub fn owner(namespace: &str) -> Owner {
    Owner {
        kind: OwnerKind::Kubernetes,
        attributes: [
            ("namespace".to_string(), namespace.to_string()),
            ("pod".to_string(), "train-0".to_string()),
        ]
        .into(),
        evidence: format!("0::/kubepods.slice/pod-of-{namespace}"),
    }
}

pub fn owners() -> Owners {
    ["vision", "vision-dev", "speech"].into_iter().map(owner).map(|o| (o.workload(), o)).collect()
}

/// A device of the fleet and how it is divided.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub device: &'static str,
    pub model: &'static str,
    pub sharing: Sharing,
    pub profile: &'static str,
    pub share: Share,
    pub quality: Quality,
}

pub const WHOLE: Kind = Kind {
    device: "GPU-h100-whole",
    model: H100,
    sharing: Sharing::Whole,
    profile: "",
    share: Share::WHOLE,
    quality: Quality::Measured,
};
pub const MIG: Kind = Kind {
    device: "GPU-a100-mig",
    model: A100,
    sharing: Sharing::Mig,
    profile: "3g.40gb",
    share: Share { num: 3, den: 7 },
    quality: Quality::Allocated,
};
pub const SLICED: Kind = Kind {
    device: "GPU-l40s-sliced",
    model: L40S,
    sharing: Sharing::TimeSliced,
    profile: "",
    share: Share { num: 1, den: 4 },
    quality: Quality::Measured,
};
pub const SLOTTED: Kind = Kind {
    device: "GPU-h100-mig",
    model: H100,
    sharing: Sharing::MigShared,
    profile: "1g.10gb",
    share: Share { num: 1, den: 14 },
    quality: Quality::Measured,
};
pub const NEW: Kind = Kind { device: "GPU-b200", model: B200, ..WHOLE };

/// `natural_h` hours of a kind in half `half`, held by a namespace (none: no owner is known).
pub fn used(
    kind: Kind,
    half: usize,
    namespace: &str,
    natural_h: i64,
    held: i64,
    busy: i64,
    unknown: i64,
) -> UsageTotal {
    UsageTotal {
        segment: halves()[half],
        cluster: "c1".into(),
        node: "gpu-01".into(),
        device: kind.device.into(),
        model: kind.model.into(),
        workload: if namespace.is_empty() { WorkloadId(99) } else { owner(namespace).workload() },
        profile: kind.profile.into(),
        sharing: kind.sharing,
        share: kind.share,
        quality: kind.quality,
        busy_kind: if unknown > 0 { BusyKind::Unspecified } else { BusyKind::KernelResident },
        busy_quality: if kind.sharing == Sharing::MigShared { Quality::Estimated } else { kind.quality },
        natural_ms: natural_h * HOUR_MS,
        observed_ms: natural_h * HOUR_MS,
        held: NanoGpuHours(held),
        busy: NanoGpuHours(busy),
        most: NanoGpuHours(held.max(busy)),
        unknown: NanoGpuHours(unknown),
        energy_mj: natural_h * 720_000_000,
        memory_byte_ms: 0,
    }
}

const H: i64 = 1_000_000_000;

/// The month's usage.
pub fn usage() -> Vec<UsageTotal> {
    vec![
        used(WHOLE, 0, "vision", 300, 300 * H, 200 * H, 0),
        used(WHOLE, 1, "vision-dev", 180, 180 * H, 120 * H, 0),
        used(MIG, 0, "vision", 354, 151_714_285_714, 0, 151_714_285_714),
        used(MIG, 1, "vision", 360, 154_285_714_286, 0, 154_285_714_286),
        // The collector was away for 6 h and a scheduler's record covers them.
        UsageTotal { observed_ms: 0, ..used(MIG, 0, "vision", 6, 2_571_428_571, 0, 2_571_428_571) },
        used(MIG, 0, "speech", 360, 205_714_285_714, 0, 205_714_285_714),
        used(MIG, 1, "speech", 240, 137_142_857_143, 0, 137_142_857_143),
        used(SLICED, 0, "vision", 360, 90 * H, 10 * H, 0),
        used(SLICED, 1, "vision", 336, 84 * H, 19_400_000_000, 0),
        used(SLICED, 0, "speech", 696, 174 * H, 174 * H, 0),
        used(SLICED, 1, "speech", 696, 174 * H, 100 * H, 0),
        used(SLOTTED, 1, "vision", 100, 7_142_857_143, 5_000_000_000, 0),
        used(SLOTTED, 0, "speech", 5040, 360 * H, 0, 0),
        used(SLOTTED, 1, "", 1960, 140 * H, 10 * H, 0),
        used(NEW, 1, "speech", 10, 10 * H, 5 * H, 0),
    ]
}

/// The devices that the usage adds up to: each is in service for the whole month.
pub fn devices() -> Vec<DeviceTotal> {
    let usage = usage();
    let mut devices = Vec::new();
    for (kind, unavailable, unobserved, stranded, ghost) in [
        (WHOLE, [20 * H, 0], [0, 0], [0, 0], [0, 2 * H]),
        (MIG, [0, 0], [3_428_571_429, 0], [0, 0], [0, 0]),
        (SLICED, [0, 24 * H], [0, 0], [0, 0], [0, 0]),
        (SLOTTED, [0, 0], [0, 0], [0, 0], [0, 0]),
        (NEW, [0, 0], [0, 0], [0, 50 * H], [0, 0]),
    ] {
        for (half, segment) in halves().into_iter().enumerate() {
            let here = || usage.iter().filter(|u| u.device == kind.device && u.segment == segment);
            let capacity = NanoGpuHours::of_span(segment.start_ms, segment.end_ms);
            let held: NanoGpuHours = here().map(|u| u.held).sum();
            let busy: NanoGpuHours = here().map(|u| u.busy).sum();
            let unknown: NanoGpuHours = here().map(|u| u.unknown).sum();
            let (unavailable, unobserved) = (NanoGpuHours(unavailable[half]), NanoGpuHours(unobserved[half]));
            let (stranded, ghost) = (NanoGpuHours(stranded[half]), NanoGpuHours(ghost[half]));
            let observed = capacity - unavailable - unobserved;
            devices.push(DeviceTotal {
                segment,
                cluster: "c1".into(),
                node: "gpu-01".into(),
                device: kind.device.into(),
                model: kind.model.into(),
                capacity,
                held,
                free: observed - held - stranded,
                stranded,
                unavailable,
                unobserved,
                busy,
                ghost,
                not_busy: observed - busy - ghost - unknown,
                unknown,
                energy_mj: None,
                energy_unattributed_mj: 0,
                oversubscribed: false,
                contested: false,
            });
        }
    }
    devices
}

pub fn context(mode: Mode) -> Context {
    Context {
        period: period(),
        status: if mode == Mode::Chargeback { Status::Final } else { Status::Provisional },
        mode,
        revision: 1,
        prices: Version { number: 4, hash: prices().hash().into() },
        mapping: Version { number: 12, hash: tenants().hash().into() },
        data_through_ms: Some(period().window().end_ms),
        closed: None,
    }
}

pub fn bill(mode: Mode) -> Bill {
    bill_with(&context(mode), Vec::new())
}

/// What stands on vision's statement of the closed month besides usage, and the platform's sides of it: reserved time that
/// was not used, a correction of August, and a credit.
pub fn charges() -> Vec<Charge> {
    let vision = || TenantId::parse("vision").expect("an id");
    let row = |tenant: TenantId, kind, what: &str, hours: i64, price: &str, reference: &str| {
        let (held, unit) = (NanoGpuHours(hours * H), UnitPrice::parse(price).expect("a price"));
        let exact = Exact::of(held, unit);
        Charge {
            tenant,
            kind,
            what: what.into(),
            held,
            quantity: Some(Quantity::gpu_hours(held)),
            unit_price: Some(unit),
            exact,
            amount: exact.round_half_even(&Currency::parse("USD").expect("a currency")),
            reference: reference.into(),
            counterpart: None,
        }
    };
    let unused = "H100 80GB HBM3 reserved, unused";
    let lost = "XID 79, 9 Sep, job 88121, rule capped at 4 h";
    let moved =
        "of VIS-2026-08-L3: H100 80GB HBM3 exclusive: namespace vision-dev belonged to speech from 12 Aug";
    let credit = |tenant, hours| {
        let moves_no_time = NanoGpuHours(0);
        Charge { held: moves_no_time, ..row(tenant, ChargeKind::Credit, lost, hours, "3.50", "K-1") }
    };
    vec![
        row(vision(), ChargeKind::Reservation, unused, 50, "3.50", "vision-h100"),
        row(TenantId::platform(), ChargeKind::Reservation, unused, -50, "3.50", "vision-h100"),
        row(vision(), ChargeKind::Correction, moved, -31, "3.50", "VIS-2026-08-L3"),
        row(
            TenantId::parse("speech").expect("an id"),
            ChargeKind::Correction,
            moved,
            31,
            "3.50",
            "VIS-2026-08-L3",
        ),
        credit(vision(), -4),
        credit(TenantId::platform(), 4),
    ]
}

/// The month as it was closed, with [`charges`] and a waiver.
pub fn closed_bill() -> Bill {
    let waiver = Waiver {
        item: Item::Coverage,
        finding: "98.50 % of the fleet's time was observed, 99 % are wanted: see the nodes that were silent"
            .into(),
        reason: "gpu-01 was moved on 12 Sep".into(),
    };
    let closed = Closed { manifest: "9f2c01ab44de9f2c01ab44de".into(), waivers: vec![waiver] };
    bill_with(&Context { closed: Some(closed), ..context(Mode::Chargeback) }, charges())
}

fn bill_with(context: &Context, charges: Vec<Charge>) -> Bill {
    let currency = Currency::parse("USD").expect("a currency");
    let (usage, devices, tenants) = (usage(), devices(), tenants());
    let rated = rate(&usage, &devices, &owners(), Rules { tenants: &tenants, prices: &prices() }, &currency)
        .expect("rates");
    prepare(context, &rated, charges, &devices, &tenants)
}
