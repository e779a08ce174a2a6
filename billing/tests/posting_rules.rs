//! Rules of posting that a person could dispute, each as a story with figures to check by hand.

mod posted;

use billing::charge::{Charge, ChargeKind};
use billing::money::{Amount, Currency, Exact, UnitPrice};
use billing::period::{Period, parse_zone};
use billing::policy::FailureReason;
use billing::post::adjust::{Posting, PostingKind, parse_amount};
use billing::post::allocation::Allocate;
use billing::post::credit::{Failure, WorkHeld, propose};
use billing::post::reconcile::{Difference, Invoice, reconcile};
use billing::post::reservation::{Settled, settle};
use billing::post::tax::{Taxable, taxes};
use billing::post::{PostError, fee, number, shared};
use billing::tenant::TenantId;
use posted::{A100, B200, H, H100, Month, Parts, amount, at, book, day, id, september, tenants, usd};
use schema::id::WorkloadId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

fn entry(section: &str, id: &str, rest: &str) -> String {
    format!("[[{section}]]\nid = \"{id}\"\nfrom = 2026-01-01\n{rest}\n")
}

fn free(id: &str, rest: &str) -> String {
    entry("allocation", id, &format!("cost = \"free\"\n{rest}"))
}

fn settled(month: &Month) -> Settled {
    settle(&month.ledger(), month.own_price()).expect("settles")
}

fn allocate(month: &Month) -> Result<Vec<Charge>, PostError> {
    let settled = settle(&month.ledger(), month.own_price())?;
    let ledger = month.ledger();
    let overheads = fee::overhead_pieces(ledger.policies, &september());
    let pieces = [settled.pieces, shared(&ledger), overheads].concat();
    let statements: BTreeSet<TenantId> = month.held.iter().map(|row| row.tenant.clone()).collect();
    Allocate { ledger, pieces: &pieces, reserved: &settled.reserved, statements: &statements }.charges()
}

/// Tenant, words, amount.
fn show(charges: &[Charge]) -> Vec<String> {
    charges.iter().map(|c| format!("{}: {} = {}", c.tenant, c.what, usd().show(c.amount))).collect()
}

const IDLE: Parts<'_> =
    Parts { node: "e-1", device: "GPU-1", model: H100, held: &[], rest: [24 * H, 0, 0, 0] };
const USED: Parts<'_> =
    Parts { node: "t-1", device: "GPU-2", model: A100, held: &[("vision", 24 * H)], rest: [0; 4] };

#[test]
fn free_time_of_a_node_that_nobody_used_stays_and_says_so() {
    // Weighed by use of that node's pool, which there was none.
    let mut month = Month::new(&free("edge", "by = \"usage\"\npool = \"edge\""));
    month.add(day(1), &IDLE);
    month.add(day(1), &USED);
    let charges = allocate(&month).expect("allocates");
    assert_eq!(
        show(&charges),
        ["platform: free H100 80GB HBM3 stays here: there is nobody to take it by usage = 0.00"]
    );
    assert_eq!(charges[0].quantity.map(|q| q.nano), Some(24 * H));
    // A pool without an owner is the same; nobody at all is, too.
    let mut month = Month::new(&free("edge", "by = \"owner\""));
    month.add(day(1), &IDLE);
    let stays = "platform: free H100 80GB HBM3 stays here: there is nobody to take it to the owner of the pool = 0.00";
    assert_eq!(show(&allocate(&month).expect("allocates")), [stays]);
    let mut month = Month::new(&free("all", "by = \"even\""));
    month.add(day(1), &IDLE);
    assert!(show(&allocate(&month).expect("allocates"))[0].contains("stays here"));
}

#[test]
fn a_table_read_half_or_not_at_all_posts_nothing() {
    let mut month = Month::new(&free("all", "by = \"usage\""));
    month.add(day(1), &IDLE);
    month.add(day(1), &USED);
    month.held.clear();
    let error = allocate(&month).expect_err("usage exists and the table is empty");
    assert!(matches!(&error, PostError::HeldDiffers { device, .. } if device == "GPU-2"), "{error}");
    assert!(error.to_string().contains("nothing is posted"));
}

