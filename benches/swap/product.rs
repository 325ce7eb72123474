//! The policy under test: the host, the engine and the providers of the product, over HTTP, as `serve` sets them up.
//!
//! Workflow and `punctual.yaml` are read as files are. B is known by what its paths say: no place for a system prompt
//! (`system: merged`), and nothing that constrains an answer (no `can`).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use punctual::definition::catalog::load_file;
use punctual::definition::config::{Configuration, load};
use punctual::definition::environment::Environment;
use punctual::definition::source::Source;
use punctual::driver::clock::{Clock, system_time};
use punctual::driver::{CallOptions, Host, HostSettings, Lanes};
use punctual::provider::registry::{Providers, connect};
use punctual::trace::report::RunReport;
use punctual::workflow::Workflow;

use crate::outcome::Outcome;
use crate::task::{Order, workflow};

/// A folder's workflow and providers, loaded.
pub struct Product {
    workflow: Arc<Workflow>,
    configuration: Configuration,
    providers: Providers,
}

impl Product {
    /// Loads the chain for servers at these addresses.
    pub fn load(a: &str, b: &str) -> Self {
        let text = format!(
            "providers:\n  \
               family_a: {{kind: anthropic, base_url: '{a}'}}\n  \
               family_b: {{kind: openai_compatible, base_url: '{b}/v1'}}\n\
             models:\n  \
               main:\n    \
                 paths:\n      \
                   - {{provider: family_a, model: claude-large, context: 200000, can: [json_schema]}}\n      \
                   - {{provider: family_b, model: open-large, context: 1000000, \
                      system: merged}}\n"
        );
        let source = Source::new("punctual.yaml", text);
        let (configuration, found) =
            load(source, Path::new("punctual.yaml"), &Environment::default());
        let errors = found.iter().filter(|d| d.is_error()).map(ToString::to_string);
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new());
        let configuration = configuration.expect("it is YAML");
        let folder = std::env::temp_dir().join(format!("punctual-swap-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        let file = folder.join("order_total.yaml");
        std::fs::write(&file, workflow()).expect("just made");
        let lowered = load_file(&file, &configuration);
        let _ = std::fs::remove_dir_all(&folder);
        let workflow = lowered.workflow.unwrap_or_else(|| panic!("{:#?}", lowered.diagnostics));
        let providers = connect(
            &configuration.providers,
            &|_, _| unreachable!("none is simulated"),
            system_time,
        );
        let providers = providers.unwrap_or_else(|errors| panic!("{errors:?}"));
        Self { workflow, configuration, providers }
    }

    /// A server without a past.
    pub fn host(&self) -> Arc<Host> {
        let clock = Clock::start();
        let mut lanes = Lanes::default();
        for one in &self.configuration.providers {
            let provider = self.providers.get(&one.name).expect("all were connected");
            lanes.add(&one.name, provider, one.limits, clock);
        }
        let limits = self.configuration.limits;
        Arc::new(Host::new(HostSettings { lanes, limits, store: None, clock, seed: Some(1) }))
    }

    /// One call; `content` keeps what models are sent and say in its report.
    pub async fn run(
        &self,
        host: &Arc<Host>,
        order: &Order,
        content: bool,
    ) -> (Outcome, RunReport) {
        let options = CallOptions { content, ..CallOptions::default() };
        let started = Instant::now();
        let handle = host
            .start(&self.workflow, order.input(), &options)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let report = handle.finished().await;
        let elapsed = started.elapsed();
        let output = report.output.as_ref();
        let field =
            |name: &str| output.and_then(|o| o.get(name)).and_then(serde_json::Value::as_u64);
        let outcome = Outcome {
            completed: matches!(report.outcome.as_str(), "delivered" | "degraded"),
            valid: field("total").is_some() && field("seal").is_some(),
            right: field("total") == Some(order.total) && field("seal") == Some(order.seal),
            flagged: report.outcome == "degraded",
            elapsed,
        };
        (outcome, report)
    }
}
