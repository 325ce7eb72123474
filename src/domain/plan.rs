//! A workflow as the engine sees it: the graph, the bounds, the paths. No prompt, no schema, no content.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{ModelIx, PathIx, ProviderIx, StepIx};
use super::model::ModelProfile;
use super::money::Usd;
use super::time::{Share, Timestamp, show};

/// The content-free plan of one workflow on one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The workflow's name.
    pub workflow: String,
    /// Hard bound on the whole call. A caller may shorten it for a run.
    pub deadline: Duration,
    /// Bounds on what a run may spend.
    pub budget: Budget,
    /// In topological order: a step's needs stand before it.
    pub steps: Vec<StepPlan>,
    /// The logical models the steps name, with those they link to.
    pub models: Vec<ModelPlan>,
    /// Every path of those models, each once.
    pub paths: Vec<PathPlan>,
    /// The providers of those paths.
    pub providers: Vec<ProviderPlan>,
}

/// Bounds on what one run may spend; `None` is unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Dollars.
    pub usd: Option<Usd>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Attempts.
    pub calls: Option<u32>,
}

/// One step of the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    /// Its key in the file.
    pub name: String,
    /// For people, progress and resume messages.
    pub role: Role,
    /// What does its work.
    pub work: Work,
    /// What must have happened before it starts.
    pub needs: Vec<Need>,
    /// Whether it has a `when`, and may be skipped.
    pub conditional: bool,
    /// Whether the run can do without it.
    pub optional: bool,
    /// Fan-out.
    pub each: Option<EachPlan>,
    /// Share of the deadline at which an optional step, or an `each` step that has `min_ok`, is closed.
    pub cutoff_at: Option<Share>,
    /// The step this one judges.
    pub validates: Option<StepIx>,
    /// The step that judges this one.
    pub judged_by: Option<StepIx>,
    /// How often a validator may send its step back.
    pub revise: u32,
    /// Whether there are lists in its prompt that may lose items.
    pub shrinks: bool,
}

/// What does a step's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A model.
    Model {
        /// Which.
        model: ModelIx,
        /// The answer's bound, in tokens.
        max_tokens: u32,
        /// When to stop relying on an attempt, and what to do then.
        policy: Policy,
    },
    /// Expressions alone: instant, free, certain.
    Value,
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The step waited for.
    pub step: StepIx,
    /// How.
    pub kind: NeedKind,
}

/// How one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// Its accepted output is used and must be there.
    Output,
    /// Its output is used where it is there: accepted, ended, or past its `cutoff_at`.
    Guarded,
    /// It judges that step's answer, before anyone else sees it.
    Judges,
    /// Order only: it has ended, one way or another.
    Order,
}

/// A step's part in the workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Lays out the work.
    Planner,
    /// Does it.
    Executor,
    /// Judges it.
    Validator,
}

impl Role {
    /// The name in files and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Validator => "validator",
        }
    }
}

/// Fan-out over a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EachPlan {
    /// Most items in flight at once, at least 1.
    pub max_parallel: u32,
    /// Fewer good items than this share fail the step.
    pub min_ok: Share,
}

/// A logical model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// Its name in `punctual.yaml`.
    pub name: String,
    /// Its paths, best first, at least one.
    pub paths: Vec<PathIx>,
    /// A quicker one.
    pub faster: Option<ModelIx>,
    /// A more capable one.
    pub stronger: Option<ModelIx>,
}

/// A provider together with a model it serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathPlan {
    /// `provider/model`, as reports name it.
    pub label: String,
    /// Who serves it.
    pub provider: ProviderIx,
    /// What is known about the model there.
    pub profile: ModelProfile,
}

/// What the engine must know of a provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderPlan {
    /// Its name in `punctual.yaml`.
    pub name: String,
    /// Whether an attempt closed by us is charged in full.
    pub billed_on_cancel: bool,
    /// Whether a second attempt on the same path only slows the first.
    pub own_capacity: bool,
    /// Whether its answers are made up by the simulator.
    pub simulated: bool,
}

/// When a step stops relying on an attempt, and what follows each cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// When.
    pub cutoff: Cutoff,
    /// What becomes of the attempt that was cut.
    pub hedge: Hedge,
    /// Most attempts of one step or item, all causes together: 1 to 8. Revisions count anew.
    pub attempts: u32,
    /// Most changes of path.
    pub max_swaps: u32,
    /// Pause before an attempt on another path.
    pub swap_delay: Duration,
    /// The reaction by cause.
    pub on: Reactions,
}

/// The moment at which a step stops relying on an attempt, counted from when its request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cutoff {
    /// By what was measured; while too little was, first token and stall alone.
    Auto,
    /// As written. `None` does not cut.
    Fixed {
        /// Without a first token.
        first_token: Option<Duration>,
        /// Without a further token.
        idle: Option<Duration>,
        /// Without a complete answer.
        total: Option<Duration>,
    },
}

/// What becomes of an attempt that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hedge {
    /// It is closed before the next one starts.
    Off,
    /// It stays in the race while it can still win.
    Auto,
    /// The same, and another attempt joins it before its cutoff.
    After {
        /// When, from sending.
        after: After,
        /// Most of these, as a share of the quota's primary attempts over ten minutes, all runs together.
        max_extra: Share,
    },
}

