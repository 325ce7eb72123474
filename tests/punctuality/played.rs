//! The two hundred calls, played once for all tests.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use punctual::driver::{CallOptions, RunHandle};
use punctual::trace::report::{AttemptReport, RunReport};
use serde_json::json;
use tokio::time::{interval, timeout};

use crate::fault::{CALLS, Fault};
use crate::house::House;
use crate::loopback::Request;
use crate::loopback::journal::{Moment, Note};

/// Nothing here takes seconds by itself; who waits for so long waits for something that does not come.
const STUCK: Duration = Duration::from_secs(100);

/// One call and what came of it.
pub struct Call {
    pub fault: Fault,
    pub tag: String,
    pub report: RunReport,
}

/// What came of all.
pub struct Played {
    pub calls: Vec<Call>,
    /// What the store holds.
    pub kept: Vec<RunReport>,
    /// What the servers saw, in order.
    pub notes: Vec<Note>,
    /// By server, in order.
    pub requests: BTreeMap<&'static str, Vec<Request>>,
}

/// Whether an attempt's request never left, by its own record: it was turned away, or closed while it stood in line,
/// which costs nothing.
pub fn unsent(attempt: &AttemptReport) -> bool {
    match &attempt.failure {
        Some(failure) => failure.message.starts_with("not sent: "),
        None => attempt.tokens.input == 0,
    }
}

/// Whether an attempt was closed by us.
pub fn closed(attempt: &AttemptReport) -> bool {
    matches!(attempt.end.as_str(), "superseded" | "cancelled" | "cut")
}

impl Call {
    pub fn attempts(&self) -> impl Iterator<Item = &AttemptReport> {
        self.report.steps.iter().flat_map(|step| &step.attempts)
    }

    /// The attempts of the step in trouble: `path cause end`, and of which class it failed.
    pub fn story(&self) -> Vec<String> {
        let draft = self.report.steps.iter().find(|step| step.step == "draft").unwrap();
        let told = |attempt: &AttemptReport| {
            let AttemptReport { path, cause, end, .. } = attempt;
            match &attempt.failure {
                Some(_) if unsent(attempt) => format!("{path} {cause} unsent"),
                Some(failure) => format!("{path} {cause} {end} {}", failure.class),
                None => format!("{path} {cause} {end}"),
            }
        };
        draft.attempts.iter().map(told).collect()
    }

    /// The words of the decisions of a kind about the step in trouble.
    pub fn why(&self, action: &str) -> Vec<&str> {
        let of = self.report.decisions.iter().filter(|d| d.step.as_deref() == Some("draft"));
        of.filter(|d| d.action == action).map(|d| d.reason.as_str()).collect()
    }

    /// Whether an extra attempt was refused, because its quota bears no more.
    pub fn refused(&self) -> bool {
        let words = ["permit", "extra attempt"];
        self.why("wait").iter().any(|why| words.iter().any(|word| why.contains(word)))
    }

    /// Everything, for whoever must find out what went wrong.
    pub fn told(&self) -> String {
        format!("{}: {}", self.tag, serde_json::to_string_pretty(&self.report).unwrap())
    }
}

impl Played {
    pub fn of(&self, fault: Fault) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.fault == fault)
    }

    /// How often a server saw this.
    pub fn count(&self, server: &str, moment: Moment) -> usize {
        self.notes.iter().filter(|note| note.server == server && note.moment == moment).count()
    }

    /// Where among the notes this happened first to the call's request at that server.
    pub fn place(&self, call: &Call, server: &str, moment: Moment) -> Option<usize> {
        self.notes.iter().position(|note| {
            note.server == server && note.about == call.tag && note.moment == moment
        })
    }

    /// The call's requests at a server.
    pub fn asked(&self, call: &Call, server: &str) -> Vec<&Request> {
        let of_call = |request: &&Request| crate::fault::tag(request) == call.tag;
        self.requests[server].iter().filter(of_call).collect()
    }
}

/// The provider of an attempt's path.
pub fn provider(attempt: &AttemptReport) -> &str {
    attempt.path.split('/').next().unwrap_or_default()
}

/// What came of the calls, which are made when first asked for.
pub fn played() -> &'static Played {
    static PLAYED: LazyLock<Played> = LazyLock::new(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(play())
    });
    &PLAYED
}

/// A call under way.
type Begun = (Fault, String, RunHandle);

/// Makes all calls, and leaves those that are to be left.
async fn begin(house: &House) -> Vec<Begun> {
    let mut calls: Vec<Begun> = Vec::new();
    for (fault, count) in CALLS {
        for n in 0..count {
            let tag = format!("{}-{n}", fault.name());
            let options = CallOptions { deadline: deadline(fault), ..CallOptions::default() };
            let input = json!({ "call": tag });
            let handle = house.host.start(house.workflow(fault), input, &options).unwrap();
            calls.push((fault, tag, handle));
        }
        // Those whose cutoffs are looked at have been sent before the machine is given the rest to do.
        let watched = matches!(fault, Fault::Slow | Fault::Silent | Fault::Mute | Fault::Stuck);
        for _ in 0..if watched { count } else { 0 } {
            house.server(fault).request_arrived().await;
        }
    }
    for (_, _, handle) in calls.iter().filter(|(fault, ..)| *fault == Fault::Left) {
        house.server(Fault::Left).request_arrived().await;
        assert!(!handle.ended(), "nobody answers it");
    }
    for (_, _, handle) in calls.iter().filter(|(fault, ..)| *fault == Fault::Left) {
        handle.cancel();
        handle.cancel();
    }
    // Who is refused an extra attempt waits on, and would do so for ever.
    let waits = |fault: &Fault| matches!(fault, Fault::Slow | Fault::Meek);
    for (fault, tag, handle) in calls.iter().filter(|(fault, ..)| waits(fault)) {
        let mut looks = interval(Duration::from_millis(20));
        loop {
            let call = Call { fault: *fault, tag: tag.clone(), report: handle.report() };
            if handle.ended() || call.refused() {
                break;
            }
            looks.tick().await;
        }
        handle.cancel();
    }
    calls
}

async fn play() -> Played {
    let house = House::open().await;
    let calls = timeout(STUCK, begin(&house)).await.expect("what is sent arrives");
    let mut ended = Vec::new();
    for (fault, tag, handle) in calls {
        let report = timeout(STUCK, handle.finished()).await;
        ended.push(Call { fault, report: report.unwrap_or_else(|_| handle.report()), tag });
        let call = &ended[ended.len() - 1];
        assert!(handle.ended(), "it does not end: {}", call.told());
    }
    house.host.drain(STUCK).await;
    let notes = timeout(STUCK, house.journal.settled()).await;
    Played {
        calls: ended,
        kept: house.store.latest(usize::MAX).reports,
        notes: notes.expect("every connection that a server holds is closed"),
        requests: house.servers.iter().map(|(name, server)| (*name, server.requests())).collect(),
    }
}

/// What the caller allows, where that is less than the workflow's ten minutes.
fn deadline(fault: Fault) -> Option<Duration> {
    match fault {
        Fault::Hopeless => Some(Duration::from_millis(100)),
        // Its step is given up after a fiftieth of it.
        Fault::Aside => Some(Duration::from_secs(2)),
        Fault::Full => Some(Duration::from_secs(20)),
        _ => None,
    }
}
