//! What goes wrong in a run, drawn from its seed: the same for every policy.
//!
//! | fault | what happens |
//! |---|---|
//! | 429 | A is throttled for this run from one step on, for 0.2 to 4 s (3 to 60 s), and says how long |
//! | 529 | the same without a word on how long |
//! | overflow | one step's prompt is beyond A's window, and so is every later one that is as long |
//! | billing | A's credit is used up from one step on, for good |
//! | cut stream | the stream of one step ends after a part of the answer: in half the runs the connection breaks off, in half it is closed in good order, without the event that ends an answer. On A again in 30 of 100 attempts |
//! | garbage | one step's answer is broken JSON |
//! | fenced | one step's answer is sound, with words and a code fence around it |
//! | wrong shape | one step's answer is JSON of another shape: numbers as words, or a part left out |
//! | slow death | one step's stream does not begin, stops, or drips so that it would last beyond the deadline. On A again in half of all attempts |
//! | mixed | each step on A meets one of the above in 60 of 100 runs, an overflow only where the prompt is longest, in `review`; on B the first attempt meets a short 429, a cut stream or an unusable answer in 15 of 100 |
//!
//! An unusable answer (garbage, fenced, wrong shape) comes again in half of all attempts with the same request,
//! and in one of ten where the model is shown what it had said.

use std::time::Duration;

use crate::luck::{below, doubling, draw, percent};
use crate::task::{STEPS, Step};
use crate::wire::Family;

/// A kind of fault, or the lack of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    Calm,
    Throttled,
    Overloaded,
    Overflow,
    Billing,
    Cut,
    Garbage,
    Fenced,
    WrongShape,
    SlowDeath,
    Mixed,
}

pub const FAULTS: [Fault; 11] = [
    Fault::Calm,
    Fault::Throttled,
    Fault::Overloaded,
    Fault::Overflow,
    Fault::Billing,
    Fault::Cut,
    Fault::Garbage,
    Fault::Fenced,
    Fault::WrongShape,
    Fault::SlowDeath,
    Fault::Mixed,
];

impl Fault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "none",
            Self::Throttled => "429 mid-run",
            Self::Overloaded => "529",
            Self::Overflow => "overflow",
            Self::Billing => "billing",
            Self::Cut => "cut stream",
            Self::Garbage => "garbage JSON",
            Self::Fenced => "fenced JSON",
            Self::WrongShape => "wrong shape",
            Self::SlowDeath => "slow death",
            Self::Mixed => "mixed",
        }
    }

    /// What is drawn from where several can be met.
    const ON_A: [Self; 9] = [
        Self::Throttled,
        Self::Overloaded,
        Self::Overflow,
        Self::Billing,
        Self::Cut,
        Self::Garbage,
        Self::Fenced,
        Self::WrongShape,
        Self::SlowDeath,
    ];
    const ON_B: [Self; 5] =
        [Self::Throttled, Self::Cut, Self::Garbage, Self::Fenced, Self::WrongShape];

    const fn id(self) -> u64 {
        self as u64
    }
}

/// What a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is answered.
    Fine,
    /// 429, to come back after so long.
    Throttled(Duration),
    /// 529.
    Overloaded,
    /// 400: too long.
    Overflow,
    /// 400: no credit.
    Billing,
    /// The stream ends after this share of the answer, in thousandths; in good order or not.
    Cut {
        after: u64,
        clean: bool,
    },
    /// The answer is made unusable in this way.
    Garbage,
    Fenced,
    WrongShape {
        part: bool,
    },
    /// The stream does not begin.
    Silent,
    /// It stops after this share of the answer.
    Stall {
        after: u64,
    },
    /// It drips from this share on.
    Drip {
        after: u64,
    },
}

/// What is known of a request when its fate is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub family: Family,
    pub step: Step,
    /// Requests of this step that this family has had before.
    pub nth: u64,
    /// Whether it shows the model the unusable answer it gave before.
    pub told: bool,
    /// Time since this family first met the fault of `since`'s step, by step: `None` where it has not yet.
    pub since: [Option<Duration>; 3],
}

/// The faults in store for one run.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub fault: Fault,
    pub seed: u64,
}

impl Store {
    /// The fault in store for a step on a family.
    pub fn of(&self, family: Family, step: Step) -> Fault {
        let key = |what: u64| [self.seed, self.fault.id(), family as u64, step.at() as u64, what];
        match (self.fault, family) {
            (Fault::Mixed, Family::A) if percent(60, &key(1)) => {
                match pick(&Fault::ON_A, &key(2)) {
                    Fault::Overflow if step != Step::Review => Fault::Overloaded,
                    met => met,
                }
            }
            (Fault::Mixed, Family::B) if percent(15, &key(1)) => pick(&Fault::ON_B, &key(2)),
            (Fault::Mixed, _) | (_, Family::B) => Fault::Calm,
            (fault, Family::A) => {
                let place = below(3, &[self.seed, fault.id()]);
                if place == step.at() as u64 { fault } else { Fault::Calm }
            }
        }
    }

    /// How long a family that is throttled or overloaded from `step` on stays so.
    fn window(&self, family: Family, step: Step) -> Duration {
        let (low, high) = match family {
            Family::A => (0.2, 4.0),
            Family::B => (0.03, 0.2),
        };
        let key = [self.seed, self.fault.id(), family as u64, step.at() as u64, 3];
        Duration::from_secs_f64(doubling(low, high, &key))
    }

    /// What the request meets.
    pub fn fate(&self, asked: &Asked) -> Fate {
        if let Some(lasting) = self.lasting(asked) {
            return lasting;
        }
        let Asked { family, step, nth, told, .. } = *asked;
        let key = |what: u64| {
            [self.seed, self.fault.id(), family as u64, step.at() as u64, 10 + what, nth]
        };
        let again = |chance: u64| nth == 0 || (family == Family::A && percent(chance, &key(0)));
        let unusable = || again(if told { 10 } else { 50 });
        let after = 300 + below(500, &key(1));
        match self.of(family, step) {
            Fault::Overflow => Fate::Overflow,
            Fault::Cut if again(30) => {
                Fate::Cut { after, clean: percent(50, &[self.seed, self.fault.id(), 7]) }
            }
            Fault::Garbage if unusable() => Fate::Garbage,
            Fault::Fenced if unusable() => Fate::Fenced,
            Fault::WrongShape if unusable() => {
                Fate::WrongShape { part: percent(50, &[self.seed, self.fault.id(), 8]) }
            }
            Fault::SlowDeath if again(50) => match below(3, &[self.seed, self.fault.id(), 9]) {
                0 => Fate::Silent,
                1 => Fate::Stall { after },
                _ => Fate::Drip { after },
            },
            _ => Fate::Fine,
        }
    }

    /// A fault of the whole family that began at this step or an earlier one.
    fn lasting(&self, asked: &Asked) -> Option<Fate> {
        STEPS.into_iter().filter(|step| step.at() <= asked.step.at()).find_map(|step| {
            let began = asked.since[step.at()];
            // It begins with the first request of its step.
            let since = began.or((step == asked.step).then_some(Duration::ZERO))?;
            let left =
                self.window(asked.family, step).checked_sub(since).filter(|left| !left.is_zero());
            match self.of(asked.family, step) {
                Fault::Billing => Some(Fate::Billing),
                Fault::Throttled => left.map(Fate::Throttled),
                Fault::Overloaded => left.map(|_| Fate::Overloaded),
                _ => None,
            }
        })
    }
}

fn pick(list: &[Fault], key: &[u64]) -> Fault {
    list[usize::try_from(draw(key) % list.len() as u64).unwrap_or(0)]
}
