//! A tenant's id: safe in a URL path, a file name, a metric label and a CSV cell, whatever a user called a namespace.

use serde::{Deserialize, Serialize};

/// Longest id in bytes: file names and labels stay well inside every limit.
const LEN_MAX: usize = 128;

/// A tenant's id: letters, digits, `.`, `_`, `-`, starting with a letter or digit. Ids derived from raw names may carry
/// `~` and two hexadecimal digits for any other byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantId(String);

/// A text that can't be a tenant's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} can't be a tenant id: use at most {LEN_MAX} letters, digits, '.', '_' or '-', starting with a letter or digit"
)]
pub struct BadTenantId(pub String);

impl TenantId {
    /// Use that nobody could be found for.
    pub const UNATTRIBUTED: &'static str = "unattributed";
    /// What nobody held: free, stranded, unavailable, unobserved.
    pub const PLATFORM: &'static str = "platform";

    /// Prefix of the platform's statement numbers, which is no tenant's.
    pub const PLATFORM_PREFIX: &'static str = "PLATFORM";

    /// Names that mean something else wherever tenants are listed.
    pub const RESERVED: [&'static str; 7] =
        [Self::UNATTRIBUTED, Self::PLATFORM, "free", "stranded", "unavailable", "unobserved", "ghost"];

    /// An id as it stands in a URL, a file or a rule.
    ///
    /// # Errors
    /// A text with other characters, empty or too long.
    pub fn parse(text: &str) -> Result<Self, BadTenantId> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '~');
        let plain = text.bytes().all(|b| is_plain(b) || b == b'~');
        if !starts_well || !plain || text.len() > LEN_MAX {
            return Err(BadTenantId(text.into()));
        }
        Ok(Self(text.into()))
    }

    /// The reserved tenant of use without an owner.
    pub fn unattributed() -> Self {
        Self(Self::UNATTRIBUTED.into())
    }

    /// The reserved name of the platform itself.
    pub fn platform() -> Self {
        Self(Self::PLATFORM.into())
    }

    /// Whether the name is reserved.
    pub fn is_reserved(&self) -> bool {
        Self::RESERVED.contains(&self.0.as_str())
    }

    /// The tenant named after a namespace, account or user. Different names give different ids: what isn't plain is
    /// written as `~` and two hexadecimal digits, a reserved name gets its first letter written so, and what would be
    /// too long keeps its beginning and ends in a hash.
    pub fn from_name(name: &str) -> Self {
        let reserved = Self::RESERVED.contains(&name);
        let escaped: String = name
            .bytes()
            .enumerate()
            .map(|(at, b)| {
                let keep = if at == 0 { b.is_ascii_alphanumeric() && !reserved } else { is_plain(b) };
                if keep { char::from(b).to_string() } else { format!("~{b:02x}") }
            })
            .collect();
        if escaped.len() <= LEN_MAX && !escaped.is_empty() {
            return Self(escaped);
        }
        let hash = &crate::place::hash_of(name)[..32];
        Self(format!("{}~~{hash}", &escaped[..escaped.len().min(LEN_MAX - 34)]))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

impl std::fmt::Display for TenantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TenantId {
    type Error = BadTenantId;
    fn try_from(text: String) -> Result<Self, BadTenantId> {
        Self::parse(&text)
    }
}

impl From<TenantId> for String {
    fn from(id: TenantId) -> String {
        id.0
    }
}
