//! One provider's lane: the connection to it, and the gate that everything sent to it passes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::clock::Clock;
use crate::domain::provider::Limits;
use crate::domain::time::Timestamp;
use crate::policy::rate::{Gate, Pass};
use crate::provider::Provider;

/// Every provider of one configuration, by name. A run keeps the lanes it started with.
#[derive(Clone, Default)]
pub struct Lanes {
    lanes: BTreeMap<String, Arc<Lane>>,
}

/// One provider, shared by all runs.
pub struct Lane {
    provider: Arc<dyn Provider>,
    gate: Mutex<Gate>,
    freed: Notify,
    clock: Clock,
}

/// A place in a lane, given back when dropped.
pub struct Slot<'a> {
    lane: &'a Lane,
}

impl Lanes {
    /// Adds a provider under its name. Its gate's minutes are counted by `clock`.
    pub fn add(&mut self, name: &str, provider: Arc<dyn Provider>, limits: Limits, clock: Clock) {
        let gate = Mutex::new(Gate::new(limits));
        let lane = Lane { provider, gate, freed: Notify::new(), clock };
        self.lanes.insert(name.to_owned(), Arc::new(lane));
    }

    /// The lane of the provider of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Lane>> {
        self.lanes.get(name).cloned()
    }
}

impl Lane {
    /// Where requests go.
    #[must_use]
    pub fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// Waits until `tokens` may be sent, first come first served among those who wait for a slot.
    pub async fn enter(&self, tokens: u64) -> Slot<'_> {
        loop {
            let freed = self.freed.notified();
            let now = self.clock.now().since_start();
            let pass = self.gate().enter(now, tokens);
            match pass {
                Pass::Open => return Slot { lane: self },
                Pass::Slot => freed.await,
                Pass::Until(at) => self.clock.sleep_until(Timestamp::after_start(at)).await,
            }
        }
    }

    fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        // The gate's arithmetic cannot panic half-way: a poisoned lock still holds a whole value.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.lane.gate().leave();
        self.lane.freed.notify_one();
    }
}
