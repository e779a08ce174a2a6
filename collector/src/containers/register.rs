//! What was asked and answered of containers, and the board that it is published on. Pure but for its lock: instants
//! are handed in.
//!
//! The law: a container whose answer is awaited holds the word back to when it started, but never for longer than a
//! window waits, so that a daemon that is gone delays the windows of new containers only.

use super::ask::Answer;
use crate::allocation::{Allocations, Board, OwnerId};
use schema::owner::{Owner, OwnerKind, key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Containers that are known at most; beyond it the one that was seen longest ago is forgotten.
pub const CONTAINERS_MAX: usize = 4096;

/// How long one that is gone is kept: longer than any window that it was in waits to be closed and sent.
const KEEP_MS: i64 = 3_600_000;

/// Pods of one outer container that are told by it.
const ALIASES_MAX: usize = 256;

/// A container to be asked about: of root's daemons, or of a user's. A user may give any name to cgroups of its own, so
/// the id alone isn't whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// 64 hexadecimal digits.
    pub id: String,
    /// The user whose container it is, where it is a user's.
    pub uid: Option<u32>,
}

impl Asked {
    /// The container that an owner is, where it is one that a daemon may know.
    pub fn of(owner: &Owner) -> Option<Self> {
        if owner.kind != OwnerKind::Container {
            return None;
        }
        let id = owner.attributes.get(key::CONTAINER_ID)?.clone();
        let uid = owner.attributes.get(key::UID).and_then(|uid| uid.parse().ok());
        Some(Self { id, uid })
    }

    /// What it is called on the board.
    pub fn owner_id(&self) -> String {
        match self.uid {
            Some(uid) => format!("{uid}/{}", self.id),
            None => self.id.clone(),
        }
    }
}

#[derive(Debug)]
enum State {
    Awaited,
    Named(Arc<Owner>),
    /// Every daemon says that it has no such container.
    Nobodys,
}

#[derive(Debug)]
struct Entry {
    /// What its cgroup says.
    base: Owner,
    /// When its first process started, or was met.
    since_ms: i64,
    met_ms: i64,
    seen_ms: i64,
    state: State,
    aliases: BTreeSet<OwnerId>,
}

#[derive(Debug, Default)]
struct Inner {
    known: BTreeMap<Asked, Entry>,
    dropped: u64,
}

/// How many containers stand how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Known by any state.
    pub known: usize,
    /// Awaiting an answer.
    pub awaited: usize,
    /// That no daemon knows.
    pub nobodys: usize,
    /// Forgotten for want of room, so far.
    pub dropped: u64,
}

/// The containers that look-ups met; clones share it.
#[derive(Debug, Clone)]
pub struct Register {
    inner: Arc<Mutex<Inner>>,
    board: Board,
    wait_ms: i64,
    news: Arc<Notify>,
}

impl Register {
    /// Empty; windows wait `wait_ms` for a record.
    pub fn new(wait_ms: i64) -> Self {
        Self { inner: Arc::default(), board: Board::default(), wait_ms, news: Arc::default() }
    }

    /// Where records are published.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Waits until a container was met that wasn't before.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process of this container was seen. From a tick: it takes a lock that nobody holds for long.
    pub fn notice(&self, base: &Owner, aliases: Vec<OwnerId>, started_ms: Option<i64>, now_ms: i64) {
        let Some(asked) = Asked::of(base) else { return };
        let mut inner = self.lock();
        if let Some(entry) = inner.known.get_mut(&asked) {
            entry.seen_ms = now_ms;
            let new = aliases.into_iter().filter(|alias| !entry.aliases.contains(alias)).collect::<Vec<_>>();
            if !new.is_empty() && entry.aliases.len() + new.len() <= ALIASES_MAX {
                entry.aliases.extend(new);
                self.publish(&inner, now_ms);
            }
            return;
        }
        inner.make_room();
        let since_ms = started_ms.unwrap_or(now_ms).min(now_ms);
        let entry = Entry {
            base: base.clone(),
            since_ms,
            met_ms: now_ms,
            seen_ms: now_ms,
            state: State::Awaited,
            aliases: aliases.into_iter().collect(),
        };
        inner.known.insert(asked, entry);
        // The window that it is met in may close within this very tick.
        if self.board.current().known_until_ms > since_ms {
            self.publish(&inner, now_ms);
        }
        drop(inner);
        self.news.notify_one();
    }

    /// Those whose answer is awaited, the first met first.
    pub fn awaited(&self) -> Vec<Asked> {
        let inner = self.lock();
        let mut awaited: Vec<(i64, &Asked)> = inner
            .known
            .iter()
            .filter(|(_, entry)| matches!(entry.state, State::Awaited))
            .map(|(asked, entry)| (entry.met_ms, asked))
            .collect();
        awaited.sort_unstable();
        awaited.into_iter().map(|(_, asked)| asked.clone()).collect()
    }

    /// Takes an answer; `place` is where it came from.
    pub fn answered(&self, asked: &Asked, answer: Answer, place: &str) {
        let mut inner = self.lock();
        let Some(entry) = inner.known.get_mut(asked) else { return };
        entry.state = match answer {
            Answer::Unknown => State::Nobodys,
            Answer::Found { daemon, inspected } => {
                let evidence = format!("{daemon} at {place}: container {}", inspected.name);
                let mut attributes = entry.base.attributes.clone();
                attributes.extend(inspected.attributes());
                State::Named(Arc::new(Owner { kind: OwnerKind::Container, attributes, evidence }))
            }
        };
    }

    /// Forgets who is long gone and publishes what is known as of `now_ms`.
    pub fn refresh(&self, now_ms: i64) -> Standing {
        let mut inner = self.lock();
        inner.known.retain(|_, entry| now_ms - entry.seen_ms < KEEP_MS);
        self.publish(&inner, now_ms);
        let count = |is: fn(&State) -> bool| inner.known.values().filter(|entry| is(&entry.state)).count();
        Standing {
            known: inner.known.len(),
            awaited: count(|state| matches!(state, State::Awaited)),
            nobodys: count(|state| matches!(state, State::Nobodys)),
            dropped: inner.dropped,
        }
    }

    fn publish(&self, inner: &Inner, now_ms: i64) {
        let mut owners = BTreeMap::new();
        let mut known_until_ms = now_ms;
        for (asked, entry) in &inner.known {
            match &entry.state {
                State::Awaited if now_ms - entry.met_ms < self.wait_ms => {
                    known_until_ms = known_until_ms.min(entry.since_ms);
                }
                State::Awaited | State::Nobodys => {}
                State::Named(owner) => {
                    owners.insert((OwnerKind::Container, asked.owner_id()), owner.clone());
                    owners.extend(entry.aliases.iter().map(|alias| (alias.clone(), owner.clone())));
                }
            }
        }
        self.board.publish(Allocations {
            source: "containers",
            known_until_ms,
            owners,
            ..Allocations::default()
        });
    }
}

impl Inner {
    fn make_room(&mut self) {
        if self.known.len() < CONTAINERS_MAX {
            return;
        }
        let oldest = self.known.iter().min_by_key(|(_, entry)| entry.seen_ms).map(|(asked, _)| asked.clone());
        if let Some(asked) = oldest {
            self.known.remove(&asked);
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
