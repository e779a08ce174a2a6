//! Configuration: one documented struct per concern; unknown keys are refused; every error names file, key and remedy.

use billing::export::journal::Template;
use billing::money::Currency;
use billing::period::parse_zone;
use billing::price::PriceBook;
use billing::rating::{METHOD, Rules};
use billing::statement::Mode;
use billing::tenant::Tenants;
use chrono_tz::Tz;
use schema::window::Window;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod exports;
pub use exports::{Journal, JournalColumn, Organisation};

/// `slicemeter.toml` as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// IANA zone of months and days. No default: a bill depends on it.
    pub billing_zone: String,
    /// ISO 4217 code of the prices' currency. No default.
    pub currency: String,
    /// `showback` (default) or `chargeback`.
    #[serde(default)]
    pub mode: ModeName,
    /// Where the service listens; default `127.0.0.1:8480`.
    #[serde(default = "default_listen")]
    pub listen: SocketAddr,
    /// How often hours with news are closed again, seconds, 1 to 3600; default 3.
    #[serde(default = "default_close_interval_s")]
    pub close_interval_s: u64,
    /// How long evidence is kept.
    #[serde(default)]
    pub retention: Retention,
    /// The embedded ClickHouse.
    #[serde(default)]
    pub engine: Engine,
    /// The operator's own ClickHouse; the embedded one where this is missing.
    pub store: Option<Store>,
    /// Who issues the statements; exports that name an issuer need it.
    pub organisation: Option<Organisation>,
    /// How statements are posted in an ERP.
    pub journal: Option<Journal>,
}

/// Whether tenants are shown their cost or charged it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeName {
    /// Shown: watermarked, nothing due.
    #[default]
    Showback,
    /// Charged.
    Chargeback,
}

/// `[retention]`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Months that slices, device windows, gaps and refused rows are kept, 1 to 120; default 13. The ledger outlives them:
    /// a line of an older month still has its hours, and no slices under them.
    pub slices_months: u16,
}

impl Default for Retention {
    fn default() -> Self {
        Self { slices_months: 13 }
    }
}

/// `[engine]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engine {
    /// Holds the databases; default `/var/lib/slicemeter`. Relative to the configuration file.
    pub data_dir: PathBuf,
    /// Cap on memory, MiB; default 2048.
    pub memory_mib: u64,
    /// Queries that run at once; default 8.
    pub concurrency: usize,
    /// libchdb.so; where `deploy/install-engine.sh` puts it, if missing.
    pub library: Option<PathBuf>,
}

impl Default for Engine {
    fn default() -> Self {
        Self { data_dir: "/var/lib/slicemeter".into(), memory_mib: 2048, concurrency: 8, library: None }
    }
}

/// `[store]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// HTTP interface of a ClickHouse, `http://host:8123`.
    pub url: String,
    /// User; default `default`.
    #[serde(default = "default_user")]
    pub user: String,
    /// File that holds the password; none if missing. Relative to the configuration file.
    pub password_file: Option<PathBuf>,
    /// Database; default `slicemeter`.
    #[serde(default = "default_database")]
    pub database: String,
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8480))
}

fn default_close_interval_s() -> u64 {
    3
}

fn default_user() -> String {
    "default".into()
}

/// The database where none is named.
pub fn default_database() -> String {
    "slicemeter".into()
}

/// A configuration file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Its name, `prices.toml`.
    pub name: &'static str,
    /// Its content; empty where the file is missing.
    pub content: String,
}

/// Everything that was read and understood.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Directory of the files.
    pub directory: PathBuf,
    /// Name in it of the file that was named, `slicemeter.toml`.
    pub main: PathBuf,
    /// `slicemeter.toml`.
    pub file: File,
    /// The billing zone.
    pub zone: Tz,
    /// The currency.
    pub currency: Currency,
    /// `prices.toml`; empty where it is missing.
    pub prices: PriceBook,
    /// `tenants.toml`; empty where it is missing.
    pub tenants: Tenants,
    /// How statements are posted in an ERP, where that is written.
    pub journal: Option<Template>,
    /// The three files as they were read, to be versioned.
    pub texts: Vec<Text>,
}

