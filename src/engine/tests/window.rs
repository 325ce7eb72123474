//! Prompts against windows: estimated before anything is sent, and learned from what was refused.

use super::draft::Draft;
use super::scenario::{Scenario, failure};
use crate::domain::failure::{About, Failure, FailureClass};
use crate::domain::plan::OnTooLong;

/// A step of 200 tokens' answer on these paths, prepared with one prompt of `prompt` tokens.
fn prepared(draft: Draft, prompt: u64) -> Scenario {
    draft.start_by_hand().skip().prepared(0, 0, &[prompt])
}

fn paths(windows: &[Option<u64>]) -> Draft {
    let labels = ["a/one", "b/two", "c/three"];
    Draft::paths(&labels[..windows.len()]).windows(windows).step("draft")
}

fn overflow(prompt: u64, most: u64) -> Failure {
    let about = Some(About::Size { prompt, most });
    Failure { about, ..failure(FailureClass::ContextOverflow) }
}

#[test]
fn a_path_whose_window_is_too_small_for_prompt_and_answer_is_never_launched() {
    // 7,801 and 200 are one more than 8,000.
    prepared(paths(&[Some(8_000), Some(32_000)]), 7_801)
        .expect(&["launch 0 draft b/two primary"])
        .because("skip about 7801 prompt tokens are more than the 7800 that a/one takes beside the answer");
    prepared(paths(&[Some(8_000), Some(32_000)]), 7_800).expect(&["launch 0 draft a/one primary"]);
    prepared(paths(&[None, Some(32_000)]), 1_000_000).expect(&["launch 0 draft a/one primary"]);
}

#[test]
fn a_prompt_limit_below_the_window_counts_too() {
    let narrow = paths(&[Some(400_000), Some(1_000_000)])
        .edit(|plan| plan.paths[0].profile.max_input = Some(272_000));
    prepared(narrow, 272_001).expect(&["launch 0 draft b/two primary"]);
}

#[test]
fn a_window_that_earlier_runs_were_told_of_counts_beside_the_answer() {
    let learned = |prompt| {
        let mut scenario = paths(&[None, Some(32_000)]).start_by_hand().skip();
        scenario.signals.windows = vec![Some(8_000)];
        scenario.prepared(0, 0, &[prompt])
    };
    learned(7_801).expect(&["launch 0 draft b/two primary"]);
    learned(7_800).expect(&["launch 0 draft a/one primary"]);
}

#[test]
fn a_larger_window_is_looked_for_among_linked_models() {
    let of = |on: OnTooLong| {
        let draft = Draft::paths(&["a/one"])
            .faster(&["b/quick"])
            .stronger(&["c/big"])
            .windows(&[Some(8_000), Some(64_000), Some(32_000)])
            .step("draft")
            .policy(|policy| policy.on.too_long = on);
        prepared(draft, 10_000)
    };
    of(OnTooLong::Larger).expect(&["launch 0 draft c/big primary"]);
    of(OnTooLong::Fail).expect(&["finish failed context_overflow draft"]);
}

#[test]
fn where_no_window_is_large_enough_nothing_is_sent_and_the_failure_says_what_to_do() {
    let scenario = prepared(paths(&[Some(4_000), Some(8_000)]), 9_000)
        .expect(&["finish failed context_overflow draft"]);
    assert_eq!(
        scenario.failure().message,
        "step 'draft' could not be had: its prompt is about 9000 tokens, and beside an answer of 200 the largest \
         window of model 'main' takes 7800 (b/two): give it less, name lists that may be cut under `shrink`, lower \
         `max_tokens`, or add a path with a larger window"
    );
    assert_eq!(scenario.machine.attempts().count(), 0);
}

#[test]
fn only_the_items_that_do_not_fit_go_elsewhere() {
    Draft::paths(&["a/one", "b/two"])
        .windows(&[Some(8_000), Some(32_000)])
        .step("answer")
        .each(8, 100)
        .start_by_hand()
        .skip()
        .prepared(0, 0, &[100, 9_000, 100])
        .expect(&[
            "launch 0 answer[0] a/one primary",
            "launch 1 answer[1] b/two primary",
            "launch 2 answer[2] a/one primary",
        ]);
}

#[test]
fn one_item_that_fits_nowhere_fails_alone() {
    Draft::paths(&["a/one"])
        .windows(&[Some(8_000)])
        .step("answer")
        .each(8, 50)
        .start_by_hand()
        .skip()
        .prepared(0, 0, &[100, 9_000])
        .expect(&["launch 0 answer[0] a/one primary"])
        .sent(0)
        .valid(0)
        .expect(&[
            "accept 0",
            "close answer ok",
            "finish degraded missing [answer[1]] unverified []",
        ]);
}

