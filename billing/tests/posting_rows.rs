//! Fees, tax, reconciliation, what people post and credits for lost work, each as a story with figures to check by hand.

mod posted;

use billing::charge::{ChargeKind, Quantity};
use billing::explain::SliceRow;
use billing::money::{Amount, Currency, Exact, UnitPrice};
use billing::period::{Period, parse_zone};
use billing::policy::FailureReason;
use billing::post::adjust::{Posting, PostingKind, parse_amount};
use billing::post::credit::{Failure, WorkHeld, cut, propose};
use billing::post::fee;
use billing::post::reconcile::{Difference, Invoice, reconcile};
use billing::post::tax::{Taxable, taxes};
use billing::tenant::TenantId;
use posted::{H, amount, book, day, entry, id, rows, september, tenants, usd};
use schema::id::WorkloadId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};

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
        rows(&charges),
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
        rows(&charges),
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
        rows(&on(statement)),
        ["speech: VAT 19 % of 100.10 = 19.02", "speech: levy 0.25 % of 100.10 = 0.25"]
    );
    // A tenant below vision has vision's.
    let below = id("vision-dev");
    let statement = Taxable { tenant: &below, usage: amount("120.10"), charges: &[] };
    assert_eq!(
        rows(&on(statement)),
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
    let reconciled = |ledger: &str, to: &Difference<'_>| reconcile(&invoice, amount(ledger), to, &usd());
    let kept = reconciled("970.00", &Difference::Platform);
    assert_eq!(
        rows(&kept),
        ["platform: difference to invoice AC-7 of 1,000.00, ledger 970.00, kept by the platform = 30.00"]
    );
    assert_eq!(kept[0].kind, ChargeKind::Reconciliation);
    assert!(reconciled("1000.00", &Difference::Platform).is_empty());
    let shared = reconciled("1000.10", &Difference::ByCost(&costs));
    let amounts: Vec<i64> = shared.iter().map(|c| c.amount.0).collect();
    assert_eq!(amounts, [-4, -3, -3]);
    let nobody = reconciled("970.00", &Difference::ByCost(&BTreeMap::new()));
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
    let posted = good.charges(&tenants(), &usd()).expect("a credit");
    assert_eq!(
        rows(&posted),
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
        device: device.into(),
        workload: WorkloadId(workload.into()),
        job: format!("job {workload}"),
        tenant: id(tenant),
        natural_ms: HOUR_MS,
        quantity: Quantity::gpu_hours(NanoGpuHours(H)),
        unit_price: Some(UnitPrice(3_500_000)),
    }
}

