//! Laws learned from a regime's runs, against its own figures.

use punctual::latency::book::Book;
use punctual::latency::law::Laws;
use punctual::planner::Pilot;
use punctual::provider::simulated::regime::Regime;

use super::server::{Server, plan, regime};

/// Within a share of the truth, or within a margin of it.
fn near(what: &str, found: f64, truth: f64, share: f64, margin: f64) {
    let far = (found - truth).abs();
    assert!(far <= (share * truth).max(margin), "{what}: {found:.4} where {truth:.4} is true");
}

/// After 2,000 runs: medians within 6 %, chances within a third or a margin of a few standard errors.
fn check(name: &str, laws: &Laws, regime: &Regime) {
    for (at, law) in laws.paths.iter().enumerate() {
        let (path, serving) = (&regime.paths[at], regime.provider(law.provider as u8));
        let what = |figure: &str| format!("{name}, path {at}, {figure}");
        let first = path.ttft_med_s * serving.ttft_mult;
        near(&what("first token"), law.first_token.at(0.5), first, 0.06, 0.0);
        let spread = (law.first_token.at(0.84) / law.first_token.at(0.5)).ln();
        near(&what("spread of first tokens"), spread, 0.40, 0.12, 0.0);
        let pace = path.tpot_med_s * serving.tpot_mult;
        near(&what("seconds a token"), law.per_token.at(0.5), pace, 0.04, 0.0);
        near(&what("invalid"), law.invalid, path.p_garbage, 0.33, 0.012);
        near(&what("errors"), law.error, serving.p_error, 0.15, 0.008);
        near(&what("hangs"), law.hangs, serving.p_hang / 2.0, 0.15, 0.01);
        near(&what("stalls"), law.stalls, serving.p_hang / 2.0, 0.15, 0.006);
    }
    for (at, law) in laws.providers.iter().enumerate() {
        let truth = regime.provider(at as u8);
        let what = |figure: &str| format!("{name}, provider {at}, {figure}");
        near(&what("spells"), law.spell, truth.p_spell, 0.35, 0.025);
        near(&what("slow outside"), law.slow[0], truth.p_slow_normal, 0.0, 0.04);
        near(&what("slow inside"), law.slow[1], truth.p_slow_in_spell, 0.0, 0.15);
        near(&what("late outside"), law.late[0], truth.p_slow_normal / 2.0, 0.0, 0.05);
        near(&what("late inside"), law.late[1], truth.p_slow_in_spell / 2.0, 0.0, 0.2);
        // All together, which spells and their figures may trade against each other.
        let slow = |spell: f64, slow: [f64; 2]| slow[0] + spell * (slow[1] - slow[0]);
        let [p0, ps] = [truth.p_slow_normal, truth.p_slow_in_spell];
        let whole = slow(truth.p_spell, [p0, ps]);
        near(&what("slow in all"), slow(law.spell, law.slow), whole, 0.25, 0.012);
        near(&what("bursts"), law.burst, truth.p_429_burst, 0.25, 0.012);
        near(&what("refused in a burst"), law.refused, 0.6, 0.0, 0.15);
        near(&what("after"), law.refused_after, 0.5, 0.0, 0.1);
    }
    near(&format!("{name}, late"), laws.late.at(0.5), 5.0, 0.2, 0.0);
    near(&format!("{name}, slow"), laws.slow.at(0.5), 4.7, 0.15, 0.0);
    near(&format!("{name}, onset"), laws.onset.at(0.75), 0.4, 0.0, 0.12);
    for (step, tokens) in laws.steps.iter().flatten().zip([660.0, 1_150.0, 330.0]) {
        near(&format!("{name}, tokens"), step.tokens, tokens, 0.04, 0.0);
        near(&format!("{name}, sizes"), step.spread_shared.hypot(step.spread_own), 0.17, 0.15, 0.0);
    }
}

fn learned(name: &str) {
    let mut server = Server::new(7);
    server.serve(regime(name), 2_000);
    let estimate = server.book.estimate(&plan(), server.now());
    check(name, &estimate.laws, regime(name));
    near(&format!("{name}, shock"), estimate.shock(), 1.0, 0.05, 0.0);
}

#[test]
fn the_usual_month_is_learned_from_observations_alone() {
    learned("pooled");
}

#[test]
fn a_busy_month_is_learned() {
    learned("busy");
}

#[test]
fn spells_in_most_runs_are_learned() {
    learned("brownout");
}

#[test]
fn a_provider_that_fails_or_hangs_nine_times_of_ten_is_learned() {
    learned("down");
}

