//! The thread that asks: each new container once, of the daemons that may know it, and again where one of them failed.

use super::Settings;
use super::ask::{Answer, AskError, ask};
use super::health::Health;
use super::register::{Asked, Register};
use super::sockets::{Pauses, Socket, sockets};
use crate::causes::chain;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Stack of the thread: reading JSON is the deepest that happens on it.
const STACK_BYTES: usize = 1 << 20;

/// Time between two publications while nothing happens, and between looks at who may be asked again.
const REFRESH: Duration = Duration::from_secs(1);

/// Answers between two publications while many come.
const ANSWERS_EACH: usize = 64;

/// The thread; it ends when this is dropped.
pub struct Witness {
    register: Register,
    health: Health,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why the thread didn't start.
#[derive(Debug, thiserror::Error)]
#[error("could not start a thread")]
pub struct StartError(#[from] std::io::Error);

impl Witness {
    /// Starts asking. `now_ms` is the present in Unix milliseconds.
    ///
    /// # Errors
    /// The system refused a thread or a runtime.
    pub fn start(
        settings: Settings,
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let register = Register::new(settings.wait_ms);
        register.refresh(now_ms());
        let health = Health::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let mut asking = Asking {
            settings,
            register: register.clone(),
            health: health.clone(),
            pauses: Pauses::default(),
            now_ms: Arc::new(now_ms),
        };
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = asking.run() => {}
                    _ = stopped => {}
                }
            });
        };
        let thread =
            std::thread::Builder::new().name("containers".into()).stack_size(STACK_BYTES).spawn(run)?;
        Ok(Self { register, health, stop: Some(stop), thread: Some(thread) })
    }

    /// Where look-ups note containers, and records are published.
    pub fn register(&self) -> &Register {
        &self.register
    }

    /// How asking goes.
    pub fn health(&self) -> &Health {
        &self.health
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed already; nothing is left to undo.
            drop(thread.join());
        }
    }
}

struct Asking {
    settings: Settings,
    register: Register,
    health: Health,
    pauses: Pauses,
    now_ms: Arc<dyn Fn() -> i64 + Send + Sync>,
}

impl Asking {
    async fn run(&mut self) {
        loop {
            let awaited = self.register.awaited();
            for some in awaited.chunks(ANSWERS_EACH) {
                for asked in some {
                    self.ask_all(asked).await;
                }
                self.publish();
            }
            self.publish();
            let wanted: std::collections::BTreeSet<Socket> =
                awaited.iter().flat_map(|asked| sockets(&self.settings, asked)).collect();
            self.pauses.keep_only(|socket| wanted.contains(socket));
            // Where nothing new comes, one that failed may be due again.
            tokio::select! {
                () = self.register.news() => {}
                () = tokio::time::sleep(REFRESH) => {}
            }
        }
    }

    fn publish(&self) {
        self.health.stands(self.register.refresh((self.now_ms)()));
    }

    /// Asks one daemon after the other until one knows it. It is nobody's only where every one of them said so.
    async fn ask_all(&mut self, asked: &Asked) {
        let mut all_said_no = true;
        let mut fault = None;
        for socket in sockets(&self.settings, asked) {
            if !self.pauses.is_due(&socket, Instant::now()) {
                all_said_no = false;
                continue;
            }
            match ask(&socket, &asked.id, &self.settings.labels, self.settings.deadline).await {
                Ok(answer) => {
                    self.pauses.answered(&socket);
                    self.health.answered();
                    if matches!(answer, Answer::Found { .. }) {
                        return self.register.answered(asked, answer, &socket.path.display().to_string());
                    }
                }
                // A user without a daemon of this kind is how most users are.
                Err(error) if error.is_absent() && socket.uid.is_some() => {}
                Err(error) => {
                    all_said_no = false;
                    self.pauses.failed(&socket, Instant::now());
                    self.health.failed();
                    // A user's own daemon isn't the node's fault.
                    fault = fault.or_else(|| socket.uid.is_none().then(|| said(&socket, &error)));
                }
            }
        }
        if all_said_no {
            self.register.answered(asked, Answer::Unknown, "");
        } else if let Some(fault) = fault {
            self.health.lacks(fault);
        }
    }
}

fn said(socket: &Socket, error: &AskError) -> String {
    format!("{}: {}", socket.path.display(), chain(error))
}
