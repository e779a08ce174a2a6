//! From the NVML library to a tenant's statement, through the shipped programs: laws over random fleets, and stories.

mod demo;
mod golden_month;
mod imports;
mod late;
mod members;
mod periods;
mod random;
mod stage;
mod tenants;
mod wrong;
