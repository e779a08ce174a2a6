//! What exports need to know besides the ledger: who issues the statements, and how an ERP takes them.

use billing::export::journal::{Column, Content, Field, Template};
use serde::Deserialize;

/// `[journal]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The platform's cost centre, which takes the other side of every entry.
    pub cost_centre: String,
    /// The platform's account.
    pub account: String,
    /// Account of tenants that name none in tenants.toml.
    pub tenant_account: String,
    /// The columns in order; every field under its own name if missing.
    #[serde(default)]
    pub columns: Vec<JournalColumn>,
}

/// A column of a journal: `{ name = "BUDAT", field = "date" }`, or `{ name = "BUKRS", fixed = "1000" }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalColumn {
    /// Its head.
    pub name: String,
    /// A field of the entry.
    pub field: Option<String>,
    /// The same text in every row.
    pub fixed: Option<String>,
}

impl Journal {
    /// The template, or what is wrong with a column.
    pub(super) fn template(&self) -> Result<Template, String> {
        let own = |(name, field): (&str, Field)| Column { name: name.into(), content: Content::Field(field) };
        let columns = if self.columns.is_empty() {
            Field::ALL.into_iter().map(own).collect()
        } else {
            self.columns.iter().map(JournalColumn::read).collect::<Result<_, _>>()?
        };
        Ok(Template {
            columns,
            cost_centre: self.cost_centre.clone(),
            account: self.account.clone(),
            tenant_account: self.tenant_account.clone(),
        })
    }
}

impl JournalColumn {
    fn read(&self) -> Result<Column, String> {
        let names = || Field::ALL.map(|(name, _)| name).join(", ");
        let content = match (&self.field, &self.fixed) {
            (Some(name), None) => {
                let found = Field::ALL.into_iter().find(|(own, _)| own == name);
                let (_, field) =
                    found.ok_or_else(|| format!("{name:?} is no field: write one of {}", names()))?;
                Content::Field(field)
            }
            (None, Some(text)) => Content::Fixed(text.clone()),
            _ => return Err(format!("column {:?} needs either field or fixed", self.name)),
        };
        Ok(Column { name: self.name.clone(), content })
    }
}

/// `[organisation]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// Name of who runs the GPUs and issues the statements.
    pub name: String,
    /// Stable id of the account that all statements are of.
    pub account_id: String,
    /// Where the hardware stands, where it is in one place.
    pub region: Option<String>,
}

impl Organisation {
    /// The key of a text that is no line of a file.
    pub(super) fn unfit(&self) -> Option<&'static str> {
        let texts = [("organisation.name", &self.name), ("organisation.account_id", &self.account_id)];
        let unfit = |text: &str| text.trim().is_empty() || text.chars().any(char::is_control);
        texts.into_iter().find(|(_, text)| unfit(text)).map(|(key, _)| key)
    }
}
