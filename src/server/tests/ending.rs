use super::*;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// A connection spoken to line by line, so that only our end of it can be closed.
struct Wire {
    host: Arc<Scripted>,
    to: Option<DuplexStream>,
    from: tokio::io::Lines<BufReader<DuplexStream>>,
    stop: CancellationToken,
    serving: JoinSet<Result<ServeEnd, ServeError>>,
    _catalog: watch::Sender<Arc<Catalog>>,
}

impl Wire {
    async fn open() -> Self {
        let host = Arc::new(Scripted::default());
        let (keep, served) = watch::channel(catalog(&["summarize"], 1));
        let (to, read) = tokio::io::duplex(1 << 16);
        let (from, write) = tokio::io::duplex(1 << 16);
        let stop = CancellationToken::new();
        let options = ServerOptions::default();
        let mut serving = JoinSet::new();
        serving.spawn(serve_on(host.clone(), served, options, read, write, stop.clone()));
        let from = BufReader::new(from).lines();
        let mut wire = Self { host, to: Some(to), from, stop, serving, _catalog: keep };
        wire.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}))
            .await;
        let hello = wire.receive().await.unwrap();
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(hello["result"]["serverInfo"]["name"], "punctual");
        wire.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        wire
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.to.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u32, meta: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "summarize", "arguments": {"text": "t"}, "_meta": meta}}))
            .await;
    }

    /// How serving ended, within the drain and what follows it.
    async fn ended(mut self) -> ServeEnd {
        let ended = timeout(Duration::from_secs(8), self.serving.join_next()).await;
        ended.expect("bounded").unwrap().unwrap().unwrap()
    }

    /// The next line that is no progress notification; `None` at the end.
    async fn receive(&mut self) -> Option<Value> {
        loop {
            let line = timeout(Duration::from_secs(30), self.from.next_line()).await;
            let message: Value =
                serde_json::from_str(&line.expect("a line or the end").unwrap()?).unwrap();
            if message["method"] != "notifications/progress" {
                return Some(message);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_at_the_end_of_input_is_answered_even_with_progress() {
    let mut wire = Wire::open().await;
    wire.call(1, json!({"progressToken": "p"})).await;
    let run = wire.host.call(1).await.run;
    run.step(0, 1, "working");
    wire.to = None;
    // Two seconds on, with progress in between that rmcp no longer takes.
    for done in 0..20 {
        run.step(done, 20, "working");
        let silent = timeout(Duration::from_millis(100), wire.receive()).await;
        assert!(silent.is_err(), "{silent:?}");
    }
    run.deliver(json!({"bullets": ["kept"]}));
    let answer = timeout(Duration::from_millis(500), wire.receive()).await.unwrap().unwrap();
    assert_eq!(answer["result"]["structuredContent"], json!({"bullets": ["kept"]}));
    assert_eq!(wire.receive().await, None);
    assert_eq!(wire.ended().await, ServeEnd::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_the_drain_is_cancelled_and_says_so() {
    let mut wire = Wire::open().await;
    wire.call(1, json!({})).await;
    let run = wire.host.call(1).await.run;
    wire.to = None;
    let limit = Duration::from_secs(5);
    let answer = timeout(limit, wire.receive()).await.expect("within the drain").unwrap();
    assert_eq!(run.outcome(), "cancelled");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    insta::assert_snapshot!(text, @r"
    The server is shutting down.
    summarize was cancelled after 1.5 s of 20 s.
    Spent $0: 0 attempts, 0 tokens in, 0 out.
    Making the same call again may help.
    Run run_0000000000000001; `punctual trace run_0000000000000001` shows every attempt and decision.
    ");
    assert_eq!(wire.ended().await, ServeEnd::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn stopping_drains_like_the_end_of_input() {
    let mut wire = Wire::open().await;
    wire.call(1, json!({})).await;
    let run = wire.host.call(1).await.run;
    wire.stop.cancel();
    tokio::task::yield_now().await;
    assert_eq!(run.outcome(), "running", "calls in flight get time to end");
    run.deliver(json!({"bullets": []}));
    assert_eq!(wire.receive().await.unwrap()["id"], 1);
    assert_eq!(wire.ended().await, ServeEnd::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_no_longer_reads_cannot_hold_the_server() {
    let mut wire = Wire::open().await;
    wire.call(1, json!({})).await;
    wire.host.call(1).await.run.deliver(json!({"bullets": ["x".repeat(1 << 18)]}));
    wire.to = None;
    assert_eq!(wire.ended().await, ServeEnd::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn an_open_subscription_does_not_hold_up_the_end() {
    let mut bench = bench_of(ServerOptions::default(), Some(modern())).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let _heard = bench.client.listen(filter).await.unwrap();
    bench.stop.cancel();
    let limit = Duration::from_millis(500);
    let end = timeout(limit, bench.serving.join_next()).await.expect("at once");
    let end = end.unwrap().unwrap().unwrap();
    assert_eq!(end, ServeEnd::Stopped);
}

#[tokio::test(start_paused = true)]
async fn an_input_that_ends_before_it_begins_is_no_fault() {
    let host = Arc::new(Scripted::default());
    let (_keep, served) = watch::channel(catalog(&[], 1));
    let (read, write) = (tokio::io::empty(), tokio::io::sink());
    let stop = CancellationToken::new();
    let end = serve_on(host, served, ServerOptions::default(), read, write, stop).await.unwrap();
    assert_eq!(end, ServeEnd::InputClosed);
}
