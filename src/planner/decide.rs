//! The decisions: where a step starts, whether another attempt joins, whether to wait on for a better answer.

use super::belief::Belief;
use super::look::View;
use super::tables::Tables;
use crate::domain::id::PathIx;

/// Where to launch a step that has nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// On which path.
    pub path: PathIx,
    /// Seconds until it opens; 0 is at once.
    pub wait: f64,
    /// What the run is worth with it: the chance of a right answer in time, less prices.
    pub value: f64,
}

/// An attempt to launch beside what is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extra {
    /// On which path.
    pub path: PathIx,
    /// `with - waiting`; above 0.
    pub gain: f64,
    /// What the run is worth without it.
    pub waiting: f64,
    /// What it is worth with it, its price taken off.
    pub with: f64,
    /// Its price.
    pub price: f64,
}

/// Where a step starts, or starts again when nothing of it is in flight. `None` where no path is left.
#[must_use]
pub fn start(tables: &Tables, belief: &Belief, view: &View<'_>) -> Option<Start> {
    let _ = (tables, belief, view);
    None
}

/// Another attempt to launch now. `None` is to wait: nothing pays, or it pays more later.
#[must_use]
pub fn extra(tables: &Tables, belief: &Belief, view: &View<'_>) -> Option<Extra> {
    let _ = (tables, belief, view);
    None
}

/// Whether a step that holds an answer ([`View::held`]) waits on for an attempt of more trust.
#[must_use]
pub fn keep_holding(tables: &Tables, belief: &Belief, view: &View<'_>) -> bool {
    let _ = (tables, belief, view);
    false
}

/// Whether an optional step is to be given up now, because waiting for it lowers what the run is worth.
#[must_use]
pub fn give_up(tables: &Tables, belief: &Belief, view: &View<'_>) -> bool {
    let _ = (tables, belief, view);
    false
}

/// What the run is worth as it stands, left alone: the chance of a right answer in time, less later prices, as far as it
/// hangs on this step.
#[must_use]
pub fn value_left(tables: &Tables, belief: &Belief, view: &View<'_>) -> f64 {
    let _ = (tables, belief, view);
    0.0
}
