//! Reservations and allocation: rules that a person could dispute, each as a story with figures to check by hand.

mod posted;

use billing::charge::Charge;
use billing::money::Exact;
use billing::post::allocation::Allocate;
use billing::post::reservation::{Settled, settle};
use billing::post::{PostError, fee, number, shared};
use billing::tenant::TenantId;
use posted::{A100, B200, H, H100, Month, Parts, amount, at, day, entry, id, rows, september, usd};
use schema::units::NanoGpuHours;
use schema::window::Window;
use std::collections::BTreeSet;

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
        rows(&charges),
        ["platform: free H100 80GB HBM3 stays here: there is nobody to take it by usage = 0.00"]
    );
    assert_eq!(charges[0].quantity.map(|q| q.nano), Some(24 * H));
    // A pool without an owner is the same; nobody at all is, too.
    let mut month = Month::new(&free("edge", "by = \"owner\""));
    month.add(day(1), &IDLE);
    let stays = "platform: free H100 80GB HBM3 stays here: there is nobody to take it to the owner of the pool = 0.00";
    assert_eq!(rows(&allocate(&month).expect("allocates")), [stays]);
    let mut month = Month::new(&free("all", "by = \"even\""));
    month.add(day(1), &IDLE);
    assert!(rows(&allocate(&month).expect("allocates"))[0].contains("stays here"));
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
        rows(&allocate(&month).expect("allocates")),
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
        rows(&allocate(&month).expect("allocates")),
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
        rows(&settled.charges),
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
        rows(&settled(&month).charges),
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
        rows(&settled(&month).charges),
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
        rows(&allocate(&month).expect("allocates")),
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
    let made = fee::overheads(month.policies(), &september(), &usd());
    assert_eq!(rows(&made), ["platform: overhead: net, Sep 2026 = 100.01"]);
    assert_eq!(
        rows(&allocate(&month).expect("allocates")),
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
