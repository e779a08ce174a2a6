//! A month is closed, by two at once, while its usage still arrives in any order and more than once, and while people post
//! to it: what is closed is what some published hours say, and together with its corrections it is the month as it would
//! be had everything been there.

use crate::close::append;
use crate::common::{HOUR, batch, lab, slice, store, window};
use billing::charge::Charge;
use billing::closing::Item;
use billing::money::Amount;
use billing::period::Period;
use billing::post::adjust::{Posting, PostingKind};
use billing::statement::{Bill, Status};
use billing::tenant::TenantId;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::wire::Batch;
use server::config::{self, Loaded};
use server::jobs::settle::settle;
use server::periods::{self, Outcome, PeriodsError, Posted};
use server::report;
use server::store::Store;
use server::store::closing::Closing;
use server::store::inventory::Statement;
use std::collections::BTreeMap;
use tokio::sync::watch;

/// A window of the collector's, and how many of them make the two hours before and after [`HOUR`].
const WINDOW_MS: i64 = 300_000;
const WINDOWS: usize = 24;

/// Free time is shared out by use, so that a row of one tenant depends on the usage of all.
const PRICES: &str = "[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100\"\nper_gpu_hour = \"3.60\"\nfrom = 2020-01-01\n\
    [[fee]]\nid = \"support\"\ntenant = \"*\"\nwhat = \"support\"\nper_month = \"10.00\"\nfrom = 2020-01-01\n\
    [[allocation]]\nid = \"free\"\ncost = \"free\"\nby = \"usage\"\nfrom = 2020-01-01\n";

/// Batches of two hours, and how they arrive.
#[derive(Debug, Clone)]
struct Arrival {
    batches: Vec<Batch>,
    /// Which batches come together, in order; some come again.
    groups: Vec<Vec<usize>>,
    /// After how many groups each of two closes begins.
    closes: [usize; 2],
    /// After how many groups somebody posts.
    posts: Vec<usize>,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let held = prop::collection::vec((0..4u32, 0..60_000u64), 0..3);
    let order = Just((0..WINDOWS).collect::<Vec<_>>()).prop_shuffle();
    let again = prop::collection::vec(0..WINDOWS, 0..WINDOWS / 2);
    (prop::collection::vec(held, WINDOWS), order, again, 2usize..5).prop_flat_map(
        |(held, order, again, size)| {
            let batches: Vec<Batch> = (0..).zip(held).map(|(at, held)| a_window(at, &held)).collect();
            let order = [order, again].concat();
            let groups: Vec<Vec<usize>> = order.chunks(size).map(<[usize]>::to_vec).collect();
            let begun = 1..groups.len();
            let posts = prop::collection::vec(begun.clone(), 0..4);
            (prop::array::uniform2(begun), posts).prop_map(move |(closes, posts)| Arrival {
                batches: batches.clone(),
                groups: groups.clone(),
                closes,
                posts,
            })
        },
    )
}

/// A batch of one window, its device held equally by some owners.
fn a_window(number: u64, held: &[(u32, u64)]) -> Batch {
    let at_ms = number as i64 * WINDOW_MS - HOUR_MS;
    let share = (1, held.len().max(1) as u32);
    Batch {
        usage: held.iter().map(|(o, busy)| slice(Some(*o), at_ms, WINDOW_MS, share, Some(*busy))).collect(),
        device_windows: vec![window(at_ms, WINDOW_MS, WINDOW_MS as u64)],
        ..batch(5, number)
    }
}

pub(crate) fn configuration(name: &str, prices: &str) -> Loaded {
    let directory = lab().data_dir.join(name);
    std::fs::create_dir_all(&directory).expect("made");
    let file = directory.join("slicemeter.toml");
    std::fs::write(&file, "billing_zone = \"UTC\"\ncurrency = \"USD\"\n").expect("written");
    std::fs::write(directory.join("prices.toml"), prices).expect("written");
    config::load(&file).expect("loads")
}

/// A store in which the device is in service for the two hours and no longer.
pub(crate) async fn in_service(config: &Loaded) -> Store {
    let store = store().await;
    store.keep_versions(config, 1).await.expect("kept");
    let expect = Statement::Expect { node: "n".into(), model: "NVIDIA H100".into() };
    for (statement, at_ms) in [(expect, HOUR - HOUR_MS), (Statement::Retire, HOUR + HOUR_MS)] {
        store.writer().state("c", "GPU-1", &statement, at_ms, 1).await.expect("stated");
    }
    store
}

