//! What a loaded library holds: the compiled scenario, and whether it is initialised. Each copy of the file has its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::clock;
use crate::model::Model;
use crate::procfs::Procfs;
use crate::scenario::{Scenario, ScenarioError};

static MODEL: RwLock<Option<Arc<Model>>> = RwLock::new(None);
static PROCFS: Mutex<Option<Procfs>> = Mutex::new(None);

/// Calls of init that shutdown hasn't answered yet.
static INITS: AtomicUsize = AtomicUsize::new(0);
/// How many driver loads the last init had seen.
static LOADS_SEEN: AtomicUsize = AtomicUsize::new(0);
/// When the library was first initialised; the truth written at the end begins there.
static FIRST_INIT_US: AtomicI64 = AtomicI64::new(i64::MAX);

/// The node, from the environment's scenario where none was loaded yet.
pub fn model() -> Option<Arc<Model>> {
    if let Some(model) = MODEL.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
        return Some(Arc::clone(model));
    }
    let path = PathBuf::from(std::env::var_os("FAKE_NVML_SCENARIO")?);
    if let Err(error) = load(&path) {
        eprintln!("fake-nvml: {error}");
        return None;
    }
    MODEL.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The node, if a scenario was loaded.
pub fn loaded() -> Option<Arc<Model>> {
    MODEL.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Replaces the scenario.
pub fn load(path: &Path) -> Result<(), ScenarioError> {
    let scenario = Scenario::load(path)?;
    let start_us = scenario.start_us().unwrap_or_else(clock::t0_us);
    let model = Arc::new(Model::new(&scenario, start_us));
    // The wall clock's t = 0 is the library's load, so it is fixed here at the latest.
    clock::t0_us();
    *MODEL.write().unwrap_or_else(PoisonError::into_inner) = Some(model);
    let mut procfs = PROCFS.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = procfs.as_ref().map(|procfs| procfs.dir().to_owned());
    let dir = dir.or_else(|| std::env::var_os("FAKE_NVML_PROCFS").map(PathBuf::from));
    *procfs = dir.map(Procfs::new);
    Ok(())
}

/// Keeps this directory as `/proc` from now on.
pub fn set_procfs(dir: &Path) {
    *PROCFS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Procfs::new(dir.to_owned()));
    if let Some(model) = loaded() {
        sync_procfs(&model, clock::now_us(model.start_us));
    }
}

/// Brings the `/proc` directory, where there is one, to this instant.
pub fn sync_procfs(model: &Model, now_us: i64) {
    let mut procfs = PROCFS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(procfs) = procfs.as_mut()
        && let Err(error) = procfs.sync(model, now_us)
    {
        eprintln!("fake-nvml: {}: could not keep it as /proc: {error}", procfs.dir().display());
    }
}

/// One more user; the driver that runs now is the one it knows.
pub fn init(model: &Model) {
    let now_us = clock::now_us(model.start_us);
    FIRST_INIT_US.fetch_min(now_us, Ordering::AcqRel);
    LOADS_SEEN.store(model.loads_before(now_us), Ordering::Release);
    INITS.fetch_add(1, Ordering::AcqRel);
    sync_procfs(model, now_us);
}

/// One user less; false where there was none.
pub fn shutdown() -> bool {
    INITS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |inits| inits.checked_sub(1)).is_ok()
}

/// Whether there is a user, and the driver is still the one that the last init found.
pub fn is_initialised(model: &Model, now_us: i64) -> bool {
    INITS.load(Ordering::Acquire) > 0 && model.loads_before(now_us) <= LOADS_SEEN.load(Ordering::Acquire)
}

/// When the library was first initialised.
pub fn first_init_us() -> Option<i64> {
    Some(FIRST_INIT_US.load(Ordering::Acquire)).filter(|first_us| *first_us != i64::MAX)
}
