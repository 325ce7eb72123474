//! Being asked to end, by a terminal or by whoever started the process.

use std::io;

/// The signals that ask a process to end.
#[cfg(unix)]
#[derive(Debug)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Begins to catch them.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The number of the next one. Cancel-safe.
    pub async fn next(&mut self) -> i32 {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.hangup.recv() => SignalKind::hangup().as_raw_value(),
        }
    }
}

/// The signals that ask a process to end.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Begins to catch them.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// The number of the next one. Cancel-safe.
    pub async fn next(&mut self) -> i32 {
        const INTERRUPT: i32 = 2;
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPT
    }
}
