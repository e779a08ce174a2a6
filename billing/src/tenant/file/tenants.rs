//! `[[tenant]]` with its dated changes: each row checked, then the tree at every instant at which it changes.

use super::{own_id, read_instant};
use crate::money::Currency;
use crate::place::Place;
use crate::tenant::master::History;
use crate::tenant::{Tenant, TenantError, TenantId};
use chrono_tz::Tz;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A `[[tenant]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    id: String,
    statement_prefix: Option<String>,
    ends: Option<toml::Value>,
    name: Option<String>,
    parent: Option<String>,
    cost_centre: Option<String>,
    account: Option<String>,
    contacts: Option<Vec<String>>,
    language: Option<String>,
    currency: Option<String>,
    #[serde(default)]
    change: Vec<Change>,
}

/// A `[[tenant.change]]`: what it names holds from then on, the rest stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    from: toml::Value,
    name: Option<String>,
    parent: Option<String>,
    cost_centre: Option<String>,
    account: Option<String>,
    contacts: Option<Vec<String>>,
    language: Option<String>,
    currency: Option<String>,
}

/// Longest prefix of statement numbers: they stay readable on a page.
const PREFIX_LEN_MAX: usize = 32;
/// More people than this are a mailing list.
const CONTACTS_MAX: usize = 20;
/// Longest address that mail carries.
const CONTACT_LEN_MAX: usize = 254;

/// All tenants by id.
pub(super) fn read(
    rows: impl Iterator<Item = (Place, Row)>,
    zone: Tz,
) -> Result<BTreeMap<TenantId, History>, TenantError> {
    let mut tenants: BTreeMap<TenantId, History> = BTreeMap::new();
    for (place, row) in rows {
        let history = read_tenant(&place, row, zone)?;
        let tenant = history.latest();
        let (id, prefix) = (tenant.id.clone(), tenant.statement_prefix.clone());
        let other =
            tenants.values().map(History::latest).find(|t| t.statement_prefix == prefix && t.id != id);
        if let Some(other) = other {
            return Err(TenantError::SamePrefix { place, first: other.id.clone(), second: id, prefix });
        }
        if tenants.insert(id.clone(), history).is_some() {
            return Err(TenantError::SameId { place, id });
        }
    }
    let instants: BTreeSet<i64> = tenants.values().flat_map(History::instants).collect();
    for id in tenants.keys() {
        instants.iter().try_for_each(|at_ms| check_ancestors(id, *at_ms, &tenants))?;
    }
    Ok(tenants)
}

fn read_tenant(place: &Place, row: Row, zone: Tz) -> Result<History, TenantError> {
    let id = own_id(place, "id", &row.id)?;
    if id.is_reserved() {
        return Err(TenantError::Reserved { place: place.clone(), id });
    }
    let safe = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let fits = |p: &String| (1..=PREFIX_LEN_MAX).contains(&p.len()) && p.bytes().all(safe);
    let written_well = row.statement_prefix.as_ref().is_none_or(fits);
    let statement_prefix = row.statement_prefix.unwrap_or_else(|| row.id.clone());
    // A `~` at the end tells an undeclared tenant from a declared one of the same prefix.
    if !written_well || statement_prefix == TenantId::PLATFORM_PREFIX || statement_prefix.ends_with('~') {
        return Err(TenantError::BadPrefix { place: place.clone(), id, prefix: statement_prefix });
    }
    let whose = format!("tenant {id}");
    let ends_ms = row.ends.map(|value| read_instant(place, &whose, "ends", &value, zone)).transpose()?;
    let mut tenant = Tenant { ends_ms, ..Tenant::undeclared(&id, statement_prefix) };
    let first = Data {
        name: row.name,
        parent: row.parent,
        cost_centre: row.cost_centre,
        account: row.account,
        contacts: row.contacts,
        language: row.language,
        currency: row.currency,
    };
    first.put(place, &mut tenant)?;
    let mut history = History::new(place.clone(), tenant.clone());
    let mut last_ms = i64::MIN;
    for change in row.change {
        let from_ms = read_instant(place, &whose, "from of a change", &change.from, zone)?;
        if from_ms <= last_ms {
            return Err(TenantError::ChangeOrder { place: place.clone(), id });
        }
        if ends_ms.is_some_and(|ends_ms| ends_ms <= from_ms) {
            return Err(TenantError::ChangeAfterEnd { place: place.clone(), id });
        }
        let data = Data {
            name: change.name,
            parent: change.parent,
            cost_centre: change.cost_centre,
            account: change.account,
            contacts: change.contacts,
            language: change.language,
            currency: change.currency,
        };
        if data == Data::default() {
            return Err(TenantError::EmptyChange { place: place.clone(), id });
        }
        data.put(place, &mut tenant)?;
        history.push(from_ms, tenant.clone());
        last_ms = from_ms;
    }
    Ok(history)
}

/// What may change over time.
#[derive(Default, PartialEq, Eq)]
struct Data {
    name: Option<String>,
    parent: Option<String>,
    cost_centre: Option<String>,
    account: Option<String>,
    contacts: Option<Vec<String>>,
    language: Option<String>,
    currency: Option<String>,
}

impl Data {
    /// Puts what is stated over what was. An empty `parent`, `cost_centre` or `account` takes it away.
    fn put(self, place: &Place, tenant: &mut Tenant) -> Result<(), TenantError> {
        let wrong = |key, value: &str, remedy| TenantError::Value {
            place: place.clone(),
            id: tenant.id.clone(),
            key,
            value: value.into(),
            remedy,
        };
        if let Some(contact) = self.contacts.iter().flatten().find(|c| !is_address(c)) {
            return Err(wrong(
                "contacts",
                contact,
                "write e-mail addresses, such as \"gpu-billing@example.org\"",
            ));
        }
        if self.contacts.as_ref().is_some_and(|c| c.len() > CONTACTS_MAX) {
            return Err(wrong("contacts", "more than 20", "name a mailing list instead"));
        }
        if let Some(language) = self.language.as_ref().filter(|l| !is_language(l)) {
            return Err(wrong(
                "language",
                language,
                "write a BCP 47 tag, such as \"en\", \"de\" or \"pt-BR\"",
            ));
        }
        let currency = self.currency.as_deref().map(Currency::parse).transpose().map_err(|_| {
            wrong(
                "currency",
                self.currency.as_deref().unwrap_or(""),
                "write an ISO 4217 code, such as \"EUR\"",
            )
        })?;
        let parent = match self.parent.as_deref() {
            None => tenant.parent.take(),
            Some("") => None,
            Some(parent) => Some(own_id(place, "parent", parent)?),
        };
        tenant.parent = parent;
        if let Some(name) = self.name {
            tenant.name = name;
        }
        if let Some(cost_centre) = self.cost_centre {
            tenant.cost_centre = Some(cost_centre).filter(|c| !c.is_empty());
        }
        if let Some(account) = self.account {
            tenant.account = Some(account).filter(|a| !a.is_empty());
        }
        if let Some(contacts) = self.contacts {
            tenant.contacts = contacts;
        }
        tenant.language = self.language.or(tenant.language.take());
        tenant.currency = currency.or(tenant.currency.take());
        Ok(())
    }
}

/// Something before and after one `@`, a dot in the domain, nothing that isn't printed.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    let printed =
        |t: &str| t.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"@<>,;\"".contains(c));
    let dotted = domain.split('.').count() > 1 && domain.split('.').all(|part| !part.is_empty());
    !local.is_empty() && dotted && printed(local) && printed(domain) && text.len() <= CONTACT_LEN_MAX
}

/// The form of a BCP 47 tag: a language of two or three letters, then parts of one to eight letters or digits.
fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or("");
    let plain = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    (2..=3).contains(&language.len())
        && language.bytes().all(|b| b.is_ascii_alphabetic())
        && parts.all(plain)
        && text.len() <= 35
}

/// Every parent is declared and nobody is their own ancestor, at an instant.
fn check_ancestors(
    id: &TenantId,
    at_ms: i64,
    tenants: &BTreeMap<TenantId, History>,
) -> Result<(), TenantError> {
    let place = || tenants[id].place().clone();
    let mut at = id;
    // A walk longer than there are tenants has met one twice.
    for _ in 0..=tenants.len() {
        let Some(parent) = &tenants[at].at(at_ms).parent else { return Ok(()) };
        if !tenants.contains_key(parent) {
            return Err(TenantError::Undeclared { place: place(), key: "parent", id: parent.clone() });
        }
        at = parent;
    }
    Err(TenantError::Circle { place: place(), id: id.clone() })
}
