//! Complaints about bills, each as the whole bill that it would be here: what is nobody's, what is promised twice, discounts,
//! days of 23 and 25 hours, a tenant whose settings lack something, and sums in any grouping.

mod worked;

use billing::bill::{DevicePiece, Input, make};
use billing::charge::ChargeKind;
use billing::closing::{Facts, Item, findings};
use billing::money::{Amount, Currency, Exact};
use billing::period::{Period, parse_zone};
use billing::price::PriceBook;
use billing::rating::{Gathered, Line, Owners, Rules, Sums};
use billing::rollup::{HourRow, InService, Received, close_hour};
use billing::statement::{Bill, Context, Converted, Mode};
use billing::tenant::{TenantId, Tenants};
use billing::usage::{DeviceTotal, UsageTotal};
use proptest::prelude::*;
use schema::id::Incarnation;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use schema::wire::{Batch, BusyKind, Device, DeviceWindow, Quality, Sharing, UsageSlice};
use std::collections::BTreeMap;
use worked::{context, devices, owners, period, usage};

fn usd() -> Currency {
    Currency::parse("USD").expect("a currency")
}

fn book(text: &str, period: &Period) -> PriceBook {
    PriceBook::parse("prices.toml", text, period.zone()).unwrap_or_else(|e| panic!("{e}"))
}

/// A ledger and who is in it.
struct Ledger<'a> {
    context: &'a Context,
    usage: &'a [UsageTotal],
    devices: &'a [DeviceTotal],
    owners: &'a Owners,
}

impl Ledger<'_> {
    fn bill(&self, prices: &PriceBook, tenants: &Tenants) -> Bill {
        let rules = Rules { tenants, prices };
        let mut gathered: BTreeMap<TenantId, Gathered> = BTreeMap::new();
        let mut pieces = Vec::new();
        for row in self.usage {
            let (resolved, key) = rules.line_among(row, self.owners);
            let sums = Sums::of(row, key.basis);
            gathered.entry(resolved.tenant.clone()).or_default().take(&row.device, key.clone(), &sums);
            pieces.push(DevicePiece {
                tenant: resolved.tenant,
                key,
                cluster: row.cluster.clone(),
                node: row.node.clone(),
                device: row.device.clone(),
                model: row.model.clone(),
                segment: row.segment,
                sums,
            });
        }
        let (devices, pieces) = (self.devices, &pieces[..]);
        let currency = &usd();
        make(gathered, Input { context: self.context, rules, currency, devices, pieces, posted: &[] })
            .expect("a bill")
    }
}

/// The worked month under other files.
fn month(prices: &str, tenants: &str) -> Bill {
    let (context, usage, devices, owners) = (context(Mode::Chargeback), usage(), devices(), owners());
    let tenants = Tenants::parse("tenants.toml", tenants, period().zone()).expect("tenants");
    let ledger = Ledger { context: &context, usage: &usage, devices: &devices, owners: &owners };
    ledger.bill(&book(prices, &period()), &tenants)
}

fn lines(bill: &Bill) -> impl Iterator<Item = (&str, &Line)> {
    bill.tenants.iter().flat_map(|s| s.lines.iter().map(|l| (s.tenant.id.as_str(), l)))
}

#[test]
fn what_is_nobodys_is_a_row_of_the_platforms_under_every_policy() {
    let plain = month(worked::PRICES, worked::TENANTS);
    let [nobodys] = &plain.platform.unattributed[..] else { panic!("one line without an owner") };
    assert_eq!((nobodys.sums.held, nobodys.amount), (NanoGpuHours(140_000_000_000), Some(Amount(47_040))));
    let owner = "[[pool_owner]]\npool = \"all\"\ntenant = \"speech\"\nfrom = 2026-01-01\n";
    let pool = format!("{}\n[[pool]]\nname = \"all\"\nnodes = \"*\"\n", worked::TENANTS);
    let fixed = "{ vision = \"0.5\", speech = \"0.5\" }";
    for by in ["\"platform\"", "\"owner\"", "\"even\"", "\"usage\"", "\"cost\"", "\"reserved\"", fixed] {
        let narrow = if by == "\"owner\"" { "pool = \"all\"\n" } else { "" };
        let policies: String = ["free", "stranded", "unavailable", "unobserved"]
            .map(|cost| {
                format!(
                    "[[allocation]]\nid = \"{cost}\"\ncost = \"{cost}\"\nby = {by}\n{narrow}from = 2026-01-01\n"
                )
            })
            .concat();
        let bill = month(&format!("{}\n{owner}{policies}", worked::PRICES), &pool);
        assert_eq!(bill.platform.unattributed, plain.platform.unattributed, "{by}");
        assert!(lines(&bill).eq(lines(&plain)), "{by} changes no line of usage");
        assert_eq!(bill.fleet.amount, plain.fleet.amount, "{by} moves cost and makes none");
        assert!(bill.fleet.adds_up());
        let names = bill.tenants.iter().map(|s| s.tenant.id.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["speech", "vision"], "{by}");
    }
}