#[test]
fn a_segment_across_a_change_of_the_entries_is_refused() {
    let mut month = Month::new(&free("all", "by = \"even\"\nto = 2026-09-01T12:00"));
    month.add(day(1), &USED);
    let error = allocate(&month).expect_err("crosses");
    assert!(
        matches!(error, PostError::CrossesChange { change_ms, .. } if change_ms == at("2026-09-01T12:00"))
    );
}

#[test]
fn a_device_that_two_policies_or_two_owners_claim_alike_is_refused_by_name() {
    let both = free("a", "by = \"even\"\npool = \"edge\"") + &free("b", "by = \"usage\"\npool = \"all\"");
    let pools = "\n[[pool]]\nname = \"all\"\nnodes = \"*\"\n";
    let with_pools = |policies: &str| {
        let mut month = Month::new("");
        let zone = september().zone();
        let text = format!("{}{pools}", posted::TENANTS);
        month.tenants = billing::tenant::Tenants::parse("tenants.toml", &text, zone).expect("tenants");
        let text = format!("{}\n{policies}", posted::PRICES);
        month.book = billing::price::PriceBook::parse("prices.toml", &text, zone).expect("prices");
        month.add(day(1), &IDLE);
        month
    };
    let error = allocate(&with_pools(&both)).expect_err("two policies").to_string();
    assert_eq!(
        error,
        "allocations \"a\" and \"b\" both take the free cost of NVIDIA H100 80GB HBM3 on node e-1: narrow one of them, or take the node out of one pool"
    );
    let owners = "[[pool_owner]]\npool = \"edge\"\ntenant = \"vision\"\nfrom = 2026-01-01\n\
        [[pool_owner]]\npool = \"all\"\ntenant = \"speech\"\nfrom = 2026-01-01\n";
    let error = allocate(&with_pools(&(free("a", "by = \"owner\"") + owners))).expect_err("two owners");
    assert!(matches!(error, PostError::TwoOwners { .. }));
    // Naming the pool says whose.
    let named = free("a", "by = \"owner\"\npool = \"all\"") + owners;
    let charges = allocate(&with_pools(&named)).expect("allocates");
    assert!(charges.iter().any(|c| c.tenant == id("speech") && c.amount == amount("84.00")));
}

#[test]
fn the_narrowest_policy_takes_a_cost_whole_and_an_exception_keeps_it() {
    let policies = free("all", "by = \"even\"")
        + &free("h100", "by = { speech = \"1\" }\nmodel = \"NVIDIA H100*\"")
        + &free("edge", "by = \"platform\"\npool = \"edge\"");
    let mut month = Month::new(&policies);
    month.add(day(1), &IDLE);
    month.add(day(1), &USED);
    month.add(
        day(2),
        &Parts { node: "h-1", device: "GPU-3", model: H100, held: &[], rest: [24 * H, 0, 0, 0] },
    );
    month.add(day(2), &Parts { node: "h-1", device: "GPU-4", model: A100, held: &[], rest: [H, 0, 0, 0] });
    assert_eq!(
        show(&allocate(&month).expect("allocates")),
        [
            "platform: free A100-SXM4-80GB, evenly: taken by tenants = -2.10",
            "vision: free A100-SXM4-80GB, evenly = 2.10",
            "platform: free H100 80GB HBM3, by fixed shares: taken by tenants = -84.00",
            "speech: free H100 80GB HBM3, by fixed shares = 84.00",
        ]
    );
}

