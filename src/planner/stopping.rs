//! One step as a problem of optimal stopping: at every cell of time, wait or let another attempt join.

use super::chain::{CELLS_MAX, Chain, STATES};

/// A race is followed until so little of it is open.
const OPEN_MIN: f32 = 1e-4;
/// A held answer is held until so little is open of what it is held for.
const HELD_MIN: f32 = 5e-3;
/// A fresh attempt counts for little before so much of it is done.
const EARLY: f32 = 0.02;
/// States that fewer attempts come by are left to wait.
const MET_MIN: f32 = 1e-5;

/// A step's paths, in and out of spells as they are, and what it is worth to be done.
#[derive(Clone, Debug)]
pub(super) struct Game<'a> {
    /// By path of the step.
    pub paths: Vec<Player<'a>>,
    /// By cells left, what it is worth to be done.
    pub value: &'a [f32],
    /// Whether attempts may join at all.
    pub races: bool,
    /// For an optional step, the share of the worth that is left without it, and the cells left at which it is closed.
    pub without: Option<(f32, usize)>,
}

/// One path of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Player<'a> {
    /// How attempts go.
    pub chain: &'a Chain,
    /// Chance that a valid answer is right.
    pub trust: f32,
    /// Whether its model is trusted less than the step's own.
    pub light: bool,
    /// What an extra attempt costs.
    pub extra: f32,
    /// What it costs to start here rather than on the default path; may be negative.
    pub start: f32,
    /// Whether it may join itself.
    pub alone: bool,
}

/// What a step is worth before it starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Played {
    /// By path, then by cells left: started there, the price of the start not taken off.
    pub fresh: Vec<f32>,
    /// By cells left: started where it is best.
    pub before: Vec<f32>,
}

impl Game<'_> {
    /// Plays it backward from the deadline.
    pub(super) fn play(&self) -> Played {
        let (cells, paths) = (self.value.len(), self.paths.len());
        let mut joined = vec![0.0_f32; paths * STATES * cells];
        if self.races {
            for (place, rows) in joined.chunks_exact_mut(STATES * cells).enumerate() {
                for (state, row) in rows.chunks_exact_mut(cells).enumerate() {
                    self.join(place, state, row);
                }
            }
        }
        let mut played = Played { fresh: vec![0.0; paths * cells], before: vec![0.0; cells] };
        let mut rows = [vec![0.0_f32; paths * STATES], vec![0.0_f32; paths * STATES]];
        for left in 0..cells {
            let [now, later] = &mut rows;
            let floor = self.without.map_or(0.0, |(share, _)| share * self.value[left]);
            let closed = self.without.is_some_and(|(_, from)| left <= from);
            let mut best = floor;
            for (place, path) in self.paths.iter().enumerate() {
                let own = place * STATES..(place + 1) * STATES;
                let next = &later[own.clone()];
                for (state, into) in now[own].iter_mut().enumerate() {
                    let worth = if left == 0 || closed {
                        0.0
                    } else {
                        let waits = self.wait(path, state, left, next, played.before[left - 1]);
                        waits.max(joined[(place * STATES + state) * cells + left])
                    };
                    *into = worth.max(floor);
                }
                let fresh = now[place * STATES];
                played.fresh[place * cells + left] = fresh;
                best = best.max(fresh - path.start);
            }
            played.before[left] = best;
            rows.swap(0, 1);
        }
        played
    }

    /// One cell of waiting.
    fn wait(&self, path: &Player<'_>, state: usize, left: usize, next: &[f32], again: f32) -> f32 {
        let chain = path.chain;
        let value = 0.5 * (self.value[left] + self.value[left - 1]);
        let moves = chain.starts[state] as usize..chain.starts[state + 1] as usize;
        let on: f32 = chain.moves[moves].iter().map(|(to, p)| p * next[usize::from(*to)]).sum();
        chain.done[state] * path.trust * value + chain.failed[state] * again + on
    }

    /// By cells left, the best another attempt makes of an attempt in this state, its price taken off.
    fn join(&self, place: usize, state: usize, best: &mut [f32]) {
        let own = &self.paths[place];
        if own.chain.met[state] < MET_MIN {
            return;
        }
        let rest = own.chain.rest(state);
        for (other_place, other) in self.paths.iter().enumerate() {
            if other_place == place && own.alone {
                continue;
            }
            let soon = other.chain.fresh.iter().position(|done| *done >= EARLY);
            let Some(soon) = soon else { continue };
            let better = (other.trust - own.trust).max(0.0);
            if 1.0 - rest[soon] + better < other.extra {
                continue;
            }
            let race = Race { own, rest, other, value: self.value };
            if own.light == other.light {
                race.first(best);
            } else {
                race.held(best);
            }
        }
    }
}

/// An attempt against a fresh one.
struct Race<'a> {
    own: &'a Player<'a>,
    rest: &'a [f32],
    other: &'a Player<'a>,
    value: &'a [f32],
}

impl Race<'_> {
    /// The first answer is taken.
    fn first(&self, best: &mut [f32]) {
        let cells = self.value.len();
        let mut sums = [0.0_f32; CELLS_MAX];
        let (mut own_open, mut other_open) = (1.0_f32, 1.0_f32);
        for at in 0..cells {
            let (own, other) = (1.0 - self.rest[at], 1.0 - self.other.chain.fresh[at]);
            let share = (own_open - own) * 0.5 * (other_open + other) * self.own.trust
                + (other_open - other) * 0.5 * (own_open + own) * self.other.trust;
            for (sum, value) in sums[at..cells].iter_mut().zip(self.value) {
                *sum += share * value;
            }
            (own_open, other_open) = (own, other);
            if own * other < OPEN_MIN {
                break;
            }
        }
        for (best, sum) in best.iter_mut().zip(&sums) {
            *best = best.max(sum - self.other.extra);
        }
    }

    /// An answer of less trust may be held until a time that is best for the other.
    fn held(&self, best: &mut [f32]) {
        let cells = self.value.len();
        let fresh = self.other.chain.fresh.as_slice();
        let (light, trusted) = if self.own.light { (self.rest, fresh) } else { (fresh, self.rest) };
        let (light_trust, trust) = if self.own.light {
            (self.own.trust, self.other.trust)
        } else {
            (self.other.trust, self.own.trust)
        };
        let mut sums = [0.0_f32; CELLS_MAX];
        let mut mores = [0.0_f32; CELLS_MAX];
        let mut gains = [0.0_f32; CELLS_MAX];
        let (mut light_open, mut trusted_open) = (1.0_f32, 1.0_f32);
        for at in 0..cells {
            let (lo, to) = (1.0 - light[at], 1.0 - trusted[at]);
            let share = (trusted_open - to) * 0.5 * (light_open + lo) * trust
                + (light_open - lo) * 0.5 * (trusted_open + to) * light_trust;
            let more = (trusted_open - to) * trust - share;
            let taken = to * (1.0 - lo) * light_trust;
            let open = cells - at;
            let (sums, mores, gains) =
                (&mut sums[at..cells], &mut mores[at..cells], &mut gains[at..cells]);
            for ix in 0..open {
                let value = self.value[ix];
                sums[ix] += share * value;
                mores[ix] += more * value;
                gains[ix] = gains[ix].max(mores[ix] + taken * value);
            }
            (light_open, trusted_open) = (lo, to);
            if lo * to < OPEN_MIN && (lo < 1e-3 && to < HELD_MIN || to < OPEN_MIN) {
                break;
            }
        }
        for (best, (sum, gain)) in best.iter_mut().zip(sums.iter().zip(&gains)) {
            *best = best.max(sum + gain - self.other.extra);
        }
    }
}
