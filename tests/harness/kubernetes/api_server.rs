//! An API server at the HTTP level: lists with versions and pages, watches with events, bookmarks and 410 Gone.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Pods of all namespaces.
pub const PODS: &str = "/api/v1/pods";
/// Nodes.
pub const NODES: &str = "/api/v1/nodes";

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<String, BTreeMap<String, Value>>,
    /// Version, path and line of every event that a watch can still be given.
    log: Vec<(u64, String, String)>,
    /// Watches from before this version are told that it is gone.
    oldest: u64,
    /// Watches of an earlier epoch are cut.
    epoch: u64,
    refused: BTreeMap<String, u16>,
    asked: Vec<String>,
    unauthorized: u32,
    closed: bool,
}

/// The server; dropping it ends its watches.
pub struct ApiServer {
    state: Arc<(Mutex<State>, Condvar)>,
    port: u16,
}

impl ApiServer {
    /// Serves nothing yet.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let port = listener.local_addr().expect("address").port();
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        for path in [PODS, NODES] {
            state.0.lock().expect("state").objects.insert(path.into(), BTreeMap::new());
        }
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { state, port }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let out = change(&mut self.state.0.lock().expect("state"));
        self.state.1.notify_all();
        out
    }

    /// Adds or changes an object of the collection at `path`.
    pub fn put(&self, path: &str, mut object: Value) {
        self.change(|state| {
            state.version += 1;
            object["metadata"]["resourceVersion"] = state.version.to_string().into();
            let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
            let before = state.objects.entry(path.into()).or_default().insert(name, object.clone());
            let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
            state.log.push((state.version, path.into(), json!({"type": kind, "object": object}).to_string()));
        });
    }

    /// Deletes an object.
    pub fn delete(&self, path: &str, name: &str) {
        self.change(|state| {
            state.version += 1;
            let mut object =
                state.objects.get_mut(path).and_then(|all| all.remove(name)).expect("it is there");
            object["metadata"]["resourceVersion"] = state.version.to_string().into();
            state.log.push((
                state.version,
                path.into(),
                json!({"type": "DELETED", "object": object}).to_string(),
            ));
        });
    }

    /// Deletes an object without a word to watches, and forgets all events: who watched has to list again.
    pub fn lose(&self, path: &str, name: &str) {
        self.change(|state| {
            state.version += 1;
            state.objects.get_mut(path).and_then(|all| all.remove(name)).expect("it is there");
            state.log.clear();
            state.oldest = state.version;
            state.epoch += 1;
        });
    }

    /// Cuts every watch without an end.
    pub fn cut(&self) {
        self.change(|state| state.epoch += 1);
    }

    /// Forgets all but the latest events, as the store does from time to time.
    pub fn compact(&self, keep: usize) {
        self.change(|state| {
            let over = state.log.len().saturating_sub(keep);
            state.oldest = state.log.drain(..over).next_back().map_or(state.oldest, |(version, ..)| version);
        });
    }

    /// Tells watches of a path where it stands.
    pub fn bookmark(&self, path: &str) {
        self.change(|state| {
            state.version += 1;
            let line = json!({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": state.version.to_string()}}});
            state.log.push((state.version, path.into(), line.to_string()));
        });
    }

    /// Answers with this status to everything below a path.
    pub fn refuse(&self, path: &str, status: u16) {
        self.change(|state| state.refused.extend([(path.to_owned(), status)]));
    }

    /// The requests so far that contain a text.
    pub fn asked(&self, text: &str) -> Vec<String> {
        self.change(|state| state.asked.iter().filter(|own| own.contains(text)).cloned().collect())
    }

    /// Requests that came without the token.
    pub fn unauthorized(&self) -> u32 {
        self.change(|state| state.unauthorized)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.change(|state| state.closed = true);
    }
}

fn serve(stream: TcpStream, shared: &(Mutex<State>, Condvar)) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut out = stream;
    loop {
        let mut request = String::new();
        reader.read_line(&mut request).ok().filter(|read| *read > 0)?;
        let mut has_token = false;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            has_token |= header.trim().eq_ignore_ascii_case("authorization: bearer secret");
            if header.trim().is_empty() {
                break;
            }
        }
        let target = request.split_whitespace().nth(1)?.to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let refused = {
            let mut state = shared.0.lock().expect("state");
            state.asked.push(target.clone());
            state.unauthorized += u32::from(!has_token);
            state.refused.iter().find(|(own, _)| path.starts_with(own.as_str())).map(|(_, status)| *status)
        };
        if let Some(status) = refused {
            answer(&mut out, status, &json!({"kind": "Status", "code": status}))?;
        } else if query.contains_key("watch") {
            return watch(&mut out, path, query.get("resourceVersion")?.parse().ok()?, shared);
        } else {
            let body = get(path, &query, shared);
            answer(&mut out, if body.is_some() { 200 } else { 404 }, &body.unwrap_or_default())?;
        }
    }
}

fn answer(out: &mut TcpStream, status: u16, body: &Value) -> Option<()> {
    let body = body.to_string();
    write!(
        out,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()
}

fn get(path: &str, query: &BTreeMap<&str, &str>, shared: &(Mutex<State>, Condvar)) -> Option<Value> {
    let state = shared.0.lock().expect("state");
    if let Some((collection, name)) = path.rsplit_once('/')
        && let Some(object) = state.objects.get(collection).and_then(|all| all.get(name))
    {
        return Some(object.clone());
    }
    let all = state.objects.get(path)?;
    let after = query.get("continue").map(|token| token.replace("%3D", "="));
    let after: usize = after.map_or(0, |token| token.trim_end_matches('=').parse().expect("our own token"));
    let limit: usize = query.get("limit").map_or(usize::MAX, |limit| limit.parse().expect("a number"));
    let items: Vec<&Value> = all.values().skip(after).take(limit).collect();
    let left = all.len() > after + items.len();
    let next = if left { format!("{}==", after + items.len()) } else { String::new() };
    Some(
        json!({"metadata": {"resourceVersion": state.version.to_string(), "continue": next}, "items": items}),
    )
}

fn watch(out: &mut TcpStream, path: &str, from: u64, shared: &(Mutex<State>, Condvar)) -> Option<()> {
    write!(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        .ok()?;
    let mut chunk =
        |text: &str| write!(out, "{:x}\r\n{text}\n\r\n", text.len() + 1).and_then(|()| out.flush()).ok();
    let mut at = from;
    let epoch = {
        let state = shared.0.lock().expect("state");
        if at < state.oldest {
            drop(state);
            let gone = json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}});
            chunk(&gone.to_string())?;
            return None;
        }
        state.epoch
    };
    loop {
        let mut state = shared.0.lock().expect("state");
        loop {
            if state.closed || state.epoch != epoch {
                return None;
            }
            if state.log.iter().any(|(version, own, _)| *version > at && own == path) {
                break;
            }
            state = shared.1.wait(state).expect("state");
        }
        let is_due = |entry: &&(u64, String, String)| entry.0 > at && entry.1 == path;
        let due: Vec<(u64, String)> =
            state.log.iter().filter(is_due).map(|(version, _, line)| (*version, line.clone())).collect();
        drop(state);
        for (version, line) in due {
            chunk(&line)?;
            at = version;
        }
    }
}
