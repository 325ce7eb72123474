//! One attempt as a chain over what can be seen of it, a cell of time a move, and when it is done from each state.

use super::fate::Fate;
use super::look::Look;
use super::sound::{chance, narrow};
use crate::latency::law::PathLaw;

/// States without a token, by age in cells; the last is open.
pub(super) const AGES: usize = 41;
/// The state of the first half second of a stream.
const JUST: usize = AGES;
/// States by the time that is left at the present rate: 40 of a cell, 20 of two, 10 of four; the last is open.
const PROJECTIONS: usize = 70;
/// All states.
pub(super) const STATES: usize = AGES + 1 + PROJECTIONS;
/// Most cells of a deadline, and a few more.
pub(super) const CELLS_MAX: usize = 192;
/// Attempts seen in a state, below which its neighbours' are taken too.
const SEEN_MIN: u32 = 30;
/// Moves that are rarer are left out.
const MOVE_MIN: f64 = 2e-5;
/// The rate is that of so many latest seconds.
const RATE_WINDOW: f64 = 3.0;
/// Without so many seconds of stream there is no rate.
const RATE_FROM: f64 = 0.5;
/// One in so many made-up attempts also stands for those that stall.
const STALLS_EVERY: usize = 4;

/// One kind of step on one path, outside a spell or in one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chain {
    /// By state, the chance to be done within the next cell.
    pub done: Vec<f32>,
    /// By state, the chance to fail visibly within it.
    pub failed: Vec<f32>,
    /// Where each state's moves start in `moves`; one more than there are states.
    pub starts: Vec<u32>,
    /// State moved to, and the chance.
    pub moves: Vec<(u8, f32)>,
    /// By state and cell, the chance to be done by then; after a visible failure by a fresh attempt elsewhere.
    rest: Vec<f32>,
    /// By cell, the same from the launch on.
    pub fresh: Vec<f32>,
    /// By state, the chance that an attempt comes by.
    pub met: Vec<f32>,
    cells: usize,
}

impl Chain {
    /// By cell, the chance to be done by then from a state on.
    pub(super) fn rest(&self, state: usize) -> &[f32] {
        &self.rest[state * self.cells..(state + 1) * self.cells]
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        4 * (self.done.len() + self.failed.len() + self.starts.len() + self.rest.len())
            + 4 * (self.fresh.len() + self.met.len())
            + 8 * self.moves.len()
    }
}

/// The state of an attempt with `expected` tokens to come in all; `cell` in seconds.
pub(super) fn state(look: &Look, expected: f64, cell: f64) -> usize {
    let rate = match (look.first_token, look.rate) {
        (None, _) => return cells_of(look.age, cell).min(AGES - 1),
        (Some(_), None) => return JUST,
        (Some(_), Some(rate)) => rate,
    };
    projection(look.tokens, rate, expected, cell)
}

fn projection(tokens: f64, rate: f64, expected: f64, cell: f64) -> usize {
    if rate <= 1e-6 {
        return STATES - 1;
    }
    let left = (expected - tokens).max(0.05 * expected) / rate;
    let left = cells_of(left, cell);
    let bin = match left {
        0..40 => left,
        40..80 => 40 + (left - 40) / 2,
        _ => (60 + (left - 80) / 4).min(PROJECTIONS - 1),
    };
    JUST + 1 + bin
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held to its range")]
fn cells_of(seconds: f64, cell: f64) -> usize {
    (seconds / cell).clamp(0.0, 1e6) as usize
}

/// Counts of one kind of step on one path; weights outside a spell and in one, side by side.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    cells: usize,
    cell: f64,
    seen: Vec<u32>,
    count: Vec<[f64; 2]>,
    moves: Vec<[f64; 2]>,
    done: Vec<[f64; 2]>,
    failed: Vec<[f64; 2]>,
    rest_done: Vec<[f64; 2]>,
    rest_failed: Vec<[f64; 2]>,
    fresh_done: Vec<[f64; 2]>,
    fresh_failed: Vec<[f64; 2]>,
    /// Seconds that attempts that end by themselves last, ascending once sorted, with weights outside a spell and in one.
    lasted: Vec<(f64, [f64; 2])>,
}

