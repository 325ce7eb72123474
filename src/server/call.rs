//! One `tools/call` of a workflow: from its arguments to the one answer it gets.
//!
//! Everything that happened is in the text, because models see nothing else; the same facts are in
//! `_meta["punctual/run"]` for programs. A tool's trouble is never a protocol error: clients hide those.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, MetaObject,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::runs::{Run, Runs};
use super::{Server, progress, text};
use crate::driver::CallOptions;
use crate::schema::Schema;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// Where a result carries the facts of its run.
pub(super) const RUN_META: &str = "punctual/run";
/// Where a request carries its caller's own deadline, in milliseconds.
pub(super) const DEADLINE_META: &str = "punctual/deadlineMs";
/// Largest output repeated as text, in bytes.
pub(super) const TEXT_MAX: usize = 1024 * 1024;
/// Largest output given out, in bytes.
pub(super) const OUTPUT_MAX: usize = 8 * 1024 * 1024;
/// Methods that this server serves, and that rmcp reports as unknown where their parameters do not fit.
const KNOWN_METHODS: [&str; 4] = ["initialize", "tools/list", "tools/call", "subscriptions/listen"];
/// Wait for a cancelled run to say what it cost.
const LAST_WORD: Duration = Duration::from_millis(300);

/// How the wait for a run ended.
enum End {
    /// With the run.
    Finished(RunReport),
    /// The caller withdrew the call; nobody reads what is answered.
    Withdrawn(RunReport),
    /// The answer had to leave before the run's end.
    HandedOver(RunReport, String),
    /// The connection is closing.
    Closing(RunReport),
}

/// Starts a run and answers when it ends, or when the call has to be handed over.
pub(super) async fn answer<H: Runs>(
    server: &Server<H>,
    workflow: &Arc<Workflow>,
    input: Value,
    mut options: CallOptions,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    options.content = server.options.content;
    match own_deadline(context) {
        Ok(Some(own)) => {
            options.deadline = Some(options.deadline.map_or(own, |other| other.min(own)));
        }
        Ok(None) => {}
        Err(problem) => return error(text::wrong_arguments(&workflow.name, &[problem])),
    }
    let run = match server.host.start(workflow, input, &options) {
        Ok(run) => run,
        Err(refusal) => return error(text::refusal(&workflow.name, &refusal)),
    };
    match follow(server, &run, context).await {
        End::Finished(report) => of_report(&report, &workflow.output_schema),
        End::Withdrawn(report) => error(text::failure(&report)).with_meta(Some(meta(&report))),
        End::HandedOver(report, phase) => {
            error(text::handed_over(&report, &phase)).with_meta(Some(meta(&report)))
        }
        End::Closing(report) => error(text::closing(&report)).with_meta(Some(meta(&report))),
    }
}

/// Waits for the run, telling its progress beside the wait.
async fn follow<H: Runs>(
    server: &Server<H>,
    run: &H::Run,
    context: &RequestContext<RoleServer>,
) -> End {
    let mut withdraw = Withdraw(Some(run.clone()));
    let end = tokio::select! {
        biased;
        report = run.finished() => End::Finished(report),
        () = context.ct.cancelled() => {
            run.cancel();
            End::Withdrawn(run.report())
        }
        () = server.drained() => {
            run.cancel();
            let report = timeout(LAST_WORD, run.finished()).await.unwrap_or_else(|_| run.report());
            // It may have ended in that very moment, and then its result counts.
            if report.output.is_some() { End::Finished(report) } else { End::Closing(report) }
        }
        () = hand_over(server) => {
            let phase = run.progress().borrow().phase.clone();
            End::HandedOver(run.report(), phase)
        }
        never = progress::tell(run, context.meta.get_progress_token(), &context.peer) => {
            match never {}
        }
    };
    withdraw.0 = None;
    end
}

/// The moment at which clients begin to hang up. Without the fixed tools nobody could fetch the result.
async fn hand_over<H: Runs>(server: &Server<H>) {
    match server.options.hand_over {
        Some(after) if server.options.fixed_tools => sleep(after).await,
        _ => std::future::pending().await,
    }
}

