//! The published benchmark of policies under tail latency: scenario files, the baselines that anything cleverer must
//! beat, the engine itself under the same draws, and rows of results. Every draw is keyed, so policies share their luck
//! and a row can be computed again.
//!
//! Not for running workflows: that is [`crate::world`].

pub mod baseline;
pub mod drive;
pub mod file;
pub mod plan;
pub mod row;
pub mod stage;
pub mod table;
pub mod warmup;

#[cfg(test)]
mod tests;
