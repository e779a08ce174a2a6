//! The embedded engine through its front door, with the real library: the rules of README.md.

mod durability;
mod inserts;
mod limits;
mod processes;
mod refusals;
mod roundtrip;
mod sessions;
mod support;
