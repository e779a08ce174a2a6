//! `slicemeter adjust`: what people post to an open month, with author and reason.

use super::period::month;
use super::{Global, Outcome, WrongUse, load_and_open, person};
use crate::config::Loaded;
use crate::open::Opened;
use crate::periods::{self, Posted};
use billing::charge::Charge;
use billing::post::adjust::{Posting, PostingKind, parse_amount};
use billing::post::reconcile::{Difference, Invoice, reconcile};
use billing::tenant::TenantId;
use clap::{Args, Subcommand, ValueEnum};
use dashboards::text;
use std::collections::BTreeMap;

mod credits;

/// What to do.
#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Post a credit, an adjustment or a tax to a tenant's statement
    Add(AddOptions),
    /// Post the difference between a real invoice and the ledger's total of a month
    Reconcile(ReconcileOptions),
    /// Credits that a [[credit_rule]] proposes for work lost to a failed node, a fatal XID or a lost GPU; nothing is posted
    Propose {
        /// The month of the failures, 2026-10
        #[arg(long)]
        period: String,
    },
    /// Post proposed credits to an open month; approved twice, a proposal is posted once
    Approve(credits::ApproveOptions),
    /// What was posted to a month
    List {
        /// 2026-10
        #[arg(long)]
        period: String,
    },
}

#[derive(Debug, Args)]
struct AddOptions {
    /// The open month, 2026-10
    #[arg(long)]
    period: String,
    /// Whose statement
    #[arg(long)]
    tenant: String,
    /// What kind of row
    #[arg(long, value_enum)]
    kind: Kind,
    /// What the tenant pays more, such as 12.50; less is negative, and written --amount=-12.50
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// Why; it is printed on the statement
    #[arg(long)]
    reason: String,
    /// Whose statement takes the other side; the platform's if missing
    #[arg(long, value_name = "TENANT")]
    counterpart: Option<String>,
    /// Who posts; the user of this shell if missing
    #[arg(long)]
    author: Option<String>,
}

#[derive(Debug, Args)]
struct ReconcileOptions {
    /// The open month, 2026-10
    #[arg(long)]
    period: String,
    /// The invoice, as rows name it: "cloud 2026-10 no. 77"
    #[arg(long)]
    invoice: String,
    /// What it comes to
    #[arg(long)]
    total: String,
    /// Share the difference out over tenants by their cost; the platform keeps it if missing
    #[arg(long)]
    by_cost: bool,
    /// Who posts; the user of this shell if missing
    #[arg(long)]
    author: Option<String>,
}

/// Kinds of rows.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Less to pay.
    Credit,
    /// More or less to pay.
    Adjustment,
    /// Tax.
    Tax,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Credit => "credit",
            Kind::Adjustment => "adjustment",
            Kind::Tax => "tax",
        }
    }
}

/// Posts or lists.
///
/// # Errors
/// The posting is wrong, the month is closed, or the store can't be reached.
pub async fn run(options: Options, global: &Global) -> anyhow::Result<Outcome> {
    let (config, opened) = load_and_open(global).await?;
    let outcome = match options.command {
        Command::Add(options) => add(&options, &config, &opened).await,
        Command::Reconcile(options) => reconciled(&options, &config, &opened).await,
        Command::Propose { period } => credits::propose(&period, &config, &opened).await,
        Command::Approve(options) => credits::approve(&options, &config, &opened).await,
        Command::List { period } => list(&period, &config, &opened).await,
    };
    opened.close().await;
    outcome
}

async fn add(options: &AddOptions, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let tenant = |text: &str| TenantId::parse(text).map_err(|e| WrongUse(e.to_string()));
    let period = month(&options.period, config)?;
    let now_ms = crate::clock::now_ms();
    let posting = Posting {
        id: format!("{}-{now_ms}", options.kind.name()),
        kind: match options.kind {
            Kind::Credit => PostingKind::Credit,
            Kind::Adjustment => PostingKind::Adjustment,
            Kind::Tax => PostingKind::Tax,
        },
        tenant: tenant(&options.tenant)?,
        counterpart: options.counterpart.as_deref().map(tenant).transpose()?,
        amount: parse_amount(&options.amount, &config.currency)
            .map_err(|e| WrongUse(format!("--amount: {e}")))?,
        author: person(options.author.as_deref()),
        reason: options.reason.clone(),
    };
    let charges = posting.charges(&config.tenants, &config.currency).map_err(|e| WrongUse(e.to_string()))?;
    let posted = Posted { charges: charges.clone(), correction: None };
    periods::post(
        &opened.store,
        &period,
        options.kind.name(),
        posting.id.clone(),
        &posting.reason,
        &posting.author,
        &posted,
    )
    .await?;
    print_posted(&posting.id, &charges, config, period.label());
    Ok(Outcome::Done)
}

async fn reconciled(options: &ReconcileOptions, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(&options.period, config)?;
    let (bill, _) = periods::check(&opened.store, config, &period).await?;
    let total =
        parse_amount(&options.total, &config.currency).map_err(|e| WrongUse(format!("--total: {e}")))?;
    let invoice = Invoice { name: options.invoice.clone(), total };
    let costs: BTreeMap<TenantId, _> =
        bill.tenants.iter().map(|s| (s.tenant.id.clone(), s.totals.amount)).collect();
    let difference = if options.by_cost { Difference::ByCost(&costs) } else { Difference::Platform };
    let charges = reconcile(&invoice, bill.fleet.amount, &difference, &config.currency);
    if charges.is_empty() {
        println!("{} agrees with the ledger: nothing is posted", options.invoice);
        return Ok(Outcome::Done);
    }
    let author = person(options.author.as_deref());
    // The same invoice reconciled again is the same posting.
    let id = format!("reconciliation-{}", &billing::place::hash_of(&options.invoice)[..16]);
    if opened.store.reader().postings(&[period.label().to_owned()]).await?.iter().any(|p| p.posting_id == id)
    {
        return Err(WrongUse(format!(
            "{} is reconciled in {} already: give a later invoice a name of its own",
            options.invoice,
            period.label()
        ))
        .into());
    }
    let reason = format!("invoice {}", options.invoice);
    let posted = Posted { charges: charges.clone(), correction: None };
    periods::post(&opened.store, &period, "reconciliation", id.clone(), &reason, &author, &posted).await?;
    print_posted(&id, &charges, config, period.label());
    Ok(Outcome::Done)
}

fn print_posted(id: &str, charges: &[Charge], config: &Loaded, period: &str) {
    println!("{id} is posted to {period}");
    print!("{}", text::charges(charges, &config.currency));
}

async fn list(text: &str, config: &Loaded, opened: &Opened) -> anyhow::Result<Outcome> {
    let period = month(text, config)?;
    for posting in opened.store.reader().postings(&[period.label().to_owned()]).await? {
        println!("{}  by {}: {}", posting.posting_id, posting.author, posting.reason);
        let posted: Posted = serde_json::from_str(&posting.content)?;
        print!("{}", text::charges(&posted.charges, &config.currency));
    }
    Ok(Outcome::Done)
}
