//! The real `slicemeter-collector` process over the simulated NVML library, in real time: what it survives, what it
//! says of it, and what is in its spool afterwards. One story a test.

mod cli;
mod dcgm;
mod driver;
mod hang;
mod host_memory;
mod ingest;
mod killed;
mod mps;
mod pages;
mod release;
mod rig;
mod spool;
