//! Callers that leave and come back.

use super::*;

fn two_steps() -> Arc<Workflow> {
    Build::new(Duration::from_secs(20))
        .step("first", "1: {{ input.text }}")
        .step("second", "2: {{ first.text }}")
        .output("result", "second.text")
        .done()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_while_the_same_call_is_being_cancelled_is_not_cancelled_with_it() {
    let a = Scripted::new(|_| Act::Answer(1_000, json!({"text": "here"})));
    let host = host(&a, &a);
    let workflow = one_step(20);
    let gone = host.start(&workflow, text("it"), &CallOptions::default()).unwrap();
    sleep(Duration::from_millis(100)).await;
    gone.cancel();
    let again = finish(&host, &workflow, text("it")).await;
    assert_eq!(again.outcome, "delivered");
    assert_eq!(gone.finished().await.outcome, "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_while_the_same_call_is_being_cancelled_continues_from_it() {
    let a = Scripted::new(|exchange| Act::Answer(1_000, json!({"text": exchange.draw.step_name})));
    let host = host(&a, &a);
    let workflow = two_steps();
    let gone = host.start(&workflow, text("it"), &CallOptions::default()).unwrap();
    sleep(Duration::from_millis(1_500)).await;
    gone.cancel();
    let again = finish(&host, &workflow, text("it")).await;
    assert_eq!((again.outcome.as_str(), again.reused.len()), ("delivered", 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_it_begins_takes_no_validated_step_away() {
    let broken = Arc::new(AtomicUsize::new(1));
    let state = broken.clone();
    let a = Scripted::new(move |exchange| match exchange.draw.step_name.as_str() {
        "second" if state.load(Ordering::SeqCst) == 1 => {
            Act::Fail(10, FailureClass::BadRequest, None)
        }
        name => Act::Answer(10, json!({ "text": name })),
    });
    let host = host(&a, &a);
    let workflow = two_steps();
    assert_eq!(finish(&host, &workflow, text("it")).await.outcome, "failed");
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let gone = host.start(&workflow, text("it"), &fresh).unwrap();
    gone.cancel();
    assert_eq!(gone.finished().await.outcome, "cancelled");
    sleep(Duration::from_millis(1)).await;
    broken.store(0, Ordering::SeqCst);
    let again = finish(&host, &workflow, text("it")).await;
    assert_eq!((again.outcome.as_str(), again.reused.len()), ("delivered", 1));
}

#[tokio::test(start_paused = true)]
async fn what_has_just_left_when_its_caller_leaves_is_paid_for() {
    for n in 0..30 {
        let caller: Arc<std::sync::Mutex<Option<super::super::RunHandle>>> = Arc::default();
        let leaving = caller.clone();
        // That it was sent and that its caller is gone reach the run together.
        let a = Scripted::new(move |_| {
            leaving.lock().unwrap().take().unwrap().cancel();
            Act::Hang
        });
        let host = host(&a, &a);
        let run = host.start(&one_step(20), text("it"), &CallOptions::default()).unwrap();
        *caller.lock().unwrap() = Some(run.clone());
        let report = run.finished().await;
        assert_eq!((report.outcome.as_str(), a.seen()), ("cancelled", 1));
        assert!(report.tokens.input > 0 && report.tokens.output > 0, "{n}: {report:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ended_run_keeps_its_report_and_lets_go_of_the_rest() {
    let a = Scripted::new(|_| Act::Answer(10, json!({"text": "kept"})));
    let host = host(&a, &a);
    let run = host.start(&one_step(20), text("it"), &CallOptions::default()).unwrap();
    assert_eq!(run.finished().await.outcome, "delivered");
    host.drain(Duration::from_secs(1)).await;
    assert!(run.shared().with_run(|run| run.output().is_none()));
    assert_eq!(run.report().output, Some(json!({"result": "kept"})));
    assert!(!run.report().decisions.is_empty());
}
