//! A small world for one machine: it answers what the machine asks for with seeded faults and delays, in
//! virtual time, and goes on talking about attempts that were closed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{About, Failure, FailureClass, Scope};
use punctual::domain::id::{AttemptId, ItemIx, StepIx};
use punctual::domain::message::Usage;
use punctual::domain::plan::{Plan, Work};
use punctual::domain::time::Timestamp;
use punctual::engine::{AttemptSpec, Event, Prepared, Signals, Verdict};
use punctual::policy::health::Why;
use punctual::policy::permit::{Shortage, Stock, Traffic};

/// Most items of a drawn list.
const ITEMS_MAX: u64 = 24;
/// Tokens of the largest drawn prompt.
const PROMPT_MAX: u64 = 3_000;

/// `SplitMix64`: small, seeded, good enough to draw faults from.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound.max(1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most))
    }

    /// Up to `usual` milliseconds; `chance` times in a hundred up to `tail` of them.
    fn tailed(&mut self, usual: u64, chance: u64, tail: u64) -> Duration {
        let most = if self.percent(chance) { tail } else { usual };
        self.millis(most)
    }
}

/// What will happen, in order of time and then of being decided.
pub struct World {
    draw: Draw,
    queue: BinaryHeap<Reverse<(Timestamp, usize)>>,
    events: Vec<Option<Event>>,
    /// Of a hundred attempts, how many meet each kind of trouble; drawn once, so that calm runs are drawn too.
    trouble: u64,
    /// Per step: the tokens of the smallest prompt prepared last; no attempt uses more input.
    prompts: Vec<u64>,
}

