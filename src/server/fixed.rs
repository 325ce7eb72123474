//! The four tools beside the workflows. Some clients never look at a refreshed list, and all hang up on long
//! calls: with these, any workflow can be found, called, waited for and stopped.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::argument::Arguments;
use super::measured::{Measured, SAMPLE};
use super::runs::{Run, Runs};
use super::tool::{schema, simulated};
use super::{Server, call, progress, text};
use crate::definition::catalog::Catalog;
use crate::definition::diagnostic::Diagnostic;
use crate::domain::finding::did_you_mean;
use crate::domain::id::RunId;
use crate::driver::CallOptions;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// Their names, which no workflow may have.
pub(super) const FIXED_TOOLS: [&str; 4] =
    ["list_workflows", "run_workflow", "get_run", "cancel_run"];

/// A request to `get_run` whose `_meta` holds `true` under this gets the whole run report under it: for
/// programs that draw a run; models do not see `_meta`.
pub(super) const REPORT_META: &str = "punctual/report";
/// Longest wait of `get_run`: clients hang up after 60 s.
const WAIT_MAX: Duration = Duration::from_secs(50);
/// Wait of `get_run` where the caller names none.
const WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// Wait of `cancel_run` for the run's end.
const CANCEL_WAIT: Duration = Duration::from_secs(1);
/// Shortest deadline a caller may ask for.
const DEADLINE_MIN: Duration = Duration::from_millis(100);

/// The definitions, in the order of [`FIXED_TOOLS`].
pub(super) fn tools() -> Vec<Tool> {
    vec![list_tool(), run_tool(), get_tool(), cancel_tool()]
}

fn list_tool() -> Tool {
    let workflow = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "deadline_s": {"type": "number", "description": "A call ends within this many seconds"},
        "simulated": {"type": "boolean", "description": "Every answer is made up"},
        "input_schema": {"type": "object", "description": "JSON Schema of the arguments"},
        "output_schema": {"type": "object", "description": "JSON Schema of the result"},
        "measured": {"type": "object", "description": "From the runs that are kept; absent without any", "properties": {
            "runs": {"type": "integer", "description": "How many"},
            "typical_s": {"type": "number", "description": "Median seconds"},
            "on_time_rate": {"type": "number", "description": "Share that ended with a result in time, 0 to 1"},
            "typical_cost_usd": {"type": "number", "description": "Median cost"},
        }, "required": ["runs", "typical_s", "on_time_rate", "typical_cost_usd"]},
    }, "required": ["name", "title", "description", "deadline_s", "simulated", "input_schema"]});
    let quarantined = json!({"type": "object", "properties": {
        "file": {"type": "string"},
        "name": {"type": "string"},
        "serving_previous": {"type": "boolean", "description": "Its last good version still runs"},
        "diagnostics": {"type": "array", "items": {"type": "string"}},
    }, "required": ["file", "name", "serving_previous", "diagnostics"]});
    tool(
        "list_workflows",
        "List workflows",
        "Lists every workflow that can be called now, with its input schema and deadline, and every workflow \
         file that has errors, with typical time, on-time rate and cost as measured. Use it when a tool you expect is missing or has changed.",
        &json!({"type": "object", "properties": {}, "additionalProperties": false}),
        &json!({"type": "object", "properties": {
            "workflows": {"type": "array", "items": workflow},
            "quarantined": {"type": "array", "items": quarantined},
            "providers_out": {"type": "array", "items": {"type": "string"}, "description": "Providers that nothing is sent to, each with why and until when; absent without any"},
            "configuration_problems": {"type": "array", "items": {"type": "string"}, "description": "Errors of punctual.yaml; its last good version, if it had one, stays in force"},
        }, "required": ["workflows", "quarantined", "configuration_problems"]}),
    )
    .annotate(reading("List workflows"))
}

