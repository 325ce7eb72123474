//! A server of workflows and the providers it depends on, each on a port of its own, all real.
//!
//! The driver's clock runs at a fiftieth of the machine's speed. So cutoffs of 20 and 40 ms are 1 and 2 s of the
//! machine, and the 50 ms that a run keeps in reserve before its deadline are 2.5 s: a machine that stands still
//! for less than that makes nobody late.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use punctual::definition::catalog::{Catalog, load};
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::driver::clock::{Clock, system_time};
use punctual::driver::{Host, HostSettings, Lanes};
use punctual::provider::registry::connect;
use punctual::store::RunStore;
use punctual::workflow::Workflow;
use tokio::net::TcpListener;

use crate::fault::{CALLS, Fault, healthy, tag};
use crate::loopback::journal::{Journal, Moment, Note};
use crate::loopback::{Log, Loopback, Request, Script, Step};

/// The provider that is well.
pub const SPARE: &str = "spare";
/// Others that are, so that each has its own permits for attempts beside those of a fault.
const MATES: [(Fault, &str); 5] = [
    (Fault::Silent, "silent_mate"),
    (Fault::Mute, "mute_mate"),
    (Fault::Stuck, "stuck_mate"),
    (Fault::Slow, "slow_mate"),
    (Fault::Meek, "meek_mate"),
];
/// Seconds of the driver's clock per second of the machine.
const SPEED: f64 = 0.02;
/// Dollars per million tokens in and out, on every path.
pub const PRICE: (f64, f64) = (1_000.0, 2_000.0);
/// `max_tokens` of every step.
pub const MOST: u64 = 60;

pub struct House {
    pub servers: BTreeMap<&'static str, Loopback>,
    pub journal: Journal,
    pub host: Arc<Host>,
    pub store: RunStore,
    pub catalog: Arc<Catalog>,
    _folder: tempfile::TempDir,
}

impl House {
    pub async fn open() -> Self {
        let journal = Journal::default();
        let mut servers = BTreeMap::new();
        let log = |name| Log { name, about: tag, journal: journal.clone() };
        for name in MATES.map(|(_, mate)| mate) {
            servers.insert(name, Loopback::answering(log(name), healthy).await);
        }
        let finishing = journal.clone();
        let spare = move |request: &_| spare(request, &finishing);
        servers.insert(SPARE, Loopback::answering(log(SPARE), spare).await);
        for (fault, _) in CALLS.iter().filter(|(fault, _)| *fault != Fault::Gone) {
            let fault = *fault;
            let answers = move |request: &_| fault.answer(request);
            servers.insert(fault.name(), Loopback::answering(log(fault.name()), answers).await);
        }
        let mut urls: BTreeMap<&str, String> =
            servers.iter().map(|(name, server)| (*name, server.url())).collect();
        urls.insert(Fault::Gone.name(), nobody().await);

        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &urls);
        let catalog = load(&Folder::at(folder.path()), &Environment::default(), None);
        assert!(catalog.quarantined.is_empty(), "{:?}", catalog.quarantined);
        let clock = Clock::sped_up(SPEED);
        let configuration = &catalog.configuration;
        let simulated = |_: &_, _: &_| unreachable!("none is simulated");
        let providers = connect(&configuration.providers, &simulated, system_time).unwrap();
        let mut lanes = Lanes::default();
        for one in &configuration.providers {
            lanes.add(&one.name, providers.get(&one.name).unwrap(), one.limits, clock);
        }
        let store = RunStore::at(&folder.path().join("state"));
        let (limits, kept) = (configuration.limits, Some(store.clone()));
        let host =
            Arc::new(Host::new(HostSettings { lanes, limits, store: kept, clock, seed: None }));
        Self { servers, journal, host, store, catalog: Arc::new(catalog), _folder: folder }
    }

    pub fn workflow(&self, fault: Fault) -> &Arc<Workflow> {
        &self.catalog.workflows[fault.name()]
    }

    pub fn server(&self, fault: Fault) -> &Loopback {
        &self.servers[fault.name()]
    }
}

/// A well provider that answers the last step of a call whose first was raced only when the loser's connection is
/// closed: it must not wait for the run's end.
fn spare(request: &Request, journal: &Journal) -> Script {
    let (mut script, tag, journal) = (healthy(request), tag(request), journal.clone());
    let of = tag.split('-').next().unwrap_or_default();
    let raced = MATES.iter().any(|(fault, _)| fault.name() == of);
    if raced {
        let loser = of.to_owned();
        let is_closed = move |note: &Note| {
            note.server == loser && note.about == tag && note.moment == Moment::PeerClosed
        };
        let closed = async move {
            journal.until(|notes| notes.iter().any(&is_closed)).await;
        };
        script.insert(0, Step::Until(Box::pin(closed)));
    }
    script
}

