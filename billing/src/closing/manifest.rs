//! The manifest of a close: by hash, everything that went in and every statement that came out, so that both can be
//! verified years later.

use super::Item;
use crate::place::hash_of;
use crate::statement::{Bill, Fleet, PlatformStatement, Statement, Version};
use serde::{Deserialize, Serialize};

/// A published revision of an hour that a period was closed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourPin {
    /// Start, Unix seconds.
    pub hour_s: u32,
    /// Its revision.
    pub revision: u64,
}

/// Something that was waived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// What.
    pub item: Item,
    /// What was found.
    pub finding: String,
    /// Why it was waived.
    pub reason: String,
}

/// What a period was closed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// Label of the period.
    pub period: String,
    /// Billing zone.
    pub zone: String,
    /// Currency of all amounts.
    pub currency: String,
    /// Hash of the hours and their revisions.
    pub hours_sha256: String,
    /// The store's checksum of the closed rows of usage and of devices.
    pub rows_checksum: String,
    /// The price book.
    pub prices: Version,
    /// Tenants and mapping rules.
    pub mapping: Version,
    /// The method that rated.
    pub method: String,
    /// Version and revision of the software.
    pub software: String,
    /// Hash of what people had posted.
    pub postings_sha256: String,
    /// What was waived.
    pub waivers: Vec<Waiver>,
}

/// A statement by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// Whose: a tenant's id, `platform` or `fleet`.
    pub owner: String,
    /// Of the document as it is stored.
    pub sha256: String,
}

/// What went in and what came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What went in.
    pub inputs: Inputs,
    /// What came out, in the order of owners.
    pub statements: Vec<Pinned>,
}

/// A document of a closed period, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Whose: a tenant's id, `platform` or `fleet`.
    pub owner: String,
    /// The document, JSON.
    pub content: String,
}

/// Name of the document that holds the fleet.
const FLEET: &str = "fleet";

impl HourPin {
    /// The hash of all hours of a period, in order.
    pub fn hash_of_all(hours: &[HourPin]) -> String {
        let lines: Vec<String> = hours.iter().map(|h| format!("{} {}", h.hour_s, h.revision)).collect();
        hash_of(&lines.join("\n"))
    }
}

impl Inputs {
    /// The name of the close that statements print: a hash of everything that went in.
    pub fn id(&self) -> String {
        hash_of(&serde_json::to_string(self).expect("texts and numbers serialise"))
    }
}

/// A bill as documents, and the manifest of both.
pub fn seal(bill: &Bill, inputs: Inputs) -> (Manifest, Vec<Sealed>) {
    let document = |owner: &str, content: serde_json::Result<String>| Sealed {
        owner: owner.into(),
        content: content.expect("a statement of texts and integers serialises"),
    };
    let mut sealed: Vec<Sealed> =
        bill.tenants.iter().map(|s| document(s.tenant.id.as_str(), serde_json::to_string(s))).collect();
    sealed.push(document(crate::tenant::TenantId::PLATFORM, serde_json::to_string(&bill.platform)));
    sealed.push(document(FLEET, serde_json::to_string(&bill.fleet)));
    let statements =
        sealed.iter().map(|s| Pinned { owner: s.owner.clone(), sha256: hash_of(&s.content) }).collect();
    (Manifest { inputs, statements }, sealed)
}

impl Manifest {
    /// The bill that documents hold, or which document isn't what the manifest pins.
    ///
    /// # Errors
    /// The owner of a document that is missing, changed or can't be read, and why.
    pub fn open(&self, sealed: &[Sealed]) -> Result<Bill, String> {
        let mut tenants: Vec<Statement> = Vec::new();
        let (mut platform, mut fleet): (Option<PlatformStatement>, Option<Fleet>) = (None, None);
        for pinned in &self.statements {
            let owner = &pinned.owner;
            let found = sealed.iter().find(|s| s.owner == *owner).ok_or(format!("{owner}: is missing"))?;
            if hash_of(&found.content) != pinned.sha256 {
                return Err(format!("{owner}: isn't what the manifest pins"));
            }
            let unreadable = |error: serde_json::Error| format!("{owner}: {error}");
            match owner.as_str() {
                crate::tenant::TenantId::PLATFORM => {
                    platform = Some(serde_json::from_str(&found.content).map_err(unreadable)?);
                }
                FLEET => fleet = Some(serde_json::from_str(&found.content).map_err(unreadable)?),
                _ => tenants.push(serde_json::from_str(&found.content).map_err(unreadable)?),
            }
        }
        match (platform, fleet) {
            (Some(platform), Some(fleet)) => Ok(Bill { tenants, platform, fleet }),
            _ => Err("the platform's statement or the fleet is missing".into()),
        }
    }
}
