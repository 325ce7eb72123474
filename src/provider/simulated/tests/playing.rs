use tokio::time::{Instant, timeout};

use super::*;

#[derive(Default)]
struct Log {
    first: u32,
    text: String,
    tokens: u64,
    usage: Option<Usage>,
}

impl Sink for Log {
    fn first_token(&mut self) {
        assert!(self.text.is_empty());
        self.first += 1;
    }

    fn piece(&mut self, text: &str, tokens: u64) {
        self.text.push_str(text);
        self.tokens += tokens;
    }

    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
}

fn simulator(pace: Pace, told: Told) -> Simulator {
    let recordings = recorded(&[(Some("{\"kind\":\"billing\"}"), Some(told))]);
    Simulator::new("sim_a", &settings("calm"), pace, Arc::new(recordings)).unwrap()
}

/// Virtual time that passes on the runtime's own paused clock.
async fn elapsed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let start = tokio::time::sleep(Duration::ZERO).deadline();
    let result = work.await;
    let end: Instant = tokio::time::sleep(Duration::ZERO).deadline();
    (result, end - start)
}

#[tokio::test(start_paused = true)]
async fn a_reply_takes_its_simulated_time_divided_by_the_pace() {
    let exchange = exchange(Some(triage()));
    let mut spans = Vec::new();
    for scale in [1.0, 10.0] {
        let simulator = simulator(Pace::of(scale).unwrap(), Told::Ok);
        let script = simulator.simulation.plan_exchange(&exchange);
        let mut log = Log::default();
        let (reply, span) = elapsed(simulator.exchange(&exchange, &mut log)).await;
        let reply = reply.unwrap();
        assert_eq!(
            (reply.text.as_str(), log.text.as_str()),
            ("{\"kind\":\"billing\"}", "{\"kind\":\"billing\"}")
        );
        assert_eq!((log.first, log.usage, log.tokens), (1, Some(reply.usage), reply.usage.output));
        let planned = script.updates.last().unwrap().0.div_f64(scale);
        // Tokio's timer is a millisecond coarse, at each piece.
        assert!(
            span >= planned && span < planned + Duration::from_millis(210),
            "{span:?} {planned:?}"
        );
        spans.push(span);
    }
    assert!(spans[0] > spans[1] * 5, "{spans:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hang_never_ends_and_can_be_dropped() {
    let simulator = simulator(Pace::REAL, Told::Hang);
    let exchange = exchange(None);
    let mut log = Log::default();
    let day = Duration::from_secs(86_400);
    assert!(timeout(day, simulator.exchange(&exchange, &mut log)).await.is_err());
    assert_eq!((log.first, log.tokens), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failure_comes_with_its_class_and_what_had_arrived() {
    let limited = simulator(Pace::REAL, Told::RateLimited);
    let broken = limited.exchange(&exchange(None), &mut Log::default()).await.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::RateLimited);
    assert!(broken.failure.retry_after.is_some() && broken.partial.is_empty());

    let mut bound = exchange(Some(triage()));
    bound.max_tokens = 3;
    let mut log = Log::default();
    let broken = simulator(Pace::REAL, Told::Ok).exchange(&bound, &mut log).await.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::TruncatedOutput);
    assert_eq!(
        (broken.partial.as_str(), log.text.as_str()),
        ("{\"kind\":\"bil", "{\"kind\":\"bil")
    );
}

#[test]
fn a_pace_is_positive_and_finite() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e7] {
        assert_eq!(Pace::of(scale), None, "{scale}");
    }
    assert_eq!(Pace::of(4.0).unwrap().real(Duration::from_secs(2)), Duration::from_millis(500));
}
