//! What the planner expects of what it decides, and its reasons in words.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Reason;
use crate::domain::id::PathIx;
use crate::domain::plan::Plan;

/// What the planner expects, in ten-thousandths of a run that answers rightly and in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worth {
    /// Without it; `None` where there is no other way.
    pub waiting: Option<u32>,
    /// With it, its price taken off.
    pub with: u32,
    /// Its price.
    pub price: u32,
}

impl Worth {
    /// From shares, 0 to 1.
    #[must_use]
    pub fn new(waiting: Option<f64>, with: f64, price: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 10,000; what is no number is 0"
        )]
        let of = |share: f64| (share.clamp(0.0, 1.0) * 10_000.0).round() as u32;
        Self { waiting: waiting.map(of), with: of(with), price: of(price) }
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |of: u32| format!("{}.{:02} %", of / 100, of % 100);
        let with = share(self.with);
        match self.waiting {
            Some(waiting) => write!(
                f,
                "a right answer in time is worth {} waiting on and {with} with it, its price of {} taken off",
                share(waiting),
                share(self.price)
            ),
            None => write!(f, "a right answer in time is worth {with} from here"),
        }
    }
}

/// The planner's reasons in words; nothing of any other.
pub(super) fn fmt(reason: &Reason, plan: &Plan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let label = |path: &PathIx| plan.path(*path).label.as_str();
    match reason {
        Reason::Planned { path, after, worth } => {
            match after {
                Some((from, trouble)) => write!(f, "{trouble} on {}; now", label(from))?,
                None => f.write_str("first attempt")?,
            }
            write!(f, " on {}: {worth}", label(path))
        }
        Reason::Held { path } => write!(
            f,
            "the answer of {} is valid; a more trusted one is about to come, and is waited for",
            label(path)
        ),
        Reason::NotWorth => f.write_str("waiting for it would lower the chance of the rest"),
        _ => Ok(()),
    }
}