#[test]
fn a_discount_reaches_every_line_however_the_device_is_shared() {
    let list = month(worked::PRICES, worked::TENANTS);
    let discount = "[[discount]]\nid = \"node\"\ntenant = \"research\"\npercent = 20\nfrom = 2026-01-01\n";
    let less = month(&format!("{}\n{discount}", worked::PRICES), worked::TENANTS);
    let sharings: std::collections::BTreeSet<i32> =
        lines(&less).map(|(_, line)| line.key.sharing as i32).collect();
    assert_eq!(sharings.len(), 4, "whole, MIG, slots, and slots of MIG");
    for ((tenant, before), (_, after)) in lines(&list).zip(lines(&less)) {
        assert_eq!(before.sums, after.sums, "{tenant}");
        let (Some(before), Some(after)) = (before.exact, after.exact) else { continue };
        assert_eq!(after.0 * 5, before.0 * 4, "{tenant}: four fifths, to the last digit");
    }
    // Nobody's discount is on what nobody held.
    assert_eq!(less.platform.lines, list.platform.lines);
}

#[test]
fn a_tenant_that_lacks_an_exchange_rate_is_marked_and_the_others_are_written_whole() {
    let euros = worked::TENANTS.replace("id = \"vision\"", "id = \"vision\"\ncurrency = \"EUR\"");
    let (whole, broken) = (month(worked::PRICES, worked::TENANTS), month(worked::PRICES, &euros));
    let [speech, vision] = &broken.tenants[..] else { panic!("two statements") };
    assert_eq!((&speech.converted, &vision.converted), (&Converted::Same, &Converted::Missing));
    assert_eq!(speech.lines, whole.tenants[0].lines);
    assert_eq!(vision.totals, whole.tenants[1].totals, "what it owes in the service's currency is known");
    assert_eq!(broken.fleet, whole.fleet);
    let facts = Facts { over: true, missing_hours: 0, dead_letters: 0, late: Vec::new(), contested: 0 };
    let found: Vec<String> = findings(&broken, &facts)
        .into_iter()
        .filter(|f| f.item == Item::ExchangeRate)
        .map(|f| f.what)
        .collect();
    assert!(matches!(&found[..], [what] if what.contains("currency of vision")), "{found:?}");
}

