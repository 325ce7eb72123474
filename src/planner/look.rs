//! What there is to be seen at a moment: attempts in flight, and the situation of a step.

use crate::domain::id::{PathIx, StepIx};

/// One attempt in flight, as of now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Of which step.
    pub step: StepIx,
    /// On which path.
    pub path: PathIx,
    /// Seconds since it was sent.
    pub age: f64,
    /// Seconds from sending to its first token; `None` while there is none.
    pub first_token: Option<f64>,
    /// Tokens that have come.
    pub tokens: f64,
    /// Tokens a second over the last 3 s, or since the first token where that is less; `None` in the first half second.
    pub rate: Option<f64>,
    /// Whether it has ever been seen to be slow; see [`Tables::is_slow`](super::tables::Tables::is_slow).
    pub slow: bool,
}

/// How an attempt that is no longer in flight has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a complete answer, valid or not.
    Answered,
    /// By an error of its own.
    Failed,
    /// With a 429.
    Refused,
    /// It was closed by us.
    Closed,
}

/// Another step in flight.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// Which.
    pub step: StepIx,
    /// Its attempts in flight.
    pub attempts: &'a [Look],
    /// Whether it holds an answer already.
    pub held: bool,
}

/// One step's situation.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Which.
    pub step: StepIx,
    /// Seconds to the run's end.
    pub left: f64,
    /// Its attempts in flight.
    pub attempts: &'a [Look],
    /// The run's other steps in flight.
    pub beside: &'a [Beside<'a>],
    /// The path of the answer it holds, of less trust than an attempt in flight.
    pub held: Option<PathIx>,
    /// By path, seconds until something can be launched there: infinite where never. A path beyond the slice is open.
    pub open_in: &'a [f64],
    /// By provider, 429s of this step. None beyond the slice.
    pub refusals: &'a [u32],
    /// Attempts it may still launch.
    pub attempts_left: u32,
    /// Dollars the run may still commit; infinite where unbounded.
    pub dollars_left: f64,
    /// Tokens, likewise.
    pub tokens_left: f64,
}

impl View<'_> {
    /// Seconds until something can be launched on the path at this place.
    #[must_use]
    pub fn opens_in(&self, path: usize) -> f64 {
        self.open_in.get(path).copied().unwrap_or(0.0).max(0.0)
    }
}
