//! The published benchmark of policies under tail latency: scenario files, the baselines that anything cleverer must
//! beat, and rows of results. Every draw is keyed, so policies share their luck and a row can be computed again.
//!
//! Not for running workflows: that is [`crate::world`].

pub mod baseline;
pub mod file;
pub mod row;
pub mod table;

#[cfg(test)]
mod tests;
