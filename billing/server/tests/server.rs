//! The central service against the real engine.

mod common;

#[path = "server/charges.rs"]
mod charges;
#[path = "server/close.rs"]
mod close;
#[path = "server/command.rs"]
mod command;
#[path = "server/edits.rs"]
mod edits;
#[path = "server/front.rs"]
mod front;
#[path = "server/imports.rs"]
mod imports;
#[path = "server/retention.rs"]
mod retention;
