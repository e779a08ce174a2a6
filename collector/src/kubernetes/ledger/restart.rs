//! A ledger across the collector's starts: what held when the last one stopped goes on, ends when its pod did, or ends
//! when it was last seen. Until the sources have answered which of these it is, it is told up to when it was last seen.

use super::{Key, Ledger, RETENTION_MS, Stretch};
use crate::kubernetes::kept::KeptHold;
use crate::kubernetes::ledger::Instant;
use schema::owner::{Owner, OwnerKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Windows of holds that ended so long ago may not be made yet, milliseconds: a minute's window and what it waits for
/// the word.
const ENDED_KEPT_MS: i64 = 5 * 60_000;

/// How long a start waits for what its sources say of what held before, milliseconds: windows wait no longer.
const ANSWER_MS: i64 = 90_000;

/// What an earlier collector left, by key, and when it was taken over.
#[derive(Debug, Default)]
pub(super) struct Restored {
    unanswered: BTreeMap<Key, Stretch>,
    at_ms: Option<i64>,
}

impl Restored {
    /// Takes out what is now known to go on.
    pub fn take(&mut self, key: &Key) -> Option<Stretch> {
        self.unanswered.remove(key)
    }

    /// What nobody has said anything of yet, each up to when it was last seen.
    pub fn unanswered(&self) -> impl Iterator<Item = &Stretch> {
        self.unanswered.values()
    }

    /// What ended before is kept from here, Unix milliseconds: a start may open a gap of hours, and what ended in it is
    /// told while windows of it may be made.
    pub fn keep_from_ms(&self, now_ms: i64) -> i64 {
        let is_new = self.at_ms.is_some_and(|at| now_ms <= at + RETENTION_MS);
        if is_new { i64::MIN } else { now_ms - RETENTION_MS }
    }
}

impl Ledger {
    /// A ledger that goes on with what an earlier collector kept.
    pub fn restored(kept: Vec<KeptHold>, now_ms: i64) -> Self {
        let mut ledger = Self::default();
        ledger.restored.at_ms = (!kept.is_empty()).then_some(now_ms);
        for hold in kept {
            let key = (hold.pod.clone(), hold.container.clone(), hold.target.clone());
            let is_over = hold.is_over;
            let stretch = Stretch {
                pod: hold.pod,
                container: hold.container,
                target: hold.target,
                part: hold.part,
                owner: Arc::new(Owner {
                    kind: OwnerKind::Kubernetes,
                    attributes: hold.attributes,
                    evidence: hold.evidence,
                }),
                from_ms: hold.from_ms,
                to_ms: Some(hold.until_ms),
                seen_ms: Some(hold.until_ms),
                settled: hold.settled,
            };
            if is_over {
                ledger.ended.push(stretch);
            } else {
                ledger.restored.unanswered.insert(key, stretch);
            }
        }
        ledger
    }

    /// What a collector that starts next has to know: holds that are open, up to the last instant at which they were
    /// known, and those that ended so lately that windows of their time may not be made. `known_until_ms` is how far
    /// the witness's word reaches.
    pub fn kept(&self, known_until_ms: i64, now_ms: i64) -> Vec<KeptHold> {
        let open = self.open.values().map(|own| own.kept(own.seen_ms.max(Some(known_until_ms)), false));
        let unanswered = self.restored.unanswered().map(|own| own.kept(own.to_ms, false));
        let lately = |own: &&Stretch| own.to_ms.is_some_and(|to| to > now_ms - ENDED_KEPT_MS);
        let ended = self.ended.iter().filter(lately).map(|own| own.kept(own.to_ms, true));
        open.chain(unanswered).chain(ended).collect()
    }

    /// The instant after which the word isn't whole: where something held before of which the sources have yet to say
    /// what became of it.
    pub fn whole_until_ms(&self, now_ms: i64) -> Option<i64> {
        let waits = self.restored.at_ms.is_some_and(|at| now_ms < at + ANSWER_MS);
        self.restored.unanswered().filter(|_| waits).filter_map(|own| own.to_ms).min()
    }

    /// Takes what the sources say of what held before.
    pub(super) fn answer(&mut self, at: Instant<'_>) {
        let are_asked = at.settled && at.listed_ms.is_some();
        let is_late = self.restored.at_ms.is_some_and(|taken| at.now_ms > taken + RETENTION_MS);
        for (key, stretch) in std::mem::take(&mut self.restored.unanswered) {
            if at.living.contains(&key.0) {
                self.open.insert(key, Stretch { to_ms: None, ..stretch });
                continue;
            }
            let departed = at.departed.iter().rev().find(|pod| pod.uid == key.0);
            let to_ms = match departed {
                Some(pod) if pod.is_told => Some(pod.to_ms),
                _ if are_asked => stretch.to_ms,
                // Whoever learns of it later counts it from its beginning.
                _ if is_late => continue,
                _ => {
                    self.restored.unanswered.insert(key, stretch);
                    continue;
                }
            };
            let is_known_fuller = self
                .open
                .values()
                .any(|own| own.is_fuller_than(&stretch) && Some(own.from_ms) <= stretch.to_ms);
            if !is_known_fuller {
                let to_ms = to_ms.map(|to| to.min(at.now_ms).max(stretch.from_ms));
                self.ended.push(Stretch { to_ms, ..stretch });
            }
        }
    }
}

impl Stretch {
    fn kept(&self, until_ms: Option<i64>, is_over: bool) -> KeptHold {
        KeptHold {
            pod: self.pod.clone(),
            container: self.container.clone(),
            target: self.target.clone(),
            part: self.part.clone(),
            attributes: self.owner.attributes.clone(),
            evidence: self.owner.evidence.clone(),
            from_ms: self.from_ms,
            until_ms: until_ms.unwrap_or(self.from_ms).max(self.from_ms),
            is_over,
            settled: self.settled,
        }
    }
}
