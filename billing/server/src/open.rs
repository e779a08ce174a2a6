//! Getting at a store: the operator's ClickHouse, a running embedded engine, or one started for the duration.

use crate::config::{self, ConfigError, Loaded};
use crate::store::{self, Address, Store};
use anyhow::Context;
use engine::{Endpoint, Supervisor, SupervisorConfig};

/// A store, and the engine that was started for it, if any.
pub struct Opened {
    /// The store, migrated.
    pub store: Store,
    engine: Option<Supervisor>,
}

impl Opened {
    /// Stops the engine if it was started here. What was acknowledged is on disk in any case.
    pub async fn close(self) {
        let Self { store, engine } = self;
        // Its idle connections would be waited for.
        drop(store);
        if let Some(engine) = engine {
            engine.stop().await;
        }
    }
}

/// Opens the configured store, starting the embedded engine where none runs on its directory yet.
///
/// # Errors
/// The library is missing, the engine doesn't start, ClickHouse can't be reached, or the database is another version's.
pub async fn open(config: &Loaded) -> anyhow::Result<Opened> {
    let (address, engine) = match &config.file.store {
        Some(own) => (own_address(own, config)?, None),
        None => {
            let data_dir = config.file.engine.data_dir.clone();
            match tokio::task::spawn_blocking(move || engine::discover(&data_dir)).await? {
                Some(running) => (engine_address(running), None),
                None => {
                    let engine = Supervisor::start(supervised(config)?).await?;
                    (engine_address(engine.endpoint()), Some(engine))
                }
            }
        }
    };
    let opened = async {
        let store = store::connect(&address).await?;
        let ran = store.migrate(crate::clock::now_ms()).await?;
        if ran > 0 {
            tracing::info!(migrations = ran, "brought the database up to date");
        }
        let altered = store.retain(config.file.retention.slices_months).await?;
        if altered > 0 {
            tracing::info!(
                tables = altered,
                months = config.file.retention.slices_months,
                "changed the retention"
            );
        }
        let rewritten = rewritten(&store, config).await?;
        if rewritten.is_none() {
            store.keep_versions(config, crate::clock::now_ms()).await?;
        }
        Ok::<_, store::StoreError>((store, rewritten))
    };
    match opened.await {
        Ok((store, None)) => Ok(Opened { store, engine }),
        Ok((store, Some(error))) => {
            Opened { store, engine }.close().await;
            Err(error.into())
        }
        Err(error) => {
            if let Some(engine) = engine {
                engine.stop().await;
            }
            Err(error).with_context(|| format!("could not use the store at {}", address.url))
        }
    }
}

/// What `prices.toml` says differently, without a reason, of time that is metered, against the version that was loaded last:
/// it may have been edited while nothing ran.
async fn rewritten(store: &Store, config: &Loaded) -> Result<Option<ConfigError>, store::StoreError> {
    let reader = store.reader();
    let Some(last) = reader.last_content("prices.toml").await? else { return Ok(None) };
    if last == config.content("prices.toml") {
        return Ok(None);
    }
    let metered = reader.metered(crate::clock::now_ms()).await?;
    match config.with("prices.toml", &last) {
        Ok(old) => Ok(config.check_history(&old.prices, metered).err()),
        Err(error) => {
            // Written for other tenants or by another version: there is nothing to compare with.
            let error = crate::error::chain(&error);
            tracing::warn!(
                error,
                "the last version of prices.toml can't be read any more; this one isn't compared with it"
            );
            Ok(None)
        }
    }
}

fn own_address(own: &config::Store, config: &Loaded) -> anyhow::Result<Address> {
    let password = match &own.password_file {
        None => String::new(),
        Some(file) => {
            let path = config.directory.join(file);
            std::fs::read_to_string(&path)
                .with_context(|| format!("store.password_file: could not read {}", path.display()))?
                .trim_end()
                .to_owned()
        }
    };
    Ok(Address { url: own.url.clone(), user: own.user.clone(), password, database: own.database.clone() })
}

fn engine_address(endpoint: Endpoint) -> Address {
    Address {
        url: endpoint.url,
        user: endpoint.user,
        password: endpoint.secret,
        database: config::default_database(),
    }
}

/// The engine as a child of this program: `slicemeter engine --child`.
fn supervised(config: &Loaded) -> anyhow::Result<SupervisorConfig> {
    let engine = &config.file.engine;
    Ok(SupervisorConfig {
        program: program()?,
        arguments: vec!["engine".into(), "--child".into()],
        library: engine.library.clone(),
        data_dir: engine.data_dir.clone(),
        port: 0,
        max_server_memory_bytes: engine.memory_mib << 20,
        concurrency: engine.concurrency,
        config_file: None,
    })
}

/// This program, or the one that a test of the library names because its own can't be an engine.
fn program() -> anyhow::Result<std::path::PathBuf> {
    match std::env::var_os("SLICEMETER_PROGRAM") {
        Some(named) => Ok(named.into()),
        None => std::env::current_exe().context("could not find this program's own file"),
    }
}
