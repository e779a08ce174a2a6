//! How processes on the same host find a running engine: `engine.json` in its data directory,
//! readable by the owner only, since it holds the secret.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::Layout;

/// A live engine answers at once, even under load; a dead one refuses the connection.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Where an engine listens, and what it wants to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// The user's name; any would do.
    pub user: String,
    /// The password of this start.
    pub secret: String,
    /// The engine's process.
    pub pid: u32,
}

impl Endpoint {
    pub(crate) fn new(port: u16, secret: String, pid: u32) -> Self {
        Endpoint { url: format!("http://127.0.0.1:{port}"), user: "default".into(), secret, pid }
    }

    /// Writes `engine.json`, in one step, for the owner alone.
    pub(crate) fn write(&self, data_dir: &Path) -> std::io::Result<()> {
        let path = Layout::new(data_dir).endpoint();
        let fresh = path.with_extension("json.new");
        // Removed first, so that the mode is ours and not that of a file left behind.
        if let Err(error) = std::fs::remove_file(&fresh)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(serde_json::to_string(self).expect("plain strings").as_bytes())?;
        std::fs::rename(fresh, path)
    }

    /// Removes `engine.json`, if it is still this engine's.
    pub(crate) fn remove(&self, data_dir: &Path) {
        if read(data_dir).as_ref() == Some(self) {
            // Somebody else may have removed it, which is as good.
            let _ = std::fs::remove_file(Layout::new(data_dir).endpoint());
        }
    }

    /// True when the engine answers `/ping`.
    pub fn answers(&self) -> bool {
        self.ping().unwrap_or(false)
    }

    fn ping(&self) -> std::io::Result<bool> {
        let address = self.url.trim_start_matches("http://").parse().map_err(std::io::Error::other)?;
        let mut stream = TcpStream::connect_timeout(&address, PING_TIMEOUT)?;
        stream.set_read_timeout(Some(PING_TIMEOUT))?;
        stream.write_all(b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(4096).read_to_string(&mut answer)?;
        Ok(answer.starts_with("HTTP/1.1 200") && answer.ends_with("Ok.\n"))
    }
}

fn read(data_dir: &Path) -> Option<Endpoint> {
    serde_json::from_str(&std::fs::read_to_string(Layout::new(data_dir).endpoint()).ok()?).ok()
}

/// The engine that runs on `data_dir`; `None` when there is none, or it doesn't answer.
pub fn discover(data_dir: &Path) -> Option<Endpoint> {
    read(data_dir).filter(Endpoint::answers)
}
