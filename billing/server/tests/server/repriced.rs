//! Hours that had no price when they were used, and a price that is added later and holds from before: an open month is
//! priced, a closed one stays and is corrected.

use crate::close::append;
use crate::common::full_hour;
use crate::periods::{configuration, in_service};
use billing::closing::Item;
use billing::money::Amount;
use billing::period::Period;
use billing::statement::Statement;
use billing::tenant::TenantId;
use schema::units::NanoGpuHours;
use server::periods::{self, Outcome};
use server::report;
use server::store::Store;

/// Other hardware, and a list that ended before the month.
const ENDED: &str = "[[price]]\nid = \"a100\"\nmodel = \"NVIDIA A100*\"\nper_gpu_hour = \"2.10\"\nfrom = 2020-01-01\n\
    [[price]]\nid = \"h100-2024\"\nmodel = \"NVIDIA H100\"\nper_gpu_hour = \"3.00\"\nfrom = 2024-01-01\nto = 2025-01-01\n";
const ADDED: &str =
    "[[price]]\nid = \"h100-2025\"\nmodel = \"NVIDIA H100\"\nper_gpu_hour = \"3.60\"\nfrom = 2025-01-01\n";

/// A store with one hour of vision's, of two in which the device was in service.
async fn an_hour_used(config: &server::config::Loaded) -> Store {
    let store = in_service(config).await;
    append(&store, &full_hour(5)).await;
    store
}

fn vision(bill: &billing::statement::Bill) -> &Statement {
    bill.tenants.iter().find(|s| s.tenant.id.as_str() == "vision").expect("its statement")
}

const HOUR_HELD: NanoGpuHours = NanoGpuHours(1_000_000_000);

#[tokio::test]
async fn a_price_that_is_added_later_prices_an_open_month_and_corrects_a_closed_one() {
    let before = configuration("unpriced", ENDED);
    let after = configuration("repriced", &format!("{ENDED}{ADDED}"));
    let month = Period::parse("2025-11", before.zone).expect("a month");
    let next = Period::parse("2025-12", before.zone).expect("a month");
    let store = an_hour_used(&before).await;
    store.keep_versions(&after, 2).await.expect("kept");

    // Unknown isn't zero: the line keeps its quantity, has no amount, and stands in the way.
    let (bill, found) = periods::check(&store, &before, &month).await.expect("checks");
    let statement = vision(&bill);
    assert_eq!((statement.totals.quantity, statement.lines[0].amount), (HOUR_HELD, None));
    assert_eq!((statement.totals.unpriced_lines, bill.fleet.amount), (1, Amount(0)));
    assert!(found.iter().any(|f| f.item == Item::Unpriced), "{found:?}");

    // While the month is open it is priced, and nothing of it is in the way any more.
    let (bill, found) = periods::check(&store, &after, &month).await.expect("checks");
    assert_eq!(vision(&bill).lines[0].amount, Some(Amount(360)));
    assert!(!found.iter().any(|f| f.item == Item::Unpriced), "{found:?}");

    // Closed without it, which its statements say, it stays so.
    let waived =
        [Item::Unpriced, Item::Coverage, Item::LateCollectors].map(|item| (item, "agreed".to_owned()));
    let closed = periods::close(&store, &before, &month, &waived, "ada").await.expect("closes");
    assert!(matches!(closed, Outcome::Closed(_)), "{closed:?}");
    let closed = report::bill(&store.reader(), &after, &month).await.expect("a bill");
    assert_eq!((vision(&closed).lines[0].amount, vision(&closed).totals.amount), (None, Amount(0)));
    let waivers = &vision(&closed).context.closed.as_ref().expect("closed").waivers;
    assert!(
        waivers.iter().any(|w| w.item == Item::Unpriced && w.finding.contains("no price")),
        "{waivers:?}"
    );

    // The price is a correction in the next month: the same time, and what it costs.
    let rows =
        periods::correct(&store, &after, &month, &next, "price agreed", "ada").await.expect("corrects");
    let own = rows.iter().filter(|c| c.tenant == TenantId::parse("vision").expect("an id"));
    let sum = own.fold((NanoGpuHours(0), Amount(0)), |sum, c| (sum.0 + c.held, sum.1 + c.amount));
    assert_eq!(sum, (NanoGpuHours(0), Amount(360)), "{rows:#?}");
    assert!(rows.iter().all(|c| c.what.starts_with("of ") && c.what.ends_with("price agreed")));
    assert_eq!(report::bill(&store.reader(), &after, &month).await.expect("a bill"), closed);
    let (_, wrong) = periods::verify(&store.reader(), &month).await.expect("is closed");
    assert_eq!(wrong, [""; 0]);
    assert_eq!(periods::differences(&store, &after, &month).await.expect("compares").deltas, []);
}
