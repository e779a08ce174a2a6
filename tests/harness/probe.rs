//! What memory a process takes, as the kernel accounts for it, and how fast an endpoint answers.

use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Resident memory of a process in MiB: now.
///
/// # Errors
/// The process has gone.
pub fn resident_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("VmRSS without a number")?.parse()?;
    Ok(kib / 1024.0)
}

/// Body of `GET path` at `127.0.0.1:port`.
///
/// # Errors
/// No answer within 10 seconds, or another status than 200.
pub fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    ensure!(head.starts_with("HTTP/1.1 200"), "GET {path}: {}", head.lines().next().unwrap_or_default());
    Ok(body.to_string())
}

/// Latency of `count` requests of `path`, one connection each as a scraper makes it: (median, 99th percentile) in
/// milliseconds.
///
/// # Errors
/// A request failed.
pub fn latency_ms(port: u16, path: &str, count: usize) -> Result<(f64, f64)> {
    let mut took: Vec<f64> = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        get(port, path)?;
        took.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok((took[count / 2], took[(count * 99).div_ceil(100) - 1]))
}

/// A port that is free now.
///
/// # Errors
/// None is.
pub fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The virtual environment with the peers from PyPI, which tests/setup.sh makes.
///
/// # Errors
/// Neither `XDG_CACHE_HOME` nor `HOME` says where it would be.
pub fn venv() -> Result<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME isn't set")?).join(".cache"),
    };
    Ok(cache.join("slicemeter/venv"))
}
