//! Slurm's word on who holds which GPU of this node: the second witness beside the driver's process lists.
//!
//! [`Witness`] asks `squeue` in a thread of its own and publishes [`crate::allocation::Allocations`]; everything below
//! it is pure text. Read in this order: a GRES text names GPUs by index, a host list says which entry is this node's,
//! `slurmd -G` says which device an index is, a job is one answer's entry, and holds are what job after job, answer
//! after answer, adds up to.
//!
//! Answers are taken as JSON only. The text of `scontrol show job` can't be trusted: a job's name may hold line breaks
//! and with them whole made-up records of other people's jobs.

mod accounting;
mod devices;
mod environ;
mod files;
mod gres;
mod holds;
mod job;
mod lookup;
mod node;
mod witness;

pub use devices::Devices;
pub use files::{JobFile, read_job_files};
pub use gres::{Item, Place, gpus_in_tres, items};
pub use holds::{Book, Policy};
pub use job::{Job, Phase, key, parse_jobs};
pub use lookup::JobClaims;
pub use node::out_of_use;
pub use witness::{Settings, Witness, WitnessHealth};