/// When an attempt that has not answered is joined by another, counted from when its request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// When so many of a hundred answers have come by: 50 to 99. Below 20 samples, at the cutoff.
    Percentile(u8),
    /// As written.
    Fixed(Duration),
}

impl Hedge {
    /// `max_extra` where it is not written: 10 % (the format's documentation).
    pub const MAX_EXTRA: Share = match Share::percent(10) {
        Some(share) => share,
        None => Share::ALL,
    };

    /// Whether an attempt that was cut stays in the race.
    #[must_use]
    pub const fn races(self) -> bool {
        match self {
            Self::Off => false,
            Self::Auto | Self::After { .. } => true,
        }
    }
}

impl fmt::Display for Hedge {
    /// What it does, for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("the one that was cut is closed first (hedge: off)"),
            Self::Auto => f.write_str(
                "the one that was cut stays in the race, and the first valid answer wins",
            ),
            Self::After { after, max_extra } => {
                write!(f, "{}; ", Self::Auto)?;
                match after {
                    After::Fixed(after) => {
                        write!(
                            f,
                            "after {} another attempt joins it before its cutoff",
                            show(*after)
                        )?;
                    }
                    After::Percentile(percent) => write!(
                        f,
                        "at p{percent} of the measured times another attempt joins it before its cutoff; \
                         below 20 samples, as now, at its cutoff"
                    )?,
                }
                write!(
                    f,
                    " (at most {max_extra} of the quota's first attempts over ten minutes, one at least)"
                )
            }
        }
    }
}

/// The reaction to each cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reactions {
    /// Cut.
    pub slow: OnSlow,
    /// Throttled.
    pub limited: OnTrouble,
    /// Sick path.
    pub down: OnTrouble,
    /// Invalid output.
    pub invalid: OnInvalid,
    /// Prompt beyond the window.
    pub too_long: OnTooLong,
    /// Declined or filtered.
    pub refused: OnRefused,
    /// Judged not good enough, no revision left.
    pub rejected: OnRejected,
}

/// What follows a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSlow {
    /// By the signal: no token → next, too slow to finish → faster.
    Auto,
    /// The next path.
    Next,
    /// The model's `faster` link.
    Faster,
    /// The step or item fails.
    Fail,
}

/// What follows a throttled or sick path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTrouble {
    /// The next path.
    Next,
    /// The step or item fails.
    Fail,
}

/// What follows invalid output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnInvalid {
    /// One repair turn on the same path, then the model's `stronger` link.
    Repair,
    /// The model's `stronger` link at once.
    Stronger,
    /// The next path.
    Next,
    /// The step or item fails.
    Fail,
}

/// What follows a prompt that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTooLong {
    /// A path with a larger window.
    Larger,
    /// The step or item fails.
    Fail,
}

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRefused {
    /// The model's `stronger` link, once.
    Stronger,
    /// The next path, once.
    Next,
    /// The step or item fails.
    Fail,
}

/// What follows a rejection without a revision left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRejected {
    /// The run fails.
    Fail,
    /// The answer goes out, degraded and named as unverified.
    Accept,
}

impl Default for Policy {
    /// The reaction table of the format's documentation.
    fn default() -> Self {
        Self {
            cutoff: Cutoff::Auto,
            hedge: Hedge::Auto,
            attempts: 4,
            max_swaps: 3,
            swap_delay: Duration::from_millis(50),
            on: Reactions {
                slow: OnSlow::Auto,
                limited: OnTrouble::Next,
                down: OnTrouble::Next,
                invalid: OnInvalid::Repair,
                too_long: OnTooLong::Larger,
                refused: OnRefused::Stronger,
                rejected: OnRejected::Fail,
            },
        }
    }
}

impl Plan {
    /// The step at `ix`.
    #[must_use]
    pub fn step(&self, ix: StepIx) -> &StepPlan {
        &self.steps[ix.at()]
    }

    /// The path at `ix`.
    #[must_use]
    pub fn path(&self, ix: PathIx) -> &PathPlan {
        &self.paths[ix.at()]
    }

    /// The provider of the path at `ix`.
    #[must_use]
    pub fn provider_of(&self, ix: PathIx) -> &ProviderPlan {
        &self.providers[self.path(ix).provider.at()]
    }

    /// The model at `ix`.
    #[must_use]
    pub fn model(&self, ix: ModelIx) -> &ModelPlan {
        &self.models[ix.at()]
    }

    /// All step indices, in topological order.
    pub fn step_ixs(&self) -> impl DoubleEndedIterator<Item = StepIx> + use<> {
        (0..u16::try_from(self.steps.len()).unwrap_or(u16::MAX)).map(StepIx)
    }

    /// The moment a run under `deadline` ends at the latest: a reserve before it of 1 %, 50 to 500 ms, and
    /// never more than half, so that the last byte of the answer leaves in time.
    #[must_use]
    pub fn end_at(deadline: Duration) -> Timestamp {
        let reserve = (deadline / 100).clamp(Duration::from_millis(50), Duration::from_millis(500));
        Timestamp::after_start(deadline.saturating_sub(reserve.min(deadline / 2)))
    }
}
