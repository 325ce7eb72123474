//! What is learned from observations, against the regimes they were drawn from: the simulator's, whose figures the book
//! never sees.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "figures, for `--nocapture`")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

#[path = "curves/censored.rs"]
mod censored;
#[path = "curves/keeping.rs"]
mod keeping;
#[path = "curves/learning.rs"]
mod learning;
#[path = "curves/server.rs"]
mod server;
