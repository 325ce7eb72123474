//! The protocol over an in-memory connection, with rmcp's own client and scripted runs.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam,
    ProtocolVersion, Request, RequestMetaObject, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestHandle,
    RunningService, serve_client,
};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{ServeEnd, ServeError, ServerOptions, serve_on};
use crate::definition::catalog::{Catalog, Quarantined, load};
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::domain::finding::Code;
use crate::driver::Refusal;
use scripted::{Scripted, workflow};

mod call;
mod ending;
mod fixed;
mod list;
mod scripted;

/// What the server told the client unasked.
#[derive(Debug)]
enum Told {
    Progress(ProgressNotificationParam),
    ToolsChanged,
}

struct Listener(mpsc::Sender<Told>);

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(Told::Progress(params)).await;
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        let _ = self.0.send(Told::ToolsChanged).await;
    }
}

type Client = RunningService<RoleClient, Listener>;

/// A served connection and what a test needs to work on it.
struct Bench {
    host: Arc<Scripted>,
    catalog: watch::Sender<Arc<Catalog>>,
    client: Client,
    told: mpsc::Receiver<Told>,
    stop: CancellationToken,
    serving: JoinSet<Result<ServeEnd, ServeError>>,
}

fn catalog(names: &[&str], generation: u64) -> Arc<Catalog> {
    let workflows =
        names.iter().map(|name| ((*name).to_owned(), Arc::new(workflow(name, false)))).collect();
    let builtin = load(&Folder::builtin(), &Environment::default(), None);
    Arc::new(Catalog { workflows, quarantined: Vec::new(), generation, ..builtin })
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn bench_of(options: ServerOptions, lifecycle: Option<ClientLifecycleMode>) -> Bench {
    let host = Arc::new(Scripted::default());
    let (catalog, served) = watch::channel(catalog(&["summarize", "triage"], 1));
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(ours);
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    serving.spawn(serve_on(host.clone(), served, options, read, write, stop.clone()));
    let (tell, told) = mpsc::channel(1024);
    let client = match lifecycle {
        None => serve_client(Listener(tell), theirs).await.unwrap(),
        Some(mode) => Listener(tell).serve_with_lifecycle(theirs, mode).await.unwrap(),
    };
    Bench { host, catalog, client, told, stop, serving }
}

async fn bench() -> Bench {
    bench_of(ServerOptions::default(), None).await
}

fn request(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

impl Bench {
    /// Sends a call without waiting for its answer. rmcp's client always adds a progress token.
    async fn begin(&self, tool: &str, arguments: Value) -> RequestHandle<RoleClient> {
        self.begin_with(tool, arguments, RequestMetaObject::new()).await
    }

    async fn begin_with(
        &self,
        tool: &str,
        arguments: Value,
        meta: RequestMetaObject,
    ) -> RequestHandle<RoleClient> {
        let mut params = request(tool, arguments);
        params.meta = Some(meta);
        let call = ClientRequest::CallToolRequest(Request::new(params));
        self.client.send_cancellable_request(call, PeerRequestOptions::no_options()).await.unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        answer(self.begin(tool, arguments).await).await
    }

    /// A call of `summarize` that delivers.
    async fn delivered(
        &self,
        change: impl FnOnce(&mut crate::trace::report::RunReport),
    ) -> CallToolResult {
        let n = self.host.arrived.borrow().len() + 1;
        let call = self.begin("summarize", json!({"text": "t"})).await;
        let arrived = self.host.call(n).await;
        arrived.run.end(|report| {
            report.outcome = "delivered".to_owned();
            report.output = Some(json!({"bullets": ["a"]}));
            change(report);
        });
        answer(call).await
    }
}

async fn answer(call: RequestHandle<RoleClient>) -> CallToolResult {
    match call.await_response().await.unwrap() {
        ServerResult::CallToolResult(result) => result,
        other => panic!("not a tool result: {other:?}"),
    }
}

fn texts(result: &CallToolResult) -> Vec<&str> {
    result.content.iter().map(|block| block.as_text().unwrap().text.as_str()).collect()
}

fn facts(result: &CallToolResult) -> &Value {
    &result.meta.as_ref().unwrap()["punctual/run"]
}
