//! Utilisation samples: what they say, when there are none, and that their rounding keeps the time integral.

use nvidia_ml::scenario::{Gpu, Mode, MpsUtilization, Process, ProcessUtilization, Scenario, Seconds, Wave};
use nvidia_ml::truth::truth;
use nvml_wrapper::error::NvmlError;

use crate::node::{Node, START_US, at_us};

fn scenario(processes: Vec<Process>) -> Scenario {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu::new("l40s"));
    scenario.processes = processes;
    scenario
}

/// Samples newer than an instant: PID, percent, and seconds after the start.
fn samples(node: &Node, last_seen_s: f64) -> Vec<(u32, u32, f64)> {
    let last_seen = u64::try_from(at_us(last_seen_s)).unwrap();
    match node.gpu(0).process_utilization_stats(last_seen) {
        Ok(samples) => samples
            .iter()
            .map(|sample| (sample.pid, sample.sm_util, (sample.timestamp as i64 - START_US) as f64 / 1e6))
            .collect(),
        Err(NvmlError::NotFound) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// Busy 80 % in the seconds 2 and 3, idle before and after.
fn burst() -> Process {
    Process::new(7, 0).busy(vec![(Seconds::new(2), 80.0), (Seconds::new(4), 0.0)])
}

#[test]
fn a_sample_is_the_mean_since_the_caller_last_looked() {
    let node = Node::new(scenario(vec![burst()]));
    node.at(3.999);
    assert_eq!(samples(&node, 0.0), [(7, 27, 3.0)], "80 % of one of three seconds, rounded up or down");
    node.at(4.0);
    assert_eq!(samples(&node, 0.0), [(7, 40, 4.0)]);
    assert_eq!(samples(&node, 3.0), [(7, 80, 4.0)]);
    assert_eq!(samples(&node, 4.0), [], "nothing is newer");
    node.at(10.0);
    assert_eq!(samples(&node, 4.0), [], "nothing that isn't zero is newer");
}

#[test]
fn a_sample_is_the_last_period_that_was_not_idle() {
    let mut scenario = scenario(vec![burst()]);
    scenario.process_utilization = ProcessUtilization::LastPeriod;
    let node = Node::new(scenario);
    node.at(4.0);
    assert_eq!(samples(&node, 0.0), [(7, 80, 4.0)]);
    node.at(10.0);
    assert_eq!(samples(&node, 0.0), [(7, 80, 4.0)]);
    assert_eq!(samples(&node, 4.0), []);
}

#[test]
fn sample_periods_may_be_short() {
    let mut scenario = scenario(vec![burst()]);
    scenario.process_utilization = ProcessUtilization::LastPeriod;
    scenario.sample_period_ms = 200;
    let node = Node::new(scenario);
    node.at(2.39);
    assert_eq!(samples(&node, 0.0), [(7, 80, 2.2)]);
}

/// Whoever integrates value times window gets the truth back, by fixed windows and by ragged ones.
#[test]
fn rounding_keeps_the_time_integral() {
    let busy = [0.3, 12.75, 50.5, 99.9];
    let processes = (0..4).map(|index| Process::new(index + 1, 0).busy(busy[index as usize] / 4.0)).collect();
    for choice in [ProcessUtilization::MeanSinceLastSeen, ProcessUtilization::LastPeriod] {
        let mut scenario: Scenario = scenario(Vec::clone(&processes));
        scenario.process_utilization = choice;
        let node = Node::new(scenario);
        for stride in [1.0, 5.0, 7.0] {
            if choice == ProcessUtilization::LastPeriod && stride > 1.0 {
                continue;
            }
            let mut measured = [0.0; 5];
            let (mut last, end) = (0.0, 3500.0);
            while last < end {
                node.at(last + stride);
                for (pid, percent, _) in samples(&node, last) {
                    measured[pid as usize] += f64::from(percent) / 100.0 * stride;
                }
                last += stride;
            }
            for process in truth(&node.scenario, START_US, at_us(end)).processes {
                let (measured, exact) = (measured[process.pid as usize], process.busy_us as f64 / 1e6);
                let off = (measured - exact).abs();
                assert!(
                    off <= stride / 100.0 + 1e-3,
                    "pid {}: {measured} s, not {exact} s, every {stride} s",
                    process.pid
                );
            }
        }
    }
}

#[test]
fn who_shares_a_gpu_in_time_never_gets_more_than_the_whole() {
    let wave = nvidia_ml::scenario::Series::Wave(Wave { period_s: 2.into(), on_s: 1.into(), percent: 100.0 });
    let node = Node::new(scenario(vec![
        Process::new(1, 0).busy(100.0),
        Process::new(2, 0).busy(60.0),
        Process::new(3, 0).alive(0, 100).busy(wave),
    ]));
    for second in 2..30 {
        node.at(f64::from(second));
        let last = f64::from(second - 1);
        let sum: u32 = samples(&node, last).iter().map(|(_, percent, _)| percent).sum();
        assert!((98..=102).contains(&sum), "{sum} % in second {second}");
        assert_eq!(node.gpu(0).utilization_rates().unwrap().gpu, 100);
    }
    let truth = truth(&node.scenario, START_US, at_us(30.0));
    let sum: u64 = truth.processes.iter().map(|process| process.busy_us).sum();
    assert!(truth.gpus[0].busy_us.abs_diff(30_000_000) <= 1 && sum.abs_diff(30_000_000) <= 3, "{sum}");
}

#[test]
fn a_gpu_can_be_busy_without_any_process() {
    let mut scenario = scenario(vec![]);
    scenario.gpus[0].ghost_busy = Some(25.0.into());
    let node = Node::new(scenario);
    node.at(10.0);
    assert_eq!(node.gpu(0).utilization_rates().unwrap().gpu, 25);
    assert_eq!(samples(&node, 0.0), []);
    let truth = truth(&node.scenario, START_US, at_us(10.0));
    assert_eq!((truth.gpus[0].busy_us, truth.gpus[0].ghost_us), (2_500_000, 2_500_000));
}

#[test]
fn mps_samples_name_the_clients_or_the_server() {
    let mut scenario = scenario(vec![
        Process { mps_server: true, ..Process::new(1, 0) },
        Process { mps_client: true, ..Process::new(2, 0).busy(30.0) },
        Process { mps_client: true, ..Process::new(3, 0).busy(20.0) },
    ]);
    scenario.gpus[0].mode = Mode::Mps;
    let by_client = Node::new(scenario.clone());
    by_client.at(10.0);
    assert_eq!(samples(&by_client, 0.0), [(2, 30, 10.0), (3, 20, 10.0)]);
    scenario.gpus[0].mps_utilization = MpsUtilization::Server;
    let by_server = Node::new(scenario);
    by_server.at(10.0);
    assert_eq!(samples(&by_server, 0.0), [(1, 50, 10.0)]);
}