/// Means over servers that lived through 300 usual runs: time to the first token, milliseconds a token, spells, bursts,
/// errors, hangs and stalls of the first path.
fn means(servers: &[Server]) -> [f64; 6] {
    let mut means = [0.0; 6];
    for server in servers {
        let laws = server.book.laws(&plan(), server.now());
        let (path, provider) = (&laws.paths[0], &laws.providers[0]);
        let pace = path.per_token.at(0.5) * 1e3;
        let ends = path.hangs + path.stalls;
        let all =
            [path.first_token.at(0.5), pace, provider.spell, provider.burst, path.error, ends];
        for (mean, figure) in means.iter_mut().zip(all) {
            *mean += figure / servers.len() as f64;
        }
    }
    means
}

fn serve(servers: &mut [Server], name: &str, runs: u64) {
    for server in servers {
        server.serve(regime(name), runs);
    }
}

fn servers() -> Vec<Server> {
    let start = |seed| {
        let mut server = Server::new(seed);
        server.first = &[0];
        server.serve(regime("pooled"), 300);
        server
    };
    (20..28).map(start).collect()
}

#[test]
fn a_brownout_shows_within_twenty_runs_and_is_over_within_twenty() {
    let mut servers = servers();
    let before = means(&servers);
    serve(&mut servers, "brownout", 20);
    let [first, pace, spell, burst, ..] = means(&servers);
    // True are 3.5 s, 23.2 ms, 0.6 and 0.2.
    assert!(first > 2.7 && pace > 20.5, "{first} {pace}");
    assert!(spell > 0.25 && burst > 0.04, "{spell} {burst}");
    serve(&mut servers, "pooled", 20);
    let after = means(&servers);
    near("first token", after[0], before[0], 0.15, 0.0);
    near("seconds a token", after[1], before[1], 0.06, 0.0);
    near("spells", after[2], before[2], 0.0, 0.07);
    near("bursts", after[3], before[3], 0.0, 0.04);
}

#[test]
fn a_provider_that_goes_down_shows_within_ten_runs() {
    let mut servers = servers();
    serve(&mut servers, "down", 10);
    let [.., errors, ends] = means(&servers);
    // True are 0.45 and 0.45.
    assert!(errors > 0.25 && ends > 0.2, "{errors} {ends}");
}

#[test]
fn an_unknown_path_starts_from_what_others_show_and_from_nothing_known_where_none_does() {
    let mut server = Server::new(1);
    server.first = &[0];
    let cold = server.book.laws(&plan(), server.now());
    near("cold first token", cold.paths[3].first_token.at(0.5), 1.4, 0.01, 0.0);
    near("cold pace", cold.paths[3].per_token.at(0.5), 0.016, 0.01, 0.0);
    assert!(cold.paths.iter().all(|path| path.samples < 1e-9));
    server.serve(regime("brownout"), 200);
    let laws = server.book.laws(&plan(), server.now());
    assert!(laws.paths[3].samples < 1e-9);
    let (known, unknown) = (laws.paths[0].per_token.at(0.5), laws.paths[3].per_token.at(0.5));
    assert!(unknown > 0.85 * known, "{unknown} beside {known}");
}

#[test]
fn a_pilot_tells_measured_times_from_foretold_ones() {
    let mut server = Server::new(2);
    server.serve(regime("pooled"), 1_500);
    let plan = plan();
    let pilot = Pilot::of(&plan, &server.book, server.now());
    assert_eq!(pilot, Pilot::of(&plan, &server.book, server.now()));
    let draft = pilot.times[0][0].unwrap();
    // The published month: an answer of 660 tokens takes 12.2 s at the median, 21.7 s at P95, 62.8 s at P99.
    assert!(draft.samples > 600.0, "{draft:?}");
    near("p50", draft.total.p50, 12.2, 0.05, 0.0);
    // One server's tail scatters: a percent of 900 attempts is nine.
    near("p95", draft.total.p95, 21.7, 0.3, 0.0);
    near("p99", draft.total.p99, 62.8, 0.35, 0.0);
    near("tokens", draft.tokens, 660.0, 0.05, 0.0);
    let cold = Pilot::of(&plan, &Book::new(), server.now());
    let foretold = cold.times[0][0].unwrap();
    assert!(foretold.samples < 1e-9 && cold.mark != pilot.mark);
    // 2,000 tokens at most: 600 are expected.
    near("foretold", foretold.total.p50, 1.4 + 600.0 * 0.016, 0.15, 0.0);
    assert!(foretold.total.p50 < foretold.total.p95 && foretold.total.p95 < foretold.total.p99);
}
