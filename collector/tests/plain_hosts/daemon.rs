//! Docker or Podman: the one question that a collector asks, served on a Unix socket in the shapes of the real ones.

use axum::Router;
use axum::extract::{Path as UrlPath, State as Shared};
use axum::http::{StatusCode, header::SERVER};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Docker's engine.
    Docker,
    /// Podman's compatible API.
    Podman,
}

/// How it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    /// At once.
    #[default]
    Well,
    /// Never.
    Hangs,
    /// With this status.
    Refuses(u16),
    /// With a container whose labels weigh more than an answer may.
    Floods,
    /// With something that is no answer.
    Babbles,
}

#[derive(Debug, Default)]
struct State {
    containers: BTreeMap<String, Value>,
    mood: Mood,
    asked: Vec<String>,
}

/// What it knows, whoever serves it.
#[derive(Debug, Clone, Default)]
pub struct Knowledge(Arc<Mutex<State>>);

impl Knowledge {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().expect("state"))
    }

    /// A container runs.
    pub fn run(&self, id: &str, name: &str, image: &str, labels: &[(&str, &str)]) {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        // As `docker inspect` prints it, without the parts that repeat.
        let container = json!({
            "Id": id, "Created": "2026-10-01T08:00:00.123456789Z", "Path": "python3", "Args": ["train.py"],
            "State": {"Status": "running", "Running": true, "Paused": false, "Pid": 4711, "ExitCode": 0,
                "StartedAt": "2026-10-01T08:00:01.1Z", "FinishedAt": "0001-01-01T00:00:00Z"},
            "Image": "sha256:1f8e4a0b6f9f4bbd4f9d1a4a1c2e5d6b7a8c9d0e1f2a3b4c5d6e7f8091a2b3c4", "Name": format!("/{name}"),
            "RestartCount": 0, "Driver": "overlay2", "Platform": "linux", "MountLabel": "", "AppArmorProfile": "docker-default",
            "HostConfig": {"NetworkMode": "bridge", "Runtime": "runc",
                "DeviceRequests": [{"Driver": "", "Count": -1, "DeviceIDs": null, "Capabilities": [["gpu"]], "Options": {}}]},
            "Config": {"Hostname": id.get(..12), "User": "", "Env": ["SECRET=x"], "Cmd": ["train.py"], "Image": image, "Labels": labels},
            "NetworkSettings": {"Ports": {}}
        });
        self.change(|state| drop(state.containers.insert(id.to_owned(), container)));
    }

    /// A container is gone.
    pub fn remove(&self, id: &str) {
        self.change(|state| drop(state.containers.remove(id)));
    }

    /// It answers so from now on.
    pub fn set_mood(&self, mood: Mood) {
        self.change(|state| state.mood = mood);
    }

    /// How often it was asked about a container.
    pub fn asked(&self, id: &str) -> usize {
        self.change(|state| state.asked.iter().filter(|own| *own == id).count())
    }
}

/// A daemon that serves; dropping it ends it and takes its socket away.
pub struct Daemon {
    path: PathBuf,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Daemon {
    /// Serves at `path`.
    pub fn start(path: &Path, kind: Kind, knowledge: &Knowledge) -> Self {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        let listener = std::os::unix::net::UnixListener::bind(path).expect("socket");
        listener.set_nonblocking(true).expect("socket");
        let (end, ended) = oneshot::channel::<()>();
        let state = (kind, knowledge.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
            runtime.block_on(async {
                let listener = tokio::net::UnixListener::from_std(listener).expect("socket");
                let router = Router::new().route("/containers/{id}/json", get(inspect)).with_state(state);
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = ended => {}
                }
            });
            runtime.shutdown_background();
        });
        Self { path: path.to_owned(), end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends");
        }
        std::fs::remove_file(&self.path).expect("its socket");
    }
}

async fn inspect(
    Shared((kind, knowledge)): Shared<(Kind, Knowledge)>,
    UrlPath(id): UrlPath<String>,
) -> Response {
    let (mood, container) = knowledge.change(|state| {
        state.asked.push(id.clone());
        (state.mood, state.containers.get(&id).cloned())
    });
    let server = match kind {
        Kind::Docker => "Docker/27.3.1 (linux)",
        Kind::Podman => "Libpod/5.2.2 (linux)",
    };
    let (status, body) = match (mood, container) {
        (Mood::Hangs, _) => std::future::pending().await,
        (Mood::Refuses(status), _) => {
            let status = StatusCode::from_u16(status).expect("a status");
            (status, json!({"message": "something went wrong"}).to_string())
        }
        (Mood::Floods, Some(mut container)) => {
            container["Config"]["Labels"]["team"] = "x".repeat(2 << 20).into();
            (StatusCode::OK, container.to_string())
        }
        (Mood::Babbles, _) => (StatusCode::OK, "<html>".to_owned()),
        (_, Some(container)) => (StatusCode::OK, container.to_string()),
        (_, None) => {
            let message = format!("No such container: {id}");
            let said = match kind {
                Kind::Docker => json!({"message": message}),
                Kind::Podman => json!({"cause": "no such container", "message": message, "response": 404}),
            };
            (StatusCode::NOT_FOUND, said.to_string())
        }
    };
    (status, [(SERVER, server)], body).into_response()
}
