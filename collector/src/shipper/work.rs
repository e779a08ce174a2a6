//! The shipping thread's work: read from the spool, send, move the cursor; wait longer after each failure.

use super::credential::{Enrolment, enrol};
use super::delivery::{Outcome, fitting, send};
use crate::causes::chain;
use crate::spool::Spool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// First wait after a failure; it doubles up to the longest.
const WAIT_MIN: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(300);

/// A server may ask for patience, but not for more than the spool holds.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// Bytes of batches read at once: what is in memory of a backlog, however long it is.
const CHUNK_BYTES: usize = 1 << 20;

/// How shipping stands.
#[derive(Debug, Clone, Default)]
pub struct ShipperStats {
    /// Batches that the server has.
    pub shipped_batches: u64,
    /// Deliveries that failed and were tried again.
    pub failures: u64,
    /// Batches that the server will never take.
    pub refused_batches: u64,
    /// When a delivery was last accepted.
    pub last_success: Option<SystemTime>,
    /// Why the last delivery failed; `None` after a success.
    pub failing: Option<String>,
}

/// Ships a spool.
pub struct Shipper {
    enrolment: Enrolment,
    spool: Arc<Mutex<Spool>>,
    stats: Arc<Mutex<ShipperStats>>,
    credential: Option<String>,
    wait: Duration,
    batches_max: usize,
    /// State of the jitter's generator.
    jitter: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shipper {
    /// A shipper of this spool. `seed` makes nodes that failed together come back apart.
    pub fn new(
        enrolment: Enrolment,
        spool: Arc<Mutex<Spool>>,
        stats: Arc<Mutex<ShipperStats>>,
        seed: u64,
    ) -> Self {
        Self {
            enrolment,
            spool,
            stats,
            credential: None,
            wait: WAIT_MIN,
            batches_max: usize::MAX,
            jitter: seed | 1,
        }
    }

    /// Ships until the wake-up channel is closed; each wake-up says that there is something new.
    pub fn run(mut self, wake: &Receiver<()>) {
        loop {
            let pause = self.ship_all();
            let until = Instant::now() + pause;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match wake.recv_timeout(left) {
                    // News don't shorten the wait after a failure.
                    Ok(()) if self.wait > WAIT_MIN => {}
                    Ok(()) | Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                if left.is_zero() {
                    break;
                }
            }
        }
    }

    /// Ships until nothing is left or something fails; how long to wait then.
    pub fn ship_all(&mut self) -> Duration {
        loop {
            match self.ship_one() {
                Ok(true) => {}
                Ok(false) => return Duration::from_secs(60),
                Err(pause) => return pause,
            }
        }
    }

    fn ship_one(&mut self) -> Result<bool, Duration> {
        let chunk = locked(&self.spool).read(CHUNK_BYTES);
        if chunk.batches.is_empty() {
            return Ok(false);
        }
        let credential = match &self.credential {
            Some(credential) => credential.clone(),
            None => {
                let fresh = enrol(&self.enrolment).map_err(|error| self.failed(chain(&error), None))?;
                self.credential.insert(fresh).clone()
            }
        };
        let count = fitting(&chunk.batches).min(self.batches_max);
        let outcome = send(&self.enrolment.url, &credential, &chunk.batches[..count]);
        match outcome {
            Ok(Outcome::Accepted(_)) => {
                let acknowledged = locked(&self.spool).acknowledge(chunk.end_of(count));
                acknowledged.map_err(|error| self.failed(chain(&error), None))?;
                self.wait = WAIT_MIN;
                self.batches_max = self.batches_max.saturating_mul(2);
                let mut stats = locked(&self.stats);
                stats.shipped_batches += count as u64;
                stats.last_success = Some(SystemTime::now());
                stats.failing = None;
                Ok(true)
            }
            Ok(Outcome::TooLarge | Outcome::Refused(_)) if count > 1 => {
                // One batch is at fault: halving finds it.
                self.batches_max = count / 2;
                Ok(true)
            }
            Ok(Outcome::TooLarge | Outcome::Refused(_)) => {
                tracing::error!("the server will never take a batch; it is kept beside the spool");
                let mut spool = locked(&self.spool);
                spool.quarantine(&chunk.batches[0]);
                let acknowledged = spool.acknowledge(chunk.end_of(1));
                drop(spool);
                acknowledged.map_err(|error| self.failed(chain(&error), None))?;
                locked(&self.stats).refused_batches += 1;
                Ok(true)
            }
            Ok(Outcome::Unauthorized) => {
                self.credential = None;
                Err(self.failed("the credential isn't accepted".into(), None))
            }
            Ok(Outcome::Later { why, wait }) => Err(self.failed(why, wait)),
            Err(error) => Err(self.failed(error.to_string(), None)),
        }
    }

    /// Notes a failure; how long to wait: doubled each time, between half and all of it at random.
    fn failed(&mut self, why: String, wish: Option<Duration>) -> Duration {
        let mut stats = locked(&self.stats);
        stats.failures += 1;
        if stats.failing.as_ref() != Some(&why) {
            tracing::warn!(%why, "batches could not be shipped; they stay in the spool");
        }
        stats.failing = Some(why);
        drop(stats);
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let own = self.wait / 2 + (self.wait / 2).mul_f64((self.jitter % 1000) as f64 / 1000.0);
        self.wait = (2 * self.wait).min(WAIT_MAX);
        own.max(wish.unwrap_or_default().min(RETRY_AFTER_MAX))
    }
}
