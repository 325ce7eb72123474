use super::*;
use crate::domain::id::RunId;
use crate::trace::report::RunReport;

#[tokio::test(start_paused = true)]
async fn run_workflow_answers_like_the_tool_of_that_name() {
    let bench = bench().await;
    let arguments =
        json!({"workflow": "triage", "input": {"text": "t"}, "deadline_s": 5, "fresh": true});
    let call = bench.begin("run_workflow", arguments).await;
    let arrived = bench.host.call(1).await;
    assert_eq!((arrived.workflow.as_str(), &arrived.input), ("triage", &json!({"text": "t"})));
    assert_eq!(arrived.options.deadline, Some(Duration::from_secs(5)));
    assert!(arrived.options.fresh);
    arrived.run.deliver(json!({"bullets": ["b"]}));
    assert_eq!(answer(call).await.structured_content, Some(json!({"bullets": ["b"]})));

    let result = bench.call("run_workflow", json!({"workflow": "trage", "input": {}})).await;
    assert_eq!(result.is_error, Some(true));
    assert!(texts(&result)[0].contains("Did you mean 'triage'?"));
    let result = bench.call("run_workflow", json!({"input": "{}", "deadline_s": 0})).await;
    insta::assert_snapshot!(texts(&result)[0], @r"
    run_workflow did nothing: its arguments do not fit its input schema.
    /workflow: is required, a string
    /input: must be an object, got a string; pass the object itself, not its JSON text
    /deadline_s: must be a number of seconds, at least 0.1, got 0
    Correct these and call it again.
    ");
}

#[tokio::test(start_paused = true)]
async fn get_run_waits_in_bounds_and_tells_the_phase_or_the_end() {
    let bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    let run = bench.host.call(1).await.run;
    run.step(1, 2, "draft (executor) on a/b");
    let result =
        bench.call("get_run", json!({"run_id": "run_0000000000000001", "wait_s": 0})).await;
    let view = result.structured_content.clone().unwrap();
    assert_eq!(
        (&view["outcome"], &view["phase"]),
        (&json!("running"), &json!("draft (executor) on a/b"))
    );
    assert_eq!(texts(&result)[0], view.to_string());
    insta::assert_snapshot!(texts(&result)[1], @"summarize is still running (draft (executor) on a/b); it ends within 18.5 s. Call get_run again.");

    let waiting =
        bench.begin("get_run", json!({"run_id": "run_0000000000000001", "wait_s": 3000})).await;
    let limit = Duration::from_secs(51);
    let result = timeout(limit, answer(waiting)).await.expect("get_run waits at most 50 s");
    assert_eq!(result.structured_content.unwrap()["outcome"], "running");

    let waiting = bench.begin("get_run", json!({"run_id": "run_0000000000000001"})).await;
    run.end(|report| {
        report.outcome = "failed".to_owned();
        report.failure = Some(crate::trace::report::FailureReport {
            class: "deadline".to_owned(),
            message: "no valid answer in time".to_owned(),
            retryable: Some(true),
            ..Default::default()
        });
    });
    let result = answer(waiting).await;
    assert_eq!(result.is_error, Some(false), "the question was answered");
    assert_eq!(
        result.structured_content.as_ref().unwrap()["failure"],
        json!({"class": "deadline", "message": "no valid answer in time", "retryable": true})
    );
    assert!(texts(&result)[1].contains("Cause: deadline"));
    drop(call);
}

#[tokio::test(start_paused = true)]
async fn cancel_run_stops_a_run_and_its_call_says_so() {
    let bench = bench().await;
    let call = bench.begin("summarize", json!({"text": "t"})).await;
    bench.host.call(1).await;
    let result = bench.call("cancel_run", json!({"run_id": "run_0000000000000001"})).await;
    assert_eq!(result.structured_content.unwrap()["outcome"], "cancelled");
    let result = answer(call).await;
    assert_eq!(result.is_error, Some(true));
    assert!(texts(&result)[0].starts_with("summarize was cancelled after 1.5 s of 20 s."));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_run_id_is_explained() {
    let bench = bench().await;
    for tool in ["get_run", "cancel_run"] {
        let result = bench.call(tool, json!({"run_id": "run_../../etc"})).await;
        assert_eq!(result.is_error, Some(true));
        assert!(texts(&result)[0].contains("There is no run 'run_../../etc'"));
    }
}

#[tokio::test(start_paused = true)]
async fn list_workflows_shows_what_serves_and_what_is_quarantined() {
    let bench = bench().await;
    let mut next = (*catalog(&["summarize"], 2)).clone();
    next.quarantined.push(Quarantined {
        file: "workflows/broken.yaml".to_owned(),
        name: "broken".to_owned(),
        diagnostics: vec![Diagnostic::of_file(
            Code("P0101"),
            "workflows/broken.yaml",
            "'steps' is missing",
        )],
        serving_previous: false,
    });
    bench.catalog.send_replace(Arc::new(next));
    let result = bench.call("list_workflows", json!({})).await;
    let listing = result.structured_content.clone().unwrap();
    assert_eq!(listing["configuration_problems"], json!([]));
    assert_eq!(listing["workflows"][0].get("measured"), None);
    assert_eq!(listing["workflows"][0]["name"], "summarize");
    assert_eq!(listing["workflows"][0]["deadline_s"], 20.0);
    assert_eq!(listing["workflows"][0]["input_schema"]["required"], json!(["text"]));
    assert_eq!(listing["quarantined"][0]["serving_previous"], false);
    assert_eq!(texts(&result), [listing.to_string()]);

    let result = bench.call("broken", json!({})).await;
    insta::assert_snapshot!(texts(&result)[0], @r"
    The workflow 'broken' cannot run: its file workflows/broken.yaml has errors.
    workflows/broken.yaml error[P0101]: 'steps' is missing
    Correct the file; it is loaded again as soon as it is saved.
    ");
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_is_not_exposed_cannot_be_called() {
    let bench = bench().await;
    let mut next = (*catalog(&["summarize"], 2)).clone();
    let mut hidden = workflow("hidden", false);
    hidden.exposed = false;
    next.workflows.insert("hidden".to_owned(), Arc::new(hidden));
    bench.catalog.send_replace(Arc::new(next));
    assert_eq!(bench.call("hidden", json!({"text": "t"})).await.is_error, Some(true));
    let arguments = json!({"workflow": "hidden", "input": {"text": "t"}});
    assert_eq!(bench.call("run_workflow", arguments).await.is_error, Some(true));
    assert!(bench.host.arrived.borrow().is_empty());
}

#[tokio::test(start_paused = true)]
async fn list_workflows_tells_what_is_wrong_with_the_configuration() {
    let bench = bench().await;
    let mut next = (*catalog(&["summarize"], 2)).clone();
    let found = Diagnostic::of_file(Code("P0609"), "punctual.yaml", "it is gone");
    next.configuration_problems.push(found);
    bench.catalog.send_replace(Arc::new(next));
    let result = bench.call("list_workflows", json!({})).await;
    let listing = result.structured_content.clone().unwrap();
    let told = json!(["punctual.yaml error[P0609]: it is gone"]);
    assert_eq!(listing["configuration_problems"], told);
    insta::assert_snapshot!(texts(&result)[1], @"The server's configuration has an error (configuration_problems): its last good version, if it had one, stays in force. It is loaded again as soon as it is saved.");
}

fn kept(n: u64, outcome: &str, elapsed_ms: u64, cost_usd: f64) -> RunReport {
    RunReport {
        run_id: RunId::new(n).to_string(),
        workflow: "summarize".to_owned(),
        outcome: outcome.to_owned(),
        deadline_ms: 20_000,
        elapsed_ms,
        cost_usd,
        ..RunReport::default()
    }
}

#[tokio::test(start_paused = true)]
async fn list_workflows_tells_which_providers_are_out() {
    let bench = bench().await;
    let out = "provider 'a' is out (auth): HTTP 401: no such key";
    bench.host.out.lock().unwrap().push(out.to_owned());
    let result = bench.call("list_workflows", json!({})).await;
    assert_eq!(result.structured_content.as_ref().unwrap()["providers_out"], json!([out]));
    assert_eq!(texts(&result)[1], format!("{out}."));
}

#[tokio::test(start_paused = true)]
async fn list_workflows_tells_time_rate_and_cost_of_the_kept_runs() {
    let bench = bench().await;
    *bench.host.kept.lock().unwrap() = vec![
        kept(1, "delivered", 3_000, 0.03),
        kept(2, "degraded", 1_000, 0.01),
        kept(3, "failed", 20_000, 0.02),
        kept(4, "cancelled", 100, 0.0),
        RunReport { simulated: true, ..kept(5, "delivered", 1, 0.0) },
    ];
    let result = bench.call("list_workflows", json!({})).await;
    let listing = result.structured_content.unwrap();
    assert_eq!(
        listing["workflows"][0]["measured"],
        json!({"runs": 3, "typical_s": 3.0, "on_time_rate": 0.667, "typical_cost_usd": 0.02})
    );
    assert_eq!(listing["workflows"][1]["name"], "triage");
    assert_eq!(listing["workflows"][1].get("measured"), None);
}

#[tokio::test(start_paused = true)]
async fn get_run_finds_the_runs_of_earlier_processes() {
    let bench = bench().await;
    let mut report = kept(0xab, "delivered", 3_000, 0.03);
    report.output = Some(json!({"bullets": ["b"]}));
    bench.host.kept.lock().unwrap().push(report);
    let result = bench.call("get_run", json!({"run_id": "run_00000000000000ab"})).await;
    let view = result.structured_content.unwrap();
    assert_eq!(
        (&view["outcome"], &view["output"]["bullets"]),
        (&json!("delivered"), &json!(["b"]))
    );
}
