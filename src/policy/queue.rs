//! The line before a provider's gate: whose turn it is.
//!
//! Round-robin over workflows, within a workflow over its runs, within a run in the order of arrival: a fan-out of a
//! thousand has the same turns as a run with one attempt, and a workflow with a hundred runs the same as one with a
//! single run. Who comes anew stands at the end of the round, so nobody is passed over for ever: between two turns of
//! one run every other run of its workflow has one at most, and so has every other workflow.

use std::collections::VecDeque;

use crate::domain::id::RunId;

/// Who wants to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The workflow.
    pub flow: String,
    /// The run.
    pub run: RunId,
}

/// A place in line. Numbered in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Those who wait, each with what it waits with.
#[derive(Clone, Debug)]
pub struct Line<T> {
    /// The first is next.
    flows: VecDeque<Flow<T>>,
    waiting: usize,
}

/// A workflow with somebody waiting.
#[derive(Clone, Debug)]
struct Flow<T> {
    name: String,
    runs: VecDeque<Queue<T>>,
}

/// A run with something waiting.
#[derive(Clone, Debug)]
struct Queue<T> {
    run: RunId,
    places: VecDeque<(Ticket, T)>,
}

/// Where in the line somebody stands; holds until the line is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    flow: usize,
    run: usize,
    place: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { flows: VecDeque::new(), waiting: 0 }
    }
}

impl<T> Line<T> {
    /// Lines up behind what else its run has waiting.
    pub fn join(&mut self, party: &Party, ticket: Ticket, with: T) {
        self.waiting += 1;
        let place = (ticket, with);
        let of_flow = self.flows.iter_mut().find(|flow| flow.name == party.flow);
        let Some(flow) = of_flow else {
            let runs = VecDeque::from([Queue::of(&party.run, place)]);
            self.flows.push_back(Flow { name: party.flow.clone(), runs });
            return;
        };
        match flow.runs.iter_mut().find(|queue| queue.run == party.run) {
            Some(queue) => queue.places.push_back(place),
            None => flow.runs.push_back(Queue::of(&party.run, place)),
        }
    }

    /// Whose turn it is among those that `may`. Workflows that have `over` their share wait for the others.
    #[must_use]
    pub fn next(&self, may: impl Fn(&T) -> bool, over: impl Fn(&str) -> bool) -> Option<Spot> {
        let mut second = None;
        for (ix, flow) in self.flows.iter().enumerate() {
            let Some(spot) = flow.next(ix, &may) else { continue };
            if !over(&flow.name) {
                return Some(spot);
            }
            second = second.or(Some(spot));
        }
        second
    }

    /// What somebody waits with.
    #[must_use]
    pub fn at(&self, spot: Spot) -> Option<&T> {
        let queue = self.flows.get(spot.flow)?.runs.get(spot.run)?;
        queue.places.get(spot.place).map(|(_, with)| with)
    }

    /// Lets somebody out of the line; its run and its workflow go to the end of their rounds.
    pub fn take(&mut self, spot: Spot) -> Option<(Ticket, T)> {
        let mut flow = self.flows.remove(spot.flow)?;
        let taken = flow.runs.remove(spot.run).and_then(|mut queue| {
            let taken = queue.places.remove(spot.place);
            if !queue.places.is_empty() {
                flow.runs.push_back(queue);
            }
            taken
        });
        if !flow.runs.is_empty() {
            self.flows.push_back(flow);
        }
        self.waiting -= usize::from(taken.is_some());
        taken
    }

    /// Somebody no longer wants to send. Changes nobody's turn. `false` where it does not stand in the line.
    pub fn leave(&mut self, party: &Party, ticket: Ticket) -> bool {
        let before = self.waiting;
        let of = |flow: &mut Flow<T>| flow.name == party.flow;
        for flow in self.flows.iter_mut().filter_map(|flow| of(flow).then_some(flow)) {
            for queue in flow.runs.iter_mut().filter(|queue| queue.run == party.run) {
                queue.places.retain(|(other, _)| *other != ticket);
            }
        }
        self.tidy();
        self.waiting < before
    }

    /// Lets everybody out of whom `which` is true, in the order of their turns. Changes nobody else's turn.
    pub fn sweep(&mut self, which: impl Fn(&T) -> bool) -> Vec<(Ticket, T)> {
        let mut out = Vec::new();
        for queue in self.flows.iter_mut().flat_map(|flow| &mut flow.runs) {
            if !queue.places.iter().any(|(_, with)| which(with)) {
                continue;
            }
            for place in std::mem::take(&mut queue.places) {
                if which(&place.1) { out.push(place) } else { queue.places.push_back(place) }
            }
        }
        self.tidy();
        out
    }

    /// What all wait with, in the order of their turns.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let queues = self.flows.iter().flat_map(|flow| &flow.runs);
        queues.flat_map(|queue| &queue.places).map(|(_, with)| with)
    }

    /// The workflows with somebody waiting.
    pub fn flows(&self) -> impl Iterator<Item = &str> {
        self.flows.iter().map(|flow| flow.name.as_str())
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn tidy(&mut self) {
        for flow in &mut self.flows {
            flow.runs.retain(|queue| !queue.places.is_empty());
        }
        self.flows.retain(|flow| !flow.runs.is_empty());
        let runs = self.flows.iter().flat_map(|flow| &flow.runs);
        self.waiting = runs.map(|queue| queue.places.len()).sum();
    }
}

impl<T> Flow<T> {
    fn next(&self, flow: usize, may: impl Fn(&T) -> bool) -> Option<Spot> {
        self.runs.iter().enumerate().find_map(|(run, queue)| {
            let place = queue.places.iter().position(|(_, with)| may(with))?;
            Some(Spot { flow, run, place })
        })
    }
}

impl<T> Queue<T> {
    fn of(run: &RunId, first: (Ticket, T)) -> Self {
        Self { run: run.clone(), places: VecDeque::from([first]) }
    }
}

#[cfg(test)]
mod tests;
