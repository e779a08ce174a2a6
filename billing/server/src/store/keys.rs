//! Credentials and tokens as the store keeps them: by SHA-256, never the secret itself.

use super::{Doing, Reader, StoreError, Writer};
use billing::tenant::{TenantId, Tenants};
use clickhouse::Row;
use schema::sql;
use serde::{Deserialize, Serialize};

/// A node's credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeKey {
    /// SHA-256 of the credential, hexadecimal.
    pub hash: String,
    /// Cluster that it may write for.
    pub cluster: String,
    /// Node that it may write for.
    pub node: String,
    /// May write hours past the age limit.
    pub backfill: bool,
}

/// What a token may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Enrol nodes.
    Join {
        /// The nodes' credentials may write the past.
        backfill: bool,
    },
    /// Read everything.
    Operator,
    /// Read one tenant's statements.
    Tenant(String),
}

impl Role {
    /// Whether it is of a tenant that had ended at an instant.
    pub fn has_ended(&self, tenants: &Tenants, at_ms: i64) -> bool {
        match self {
            Self::Tenant(tenant) => {
                TenantId::parse(tenant).is_ok_and(|id| tenants.ended(&id, at_ms).is_some())
            }
            Self::Join { .. } | Self::Operator => false,
        }
    }
}

/// A token that a person or a joining node carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenKey {
    /// SHA-256 of the token, hexadecimal.
    pub hash: String,
    /// What the operator calls it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it ends, Unix milliseconds.
    pub expires_at_ms: i64,
}

#[derive(Row, Deserialize)]
struct NodeKeyFound {
    credential_hash: String,
    cluster_name: String,
    node_name: String,
    backfill: bool,
}

#[derive(Row, Serialize, Deserialize)]
struct NodeKeyRow {
    credential_hash: String,
    cluster: String,
    node: String,
    backfill: bool,
    revoked: bool,
    changed_at_ms: i64,
}

#[derive(Row, Deserialize)]
struct TokenFound {
    token_hash: String,
    name: String,
    role_name: String,
    tenant: String,
    backfill: bool,
    expires_at_ms: i64,
    #[allow(dead_code)] // the query's order is by it
    changed_at_ms: i64,
}

#[derive(Row, Serialize, Deserialize)]
struct TokenRow {
    token_hash: String,
    name: String,
    role: i8,
    tenant: String,
    backfill: bool,
    expires_at_ms: i64,
    revoked: bool,
    changed_at_ms: i64,
}

impl Reader {
    /// All node credentials that aren't revoked.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn node_keys(&self) -> Result<Vec<NodeKey>, StoreError> {
        let found: Vec<NodeKeyFound> =
            self.query(sql::COLLECTORS).fetch_all().await.doing("read credentials")?;
        let key = |k: NodeKeyFound| NodeKey {
            hash: k.credential_hash,
            cluster: k.cluster_name,
            node: k.node_name,
            backfill: k.backfill,
        };
        Ok(found.into_iter().map(key).collect())
    }

    /// All tokens that aren't revoked, expired ones too.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn token_keys(&self) -> Result<Vec<TokenKey>, StoreError> {
        let found: Vec<TokenFound> = self.query(sql::TOKENS).fetch_all().await.doing("read tokens")?;
        let key = |t: TokenFound| TokenKey {
            hash: t.token_hash,
            name: t.name,
            role: match t.role_name.as_str() {
                "operator" => Role::Operator,
                "tenant" => Role::Tenant(t.tenant),
                _ => Role::Join { backfill: t.backfill },
            },
            expires_at_ms: t.expires_at_ms,
        };
        Ok(found.into_iter().map(key).collect())
    }
}

impl Writer {
    /// Adds a node's credential, or revokes it.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn put_node_key(&self, key: &NodeKey, revoked: bool, now_ms: i64) -> Result<(), StoreError> {
        let row = NodeKeyRow {
            credential_hash: key.hash.clone(),
            cluster: key.cluster.clone(),
            node: key.node.clone(),
            backfill: key.backfill,
            revoked,
            changed_at_ms: now_ms,
        };
        self.insert("collectors", &[row]).await
    }

    /// Adds a token, or revokes it.
    ///
    /// # Errors
    /// ClickHouse refuses or can't be reached.
    pub async fn put_token_key(&self, key: &TokenKey, revoked: bool, now_ms: i64) -> Result<(), StoreError> {
        let (role, tenant, backfill) = match &key.role {
            Role::Join { backfill } => (1, String::new(), *backfill),
            Role::Operator => (2, String::new(), false),
            Role::Tenant(tenant) => (3, tenant.clone(), false),
        };
        let row = TokenRow {
            token_hash: key.hash.clone(),
            name: key.name.clone(),
            role,
            tenant,
            backfill,
            expires_at_ms: key.expires_at_ms,
            revoked,
            changed_at_ms: now_ms,
        };
        self.insert("tokens", &[row]).await
    }
}