impl Tally {
    /// Counts a path's attempts.
    pub(super) fn of(
        fates: impl Iterator<Item = Fate>,
        law: &PathLaw,
        expected: f64,
        cell: f64,
        cells: usize,
    ) -> Self {
        let none = [0.0; 2];
        let mut tally = Self {
            cells,
            cell,
            seen: vec![0; STATES],
            count: vec![none; STATES],
            moves: vec![none; STATES * STATES],
            done: vec![none; STATES],
            failed: vec![none; STATES],
            rest_done: vec![none; STATES * cells],
            rest_failed: vec![none; STATES * cells],
            fresh_done: vec![none; cells],
            fresh_failed: vec![none; cells],
            lasted: Vec::new(),
        };
        let error = chance(law.error);
        let hangs = chance(law.hangs).min(1.0 - error);
        let stalls = chance(law.stalls).min(1.0 - error - hangs);
        let answers = 1.0 - error - hangs - stalls;
        let invalid = answers * chance(law.invalid);
        let mut states = Vec::with_capacity(cells);
        for (ix, fate) in fates.enumerate() {
            let share = |of: f64| fate.weight.map(|weight| weight * of);
            let end = fate.first + fate.writing();
            states.clear();
            states.extend(
                (0..tally.within(end)).map(|at| tally.seen_at(at, &fate, f64::INFINITY, expected)),
            );
            tally.walk(share(answers - invalid), &states, Some((end, true)));
            let ended = fate.first + fate.writing() * fate.invalid_at;
            let before = tally.within(ended).min(states.len());
            tally.walk(share(invalid), &states[..before], Some((ended, false)));
            tally.lasted.push((end, share(answers - invalid)));
            tally.lasted.push((ended, share(invalid)));
            if ix % STALLS_EVERY == 0 && stalls > 0.0 {
                #[expect(clippy::cast_precision_loss, reason = "a handful")]
                let share = share(stalls * STALLS_EVERY as f64);
                let until = fate.writing() * fate.stall_at;
                states.clear();
                states.extend((0..cells).map(|at| tally.seen_at(at, &fate, until, expected)));
                tally.walk(share, &states, None);
            }
            let ended = fate.first * fate.error_at;
            states.clear();
            states.extend((0..tally.within(ended)).map(|at| at.min(AGES - 1)));
            tally.walk(share(error), &states, Some((ended, false)));
        }
        states.clear();
        states.extend((0..cells).map(|at| at.min(AGES - 1)));
        tally.walk([hangs; 2], &states, None);
        tally
    }

