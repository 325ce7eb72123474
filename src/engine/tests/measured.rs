//! The reaction table by what is measured: which signal cuts, when, and what follows.

use std::time::Duration;

use super::draft::Draft;
use super::scenario::{Scenario, failure, throttled};
use crate::domain::failure::FailureClass;
use crate::domain::id::{PathIx, StepIx};
use crate::domain::plan::{After, Hedge, OnSlow};
use crate::domain::time::{Share, Timestamp};
use crate::planner::{Pilot, Quantiles, Times};
use crate::policy::permit::Traffic;

/// Quantiles of the published traffic for an answer of 600 tokens at 62 a second.
pub(super) fn long() -> Times {
    Times {
        samples: 400.0,
        first_token: Quantiles { p50: 1.4, p95: 2.8, p99: 7.0 },
        total: Quantiles { p50: 12.0, p95: 22.0, p99: 62.0 },
        tokens: 600.0,
        rate: 60.0,
    }
}

/// The same for 50 tokens: waiting for the first is most of it.
pub(super) fn short() -> Times {
    Times { total: Quantiles { p50: 2.2, p95: 4.0, p99: 10.0 }, tokens: 50.0, ..long() }
}

/// All of it in so many times the time.
pub(super) fn times(times: &Times, factor: f64) -> Times {
    let scaled =
        |q: Quantiles| Quantiles { p50: q.p50 * factor, p95: q.p95 * factor, p99: q.p99 * factor };
    let (first_token, total) = (scaled(times.first_token), scaled(times.total));
    Times { first_token, total, rate: times.rate / factor, ..*times }
}

/// Every step takes these on each path of the plan, in order.
pub(super) fn pilot(steps: usize, paths: &[Times]) -> Pilot {
    let of = |_| paths.iter().copied().map(Some).collect();
    Pilot { mark: 1, times: (0..steps).map(of).collect(), shock: 1.0, laws: None, tables: None }
}

/// One long step on two paths, with a faster model.
fn one() -> Draft {
    Draft::paths(&["a/one", "b/two"]).faster(&["c/quick"]).step("draft")
}

fn all() -> Vec<Times> {
    vec![long(), long(), times(&long(), 0.4)]
}

/// Tokens come at this rate from `from` on, a look every 200 ms.
fn flows(
    mut scenario: Scenario,
    attempt: u32,
    (from, until): (u64, u64),
    mut tokens: u64,
    rate: u64,
) -> Scenario {
    let mut at = from;
    while at <= until {
        scenario = scenario.at(at).emitted(attempt, tokens.max(1));
        (at, tokens) = (at + 200, tokens + rate / 5);
    }
    scenario
}

#[test]
fn a_short_step_is_cut_on_its_first_token_and_raced_on_another_path() {
    one()
        .knowing(pilot(1, &[short(), short(), short()]))
        .start_at_once()
        .expect(&["launch 0 draft a/one primary"])
        .at(3_219)
        .expect(&[])
        .at(3_270)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no first token on a/one by 3.2 s (P95 2.8 s × 1.15)")
        .because("launch no first token on a/one by 3.2 s (P95 2.8 s × 1.15); now on b/two")
        .valid(0)
        .expect(&["accept 0", "cancel 1", "close draft ok", "finish delivered"]);
}

#[test]
fn a_long_step_is_only_guarded_on_its_first_token() {
    one()
        .knowing(pilot(1, &all()))
        .start_at_once()
        .skip()
        .at(8_049)
        .expect(&[])
        .at(8_100)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no first token on a/one by 8.1 s (P99 7 s × 1.15)");
}

