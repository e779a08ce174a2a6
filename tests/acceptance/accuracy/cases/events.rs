//! What happens to nodes: a collector that is restarted, a node that boots, jobs shorter than a scrape.

use crate::accuracy::case::{Boot, Case, HOUR_S, wave};
use nvidia_ml::scenario::{Gpu, Seconds};

/// No collector for seven minutes, in which one more pod starts.
pub fn collector_restart() -> Case {
    let mut case =
        Case::new("collector_restart", "collector away for 7 min", vec![Gpu::new("h100"), Gpu::new("h100")]);
    case.gap_s = Some((1_500, 1_920));
    case.pod("train", (0, None), 1, vec![case.whole(0, (0, HOUR_S))]);
    case.pod("joins", (1_703, None), 1, vec![case.whole(1, (1_703, HOUR_S))]);
    case.work("train", 0, None, (0, None), 64.0);
    case.work("joins", 1, None, (1_709, None), wave(100, 61, 85.0));
    case
}

/// The same seven minutes, in which a pod ends: when the collector is back, the kubelet no longer lists it.
pub fn ends_unseen() -> Case {
    let mut case = Case::new("ends_unseen", "the same, and a pod ends meanwhile", vec![Gpu::new("h100")]);
    case.gap_s = Some((1_500, 1_920));
    case.pod("finishes", (0, Some(1_703)), 1, vec![case.whole(0, (0, 1_703))]);
    case.work("finishes", 0, None, (0, Some(1_702)), 64.0);
    case
}

/// An orderly reboot of four minutes: a job ends with the node and its successor starts on the booted one.
pub fn node_reboot() -> Case {
    let (down_s, up_s, again_s) = (1_230, 1_470, 1_537);
    let mut case = Case::new("node_reboot", "node reboots", vec![Gpu::new("h100"), Gpu::new("h100")]);
    case.boots[0].to_s = down_s;
    case.pod("train-1", (0, Some(down_s)), 1, vec![case.whole(0, (0, down_s))]);
    case.pod("serve-1", (0, Some(1_111)), 1, vec![case.whole(1, (0, 1_111))]);
    case.pod("train-2", (again_s, None), 1, vec![case.whole(0, (again_s, HOUR_S))]);
    case.work("train-1", 0, None, (0, Some(down_s)), 77.0);
    case.work("serve-1", 1, None, (0, Some(1_110)), wave(60, 21, 90.0));
    let mut booted = case.boots[0].scenario.clone();
    booted.boot_id = Some("boot-2".to_owned());
    booted.boot = Seconds::new(up_s - 30);
    booted.processes.clear();
    case.boots.push(Boot { scenario: booted, from_s: up_s, to_s: HOUR_S });
    case.work("train-2", 0, None, (again_s + 5, None), 79.0);
    case
}

/// Eight waves of eight jobs of 10 to 90 s, of four teams.
pub fn short_jobs() -> Case {
    let mut case = Case::new("short_jobs", "64 jobs of 10-90 s", vec![Gpu::new("l4"); 8]);
    let teams = ["red", "green", "blue", "grey"];
    for wave in 0..8_i64 {
        for gpu in 0..8_i64 {
            let start_s = 23 + wave * 440;
            // 10 to 90 s, spread without a pattern that a scrape could fit.
            let end_s = start_s + 10 + (wave * 37 + gpu * 29) % 81;
            let (name, at) = (format!("job-{wave}-{gpu}"), usize::try_from(gpu).expect("eight"));
            case.pod(&name, (start_s, Some(end_s)), 1, vec![case.whole(at, (start_s, end_s))]);
            let job = case.holders.last_mut().expect("it was just added");
            teams[at % teams.len()].clone_into(&mut job.tenant);
            case.work(&name, at, None, (start_s + 2, Some(end_s - 1)), 85.0);
        }
    }
    case
}