/// A failure that ends these jobs.
fn failure(device: &str, hour: i64, reason: FailureReason, holders: &[u64]) -> Failure {
    Failure {
        cluster: "c1".into(),
        node: "h-1".into(),
        device: device.into(),
        at_ms: day(9).start_ms + hour * HOUR_MS,
        reason,
        detail: String::new(),
        holders: holders.iter().map(|job| WorkloadId((*job).into())).collect(),
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
    let xid = |hour| failure("GPU-1", hour, FailureReason::FatalXid, &[1]);
    let on = |hours: &[i64]| -> Vec<WorkHeld> {
        hours.iter().map(|hour| worked(1, "vision", "GPU-1", *hour)).collect()
    };
    assert_eq!(
        proposed(&[xid(6)], &on(&[0, 1, 2, 3, 4, 5])),
        ["vision -4.000000000 = -14.00 (fatal XID, 9 Sep 2026 06:00, job 1, capped at 4 h)"]
    );
    // A break ends what is counted; what came before it was saved or lost then.
    assert!(proposed(&[xid(6)], &on(&[0, 1, 2, 4, 5]))[0].starts_with("vision -2.000000000 = -7.00"));
    // Another's failure; what ended long before; not a reason of the rule.
    assert!(proposed(&[failure("GPU-1", 6, FailureReason::FatalXid, &[2])], &on(&[4, 5])).is_empty());
    assert!(proposed(&[xid(8)], &on(&[0, 1, 2])).is_empty());
    assert!(proposed(&[failure("GPU-1", 3, FailureReason::GpuLost, &[1])], &on(&[0, 1, 2])).is_empty());
    // The failure's hour counts up to the failure.
    let mut half = xid(6);
    half.at_ms += HOUR_MS / 2;
    let mut rows = on(&[5, 6]);
    (rows[1].natural_ms, rows[1].quantity.nano) = (HOUR_MS / 2, H / 2);
    assert!(proposed(&[half], &rows)[0].starts_with("vision -1.500000000 = -5.25"));
    // A seventh of a device held for 6 h: 4 h of that seventh.
    let mut rows = on(&[0, 1, 2, 3, 4, 5]);
    rows.iter_mut().for_each(|row| row.quantity.nano = 142_857_143);
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
    let xid = failure("GPU-1", 4, FailureReason::FatalXid, &[1]);
    // GPU-1 fails: job 1 loses what it held of GPU-2, too; job 2 loses nothing.
    assert_eq!(
        proposed(std::slice::from_ref(&xid), &rows),
        ["vision -4.000000000 = -14.00 (fatal XID, 9 Sep 2026 04:00, job 1, capped at 4 h)"]
    );
    // Two hours later the node fails: what was credited isn't credited again, in whatever order failures come.
    let node = |device| failure(device, 6, FailureReason::NodeFailed, &[1, 2]);
    let both = proposed(&[node("GPU-1"), node("GPU-2"), xid], &rows);
    let hours: Vec<&str> = both.iter().map(|text| &text[..text.find(" =").expect("an amount")]).collect();
    assert_eq!(hours, ["vision -4.000000000", "vision -4.000000000", "speech -4.000000000"]);
}

#[test]
fn failures_minutes_apart_are_one_loss_that_an_xid_names() {
    let rows: Vec<WorkHeld> = (2..6).map(|hour| worked(1, "vision", "GPU-1", hour)).collect();
    let mut xid = failure("GPU-1", 6, FailureReason::FatalXid, &[1]);
    xid.detail = "XID 79".into();
    xid.at_ms += 5_000;
    let node = failure("GPU-1", 6, FailureReason::NodeFailed, &[1]);
    assert_eq!(
        proposed(&[xid, node], &rows),
        ["vision -4.000000000 = -14.00 (XID 79, 9 Sep 2026 06:00, job 1, capped at 4 h)"]
    );
}

#[test]
fn a_proposal_keeps_its_name_whatever_the_hours_cost() {
    let rule = entry("credit_rule", "lost", "cap_hours = 4\nreasons = [\"fatal-xid\"]");
    let names = |rows: &[WorkHeld]| -> Vec<String> {
        let failures = [failure("GPU-1", 6, FailureReason::FatalXid, &[1, 2])];
        let proposals = propose(book(&rule).policies(), &failures, rows, september().zone(), &usd());
        proposals.into_iter().map(|proposal| proposal.id).collect()
    };
    let rows = [worked(1, "vision", "GPU-1", 5), worked(2, "speech", "GPU-1", 5)];
    let dearer = rows.clone().map(|row| WorkHeld { unit_price: Some(UnitPrice(7_000_000)), ..row });
    let moved = rows.clone().map(|row| WorkHeld { tenant: id("guest"), ..row });
    let named = names(&rows);
    assert_eq!((named.len(), named[0] == named[1]), (2, false));
    assert_eq!([names(&dearer), names(&moved)], [named.clone(), named]);
}

#[test]
fn what_a_job_held_of_the_failures_hour_after_it_is_not_lost() {
    // Held from :00 to :20, failed, and again from :40 to the full hour.
    let mut row = worked(1, "vision", "GPU-1", 5);
    (row.natural_ms, row.quantity.nano) = (HOUR_MS * 2 / 3, H * 2 / 3);
    let start_ms = row.segment.start_ms;
    let slice = |from_min: i64, to_min: i64| SliceRow {
        window: Window::new(start_ms + from_min * 60_000, start_ms + to_min * 60_000),
        device: "GPU-1".into(),
        workload: WorkloadId(1),
        origin: String::new(),
        allocated_ms: None,
        resident_ms: Some((to_min - from_min) * 60_000),
        busy_ms: None,
    };
    let slices = [slice(0, 15), slice(15, 20), slice(40, 60)];
    let mut xid = failure("GPU-1", 5, FailureReason::FatalXid, &[1]);
    for (minute, lost) in [(20, "-0.333333333"), (10, "-0.166666666"), (30, "-0.333333333")] {
        xid.at_ms = start_ms + minute * 60_000;
        let rows = cut(vec![row.clone()], xid.at_ms, &slices);
        assert_eq!(rows.iter().map(|r| r.natural_ms).sum::<i64>(), row.natural_ms);
        assert_eq!(rows.iter().map(|r| r.quantity.nano).sum::<i64>(), row.quantity.nano);
        let text = &proposed(std::slice::from_ref(&xid), &rows)[0];
        assert!(text.starts_with(&format!("vision {lost} = ")), "at :{minute}: {text}");
    }
    // Where a scheduler's record is all there is, the row stays whole.
    assert_eq!(cut(vec![row.clone()], xid.at_ms, &[]), [row]);
}
