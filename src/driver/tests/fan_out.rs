//! Steps over many items.

use super::*;

fn fan_out(max_parallel: u32, min_ok: u16) -> Arc<Workflow> {
    Build::new(Duration::from_secs(60))
        .step("part", "Part: {{ item }}")
        .each(max_parallel, min_ok)
        .output("parts", "part.text")
        .done()
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_of_a_thousand_is_done_in_order_and_within_its_width() {
    let echo = |exchange: &Exchange| {
        let said = exchange.prompt.messages[0].text.replace("Part: ", "");
        Act::Answer(100 + u64::from(exchange.draw.item % 7) * 10, json!({ "text": said }))
    };
    let (a, b) = (Scripted::new(echo), Scripted::new(echo));
    let list: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
    let input = json!({ "text": "", "list": list });
    let report = finish(&host(&a, &b), &fan_out(50, 100), input).await;
    assert_eq!(report.output, Some(json!({ "parts": list })), "{:?}", report.failure);
    assert_eq!((a.seen(), b.seen()), (1_000, 0));
    assert!(a.most_open.load(Ordering::SeqCst) <= 50);
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_beyond_a_thousand_is_refused_with_what_to_do() {
    let a = Scripted::new(|_| Act::Hang);
    let list: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    let input = json!({ "text": "", "list": list });
    let report = finish(&host(&a, &a), &fan_out(50, 100), input).await;
    assert_eq!((class(&report), a.seen()), ("invalid_input", 0));
    let message = &report.failure.as_ref().unwrap().message;
    assert!(message.contains("1001 items, and a step runs at most 1000"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn failed_items_are_named_and_the_rest_goes_out() {
    let script = |exchange: &Exchange| match exchange.draw.item {
        3 => Act::Fail(10, FailureClass::BadRequest, None),
        item => Act::Answer(10, json!({ "text": item.to_string() })),
    };
    let (a, b) = (Scripted::new(script), Scripted::new(script));
    let list: Vec<String> = (0..5).map(|n| n.to_string()).collect();
    let input = json!({ "text": "", "list": list });
    let report = finish(&host(&a, &b), &fan_out(5, 80), input).await;
    assert_eq!(
        (report.outcome.as_str(), report.missing.as_slice()),
        ("degraded", ["part[3]".to_owned()].as_slice())
    );
    assert_eq!(report.output, Some(json!({ "parts": ["0", "1", "2", "4"] })));
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_waited_for_and_the_wait_is_told_apart_from_the_attempt() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "x"})));
    let b = Scripted::new(|_| Act::Hang);
    let limits = Limits { concurrent: Some(2), ..Limits::default() };
    let list: Vec<String> = (0..6).map(|n| n.to_string()).collect();
    let input = json!({ "text": "", "list": list });
    let host = host_with(&a, &b, limits, ServerLimits::default());
    let report = finish(&host, &fan_out(6, 100), input).await;
    assert_eq!(report.outcome, "delivered");
    assert_eq!(a.most_open.load(Ordering::SeqCst), 2);
    let queued: Vec<u64> = report.steps.iter().map(|s| s.attempts[0].queued_ms / 1_000).collect();
    assert_eq!(queued, [0, 0, 1, 1, 2, 2]);
}
