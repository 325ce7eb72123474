//! A server under a regime: runs of three steps, some of their attempts raced by another, losers closed or left to drain.

use std::time::Duration;

use punctual::domain::failure::FailureClass;
use punctual::domain::id::{ModelIx, PathIx, ProviderIx};
use punctual::domain::model::ModelProfile;
use punctual::domain::plan::{
    Budget, ModelPlan, PathPlan, Plan, Policy, ProviderPlan, Role, StepPlan, Work,
};
use punctual::latency::book::Book;
use punctual::latency::observation::{End, Observation};
use punctual::provider::simulated::draw::{
    CLASS_TOKENS, Ending, Fate, Key, PROVIDER_OF_PATH, draw,
};
use punctual::provider::simulated::regime::Regime;

pub const PATHS: [&str; 4] = ["a/flagship", "b/flagship", "c/light", "b/strong"];
pub const PROVIDERS: [&str; 3] = ["a", "b", "c"];
/// Steps of the classes L, XL and M.
pub const STEPS: [(&str, usize); 3] = [("draft", 2), ("write", 3), ("check", 1)];
pub const ARRIVAL_S: u64 = 30;

/// Attempts watched from the outside.
pub struct Server {
    pub book: Book,
    pub seed: u64,
    pub runs: u64,
    /// The first path of its runs, one after another.
    pub first: &'static [usize],
    /// Of how many runs one lets its losers drain.
    pub drains: u64,
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// What is seen of an attempt that is closed after so many seconds, if it goes on for so long.
pub fn observe(
    fate: &Fate,
    step: &str,
    class: usize,
    path: usize,
    run: u64,
    closed: f64,
) -> Observation {
    let lasted = fate.end_s.unwrap_or(f64::INFINITY).min(closed);
    let first = fate.first_token_s.filter(|first| *first < lasted);
    let written = first.map_or(0.0, |first| lasted - first);
    let flowing = written.min(fate.stall_s.unwrap_or(f64::INFINITY));
    let emitted = |at: f64| fate.emitted(at).min(fate.tokens).round() as u64;
    let point = |at: u32| flowing * f64::from(at) / 12.0;
    let stream = (0..=12).map(|at| (seconds(point(at)), emitted(point(at))));
    let end = if fate.end_s.is_none_or(|end| end > closed) {
        End::Closed
    } else {
        match fate.ending {
            Ending::Ok | Ending::Silent => End::Answered { valid: true },
            Ending::Garbage => End::Answered { valid: false },
            Ending::Error => End::Failed(FailureClass::ServerError),
            Ending::RateLimited => End::Failed(FailureClass::RateLimited),
            Ending::Hang => End::Closed,
        }
    };
    Observation {
        provider: PROVIDERS[usize::from(PROVIDER_OF_PATH[path])].into(),
        path: PATHS[path].into(),
        step: format!("flow/{step}").into(),
        run,
        prompt_tokens: 3_000,
        expected_tokens: CLASS_TOKENS[class],
        first_token: first.map(seconds),
        tokens: first.map_or(0, |_| emitted(flowing)),
        lasted: seconds(lasted),
        stream: if first.is_some() { stream.collect() } else { Vec::new() },
        end,
    }
}

impl Server {
    pub fn new(seed: u64) -> Self {
        Self { book: Book::new(), seed, runs: 0, first: &[0, 0, 0, 0, 1, 2, 3], drains: 10 }
    }

    pub fn now(&self) -> Duration {
        Duration::from_secs(1_700_000_000 + self.runs * ARRIVAL_S)
    }

    /// Another run: most on the first path, some on the others; what has not answered after 1.5 times the usual time is
    /// raced by the next path, and the loser closed, one in ten later.
    pub fn run(&mut self, regime: &Regime) {
        let run = self.runs;
        for (ix, (step, class)) in STEPS.into_iter().enumerate() {
            let first = self.first[run as usize % self.first.len()];
            let patience = 1.5 * (1.4 + CLASS_TOKENS[class] * 0.016);
            let fates: Vec<(usize, f64, Fate)> = [(first, 0.0), ((first + 1) % 4, patience)]
                .into_iter()
                .map(|(path, sent)| {
                    let key =
                        Key { seed: self.seed, run, step: ix as u64, path: path as u8, attempt: 0 };
                    (path, sent, draw(regime, &key, PROVIDER_OF_PATH[path], CLASS_TOKENS[class]))
                })
                .collect();
            let won = |(_, sent, fate): &(usize, f64, Fate)| match fate.ending {
                Ending::Ok | Ending::Silent => sent + fate.end_s.unwrap(),
                _ => 120.0,
            };
            let over = won(&fates[0]).min(won(&fates[1])).min(120.0);
            for (at, (path, sent, fate)) in fates.iter().enumerate() {
                let failed = fates[0].2.end_s.is_some_and(|end| end < patience);
                if at == 1 && failed && won(&fates[0]) <= patience {
                    continue;
                }
                let drains = run.is_multiple_of(self.drains);
                let closed = (if drains { 180.0 } else { over - sent }).max(0.0);
                let seen = observe(fate, step, class, *path, run, closed.max(0.01));
                self.book.record(&seen, self.now());
            }
        }
        self.runs += 1;
    }

    pub fn serve(&mut self, regime: &Regime, runs: u64) {
        for _ in 0..runs {
            self.run(regime);
        }
    }
}

pub fn regime(name: &str) -> &'static Regime {
    Regime::named(name).unwrap()
}

/// The plan of those runs.
pub fn plan() -> Plan {
    let path = |at: usize| PathPlan {
        label: PATHS[at].to_owned(),
        provider: ProviderIx(PROVIDER_OF_PATH[at].into()),
        profile: ModelProfile::plain("m"),
    };
    let step = |(name, _): (&str, usize)| StepPlan {
        name: name.to_owned(),
        role: Role::Executor,
        work: Work::Model { model: ModelIx(0), max_tokens: 2_000, policy: Policy::default() },
        needs: Vec::new(),
        conditional: false,
        optional: false,
        each: None,
        cutoff_at: None,
        validates: None,
        judged_by: None,
        revise: 0,
        shrinks: false,
    };
    let provider = |name: &str| ProviderPlan {
        name: name.to_owned(),
        billed_on_cancel: true,
        own_capacity: false,
        simulated: true,
    };
    let model = |name: &str, paths: &[u16], faster, stronger| ModelPlan {
        name: name.to_owned(),
        paths: paths.iter().copied().map(PathIx).collect(),
        faster,
        stronger,
    };
    Plan {
        workflow: "flow".to_owned(),
        deadline: Duration::from_secs(60),
        budget: Budget::default(),
        steps: STEPS.into_iter().map(step).collect(),
        models: vec![
            model("flagship", &[0, 1], Some(ModelIx(1)), Some(ModelIx(2))),
            model("light", &[2], None, None),
            model("strong", &[3], None, None),
        ],
        paths: (0..4).map(path).collect(),
        providers: PROVIDERS.into_iter().map(provider).collect(),
    }
}
