//! Which devices an entry is about: those of a pool, of a model, both, or all.

use crate::glob;
use crate::tenant::{Site, Tenants};

/// A filter over devices; what it doesn't name it doesn't limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Scope {
    /// A `[[pool]]` of `tenants.toml`.
    pub pool: Option<String>,
    /// NVML product name, exact or with `*`.
    pub model: Option<String>,
}

/// How narrow a scope is; the greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exactness {
    pool: bool,
    model: bool,
    whole_name: bool,
    len: usize,
}

impl Scope {
    /// Whether a device is in it. A pool that isn't declared holds nothing.
    pub fn holds(&self, site: Site<'_>, model: &str, tenants: &Tenants) -> bool {
        let in_pool = |name: &String| tenants.pool(name).is_some_and(|pool| pool.holds(site));
        self.pool.as_ref().is_none_or(in_pool) && self.fits_model(model)
    }

    /// Whether it is about a model.
    pub fn fits_model(&self, model: &str) -> bool {
        self.model.as_ref().is_none_or(|pattern| glob::fits(pattern, model))
    }

    /// Of two scopes that hold a device, the one with a pool is narrower, then the one with a model, then the one with the
    /// more exact name, as for prices.
    pub fn exactness(&self) -> Exactness {
        let model = self.model.as_deref();
        Exactness {
            pool: self.pool.is_some(),
            model: model.is_some(),
            whole_name: model.is_some_and(|m| !m.contains('*')),
            len: model.map_or(0, str::len),
        }
    }

    /// Whether it names neither pool nor model.
    pub fn is_all(&self) -> bool {
        self.pool.is_none() && self.model.is_none()
    }
}

/// `H100 of pool train`, `pool train`, `every device`.
impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.model, &self.pool) {
            (Some(model), Some(pool)) => write!(f, "{model} of pool {pool}"),
            (Some(model), None) => f.write_str(model),
            (None, Some(pool)) => write!(f, "pool {pool}"),
            (None, None) => f.write_str("every device"),
        }
    }
}
