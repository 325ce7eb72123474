//! Runs that the planner decides are recorded and decided anew like any other.

use crate::domain::id::RunId;
use crate::domain::outcome::Outcome;
use crate::engine::Machine;
use crate::engine::decision::Reason;
use crate::provider::simulated::regime::SCENARIOS_JSON;
use crate::run::journal::{Journal, Record};
use crate::run::replay::replay;
use crate::scenario::drive::Driver;
use crate::scenario::file::Cell;
use crate::scenario::plan::Trust;
use crate::scenario::stage::{Contender, Stage};
use crate::scenario::warmup::Learner;

#[test]
fn the_record_of_a_planned_run_is_all_that_the_same_decisions_need() {
    let stage = Stage::new(SCENARIOS_JSON, Some(1)).unwrap();
    let cell = Cell { scenario: "busy".to_owned(), workflow: "chain3".to_owned(), deadline_s: 60 };
    let (setting, _) = stage.setting(&cell).unwrap();
    let mut driver = Driver::new(setting, "chain3", 60, &Trust::right(&setting));
    let mut learner = Learner::new(30.0);
    for run in 0..60 {
        learner.play(&mut driver, run);
    }
    let pilot = learner.pilot(driver.plan(), Contender::Planner).unwrap();
    assert!(pilot.tables.is_some());
    driver.tell(Some(pilot));
    // Tables are made anew for each record, which takes seconds in a test: two runs in which something was added.
    let mut replayed = 0;
    for run in 1_000..1_100 {
        let (mut planned, mut beside) = (0, 0);
        let mut journal = Journal::default();
        let mut last: Option<Machine> = None;
        driver.play_by(run, &mut |machine: &mut Machine, event, signals: &_, now| {
            journal.told(&event, signals, now);
            let actions = machine.handle(event, signals, now);
            let decisions = machine.take_decisions();
            for decision in &decisions {
                if let Reason::Planned { after, .. } = decision.reason {
                    planned += 1;
                    beside += u32::from(after.is_some());
                }
            }
            journal.answered(&actions, &decisions);
            last = Some(machine.clone());
            actions
        });
        if replayed == 2 || beside == 0 {
            continue;
        }
        replayed += 1;
        assert!(planned >= 3);
        let machine = last.unwrap();
        assert!(matches!(machine.outcome(), Some(Outcome::Delivered | Outcome::Failed(_))));
        let mut lines = journal.lines(&RunId::new(run), &machine, |_| false);
        let line = lines.pop().unwrap();
        let part = |name: &str| lines.iter().find(|part| part.contains(name)).cloned();
        let record = Record::read(&line, part).unwrap();
        let found = replay(&record);
        assert_eq!(found.divergence, None, "run {run}");
        assert!(found.events > 0 && record.whole);
    }
    assert_eq!(replayed, 2);
}