fn credit(number: usize) -> Posted {
    let posting = Posting {
        id: format!("m-{number}"),
        kind: PostingKind::Credit,
        tenant: TenantId::parse("vision").expect("an id"),
        counterpart: None,
        amount: Amount(-7),
        author: "ada".into(),
        reason: format!("outage {number}"),
    };
    let usd = billing::money::Currency::parse("USD").expect("a currency");
    let charges = posting.charges(&billing::tenant::Tenants::empty(), &usd).expect("a credit");
    Posted { charges, correction: None }
}

async fn post(store: &Store, month: &Period, number: usize) -> Result<(), PeriodsError> {
    periods::post(store, month, "credit", format!("m-{number}"), "outage", "ada", &credit(number)).await
}

/// Everything that a delivery of half the data can leave to be waived.
fn waived() -> Vec<(Item, String)> {
    [Item::Coverage, Item::LateCollectors, Item::MissingHours].map(|item| (item, "a test".to_owned())).into()
}

/// Closes until nobody overtakes it.
async fn close(store: &Store, config: &Loaded, month: &Period) -> Closing {
    loop {
        match periods::close(store, config, month, &waived(), "ada").await {
            Ok(Outcome::Closed(closing)) => return *closing,
            Err(PeriodsError::Busy(_)) => {}
            other => panic!("neither closed nor busy: {other:?}"),
        }
    }
}

/// Delivers, posts, closes twice and runs the rounds of two services, all at once. Gives both closes and which credits were taken.
async fn all_at_once(
    store: &Store,
    config: &Loaded,
    month: &Period,
    arrival: &Arrival,
) -> ([Closing; 2], Vec<usize>) {
    let (arrived, arrivals) = watch::channel(0usize);
    let after = |groups: usize| {
        let mut arrivals = arrivals.clone();
        async move { arrivals.wait_for(|n| *n >= groups).await.map(|n| *n).expect("that many come") }
    };
    // Ends with its deliveries, and the rounds with it.
    let deliver = async move {
        for group in &arrival.groups {
            let batches: Vec<Batch> = group.iter().map(|at| arrival.batches[*at].clone()).collect();
            append(store, &batches).await;
            arrived.send_modify(|n| *n += 1);
        }
    };
    let rounds = || {
        let mut arrivals = arrivals.clone();
        async move {
            while arrivals.changed().await.is_ok() {
                settle(store, config, month.window()).await.expect("closes and rates");
            }
        }
    };
    let closing = |at: usize| {
        let begun = after(arrival.closes[at]);
        async move {
            begun.await;
            close(store, config, month).await
        }
    };
    let posting = async {
        let mut taken = Vec::new();
        for (number, groups) in arrival.posts.iter().enumerate() {
            after(*groups).await;
            match post(store, month, number).await {
                Ok(()) => taken.push(number),
                Err(PeriodsError::Closed(_)) => {}
                Err(other) => panic!("neither taken nor too late: {other}"),
            }
        }
        taken
    };
    let (_, _, _, one, two, taken) =
        tokio::join!(deliver, rounds(), rounds(), closing(0), closing(1), posting);
    ([one, two], taken)
}

/// Device time and money by tenant, the platform's and nobody's with it.
type Posts = BTreeMap<TenantId, (NanoGpuHours, Amount)>;

fn add(posts: &mut Posts, tenant: &TenantId, held: NanoGpuHours, amount: Amount) {
    let sum = posts.entry(tenant.clone()).or_default();
    *sum = (sum.0 + held, sum.1 + amount);
}

fn posts(bill: &Bill, corrections: &[Charge]) -> Posts {
    let mut posts = Posts::new();
    let (platform, nobody) = (TenantId::platform(), TenantId::unattributed());
    for statement in &bill.tenants {
        let tenant = &statement.tenant.id;
        statement.lines.iter().for_each(|l| add(&mut posts, tenant, l.sums.held, l.amount.expect("priced")));
        statement.charges.iter().for_each(|c| add(&mut posts, tenant, c.charge.held, c.charge.amount));
    }
    let own = &bill.platform;
    own.unattributed.iter().for_each(|l| add(&mut posts, &nobody, l.sums.held, l.amount.expect("priced")));
    own.lines.iter().for_each(|l| add(&mut posts, &platform, l.quantity, l.amount.expect("priced")));
    own.charges.iter().for_each(|c| add(&mut posts, &platform, c.charge.held, c.charge.amount));
    corrections.iter().for_each(|c| add(&mut posts, &c.tenant, c.held, c.amount));
    posts.retain(|_, sum| *sum != Default::default());
    posts
}

