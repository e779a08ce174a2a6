//! Letting go of NVML on request: a client of NVML blocks a GPU reset and a change of MIG mode. A line on a socket in
//! the state directory, readable by the collector's user alone, says for how long.

use crate::spool::make_private;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// The longest request: a word and a number.
const REQUEST_BYTES_MAX: u64 = 64;

/// A client that says nothing is let go after this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Nobody needs NVML gone for longer; a forgotten release must end by itself.
pub const RELEASE_S_MAX: u64 = 24 * 3600;

/// What may be asked of a running collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Let go of NVML for so many seconds.
    Release(u64),
    /// Take it up again.
    Resume,
}

impl Request {
    fn parse(line: &str) -> Option<Self> {
        match line.trim().split_once(' ') {
            Some(("release", seconds)) => {
                seconds.parse().ok().filter(|s| (1..=RELEASE_S_MAX).contains(s)).map(Request::Release)
            }
            None if line.trim() == "resume" => Some(Request::Resume),
            _ => None,
        }
    }
}

/// The socket's path in a state directory.
pub fn socket(directory: &Path) -> PathBuf {
    directory.join("control.sock")
}

/// Listens for requests and passes them on; ends when nobody takes them.
///
/// # Errors
/// The socket can't be made.
pub fn listen(directory: &Path, requests: impl Fn(Request) -> bool + Send + 'static) -> std::io::Result<()> {
    make_private(directory).map_err(std::io::Error::other)?;
    let path = socket(directory);
    // A socket that a killed collector left behind.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let serve = move || {
        for stream in listener.incoming().flatten() {
            if !answer(stream, &requests) {
                return;
            }
        }
    };
    std::thread::Builder::new().name("control".into()).stack_size(128 << 10).spawn(serve)?;
    Ok(())
}

fn answer(mut stream: UnixStream, requests: &impl Fn(Request) -> bool) -> bool {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut line = String::new();
    if BufReader::new((&stream).take(REQUEST_BYTES_MAX)).read_line(&mut line).is_err() {
        return true;
    }
    let Some(request) = Request::parse(&line) else {
        let _ = stream.write_all(b"not understood\n");
        return true;
    };
    let taken = requests(request);
    let _ = stream.write_all(if taken { b"ok\n" } else { b"stopping\n" });
    taken
}

/// Asks the collector that runs with this state directory.
///
/// # Errors
/// None runs there, or it didn't understand.
pub fn ask(directory: &Path, request: Request) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket(directory))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    match request {
        Request::Release(seconds) => writeln!(stream, "release {seconds}")?,
        Request::Resume => writeln!(stream, "resume")?,
    }
    let mut answer = String::new();
    BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_line(&mut answer)?;
    if answer.trim() == "ok" { Ok(()) } else { Err(std::io::Error::other(answer.trim().to_owned())) }
}

/// A sender of [`Request`]s into any event queue.
pub fn into_queue<E: Send + 'static>(
    queue: Sender<E>,
    wrap: fn(Request) -> E,
) -> impl Fn(Request) -> bool + Send + 'static {
    move |request| queue.send(wrap(request)).is_ok()
}
