//! What refusals of earlier runs have taught.

use super::*;
use crate::domain::failure::About;
use crate::provider::lesson::Lessons;

/// Refuses every prompt as too long, and remembers what it has said.
struct Narrow {
    seen: AtomicUsize,
    lessons: Lessons,
}

impl Provider for Narrow {
    fn exchange<'a>(
        &'a self,
        exchange: &'a Exchange,
        _: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reply, Broken>> {
        self.seen.fetch_add(1, Ordering::SeqCst);
        let about = Some(About::Size { prompt: 6_000, most: 2_000 });
        let failure = Failure::of_attempt(FailureClass::ContextOverflow, "400", "too long");
        let failure = Failure { about, scope: Scope::Path, ..failure };
        self.lessons.overflowed(exchange, &failure);
        Box::pin(async move { Err(failure.into()) })
    }

    fn lessons(&self) -> Option<&Lessons> {
        Some(&self.lessons)
    }
}

#[tokio::test(start_paused = true)]
async fn a_window_that_one_run_was_told_of_holds_for_the_next_ones() {
    let clock = Clock::start();
    let narrow = Arc::new(Narrow { seen: AtomicUsize::new(0), lessons: Lessons::default() });
    let wide = Scripted::new(|_| Act::Answer(10, json!({"text": "done"})));
    let mut lanes = Lanes::default();
    lanes.add("a", narrow.clone(), Limits::default(), clock);
    lanes.add("b", wide.clone(), Limits::default(), clock);
    let limits = ServerLimits::default();
    let host =
        Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: Some(1) }));
    let build = Build::new(Duration::from_secs(20)).step("only", "Do: {{ input.text }}");
    let larger = build.change(|plan| plan.paths[1].profile.context = Some(128_000));
    let workflow = larger.output("result", "only.text").done();
    let long = |word: &str| text(&word.repeat(5_000));
    for input in [long("one "), long("two ")] {
        assert_eq!(finish(&host, &workflow, input).await.outcome, "delivered");
    }
    assert_eq!((narrow.seen.load(Ordering::SeqCst), wide.seen()), (1, 2));
    // A prompt that fits is sent as ever.
    assert_eq!(finish(&host, &workflow, text("short")).await.outcome, "delivered");
    assert_eq!(narrow.seen.load(Ordering::SeqCst), 2);
}
