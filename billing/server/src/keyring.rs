//! Who may do what: credentials and tokens, cached from the store so that a request costs no query.
//!
//! Scope comes from the secret alone. A secret that isn't known yet makes the cache look once, at most every second, so a
//! flood of wrong ones doesn't reach the store; a revoked one is refused within [`REFRESH_MS`].

use crate::secret;
use crate::store::keys::{NodeKey, Role, TokenKey};
use crate::store::{Reader, StoreError};
use billing::tenant::Tenants;
use std::collections::HashMap;
use tokio::sync::RwLock;

/// How long a revoked secret may still be taken.
const REFRESH_MS: i64 = 30_000;
/// How often an unknown secret may make the cache look.
const MISS_MS: i64 = 1_000;

#[derive(Default)]
struct Known {
    nodes: HashMap<String, NodeKey>,
    tokens: HashMap<String, TokenKey>,
    read_at_ms: i64,
}

/// The cache.
pub struct Keyring {
    reader: Reader,
    known: RwLock<Known>,
}

impl Keyring {
    /// An empty cache over the store.
    pub fn new(reader: Reader) -> Self {
        Self { reader, known: RwLock::default() }
    }

    /// The node that a credential belongs to.
    ///
    /// # Errors
    /// The store can't be reached and the cache is empty or old.
    pub async fn node(&self, credential: &str, now_ms: i64) -> Result<Option<NodeKey>, StoreError> {
        let hash = secret::hash(credential);
        self.look_up(now_ms, |known| known.nodes.get(&hash).filter(|k| secret::same(&k.hash, &hash)).cloned())
            .await
    }

    /// A credential that was stored just now: its node may deliver at once, without waiting for the cache to look.
    pub async fn learn(&self, key: NodeKey) {
        self.known.write().await.nodes.insert(key.hash.clone(), key);
    }

    /// What a token may do, if it hasn't expired and its tenant hasn't ended.
    ///
    /// # Errors
    /// The store can't be reached and the cache is empty or old.
    pub async fn token(
        &self,
        token: &str,
        tenants: &Tenants,
        now_ms: i64,
    ) -> Result<Option<Role>, StoreError> {
        let hash = secret::hash(token);
        let of = |known: &Known| known.tokens.get(&hash).filter(|k| secret::same(&k.hash, &hash)).cloned();
        let key = self.look_up(now_ms, of).await?;
        Ok(key.filter(|k| k.expires_at_ms > now_ms && !k.role.has_ended(tenants, now_ms)).map(|k| k.role))
    }

    async fn look_up<T>(
        &self,
        now_ms: i64,
        of: impl Fn(&Known) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let (found, age_ms) = {
            let known = self.known.read().await;
            (of(&known), now_ms - known.read_at_ms)
        };
        if age_ms < if found.is_some() { REFRESH_MS } else { MISS_MS } {
            return Ok(found);
        }
        let mut known = self.known.write().await;
        // Whoever waited for the lock finds it read already.
        if now_ms - known.read_at_ms >= MISS_MS {
            let (nodes, tokens) = tokio::try_join!(self.reader.node_keys(), self.reader.token_keys())?;
            known.nodes = nodes.into_iter().map(|k| (k.hash.clone(), k)).collect();
            known.tokens = tokens.into_iter().map(|k| (k.hash.clone(), k)).collect();
            known.read_at_ms = now_ms;
        }
        Ok(of(&known))
    }
}
