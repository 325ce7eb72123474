//! The reasons that measured times give.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::id::PathIx;
use crate::domain::plan::Plan;
use crate::domain::time::show;
use crate::policy::cutoff::Signal;
use crate::policy::cutoff::measured::{Basis, Projection};

/// An attempt that is late by what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Late {
    /// Its path.
    pub path: PathIx,
    /// What was seen.
    pub signal: Signal,
    /// By which numbers.
    pub by: By,
}

/// By which numbers an attempt is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A cutoff has passed.
    Cutoff(Basis),
    /// It will not be done in time.
    Projection(Projection),
}

/// Why no other attempt joins one that is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alone {
    /// The run can do without the step.
    Optional,
    /// Latency has risen everywhere, so many hundredths of what is usual; one extra attempt was made.
    Shock(u32),
}

/// A reason that measured times give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variant's text names its numbers")]
pub enum Timing {
    /// An attempt is late.
    Cut(Late),
    /// Another attempt joins one that is late.
    Joins { path: PathIx, late: Late },
    /// None does.
    Alone { late: Late, why: Alone },
    /// `hedge: {after}` is not heeded while latency has risen everywhere.
    Shock { hundredths: u32 },
    /// The critical path does not fit, even on the quickest paths.
    Short { needs: Duration, left: Duration },
    /// What follows the step would not fit any more.
    LastCall { needs: Duration, left: Duration },
    /// Nothing is spent on an attempt that cannot be in time.
    Vain { path: PathIx, needs: Duration, left: Duration },
    /// The first attempt, on a faster model, because the step's own does not fit.
    Hurried { path: PathIx, own: PathIx, usual: Duration, left: Duration },
}

/// Such a reason in words.
pub(super) struct Words<'a>(pub(super) &'a Timing, pub(super) &'a Plan);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(timing, plan) = self;
        let label = |path: &PathIx| plan.path(*path).label.as_str();
        match timing {
            Timing::Cut(late) => told(f, late, plan),
            Timing::Joins { path, late } => {
                told(f, late, plan)?;
                write!(f, "; now on {}", label(path))
            }
            Timing::Alone { late, why } => {
                told(f, late, plan)?;
                match why {
                    Alone::Optional => f.write_str("; the step is optional, so nothing joins it"),
                    Alone::Shock(hundredths) => write!(
                        f,
                        "; everything takes {} times as long as usual, so one extra attempt is the most",
                        Hundredths(*hundredths)
                    ),
                }
            }
            Timing::Shock { hundredths } => write!(
                f,
                "everything takes {} times as long as usual: no other attempt joins it before its cutoff",
                Hundredths(*hundredths)
            ),
            Timing::Short { needs, left } => {
                let (needs, left) = (show(*needs), show(*left));
                write!(f, "needs about {needs} on the critical path, {left} are left")
            }
            Timing::LastCall { needs, left } => {
                let (needs, left) = (show(*needs), show(*left));
                write!(f, "what is still to do takes {needs} at least, {left} are left")
            }
            Timing::Vain { path, needs, left } => write!(
                f,
                "{} takes {} at least, {} are left for it",
                label(path),
                show(*needs),
                show(*left)
            ),
            Timing::Hurried { path, own, usual, left } => write!(
                f,
                "first attempt on {}: {} usually takes {}, {} are left for it",
                label(path),
                label(own),
                show(*usual),
                show(*left)
            ),
        }
    }
}

/// `no first token from a/one by 4.1 s (P95 4.6 s × 0.9)`.
fn told(f: &mut fmt::Formatter<'_>, late: &Late, plan: &Plan) -> fmt::Result {
    let label = plan.path(late.path).label.as_str();
    match (late.by, late.signal) {
        (By::Cutoff(basis), Signal::Stalled) => {
            write!(f, "{} on {label} for {} ({basis})", late.signal, show(basis.after))
        }
        (By::Cutoff(basis), signal) => {
            write!(f, "{signal} on {label} by {} ({basis})", show(basis.after))
        }
        (By::Projection(projection), _) => {
            write!(f, "too slow to finish on {label}: {projection}")
        }
    }
}

/// A number in hundredths, for people.
struct Hundredths(u32);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.saturating_add(5) / 10;
        if tenths.is_multiple_of(10) {
            write!(f, "{}", tenths / 10)
        } else {
            write!(f, "{}.{}", tenths / 10, tenths % 10)
        }
    }
}