fn run_tool() -> Tool {
    tool(
        "run_workflow",
        "Run a workflow",
        "Calls a workflow by name, exactly like the tool of that name; for workflows that your tool list does \
         not show. Pass its arguments as the object 'input'. The result is the workflow's output.",
        &json!({"type": "object", "properties": {
            "workflow": {"type": "string", "description": "A name from list_workflows"},
            "input": {"type": "object", "description": "The workflow's arguments, as its input schema says"},
            "deadline_s": {"type": "number", "description": "Answer within this many seconds; only shortens the workflow's own deadline"},
            "fresh": {"type": "boolean", "description": "Start anew instead of continuing an earlier call with the same arguments"},
        }, "required": ["workflow", "input"], "additionalProperties": false}),
        &json!({"type": "object", "description": "The workflow's output, as its output schema says"}),
    )
    .annotate(
        ToolAnnotations::with_title("Run a workflow")
            .read_only(false)
            .destructive(false)
            .idempotent(false)
            .open_world(true),
    )
}

fn get_tool() -> Tool {
    tool(
        "get_run",
        "Get a run",
        "Waits for a run to end and returns its result. Use it with the run id that a call named instead of a \
         result, or after your client gave up waiting. Returns at once if the run has ended; otherwise after \
         wait_s seconds with outcome 'running': then call it again.",
        &json!({"type": "object", "properties": {
            "run_id": {"type": "string", "description": "run_ and 16 hex digits"},
            "wait_s": {"type": "number", "description": "Seconds to wait for the end: 0 to 50, 30 by default"},
        }, "required": ["run_id"], "additionalProperties": false}),
        &run_schema(),
    )
    .annotate(reading("Get a run"))
}

fn cancel_tool() -> Tool {
    tool(
        "cancel_run",
        "Cancel a run",
        "Stops a run that is under way, so that it spends no more. What its steps have validated is kept: the \
         same call made again continues from there.",
        &json!({"type": "object", "properties": {
            "run_id": {"type": "string", "description": "run_ and 16 hex digits"},
        }, "required": ["run_id"], "additionalProperties": false}),
        &run_schema(),
    )
    .annotate(
        ToolAnnotations::with_title("Cancel a run")
            .read_only(false)
            .destructive(false)
            .idempotent(true)
            .open_world(false),
    )
}

fn run_schema() -> Value {
    json!({"type": "object", "properties": {
        "run_id": {"type": "string"},
        "workflow": {"type": "string"},
        "outcome": {"type": "string", "enum": ["delivered", "degraded", "failed", "cancelled", "running"]},
        "phase": {"type": "string", "description": "What it is at, while it runs"},
        "simulated": {"type": "boolean"},
        "output": {"type": "object", "description": "The workflow's output, once delivered or degraded"},
        "missing": {"type": "array", "items": {"type": "string"}},
        "unverified": {"type": "array", "items": {"type": "string"}},
        "reused": {"type": "array", "items": {"type": "string"}},
        "failure": {"type": "object", "properties": {
            "class": {"type": "string"},
            "step": {"type": "string"},
            "message": {"type": "string"},
            "retryable": {"type": "boolean"},
            "retry_after_ms": {"type": "integer"},
        }},
        "elapsed_ms": {"type": "integer"},
        "deadline_ms": {"type": "integer"},
        "cost_usd": {"type": "number"},
        "cost_estimated": {"type": "boolean"},
        "tokens": {"type": "object", "properties": {"in": {"type": "integer"}, "out": {"type": "integer"}}},
    }, "required": ["run_id", "workflow", "outcome", "simulated", "elapsed_ms", "deadline_ms"]})
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: &Value,
    output: &Value,
) -> Tool {
    Tool::new(name, description, schema(input))
        .with_title(title)
        .with_raw_output_schema(schema(output))
}

fn reading(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false)
}

