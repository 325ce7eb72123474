use super::*;

#[tokio::test(start_paused = true)]
async fn workflows_come_first_by_name_then_the_fixed_tools() {
    let bench = bench().await;
    let tools = bench.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names,
        ["summarize", "triage", "list_workflows", "run_workflow", "get_run", "cancel_run"]
    );
    let summarize = &tools[0];
    insta::assert_snapshot!(summarize.description.as_deref().unwrap(), @r"
    Summarise a text for a busy reader.

    Answers within 20 s, or fails by then and says why.
    ");
    assert_eq!(summarize.title.as_deref(), Some("Summarize"));
    assert_eq!(summarize.input_schema["required"], json!(["text"]));
    assert_eq!(summarize.output_schema.as_ref().unwrap()["required"], json!(["bullets"]));
    let hints = summarize.annotations.as_ref().unwrap();
    assert_eq!((hints.read_only_hint, hints.open_world_hint), (Some(false), Some(true)));
}

#[tokio::test(start_paused = true)]
async fn the_fixed_tools_can_be_hidden() {
    let options = ServerOptions { fixed_tools: false, ..ServerOptions::default() };
    let bench = bench_of(options, None).await;
    assert_eq!(bench.client.list_all_tools().await.unwrap().len(), 2);
    let result = bench.call("get_run", json!({"run_id": "run_0000000000000001"})).await;
    assert!(texts(&result)[0].starts_with("There is no tool 'get_run'."));
}

#[tokio::test(start_paused = true)]
async fn a_simulated_workflow_says_so_in_title_and_text() {
    let bench = bench().await;
    let mut next = (*catalog(&[], 2)).clone();
    let mut made_up = workflow("summarize", true);
    made_up.title = Some("Summary".to_owned());
    next.workflows.insert("summarize".to_owned(), Arc::new(made_up));
    bench.catalog.send_replace(Arc::new(next));
    let tools = bench.client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].title.as_deref(), Some("Summary (SIMULATED)"));
    assert!(tools[0].description.as_deref().unwrap().starts_with("SIMULATED: "));
}

#[tokio::test(start_paused = true)]
async fn listing_never_waits_behind_workflows() {
    let bench = bench().await;
    for n in 1..=50 {
        drop(bench.begin("summarize", json!({"text": "t"})).await);
        bench.host.call(n).await;
    }
    let listed = timeout(Duration::from_millis(100), bench.client.list_all_tools()).await;
    assert_eq!(listed.expect("answered at once").unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_changed_tool_set_is_told_to_an_initialised_client_and_an_unchanged_one_is_not() {
    let mut bench = bench().await;
    // Proves that `initialized` was handled before the first change.
    bench.client.list_all_tools().await.unwrap();
    bench.catalog.send_replace(catalog(&["summarize", "triage"], 2));
    let quiet = timeout(Duration::from_secs(5), bench.told.recv()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    bench.catalog.send_replace(catalog(&["added", "summarize", "triage"], 3));
    let told = timeout(Duration::from_secs(1), bench.told.recv()).await.unwrap();
    assert!(matches!(told, Some(Told::ToolsChanged)), "{told:?}");
    assert_eq!(bench.client.list_all_tools().await.unwrap()[0].name, "added");
}

#[tokio::test(start_paused = true)]
async fn a_changed_tool_set_is_told_through_a_modern_subscription() {
    let bench = bench_of(ServerOptions::default(), Some(modern())).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut heard = bench.client.listen(filter).await.unwrap();
    assert_eq!(heard.acknowledged().tools_list_changed, Some(true));
    bench.catalog.send_replace(catalog(&["summarize"], 2));
    let told = timeout(Duration::from_secs(1), heard.next()).await.unwrap().unwrap();
    assert!(
        matches!(told, Some(rmcp::model::ServerNotification::ToolListChangedNotification(_))),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn both_eras_list_and_call() {
    for lifecycle in [None, Some(modern())] {
        let bench = bench_of(ServerOptions::default(), lifecycle).await;
        assert_eq!(bench.client.list_all_tools().await.unwrap().len(), 6);
        let result = bench.delivered(|_| {}).await;
        assert_eq!(result.structured_content, Some(json!({"bullets": ["a"]})));
    }
}
