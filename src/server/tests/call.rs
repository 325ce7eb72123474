use super::*;
use crate::trace::report::{AttemptReport, FailureReport, StepReport, Tokens};

#[tokio::test(start_paused = true)]
async fn a_delivered_output_is_structured_content_and_the_same_text() {
    let bench = bench().await;
    let result = bench
        .delivered(|report| {
            report.elapsed_ms = 8123;
            report.cost_usd = 0.0031;
            report.tokens = Tokens { input: 812, output: 240 };
        })
        .await;
    assert_eq!(result.is_error, Some(false));
    assert_eq!(result.structured_content, Some(json!({"bullets": ["a"]})));
    assert_eq!(texts(&result), [r#"{"bullets":["a"]}"#]);
    assert_eq!(
        *facts(&result),
        json!({
            "run_id": "run_0000000000000001", "workflow": "summarize", "outcome": "delivered",
            "elapsed_ms": 8123, "deadline_ms": 20000, "cost_usd": 0.0031, "cost_estimated": false,
            "tokens": {"in": 812, "out": 240}, "attempts": 0, "missing": [], "unverified": [],
            "reused": [], "simulated": false,
        })
    );
    let arrived = bench.host.call(1).await;
    assert_eq!((arrived.workflow.as_str(), arrived.input), ("summarize", json!({"text": "t"})));
    assert_eq!(arrived.options.deadline, None);
}

#[tokio::test(start_paused = true)]
async fn a_second_text_says_what_the_model_must_know() {
    let bench = bench().await;
    let result = bench
        .delivered(|report| {
            report.outcome = "degraded".to_owned();
            report.simulated = true;
            report.missing = vec!["gaps".to_owned(), "answer[3]".to_owned()];
            report.unverified = vec!["draft".to_owned()];
            report.reused = vec!["plan".to_owned()];
        })
        .await;
    insta::assert_snapshot!(texts(&result)[1], @r"
    SIMULATED: at least one answer in this result was made up by the simulator. Do not use it as fact.
    DEGRADED: missing from this result: gaps, answer[3]. The rest is valid.
    DEGRADED: not confirmed by its validator: draft.
    Reused from an earlier call with the same arguments: plan.
    ");
    assert_eq!(facts(&result)["missing"], json!(["gaps", "answer[3]"]));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_a_text_to_act_on_with_the_same_facts_in_meta() {
    let bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    bench.host.call(1).await.run.end(|report| {
        report.outcome = "failed".to_owned();
        report.elapsed_ms = 12_300;
        let step = |name: &str, status: &str, n: u32| StepReport {
            step: name.to_owned(),
            status: status.to_owned(),
            attempts: (1..=n).map(|n| AttemptReport { n, ..AttemptReport::default() }).collect(),
            ..StepReport::default()
        };
        report.validated = vec!["plan".to_owned()];
        report.steps = vec![step("plan", "ok", 1), step("draft", "failed", 3)];
        report.cost_usd = 0.0031;
        report.cost_estimated = true;
        report.tokens = Tokens { input: 812, output: 240 };
        report.failure = Some(FailureReport {
            class: "schema_violation".to_owned(),
            step: Some("draft".to_owned()),
            message: "/bullets/0: must be a string, got 3".to_owned(),
            retryable: Some(true),
            retry_after_ms: Some(7000),
            evidence: None,
        });
    });
    let result = answer(call).await;
    assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
    insta::assert_snapshot!(texts(&result)[0], @r"
    summarize failed at step 'draft' after 12.3 s of 20 s.
    Cause: schema_violation: /bullets/0: must be a string, got 3
    Spent $0.0031 (estimated): 4 attempts, 812 tokens in, 240 out.
    Making the same call again in 7 s may help: it reuses what is already validated (plan) and pays only for the rest.
    Run run_0000000000000001; `punctual trace run_0000000000000001` shows every attempt and decision.
    ");
    assert_eq!(facts(&result)["failure"]["class"], "schema_violation");
    assert_eq!(facts(&result)["attempts"], 4);
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_come_back_as_a_tool_error_with_every_pointer() {
    let bench = bench().await;
    bench.host.refuse(Refusal::InvalidInput("/text: is required\n/txt: is unknown".to_owned()));
    let result = bench.call("summarize", json!({"txt": 1})).await;
    assert_eq!(result.is_error, Some(true));
    insta::assert_snapshot!(texts(&result)[0], @r"
    summarize was not started: the arguments do not fit its input schema.
    /text: is required
    /txt: is unknown
    Correct these and call it again; nothing was spent.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_full_server_says_when_to_come_back() {
    let bench = bench().await;
    let message = "8 runs are under way, the most this server allows.".to_owned();
    bench.host.refuse(Refusal::Full { message, retry_after: Duration::from_secs(3) });
    let result = bench.call("summarize", json!({"text": "t"})).await;
    insta::assert_snapshot!(texts(&result)[0], @r"
    summarize was not started: 8 runs are under way, the most this server allows.
    Call it again in 3 s; nothing was spent.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_callers_own_deadline_is_passed_on_and_a_wrong_one_named() {
    let bench = bench().await;
    let with = |value: Value| {
        let mut meta = RequestMetaObject::new();
        meta.insert("punctual/deadlineMs".to_owned(), value);
        meta
    };
    let arguments = json!({"workflow": "summarize", "input": {"text": "t"}, "deadline_s": 9});
    let call = bench.begin_with("run_workflow", arguments, with(json!(3000))).await;
    let arrived = bench.host.call(1).await;
    assert_eq!(arrived.options.deadline, Some(Duration::from_secs(3)));
    arrived.run.deliver(json!({"bullets": []}));
    answer(call).await;

    let call = bench.begin_with("summarize", json!({"text": "t"}), with(json!("soon"))).await;
    let result = answer(call).await;
    assert_eq!(result.is_error, Some(true));
    assert!(texts(&result)[0].contains("/_meta/punctual~1deadlineMs"), "{:?}", texts(&result));
    assert_eq!(bench.host.arrived.borrow().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn progress_increases_tells_the_phase_and_beats_every_five_seconds() {
    let mut bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    let run = bench.host.call(1).await.run;
    run.step(0, 2, "plan (planner) on a/b");
    let mut seen = Vec::new();
    while seen.len() < 4 {
        // Paused time moves on only while everyone waits: silence of more than a beat would fail here.
        let told = timeout(Duration::from_secs(5), bench.told.recv()).await.unwrap();
        let Some(Told::Progress(progress)) = told else { panic!("{told:?}") };
        seen.push(progress);
        if seen.len() == 3 {
            run.step(1, 2, "draft (executor) on a/b");
        }
    }
    assert!(seen.windows(2).all(|w| w[0].progress < w[1].progress), "{seen:?}");
    let last = &seen[3];
    assert_eq!((last.progress, last.total), (1.0, Some(2.0)));
    assert_eq!(
        last.message.as_deref(),
        Some("draft (executor) on a/b · 1 s of 20 s · run_0000000000000001")
    );
    run.deliver(json!({"bullets": []}));
    assert_eq!(answer(call).await.is_error, Some(false));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_cancels_its_run_and_gets_no_answer() {
    let bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    let run = bench.host.call(1).await.run;
    call.cancel(Some("changed my mind".to_owned())).await.unwrap();
    run.cancelled().await;
    // The connection lives on.
    assert_eq!(bench.client.list_all_tools().await.unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_long_call_is_handed_over_and_its_run_goes_on() {
    let bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    let run = bench.host.call(1).await.run;
    run.step(1, 2, "draft (executor) on a/b");
    let result = answer(call).await;
    assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
    insta::assert_snapshot!(texts(&result)[0], @r#"summarize is still running (draft (executor) on a/b). Its run id is run_0000000000000001; it ends within 18.5 s. Call get_run with {"run_id": "run_0000000000000001", "wait_s": 45} now to wait for the result. Do not call summarize again."#);
    assert_eq!(run.outcome(), "running");
    run.deliver(json!({"bullets": ["late"]}));
    let result = bench.call("get_run", json!({"run_id": "run_0000000000000001"})).await;
    assert_eq!(result.structured_content.unwrap()["output"], json!({"bullets": ["late"]}));
}

#[tokio::test(start_paused = true)]
async fn a_large_output_is_not_repeated_as_text_and_a_huge_one_is_refused() {
    let bench = bench().await;
    let of_size = |bytes: usize| json!({"bullets": ["x".repeat(bytes)]});
    let large = bench.delivered(|r| r.output = Some(of_size(1024 * 1024))).await;
    assert!(large.structured_content.is_some());
    assert!(texts(&large)[0].starts_with("The output has 1048592 bytes"), "{}", texts(&large)[0]);
    let huge = bench.delivered(|r| r.output = Some(of_size(8 * 1024 * 1024))).await;
    assert_eq!((huge.is_error, &huge.structured_content), (Some(true), &None));
    assert!(texts(&huge)[0].contains("punctual run summarize --json"), "{}", texts(&huge)[0]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_answered_with_names_that_exist() {
    let bench = bench().await;
    let result = bench.call("sumarize", json!({})).await;
    assert_eq!(result.is_error, Some(true));
    insta::assert_snapshot!(texts(&result)[0], @"There is no tool 'sumarize'. Did you mean 'summarize'? There is: summarize, triage, list_workflows, run_workflow, get_run, cancel_run.");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_arguments_are_no_object_is_answered_as_a_call() {
    let bench = bench().await;
    let call = |params: Value| {
        let method = "tools/call".to_owned();
        ClientRequest::CustomRequest(rmcp::model::CustomRequest::new(method, Some(params)))
    };
    let request = call(json!({"name": "summarize", "arguments": ["t"]}));
    let answer = bench.client.send_request(request).await.unwrap();
    let ServerResult::CallToolResult(result) = answer else { panic!("{answer:?}") };
    assert_eq!(result.is_error, Some(true));
    insta::assert_snapshot!(texts(&result)[0], @r#"
    summarize did nothing: its arguments do not fit its input schema.
    /: the arguments must be an object, got ["t"]
    Correct these and call it again.
    "#);
    let error = bench.client.send_request(call(json!({"arguments": {}}))).await.unwrap_err();
    assert!(error.to_string().contains("do not have the form"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_output_that_breaks_the_tools_promise_is_withheld() {
    let bench = bench().await;
    let result = bench.delivered(|report| report.output = Some(json!({"bullets": "none"}))).await;
    assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
    assert!(texts(&result)[0].contains("\n/bullets: "), "{}", texts(&result)[0]);
}
