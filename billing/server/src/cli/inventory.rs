//! `slicemeter inventory`: devices in service, and what the operator says about them.

use super::{Global, Outcome, WrongUse, instant_ms, load_and_open};
use crate::config::Loaded;
use crate::open::Opened;
use crate::store::inventory::{Listed, Statement};
use billing::instant::local;
use clap::{Args, Subcommand};

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every device ever seen or expected
    List,
    /// Count a device from an instant on, whether its node reports or not
    Expect {
        /// Cluster of the device
        #[arg(long)]
        cluster: String,
        /// Node that it is in
        #[arg(long)]
        node: String,
        /// NVML UUID, GPU-...
        #[arg(long)]
        device: String,
        /// NVML product name, as prices.toml names it
        #[arg(long)]
        model: String,
        /// From when: 2026-10-01, or 2026-10-01T06:00, on a quarter hour, in the billing zone
        #[arg(long)]
        from: String,
    },
    /// Stop counting a device from an instant on
    Retire {
        /// Cluster of the device
        #[arg(long)]
        cluster: String,
        /// NVML UUID, GPU-...
        #[arg(long)]
        device: String,
        /// From when: 2026-10-01, or 2026-10-01T06:00, on a quarter hour, in the billing zone
        #[arg(long)]
        at: String,
    },
}

/// Lists or records. A device seen after it was retired is a finding.
///
/// # Errors
/// No such device, a bad instant, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = act(options.command, &config, &opened).await;
    opened.close().await;
    outcome
}

async fn act(command: Command, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let devices = opened.store.reader().devices().await?;
    let now_ms = crate::clock::now_ms();
    match command {
        Command::List => {
            for device in &devices {
                println!("{}", row(device, config));
            }
            let late = devices.iter().filter(|d| seen_after_retirement(d)).count();
            Ok(if late > 0 { Outcome::Finding } else { Outcome::Done })
        }
        Command::Expect { cluster, node, device, model, from } => {
            let at_ms = instant_ms("--from", &from, config)?;
            opened
                .store
                .writer()
                .state(&cluster, &device, &Statement::Expect { node, model }, at_ms, now_ms)
                .await?;
            Ok(Outcome::Done)
        }
        Command::Retire { cluster, device, at } => {
            if !devices.iter().any(|d| d.cluster == cluster && d.device == device) {
                let message =
                    format!("no device {device} in cluster {cluster}: `slicemeter inventory list` shows all");
                return Err(WrongUse(message).into());
            }
            let at_ms = instant_ms("--at", &at, config)?;
            opened.store.writer().state(&cluster, &device, &Statement::Retire, at_ms, now_ms).await?;
            Ok(Outcome::Done)
        }
    }
}

fn seen_after_retirement(device: &Listed) -> bool {
    device.retired_ms.is_some_and(|at| device.last_seen_ms.is_some_and(|seen| seen > at))
}

fn row(device: &Listed, config: &Loaded) -> String {
    let show = |at: Option<i64>| match at {
        Some(at_ms) => local(at_ms, config.zone).format("%Y-%m-%dT%H:%M").to_string(),
        None => "-".into(),
    };
    let mut text = format!(
        "{:<12} {:<16} {:>2}  {:<42} {:<28} seen {} .. {}  expected {}  retired {}",
        device.cluster,
        device.node,
        device.index,
        device.device,
        device.model,
        show(device.first_seen_ms),
        show(device.last_seen_ms),
        show(device.expected_ms),
        show(device.retired_ms),
    );
    if seen_after_retirement(device) {
        text.push_str("  SEEN AFTER IT WAS RETIRED");
    }
    text
}
