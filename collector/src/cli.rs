//! The command line: a subcommand a file, its options and what it does.

mod check_config;
mod once;
mod record;
mod release;
mod run;

use clap::{Parser, Subcommand, ValueEnum};
use collector::config::Config;
use std::path::PathBuf;
use std::process::ExitCode;

/// Wrong use, as clap's own errors have it.
const WRONG_USE: u8 = 2;
/// The answer can't be known: the driver or the running collector isn't there.
const CANNOT_TELL: u8 = 3;

/// Meters the GPUs of this node: who held them, who used them, for how long.
#[derive(Parser)]
#[command(name = "slicemeter-collector", version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLICEMETER_BUILD_REVISION"), ")"))]
#[command(
    after_help = "Exit codes: 0 ok, 1 a finding, 2 wrong use, 3 cannot tell (no driver, nothing running)."
)]
pub struct Cli {
    /// How log lines are written to standard error.
    #[arg(long, global = true, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// NVML library to load instead of the driver's libnvidia-ml.so.1.
    #[arg(long, global = true, value_name = "FILE")]
    nvml_library: Option<PathBuf>,
    /// The /proc to read owners from.
    #[arg(long, global = true, value_name = "DIR")]
    procfs: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Sample, attribute, spool and ship until told to stop; serve /metrics.
    Run(run::Options),
    /// Read the node once and print what it says.
    Once(once::Options),
    /// Write raw readings to a file, a JSON document a line, to look into a case later.
    Record(record::Options),
    /// Have the running collector let go of NVML, so that a GPU can be reset or MIG changed.
    Release(release::Options),
    /// Check a configuration file and say what is wrong with it.
    CheckConfig(check_config::Options),
}

impl Cli {
    /// Does what was asked.
    pub fn run(self) -> ExitCode {
        let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        match self.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
        let place = Place { nvml_library: self.nvml_library, procfs: self.procfs };
        match self.command {
            Command::Run(options) => run::run(&options, &place),
            Command::Once(options) => once::run(&options, &place),
            Command::Record(options) => record::run(&options, &place),
            Command::Release(options) => release::run(&options),
            Command::CheckConfig(options) => check_config::run(&options),
        }
    }
}

/// Where NVML and `/proc` are, as the command line says.
struct Place {
    nvml_library: Option<PathBuf>,
    procfs: Option<PathBuf>,
}

impl Place {
    /// The configuration with the command line's word over it.
    fn over(&self, mut config: Config) -> Config {
        config.nvml.library = self.nvml_library.clone().or(config.nvml.library);
        config.owner.procfs = self.procfs.clone().unwrap_or(config.owner.procfs);
        config
    }

    fn source(&self) -> collector::device::NvmlSource {
        let library = self.nvml_library.clone().map(Into::into);
        collector::device::NvmlSource::new(library, std::sync::Arc::new(collector::clock::SystemClock))
    }
}

/// Loads a configuration, or says what is wrong with it.
fn load(path: &std::path::Path) -> Result<Config, ExitCode> {
    match Config::load(path) {
        Ok(config) => {
            config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
            Ok(config)
        }
        Err(error) => {
            eprintln!("{:#}", anyhow::Error::new(error));
            Err(ExitCode::from(WRONG_USE))
        }
    }
}

/// The configuration file's place where none is named.
const CONFIG: &str = "/etc/slicemeter/collector.toml";
