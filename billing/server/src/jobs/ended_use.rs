//! How much tenants that have ended still use, for an alert: looked up now and then, never by a scrape.

use crate::current::Current;
use crate::metrics::Metrics;
use crate::store::{Reader, StoreError};
use billing::tenant::{TenantId, Tenants};
use schema::units::{HOUR_MS, NanoGpuHours};
use schema::window::Window;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How far back use counts: what was stopped a day ago is no news.
const BACK_MS: i64 = 24 * HOUR_MS;

/// Runs until `stop` says so. A look that fails leaves the figures of the one before and is tried again.
pub async fn run(
    reader: Reader,
    config: Current,
    every: Duration,
    metrics: Arc<Metrics>,
    mut stop: watch::Receiver<bool>,
) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut shown: BTreeSet<TenantId> = BTreeSet::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stop.changed() => return,
        }
        let tenants = &config.now().tenants;
        match used(&reader, tenants, crate::clock::now_ms()).await {
            Ok(used) => {
                for gone in shown.iter().filter(|tenant| !used.contains_key(tenant)) {
                    // It was shown, so it is there.
                    let _ = metrics.ended_use.remove_label_values(&[gone.as_str()]);
                }
                for (tenant, held) in &used {
                    metrics.ended_use.with_label_values(&[tenant.as_str()]).set(held.0 as f64 / 1e9);
                }
                shown = used.into_keys().collect();
            }
            Err(error) => {
                tracing::warn!(
                    error = crate::error::chain(&error),
                    "could not look for use of ended tenants"
                );
            }
        }
    }
}

/// GPU-hours that each ended tenant held in the last 24 hours and the open one, zero where it held nothing.
async fn used(
    reader: &Reader,
    tenants: &Tenants,
    now_ms: i64,
) -> Result<BTreeMap<TenantId, NanoGpuHours>, StoreError> {
    let ended = tenants.declared(now_ms).filter(|t| t.ends_ms.is_some_and(|at_ms| at_ms <= now_ms));
    let mut used: BTreeMap<TenantId, NanoGpuHours> = ended.map(|t| (t.id.clone(), NanoGpuHours(0))).collect();
    if used.is_empty() {
        return Ok(used);
    }
    let open = Window::hour_of(now_ms);
    let window = Window::new(open.start_ms - BACK_MS, open.end_ms);
    let changes_ms = tenants.change_instants(window);
    let (usage, owners) = tokio::try_join!(reader.usage_totals(window, &changes_ms), reader.owners(window))?;
    for (tenant, catch) in billing::mapping::ended_use(&usage, &owners, tenants) {
        used.insert(tenant, catch.held);
    }
    Ok(used)
}
