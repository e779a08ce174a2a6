//! `slicemeter engine`: the embedded ClickHouse, as the child of a service or apart.

use super::{Global, Outcome, WrongUse, load};
use clap::Args;

/// How to run the engine.
#[derive(Debug, Args)]
pub struct Options {
    /// Take the options from standard input, as serve gives them
    #[arg(long, hide = true)]
    child: bool,
    /// Port on 127.0.0.1; 0 takes a free one, which engine.json in the data directory names
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// Runs until SIGTERM.
///
/// # Errors
/// The engine can't serve.
pub fn run(options: &Options, global: &Global) -> anyhow::Result<Outcome> {
    if options.child {
        match engine::child::run_from_stdin()? {}
    }
    let config = load(global)?;
    if config.file.store.is_some() {
        return Err(WrongUse(
            "[store] names your own ClickHouse: remove that table to use the embedded engine".into(),
        )
        .into());
    }
    let settings = config.file.engine;
    match engine::child::run(engine::child::Options {
        library: settings.library,
        data_dir: settings.data_dir,
        port: options.port,
        secret: engine::new_secret(),
        max_server_memory_bytes: settings.memory_mib << 20,
        concurrency: settings.concurrency,
        config_file: None,
        parent_pid: None,
    })? {}
}
