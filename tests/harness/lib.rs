//! What the end-to-end tests, the acceptance run and the benchmarks share.

pub mod every_kind;

pub mod figures;
pub mod focus_file;

pub mod kubernetes;
pub mod model;
pub mod probe;
pub mod slurm;
pub mod usage;
