//! Rated days: what they sum to, what another version of the rules does to them, and what goes when.

use crate::close::append;
use crate::common::{HOUR, batch, full_hour, lab, slice, store, window};
use billing::tenant::TenantId;
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use schema::wire::Batch;
use server::config::{self, Loaded};
use server::jobs::close::close_dirty;
use server::jobs::rate::rate_dirty;
use server::store::Store;
use server::store::charges::Days;

/// A configuration with one price.
fn configuration(name: &str, price: &str) -> Loaded {
    let directory = lab().data_dir.join(name);
    std::fs::create_dir_all(&directory).expect("made");
    let file = directory.join("slicemeter.toml");
    std::fs::write(&file, "billing_zone = \"Asia/Kolkata\"\ncurrency = \"USD\"\n").expect("written");
    let prices = format!(
        "[[price]]\nid = \"h100\"\nmodel = \"NVIDIA H100\"\nper_gpu_hour = \"{price}\"\nfrom = 2020-01-01\n"
    );
    std::fs::write(directory.join("prices.toml"), prices).expect("written");
    config::load(&file).expect("loads")
}

/// What a tenant held, by the charges that some rules made.
async fn held(store: &Store, config: &Loaded, day: Window) -> Vec<(String, NanoGpuHours, String)> {
    let rules = config.rules_name();
    let lines = store.reader().charge_lines(Days { rules: &rules, window: day }, None).await.expect("reads");
    lines
        .into_iter()
        .map(|(tenant, key, sums)| {
            (tenant.as_str().to_owned(), sums.held, key.price.unit().expect("a price").to_string())
        })
        .collect()
}

#[tokio::test]
async fn a_day_is_rated_again_when_its_hours_have_news_and_what_is_superseded_goes() {
    let store = store().await;
    let (config, other) = (configuration("rated", "3.60"), configuration("rated-other", "7.20"));
    let hour = Window::hour_of(HOUR);
    let day = billing::period::days_of(hour, config.zone)[0];
    let batches = full_hour(7);
    let (first, rest) = batches.split_at(30);
    append(&store, first).await;
    close_dirty(&store.closer(), &config.cuts(), HOUR + 2, 0).await.expect("closes");
    assert_eq!(rate_dirty(&store, &config, hour).await.expect("rates"), 1);
    let half = NanoGpuHours(500_000_000);
    assert_eq!(held(&store, &config, day).await, [("vision".to_owned(), half, "3.60".to_owned())]);

    // Another version of the prices has rows of its own.
    assert_eq!(rate_dirty(&store, &other, hour).await.expect("rates"), 1);
    assert_eq!(held(&store, &other, day).await[0].2, "7.20");
    assert_eq!(held(&store, &config, day).await[0].2, "3.60");

    append(&store, rest).await;
    close_dirty(&store.closer(), &config.cuts(), HOUR + 3, 0).await.expect("closes");
    assert_eq!(rate_dirty(&store, &config, hour).await.expect("rates"), 1);
    let whole = NanoGpuHours(1_000_000_000);
    assert_eq!(held(&store, &config, day).await[0].1, whole);
    assert_eq!(rate_dirty(&store, &config, hour).await.expect("looks"), 0, "nothing is rated twice");

    // The first revision of both tables goes; the newest of either version stays.
    let later = server::clock::now_ms() + HOUR_MS / 2;
    let gone = store.writer().drop_superseded_days(&config.rules_name(), later).await.expect("drops");
    assert_eq!(gone, 2);
    assert_eq!(held(&store, &config, day).await[0].1, whole);
    assert_eq!(held(&store, &other, day).await[0].1, half, "its hours were others");
    let rules = config.rules_name();
    let devices = store
        .reader()
        .device_days(
            Days { rules: &rules, window: day },
            &[],
            Some(&TenantId::parse("vision").expect("an id")),
        )
        .await
        .expect("reads");
    assert!(devices.iter().all(|d| d.adds_up()) && devices[0].held == whole);
}

#[tokio::test]
async fn an_hour_that_a_local_midnight_cuts_belongs_to_both_days() {
    let store = store().await;
    let config = configuration("cut", "3.60");
    // Midnight in Kolkata is at 18:30 UTC.
    let day = billing::period::days_of(Window::hour_of(HOUR), config.zone)[0];
    let hour_ms = Window::hour_of(day.start_ms).start_ms;
    assert_eq!(day.start_ms - hour_ms, HOUR_MS / 2);
    let at = hour_ms - HOUR;
    let minutes: Vec<Batch> = (0..60)
        .map(|m| Batch {
            usage: vec![slice(Some(0), at + m * 60_000, 60_000, (1, 1), Some(30_000))],
            device_windows: vec![window(at + m * 60_000, 60_000, 60_000)],
            ..batch(8, m as u64)
        })
        .collect();
    append(&store, &minutes).await;
    close_dirty(&store.closer(), &config.cuts(), hour_ms + 2, 0).await.expect("closes");
    assert_eq!(rate_dirty(&store, &config, Window::hour_of(hour_ms)).await.expect("rates"), 2);
    let half = NanoGpuHours(500_000_000);
    let before = billing::period::days_of(Window::new(hour_ms, hour_ms + 1), config.zone)[0];
    for day in [before, day] {
        assert_eq!(held(&store, &config, day).await[0].1, half);
    }
}
