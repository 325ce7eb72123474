use super::*;

#[test]
fn a_failure_that_repeating_cannot_cure_says_so() {
    let report = RunReport {
        run_id: "run_0000000000000001".to_owned(),
        workflow: "summarize".to_owned(),
        outcome: "failed".to_owned(),
        elapsed_ms: 240,
        deadline_ms: 20_000,
        failure: Some(crate::trace::report::FailureReport {
            class: "auth".to_owned(),
            step: Some("summary".to_owned()),
            message: "openai answered 401: the key in OPENAI_API_KEY is not valid".to_owned(),
            retryable: Some(false),
            ..Default::default()
        }),
        ..RunReport::default()
    };
    insta::assert_snapshot!(failure(&report), @r"
    summarize failed at step 'summary' after 240 ms of 20 s.
    Cause: auth: openai answered 401: the key in OPENAI_API_KEY is not valid
    Spent $0: 0 attempts, 0 tokens in, 0 out.
    Making the same call again will not help: the cause above has to change first.
    Run run_0000000000000001; `punctual trace run_0000000000000001` shows every attempt and decision.
    ");
}

#[test]
fn a_clean_result_has_nothing_to_add() {
    let report = RunReport { outcome: "delivered".to_owned(), ..RunReport::default() };
    assert_eq!(notes(&report), None);
}

#[test]
fn a_title_is_made_from_the_name_where_the_author_gave_none() {
    assert_eq!(title("support_triage", None, false), "Support triage");
    assert_eq!(title("support_triage", Some("Triage"), true), "Triage (SIMULATED)");
}

#[test]
fn an_unknown_name_is_quoted_in_bounds() {
    let long = "x".repeat(10_000);
    assert!(unknown("tool", &long, None, &[]).len() < 250);
}
