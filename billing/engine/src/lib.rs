//! The embedded ClickHouse: libchdb.so as a supervised child process that speaks the ClickHouse
//! HTTP interface on loopback, so that everything else has one storage path.
//!
//! [`supervisor`] is the parent's half, [`child`] the process itself, [`endpoint`] how others on the
//! host find it. README.md tells the rules of the front and why each is there.

pub mod child;
mod config;
mod connection;
mod deny;
pub mod endpoint;
mod exception;
mod ffi;
mod formats;
mod http;
mod insert;
pub mod install;
mod query;
mod request;
mod sql;
pub mod supervisor;

pub use connection::StartError;
pub use endpoint::{Endpoint, discover};
pub use exception::Exception;
pub use ffi::LoadError;
pub use supervisor::{Supervisor, SupervisorConfig, SupervisorError};

/// A secret for one start of the engine: 128 bits, in hexadecimal.
pub fn new_secret() -> String {
    random_hex(16)
}

/// `bytes` random bytes of the operating system, in hexadecimal.
fn random_hex(bytes: usize) -> String {
    use std::io::Read;
    let mut buffer = vec![0; bytes];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut buffer))
        .expect("Linux has /dev/urandom, and it never ends");
    buffer.iter().map(|byte| format!("{byte:02x}")).collect()
}
