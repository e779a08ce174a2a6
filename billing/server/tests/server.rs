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
#[path = "server/periods.rs"]
mod periods;
#[path = "server/repriced.rs"]
mod repriced;
#[path = "server/retention.rs"]
mod retention;
