//! What was decided and why, as data; the words are made when someone reads them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::failure::FailureClass;
use crate::domain::id::{ItemIx, PathIx, StepIx};
use crate::domain::outcome::Status;
use crate::domain::plan::Plan;
use crate::domain::time::{Share, Timestamp, show};
use crate::policy::cutoff::Signal;
use crate::policy::fallback::Trouble;
use crate::policy::gate::Refusal;
use crate::policy::permit::{Permit, Stock, Traffic};
use timing::Timing;
use worth::Worth;

pub mod timing;
pub mod worth;

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// About which step; `None` about the run.
    pub step: Option<StepIx>,
    /// About which item of an `each` step.
    pub item: Option<ItemIx>,
    /// What.
    pub kind: Kind,
    /// Why.
    pub reason: Reason,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A step begins, or a prompt is made shorter.
    Prepare,
    /// An attempt is launched.
    Launch,
    /// A step stops relying on an attempt.
    Cut,
    /// An attempt is closed.
    Cancel,
    /// Nothing is launched, though something could be.
    Wait,
    /// An answer becomes an output.
    Accept,
    /// A validator sends a step back.
    Revise,
    /// A step is not needed, or a path cannot take a prompt.
    Skip,
    /// A step or item cannot be had.
    Fail,
    /// A step ends with what it has.
    Close,
    /// The run ends.
    Finish,
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Launch => "launch",
            Self::Cut => "cut",
            Self::Cancel => "cancel",
            Self::Wait => "wait",
            Self::Accept => "accept",
            Self::Revise => "revise",
            Self::Skip => "skip",
            Self::Fail => "fail",
            Self::Close => "close",
            Self::Finish => "finish",
        }
    }
}

/// A path that was passed over, and how it was away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The path.
    pub path: PathIx,
    /// How.
    pub away: Away,
}

/// How a path cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Away {
    /// It is closed for a while.
    Closed {
        /// For so long.
        wait: Duration,
        /// By this.
        class: Option<FailureClass>,
        /// Whether that was in another run.
        elsewhere: bool,
    },
    /// It is out for the rest of the run.
    Out {
        /// By this.
        class: Option<FailureClass>,
        /// Whether that was in another run.
        elsewhere: bool,
    },
    /// Its provider's limits let nothing through.
    Line {
        /// For so long at least.
        wait: Duration,
    },
    /// Its provider is sick in this run: late, slow, throttled or failing.
    Suspect,
    /// It is measured to be much slower than another.
    Slower {
        /// Its P95.
        p95: Duration,
        /// That of the other.
        other: Duration,
    },
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, elsewhere) = match self {
            Self::Closed { wait, class, elsewhere } => {
                write!(f, "closed for {}", show(*wait))?;
                (class, *elsewhere)
            }
            Self::Out { class, elsewhere } => {
                f.write_str("out")?;
                (class, *elsewhere)
            }
            Self::Line { wait } => {
                return write!(f, "held up by its limits for {} at least", show(*wait));
            }
            Self::Suspect => return f.write_str("slow or failing in this run"),
            Self::Slower { p95, other } => {
                return write!(f, "P95 {} against {}", show(*p95), show(*other));
            }
        };
        match class {
            Some(class) if elsewhere => write!(f, ": {class} in another run"),
            Some(class) => write!(f, ": {class}"),
            None => Ok(()),
        }
    }
}