    /// How many moments at which an attempt that ends then is still seen.
    fn within(&self, end: f64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "held to range"
        )]
        let within = (end / self.cell).ceil().clamp(1.0, 1e6) as usize;
        within.min(self.cells)
    }

    fn seen_at(&self, at: usize, fate: &Fate, stops: f64, expected: f64) -> usize {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let age = at as f64 * self.cell;
        if age < fate.first {
            return at.min(AGES - 1);
        }
        let after = age - fate.first;
        let window = after.min(RATE_WINDOW);
        if window < RATE_FROM {
            return JUST;
        }
        let tokens = fate.emitted(after.min(stops));
        let before = fate.emitted((after - window).min(stops));
        projection(tokens, (tokens - before) / window, expected, self.cell)
    }

    /// One attempt through its states; `end` in seconds, and whether well.
    fn walk(&mut self, weight: [f64; 2], states: &[usize], end: Option<(f64, bool)>) {
        if weight[1] <= 0.0 && weight[0] <= 0.0 {
            return;
        }
        let end = end.map(|(seconds, well)| (seconds / self.cell, well));
        if let Some((end, well)) = end {
            let into = if well { &mut self.fresh_done } else { &mut self.fresh_failed };
            put(into, end, weight);
        }
        for (at, state) in states.iter().copied().enumerate() {
            self.seen[state] += 1;
            add(&mut self.count[state], weight);
            if let Some(next) = states.get(at + 1) {
                add(&mut self.moves[state * STATES + next], weight);
            } else if let Some((_, well)) = end.filter(|_| states.len() < self.cells) {
                add(if well { &mut self.done[state] } else { &mut self.failed[state] }, weight);
            } else {
                add(&mut self.moves[state * STATES + state], weight);
            }
            if let Some((end, well)) = end {
                let rows = if well { &mut self.rest_done } else { &mut self.rest_failed };
                let row = &mut rows[state * self.cells..(state + 1) * self.cells];
                #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
                put(row, end - at as f64, weight);
            }
        }
    }

    /// By cell, the chance that a fresh attempt is done in it, a spell weighing `spell`; no second attempt.
    pub(super) fn fresh(&self, spell: f64) -> Vec<f64> {
        self.fresh_done.iter().map(|[out, within]| out + (within - out) * spell).collect()
    }

    /// Median seconds of attempts that end by themselves.
    pub(super) fn median(&mut self, spell: f64) -> f64 {
        self.lasted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let weight = |[out, within]: [f64; 2]| out + (within - out) * spell;
        let half = self.lasted.iter().map(|(_, w)| weight(*w)).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let found = self.lasted.iter().find(|(_, w)| {
            sum += weight(*w);
            sum >= half
        });
        found.map_or(0.0, |(seconds, _)| *seconds)
    }

    /// Neighbours of a state that are taken together with it because it was seen too rarely.
    fn around(&self, state: usize) -> (usize, usize) {
        let (first, last) = match state {
            0..JUST => (0, JUST - 1),
            JUST => (JUST, JUST),
            _ => (JUST + 1, STATES - 1),
        };
        let (mut low, mut high) = (state, state);
        let seen = |low: usize, high: usize| self.seen[low..=high].iter().sum::<u32>();
        while seen(low, high) < SEEN_MIN && (low > first || high < last) {
            low = low.saturating_sub(1).max(first);
            high = (high + 1).min(last);
        }
        (low, high)
    }

    /// The chain outside a spell (0) or in one (1). `other`: by cell, the chance that the attempt that follows a visible
    /// failure is done.
    pub(super) fn chain(&self, spell: usize, other: &[f64]) -> Chain {
        let cells = self.cells;
        let mut chain = Chain {
            done: vec![0.0; STATES],
            failed: vec![0.0; STATES],
            starts: vec![0],
            rest: vec![0.0; STATES * cells],
            cells,
            met: self.count.iter().map(|count| narrow(count[spell].min(1.0))).collect(),
            ..Chain::default()
        };
        let after = |rows: &[[f64; 2]]| rows.iter().map(|row| row[spell]).collect::<Vec<_>>();
        chain.fresh = cumulate(&after(&self.fresh_done), &after(&self.fresh_failed), other, 1.0);
        let (mut done, mut failed) = (vec![0.0; cells], vec![0.0; cells]);
        for state in 0..STATES {
            let (low, high) = self.around(state);
            let sum = |of: &[[f64; 2]]| of[low..=high].iter().map(|of| of[spell]).sum::<f64>();
            let count = sum(&self.count).max(1e-300);
            let moves: Vec<f64> = (0..STATES)
                .map(|to| {
                    (low..=high).map(|from| self.moves[from * STATES + to][spell]).sum::<f64>()
                        / count
                })
                .collect();
            let (ends, fails) = (sum(&self.done) / count, sum(&self.failed) / count);
            let kept: f64 = moves.iter().filter(|chance| **chance >= MOVE_MIN).sum();
            let whole = (kept + ends + fails).max(1e-300);
            chain.done[state] = narrow(ends / whole);
            chain.failed[state] = narrow(fails / whole);
            for (to, chance) in moves.iter().enumerate().filter(|(_, chance)| **chance >= MOVE_MIN)
            {
                chain.moves.push((u8::try_from(to).unwrap_or(u8::MAX), narrow(chance / whole)));
            }
            chain.starts.push(u32::try_from(chain.moves.len()).unwrap_or(u32::MAX));
            for cell in 0..cells {
                let sum = |of: &[[f64; 2]]| {
                    (low..=high).map(|from| of[from * cells + cell][spell]).sum::<f64>()
                };
                (done[cell], failed[cell]) = (sum(&self.rest_done), sum(&self.rest_failed));
            }
            let rest = cumulate(&done, &failed, other, count);
            chain.rest[state * cells..(state + 1) * cells].copy_from_slice(&rest);
        }
        chain
    }
}

fn add(to: &mut [f64; 2], weight: [f64; 2]) {
    to[0] += weight[0];
    to[1] += weight[1];
}

/// Splits a weight between the two cells beside `at`, so that the mean is kept.
fn put(row: &mut [[f64; 2]], at: f64, weight: [f64; 2]) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to a million")]
    let below = at.clamp(0.0, 1e6) as usize;
    let above = at.clamp(0.0, 1e6).fract();
    if let Some(cell) = row.get_mut(below) {
        add(cell, weight.map(|weight| weight * (1.0 - above)));
    }
    if let Some(cell) = row.get_mut(below + 1) {
        add(cell, weight.map(|weight| weight * above));
    }
}

/// By cell, the chance to be done by then: at once, or by the attempt after a visible failure.
fn cumulate(done: &[f64], failed: &[f64], other: &[f64], whole: f64) -> Vec<f32> {
    let mut all = done.to_vec();
    for (at, chance) in failed.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
        for (into, follows) in all[at..].iter_mut().zip(other) {
            *into += chance * follows;
        }
    }
    let mut sum = 0.0;
    let cumulated = all.iter().map(|chance| {
        sum += chance / whole;
        narrow(sum.min(1.0))
    });
    cumulated.collect()
}
