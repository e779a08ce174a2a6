//! A source of readings whose MIG instances carry the exporter's evidence where NVML has none.

use super::Evidence;
use crate::reading::{NodeReading, Plan, Source};
use schema::wire::Reason;

/// Readings of `inner`; without evidence they are as they were.
pub struct WithDcgm<S> {
    inner: S,
    evidence: Option<Evidence>,
}

impl<S: Source> WithDcgm<S> {
    /// Over `inner`.
    pub fn new(inner: S, evidence: Option<Evidence>) -> Self {
        Self { inner, evidence }
    }

    /// The source beneath.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Source> Source for WithDcgm<S> {
    fn read(&mut self, plan: &Plan) -> NodeReading {
        let mut reading = self.inner.read(plan);
        let Some(evidence) = &self.evidence else { return reading };
        let said = evidence.current();
        for device in &mut reading.devices {
            let uuid = device.identity.uuid.to_ascii_lowercase();
            let instances = device.outcome.as_mut().ok().and_then(|gauges| gauges.mig.as_mut());
            for instance in instances.into_iter().flatten() {
                if instance.gpm.err() == Some(Reason::MigPreHopper) {
                    instance.dcgm = said.get(&(uuid.clone(), instance.gpu_instance)).copied();
                }
            }
        }
        reading
    }

    fn release(&mut self) -> bool {
        self.inner.release()
    }
}