/// Why it was decided, with the numbers it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variant's text names its numbers")]
pub enum Reason {
    /// Everything the step needs is there.
    Ready,
    /// The step has done all it does, and no validator is to judge it.
    Complete,
    /// The condition is false.
    ConditionFalse,
    /// The step it would judge has no answer.
    NothingToJudge,
    /// The first attempt, on this path, of so many prompt tokens at most; another path was passed over.
    First { path: PathIx, prompt_tokens: u64, passed: Option<Passed> },
    /// A cutoff has passed.
    Late { path: PathIx, signal: Signal, after: Duration, automatic: bool },
    /// Another attempt follows one in trouble; another path was passed over.
    Follows { path: PathIx, from: PathIx, trouble: Trouble, passed: Option<Passed>, permit: Permit },
    /// The planner says so; `after` is the attempt it joins or follows.
    Planned { path: PathIx, after: Option<(PathIx, Trouble)>, worth: Worth },
    /// A valid answer waits for one that is more trusted, and about to come.
    Held { path: PathIx },
    /// Waiting for it lowers what the run is worth.
    NotWorth,
    /// Every path of the model is away; this one opens first.
    AllAway { first: Passed },
    /// It was not sent: its path has been closed since.
    TurnedAway { path: PathIx, class: FailureClass },
    /// The validator sent it back.
    SentBack { path: PathIx, revision: u32, of: u32 },
    /// So many are in flight already.
    RaceFull { in_flight: usize },
    /// All attempts of the step or item are used.
    AttemptsUsed { attempts: u32 },
    /// All changes of path are used.
    SwapsUsed { swaps: u32 },
    /// No path can follow.
    NoPath,
    /// The quota of this path bears no extra attempt more.
    NoPermit { path: PathIx, traffic: Traffic, max_extra: Share },
    /// The quota of this path has no permit for an extra attempt; what is in flight is waited for.
    NotPermitted { path: PathIx, stock: Stock },
    /// No other attempt may join the one on this path, which has been silent for too long.
    GivenUp { path: PathIx, silent: Duration },
    /// Nothing is measured yet that this percentile could be of.
    Unmeasured { percent: u8 },
    /// The policy ends it here.
    ByPolicy { class: FailureClass },
    /// A budget refuses.
    Budget(Refusal),
    /// The first valid answer.
    FirstValid { path: PathIx },
    /// Another attempt was first.
    Superseded { path: PathIx },
    /// It is closed before the next one starts.
    HedgeOff { path: PathIx },
    /// The validator passes it.
    Passed,
    /// The validator rejects it.
    Rejected { revisions_left: u32 },
    /// No validator vouches for it.
    Unverified { why: Status },
    /// It was rejected, and the policy accepts it.
    RejectedAccepted,
    /// So many of so many items, at least as many as needed.
    EnoughItems { good: u32, of: u32, needed: u32 },
    /// So many of so many items have failed; more than may.
    TooFewItems { bad: u32, of: u32, needed: u32 },
    /// A share of the deadline has passed.
    CutoffAt { share: Share },
    /// The run's time is up.
    TimeUp { deadline: Duration },
    /// Its last failure.
    Failure { class: FailureClass },
    /// All steps have ended.
    AllEnded,
    /// The caller withdrew the call.
    Withdrawn,
    /// An earlier run of the same call has validated it.
    Reused,
    /// The prompt is longer than what this path takes beside the answer.
    TooLong { path: PathIx, prompt_tokens: u64, room: u64 },
    /// A prompt that overflowed is to have so many tokens.
    Shrinks { prompt_tokens: u64, most: u64 },
    /// By what is measured.
    Timing(Timing),
}

/// A decision's reason in words.
#[derive(Debug)]
pub struct Words<'a> {
    /// The decision.
    pub decision: &'a Decision,
    /// The plan it was made for, for the paths' names.
    pub plan: &'a Plan,
}

impl Words<'_> {
    /// What follows the reason of a launch, where another path was passed over.
    fn passed(&self, passed: Option<&Passed>) -> String {
        let told = |Passed { path, away }: &Passed| {
            format!("; passed over {}, {away}", self.plan.path(*path).label)
        };
        passed.map(told).unwrap_or_default()
    }
}

fn no_permit(
    f: &mut fmt::Formatter<'_>,
    path: &str,
    Traffic { primaries, extras }: Traffic,
    most: Share,
) -> fmt::Result {
    write!(
        f,
        "{path} has no extra attempt left: {extras} extra of {primaries} primaries in 10 min, at most {most}"
    )
}

fn permitted(permit: &Permit) -> String {
    match permit {
        Permit::Uncounted => String::new(),
        Permit::One { .. } => format!(" ({permit})"),
    }
}

