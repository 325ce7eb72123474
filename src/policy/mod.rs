//! Verdicts over a step's situation: when to stop relying on an attempt, what follows a failure, what may
//! be spent.
//!
//! Pure functions and small values; the engine asks them in one fixed order: deadline ([`crate::engine`]),
//! then budget ([`gate`]), then cutoff ([`cutoff`]), then fallback ([`fallback`]); what a failure closes
//! ([`closing`]) is noted before any of them. What all runs share stands behind a provider's [`door`].

pub mod closing;
pub mod cutoff;
pub mod door;
pub mod fallback;
pub mod gate;
pub mod health;
pub mod learned;
pub mod permit;
pub mod queue;
pub mod rate;
pub mod told;
