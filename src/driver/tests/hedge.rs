//! Hedges before the cutoff, counted over all runs of a host.

use super::*;
use crate::domain::plan::After;

fn early(deadline_s: u64) -> Arc<Workflow> {
    let build = Build::new(Duration::from_secs(deadline_s)).step("only", "Do: {{ input.text }}");
    build
        .change(|plan| {
            if let Work::Model { policy, .. } = &mut plan.steps[0].work {
                let after = After::Fixed(Duration::from_secs(4));
                policy.hedge = Hedge::After { after, max_extra: Hedge::MAX_EXTRA };
            }
        })
        .output("result", "only.text")
        .done()
}

/// When each of `calls` at once was answered, in seconds.
async fn answered(host: &Arc<Host>, calls: usize) -> Vec<u64> {
    let workflow = early(40);
    let fresh = CallOptions { fresh: true, ..CallOptions::default() };
    let start = |_| host.start(&workflow, text("it"), &fresh).unwrap();
    let handles: Vec<_> = (0..calls).map(start).collect();
    let mut seconds = Vec::new();
    for handle in handles {
        let report = handle.finished().await;
        assert_eq!(report.outcome, "delivered");
        seconds.push(report.elapsed_ms / 1_000);
    }
    seconds.sort_unstable();
    seconds
}

#[tokio::test(start_paused = true)]
async fn a_tenth_of_all_primaries_is_hedged_early_and_the_rest_waits_for_permits_or_gives_up() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(500, json!({"text": "ok"})));
    let host = host(&a, &b);
    // Two permits to begin with and a tenth for each primary, of which the share of early ones takes two; who is given
    // up at twice the cutoff is replaced without one.
    let mut expected = vec![4, 4, 10, 10];
    expected.resize(25, 20);
    assert_eq!(answered(&host, 25).await, expected);
    assert_eq!(b.seen(), 25);
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_later_the_share_is_there_again() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(500, json!({"text": "ok"})));
    let host = host(&a, &b);
    assert_eq!(answered(&host, 1).await, [4]);
    assert_eq!(answered(&host, 1).await, [10]);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(answered(&host, 1).await, [4]);
}

#[tokio::test(start_paused = true)]
async fn a_reload_of_the_configuration_opens_no_second_ten_minutes() {
    let a = Scripted::new(|_| Act::Hang);
    let b = Scripted::new(|_| Act::Answer(500, json!({"text": "ok"})));
    let host = host(&a, &b);
    assert_eq!(answered(&host, 1).await, [4]);
    let (mut lanes, clock) = (Lanes::default(), Clock::start());
    lanes.add("a", a.clone(), Limits::default(), clock);
    lanes.add("b", b.clone(), Limits::default(), clock);
    host.reconfigure(lanes, ServerLimits::default());
    assert_eq!(answered(&host, 1).await, [10]);
}