/// An address at which nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// The provider that a fault is left for.
pub fn mate(fault: Fault) -> &'static str {
    MATES.iter().find(|(of, _)| *of == fault).map_or(SPARE, |(_, mate)| mate)
}

/// Whether the provider bills what is closed before its end.
pub fn bills(provider: &str) -> bool {
    matches!(provider, "silent" | "slow" | "aside" | "hopeless")
}

fn write(folder: &Path, urls: &BTreeMap<&str, String>) {
    std::fs::create_dir(folder.join("workflows")).unwrap();
    std::fs::write(folder.join("punctual.yaml"), configuration(urls)).unwrap();
    for (fault, _) in CALLS {
        let file = folder.join(format!("workflows/{}.yaml", fault.name()));
        std::fs::write(file, workflow(fault)).unwrap();
    }
}

fn configuration(urls: &BTreeMap<&str, String>) -> String {
    let mut text = "providers:\n".to_owned();
    for (name, url) in urls {
        let on_cancel = if bills(name) { "billed" } else { "free" };
        let limits = match *name {
            // One at a time, so that whoever comes second knows what became of the first.
            "limited" | "bust" | "locked" => ", limits: {concurrent: 1}",
            "full" => ", limits: {rpm: 2}",
            _ => "",
        };
        writeln!(
            text,
            "  {name}: {{kind: openai_compatible, base_url: '{url}/v1', on_cancel: {on_cancel}{limits}}}"
        )
        .unwrap();
    }
    let path = |provider: &str, model: &str| {
        let (input, output) = PRICE;
        let price = format!("price: {{in: {input}, out: {output}}}");
        format!("{{provider: {provider}, model: {model}, context: 9000, {price}}}")
    };
    text.push_str("models:\n");
    for (name, model) in [("steady", "second"), ("sage", "sage")] {
        writeln!(text, "  {name}: {{paths: [{}]}}", path(SPARE, model)).unwrap();
    }
    writeln!(text, "  quick: {{paths: [{}]}}", path(mate(Fault::Slow), "quick")).unwrap();
    for (fault, _) in CALLS {
        let name = fault.name();
        let paths = match fault {
            Fault::Full | Fault::Aside | Fault::Left => path(name, "first"),
            Fault::Hopeless => format!("{}, {}", path(name, "first"), path("mute", "first")),
            _ => format!("{}, {}", path(name, "first"), path(mate(fault), "second")),
        };
        let links = "faster: quick, stronger: sage";
        let links = match fault {
            Fault::Slow | Fault::Stubborn | Fault::Wrong | Fault::Silent | Fault::Stuck => links,
            _ => "",
        };
        writeln!(text, "  {name}: {{paths: [{paths}], {links}}}").unwrap();
    }
    text
}

fn workflow(fault: Fault) -> String {
    let name = fault.name();
    let policy = match fault {
        Fault::Silent | Fault::Mute | Fault::Hopeless => "cutoff: {first_token: 20ms}",
        Fault::Stuck => "cutoff: {idle: 20ms}",
        Fault::Slow => "cutoff: {total: 40ms}",
        Fault::Meek => "hedge: {after: 10ms, max_extra: 25%}, cutoff: 10m",
        _ => "cutoff: 10m",
    };
    let (optional, note) = match fault {
        Fault::Aside => ("optional: true, cutoff_at: 2%, ", "{{ input.call }}"),
        _ => ("", "{{ draft.note }}"),
    };
    let mention = if fault == Fault::Aside { "{% if draft %}!{% endif %}" } else { "" };
    format!(
        "description: Notes down which call it is.\n\
         deadline: 10m\n\
         input: {{call: string}}\n\
         steps:\n  \
           draft: {{model: {name}, max_tokens: {MOST}, {optional}prompt: 'Note @{{{{ input.call }}}}@', \
             output: {{note: string}}, policy: {{swap_delay: 1ms, {policy}}}}}\n  \
           final: {{model: steady, max_tokens: {MOST}, prompt: 'Finish @{note}@{mention}', \
             output: {{note: string}}, policy: {{cutoff: 10m}}}}\n\
         output: {{note: final.note}}\n"
    )
}
