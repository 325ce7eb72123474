//! A client that is gone in mid-call: its runs are cancelled, each once, and what they were waiting for is closed,
//! while the server's process lives on.

use std::time::Duration;

use punctual::server::client::Client;
use punctual::server::{ServeEnd, ServerOptions, serve_on};
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;
use crate::house::House;
use crate::loopback::journal::Moment;

const CALLS: usize = 8;

#[tokio::test]
async fn a_client_that_is_gone_leaves_no_request_and_no_run_behind() {
    let all = timeout(Duration::from_secs(60), async {
        let house = House::open().await;
        let (client, calling, serving) = serve(&house).await;
        for _ in 0..CALLS {
            house.server(Fault::Left).request_arrived().await;
        }
        drop(calling);
        drop(client);
        let end = serving.join_all().await.pop().unwrap();
        assert_eq!(end, ServeEnd::InputClosed);
        house.host.drain(Duration::from_secs(30)).await;
        let notes = house.journal.settled().await;
        (house, notes)
    });
    let (house, notes) = all.await.expect("everything ends");
    let kept = house.store.latest(usize::MAX).reports;
    assert_eq!(kept.len(), CALLS, "each run is kept once");
    for report in &kept {
        assert_eq!(report.outcome, "cancelled");
        let finished = report.decisions.iter().filter(|d| d.action == "finish").count();
        assert_eq!((finished, report.steps[0].attempts.len()), (1, 1));
        assert!(report.cost_usd > 0.0 && report.elapsed_ms <= report.deadline_ms, "{report:?}");
    }
    let closed = notes.iter().filter(|n| n.moment == Moment::PeerClosed).count();
    assert_eq!(closed, CALLS);
}

type Calls = JoinSet<()>;

/// A connected client with calls under way that nobody answers.
async fn serve(house: &House) -> (std::sync::Arc<Client>, Calls, JoinSet<ServeEnd>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(ours);
    let options = ServerOptions { drain: Duration::ZERO, ..ServerOptions::default() };
    let (host, catalog) = (house.host.clone(), watch::Sender::new(house.catalog.clone()));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let served = catalog.subscribe();
        serve_on(host, served, options, read, write, CancellationToken::new()).await.unwrap()
    });
    let (read, write) = tokio::io::split(theirs);
    let client = std::sync::Arc::new(Client::connect(read, write).await.unwrap().0);
    let mut calling = JoinSet::new();
    for n in 0..CALLS {
        let client = client.clone();
        calling.spawn(async move {
            let arguments = Map::from_iter([("call".to_owned(), json!(format!("gone-{n}")))]);
            let answer = client.call(Fault::Left.name(), arguments).await;
            panic!("nobody answers: {answer:?}");
        });
    }
    (client, calling, serving)
}