/// The bill of everything, delivered once and in order, with some credits.
async fn truth(config: &Loaded, month: &Period, arrival: &Arrival, credits: &[usize]) -> Bill {
    let store = in_service(config).await;
    append(&store, &arrival.batches).await;
    for number in credits {
        post(&store, month, *number).await.expect("posted");
    }
    settle(&store, config, month.window()).await.expect("closes and rates");
    report::live_bill(&store.reader(), config, month).await.expect("a bill")
}

/// Each line of a closed bill, summed from the rows that were kept under its close.
async fn kept_rows_are_the_lines(
    store: &Store,
    config: &Loaded,
    month: &Period,
    closing: &Closing,
    bill: &Bill,
) {
    let reader = store.reader();
    let owners = reader.owners(month.window()).await.expect("owners");
    let capacity = reader.closed_capacity(month.label(), closing.attempt).await.expect("kept");
    assert_eq!(capacity, bill.fleet.capacity);
    for statement in &bill.tenants {
        for line in &statement.lines {
            let rows = reader.line_hours_closed(&line.key, month.label(), closing.attempt).await;
            let rows = rows.expect("kept").into_iter().filter(|row| {
                let (resolved, key) = config.rules().line_among(row, &owners);
                resolved.tenant == statement.tenant.id && key == line.key
            });
            let (held, busy) = rows.fold(Default::default(), |(held, busy): (NanoGpuHours, _), row| {
                (held + row.held, busy + row.busy)
            });
            assert_eq!(
                (held, busy),
                (line.sums.held, line.sums.busy),
                "{}-L{}",
                statement.number,
                line.number
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_month_that_is_closed_while_batches_arrive_is_what_its_hours_say_and_the_rest_corrects_it() {
    let config = configuration("closing", PRICES);
    let month = Period::parse("2025-11", config.zone).expect("a month");
    let next = Period::parse("2025-12", config.zone).expect("a month");
    let mut runner = TestRunner::deterministic();
    for case in 0..3 {
        let arrival = arrival().new_tree(&mut runner).expect("a case").current();
        let store = in_service(&config).await;
        // Something is published when the first close begins.
        append(&store, &arrival.batches[..1]).await;
        settle(&store, &config, month.window()).await.expect("closes and rates");
        let (closings, taken) = all_at_once(&store, &config, &month, &arrival).await;
        assert_eq!(closings[0], closings[1], "case {case}: two that close at once agree on one");
        let again = close(&store, &config, &month).await;
        assert_eq!(again, closings[0], "case {case}: closed again, it is the same close");

        let reader = store.reader();
        let verified = || async { periods::verify(&store.reader(), &month).await.expect("is closed").1 };
        assert_eq!(verified().await, [""; 0], "case {case}");
        let closed = report::bill(&reader, &config, &month).await.expect("a bill");
        assert_eq!(closed.platform.context.status, Status::Final);
        assert!(closed.fleet.adds_up(), "case {case}");
        kept_rows_are_the_lines(&store, &config, &month, &again, &closed).await;

        let correct = || periods::correct(&store, &config, &month, &next, "came late", "ada");
        let corrections = correct().await.expect("corrects");
        let held: NanoGpuHours = corrections.iter().map(|c| c.held).sum();
        assert_eq!(held, NanoGpuHours(0), "case {case}: what one gains another loses");
        let whole = truth(&config, &month, &arrival, &taken).await;
        assert_eq!(posts(&closed, &corrections), posts(&whole, &[]), "case {case}: {corrections:#?}");
        assert_eq!(correct().await.expect("corrects"), [], "case {case}: corrected once");
        assert_eq!(report::bill(&reader, &config, &month).await.expect("a bill"), closed, "case {case}");
        assert_eq!(verified().await, [""; 0], "case {case}");
    }
}
