//! The published policies: no hedge, a naive one, cut and retry, a budget of 10 %, that with suspension after 429s, and the
//! budget with hedges on the other quota.

use super::luck::{Field, uniform};
use super::world::{
    Count, DEADLINE, News, TICK, TICKS, Tally, Upstream, again, arrivals, made_again, seconds,
};

/// Seconds after which an attempt is joined, or cut.
const AFTER: f64 = 20.0;
const NEVER: f64 = f64::INFINITY;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    None,
    Naive,
    Cut,
    Budget,
    Suspended,
    Other,
}

/// What a call does next, when its time comes.
#[derive(Clone, Copy, PartialEq)]
enum Plan {
    Send(usize),
    Hedge,
    Cut,
}

struct Call {
    id: u64,
    arrived: f64,
    next: f64,
    plan: Plan,
    answered: Option<f64>,
    failed: bool,
    again: bool,
    sent: u32,
    tries: u64,
    hedges: u32,
    /// Attempts of this number and below are abandoned.
    abandoned: u32,
}

/// The budget and what 429s make of it.
struct Permits {
    budget: f64,
    factor: f64,
    refused: f64,
}

struct Play {
    policy: Baseline,
    upstream: Upstream,
    calls: Vec<Call>,
    open: Vec<usize>,
    permits: Permits,
    tally: Tally,
}

pub fn play(policy: Baseline, seed: u64) -> Tally {
    let permits = Permits { budget: 2.0, factor: 1.0, refused: -99.0 };
    let (upstream, tally) = (Upstream::new(), Tally::default());
    let mut play = Play { policy, upstream, calls: Vec::new(), open: Vec::new(), permits, tally };
    for tick in 0..TICKS {
        let at = seconds(tick);
        for id in arrivals(seed, tick) {
            play.arrive(id, at, false);
            play.permits.budget = (play.permits.budget + 0.1).min(20.0);
        }
        for news in play.upstream.pass() {
            play.hear(news, at);
        }
        let quiet = at - play.permits.refused >= 1.0;
        play.permits.factor = if quiet {
            (play.permits.factor + 0.01 * TICK).min(1.0)
        } else {
            play.permits.factor * 0.5_f64.powf(TICK)
        };
        // The last takes the place of who is done, as published: who is served first while tokens are short is thereby
        // mixed, and not the oldest, who has the least time left.
        let mut place = 0;
        while let Some(call) = play.open.get(place).copied() {
            if play.step(call, at) {
                place += 1;
            } else {
                play.open.swap_remove(place);
            }
        }
    }
    for call in play.calls.iter().filter(|call| !call.again) {
        play.tally.call(call.arrived, call.answered);
    }
    play.tally
}

impl Play {
    fn arrive(&mut self, id: u64, at: f64, again: bool) {
        self.open.push(self.calls.len());
        self.calls.push(Call {
            id,
            arrived: at,
            next: at,
            plan: Plan::Send(0),
            answered: None,
            failed: false,
            again,
            sent: 0,
            tries: 0,
            hedges: 0,
            abandoned: 0,
        });
    }

    fn hear(&mut self, news: News, at: f64) {
        let News::Done(call, name) = news else { return };
        let call = &mut self.calls[call];
        if !call.failed && call.answered.is_none() && name > call.abandoned {
            call.answered = Some(at);
        }
    }

    /// Whether the call goes on.
    fn step(&mut self, ix: usize, at: f64) -> bool {
        let call = &mut self.calls[ix];
        if call.answered.is_some() {
            return false;
        }
        if at - call.arrived >= DEADLINE {
            call.failed = true;
            let (id, first) = (call.id, !call.again);
            if first && made_again(id) {
                self.arrive(again(id), at + 1.0, true);
            }
            return false;
        }
        let plan = call.plan;
        if at >= call.next
            && let Plan::Send(quota) = plan
        {
            self.send(ix, quota, at);
        }
        let call = &self.calls[ix];
        if at + 1e-9 >= call.next {
            match call.plan {
                Plan::Hedge => self.hedge(ix, at),
                Plan::Cut => {
                    let call = &mut self.calls[ix];
                    (call.abandoned, call.plan, call.next) = (call.sent, Plan::Send(0), at);
                    self.tally.count(at, Count::Extra);
                }
                Plan::Send(_) => {}
            }
        }
        true
    }

    fn send(&mut self, ix: usize, quota: usize, at: f64) {
        let call = &mut self.calls[ix];
        call.tries += 1;
        if self.upstream.send(quota, ix, call.id, call.sent + 1) {
            call.sent += 1;
            call.next = NEVER;
            match self.policy {
                Baseline::None => {}
                Baseline::Cut => (call.next, call.plan) = (at + AFTER, Plan::Cut),
                Baseline::Naive | Baseline::Budget | Baseline::Suspended | Baseline::Other => {
                    if call.hedges < 2 {
                        (call.next, call.plan) = (at + AFTER, Plan::Hedge);
                    }
                }
            }
            self.tally.count(at, Count::Taken);
            return;
        }
        self.permits.refused = at;
        let luck = uniform(call.id, call.tries, Field::Backoff);
        let pause = if self.policy == Baseline::None { 2.0 + 2.0 * luck } else { 1.0 + luck };
        call.next = at + pause;
        let other = self.policy == Baseline::Other;
        call.plan = Plan::Send(if other { 1 - quota } else { quota });
        self.tally.count(at, Count::Refused);
    }

    fn hedge(&mut self, ix: usize, at: f64) {
        let call = &mut self.calls[ix];
        call.tries += 1;
        let admit = uniform(call.id, call.tries, Field::Admit) < self.permits.factor;
        let budget = self.policy < Baseline::Budget || self.permits.budget >= 1.0;
        let suspended =
            self.policy == Baseline::Suspended && (at - self.permits.refused < 10.0 || !admit);
        if !budget || suspended {
            call.next = at + 5.0;
            return;
        }
        if self.policy >= Baseline::Budget {
            self.permits.budget -= 1.0;
        }
        call.hedges += 1;
        let quota = usize::from(self.policy == Baseline::Other);
        (call.plan, call.next) = (Plan::Send(quota), at);
        self.tally.count(at, Count::Extra);
    }
}
