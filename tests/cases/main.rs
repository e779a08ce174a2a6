//! Complaints from the field about systems of this kind, each as the hour it would have been here: simulated hardware,
//! the shipped collector, Kubernetes' word where there is one, the hour close and the bill at 3.60 a GPU-hour.

mod energy;
mod faults;
mod hour;
mod memory;
mod money;
mod samples;
