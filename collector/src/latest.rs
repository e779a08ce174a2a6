//! A value that one thread puts up whole and others look at: nobody waits for longer than a pointer takes to copy.

use std::sync::{Arc, PoisonError, RwLock};

/// The latest value; clones share it.
#[derive(Debug, Default)]
pub struct Latest<T>(Arc<RwLock<Arc<T>>>);

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Latest<T> {
    /// As last put up; the default before that.
    pub fn current(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts up a whole new value; who has the one before keeps it.
    pub fn publish(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_up_is_seen_by_every_clone() {
        let latest = Latest::<u32>::default();
        assert_eq!(*latest.clone().current(), 0);
        let before = latest.current();
        latest.clone().publish(5);
        assert_eq!((*before, *latest.current()), (0, 5));
    }
}
