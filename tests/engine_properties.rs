//! Laws of the orchestrator under any plan, any faults and any timing: exactly one outcome, in time, within
//! every budget, with nothing left in flight, nothing accepted twice and no decision that does not replay.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a broken law ends the test; only inline test modules are exempt by configuration"
)]

#[path = "engine_properties/audit.rs"]
mod audit;
#[path = "engine_properties/pilot.rs"]
mod pilot;
#[path = "engine_properties/plan.rs"]
mod plan;
#[path = "engine_properties/world.rs"]
mod world;

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use punctual::domain::id::RunId;
use punctual::domain::plan::Plan;
use punctual::domain::time::Timestamp;
use punctual::engine::decision::Decision;
use punctual::engine::{Action, Event, Machine, Signals};
use punctual::run::journal::{Journal, Record};
use punctual::run::replay::replay;

use audit::Audit;
use world::World;

/// Most events of one run, ours and the machine's timer together.
const HANDLES_MAX: usize = 50_000;

/// Everything a machine was told, and what it answered.
#[derive(Default)]
struct Seen {
    told: Vec<(Event, Signals, Timestamp)>,
    answered: Vec<Vec<Action>>,
    decided: Vec<Decision>,
}

/// Drives one run to its outcome, looking over the machine's shoulder at each step.
fn drive(plan: &Arc<Plan>, deadline: Duration, seed: u64) -> (Machine, Seen) {
    let known = pilot::pilot(plan, seed);
    let mut machine = Machine::new(plan.clone(), deadline).with_pilot(known);
    let mut world = World::new(plan, seed);
    let mut audit = Audit::new(plan.clone());
    let mut record = Seen::default();
    let mut now = Timestamp::ZERO;
    let mut wakeups = 0;
    while machine.outcome().is_none() {
        assert!(record.told.len() < HANDLES_MAX, "no end after {HANDLES_MAX} events");
        let timer = machine.next_wakeup().expect("a run that goes on has a next wakeup");
        // At its end a run waits for steps without a model, and for who else has left in that moment.
        let heard = |event: &Event| {
            matches!(event, Event::Sent { .. } | Event::FirstToken { .. } | Event::Emitted { .. })
        };
        let left = record.told.last().is_some_and(|(event, ..)| heard(event));
        let last = timer == machine.end_at() && (audit.computing() || left);
        assert!(
            timer > now || last || record.told.is_empty(),
            "woken for the past: {timer:?} at {now:?}"
        );
        let event = if let Some(at) = world.next_at().filter(|at| *at <= timer) {
            now = at;
            world.pop().expect("it was there")
        } else {
            now = timer;
            wakeups += 1;
            Event::Woke
        };
        let signals = world.signals(plan);
        audit.told(&event, &machine, now);
        let actions = machine.handle(event.clone(), &signals, now);
        record.told.push((event, signals, now));
        for action in &actions {
            audit.asked(action);
            match action {
                Action::Prepare { step, round } => world.prepare(plan, *step, *round, now),
                Action::Launch(spec) => world.launch(spec, now),
                Action::Shrink { step, item, most } => world.shrink(*step, *item, *most, now),
                Action::Cancel { .. }
                | Action::Accept { .. }
                | Action::Close { .. }
                | Action::Finish(_) => {}
            }
        }
        record.answered.push(actions);
        record.decided.extend(machine.take_decisions());
    }
    assert!(now <= machine.end_at(), "ended at {now:?}, after {:?}", machine.end_at());
    assert!(wakeups <= audit.wakeups_most(&machine, &record.told), "{wakeups} wakeups");
    audit.ended(&machine);
    silence(&mut machine, &mut world, now);
    (machine, record)
}

/// Whatever is still to come changes nothing.
fn silence(machine: &mut Machine, world: &mut World, mut now: Timestamp) {
    let outcome = machine.outcome().cloned();
    while let Some(at) = world.next_at() {
        now = now.max(at);
        let event = world.pop().expect("it was there");
        assert_eq!(machine.handle(event, &Signals::default(), now), [], "after the outcome");
    }
    assert_eq!(machine.outcome().cloned(), outcome);
    assert_eq!(machine.next_wakeup(), None);
    assert!(machine.take_decisions().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_run_keeps_the_laws(plan in plan::plan(), seed: u64, asked in 1_u64..150_000) {
        let plan = Arc::new(plan);
        drive(&plan, Duration::from_millis(asked), seed);
    }

    #[test]
    fn the_same_events_at_the_same_times_give_the_same_decisions(
        plan in plan::plan(),
        seed: u64,
    ) {
        let plan = Arc::new(plan);
        let (_, record) = drive(&plan, plan.deadline, seed);
        let known = pilot::pilot(&plan, seed);
        let mut machine = Machine::new(plan.clone(), plan.deadline).with_pilot(known);
        let mut decided = Vec::new();
        for ((event, signals, now), answered) in record.told.into_iter().zip(record.answered) {
            prop_assert_eq!(machine.handle(event, &signals, now), answered);
            decided.extend(machine.take_decisions());
        }
        prop_assert_eq!(decided, record.decided);
    }

    #[test]
    fn a_record_on_disk_is_all_that_the_same_decisions_need(
        plan in plan::plan(),
        seed: u64,
        asked in 1_u64..150_000,
    ) {
        let plan = Arc::new(plan);
        let (machine, record) = drive(&plan, Duration::from_millis(asked), seed);
        let mut journal = Journal::default();
        let known = pilot::pilot(&plan, seed);
        let mut again = Machine::new(plan.clone(), Duration::from_millis(asked)).with_pilot(known);
        for (event, signals, now) in &record.told {
            journal.told(event, signals, *now);
            let actions = again.handle(event.clone(), signals, *now);
            journal.answered(&actions, &again.take_decisions());
        }
        let mut lines = journal.lines(&RunId::new(seed), &machine, |_| false);
        let line = lines.pop().expect("a run's own line comes last");
        let read = Record::read(&line, |name| lines.iter().find(|part| part.contains(name)).cloned());
        let read = read.expect("what was written can be read");
        prop_assert_eq!(&*read.plan, &*plan);
        let found = replay(&read);
        prop_assert_eq!(&found.divergence, &None);
        prop_assert_eq!(found.events, read.told.len());
        if read.whole {
            prop_assert_eq!(found.events, record.told.len());
            prop_assert_eq!(found.decisions, record.decided.len());
        }
    }
}
