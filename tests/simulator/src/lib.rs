//! Simulated nodes: the shipped collector code over simulated NVML libraries, in virtual time or live.
//!
//! Nothing of the product is replaced: a node loads its copy of the library through the real C interface, and what it
//! makes travels to a real service over HTTP.

pub mod library;

pub mod node;

pub mod scheduled;

pub mod http;

pub mod service;

pub mod live;

pub mod fleet;

pub mod signals;
