//! Verdicts over a step's situation: when to stop relying on an attempt, what follows a failure, what may
//! be spent.
//!
//! Pure functions and small values; the engine asks them in one fixed order: deadline ([`crate::engine`]),
//! then budget ([`gate`]), then cutoff ([`cutoff`]), then fallback ([`fallback`]); what a failure closes
//! ([`closing`]) is noted before any of them.

pub mod closing;
pub mod cutoff;
pub mod fallback;
pub mod gate;
pub mod permit;
pub mod rate;
