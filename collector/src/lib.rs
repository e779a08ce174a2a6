//! Placeholder head; the room's own page replaces it.

pub mod allocation;
pub mod kubernetes;
