//! The world of the published feedback experiment: calls of one step against providers with a shared token limit.
//!
//! Two a second come, which is 80 % of what the first quota bears, and 1.4 times as many for two minutes; the second quota
//! bears half as much and has nothing else to do. The more is in flight, the slower everything gets; what is abandoned
//! goes on generating; 80 % of failed calls are made once more.

use super::luck::{Field, key, normal, poisson, uniform};

/// Seconds of a tick.
pub const TICK: f64 = 0.25;
/// Tokens of an attempt, charged when it begins.
pub const TOKENS: f64 = 4_660.0;
/// Seconds a call may take.
pub const DEADLINE: f64 = 60.0;
/// Ticks of a run of the experiment: 21 minutes.
pub const TICKS: u64 = 5_040;
/// Calls a second.
const BASE: f64 = 2.0;
const SPIKE: f64 = 1.4;
const SPIKE_S: [f64; 2] = [300.0, 420.0];
/// Load for which the limit is made.
const LOAD: f64 = 0.8;
/// Part of an attempt's work after which its first token comes, as 1.4 s of 12 s.
pub const FIRST_TOKEN: f64 = 0.117;

/// What is measured: from and to when calls arrive, before, in and after the spike.
pub const WINDOWS: [(&str, f64, f64); 3] =
    [("before", 100.0, 290.0), ("spike", 300.0, 420.0), ("after", 600.0, 1_180.0)];

/// A quota of a provider.
pub struct Quota {
    pub tokens: f64,
    pub burst: f64,
    pub per_second: f64,
    at_ease: f64,
}

/// An attempt that is being worked on, wanted or not.
pub struct Working {
    pub call: usize,
    /// Whose it is among its call's.
    pub name: u32,
    quota: usize,
    work: f64,
    left: f64,
    pub begun: bool,
}

/// What has come of an attempt in a tick.
#[derive(Clone, Copy)]
pub enum News {
    Begun(usize, u32),
    Done(usize, u32),
}

/// The providers.
pub struct Upstream {
    pub quotas: [Quota; 2],
    pub working: Vec<Working>,
}

impl Upstream {
    pub fn new() -> Self {
        let quota = |size: f64| {
            let per_second = BASE * TOKENS / LOAD * size;
            let burst = per_second * 10.0;
            Quota { tokens: burst, burst, per_second, at_ease: BASE * 14.5 * 1.25 * size }
        };
        Self { quotas: [quota(1.0), quota(0.5)], working: Vec::new() }
    }

    /// A tick passes.
    pub fn pass(&mut self) -> Vec<News> {
        for quota in &mut self.quotas {
            quota.tokens = (quota.tokens + quota.per_second * TICK).min(quota.burst);
        }
        let mut in_flight = [0.0; 2];
        for one in &self.working {
            in_flight[one.quota] += 1.0;
        }
        let slower =
            [0, 1].map(|q: usize| (in_flight[q] / self.quotas[q].at_ease).max(1.0_f64).powf(0.9));
        let mut news = Vec::new();
        self.working.retain_mut(|one| {
            one.left -= TICK / slower[one.quota];
            let begins = !one.begun && one.left <= one.work * (1.0 - FIRST_TOKEN);
            if begins {
                one.begun = true;
                news.push(News::Begun(one.call, one.name));
            }
            let done = one.left <= 0.0;
            if done {
                news.push(News::Done(one.call, one.name));
            }
            !done
        });
        news
    }

    /// An attempt is sent: whether it is taken, or answered with a 429.
    pub fn send(&mut self, quota: usize, call: usize, id: u64, name: u32) -> bool {
        let of = &mut self.quotas[quota];
        if of.tokens < TOKENS {
            return false;
        }
        of.tokens -= TOKENS;
        let work = work(id, u64::from(name));
        self.working.push(Working { call, name, quota, work, left: work, begun: false });
        true
    }
}

/// Seconds that an attempt takes where nobody else is there.
fn work(id: u64, attempt: u64) -> f64 {
    let usual = 12.0 * (0.26 * normal(id, attempt, [Field::Size, Field::SizeToo])).exp();
    if uniform(id, attempt, Field::Slow) < 0.043 {
        let more = normal(id, attempt, [Field::SlowSize, Field::SlowSizeToo]);
        usual * 4.7 * (0.37 * more).exp()
    } else {
        usual
    }
}

/// Seconds since the beginning.
#[expect(clippy::cast_precision_loss, reason = "thousands of ticks")]
pub fn seconds(tick: u64) -> f64 {
    tick as f64 * TICK
}

/// The calls that arrive in a tick, by what keys their draws.
pub fn arrivals(seed: u64, tick: u64) -> impl Iterator<Item = u64> {
    let at = seconds(tick);
    let rate = if (SPIKE_S[0]..SPIKE_S[1]).contains(&at) { BASE * SPIKE } else { BASE };
    let slot = key(key(seed, tick), Field::Call as u64);
    (0..poisson(slot, rate * TICK)).map(move |n| key(slot, n))
}

/// Whether a call that has failed is made once more.
pub fn made_again(id: u64) -> bool {
    uniform(id, 0, Field::Resubmit) < 0.8
}

/// What keys the draws of a call that is made once more.
pub fn again(id: u64) -> u64 {
    key(id, Field::Resubmit as u64)
}

/// What a policy made of one seed.
#[derive(Default)]
pub struct Tally {
    /// Per window: calls, those on time, 429s, extra attempts, attempts that were taken.
    windows: [[f64; 5]; 3],
}

/// What is counted besides calls.
#[derive(Clone, Copy)]
pub enum Count {
    Refused = 2,
    Extra = 3,
    Taken = 4,
}

impl Tally {
    fn window(at: f64) -> Option<usize> {
        WINDOWS.iter().position(|(_, from, to)| (*from..*to).contains(&at))
    }

    pub fn count(&mut self, at: f64, what: Count) {
        if let Some(window) = Self::window(at) {
            self.windows[window][what as usize] += 1.0;
        }
    }

    /// A call that was not made before: when it came, and when it was answered.
    pub fn call(&mut self, arrived: f64, answered: Option<f64>) {
        if let Some(window) = Self::window(arrived) {
            self.windows[window][0] += 1.0;
            let on_time = answered.is_some_and(|at| at - arrived <= DEADLINE);
            self.windows[window][1] += f64::from(u8::from(on_time));
        }
    }

    /// Of a window: on time in percent, then 429s, extra attempts and attempts for each call.
    pub fn rates(&self, window: usize) -> [f64; 4] {
        let [calls, on_time, refused, extra, taken] = self.windows[window];
        let calls = calls.max(1.0);
        [100.0 * on_time / calls, refused / calls, extra / calls, taken / calls]
    }
}
