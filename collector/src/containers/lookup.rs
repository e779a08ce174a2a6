//! The look-up that notes containers, so that they are asked about.

use super::register::Register;
use crate::owner::{OwnerLookup, ProcessOwner, attribute};
use schema::owner::{Owner, OwnerKind, key};
use std::sync::Arc;

/// An owner look-up that notes every container it meets; what it answers is what `inner` says.
pub struct Noticed<L> {
    inner: L,
    register: Option<Register>,
    /// Whether pods are told by the container that their node runs in.
    aliases: bool,
    now_ms: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl<L: OwnerLookup> Noticed<L> {
    /// Over `inner`; without a register it notes nothing. `now_ms` is the present in Unix milliseconds.
    pub fn new(
        inner: L,
        register: Option<Register>,
        aliases: bool,
        now_ms: Arc<dyn Fn() -> i64 + Send + Sync>,
    ) -> Self {
        Self { inner, register, aliases, now_ms }
    }

    /// The look-up beneath.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    fn note(&self, register: &Register, found: &ProcessOwner) {
        let owner = &found.owner.owner;
        match owner.kind {
            OwnerKind::Container => {
                register.notice(owner, Vec::new(), found.started_ms, (self.now_ms)());
            }
            OwnerKind::Kubernetes if self.aliases => {
                let of = |name: &str| owner.attributes.get(name);
                let (Some(outer), Some(pod)) = (of(attribute::OUTER_CONTAINER), of(key::POD_UID)) else {
                    return;
                };
                let id = of(key::CONTAINER_ID).map_or_else(|| pod.clone(), |id| format!("{pod}/{id}"));
                let base = Owner {
                    kind: OwnerKind::Container,
                    attributes: [(key::CONTAINER_ID.to_owned(), outer.clone())].into(),
                    evidence: String::new(),
                };
                let alias = vec![(OwnerKind::Kubernetes, id)];
                register.notice(&base, alias, found.started_ms, (self.now_ms)());
            }
            _ => {}
        }
    }
}

impl<L: OwnerLookup> OwnerLookup for Noticed<L> {
    fn lookup(&mut self, pid: u32) -> ProcessOwner {
        let found = self.inner.lookup(pid);
        if let Some(register) = &self.register {
            self.note(register, &found);
        }
        found
    }

    fn keep_only(&mut self, pids: &[u32]) {
        self.inner.keep_only(pids);
    }
}