#[test]
fn the_share_of_a_tenant_that_had_ended_and_what_has_no_price_stay() {
    let mut month = Month::new(&free("all", "by = { robotics = \"75\", speech = \"25\" }"));
    for number in [10, 11] {
        month.add(day(number), &Parts { device: "GPU-1", ..IDLE });
        month.add(day(number), &Parts { device: "GPU-5", model: B200, ..IDLE });
    }
    // robotics ends with the tenth.
    assert_eq!(
        show(&allocate(&month).expect("allocates")),
        [
            "platform: free B200 stays here: it has no price = 0.00",
            "platform: free B200 stays here: it has no price = 0.00",
            "platform: free H100 80GB HBM3, by fixed shares: taken by tenants = -84.00",
            "robotics: free H100 80GB HBM3, by fixed shares = 63.00",
            "speech: free H100 80GB HBM3, by fixed shares = 21.00",
            "platform: free H100 80GB HBM3 stays here: the share of robotics, which had ended = 0.00",
            "platform: free H100 80GB HBM3, by fixed shares: taken by tenants = -21.00",
            "speech: free H100 80GB HBM3, by fixed shares = 21.00",
        ]
    );
}

#[test]
fn a_reservation_ends_with_its_owner_and_nobody_else_pays_for_it() {
    let mut month = Month::new(&entry(
        "reservation",
        "r",
        "tenant = \"robotics\"\ndevices = [\"GPU-1\"]\nper_gpu_hour = \"3.00\"",
    ));
    month.add(day(10), &IDLE);
    month.add(day(11), &IDLE);
    let settled = settled(&month);
    assert_eq!(
        show(&settled.charges),
        [
            "robotics: H100 80GB HBM3 reserved, unused = 72.00",
            "platform: free H100 80GB HBM3, reserved by robotics = -84.00",
        ]
    );
    assert_eq!(settled.pieces.iter().map(|p| p.segment).collect::<Vec<_>>(), [day(11)]);
}

#[test]
fn reserved_devices_without_a_price_of_the_platforms_are_charged_and_nothing_is_guessed_for_the_rest() {
    let mut month = Month::new(&entry(
        "reservation",
        "r",
        "tenant = \"vision\"\ndevices = [\"GPU-1\"]\nper_gpu_hour = \"9.00\"",
    ));
    let held = [("speech", 4 * H)];
    month.add(day(1), &Parts { model: B200, held: &held, rest: [20 * H, 0, 0, 0], ..IDLE });
    assert_eq!(
        show(&settled(&month).charges),
        [
            "vision: B200 reserved, unused = 180.00",
            "platform: free B200, reserved by vision = 0.00",
            "vision: B200 reserved, lent to speech = 36.00",
            "vision: B200 reserved, lent to speech: less its charge (4 GPU-hours of it have no price) = 0.00",
        ]
    );
}

#[test]
fn an_owner_gets_what_the_borrowers_lines_post_to_the_cent() {
    let rest = "tenant = \"vision\"\ndevices = [\"GPU-1\", \"GPU-2\"]\nper_gpu_hour = \"1.00\"";
    let mut month = Month::new(&entry("reservation", "r", rest));
    let held = [("speech", 24 * H)];
    for device in ["GPU-1", "GPU-2"] {
        month.add(day(1), &Parts { device, held: &held, rest: [0; 4], ..IDLE });
    }
    // Two lines of 2.005 post 2.00 each, the even cent; their sum would post 4.01.
    for (row, line) in month.held.iter_mut().zip(["a", "b"]) {
        (row.line, row.exact) = (line.into(), Some(Exact(2_005_000_000_000_000)));
    }
    assert_eq!(
        show(&settled(&month).charges),
        [
            "vision: H100 80GB HBM3 reserved, lent to speech = 48.00",
            "vision: H100 80GB HBM3 reserved, lent to speech: less its charge = -4.00",
        ]
    );
}

