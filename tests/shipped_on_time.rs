//! The shipped workflows in the traffic of an ordinary month: how often an answer is there before the deadline. Their
//! good cases are played in virtual time, with what the models say as recorded and how long they take as drawn.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test, and its figures")]

use std::path::Path;
use std::time::Duration;

use punctual::definition::catalog::{Catalog, load};
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::trace::report::RunReport;
use punctual::world::case::play;

/// The workflows that are played; the first of their cases is a good one.
const WORKFLOWS: [&str; 6] = [
    "invoice_ledger",
    "meeting_actions",
    "release_notes",
    "rfp_answers",
    "summarize",
    "support_triage",
];
/// Runs of each workflow; `PUNCTUAL_RUNS` asks for more, for a figure rather than a check.
const RUNS: u64 = 60;

/// How runs of one workflow ended.
#[derive(Debug, Default)]
struct Tally {
    delivered: u64,
    degraded: u64,
    failed: Vec<String>,
    late: u64,
    elapsed_ms: Vec<u64>,
}

impl Tally {
    fn take(&mut self, seed: u64, report: &RunReport) {
        match report.outcome.as_str() {
            "delivered" => self.delivered += 1,
            "degraded" => self.degraded += 1,
            _ => self.failed.push(format!("seed {seed}: {:?}", report.failure)),
        }
        self.late += u64::from(report.elapsed_ms > report.deadline_ms);
        self.elapsed_ms.push(report.elapsed_ms);
    }

    fn on_time(&self) -> u64 {
        self.delivered + self.degraded
    }

    fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.elapsed_ms.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list of a few hundred"
        )]
        let at = ((sorted.len() - 1) as f64 * share) as usize;
        Duration::from_millis(sorted[at])
    }
}

fn catalog() -> Catalog {
    let folder = Folder::at(Path::new(env!("CARGO_MANIFEST_DIR"))).rehearsed();
    load(&folder, &Environment::default(), None)
}

/// Plays the first case of each workflow, the good one, in `regime`.
fn tallies(regime: &str, runs: u64) -> Vec<(&'static str, Tally)> {
    let catalog = catalog();
    let mut tallies = Vec::new();
    for name in WORKFLOWS {
        let mut case = catalog.cases[name].list[0].clone();
        regime.clone_into(&mut case.regime);
        let mut tally = Tally::default();
        for seed in 0..runs {
            case.seed = seed;
            let workflow = &catalog.workflows[name];
            let played = play(&case, workflow, &catalog.configuration.providers, "").unwrap();
            tally.take(seed, &played.report);
        }
        tallies.push((name, tally));
    }
    tallies
}

fn hold(regime: &str, runs: u64, percent: u64) {
    let tallies = tallies(regime, runs);
    let mut rare = Vec::new();
    for (name, tally) in tallies {
        let (on_time, whole) = (tally.on_time(), tally.delivered);
        let (half, most) = (tally.quantile(0.5), tally.quantile(0.95));
        println!(
            "{name} in {regime}: {on_time} of {runs} on time ({whole} whole), p50 {half:?}, p95 {most:?}"
        );
        assert_eq!(tally.late, 0, "{name}: a run ended after its deadline");
        if on_time * 100 < runs * percent {
            rare.push(format!("{name}: {on_time} of {runs}\n{}", tally.failed.join("\n")));
        }
    }
    assert!(rare.is_empty(), "{}", rare.join("\n"));
}

#[test]
fn of_a_hundred_runs_in_pooled_traffic_at_least_ninety_five_answer_in_time() {
    let asked = std::env::var("PUNCTUAL_RUNS").ok().and_then(|runs| runs.parse().ok());
    hold("pooled", asked.unwrap_or(RUNS), 95);
}
