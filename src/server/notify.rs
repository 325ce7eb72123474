//! Who wants to hear that the list of tools changed, and telling them.
//!
//! The protocol has two ways, and both are served: clients of the `initialize` era are told once they have
//! initialised; clients of 2026-07-28 open `subscriptions/listen` and are told through it.

use std::sync::Mutex;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::{Peer, SubscriptionSink};
use tokio::time::timeout;

/// Longest wait for one client to take the notification.
const SEND_LIMIT: Duration = Duration::from_secs(1);
/// Most subscriptions kept: a client needs one.
const SINKS_MAX: usize = 64;

/// The clients that want to hear of changes.
#[derive(Default)]
pub(super) struct Audience {
    peers: Mutex<Vec<Peer<RoleServer>>>,
    sinks: Mutex<Vec<SubscriptionSink>>,
}

impl Audience {
    /// A client has initialised.
    pub fn join(&self, peer: Peer<RoleServer>) {
        let mut peers = lock(&self.peers);
        peers.retain(|known| !known.is_transport_closed());
        if peers.len() < SINKS_MAX {
            peers.push(peer);
        }
    }

    /// A client has subscribed. `false` where there are too many subscriptions already.
    pub fn subscribe(&self, sink: SubscriptionSink) -> bool {
        let mut sinks = lock(&self.sinks);
        let room = sinks.len() < SINKS_MAX;
        if room {
            sinks.push(sink);
        }
        room
    }

    /// A subscription has ended.
    pub fn unsubscribe(&self, id: &RequestId) {
        lock(&self.sinks).retain(|sink| sink.id() != id);
    }

    /// Tells everyone, each in bounded time, and forgets who cannot be told.
    pub async fn tools_changed(&self) {
        let peers = lock(&self.peers).clone();
        for peer in peers {
            if !matches!(timeout(SEND_LIMIT, peer.notify_tool_list_changed()).await, Ok(Ok(()))) {
                tracing::debug!("a client could not be told that the tools changed");
            }
        }
        let sinks = lock(&self.sinks).clone();
        for sink in sinks {
            if let Ok(Err(_)) = timeout(SEND_LIMIT, sink.notify_tool_list_changed()).await {
                self.unsubscribe(sink.id());
            }
        }
    }
}

/// Nothing panics while these locks are held, so a poisoned one still holds a whole list.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