#[test]
fn a_tenant_whose_cost_is_shared_out_takes_part_in_no_other_cost() {
    let shared = entry("allocation", "infra", "cost = \"shared\"\ntenant = \"infra\"\nby = \"usage\"");
    let mut month = Month::new(&(free("all", "by = \"even\"") + &shared));
    month.add(day(1), &IDLE);
    month.add(day(1), &USED);
    month.add(day(1), &Parts { device: "GPU-3", held: &[("infra", 24 * H)], ..USED });
    assert_eq!(
        show(&allocate(&month).expect("allocates")),
        [
            "platform: free H100 80GB HBM3, evenly: taken by tenants = -84.00",
            "vision: free H100 80GB HBM3, evenly = 84.00",
            "infra: shared usage of infra, A100-SXM4-80GB, by usage: taken by tenants = -50.40",
            "vision: shared usage of infra, A100-SXM4-80GB, by usage = 50.40",
        ]
    );
}

#[test]
fn two_reservations_of_a_pool_share_what_is_free_by_what_each_lacks() {
    let count = |id: &str, tenant: &str, count: u32| {
        let rest = format!(
            "tenant = \"{tenant}\"\nmodel = \"NVIDIA A100*\"\npool = \"train\"\ncount = {count}\nper_gpu_hour = \"2.00\""
        );
        entry("reservation", id, &rest)
    };
    let mut month = Month::new(&(count("one", "speech", 1) + &count("two", "vision", 2)));
    for (device, held, free) in
        [("GPU-1", &[("infra", 24 * H)][..], 0), ("GPU-2", &[], 24), ("GPU-3", &[("vision", 12 * H)], 12)]
    {
        month.add(day(1), &Parts { node: "t-1", device, model: A100, held, rest: [free * H, 0, 0, 0] });
    }
    let hours = |tenant: &str, what: &str| {
        let of = |c: &&Charge| c.tenant == id(tenant) && c.what.ends_with(what);
        settled(&month).charges.iter().filter(of).map(|c| c.held).sum::<NanoGpuHours>()
    };
    // 36 h are free; speech lacks 24 and vision, which used 12 of its 48, lacks 36. All three devices are reserved, so
    // what infra held is lent.
    assert_eq!(hours("vision", "reserved, used"), NanoGpuHours(12 * H));
    assert_eq!(hours("speech", "reserved, unused"), NanoGpuHours(14_400_000_000));
    assert_eq!(hours("vision", "reserved, unused"), NanoGpuHours(21_600_000_000));
    assert_eq!(hours("speech", "lent to infra"), NanoGpuHours(9_600_000_000));
    assert_eq!(hours("vision", "lent to infra"), NanoGpuHours(14_400_000_000));
}

#[test]
fn a_device_that_came_at_noon_is_settled_with_the_others_of_its_day() {
    let rest = "tenant = \"speech\"\nmodel = \"NVIDIA A100*\"\ncount = 1\nper_gpu_hour = \"2.00\"";
    let mut month = Month::new(&entry("reservation", "r", rest));
    let noon = Window::new(at("2026-09-01T12:00"), day(1).end_ms);
    month.add(day(1), &Parts { device: "GPU-1", model: A100, ..IDLE });
    month.add(noon, &Parts { device: "GPU-2", model: A100, rest: [12 * H, 0, 0, 0], ..IDLE });
    let charged: NanoGpuHours = settled(&month).reserved.iter().map(|time| time.hours).sum();
    assert_eq!(charged, NanoGpuHours(24 * H), "one device for one day, however the fleet changed");
}

