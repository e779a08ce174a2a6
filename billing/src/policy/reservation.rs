//! `[[reservation]]`: devices that are kept for a tenant, by name or by count, at a price.

use super::entry::{Entry, Row};
use super::{PolicyError, Scope, Valid};
use crate::money::UnitPrice;
use crate::tenant::TenantId;
use serde::Deserialize;
use toml::Value;

/// Most devices in one reservation by count: above any fleet, far below where sums of hours could overflow.
const COUNT_MAX: i64 = 1_000_000;

/// Devices kept for a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Unique name of the entry.
    pub id: String,
    /// Who pays for them, used or not; tenants below it use them as it does.
    pub tenant: TenantId,
    /// Which.
    pub reserved: Reserved,
    /// Price of a device for an hour.
    pub per_gpu_hour: UnitPrice,
    /// When.
    pub valid: Valid,
}

/// Which devices are reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// These, by NVML UUID.
    Devices(Vec<String>),
    /// Any so many of a scope.
    Count {
        /// How many.
        count: i64,
        /// Of what.
        scope: Scope,
    },
}

/// A `[[reservation]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReservationRow {
    id: String,
    tenant: String,
    devices: Option<Vec<String>>,
    model: Option<String>,
    count: Option<i64>,
    pool: Option<String>,
    per_gpu_hour: Value,
    from: Value,
    to: Option<Value>,
}

impl Reservation {
    /// Whether it reserves a device by name.
    pub fn names(&self, device: &str) -> bool {
        matches!(&self.reserved, Reserved::Devices(devices) if devices.iter().any(|d| d == device))
    }
}

impl Row for ReservationRow {
    const SECTION: &'static str = "reservation";
    type Read = Reservation;

    fn id(&self) -> &str {
        &self.id
    }

    fn read(self, entry: &mut Entry<'_>) -> Result<Reservation, PolicyError> {
        let tenant = entry.tenant("tenant", &self.tenant)?;
        let reserved = match (self.devices, self.model, self.count) {
            (Some(devices), None, None) => {
                if self.pool.is_some() {
                    return Err(entry.keys(
                        "has devices and a pool: remove pool, because devices are found wherever they are",
                    ));
                }
                if devices.is_empty() {
                    return Err(entry.keys("has an empty list of devices: name at least one by its UUID"));
                }
                devices.iter().try_for_each(|device| entry.filled("devices", device))?;
                Reserved::Devices(devices)
            }
            (None, Some(model), Some(count)) => Reserved::Count {
                count: entry.count("count", count, COUNT_MAX)?,
                scope: entry.scope(self.pool, Some(model))?,
            },
            _ => {
                return Err(entry.keys(
                    "must say what is reserved: either devices = [\"GPU-...\"], or model and count, with a pool if you like",
                ));
            }
        };
        Ok(Reservation {
            tenant,
            reserved,
            per_gpu_hour: entry.decimal("per_gpu_hour", &self.per_gpu_hour)?,
            valid: entry.valid(&self.from, self.to.as_ref())?,
            id: self.id,
        })
    }
}
