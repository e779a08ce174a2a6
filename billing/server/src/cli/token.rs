//! `slicemeter token`: secrets for nodes and people. A token is printed once; the store keeps its hash.

use super::{Global, Outcome, WrongUse, load_and_open};
use crate::config::Loaded;
use crate::open::Opened;
use crate::secret;
use crate::store::keys::{Role, TokenKey};
use billing::tenant::TenantId;
use clap::{Args, Subcommand, ValueEnum};

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a token and print it, once
    Create(Create),
    /// List tokens, without the secrets
    List,
    /// End a token by the name or the hash that list shows
    Revoke {
        /// Name or hash
        token: String,
    },
}

#[derive(Debug, Args)]
struct Create {
    /// A token with which nodes join: put it into the collector's configuration
    #[arg(long, conflicts_with_all = ["role", "tenant"])]
    join: bool,
    /// Nodes that join with it may write hours older than 35 days (imports, a backfilled month)
    #[arg(long, requires = "join")]
    backfill: bool,
    /// What a person may read
    #[arg(long, value_enum, required_unless_present = "join")]
    role: Option<RoleName>,
    /// The tenant of --role tenant
    #[arg(long, required_if_eq("role", "tenant"))]
    tenant: Option<String>,
    /// What you call it
    #[arg(long, default_value = "")]
    name: String,
    /// Days until it ends, at most 3650; 1 for --join and 365 for people if missing
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RoleName {
    /// Everything.
    Operator,
    /// One tenant's own statements.
    Tenant,
}

/// Makes, lists or revokes.
///
/// # Errors
/// Wrong use, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = match options.command {
        Command::Create(create) => make(create, &opened).await,
        Command::List => list(&config, &opened).await,
        Command::Revoke { token } => revoke(&token, &opened).await,
    };
    opened.close().await;
    outcome
}

async fn make(create: Create, opened: &Opened) -> anyhow::Result<Outcome> {
    let role = match (create.join, create.role, create.tenant) {
        (true, _, _) => Role::Join { backfill: create.backfill },
        (false, Some(RoleName::Tenant), Some(tenant)) => Role::Tenant(
            TenantId::parse(&tenant).map_err(|e| WrongUse(format!("--tenant: {e}")))?.as_str().into(),
        ),
        (false, Some(RoleName::Operator), None) => Role::Operator,
        _ => return Err(WrongUse("--tenant goes with --role tenant".into()).into()),
    };
    let (prefix, days) = match role {
        Role::Join { .. } => ("smj", create.days.unwrap_or(1)),
        Role::Operator | Role::Tenant(_) => ("smt", create.days.unwrap_or(365)),
    };
    let token = secret::new(prefix)?;
    let now_ms = crate::clock::now_ms();
    let key = TokenKey {
        hash: secret::hash(&token),
        name: create.name,
        role,
        expires_at_ms: now_ms + i64::from(days) * 24 * 3_600_000,
    };
    opened.store.writer().put_token_key(&key, false, now_ms).await?;
    println!("{token}");
    Ok(Outcome::Done)
}

async fn list(config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let now_ms = crate::clock::now_ms();
    for key in opened.store.reader().token_keys().await? {
        let role = match &key.role {
            Role::Join { backfill: true } => "join, backfill".into(),
            Role::Join { backfill: false } => "join".into(),
            Role::Operator => "operator".into(),
            Role::Tenant(tenant) => format!("tenant {tenant}"),
        };
        let ends = billing::instant::local(key.expires_at_ms, chrono_tz::Tz::UTC).format("%Y-%m-%dT%H:%MZ");
        let ended = match (key.expires_at_ms <= now_ms, key.role.has_ended(&config.tenants, now_ms)) {
            (_, true) => "  ENDED with its tenant",
            (true, false) => "  ENDED",
            (false, false) => "",
        };
        println!("{}  {:<24} {:<20} until {ends}{ended}", &key.hash[..16], role, key.name);
    }
    Ok(Outcome::Done)
}

async fn revoke(token: &str, opened: &Opened) -> anyhow::Result<Outcome> {
    let keys = opened.store.reader().token_keys().await?;
    let fits = |k: &&TokenKey| {
        (!k.name.is_empty() && k.name == token) || (token.len() >= 8 && k.hash.starts_with(token))
    };
    let found: Vec<&TokenKey> = keys.iter().filter(fits).collect();
    match found[..] {
        [key] => {
            opened.store.writer().put_token_key(key, true, crate::clock::now_ms()).await?;
            Ok(Outcome::Done)
        }
        [] => Err(WrongUse(format!("no token {token:?}: `slicemeter token list` shows all")).into()),
        _ => Err(WrongUse(format!("several tokens are called {token:?}: give the hash")).into()),
    }
}
