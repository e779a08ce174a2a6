//! What a collector costs its node: memory, CPU and NVML calls a tick, and how fast it answers a scrape, also while
//! the driver hangs.
//!
//! A real `slicemeter-collector` runs over the simulated library. The library's own work is inside the collector's
//! process: CPU is given with it, memory with and without.

use crate::node_dir::NodeDir;
use crate::{cpu, library_cost, page, scenarios, shown};
use anyhow::{Context, Result, ensure};
use harness::figures::{Figures, Target};
use harness::probe::{get, latency_ms, resident_mib};
use nvidia_ml::scenario::{Event, Scenario, Seconds};
use simulator::live::{Collector, Setup};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECTION: &str = "collector";
/// Every second, process lists every other tick: the ratio of the defaults (5 s and 10 s) at five times the pace.
const CADENCE: &str = "[sample]\ngauges_ms = 1000\nprocesses_ms = 2000\n";
const TICKS: f64 = 30.0;
const REQUESTS: usize = 1000;
const RESIDENT_MIB_MAX: f64 = 20.0;
const SCRAPE_MS_MAX: f64 = 5.0;
/// When one NVML call begins to hang, after the start of the collector, and for how long.
const HANG_FROM_S: i64 = 42;
const HANG_S: i64 = 45;

/// Runs the three settings.
///
/// # Errors
/// A collector can't be run or doesn't do what its scenario is for.
pub fn run(figures: &mut Figures) -> Result<()> {
    measure(figures, "mig_8x7", scenarios::mig(), 10.0)?;
    measure(figures, "shared_8x50", scenarios::shared(50), 10.0)?;
    measure(figures, "shared_8x350", scenarios::shared(350), 40.0)
}

fn measure(figures: &mut Figures, setting: &str, scenario: Scenario, cpu_ms_max: f64) -> Result<()> {
    let library_mib = library_cost::mib(&scenario)?;
    let calls_max = calls_max(&scenario);
    let began = SystemTime::now();
    let scenario = hanging(scenario, began)?;
    let scratch = NodeDir::new()?;
    let setup = Setup { dir: scratch.path(), cluster: "bench", server: None, more: CADENCE };
    let mut collector = Collector::start(&setup, &scenario)?;
    wait_for(&collector, "a third tick", |page| {
        Ok(page::value(page, "slicemeter_collector_ticks_total")? >= 3.0)
    })?;

    let from = mark(&collector)?;
    std::thread::sleep(Duration::from_secs(TICKS as u64 - 1));
    let to = loop {
        let to = mark(&collector)?;
        if to.ticks - from.ticks >= TICKS {
            break to;
        }
    };
    let ticks = to.ticks - from.ticks;
    let (p50_ms, p99_ms) = latency_ms(collector.port(), "/metrics", REQUESTS)?;
    let resident = resident_mib(collector.pid())?;
    let hung_p99_ms = while_hung(&collector, began)?;
    collector.stop()?;

    let mut add = |name: &str, value: f64, unit: &str, target: Target| {
        figures.add(SECTION, &format!("{setting}_{name}"), shown(value), unit, target);
    };
    // With the library is the stricter figure: where it meets the target, the other needs no judgement.
    let strict = resident <= RESIDENT_MIB_MAX;
    let judged = |this: bool| if this { Target::AtMost(RESIDENT_MIB_MAX) } else { Target::Shown };
    add("resident", resident, "MiB", judged(strict));
    add("resident_without_library", resident - library_mib, "MiB", judged(!strict));
    add("cpu_per_tick", (to.cpu_ms - from.cpu_ms) / ticks, "ms", Target::AtMost(cpu_ms_max));
    add("nvml_calls_per_tick", (to.calls - from.calls) / ticks, "calls", Target::AtMost(calls_max));
    add("metrics_p50", p50_ms, "ms", Target::Shown);
    add("metrics_p99", p99_ms, "ms", Target::AtMost(SCRAPE_MS_MAX));
    add("metrics_p99_while_hung", hung_p99_ms, "ms", Target::AtMost(SCRAPE_MS_MAX));
    Ok(())
}

/// Six calls for each MIG instance and ten for each GPU.
fn calls_max(scenario: &Scenario) -> f64 {
    let instances: usize =
        scenario.gpus.iter().flat_map(|gpu| &gpu.mig).map(|layout| layout.instances.len()).sum();
    (6 * instances + 10 * scenario.gpus.len()) as f64
}

fn hanging(mut scenario: Scenario, began: SystemTime) -> Result<Scenario> {
    scenario.events.push(Event::Hang {
        gpu: Some(0),
        function: "nvmlDeviceGetTotalEnergyConsumption".to_owned(),
        from: Seconds::new(HANG_FROM_S),
        to: Some(Seconds::new(HANG_FROM_S + HANG_S)),
        real_ms: None,
    });
    let unix_us = i64::try_from(began.duration_since(UNIX_EPOCH)?.as_micros())?;
    Ok(scenario.starting_at_us(unix_us))
}

/// Counters between two ticks.
struct Mark {
    cpu_ms: f64,
    ticks: f64,
    calls: f64,
}

/// Ticks lie on whole seconds, so late in a second the collector rests and the counters belong together.
fn mark(collector: &Collector) -> Result<Mark> {
    let into_second_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() % 1000;
    let wait_ms = (1700 - into_second_ms) % 1000;
    std::thread::sleep(Duration::from_millis(u64::try_from(wait_ms)?));
    let page = get(collector.port(), "/metrics")?;
    Ok(Mark {
        cpu_ms: cpu::milliseconds(collector.pid())?,
        ticks: page::value(&page, "slicemeter_collector_ticks_total")?,
        calls: page::value(&page, "slicemeter_collector_nvml_call_seconds_count")?,
    })
}

/// The larger 99th percentile of two halves: while the tick waits for the call, and after its thread was parked.
fn while_hung(collector: &Collector, began: SystemTime) -> Result<f64> {
    let hang = Duration::from_secs(HANG_FROM_S as u64);
    let to_hang =
        hang.checked_sub(began.elapsed()?).context("the machine is too busy: the hang came too early")?;
    std::thread::sleep(to_hang + Duration::from_millis(1500));
    let ticks = || page::value(&get(collector.port(), "/metrics")?, "slicemeter_collector_ticks_total");
    let before = ticks()?;
    let (_, waiting_ms) = latency_ms(collector.port(), "/metrics", REQUESTS / 2)?;
    ensure!(ticks()? == before, "the collector ticked while its NVML call should have hung");
    wait_for(collector, "the hung call's device to be set aside", |page| {
        Ok(page
            .lines()
            .any(|l| l.starts_with("slicemeter_collector_device_failing{") && l.contains("CallHung")))
    })?;
    let (_, parked_ms) = latency_ms(collector.port(), "/metrics", REQUESTS / 2)?;
    ensure!(
        began.elapsed()? < hang + Duration::from_secs(HANG_S as u64),
        "the machine is too busy: the hang was over before the requests were"
    );
    Ok(waiting_ms.max(parked_ms))
}

fn wait_for(collector: &Collector, what: &str, is_there: impl Fn(&str) -> Result<bool>) -> Result<()> {
    let began = SystemTime::now();
    while began.elapsed()? < Duration::from_secs(30) {
        // Until the first reading is published the page is empty.
        if is_there(&get(collector.port(), "/metrics")?).unwrap_or(false) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("waited in vain for {what}:\n{}", collector.log())
}