#[test]
fn fees_are_prorated_by_true_hours_and_a_months_parts_are_the_month() {
    let (berlin, usd) = (parse_zone("Europe/Berlin").expect("a zone"), usd());
    let fee_of = |id: &str, from: &str, to: &str| {
        format!(
            "[[fee]]\nid = \"{id}\"\ntenant = \"vision\"\nwhat = \"support\"\nper_month = \"743.00\"\nfrom = {from}\nto = {to}\n"
        )
    };
    // March has 743 h in Berlin, and its 29th has 23 of them.
    let text = fee_of("before", "2026-03-01", "2026-03-29")
        + &fee_of("day", "2026-03-29", "2026-03-30")
        + &fee_of("after", "2026-03-30", "2026-04-01");
    let book = billing::price::PriceBook::parse("prices.toml", &text, berlin).expect("parses");
    let march = Period::parse("2026-03", berlin).expect("a period");
    let charges = fee::fees(book.policies(), &tenants(), &BTreeSet::new(), &march, &usd);
    let amounts: Vec<String> = charges.iter().map(|c| usd.show(c.amount)).collect();
    assert_eq!(amounts, ["672.00", "23.00", "48.00"]);
    assert_eq!(charges.iter().filter_map(|c| c.quantity).map(|q| q.nano).sum::<i64>(), 1_000_000_000);
    // A quarter is three months.
    let quarter = Period::parse("2026-Q1", berlin).expect("a period");
    let whole = entry("fee", "f", "tenant = \"vision\"\nwhat = \"x\"\nper_month = \"10\"");
    let book = billing::price::PriceBook::parse("prices.toml", &whole, berlin).expect("parses");
    let charges = fee::fees(book.policies(), &tenants(), &BTreeSet::new(), &quarter, &usd);
    assert_eq!(
        show(&charges),
        ["vision: x, Jan 2026 = 10.00", "vision: x, Feb 2026 = 10.00", "vision: x, Mar 2026 = 10.00"]
    );
}

#[test]
fn a_fee_for_everyone_is_paid_once_by_each_who_uses_and_ends_with_its_payer() {
    let text = entry("fee", "seat", "tenant = \"*\"\nwhat = \"seat\"\nper_unit = \"30.00\"\nunits = 2");
    let policies = book(&text);
    let users: BTreeSet<TenantId> = [id("guest"), id("speech"), TenantId::unattributed()].into();
    let charges = fee::fees(policies.policies(), &tenants(), &users, &september(), &usd());
    // vision has a tenant below it and no use; robotics ends after 10 of 30 days.
    assert_eq!(
        show(&charges),
        [
            "guest: seat, Sep 2026 = 60.00",
            "infra: seat, Sep 2026 = 60.00",
            "robotics: seat, 1 Sep 2026 00:00 - 11 Sep 2026 00:00 = 20.00",
            "speech: seat, Sep 2026 = 60.00",
            "vision-dev: seat, Sep 2026 = 60.00",
        ]
    );
}

#[test]
fn overheads_go_where_their_policies_of_the_time_say_and_sum_to_their_row() {
    let policies = entry("overhead", "net", "what = \"net\"\nper_month = \"100.01\"")
        + &entry(
            "allocation",
            "a",
            "cost = \"overhead\"\nby = { speech = \"0.5\", vision = \"0.5\" }\nto = 2026-09-16",
        )
        + &entry("allocation", "b", "cost = \"overhead\"\nby = \"usage\"")
            .replace("2026-01-01", "2026-09-16");
    let mut month = Month::new(&policies);
    month.add(day(20), &USED);
    let rows = fee::overheads(month.policies(), &september(), &usd());
    assert_eq!(show(&rows), ["platform: overhead: net, Sep 2026 = 100.01"]);
    assert_eq!(
        show(&allocate(&month).expect("allocates")),
        [
            "platform: overhead: net, by fixed shares: taken by tenants = -50.01",
            "speech: overhead: net, by fixed shares = 25.01",
            "vision: overhead: net, by fixed shares = 25.00",
            "platform: overhead: net, by usage: taken by tenants = -50.00",
            "vision: overhead: net, by usage = 50.00",
        ]
    );
}

