//! From the NVML library to a tenant's statement, through the shipped programs: laws over random fleets, and stories.

mod closing;
mod credits;
mod demo;
mod focus;
mod golden_month;
mod imports;
mod late;
mod members;
mod periods;
mod prices;
mod random;
mod stage;
mod sums;
mod tenants;
mod wrong;
