//! What the service answers over HTTP: a resource a file, a handler three moves (extract, one call, wrap).

pub mod error;

pub mod auth;

pub mod batches;

pub mod enrol;

pub mod statements;

pub mod lines;

pub mod devices;

pub mod pages;

pub mod login;

pub mod health;
