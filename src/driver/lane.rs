//! One provider's lane: the connection to it, and the door that everything sent to it passes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::clock::Clock;
use crate::domain::provider::Limits;
use crate::domain::time::Timestamp;
use crate::policy::permit::{Kind, Traffic, Window};
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
    door: Arc<Door>,
}

/// A provider's gate and the line before it. It outlives a change of the configuration.
struct Door {
    gate: Mutex<Gate>,
    /// Held by the first in line: only it waits for a slot or for the minute, and whoever leaves the line for
    /// another reason takes no wake-up along.
    turn: tokio::sync::Mutex<()>,
    freed: Notify,
    clock: Clock,
    /// What was launched in ten minutes, all runs together.
    window: Mutex<Window>,
}

/// A place in a lane, given back when dropped.
pub struct Slot<'a> {
    door: &'a Door,
}

impl Lanes {
    /// Adds a provider under its name. Its gate's minutes are counted by `clock`.
    pub fn add(&mut self, name: &str, provider: Arc<dyn Provider>, limits: Limits, clock: Clock) {
        let gate = Mutex::new(Gate::new(limits));
        let turn = tokio::sync::Mutex::new(());
        let door =
            Arc::new(Door { gate, turn, freed: Notify::new(), clock, window: Mutex::default() });
        self.lanes.insert(name.to_owned(), Arc::new(Lane { provider, door }));
    }

    /// The lane of the provider of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Lane>> {
        self.lanes.get(name).cloned()
    }

    /// Takes over the doors of `before`, each under the limits given here: what was sent within the last minute
    /// and what is in flight still counts.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        for (name, lane) in &mut self.lanes {
            let Some(old) = before.lanes.get(name) else { continue };
            old.door.gate().relimit(lane.door.gate().limits());
            old.door.freed.notify_one();
            let provider = lane.provider.clone();
            provider.inherit(old.provider());
            *lane = Arc::new(Lane { provider, door: old.door.clone() });
        }
        self
    }
}

impl Lane {
    /// Where requests go.
    #[must_use]
    pub fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// The window of a model as a refusal has told it.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u64> {
        self.provider.lessons()?.window(model)
    }

    /// Counts an attempt among those of ten minutes.
    pub fn count(&self, kind: Kind) {
        let now = self.door.clock.now().since_start();
        self.door.window().count(kind, now);
    }

    /// What was counted in the last ten minutes.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let now = self.door.clock.now().since_start();
        self.door.window().traffic(now)
    }

    /// Waits until `tokens` may be sent, first come first served.
    pub async fn enter(&self, tokens: u64) -> Slot<'_> {
        let door = &*self.door;
        let _turn = door.turn.lock().await;
        loop {
            let now = door.clock.now().since_start();
            let pass = door.gate().enter(now, tokens);
            match pass {
                Pass::Open => return Slot { door },
                Pass::Slot => door.freed.notified().await,
                Pass::Until(at) => door.clock.sleep_until(Timestamp::after_start(at)).await,
            }
        }
    }
}

impl Door {
    fn window(&self) -> std::sync::MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gate(&self) -> std::sync::MutexGuard<'_, Gate> {
        // The gate's arithmetic cannot panic half-way: a poisoned lock still holds a whole value.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.door.gate().leave();
        // Kept until the first in line looks, where none waits now.
        self.door.freed.notify_one();
    }
}

#[cfg(test)]
mod tests;