/// Withdraws a call whose answer is no longer waited for, should the handler be dropped.
struct Withdraw<R: Run>(Option<R>);

impl<R: Run> Drop for Withdraw<R> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.cancel();
        }
    }
}

fn own_deadline(context: &RequestContext<RoleServer>) -> Result<Option<Duration>, String> {
    let Some(value) = context.meta.get(DEADLINE_META) else { return Ok(None) };
    match value.as_u64() {
        Some(ms) if ms > 0 => Ok(Some(Duration::from_millis(ms))),
        _ => Err(format!(
            "/_meta/punctual~1deadlineMs: must be a whole number of milliseconds above 0, got {value}"
        )),
    }
}

/// Answers a request that rmcp could not read. It takes a known method whose parameters do not fit for an
/// unknown method; a call whose arguments are no object still is a call, and is answered as one.
pub(super) fn malformed(
    request: &CustomRequest,
    context: &RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let method = &request.method;
    if !KNOWN_METHODS.contains(&method.as_str()) {
        let shown: String = method.chars().take(80).collect();
        let message = format!("there is no method '{shown}'");
        return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
    }
    let params = request.params.as_ref();
    let named = params.and_then(|p| p.get("name")).and_then(Value::as_str);
    let arguments = params.and_then(|p| p.get("arguments"));
    let (Some(name), Some(arguments)) = (named.filter(|_| method == "tools/call"), arguments)
    else {
        let message = format!("the parameters of '{method}' do not have the form MCP gives them");
        return Err(ErrorData::invalid_params(message, None));
    };
    let shown: String = arguments.to_string().chars().take(80).collect();
    let problem = format!("/: the arguments must be an object, got {shown}");
    let name: String = name.chars().take(80).collect();
    let mut result = error(text::wrong_arguments(&name, &[problem]));
    if context.protocol_version().is_none_or(|v| v < ProtocolVersion::V_2026_07_28) {
        result.result_type = None;
    }
    Ok(CustomResult::new(json!(result)))
}

/// What a caller gets for an ended run.
pub(super) fn of_report(report: &RunReport, promise: &Schema) -> CallToolResult {
    let facts = Some(meta(report));
    let Some(output) = &report.output else {
        return error(text::failure(report)).with_meta(facts);
    };
    let violations = promise.violations(output);
    if !violations.is_empty() {
        tracing::error!(run = report.run_id, "an output does not fit its workflow's output schema");
        let lines: Vec<String> =
            violations.iter().map(|v| format!("{}: {}", v.pointer, v.message)).collect();
        return error(text::broken_promise(report, &lines.join("\n"))).with_meta(facts);
    }
    let json = output.to_string();
    if json.len() > OUTPUT_MAX {
        return error(text::too_large(report, json.len(), OUTPUT_MAX)).with_meta(facts);
    }
    let first = if json.len() > TEXT_MAX { text::structured_only(json.len()) } else { json };
    success(output.clone(), first, text::notes(report)).with_meta(facts)
}

/// A result with structured content, its text, and what else the model must know.
pub(super) fn success(structured: Value, first: String, second: Option<String>) -> CallToolResult {
    let content = std::iter::once(first).chain(second).map(ContentBlock::text).collect();
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result
}

/// A result that says what went wrong.
pub(super) fn error(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.into())])
}

/// The facts of a run, for programs.
pub(super) fn meta(report: &RunReport) -> MetaObject {
    let mut facts = json!({
        "run_id": report.run_id,
        "workflow": report.workflow,
        "outcome": report.outcome,
        "elapsed_ms": report.elapsed_ms,
        "deadline_ms": report.deadline_ms,
        "cost_usd": report.cost_usd,
        "cost_estimated": report.cost_estimated,
        "tokens": report.tokens,
        "attempts": text::attempts(report),
        "missing": report.missing,
        "unverified": report.unverified,
        "reused": report.reused,
        "simulated": report.simulated,
    });
    if let Some(failure) = &report.failure {
        facts["failure"] = json!(failure);
    }
    let mut meta = MetaObject::new();
    meta.insert(RUN_META.to_owned(), facts);
    meta
}