/// Calls the fixed tool `name`; `None` where there is none of that name.
pub(super) async fn answer<H: Runs>(
    server: &Server<H>,
    name: &str,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Option<CallToolResult> {
    let arguments = Arguments::new(arguments);
    Some(match name {
        "list_workflows" => list_workflows(server, arguments).await,
        "run_workflow" => run_workflow(server, arguments, context).await,
        "get_run" => get_run(server, arguments, context).await,
        "cancel_run" => cancel_run(server, arguments).await,
        _ => return None,
    })
}

async fn list_workflows<H: Runs>(server: &Server<H>, arguments: Arguments) -> CallToolResult {
    let problems = arguments.problems();
    if !problems.is_empty() {
        return call::error(text::wrong_arguments("list_workflows", &problems));
    }
    let host = server.host.clone();
    // Without the kept runs the listing still is what was asked for.
    let kept = spawn_blocking(move || host.latest(SAMPLE)).await.unwrap_or_default();
    let measured = Measured::of(&kept);
    let catalog = server.catalog();
    let shown = |found: &[Diagnostic]| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let exposed = catalog.workflows.values().filter(|w| w.exposed);
    let workflows: Vec<Value> = exposed.map(|w| listed(w, measured.workflow(w))).collect();
    let quarantined = catalog.quarantined.iter().map(|q| {
        json!({
            "file": q.file,
            "name": q.name,
            "serving_previous": q.serving_previous,
            "diagnostics": shown(&q.diagnostics),
        })
    });
    let mut listing = json!({
        "workflows": workflows,
        "quarantined": quarantined.collect::<Vec<_>>(),
        "configuration_problems": shown(&catalog.configuration_problems),
    });
    let out = server.host.out();
    let problems = catalog.configuration_problems.len();
    let notes: Vec<String> =
        [text::configuration(problems), text::out(&out)].into_iter().flatten().collect();
    if !out.is_empty() {
        listing["providers_out"] = json!(out);
    }
    let json = listing.to_string();
    call::success(listing, json, (!notes.is_empty()).then(|| notes.join("\n")))
}

fn listed(workflow: &Workflow, measured: Option<Value>) -> Value {
    let mut listed = json!({
        "name": workflow.name,
        "title": text::title(&workflow.name, workflow.title.as_deref(), simulated(workflow)),
        "description": workflow.description.trim(),
        "deadline_s": workflow.plan.deadline.as_secs_f64(),
        "simulated": simulated(workflow),
        "input_schema": workflow.input_schema.source(),
        "output_schema": workflow.output_schema.source(),
    });
    if let Some(measured) = measured {
        listed["measured"] = measured;
    }
    listed
}

async fn run_workflow<H: Runs>(
    server: &Server<H>,
    mut arguments: Arguments,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let name = arguments.text("workflow");
    let input = arguments.object("input");
    let deadline = arguments.seconds("deadline_s", DEADLINE_MIN);
    let fresh = arguments.flag("fresh");
    let problems = arguments.problems();
    if !problems.is_empty() {
        return call::error(text::wrong_arguments("run_workflow", &problems));
    }
    let catalog = server.catalog();
    match catalog.workflows.get(&name).filter(|w| w.exposed) {
        Some(workflow) => {
            call::answer(
                server,
                workflow,
                input,
                CallOptions { deadline, fresh, ..CallOptions::default() },
                context,
            )
            .await
        }
        None => call::error(missing(&catalog, "workflow", &name, &[])),
    }
}

async fn get_run<H: Runs>(
    server: &Server<H>,
    mut arguments: Arguments,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let id = arguments.text("run_id");
    let wait = arguments.seconds("wait_s", Duration::ZERO).unwrap_or(WAIT_DEFAULT).min(WAIT_MAX);
    let problems = arguments.problems();
    if !problems.is_empty() {
        return call::error(text::wrong_arguments("get_run", &problems));
    }
    let Some(run) = RunId::parse(&id).and_then(|id| server.host.run(&id)) else {
        return stored(server, &id, context).await;
    };
    let report = tokio::select! {
        biased;
        report = run.finished() => report,
        () = sleep(wait) => run.report(),
        () = context.ct.cancelled() => run.report(),
        () = server.closing.cancelled() => run.report(),
        never = progress::tell(&run, context.meta.get_progress_token(), &context.peer) => match never {},
    };
    let result = of_run(&report, &run.progress().borrow().phase);
    whole(result, &report, context)
}

/// The result, with the whole report beside it where the caller asked for that.
fn whole(
    result: CallToolResult,
    report: &RunReport,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    if context.meta.get(REPORT_META) != Some(&Value::Bool(true)) {
        return result;
    }
    let mut meta = call::meta(report);
    meta.insert(REPORT_META.to_owned(), json!(report));
    result.with_meta(Some(meta))
}

/// A run that this process does not know: it may be one that ended before the server was restarted.
async fn stored<H: Runs>(
    server: &Server<H>,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let unknown = || call::error(text::unknown_run(id));
    let Some(run) = RunId::parse(id) else { return unknown() };
    let host = server.host.clone();
    let found = spawn_blocking(move || host.stored(&run)).await;
    let Ok(Some(report)) = found else { return unknown() };
    whole(of_run(&report, ""), &report, context)
}

async fn cancel_run<H: Runs>(server: &Server<H>, mut arguments: Arguments) -> CallToolResult {
    let id = arguments.text("run_id");
    let problems = arguments.problems();
    if !problems.is_empty() {
        return call::error(text::wrong_arguments("cancel_run", &problems));
    }
    let Some(run) = RunId::parse(&id).and_then(|id| server.host.run(&id)) else {
        return call::error(text::unknown_run(&id));
    };
    run.stop();
    let report = timeout(CANCEL_WAIT, run.finished()).await.unwrap_or_else(|_| run.report());
    of_run(&report, &run.progress().borrow().phase)
}

/// A run as `get_run` and `cancel_run` show it. That it failed is their answer, not their failure.
fn of_run(report: &RunReport, phase: &str) -> CallToolResult {
    let running = report.outcome == "running";
    let mut view = json!({
        "run_id": report.run_id,
        "workflow": report.workflow,
        "outcome": report.outcome,
        "simulated": report.simulated,
        "missing": report.missing,
        "unverified": report.unverified,
        "reused": report.reused,
        "elapsed_ms": report.elapsed_ms,
        "deadline_ms": report.deadline_ms,
        "cost_usd": report.cost_usd,
        "cost_estimated": report.cost_estimated,
        "tokens": report.tokens,
    });
    if running {
        view["phase"] = json!(phase);
    }
    if let Some(output) = &report.output {
        view["output"] = output.clone();
    }
    if let Some(failure) = &report.failure {
        let mut failure = json!(failure);
        if let Some(object) = failure.as_object_mut() {
            object.retain(|_, value| !value.is_null());
        }
        view["failure"] = failure;
    }
    let said = if running {
        Some(text::running(report, phase))
    } else if report.output.is_some() {
        text::notes(report)
    } else {
        Some(text::failure(report))
    };
    let json = view.to_string();
    if json.len() > call::OUTPUT_MAX {
        let too_large = text::too_large(report, json.len(), call::OUTPUT_MAX);
        return call::error(too_large).with_meta(Some(call::meta(report)));
    }
    let bytes = json.len();
    let first = if bytes > call::TEXT_MAX { text::structured_only(bytes) } else { json };
    call::success(view, first, said).with_meta(Some(call::meta(report)))
}

/// Why there is no workflow or tool of that name.
pub(super) fn missing(catalog: &Catalog, kind: &str, name: &str, more: &[&str]) -> String {
    let stopped = catalog.quarantined.iter().find(|q| q.name == name && !q.serving_previous);
    if let Some(stopped) = stopped {
        return text::quarantined(stopped);
    }
    let exposed = catalog.workflows.values().filter(|w| w.exposed);
    let mut all: Vec<&str> = exposed.map(|w| w.name.as_str()).collect();
    all.extend(more);
    text::unknown(kind, name, did_you_mean(name, all.iter().copied()), &all)
}