#[test]
fn tax_is_on_all_but_tax_and_a_reverse_charge_is_a_row_of_nothing() {
    let book = book(
        &(entry("tax", "vat", "tenant = \"*\"\nwhat = \"VAT\"\npercent = \"19\"")
            + &entry("tax", "levy", "tenant = \"*\"\nwhat = \"levy\"\npercent = \"0.25\"")
            + &entry("tax", "abroad", "tenant = \"vision\"\nwhat = \"VAT\"\nreverse_charge = true")),
    );
    let posting = |kind, amount| Posting {
        id: "m-1".into(),
        kind,
        tenant: id("speech"),
        counterpart: None,
        amount,
        author: "ann".into(),
        reason: "by hand".into(),
    };
    let credit =
        posting(PostingKind::Credit, amount("-20.00")).charges(&tenants(), &usd()).expect("a credit");
    let stamp = posting(PostingKind::Tax, amount("5.00")).charges(&tenants(), &usd()).expect("a tax");
    let own = [&credit[..1], &stamp].concat();
    let speech = id("speech");
    let statement = Taxable { tenant: &speech, usage: amount("120.10"), charges: &own };
    let on = |statement| taxes(book.policies(), &tenants(), &[statement], september().window(), &usd());
    // 19 % of 100.10 is 19.019; a quarter percent of it 0.25025.
    assert_eq!(
        show(&on(statement)),
        ["speech: VAT 19 % of 100.10 = 19.02", "speech: levy 0.25 % of 100.10 = 0.25"]
    );
    // A tenant below vision has vision's.
    let below = id("vision-dev");
    let statement = Taxable { tenant: &below, usage: amount("120.10"), charges: &[] };
    assert_eq!(
        show(&on(statement)),
        ["vision-dev: VAT: reverse charge, the recipient accounts for it = 0.00"]
    );
    let platform = TenantId::platform();
    assert!(on(Taxable { tenant: &platform, usage: amount("9.00"), charges: &[] }).is_empty());
}

#[test]
fn an_invoices_difference_is_a_row_of_its_own() {
    let invoice = Invoice { name: "AC-7".into(), total: amount("1000.00") };
    let costs: BTreeMap<TenantId, Amount> = [
        (id("a"), amount("1.00")),
        (id("b"), amount("1.00")),
        (id("c"), amount("1.00")),
        (id("d"), amount("-5.00")),
        (TenantId::unattributed(), amount("90.00")),
    ]
    .into();
    let rows = |ledger: &str, to: &Difference<'_>| reconcile(&invoice, amount(ledger), to, &usd());
    let kept = rows("970.00", &Difference::Platform);
    assert_eq!(
        show(&kept),
        ["platform: difference to invoice AC-7 of 1,000.00, ledger 970.00, kept by the platform = 30.00"]
    );
    assert_eq!(kept[0].kind, ChargeKind::Reconciliation);
    assert!(rows("1000.00", &Difference::Platform).is_empty());
    let shared = rows("1000.10", &Difference::ByCost(&costs));
    let amounts: Vec<i64> = shared.iter().map(|c| c.amount.0).collect();
    assert_eq!(amounts, [-4, -3, -3]);
    let nobody = rows("970.00", &Difference::ByCost(&BTreeMap::new()));
    assert!(nobody[0].tenant == TenantId::platform() && nobody[0].what.contains("no tenant has cost"));
}

