//! Secrets that are shown once and kept as a hash.

use sha2::{Digest, Sha256};
use std::io::Read;

/// A new secret: 256 bits of the operating system's randomness, hexadecimal, with a prefix that says what it is for.
pub fn new(prefix: &str) -> std::io::Result<String> {
    let mut bytes = [0u8; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{prefix}_{}", hex(&bytes)))
}

/// SHA-256, hexadecimal. A secret has 256 random bits, so a fast hash is enough and costs a request nothing.
pub fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

/// Whether two hashes are equal, in a time that doesn't depend on where they differ.
pub fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
