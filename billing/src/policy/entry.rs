//! Reading one entry: values with errors that name file, line, entry and key.

use super::{EntryName, PolicyError, Scope, Valid};
use crate::instant;
use crate::money::UnitPrice;
use crate::place::Place;
use crate::tenant::TenantId;
use chrono_tz::Tz;
use std::collections::BTreeSet;
use toml::Value;

/// A row of a section as TOML has it.
pub(super) trait Row {
    /// The section's name.
    const SECTION: &'static str;
    /// What it is once read.
    type Read;
    /// What errors and charges call it.
    fn id(&self) -> &str;
    /// Whether its id is its own.
    fn owns_id(&self) -> bool {
        true
    }
    /// Reads it.
    fn read(self, entry: &mut Entry<'_>) -> Result<Self::Read, PolicyError>;
}

/// A tenant or a pool that an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    Tenant(TenantId),
    Pool(String),
}

/// Where an entry names something of `tenants.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Used {
    place: Place,
    entry: EntryName,
    key: &'static str,
    pub named: Named,
}

/// An entry that is being read.
pub(super) struct Entry<'a> {
    pub place: Place,
    pub name: EntryName,
    pub zone: Tz,
    used: &'a mut Vec<Used>,
}

impl Used {
    /// It isn't declared.
    pub fn error(&self) -> PolicyError {
        let (place, entry, key) = (self.place.clone(), self.entry.clone(), self.key);
        match &self.named {
            Named::Tenant(id) => PolicyError::UndeclaredTenant { place, entry, key, id: id.clone() },
            Named::Pool(pool) => PolicyError::UndeclaredPool { place, entry, key, pool: pool.clone() },
        }
    }
}

impl<'a> Entry<'a> {
    /// Starts an entry, whose id must be its own.
    pub fn start<R: Row>(
        row: &R,
        place: Place,
        zone: Tz,
        ids: &mut BTreeSet<String>,
        used: &'a mut Vec<Used>,
    ) -> Result<Self, PolicyError> {
        let entry = Self { place, name: EntryName { section: R::SECTION, id: row.id().into() }, zone, used };
        entry.filled("id", row.id())?;
        if row.owns_id() && !ids.insert(row.id().into()) {
            return Err(PolicyError::SameId { place: entry.place, entry: entry.name });
        }
        Ok(entry)
    }

    /// Refuses an empty text.
    pub fn filled(&self, key: &'static str, text: &str) -> Result<(), PolicyError> {
        if text.trim().is_empty() {
            return Err(PolicyError::Empty { place: self.place.clone(), entry: self.name.clone(), key });
        }
        Ok(())
    }

    /// Keys that don't go together.
    pub fn keys(&self, problem: &'static str) -> PolicyError {
        PolicyError::Keys { place: self.place.clone(), entry: self.name.clone(), problem }
    }

    /// A decimal in quotes; a whole number may do without them.
    pub fn decimal(&self, key: &str, value: &Value) -> Result<UnitPrice, PolicyError> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(whole) => whole.to_string(),
            _ => {
                let (place, entry) = (self.place.clone(), self.name.clone());
                return Err(PolicyError::NotQuoted { place, entry, key: key.into() });
            }
        };
        UnitPrice::parse(&text).map_err(|source| PolicyError::Money {
            place: self.place.clone(),
            entry: self.name.clone(),
            key: key.into(),
            source,
        })
    }

    /// A whole number from 1.
    pub fn count(&self, key: &'static str, value: i64, max: i64) -> Result<i64, PolicyError> {
        if (1..=max).contains(&value) {
            return Ok(value);
        }
        Err(PolicyError::Number { place: self.place.clone(), entry: self.name.clone(), key, value, max })
    }

    /// One of a few words.
    pub fn word<T: Copy>(
        &self,
        key: &'static str,
        value: &str,
        words: &[(&'static str, T)],
        more: &str,
    ) -> Result<T, PolicyError> {
        words.iter().find(|(word, _)| *word == value).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            PolicyError::Word {
                place: self.place.clone(),
                entry: self.name.clone(),
                key,
                value: value.into(),
                words: format!("one of {}{more}", names.join(", ")),
            }
        })
    }

    /// A tenant; no reserved name is one.
    pub fn tenant(&mut self, key: &'static str, text: &str) -> Result<TenantId, PolicyError> {
        let id = TenantId::parse(text).map_err(|source| PolicyError::Tenant {
            place: self.place.clone(),
            entry: self.name.clone(),
            key,
            source,
        })?;
        if id.is_reserved() {
            return Err(PolicyError::Reserved {
                place: self.place.clone(),
                entry: self.name.clone(),
                key,
                id,
            });
        }
        self.uses(key, Named::Tenant(id.clone()));
        Ok(id)
    }

    /// A pool of `tenants.toml`.
    pub fn pool(&mut self, key: &'static str, name: &str) -> Result<String, PolicyError> {
        self.filled(key, name)?;
        self.uses(key, Named::Pool(name.into()));
        Ok(name.into())
    }

    /// The devices that the entry is about.
    pub fn scope(&mut self, pool: Option<String>, model: Option<String>) -> Result<Scope, PolicyError> {
        let pool = pool.map(|name| self.pool("pool", &name)).transpose()?;
        if let Some(model) = &model {
            self.filled("model", model)?;
        }
        Ok(Scope { pool, model })
    }

    /// From when to when it holds.
    pub fn valid(&self, from: &Value, to: Option<&Value>) -> Result<Valid, PolicyError> {
        let at = |key, value: &Value| {
            instant::parse(&instant::written(value), self.zone).map_err(|source| PolicyError::Instant {
                place: self.place.clone(),
                entry: self.name.clone(),
                key,
                source,
            })
        };
        let from_ms = at("from", from)?;
        let to_ms = to.map(|to| at("to", to)).transpose()?;
        if to_ms.is_some_and(|to_ms| to_ms <= from_ms) {
            return Err(PolicyError::Backwards { place: self.place.clone(), entry: self.name.clone() });
        }
        Ok(Valid { from_ms, to_ms })
    }

    fn uses(&mut self, key: &'static str, named: Named) {
        self.used.push(Used { place: self.place.clone(), entry: self.name.clone(), key, named });
    }
}
