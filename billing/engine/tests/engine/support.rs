//! A running engine on a directory of its own, and a small HTTP client that can misbehave.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use clickhouse::Client;
use engine::{Supervisor, SupervisorConfig};
use tempfile::TempDir;

/// Enough for the tests, little enough that one of them runs into it.
pub const MEMORY_BYTES: u64 = 1_500_000_000;

pub struct TestEngine {
    pub supervisor: Supervisor,
    pub directory: TempDir,
}

pub fn config(data_dir: &Path) -> SupervisorConfig {
    SupervisorConfig {
        program: env!("CARGO_BIN_EXE_slicemeter-engine").into(),
        arguments: Vec::new(),
        library: None,
        data_dir: data_dir.to_path_buf(),
        port: 0,
        max_server_memory_bytes: MEMORY_BYTES,
        concurrency: 3,
        config_file: None,
    }
}

impl TestEngine {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts with a configuration that differs from [`config`].
    pub async fn start_with(change: impl FnOnce(&mut SupervisorConfig)) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut config = config(directory.path());
        change(&mut config);
        let supervisor = Supervisor::start(config).await.unwrap_or_else(|error| panic!("{error}"));
        TestEngine { supervisor, directory }
    }

    pub fn client(&self) -> Client {
        let endpoint = self.supervisor.endpoint();
        Client::default().with_url(endpoint.url).with_user(endpoint.user).with_password(endpoint.secret)
    }

    /// Runs a statement that must succeed.
    pub async fn run(&self, sql: &str) {
        self.client().query(sql).execute().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The one number that `sql` selects.
    pub async fn number(&self, sql: &str) -> u64 {
        self.client().query(sql).fetch_one().await.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Posts `body` with the secret; `query` is the URL's query, percent-encoded.
    pub fn post(&self, query: &str, body: &[u8]) -> Answer {
        let secret = format!(
            "X-ClickHouse-Key: {}\r\nContent-Length: {}\r\n",
            self.supervisor.endpoint().secret,
            body.len()
        );
        self.send("POST", query, &secret, body)
    }

    /// Sends exactly this and reads to the end; a body that isn't complete ends with the sending side.
    pub fn send(&self, method: &str, query: &str, headers: &str, body: &[u8]) -> Answer {
        let url = self.supervisor.endpoint().url;
        let address = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the engine listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a valid timeout");
        let path = if query.starts_with('/') { query.to_owned() } else { format!("/?{query}") };
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        // An engine that refuses early may close before it has read everything.
        let _ = stream.write_all(body);
        let complete = match headers.contains("Transfer-Encoding") {
            true => body.ends_with(b"0\r\n\r\n"),
            false => body.len() == content_length(headers),
        };
        if !complete {
            // An engine that refused early may have closed already.
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }
}

fn content_length(headers: &str) -> usize {
    headers
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |value| value.parse().expect("a number"))
}

/// What came back; status 0 when nothing did.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Answer { status: 0, head: String::new(), body: Vec::new() };
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let body = &bytes[end + 4..];
        let chunked = head.contains("transfer-encoding: chunked");
        Answer {
            status: head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line"),
            body: if chunked { dechunked(body) } else { body.to_vec() },
            head,
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of the exception; `None` for success.
    pub fn code(&self) -> Option<u32> {
        let line = self.head.lines().find_map(|line| line.strip_prefix("x-clickhouse-exception-code: "))?;
        Some(line.trim().parse().expect("a number"))
    }
}

/// The data of a chunked body, as far as it goes.
fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&body[..end])
            .ok()
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .expect("a chunk's size");
        if size == 0 || body.len() < end + 4 + size {
            break;
        }
        data.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    data
}

/// Percent-encodes everything but letters and digits.
pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}
