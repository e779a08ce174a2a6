//! Statements, the fleet and an opened line as text: aligned, at most 110 columns, readable aloud.

mod explain;
mod fleet;
mod groups;
mod postings;
mod statement;
mod tenants;
mod what_if;

pub use explain::explain;
pub use fleet::fleet;
pub use groups::groups;
pub use postings::{charges, differences, proposals};
pub use statement::{platform, statement};
pub use tenants::{dry_run, unmapped};
pub use what_if::what_if;

pub(crate) use explain::{price as price_sentence, price_steps, sum_of_hours};
pub(crate) use fleet::{check, of_fleet};