/// What is wrong with the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file can't be read.
    #[error("could not read {path}: give its place with --config FILE")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// Another version of `tenants.toml` can't be read.
    #[error("could not read {path}: give its place with --tenants-file FILE")]
    ReadTenants {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A file that was in force is gone.
    #[error("{path} is gone: put it back, or leave an empty file to do without")]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Not the TOML that is expected.
    #[error("{path}: {message}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Key, place and remedy.
        message: String,
    },
    /// A value that can't be meant.
    #[error("{path}: {key}: {message}")]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What is wrong, and what to write.
        message: String,
    },
    /// A price far from the last one that nobody confirmed.
    #[error("{path}: {jump} ({more} more like it)")]
    Jump {
        /// The file.
        path: PathBuf,
        /// The first, and what to do.
        jump: String,
        /// How many more there are.
        more: usize,
    },
    /// A version that says something else of time that is metered, and not why.
    #[error("{path}: {change} ({more} more like it)")]
    Rewritten {
        /// The file.
        path: PathBuf,
        /// The first, and what to do.
        change: String,
        /// How many more there are.
        more: usize,
    },
    /// `prices.toml`.
    #[error(transparent)]
    Prices(#[from] billing::price::PriceError),
    /// `tenants.toml`.
    #[error(transparent)]
    Tenants(#[from] billing::tenant::TenantError),
}

/// Reads `slicemeter.toml` at `path`, and `tenants.toml` and `prices.toml` beside it.
///
/// # Errors
/// See [`ConfigError`].
pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })
    };
    let content = read(path)?;
    let mut file: File = toml::from_str(&content).map_err(|e| ConfigError::Parse {
        path: path.into(),
        message: e.to_string().trim_end().replace('\n', "\n  "),
    })?;
    let value = |key, message: String| ConfigError::Value { path: path.into(), key, message };
    let zone = parse_zone(&file.billing_zone).map_err(|e| value("billing_zone", e.to_string()))?;
    let currency = Currency::parse(&file.currency).map_err(|e| value("currency", e.to_string()))?;
    if !(1..=3600).contains(&file.close_interval_s) {
        return Err(value("close_interval_s", "write 1 to 3600 seconds".into()));
    }
    if !(1..=120).contains(&file.retention.slices_months) {
        let message = "write 1 to 120 months; 13 outlast a year's dispute";
        return Err(value("retention.slices_months", message.into()));
    }
    if !(256..=1 << 20).contains(&file.engine.memory_mib) {
        return Err(value("engine.memory_mib", "write 256 (it needs about 200 when idle) to 1048576".into()));
    }
    if !(1..=256).contains(&file.engine.concurrency) {
        return Err(value("engine.concurrency", "write 1 to 256".into()));
    }
    if let Some(key) = file.organisation.as_ref().and_then(Organisation::unfit) {
        return Err(value(key, "write one line of text".into()));
    }
    let journal = file.journal.as_ref().map(Journal::template).transpose();
    let journal = journal.map_err(|message| value("journal.columns", message))?;
    // The engine needs an absolute path, and so does whoever reads an error.
    let absolute =
        std::path::absolute(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
    let main = PathBuf::from(absolute.file_name().expect("a file that was read has a name"));
    let directory = absolute.parent().expect("a file lies in a directory").to_path_buf();
    file.engine.data_dir = directory.join(&file.engine.data_dir);
    file.engine.library = file.engine.library.map(|l| directory.join(l));
    let optional = |name: &'static str| {
        let path = directory.join(name);
        let content = if path.exists() { read(&path)? } else { String::new() };
        Ok::<_, ConfigError>(Text { name, content })
    };
    let (prices_text, tenants_text) = (optional("prices.toml")?, optional("tenants.toml")?);
    let tenants = parse_tenants(&directory.join("tenants.toml"), &tenants_text.content, zone)?;
    let prices =
        parse_prices(&directory.join("prices.toml"), &prices_text.content, zone, &currency, &tenants)?;
    let texts = vec![Text { name: "slicemeter.toml", content }, prices_text, tenants_text];
    Ok(Loaded { directory, main, file, zone, currency, prices, tenants, journal, texts })
}

/// A price book that answers in the service's currency and knows the tenants and pools that it names; without content
/// there are no prices.
pub(crate) fn parse_prices(
    path: &Path,
    content: &str,
    zone: Tz,
    currency: &Currency,
    tenants: &Tenants,
) -> Result<PriceBook, ConfigError> {
    if content.is_empty() {
        return Ok(PriceBook::empty());
    }
    Ok(PriceBook::parse(&path.display().to_string(), content, zone)?.bind(currency, tenants)?)
}

