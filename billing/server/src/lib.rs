//! The central service. Modules in the order that rows flow: configuration and store, ingest, jobs, reports, HTTP, CLI.
//!
//! This is the only crate with async code and the only one that talks to a database; what a figure means is decided in
//! `schema` (SQL) and `billing` (arithmetic).

pub mod clock;

pub mod error;

pub mod config;

pub mod current;

pub mod store;

pub mod open;

pub mod secret;

pub mod keyring;

pub mod metrics;

pub mod ingest;

pub mod jobs;

pub mod periods;

pub mod report;

pub mod focus;

pub mod groups;

pub mod app;

pub mod api;

pub mod router;

pub mod serve;

pub mod cli;
