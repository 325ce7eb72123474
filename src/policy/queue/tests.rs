use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn party(flow: usize, run: usize) -> Party {
    Party { flow: format!("flow{flow}"), run: RunId::new((flow * 100 + run) as u64) }
}

fn any(_: &Party) -> bool {
    true
}

fn nobody(_: &str) -> bool {
    false
}

/// A line of parties, each place named by who stands there.
#[derive(Default)]
struct Waiting {
    line: Line<Party>,
    tickets: u64,
}

impl Waiting {
    fn join(&mut self, flow: usize, run: usize) -> Ticket {
        let party = party(flow, run);
        self.tickets += 1;
        self.line.join(&party, Ticket(self.tickets), party.clone());
        Ticket(self.tickets)
    }

    fn serve(&mut self) -> Option<(Ticket, Party)> {
        let spot = self.line.next(any, nobody)?;
        self.line.take(spot)
    }

    fn served(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.serve().map(|(ticket, _)| ticket.0)).collect()
    }
}

#[test]
fn a_run_with_a_thousand_attempts_lets_every_other_run_go_in_between() {
    let mut waiting = Waiting::default();
    for _ in 0..1_000 {
        waiting.join(0, 0);
    }
    let late: Vec<Ticket> = (1..4).map(|run| waiting.join(0, run)).collect();
    let first: Vec<Ticket> = (0..4).map(|_| waiting.serve().unwrap().0).collect();
    assert_eq!(first, [vec![Ticket(1)], late].concat());
    assert_eq!(waiting.line.len(), 999);
}

#[test]
fn a_workflow_with_many_runs_has_no_more_turns_than_one_with_a_single_run() {
    let mut waiting = Waiting::default();
    for run in 0..50 {
        waiting.join(0, run);
    }
    for _ in 0..3 {
        waiting.join(1, 0);
    }
    let flows: Vec<String> = (0..6).map(|_| waiting.serve().unwrap().1.flow).collect();
    assert_eq!(flows, ["flow0", "flow1", "flow0", "flow1", "flow0", "flow1"]);
}

#[test]
fn within_a_run_attempts_are_served_in_order() {
    let mut waiting = Waiting::default();
    for _ in 0..4 {
        waiting.join(0, 0);
    }
    assert_eq!(waiting.served(), [1, 2, 3, 4]);
    assert!(waiting.line.is_empty());
}

#[test]
fn who_leaves_changes_nobodys_turn() {
    let mut waiting = Waiting::default();
    let (first, second) = (waiting.join(0, 0), waiting.join(0, 1));
    waiting.join(0, 2);
    assert!(waiting.line.leave(&party(0, 1), second));
    assert!(!waiting.line.leave(&party(0, 1), second), "it is gone already");
    assert!(!waiting.line.leave(&party(0, 2), first), "that is another's place");
    assert_eq!(waiting.served(), [1, 3]);
}

#[test]
fn a_workflow_over_its_share_waits_for_the_others_and_for_nobody_else() {
    let mut waiting = Waiting::default();
    waiting.join(0, 0);
    waiting.join(0, 0);
    waiting.join(1, 0);
    let over = |flow: &str| flow == "flow0";
    let spot = waiting.line.next(any, over).unwrap();
    assert_eq!(waiting.line.take(spot).unwrap().1.flow, "flow1");
    let spot = waiting.line.next(any, over).unwrap();
    assert_eq!(waiting.line.take(spot).unwrap().1.flow, "flow0", "no other one waits");
}

#[test]
fn what_may_not_be_sent_yet_holds_up_nothing_behind_it() {
    let mut waiting = Waiting::default();
    waiting.join(0, 0);
    waiting.join(0, 1);
    let spot = waiting.line.next(|party| *party != self::party(0, 0), nobody).unwrap();
    assert_eq!(waiting.line.at(spot), Some(&party(0, 1)));
    assert_eq!(waiting.line.take(spot).unwrap().0, Ticket(2));
    assert_eq!(waiting.line.next(|_| false, nobody), None);
}

#[test]
fn a_sweep_takes_out_what_it_is_asked_to_and_leaves_the_order() {
    let mut waiting = Waiting::default();
    for run in [0, 1, 2, 1, 0] {
        waiting.join(0, run);
    }
    let out = waiting.line.sweep(|with| *with == party(0, 1));
    assert_eq!(out.iter().map(|(ticket, _)| ticket.0).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(waiting.served(), [1, 3, 5]);
}

proptest! {
    #[test]
    fn everybody_is_served_once_and_no_run_is_passed_over_twice_for_another(
        arrivals in prop::collection::vec((0_usize..3, 0_usize..4, 0_u8..4), 1..120),
    ) {
        let mut waiting = Waiting::default();
        // Of each run that waits: whom of its workflow was served since its own last turn.
        let mut since: BTreeMap<RunId, Vec<RunId>> = BTreeMap::new();
        let (mut joined, mut served) = (0, Vec::new());
        for (flow, run, turns) in arrivals {
            waiting.join(flow, run);
            joined += 1;
            since.entry(party(flow, run).run).or_default();
            for _ in 0..turns {
                let Some((ticket, party)) = waiting.serve() else { break };
                served.push(ticket);
                since.insert(party.run.clone(), Vec::new());
                let line = &waiting.line;
                let here = line.flows.iter().find(|of| of.name == party.flow);
                let rest: Vec<RunId> =
                    here.iter().flat_map(|of| &of.runs).map(|queue| queue.run.clone()).collect();
                since.retain(|run, passed| {
                    let waits = rest.contains(run);
                    let other = !line.flows.iter().any(|of| of.runs.iter().any(|q| q.run == *run));
                    if waits && *run != party.run {
                        assert!(!passed.contains(&party.run), "{run} is passed over twice");
                        passed.push(party.run.clone());
                    }
                    waits || !other
                });
            }
        }
        served.extend(std::iter::from_fn(|| waiting.serve().map(|(ticket, _)| ticket)));
        served.sort_unstable();
        prop_assert_eq!(served, (1..=joined).map(Ticket).collect::<Vec<_>>());
        prop_assert!(waiting.line.is_empty() && waiting.line.flows().next().is_none());
    }
}
