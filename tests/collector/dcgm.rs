//! The use of MIG instances before Hopper: unknown to NVML, measured where a DCGM exporter on the node says so, and unknown
//! again when it stops saying so.

use crate::rig::{Rig, Setup, node, uuid};
use nvidia_ml::scenario::{GpuInstance, Process, Scenario};
use schema::wire::{Batch, BusyKind, Quality, Reason, UsageSlice};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serves one page as a DCGM exporter does, until it is told to fail.
fn exporter(page: String, is_up: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("it listens");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that went away asks again.
            let _ = stream.and_then(|stream| answer(stream, &page, is_up.load(Ordering::Relaxed)));
        }
    });
    format!("http://{address}/metrics")
}

fn answer(mut stream: TcpStream, page: &str, is_up: bool) -> std::io::Result<()> {
    let mut request = [0; 1024];
    let _ = stream.read(&mut request)?;
    let status = if is_up { "200 OK" } else { "503 Service Unavailable" };
    let page = if is_up { page } else { "" };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len())
}

fn scenario() -> Scenario {
    let mut scenario = node("a100-80gb", 1);
    let instances = vec![GpuInstance::new(2, "3g.40gb"), GpuInstance::new(3, "4g.40gb")];
    scenario.gpus[0] = scenario.gpus[0].clone().with_mig(instances);
    scenario.processes.push(Process::new(100, 0).on_instance(2, 0).uid(1).busy(25.0).memory_mib(1024.0));
    scenario
}

/// Usage rows of the process's owner.
fn rows(batches: &[Batch]) -> Vec<UsageSlice> {
    batches.iter().flat_map(|batch| &batch.usage).filter(|row| row.owner.is_some()).copied().collect()
}

#[test]
fn an_exporter_fills_what_nvml_does_not_tell_and_leaves_it_unknown_when_it_stops() {
    let page = format!(
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu=\"0\",UUID=\"{}\",GPU_I_PROFILE=\"3g.40gb\",GPU_I_ID=\"2\"}} 0.25\n\
         DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu=\"0\",UUID=\"{}\",GPU_I_PROFILE=\"4g.40gb\",GPU_I_ID=\"3\"}} 0.5\n",
        uuid(0),
        uuid(0)
    );
    let is_up = Arc::new(AtomicBool::new(true));
    let more = format!("[dcgm]\nurl = {:?}\npoll_ms = 100\n", exporter(page, is_up.clone()));
    let mut rig = Rig::running(&scenario(), Setup { more, ..Setup::default() });
    rig.until_ready();
    rig.until_at_least("slicemeter_usage_busy_seconds_total", &["user"], 0.3);
    rig.until_at_least("slicemeter_usage_busy_seconds_total", &["ghost"], 0.3);
    is_up.store(false, Ordering::Relaxed);
    rig.until_unready("MIG instances before Hopper is unknown");
    let held = rig.metrics().sample("slicemeter_usage_held_seconds_total", &["user"]).expect("it is held");
    rig.until_at_least("slicemeter_usage_held_seconds_total", &["user"], held + 1.5);
    assert!(rig.stop().success());

    let rows = rows(&rig.spooled());
    let known: Vec<_> = rows.iter().filter(|row| row.busy_ms.is_some()).collect();
    assert!(!known.is_empty());
    for row in known {
        assert_eq!((row.busy_kind(), row.busy_quality()), (BusyKind::EngineActive, Quality::MeasuredByDcgm));
        assert_eq!(row.held_quality(), Quality::Allocated);
        let quarter = (row.end_ms - row.start_ms) / 4;
        assert!((i64::try_from(row.busy_ms.expect("known")).expect("short") - quarter).abs() <= 1, "{row:?}");
    }
    let last = rows.last().expect("rows");
    assert_eq!((last.busy_ms, last.unknown_reason()), (None, Reason::MigPreHopper));
}