#[test]
fn a_long_step_that_flows_as_usual_is_left_alone() {
    let scenario = one().knowing(pilot(1, &all())).start_at_once().skip();
    flows(scenario, 0, (1_400, 11_400), 1, 60).expect(&[]).valid(0).expect(&[
        "accept 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn a_slow_stream_is_seen_before_its_cutoff_and_raced_on_another_path() {
    // 600 tokens at 20 a second end at 31 s; the cutoff is at 25.3 s.
    let scenario = one().knowing(pilot(1, &all())).start_at_once().skip();
    flows(scenario, 0, (1_400, 2_000), 1, 20)
        .at(2_060)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because(
            "cut too slow to finish on a/one: about 29.4 s more at 20 tokens/s, usually 60, \
             past its cutoff of 25.3 s (P95 22 s × 1.15)",
        );
}

#[test]
fn a_somewhat_slow_stream_has_until_its_cutoff() {
    // 35 tokens a second are over two thirds of the usual 50; 600 of them end at 18.5 s, 2.4 s after the cutoff.
    let total = Quantiles { p95: 14.0, ..long().total };
    let slow = Times { total, rate: 50.0, ..long() };
    let known = pilot(1, &[slow, slow, times(&long(), 0.1)]);
    let scenario = one().knowing(known).start_at_once().skip();
    flows(scenario, 0, (1_400, 16_000), 1, 35)
        .expect(&[])
        .at(16_150)
        .expect(&["launch 1 draft c/quick faster after 0 told resume"])
        .because("cut no complete answer on a/one by 16.1 s (P95 14 s × 1.15)");
}

#[test]
fn what_misses_the_time_left_goes_to_the_faster_model_and_never_repeats_the_call() {
    // 45 tokens a second are well, but 13.3 s are too long where 12.4 s are left for the step.
    let draft = one().deadline(13_000).knowing(pilot(1, &all()));
    let scenario = draft.start_at_once().skip();
    flows(scenario, 0, (1_400, 2_000), 1, 45)
        .at(2_060)
        .expect(&["launch 1 draft c/quick faster after 0 told resume"])
        .because("too slow to finish on a/one: about 12.7 s more at 45 tokens/s, usually 60, and 10.9 s are left for it");
    let alone = Draft::paths(&["a/one"]).step("draft").deadline(13_000);
    let scenario = alone.knowing(pilot(1, &[long()])).start_at_once().skip();
    flows(scenario, 0, (1_400, 10_000), 1, 45).expect(&[]);
}

#[test]
fn an_answer_that_is_nearly_there_is_not_raced_though_its_cutoff_passes() {
    // Its first token was late: by its cutoff of 25.3 s it is longer than expected, and still flows.
    let draft = one().knowing(pilot(1, &all()));
    let scenario = draft.start_at_once().skip();
    let scenario = flows(scenario, 0, (7_000, 26_900), 1, 35).expect(&[]);
    scenario.valid(0).expect(&["accept 0", "close draft ok", "finish delivered"]);
}

#[test]
fn a_stall_is_as_long_as_the_writing_of_an_answer_usually_takes() {
    one()
        .knowing(pilot(1, &[short(), short(), short()]))
        .start_at_once()
        .skip()
        .at(1_000)
        .emitted(0, 9)
        .at(3_060)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because(
            "cut no further token on a/one for 2 s (a whole answer usually takes 800 ms to write)",
        );
}

#[test]
fn invalid_answers_go_to_the_stronger_model_only_while_that_fits() {
    let draft = |deadline: u64| {
        let draft = Draft::paths(&["a/one", "b/two"]).stronger(&["d/big"]).step("draft");
        let known = vec![long(), long(), times(&long(), 1.6)];
        let scenario = draft.deadline(deadline).knowing(pilot(1, &known)).start_at_once().skip();
        flows(scenario, 0, (1_400, 11_400), 1, 60).at(12_000).invalid(0).invalid(1).at(12_060)
    };
    draft(60_000).expect(&[
        "launch 1 draft a/one repair after 0 told violations",
        "launch 2 draft d/big stronger after 1 told violations",
    ]);
    // 14 s are left then: 12 s fit, 19.2 s do not.
    draft(26_300).expect(&[
        "launch 1 draft a/one repair after 0 told violations",
        "launch 2 draft b/two next after 1 told violations",
    ]);
}

#[test]
fn where_no_other_answer_fits_an_invalid_one_is_repaired_on_the_faster_model() {
    let scenario = one().deadline(20_000).knowing(pilot(1, &all())).start_at_once().skip();
    flows(scenario, 0, (1_400, 11_000), 1, 60)
        .invalid(0)
        .at(11_060)
        .expect(&["launch 1 draft c/quick faster after 0 told violations"]);
}

#[test]
fn after_throttling_a_path_that_would_be_late_is_passed_over_for_the_faster_model() {
    let draft = |deadline: u64| one().deadline(deadline).knowing(pilot(1, &all()));
    let throttle = |deadline: u64| {
        draft(deadline).start_at_once().skip().at(5_000).fails(0, throttled(30)).at(5_060)
    };
    throttle(60_000).expect(&["launch 1 draft b/two next after 0 told resume"]);
    throttle(16_000).expect(&["launch 1 draft c/quick faster after 0 told resume"]);
}

#[test]
fn a_provider_that_was_throttled_or_slow_in_this_run_is_begun_with_last() {
    let two = || Draft::paths(&["a/one", "b/two"]).step("plan").step("draft").after("plan");
    two()
        .knowing(pilot(2, &[short(), short()]))
        .start_at_once()
        .fails(0, throttled(1))
        .at(3_000)
        .valid(1)
        .skip()
        .expect(&[])
        .at(3_100)
        .because("launch first attempt on b/two, about 100 prompt tokens; passed over a/one, slow or failing in this run");
    // A first token later than 99 of 100 is slow; one that is merely late is not.
    let begins = |at: u64| {
        let scenario = two().knowing(pilot(2, &[long(), long()])).start_at_once().skip();
        let line = scenario.at(at).emitted(0, 1).valid(0).log().last().cloned();
        line.unwrap_or_default()
    };
    assert_eq!(begins(3_000), "launch 1 draft a/one primary");
    assert_eq!(begins(7_100), "launch 1 draft b/two primary");
}

#[test]
fn a_second_error_in_a_step_makes_its_provider_suspect() {
    let begins = |errors: u32| {
        let draft = Draft::paths(&["a/one", "b/two"]).step("plan").step("draft").after("plan");
        let mut scenario = draft.knowing(pilot(2, &[long(), long()])).start_at_once();
        for attempt in 0..errors {
            scenario = scenario.fails(attempt, failure(FailureClass::ServerError));
            let at = u64::from(attempt + 1) * 1_100;
            scenario = scenario.at(at);
        }
        scenario.at(6_000).valid(errors).log().last().cloned().unwrap_or_default()
    };
    // On a; on a and b; on a, b and a again.
    assert_eq!(begins(1), "launch 2 draft a/one primary");
    assert_eq!(begins(2), "launch 3 draft a/one primary");
    assert_eq!(begins(3), "launch 4 draft b/two primary");
}

#[test]
fn a_path_that_is_measured_to_be_much_slower_is_not_begun_with() {
    let begins = |factor: f64| {
        let known = [times(&long(), factor), long()];
        Draft::paths(&["a/one", "b/two"]).step("draft").knowing(pilot(1, &known)).start_at_once()
    };
    begins(1.25).expect(&["launch 0 draft a/one primary"]);
    begins(1.5)
        .expect(&["launch 0 draft b/two primary"])
        .because("passed over a/one, P95 33 s against 22 s");
}

#[test]
fn a_path_that_is_always_far_slower_is_no_refuge_from_one_that_is_suspect() {
    let begins = |factor: f64| {
        let known = [times(&long(), factor), long()];
        let draft = Draft::paths(&["a/one", "b/two"]).step("plan").step("draft").after("plan");
        let scenario = draft.deadline(120_000).knowing(pilot(2, &known)).start_at_once();
        let scenario = scenario.at(7_100).emitted(0, 1).valid(0);
        scenario.log().last().cloned().unwrap_or_default()
    };
    assert_eq!(begins(1.5), "launch 1 draft a/one primary");
    assert_eq!(begins(2.5), "launch 1 draft b/two primary");
}

#[test]
fn the_cutoff_follows_the_time_left_and_the_dependants() {
    let after = |deadline: u64, step: u16, at: u64| {
        let draft = Draft::paths(&["a/one"]).step("plan").step("draft").after("plan");
        let scenario =
            draft.deadline(deadline).knowing(pilot(2, &[long()])).by_hand().start_at_once();
        let at = Timestamp::from_millis(at);
        let limits = scenario.machine.limits_if_launched(StepIx(step), PathIx(0), at);
        limits.total.unwrap().as_millis()
    };
    // 24 s are typical. 59.5 s are left: slack 1.479 gives 1.144, and as all else depends on the first step, 1.029.
    assert_eq!(after(60_000, 0, 0), 22_646);
    // 29.7 s: slack 0.2375 gives 0.77125 and, with its dependants, 15.27 s; its share of 14.85 s is shorter.
    assert_eq!(after(30_000, 0, 0), 14_850);
    // 23.76 s: less than typical; its share is half of that.
    assert_eq!(after(24_000, 0, 0), 11_880);
    // The last step, 30 s before the end: slack 1.5, nothing depends on it.
    assert_eq!(after(60_000, 1, 29_500), 25_300);
}

#[test]
fn the_more_is_paid_the_earlier_another_attempt_joins() {
    let limit = |paid: bool| {
        let draft = Draft::paths(&["a/one"]).step("plan").step("draft");
        let mut scenario = draft.knowing(pilot(2, &[long()])).start_at_once();
        if paid {
            scenario = scenario.valid(0);
        }
        let at = Timestamp::from_millis(1);
        scenario.machine.limits_if_launched(StepIx(1), PathIx(0), at).total.unwrap().as_millis()
    };
    assert_eq!((limit(false), limit(true)), (25_300, 24_035));
}

#[test]
fn an_optional_step_gets_no_extra_attempt_and_says_so() {
    Draft::paths(&["a/one", "b/two"])
        .step("gaps")
        .optional(80)
        .knowing(pilot(1, &[short(), short()]))
        .start_at_once()
        .skip()
        .at(40_000)
        .expect(&[])
        .because("wait no first token on a/one by 3.2 s (P95 2.8 s × 1.15); the step is optional, so nothing joins it")
        .fails(0, failure(FailureClass::ServerError))
        .at(40_060)
        .expect(&["launch 1 gaps b/two next after 0 told resume"]);
}

#[test]
fn where_everything_is_slow_cutoffs_are_later_and_one_extra_is_the_most() {
    let shaken = |shock: f64| Pilot { shock, ..pilot(1, &[short(), short(), short()]) };
    one()
        .knowing(shaken(1.2))
        .start_at_once()
        .skip()
        .at(3_270)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
    one()
        .knowing(shaken(1.5))
        .start_at_once()
        .skip()
        .at(4_829)
        .expect(&[])
        .at(4_880)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no first token on a/one by 4.8 s (P95 2.8 s × 1.73)")
        .fails(0, failure(FailureClass::ServerError))
        .at(30_000)
        .expect(&[])
        .because("everything takes 1.5 times as long as usual, so one extra attempt is the most");
}

#[test]
fn where_everything_is_slow_nothing_is_hedged_before_its_cutoff() {
    let after = After::Fixed(Duration::from_secs(2));
    one()
        .policy(|p| p.hedge = Hedge::After { after, max_extra: Share::ALL })
        .knowing(Pilot { shock: 1.4, ..pilot(1, &[short(), short(), short()]) })
        .start_at_once()
        .skip()
        .at(4_000)
        .expect(&[])
        .because("wait everything takes 1.4 times as long as usual: no other attempt joins it before its cutoff");
}

#[test]
fn a_percentile_hedges_by_what_is_measured_of_the_step_on_the_path() {
    let hedged = |percent| {
        let hedge = Hedge::After { after: After::Percentile(percent), max_extra: Share::ALL };
        let draft = Draft::paths(&["a/one", "b/two"]).step("draft").policy(|p| p.hedge = hedge);
        let scenario = draft.knowing(pilot(1, &[short(), times(&short(), 3.0)])).start_at_once();
        let mut scenario = scenario.skip();
        scenario.signals.traffic = vec![Traffic { primaries: 50, extras: 0 }; 2];
        scenario.at(1_500).emitted(0, 6)
    };
    hedged(50)
        .at(2_249)
        .expect(&[])
        .at(2_250)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("launch no answer after 2.2 s on a/one; now on b/two");
    hedged(95)
        .at(3_000)
        .emitted(0, 50)
        .at(4_049)
        .expect(&[])
        .at(4_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn few_samples_and_what_is_merely_foretold_go_by_the_cold_rule() {
    for samples in [0.0, 19.9, f64::NAN] {
        let few = Times { samples, ..short() };
        let hedge = Hedge::After { after: After::Percentile(95), max_extra: Share::ALL };
        Draft::paths(&["a/one", "b/two"])
            .step("draft")
            .policy(|p| p.hedge = hedge)
            .knowing(pilot(1, &[few, few]))
            .start_at_once()
            .skip()
            .at(9_999)
            .expect(&[])
            .because("wait p95 is not measured yet (fewer than 20 samples)")
            .at(10_050)
            .expect(&["launch 1 draft b/two hedge after 0 told resume"])
            .because("cut no first token on a/one within 10 s (cold-start cutoff)");
    }
}

#[test]
fn written_cutoffs_and_reactions_are_kept_whatever_is_measured() {
    one()
        .policy(|p| {
            let first_token = Some(Duration::from_secs(5));
            p.cutoff = crate::domain::plan::Cutoff::Fixed { first_token, idle: None, total: None };
        })
        .knowing(pilot(1, &[short(), short(), short()]))
        .start_at_once()
        .skip()
        .at(5_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no first token on a/one within 5 s (cutoff as written)");
    one()
        .policy(|p| p.on.slow = OnSlow::Fail)
        .optional(80)
        .knowing(pilot(1, &[short(), short(), short()]))
        .start_at_once()
        .skip()
        .at(3_220)
        .expect(&[
            "cancel 0",
            "close draft failed",
            "finish degraded missing [draft] unverified []",
        ]);
}
