//! Executes runs on tokio: one loop per run, one task per attempt, the only real clock, shared gates.
//!
//! Decides nothing: every decision is the engine's, made inside [`crate::run::Run`].

mod attempt;
pub mod clock;
pub mod crew;
mod drain;
mod drive;
mod handle;
mod host;
mod lane;
mod learned;
mod purse;
mod register;

pub use crate::run::Progress;
pub use handle::RunHandle;
pub use host::{CallOptions, Host, HostSettings, Refusal, fitting};
pub use lane::{Lane, Lanes};

#[cfg(test)]
mod tests;