#[test]
fn what_a_person_posts_has_an_author_a_reason_and_another_side() {
    let good = Posting {
        id: "m-1".into(),
        kind: PostingKind::Credit,
        tenant: id("speech"),
        counterpart: None,
        amount: amount("-14.00"),
        author: "ann".into(),
        reason: "outage of 9 Sep".into(),
    };
    let rows = good.charges(&tenants(), &usd()).expect("a credit");
    assert_eq!(
        show(&rows),
        [
            "speech: outage of 9 Sep (posted by ann) = -14.00",
            "platform: outage of 9 Sep (posted by ann) = 14.00",
        ]
    );
    let with = |change: fn(&mut Posting)| {
        let mut posting = good.clone();
        change(&mut posting);
        posting.charges(&tenants(), &usd()).expect_err("refused").to_string()
    };
    for (error, part) in [
        (with(|p| p.amount = Amount(0)), "nothing to post"),
        (with(|p| p.amount = Amount(1400)), "a credit of 14.00 would be charged: write a negative amount"),
        (with(|p| p.author = " ".into()), "the author is empty"),
        (with(|p| p.reason = String::new()), "the reason is empty"),
        (with(|p| p.reason = "two\nlines".into()), "one line"),
        (with(|p| p.tenant = id("spech")), "spech is no declared tenant"),
        (with(|p| p.tenant = TenantId::platform()), "platform is no declared tenant"),
        (with(|p| p.counterpart = Some(id("speech"))), "both sides"),
        (with(|p| (p.kind, p.counterpart) = (PostingKind::Tax, Some(id("vision")))), "no counterpart"),
    ] {
        assert!(error.contains(part), "{error}\nlacks {part:?}");
    }
    let yen = Currency::parse("JPY").expect("a currency");
    let read = |text: &str, currency: &Currency| parse_amount(text, currency).map(|a| a.0).ok();
    assert_eq!(
        [read("-14.5", &usd()), read("1050", &usd()), read("7", &yen), read("0.00", &usd())],
        [Some(-1450), Some(105_000), Some(7), Some(0)]
    );
    for text in ["", "-", "1.234", "1,000.00", "1.", ".5", "+1", "99999999999999999999"] {
        let error = parse_amount(text, &usd()).expect_err(text).to_string();
        assert!(error.contains("at most 2 decimals"), "{error}");
    }
    assert_eq!(read("7.0", &yen), None);
}

/// An hour of a day, held whole.
fn worked(workload: u64, tenant: &str, device: &str, hour: i64) -> WorkHeld {
    let start_ms = day(9).start_ms + hour * HOUR_MS;
    WorkHeld {
        segment: Window::new(start_ms, start_ms + HOUR_MS),
        cluster: "c1".into(),
        node: "h-1".into(),
        device: device.into(),
        workload: WorkloadId(workload.into()),
        job: format!("job {workload}"),
        tenant: id(tenant),
        line: "L1".into(),
        natural_ms: HOUR_MS,
        held: NanoGpuHours(H),
        unit_price: Some(UnitPrice(3_500_000)),
    }
}

fn failure(device: Option<&str>, hour: i64, reason: FailureReason) -> Failure {
    Failure {
        cluster: "c1".into(),
        node: "h-1".into(),
        device: device.map(Into::into),
        at_ms: day(9).start_ms + hour * HOUR_MS,
        reason,
        detail: String::new(),
    }
}

fn proposed(failures: &[Failure], rows: &[WorkHeld]) -> Vec<String> {
    let rule = entry("credit_rule", "lost", "cap_hours = 4\nreasons = [\"node-failed\", \"fatal-xid\"]");
    let proposals = propose(book(&rule).policies(), failures, rows, september().zone(), &usd());
    proposals
        .iter()
        .map(|proposal| {
            let [credit, other] = &proposal.charges[..] else { panic!("a pair: {proposal:?}") };
            assert_eq!(credit.amount + other.amount, Amount(0));
            assert_eq!((credit.kind, &other.tenant), (ChargeKind::Credit, &TenantId::platform()));
            assert_eq!(credit.exact + other.exact, Exact::ZERO);
            let hours = NanoGpuHours(credit.quantity.expect("hours").nano);
            format!("{} {hours} = {} ({})", credit.tenant, usd().show(credit.amount), credit.what)
        })
        .collect()
}

