//! The scenarios: a node for every way to share a GPU, and for what goes wrong with one.

mod events;
mod fractions;
mod mig;
mod whole;

use super::case::Case;

/// All of them, in the table's order.
pub fn all() -> Vec<Case> {
    vec![
        whole::exclusive(),
        whole::time_sliced_bursts(),
        whole::time_sliced_last_period(),
        whole::opposite_phases(),
        whole::mps(),
        mig::mixed("mig_h100", "MIG, H100", "h100", ["3g.40gb", "2g.20gb", "1g.10gb"]),
        mig::mixed("mig_a100", "MIG, A100", "a100-40gb", ["3g.20gb", "2g.10gb", "1g.5gb"]),
        mig::reconfigured(),
        mig::time_sliced(),
        events::collector_restart(),
        events::ends_unseen(),
        events::node_reboot(),
        events::short_jobs(),
        fractions::hami(),
        fractions::dra(),
        whole::no_scheduler(),
    ]
}