impl World {
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let mut draw = Draw(seed);
        let mut world = Self {
            trouble: [0, 2, 5, 10, 20][usize::try_from(draw.below(5)).unwrap_or(0)],
            draw,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            prompts: vec![0; plan.steps.len()],
        };
        let reuse = world.draw.percent(10);
        let reused = (0..plan.steps.len()).filter(|_| reuse && world.draw.percent(30));
        let reused: Vec<usize> = reused.collect();
        let reused = reused.into_iter().filter_map(|s| u16::try_from(s).ok()).map(StepIx);
        let start = Event::Started { reused: reused.collect() };
        world.at(Timestamp::ZERO, start);
        if world.draw.percent(5) {
            let when = Timestamp::ZERO + world.draw.millis(60_000);
            world.at(when, Event::Withdrawn);
        }
        for stray in 0..world.draw.below(4) {
            let when = Timestamp::ZERO + world.draw.millis(30_000);
            let attempt = AttemptId(u32::try_from(stray * 1_000).unwrap_or(0));
            let event = world.ending(attempt, 0, 0);
            world.at(when, event);
        }
        world
    }

    fn at(&mut self, when: Timestamp, event: Event) {
        self.queue.push(Reverse((when, self.events.len())));
        self.events.push(Some(event));
    }

    /// When the next event comes.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.queue.peek().map(|Reverse((when, _))| *when)
    }

    pub fn pop(&mut self) -> Option<Event> {
        let Reverse((_, ix)) = self.queue.pop()?;
        self.events[ix].take()
    }

    /// What the machine sees of the other runs: now and then a path that is closed.
    pub fn signals(&mut self, plan: &Plan) -> Signals {
        let traffic = plan.paths.iter().map(|_| Traffic {
            primaries: u32::try_from(self.draw.below(60)).unwrap_or(0),
            extras: u32::try_from(self.draw.below(6)).unwrap_or(0),
        });
        let traffic = traffic.collect();
        let permits: Vec<Stock> = plan.paths.iter().map(|_| self.stock()).collect();
        if !self.draw.percent(5) {
            return Signals { traffic, permits, ..Signals::default() };
        }
        let closed = plan
            .paths
            .iter()
            .map(|_| if self.draw.percent(20) { self.draw.millis(30_000) } else { Duration::ZERO });
        let closed_for: Vec<Duration> = closed.collect();
        let why = closed_for.iter().map(|closed| {
            let event = self.failure().throttle().filter(|_| !closed.is_zero());
            event.map(|event| Arc::new(Why { event, said: "drawn".to_owned() }))
        });
        let why = why.collect();
        let line_for = plan.paths.iter().map(|_| self.draw.tailed(900, 20, 40_000)).collect();
        Signals { closed_for, why, line_for, traffic, permits, windows: Vec::new() }
    }

    /// What a quota has for extra attempts: mostly some.
    fn stock(&mut self) -> Stock {
        let stock = Stock::of(self.draw.below(5_000_000));
        if !self.draw.percent(self.trouble) {
            return stock;
        }
        let short = [Shortage::Throttled, Shortage::Line, Shortage::Low, Shortage::Share];
        stock.short_of(short[usize::try_from(self.draw.below(4)).unwrap_or(0)])
    }

    pub fn prepare(&mut self, plan: &Plan, step: StepIx, round: u32, now: Timestamp) {
        let of = plan.step(step);
        // What takes no time mostly takes none.
        let at_once = if of.work == Work::Value { 95 } else { 80 };
        let delay =
            if self.draw.percent(at_once) { Duration::ZERO } else { self.draw.millis(3_000) };
        if self.draw.percent(self.trouble / 10) {
            return; // It is never prepared.
        }
        let result = match &of.work {
            _ if of.conditional && self.draw.percent(30) => Prepared::Skip,
            _ if self.draw.percent(self.trouble / 5) => Prepared::Impossible(self.failure()),
            Work::Value if of.validates.is_some() => {
                Prepared::Judged { pass: self.draw.percent(60) }
            }
            Work::Value if of.each.is_some() => {
                let items = 0..self.draw.below(ITEMS_MAX);
                let bad = |_| self.draw.percent(2 * self.trouble).then(|| self.failure());
                Prepared::Computed(items.map(bad).collect())
            }
            Work::Value => Prepared::Done,
            Work::Model { .. } => {
                let items = if of.each.is_some() { self.draw.below(ITEMS_MAX) } else { 1 };
                let prompts = (0..items).map(|_| 1 + self.draw.below(PROMPT_MAX));
                let prompts: Vec<u64> = prompts.collect();
                self.prompts[step.at()] = prompts.iter().copied().min().unwrap_or(0);
                if self.draw.percent(self.trouble / 4) {
                    Prepared::Shrunk(prompts)
                } else {
                    Prepared::Prompts(prompts)
                }
            }
        };
        self.at(now + delay, Event::Prepared { step, round, result });
    }

    /// A prompt that is to be shorter mostly is, at once.
    pub fn shrink(&mut self, step: StepIx, item: ItemIx, most: u64, now: Timestamp) {
        let tokens = self.draw.percent(70).then(|| self.draw.below(most + 200));
        if let Some(tokens) = tokens {
            self.prompts[step.at()] = self.prompts[step.at()].min(tokens);
        }
        let delay = if self.draw.percent(90) { Duration::ZERO } else { self.draw.millis(2_000) };
        self.at(now + delay, Event::Shrunk { step, item, tokens });
    }

    /// Decides the whole life of an attempt, whatever the machine makes of it meanwhile.
    pub fn launch(&mut self, spec: &AttemptSpec, now: Timestamp) {
        let (attempt, input) = (spec.attempt, self.prompts[spec.step.at()]);
        let most = u64::from(spec.max_tokens);
        if self.draw.percent(self.trouble / 4) {
            return; // It is queued for ever.
        }
        let queued = if self.draw.percent(70) { Duration::ZERO } else { self.draw.millis(5_000) };
        let mut time = now + queued;
        if self.draw.percent(self.trouble / 2) {
            let failure = self.failure();
            self.at(time, Event::TurnedAway { attempt, failure });
            return;
        }
        if self.draw.percent(self.trouble / 4) {
            let (failure, usage) = (self.failure(), Usage::default());
            self.at(time, Event::Failed { attempt, failure, usage });
            return;
        }
        self.at(time, Event::Sent { attempt });
        time = time + self.draw.tailed(900, self.trouble, 20_000);
        if self.draw.percent(self.trouble) {
            return; // It never says anything.
        }
        let tokens = self.draw.below(12);
        let endless = self.draw.percent(self.trouble / 2);
        for n in 0..tokens {
            let event = match n {
                0 => Event::FirstToken { attempt },
                _ => Event::Emitted { attempt, tokens: n * most / 12 },
            };
            self.at(time, event);
            time = time + self.draw.tailed(700, self.trouble / 2, 15_000);
        }
        if !endless {
            let event = self.ending(attempt, input, most);
            self.at(time, event);
        }
    }

    fn ending(&mut self, attempt: AttemptId, input: u64, output: u64) -> Event {
        let usage = Usage {
            input: self.draw.below(input + 1),
            output: self.draw.below(output + 1),
            ..Usage::default()
        };
        let (draw, trouble) = (self.draw.below(100), self.trouble);
        match draw {
            _ if draw >= 2 * trouble => {
                let pass = Some(self.draw.percent(50));
                Event::Ended { attempt, usage, verdict: Verdict::Valid { pass } }
            }
            _ if draw >= trouble => {
                let failure =
                    Failure::of_attempt(FailureClass::SchemaViolation, "schema", "not this shape");
                let repair_tokens = self.draw.below(500);
                Event::Ended {
                    attempt,
                    usage,
                    verdict: Verdict::Invalid { failure, repair_tokens },
                }
            }
            _ => Event::Failed { attempt, failure: self.failure(), usage },
        }
    }

    fn failure(&mut self) -> Failure {
        let classes = FailureClass::ALL;
        let class = classes[usize::try_from(self.draw.below(24)).unwrap_or(0)];
        // Half of all failures are of the kind that passes.
        let class = if self.draw.percent(50) { FailureClass::ServerError } else { class };
        let scope = match self.draw.below(4) {
            0 => Scope::Attempt,
            1 => Scope::Path,
            2 => Scope::Quota,
            _ => Scope::Provider,
        };
        let retry_after = self.draw.percent(30).then(|| self.draw.millis(40_000));
        let sized = class == FailureClass::ContextOverflow && self.draw.percent(50);
        let about = sized.then(|| About::Size {
            prompt: 1 + self.draw.below(2 * PROMPT_MAX),
            most: self.draw.below(PROMPT_MAX),
        });
        Failure { scope, retry_after, about, ..Failure::of_attempt(class, "drawn", "drawn") }
    }
}