#[test]
fn a_credit_is_what_was_held_without_a_break_before_the_failure_up_to_the_cap() {
    let xid = |hour| failure(Some("GPU-1"), hour, FailureReason::FatalXid);
    let on = |hours: &[i64]| -> Vec<WorkHeld> {
        hours.iter().map(|hour| worked(1, "vision", "GPU-1", *hour)).collect()
    };
    assert_eq!(
        proposed(&[xid(6)], &on(&[0, 1, 2, 3, 4, 5])),
        ["vision -4.000000000 = -14.00 (fatal XID, 9 Sep 2026 06:00, job 1, capped at 4 h)"]
    );
    // A break ends what is counted; what came before it was saved or lost then.
    assert!(proposed(&[xid(6)], &on(&[0, 1, 2, 4, 5]))[0].starts_with("vision -2.000000000 = -7.00"));
    // Not there when it failed; not a reason of the rule.
    assert!(proposed(&[xid(8)], &on(&[0, 1, 2])).is_empty());
    assert!(proposed(&[failure(Some("GPU-1"), 3, FailureReason::GpuLost)], &on(&[0, 1, 2])).is_empty());
    // The failure's hour counts up to the failure.
    let mut half = xid(6);
    half.at_ms += HOUR_MS / 2;
    let mut rows = on(&[5, 6]);
    (rows[1].natural_ms, rows[1].held) = (HOUR_MS / 2, NanoGpuHours(H / 2));
    assert!(proposed(&[half], &rows)[0].starts_with("vision -1.500000000 = -5.25"));
    // A seventh of a device held for 6 h: 4 h of that seventh.
    let mut rows = on(&[0, 1, 2, 3, 4, 5]);
    rows.iter_mut().for_each(|row| row.held = NanoGpuHours(142_857_143));
    assert!(proposed(&[xid(6)], &rows)[0].starts_with("vision -0.571428572 = -2.00"));
    // Without a price there was no charge to give back.
    let mut rows = on(&[5]);
    rows[0].unit_price = None;
    assert!(proposed(&[xid(6)], &rows).is_empty());
}

#[test]
fn a_failure_costs_a_job_all_its_devices_and_no_hour_is_credited_twice() {
    let rows: Vec<WorkHeld> = [(1, "vision", "GPU-1"), (1, "vision", "GPU-2"), (2, "speech", "GPU-2")]
        .iter()
        .flat_map(|(job, tenant, device)| (2..6).map(move |hour| worked(*job, tenant, device, hour)))
        .collect();
    let xid = failure(Some("GPU-1"), 4, FailureReason::FatalXid);
    // GPU-1 fails: job 1 loses what it held of GPU-2, too; job 2 loses nothing.
    assert_eq!(
        proposed(std::slice::from_ref(&xid), &rows),
        ["vision -4.000000000 = -14.00 (fatal XID, 9 Sep 2026 04:00, job 1, capped at 4 h)"]
    );
    // Two hours later the node fails: what was credited isn't credited again, in whatever order failures come.
    let node = failure(None, 6, FailureReason::NodeFailed);
    let both = proposed(&[node, xid], &rows);
    let hours: Vec<&str> = both.iter().map(|text| &text[..text.find(" =").expect("an amount")]).collect();
    assert_eq!(hours, ["vision -4.000000000", "vision -4.000000000", "speech -4.000000000"]);
}

#[test]
fn charges_are_numbered_by_kind_in_an_order_of_their_own() {
    let mut month = Month::new(
        &(entry("overhead", "b", "what = \"b\"\nper_month = \"1\"")
            + &entry("overhead", "a", "what = \"a\"\nper_month = \"2\"")
            + &free("f", "by = \"even\"")),
    );
    month.add(day(1), &IDLE);
    month.add(day(1), &USED);
    let mut charges = fee::overheads(month.policies(), &september(), &usd());
    charges.extend(allocate(&month).expect("allocates").into_iter().filter(|c| c.amount.0 < 0));
    let numbers = |charges: Vec<Charge>| -> Vec<String> {
        number(charges).iter().map(|n| format!("{} {}", n.number, n.charge.what)).collect()
    };
    let want = [
        "F1 overhead: a, Sep 2026",
        "F2 overhead: b, Sep 2026",
        "A1 free H100 80GB HBM3, evenly: taken by tenants",
    ];
    assert_eq!(numbers(charges.clone()), want);
    charges.reverse();
    assert_eq!(numbers(charges), want);
}
