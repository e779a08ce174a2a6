//! What a person posts: a credit, an adjustment or a tax, with author and reason.
//!
//! A credit or adjustment takes money from one statement to another, by default from or to the platform's, and is a pair.
//! A tax is owed to somebody outside and is one row.

use crate::charge::{Charge, ChargeKind};
use crate::money::{Amount, Currency};
use crate::tenant::{TenantId, Tenants};
use schema::units::NanoGpuHours;
use serde::{Deserialize, Serialize};

/// Longest reason, in characters: it stands on a statement.
pub const REASON_MAX: usize = 500;

/// Whether a reason is one line that a statement can print.
pub fn fits_a_statement(reason: &str) -> bool {
    reason.chars().count() <= REASON_MAX && !reason.chars().any(char::is_control)
}

/// Kinds of rows that a person may post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PostingKind {
    /// Less to pay.
    Credit,
    /// More or less to pay.
    Adjustment,
    /// Tax.
    Tax,
}

/// A row that a person posts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// Its own name, which the rows refer to.
    pub id: String,
    /// What kind.
    pub kind: PostingKind,
    /// On whose statement.
    pub tenant: TenantId,
    /// On whose the other side stands; `None` for the platform's.
    pub counterpart: Option<TenantId>,
    /// What the tenant pays more; negative for less.
    pub amount: Amount,
    /// Who posts it.
    pub author: String,
    /// Why, in words for the statement.
    pub reason: String,
}

/// Why a posting isn't taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostingError {
    /// Nothing to post.
    #[error("the amount is zero: there is nothing to post")]
    Zero,
    /// A credit that would charge.
    #[error("a credit of {0} would be charged: write a negative amount, or post an adjustment")]
    CreditAbove(String),
    /// An empty text.
    #[error("{0} is empty: say who posts it and why")]
    Empty(&'static str),
    /// A text that is no line of a statement.
    #[error("the reason must be one line of at most {REASON_MAX} characters")]
    Reason,
    /// Not a tenant.
    #[error("{0} is no declared tenant: correct the name, or add a [[tenant]] to tenants.toml")]
    Unknown(TenantId),
    /// Both sides on one statement.
    #[error("both sides of the posting are on the statement of {0}: name another counterpart")]
    SameTenant(TenantId),
    /// A tax with another side.
    #[error("a tax has no counterpart: leave it out")]
    TaxCounterpart,
    /// Not an amount of the currency.
    #[error("{text:?} is no amount: write digits with at most {digits} decimals, such as \"-14.00\"")]
    Amount {
        /// As written.
        text: String,
        /// Decimals of the currency.
        digits: u32,
    },
}

/// An amount as a person writes it: `-14.00`, `1050`.
///
/// # Errors
/// Anything else, and more decimals than the currency has.
pub fn parse_amount(text: &str, currency: &Currency) -> Result<Amount, PostingError> {
    let digits = currency.minor_digits();
    let wrong = || PostingError::Amount { text: text.into(), digits };
    let (sign, plain) = text.strip_prefix('-').map_or((1, text), |plain| (-1, plain));
    let (whole, decimals) = plain.split_once('.').unwrap_or((plain, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let width = usize::try_from(digits).expect("a few digits");
    let too_fine = decimals.len() > width || plain.ends_with('.');
    if whole.is_empty() || !all_digits(whole) || !all_digits(decimals) || too_fine {
        return Err(wrong());
    }
    let units: i64 = format!("{whole}{decimals:0<width$}").parse().map_err(|_| wrong())?;
    Ok(Amount(sign * units))
}

impl Posting {
    /// The rows of the posting: its own, and the other side's.
    ///
    /// # Errors
    /// What is wrong with it, with the remedy.
    pub fn charges(&self, tenants: &Tenants, currency: &Currency) -> Result<Vec<Charge>, PostingError> {
        self.check(tenants, currency)?;
        let kind = match self.kind {
            PostingKind::Credit => ChargeKind::Credit,
            PostingKind::Adjustment => ChargeKind::Adjustment,
            PostingKind::Tax => ChargeKind::Tax,
        };
        let row = |tenant: &TenantId, amount: Amount, counterpart: Option<TenantId>| Charge {
            tenant: tenant.clone(),
            kind,
            what: format!("{} (posted by {})", self.reason, self.author),
            held: NanoGpuHours(0),
            quantity: None,
            unit_price: None,
            exact: amount.exact(currency),
            amount,
            reference: self.id.clone(),
            counterpart,
        };
        if self.kind == PostingKind::Tax {
            return Ok(vec![row(&self.tenant, self.amount, None)]);
        }
        let other = self.other();
        let there = row(&other, -self.amount, Some(self.tenant.clone()));
        Ok(vec![row(&self.tenant, self.amount, Some(other)), there])
    }

    fn other(&self) -> TenantId {
        self.counterpart.clone().unwrap_or_else(TenantId::platform)
    }

    fn check(&self, tenants: &Tenants, currency: &Currency) -> Result<(), PostingError> {
        let known =
            |id: &TenantId| tenants.rules().is_empty() && !id.is_reserved() || tenants.is_declared(id);
        if !known(&self.tenant) {
            return Err(PostingError::Unknown(self.tenant.clone()));
        }
        if let Some(other) = &self.counterpart {
            if self.kind == PostingKind::Tax {
                return Err(PostingError::TaxCounterpart);
            }
            if *other != TenantId::platform() && !known(other) {
                return Err(PostingError::Unknown(other.clone()));
            }
        }
        if self.other() == self.tenant {
            return Err(PostingError::SameTenant(self.tenant.clone()));
        }
        for (key, text) in [("the id", &self.id), ("the author", &self.author), ("the reason", &self.reason)]
        {
            if text.trim().is_empty() {
                return Err(PostingError::Empty(key));
            }
        }
        if !fits_a_statement(&self.reason) {
            return Err(PostingError::Reason);
        }
        match (self.kind, self.amount.0) {
            (_, 0) => Err(PostingError::Zero),
            (PostingKind::Credit, 1..) => Err(PostingError::CreditAbove(currency.show(self.amount))),
            _ => Ok(()),
        }
    }
}