fn unmeasured(f: &mut fmt::Formatter<'_>, percent: u8) -> fmt::Result {
    write!(
        f,
        "p{percent} is not measured yet (fewer than 20 samples): no other attempt joins it before its cutoff"
    )
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |path: &PathIx| self.plan.path(*path).label.as_str();
        match &self.decision.reason {
            Reason::Ready => f.write_str("everything it needs is there"),
            Reason::Complete => f.write_str("its output is complete"),
            Reason::ConditionFalse => f.write_str("its condition is false"),
            Reason::NothingToJudge => f.write_str("there is nothing for it to judge"),
            Reason::First { path, prompt_tokens, passed } => {
                let (path, passed) = (label(path), self.passed(passed.as_ref()));
                write!(f, "first attempt on {path}, about {prompt_tokens} prompt tokens{passed}")
            }
            Reason::Late { path, signal, after, automatic } => {
                let rule = if *automatic { "cold-start cutoff" } else { "cutoff as written" };
                write!(f, "{signal} on {} within {} ({rule})", label(path), show(*after))
            }
            Reason::AllAway { first: Passed { path, away } } => {
                write!(f, "no path can be used now; the first will be {}, {away}", label(path))
            }
            Reason::TurnedAway { path, class } => {
                write!(f, "{} was not sent to: closed by {class}", label(path))
            }
            Reason::SentBack { path, revision, of } => {
                write!(f, "revision {revision} of {of} on {}", label(path))
            }
            Reason::RaceFull { in_flight } => {
                write!(f, "{in_flight} attempts are in flight, the most there may be")
            }
            Reason::AttemptsUsed { attempts } => write!(f, "all {attempts} attempts are used"),
            Reason::SwapsUsed { swaps } => write!(f, "all {swaps} swaps are used"),
            Reason::NoPath => f.write_str("no other path can be used"),
            Reason::NoPermit { path, traffic, max_extra } => {
                no_permit(f, label(path), *traffic, *max_extra)
            }
            Reason::Unmeasured { percent } => unmeasured(f, *percent),
            Reason::ByPolicy { class } => write!(f, "{class}, and the policy says to fail"),
            Reason::Budget(refusal) => refusal.fmt(f),
            Reason::FirstValid { path } => write!(f, "first valid answer, from {}", label(path)),
            Reason::Passed => f.write_str("its validator passes it"),
            Reason::Rejected { revisions_left } => {
                write!(f, "its validator rejects it; revisions left: {revisions_left}")
            }
            Reason::Unverified { why } => {
                write!(f, "unverified: its validator is {}", why.as_str())
            }
            Reason::RejectedAccepted => {
                f.write_str("rejected, and accepted unverified because the policy says so")
            }
            Reason::CutoffAt { share } => write!(f, "{share} of the deadline has passed"),
            Reason::TimeUp { deadline } => write!(f, "the deadline of {} is near", show(*deadline)),
            Reason::Failure { class } => write!(f, "its last failure was {class}"),
            Reason::AllEnded => f.write_str("every step has ended"),
            Reason::Withdrawn => f.write_str("the caller withdrew the call"),
            Reason::Reused => f.write_str("validated in an earlier run of the same call"),
            Reason::TooLong { .. }
            | Reason::Shrinks { .. }
            | Reason::EnoughItems { .. }
            | Reason::TooFewItems { .. }
            | Reason::Timing(_) => self.more(f),
            Reason::Planned { .. } | Reason::Held { .. } | Reason::NotWorth => {
                worth::fmt(&self.decision.reason, self.plan, f)
            }
            Reason::Follows { .. }
            | Reason::NotPermitted { .. }
            | Reason::Superseded { .. }
            | Reason::HedgeOff { .. }
            | Reason::GivenUp { .. } => self.of_race(f),
        }
    }
}

impl Words<'_> {
    /// What joins, follows or leaves an attempt, and what permits have to do with it.
    fn of_race(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |path: &PathIx| self.plan.path(*path).label.as_str();
        match &self.decision.reason {
            Reason::Follows { path, from, trouble, passed, permit } => {
                let (from, path) = (label(from), label(path));
                let (permit, passed) = (permitted(permit), self.passed(passed.as_ref()));
                write!(f, "{trouble} on {from}; now on {path}{permit}{passed}")
            }
            Reason::NotPermitted { path, stock } => {
                write!(f, "{} bears no extra attempt: {stock}", label(path))
            }
            Reason::Superseded { path } => {
                write!(f, "{} is no longer needed: another answer was first", label(path))
            }
            Reason::HedgeOff { path } => {
                write!(f, "{} is closed before the next attempt: hedge is off", label(path))
            }
            Reason::GivenUp { path, silent } => write!(
                f,
                "{} has been silent for {}, and no attempt more may join it: given up",
                label(path),
                show(*silent)
            ),
            _ => Ok(()),
        }
    }

    /// The reasons that a prompt's size gives, counted items and measured times.
    fn more(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.decision.reason {
            Reason::EnoughItems { good, of, needed } => {
                write!(f, "{good} of {of} items are there, {needed} needed")
            }
            Reason::TooFewItems { bad, of, needed } => {
                write!(f, "{bad} of {of} items failed, {needed} needed")
            }
            Reason::Timing(timing) => write!(f, "{}", timing::Words(timing, self.plan)),
            Reason::TooLong { path, prompt_tokens, room } => write!(
                f,
                "about {prompt_tokens} prompt tokens are more than the {room} that {} takes beside the answer",
                self.plan.path(*path).label
            ),
            Reason::Shrinks { prompt_tokens, most } => write!(
                f,
                "about {prompt_tokens} prompt tokens did not fit: lists that may lose items are cut until {most} are left"
            ),
            _ => Ok(()),
        }
    }
}