#[test]
fn a_follow_up_passes_over_a_window_that_is_too_small() {
    prepared(paths(&[Some(32_000), Some(8_000), Some(32_000)]), 9_000)
        .expect(&["launch 0 draft a/one primary"])
        .sent(0)
        .fails(0, failure(FailureClass::ServerError))
        .at(100)
        .expect(&["launch 1 draft c/three next after 0 told resume"]);
}

#[test]
fn what_would_make_a_prompt_too_long_is_not_told() {
    // A resume message may take 2,500 tokens: with it the prompt fits the first path alone.
    prepared(paths(&[Some(32_000), Some(8_000)]), 7_000)
        .expect(&["launch 0 draft a/one primary"])
        .sent(0)
        .fails(0, failure(FailureClass::ServerError))
        .at(100)
        .expect(&["launch 1 draft b/two next after 0 told nothing"]);
}

#[test]
fn an_overflow_that_the_estimate_did_not_see_is_cut_down_in_proportion() {
    // 4,000 by our estimate were 10,000 to the provider, which takes 8,000: 3,200 of ours, less a margin of 5 %.
    let scenario = prepared(paths(&[Some(8_000)]).shrinks(), 4_000)
        .sent(0)
        .skip()
        .fails(0, overflow(10_000, 8_000))
        .expect(&["shrink draft to 3040"])
        .because("prepare about 4000 prompt tokens did not fit: lists that may lose items are cut until 3040")
        .shrunk(0, 0, Some(2_900))
        .expect(&["launch 1 draft a/one next after 0 told nothing"])
        .sent(1)
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish degraded missing [] unverified [] shrunk [draft]"]);
    assert_eq!(scenario.machine.attempts().count(), 2);
}

#[test]
fn without_numbers_a_quarter_is_taken_off_each_time() {
    prepared(paths(&[None]).shrinks(), 4_000)
        .sent(0)
        .skip()
        .fails(0, failure(FailureClass::ContextOverflow))
        .expect(&["shrink draft to 3000"])
        .shrunk(0, 0, Some(3_000))
        .expect(&["launch 1 draft a/one next after 0 told nothing"])
        .sent(1)
        .fails(1, failure(FailureClass::ContextOverflow))
        .expect(&["shrink draft to 2250"])
        .shrunk(0, 0, None)
        .expect(&["finish failed context_overflow draft"]);
}

#[test]
fn windows_that_seem_large_enough_are_no_aim_once_one_of_them_has_overflowed() {
    prepared(paths(&[Some(8_000), Some(8_000), Some(4_100)]).shrinks(), 4_000)
        .sent(0)
        .skip()
        .fails(0, overflow(10_000, 8_000))
        .expect(&["shrink draft to 3900"]);
}

#[test]
fn a_prompt_that_comes_out_too_long_all_the_same_is_not_sent() {
    prepared(paths(&[Some(8_000)]).shrinks(), 4_000)
        .sent(0)
        .skip()
        .fails(0, overflow(10_000, 8_000))
        .skip()
        .shrunk(0, 0, Some(3_500))
        .expect(&["finish failed context_overflow draft"]);
}

#[test]
fn a_larger_window_goes_before_a_shorter_prompt() {
    prepared(paths(&[Some(8_000), Some(32_000)]).shrinks(), 4_000)
        .sent(0)
        .skip()
        .fails(0, overflow(10_000, 8_000))
        .at(100)
        .expect(&["launch 1 draft b/two next after 0 told resume"]);
}

#[test]
fn what_an_overflow_has_taught_holds_for_the_steps_after_it() {
    Draft::paths(&["a/one", "b/two"])
        .windows(&[None, None])
        .step("draft")
        .step("reply")
        .after("draft")
        .start_by_hand()
        .skip()
        .prepared(0, 0, &[4_000])
        .skip()
        .sent(0)
        .fails(0, overflow(10_000, 8_000))
        .at(100)
        .expect(&["launch 1 draft b/two next after 0 told resume"])
        .sent(1)
        .valid(1)
        .skip()
        .prepared(1, 0, &[3_500])
        .expect(&["launch 2 reply b/two primary"]);
}

#[test]
fn a_shorter_prompt_that_nobody_waits_for_changes_nothing() {
    prepared(paths(&[Some(8_000)]), 100)
        .expect(&["launch 0 draft a/one primary"])
        .shrunk(0, 0, Some(10))
        .shrunk(0, 7, Some(10))
        .shrunk(9, 0, None)
        .expect(&[]);
}