#[test]
fn days_of_23_and_25_hours_have_their_true_hours_in_reservations_fees_and_usage() {
    let zone = parse_zone("Europe/Berlin").expect("a zone");
    for (day, hours) in [("2026-03-28", 24), ("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)] {
        let next = chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d").expect("a date") + chrono::Days::new(1);
        let period = Period::parse(&format!("{day}..{next}"), zone).expect("a period");
        let month = Period::parse(&day[..7], zone).expect("a month");
        let capacity = NanoGpuHours(hours * 1_000_000_000);
        let free = DeviceTotal {
            segment: period.window(),
            device: "GPU-free".into(),
            model: worked::H100.into(),
            capacity,
            free: capacity,
            not_busy: capacity,
            held: NanoGpuHours(0),
            busy: NanoGpuHours(0),
            unknown: NanoGpuHours(0),
            unavailable: NanoGpuHours(0),
            unobserved: NanoGpuHours(0),
            stranded: NanoGpuHours(0),
            ghost: NanoGpuHours(0),
            ..devices().remove(0)
        };
        let used = UsageTotal {
            segment: period.window(),
            device: "GPU-used".into(),
            natural_ms: hours * HOUR_MS,
            observed_ms: hours * HOUR_MS,
            held: capacity,
            busy: NanoGpuHours(0),
            most: capacity,
            ..worked::used(worked::WHOLE, 0, "speech", hours, capacity.0, 0, 0)
        };
        let held = DeviceTotal {
            device: used.device.clone(),
            held: capacity,
            free: NanoGpuHours(0),
            ..free.clone()
        };
        // A euro for each hour of the month, so that the day's part is its hours.
        let text = format!(
            "{}\n[[reservation]]\nid = \"r\"\ntenant = \"vision\"\nmodel = \"NVIDIA H100*\"\ncount = 1\nper_gpu_hour = \"3.00\"\nfrom = 2026-01-01\n\
             [[fee]]\nid = \"f\"\ntenant = \"vision\"\nwhat = \"daily reserve\"\nper_month = \"{}.00\"\nfrom = {day}\nto = {next}\n",
            worked::PRICES,
            month.hours()
        );
        let context = Context { period, ..context(Mode::Showback) };
        let (usage, devices, owners) = ([used], [free, held], owners());
        let ledger = Ledger { context: &context, usage: &usage, devices: &devices, owners: &owners };
        let bill = ledger.bill(&book(&text, &context.period), &worked::tenants());
        let [speech, vision] = &bill.tenants[..] else { panic!("two statements of {day}") };
        assert_eq!(speech.totals.quantity, capacity, "{day}: usage");
        let of = |kind| vision.charges.iter().filter(move |c| c.charge.kind == kind).map(|c| &c.charge);
        let reserved: NanoGpuHours = of(ChargeKind::Reservation).map(|c| c.held).sum();
        assert_eq!(reserved, capacity, "{day}: reserved, unused");
        let fee: Amount = of(ChargeKind::Fee).map(|c| c.amount).sum();
        assert_eq!(fee, Amount(hours * 100), "{day}: the fee's part of the month");
        assert!(bill.fleet.adds_up());
    }
}

/// The hour of one device that these shares of it were promised to, and its bill.
fn promised(shares: &[(u32, u32)]) -> (DeviceTotal, Bill) {
    let hour = Window::hour_of(period().window().start_ms);
    let namespaces = ["vision", "vision-dev", "speech"];
    let slice = |(owner, share): (u32, &(u32, u32))| UsageSlice {
        owner: Some(owner % 3),
        start_ms: hour.start_ms,
        end_ms: hour.end_ms,
        sharing: Sharing::Mps as i32,
        share_num: share.0,
        share_den: share.1,
        weight_num: share.0,
        weight_den: share.1,
        resident_ms: Some(hour.len_ms() as u64),
        busy_ms: Some(0),
        held_quality: Quality::Measured as i32,
        busy_quality: Quality::Measured as i32,
        ..Default::default()
    };
    let batch = Batch {
        cluster: "c1".into(),
        node: "gpu-01".into(),
        incarnation: Incarnation(1).to_bytes(),
        devices: vec![Device { uuid: "GPU-1".into(), model: worked::H100.into(), ..Default::default() }],
        owners: namespaces.map(|name| worked::owner(name).to_wire()).into(),
        usage: (0..).zip(shares).map(slice).collect(),
        device_windows: vec![DeviceWindow {
            start_ms: hour.start_ms,
            end_ms: hour.end_ms,
            observed_ms: hour.len_ms() as u64,
            stranded_den: 1,
            ..Default::default()
        }],
        ..Default::default()
    };
    let in_service = InService {
        cluster: "c1".into(),
        node: "gpu-01".into(),
        device: "GPU-1".into(),
        model: worked::H100.into(),
        window: hour,
    };
    let closed = close_hour(hour, &[Received { batch, hash: 1 }], &[in_service], &[]);
    let usage: Vec<UsageTotal> = closed.usage.iter().map(total).collect();
    let devices: Vec<DeviceTotal> = closed.devices.into_iter().map(|row| row.total).collect();
    let (context, owners) = (context(Mode::Showback), owners());
    let ledger = Ledger { context: &context, usage: &usage, devices: &devices, owners: &owners };
    let bill = ledger.bill(&worked::prices(), &worked::tenants());
    (devices[0].clone(), bill)
}

fn total(row: &HourRow) -> UsageTotal {
    UsageTotal {
        segment: row.segment,
        cluster: row.cluster.clone(),
        node: row.node.clone(),
        device: row.device.clone(),
        model: row.model.clone(),
        workload: row.key.workload,
        profile: row.key.profile.clone(),
        sharing: Sharing::try_from(row.key.sharing).expect("known"),
        share: row.key.share,
        quality: Quality::try_from(row.key.quality).expect("known"),
        busy_kind: BusyKind::try_from(row.key.busy_kind).expect("known"),
        busy_quality: Quality::try_from(row.key.busy_quality).expect("known"),
        natural_ms: row.natural_ms,
        observed_ms: row.natural_ms,
        held: row.held,
        busy: row.busy,
        most: row.held.max(row.busy),
        unknown: row.unknown,
        energy_mj: row.energy_mj,
        memory_byte_ms: row.memory_byte_ms,
    }
}

/// What a row is counted under, in some grouping.
type Group = (&'static str, fn(&UsageTotal) -> String);

const GROUPS: [Group; 5] = [
    ("tenant", |row| format!("{:?}", row.workload)),
    ("model", |row| row.model.clone()),
    ("device", |row| row.device.clone()),
    ("time", |row| row.segment.start_ms.to_string()),
    ("sharing", |row| format!("{:?}{}", row.sharing, row.profile)),
];

/// Exact cost of the usage lines of a bill, what its statements post, and the rounding that they show.
fn cost(bill: &Bill) -> (Exact, Amount, Exact) {
    let all = lines(bill).map(|(_, line)| line).chain(&bill.platform.unattributed);
    let totals = || bill.tenants.iter().map(|s| s.totals).chain([bill.platform.totals]);
    (all.filter_map(|l| l.exact).sum(), totals().map(|t| t.amount).sum(), totals().map(|t| t.rounding).sum())
}

proptest! {
    #[test]
    fn promises_beyond_a_device_cost_the_device_and_keep_their_stated_shares(
        shares in prop::collection::vec(prop::sample::select(vec![(1u32, 4u32), (1, 3), (1, 2), (3, 4), (11, 10), (1, 1)]), 1..7)
    ) {
        let (device, bill) = promised(&shares);
        // In sixtieths, so that no share is rounded here.
        let stated: u32 = shares.iter().map(|(num, den)| num * 60 / den).sum();
        prop_assert_eq!(device.oversubscribed, stated > 60);
        prop_assert!(device.adds_up() && bill.fleet.adds_up());
        let held: NanoGpuHours = lines(&bill).map(|(_, line)| line.sums.held).sum();
        prop_assert_eq!(held + device.free, device.capacity);
        prop_assert_eq!(device.free.0 == 0, stated >= 60, "nothing is free where all is promised");
        for (tenant, line) in lines(&bill) {
            let share = (line.key.share.num, line.key.share.den);
            prop_assert!(shares.contains(&share), "{} keeps what was stated: {:?}", tenant, share);
            // Each is its stated share of what all were promised, or of the device where that is less.
            let parts = line.sums.natural_ms / HOUR_MS * i64::from(share.0 * 60 / share.1);
            let want = parts * device.capacity.0 / i64::from(stated.max(60));
            prop_assert!((line.sums.held.0 - want).abs() <= shares.len() as i64, "{} of {}", line.sums.held, want);
        }
        let price = Exact::of(device.capacity, billing::money::UnitPrice::parse("3.50").expect("a price"));
        let (exact, ..) = cost(&bill);
        let free: Exact = bill.platform.lines.iter().filter_map(|l| l.exact).sum();
        prop_assert_eq!(exact + free, price, "a device costs a device");
    }

    #[test]
    fn any_grouping_of_a_month_sums_to_its_total(picked in prop::collection::vec(any::<bool>(), 15)) {
        let some: Vec<UsageTotal> =
            usage().into_iter().zip(picked).filter(|(_, picked)| *picked).map(|(row, _)| row).collect();
        let (context, owners, prices, tenants) = (context(Mode::Chargeback), owners(), worked::prices(), worked::tenants());
        let of = |usage: &[UsageTotal]| {
            cost(&Ledger { context: &context, usage, devices: &[], owners: &owners }.bill(&prices, &tenants))
        };
        let (exact, posted, rounding) = of(&some);
        prop_assert_eq!(exact + rounding, posted.exact(&usd()));
        for (name, group) in GROUPS {
            let mut groups: BTreeMap<String, Vec<UsageTotal>> = BTreeMap::new();
            for row in &some {
                groups.entry(group(row)).or_default().push(row.clone());
            }
            let parts: Vec<_> = groups.values().map(|rows| of(rows)).collect();
            prop_assert_eq!(parts.iter().map(|p| p.0).sum::<Exact>(), exact, "by {}", name);
            // Posted sums differ by what lines were rounded, and each bill says by how much.
            let posted_parts: Amount = parts.iter().map(|p| p.1).sum();
            let rounded_parts: Exact = parts.iter().map(|p| p.2).sum();
            prop_assert_eq!(exact + rounded_parts, posted_parts.exact(&usd()), "by {}", name);
            // Half a cent for each line that was cut anew, and no more.
            prop_assert!((posted_parts.0 - posted.0).abs() <= some.len() as i64, "by {}", name);
        }
    }
}