/// Tenants and rules; without content there are none.
pub(crate) fn parse_tenants(path: &Path, content: &str, zone: Tz) -> Result<Tenants, ConfigError> {
    if content.is_empty() {
        return Ok(Tenants::empty());
    }
    Ok(Tenants::parse(&path.display().to_string(), content, zone)?)
}

/// Another version of `tenants.toml`, to be tried.
///
/// # Errors
/// The file can't be read or is wrong.
pub fn load_tenants(path: &Path, zone: Tz) -> Result<Tenants, ConfigError> {
    let content = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::ReadTenants { path: path.into(), source })?;
    parse_tenants(path, &content, zone)
}

impl Loaded {
    /// Showback or chargeback, as statements say it.
    pub fn mode(&self) -> Mode {
        match self.file.mode {
            ModeName::Showback => Mode::Showback,
            ModeName::Chargeback => Mode::Chargeback,
        }
    }

    /// A file's content as it was read; empty where it is missing.
    pub fn content(&self, name: &str) -> &str {
        self.texts.iter().find(|text| text.name == name).map_or("", |text| &text.content)
    }

    /// The same with another content of `prices.toml` or `tenants.toml`.
    ///
    /// # Errors
    /// The content is wrong.
    pub fn with(&self, name: &'static str, content: &str) -> Result<Self, ConfigError> {
        let mut other = self.clone();
        if name != "prices.toml" {
            other.tenants = parse_tenants(&self.directory.join(name), content, self.zone)?;
        }
        // Prices name tenants and pools, so they are read again with either.
        let prices = if name == "prices.toml" { content } else { self.content("prices.toml") };
        let path = self.directory.join("prices.toml");
        other.prices = parse_prices(&path, prices, self.zone, &self.currency, &other.tenants)?;
        for text in other.texts.iter_mut().filter(|text| text.name == name) {
            text.content = content.into();
        }
        Ok(other)
    }

    /// What usage is rated with.
    pub fn rules(&self) -> Rules<'_> {
        Rules { tenants: &self.tenants, prices: &self.prices }
    }

    /// The name of those rules: a hash of everything that rating looks at besides usage.
    pub fn rules_name(&self) -> String {
        let all = [self.prices.hash(), self.tenants.hash(), self.zone.name(), self.currency.code(), METHOD];
        billing::place::hash_of(&all.join("\n"))[..32].into()
    }

    /// The same as [`Loaded::with`] for an edit that is to be in force.
    ///
    /// # Errors
    /// The content is wrong, a price of it lies far from the one in force and doesn't say that it is meant, or it says
    /// something else of time that is `metered` and not why.
    pub fn edited(&self, name: &'static str, content: &str, metered: Window) -> Result<Self, ConfigError> {
        let next = self.with(name, content)?;
        next.check_history(&self.prices, metered)?;
        let jumps = next.prices.jumps(&self.prices);
        match jumps.first() {
            Some(first) => Err(ConfigError::Jump {
                path: self.directory.join(name),
                jump: first.to_string(),
                more: jumps.len() - 1,
            }),
            None => Ok(next),
        }
    }

    /// Whether the prices say of time that is `metered` what an earlier version said, or why not.
    ///
    /// # Errors
    /// They say something else without a reason.
    pub fn check_history(&self, old: &PriceBook, metered: Window) -> Result<(), ConfigError> {
        let changes = self.prices.unexplained(old, metered);
        match changes.first() {
            Some(first) => Err(ConfigError::Rewritten {
                path: self.directory.join("prices.toml"),
                change: first.describe(self.zone),
                more: changes.len() - 1,
            }),
            None => Ok(()),
        }
    }

    /// How often hours with news are closed again.
    pub fn close_interval(&self) -> Duration {
        Duration::from_secs(self.file.close_interval_s)
    }

    /// Every instant at which a price or mapping rule changes, Unix milliseconds.
    pub fn changes_ms(&self) -> Vec<i64> {
        let always = Window::new(i64::MIN, i64::MAX);
        let mut changes = self.prices.change_instants(always);
        changes.extend(self.tenants.change_instants(always));
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Where hours are cut.
    pub fn cuts(&self) -> crate::jobs::close::Cuts {
        crate::jobs::close::Cuts { zone: self.zone, changes_ms: self.changes_ms() }
    }
}
