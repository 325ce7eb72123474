//! Runs that do what the test says: a real implementation of [`Runs`] without steps or providers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::domain::id::RunId;
use crate::domain::plan::{Budget, Plan, ProviderPlan};
use crate::domain::shape::Shape;
use crate::driver::{CallOptions, Progress, Refusal};
use crate::schema::Schema;
use crate::server::{Run, Runs};
use crate::trace::report::{FailureReport, RunReport};
use crate::workflow::Workflow;

/// A call as it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub workflow: String,
    pub input: Value,
    pub options: CallOptions,
    pub run: ScriptedRun,
}

pub struct Scripted {
    pub arrived: watch::Sender<Vec<Arrived>>,
    refuse: Mutex<Option<Refusal>>,
    runs: Mutex<HashMap<RunId, ScriptedRun>>,
    /// Runs of earlier processes.
    pub kept: Mutex<Vec<RunReport>>,
    pub out: Mutex<Vec<String>>,
}

impl Default for Scripted {
    fn default() -> Self {
        let arrived = watch::Sender::new(Vec::new());
        let (refuse, runs) = (Mutex::default(), Mutex::default());
        Self { arrived, refuse, runs, kept: Mutex::default(), out: Mutex::default() }
    }
}

impl Scripted {
    /// The next call is refused.
    pub fn refuse(&self, refusal: Refusal) {
        *self.refuse.lock().unwrap() = Some(refusal);
    }

    /// The `n`th call that arrives, from 1.
    pub async fn call(&self, n: usize) -> Arrived {
        let mut arrived = self.arrived.subscribe();
        let arrived = arrived.wait_for(|all| all.len() >= n).await.unwrap();
        arrived[n - 1].clone()
    }
}

#[derive(Clone, Debug)]
pub struct ScriptedRun {
    id: RunId,
    report: watch::Sender<RunReport>,
    progress: watch::Sender<Progress>,
}

impl ScriptedRun {
    pub fn step(&self, done: u32, total: u32, phase: &str) {
        self.progress.send_modify(|p| {
            *p = Progress { tick: p.tick + 1, done, total, phase: phase.to_owned(), ended: false };
        });
    }

    pub fn end(&self, change: impl FnOnce(&mut RunReport)) {
        self.report.send_if_modified(|report| {
            let running = report.outcome == "running";
            if running {
                change(report);
            }
            running
        });
        self.progress.send_modify(|p| p.ended = true);
    }

    pub fn deliver(&self, output: Value) {
        self.end(|report| {
            report.outcome = "delivered".to_owned();
            report.elapsed_ms = 8123;
            report.output = Some(output);
        });
    }

    pub fn outcome(&self) -> String {
        self.report.borrow().outcome.clone()
    }

    /// Until the run has been withdrawn, which must not take longer than a second.
    pub async fn cancelled(&self) {
        let mut report = self.report.subscribe();
        let withdrawn = report.wait_for(|r| r.outcome == "cancelled");
        timeout(Duration::from_secs(1), withdrawn).await.expect("the run is withdrawn").unwrap();
    }
}

impl Run for ScriptedRun {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn cancel(&self) {
        self.end(|report| {
            report.outcome = "cancelled".to_owned();
            report.failure = Some(FailureReport {
                class: "cancelled".to_owned(),
                retryable: Some(true),
                ..FailureReport::default()
            });
        });
    }

    fn stop(&self) {
        self.cancel();
    }

    fn report(&self) -> RunReport {
        self.report.borrow().clone()
    }

    async fn finished(&self) -> RunReport {
        let mut report = self.report.subscribe();
        report.wait_for(|r| r.outcome != "running").await.unwrap().clone()
    }
}

impl Runs for Scripted {
    type Run = ScriptedRun;

    fn start(
        self: &Arc<Self>,
        workflow: &Arc<Workflow>,
        input: Value,
        options: &CallOptions,
    ) -> Result<ScriptedRun, Refusal> {
        if let Some(refusal) = self.refuse.lock().unwrap().take() {
            return Err(refusal);
        }
        let mut runs = self.runs.lock().unwrap();
        let id = RunId::new(runs.len() as u64 + 1);
        let report = RunReport {
            run_id: id.to_string(),
            workflow: workflow.name.clone(),
            outcome: "running".to_owned(),
            deadline_ms: 20_000,
            elapsed_ms: 1500,
            ..RunReport::default()
        };
        let run = ScriptedRun {
            id: id.clone(),
            report: watch::Sender::new(report),
            progress: watch::Sender::new(Progress::default()),
        };
        runs.insert(id, run.clone());
        let workflow = workflow.name.clone();
        self.arrived.send_modify(|all| {
            all.push(Arrived { workflow, input, options: options.clone(), run: run.clone() });
        });
        Ok(run)
    }

    fn run(&self, id: &RunId) -> Option<ScriptedRun> {
        self.runs.lock().unwrap().get(id).cloned()
    }

    fn stored(&self, id: &RunId) -> Option<RunReport> {
        self.kept.lock().unwrap().iter().find(|run| run.run_id == id.as_str()).cloned()
    }

    fn latest(&self, most: usize) -> Vec<RunReport> {
        let kept = self.kept.lock().unwrap();
        kept[kept.len().saturating_sub(most)..].to_vec()
    }

    fn out(&self) -> Vec<String> {
        self.out.lock().unwrap().clone()
    }

    async fn drain(&self, _grace: Duration) {
        for run in self.runs.lock().unwrap().values() {
            run.cancel();
        }
    }
}

/// A workflow with one text in and a list of bullets out.
pub fn workflow(name: &str, simulated: bool) -> Workflow {
    let schema = |field: &str, kind: Value| {
        Schema::compile(json!({
            "type": "object", "properties": {field: kind},
            "required": [field], "additionalProperties": false,
        }))
        .unwrap()
    };
    let provider = ProviderPlan {
        name: "p".to_owned(),
        billed_on_cancel: false,
        own_capacity: false,
        simulated,
    };
    Workflow {
        name: name.to_owned(),
        title: None,
        description: "Summarise a text for a busy reader.".to_owned(),
        file: PathBuf::from(format!("workflows/{name}.yaml")),
        version: "0123456789abcdef".to_owned(),
        plan: Arc::new(Plan {
            workflow: name.to_owned(),
            deadline: Duration::from_secs(20),
            budget: Budget::default(),
            steps: Vec::new(),
            models: Vec::new(),
            paths: Vec::new(),
            providers: vec![provider],
        }),
        input: Shape::object([("text", Shape::text())]),
        input_schema: schema("text", json!({"type": "string"})),
        vars: serde_json::Map::new(),
        steps: Vec::new(),
        output: Vec::new(),
        output_schema: schema("bullets", json!({"type": "array", "items": {"type": "string"}})),
        exposed: true,
    }
}
