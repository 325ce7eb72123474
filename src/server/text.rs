//! The texts people and models read. One place, so that they are edited as prose and held by snapshots.

use std::fmt::Write as _;
use std::time::Duration;

use crate::definition::catalog::Quarantined;
use crate::domain::id::RunId;
use crate::domain::money::Usd;
use crate::domain::time::show;
use crate::driver::Refusal;
use crate::trace::report::RunReport;

/// What a client shows its model about the whole server.
pub(super) const INSTRUCTIONS: &str = "\
Each tool is an LLM workflow that answers before its deadline (in its description) with validated JSON, or \
fails by then and says why. A failed call says whether calling it again can help; the same call made again \
continues from the steps that succeeded. If an answer names a run id instead of a result, call get_run with \
it. If a tool you expect is missing, list_workflows has the current list and run_workflow calls any of them.";

/// A tool's title.
pub(super) fn title(name: &str, title: Option<&str>, simulated: bool) -> String {
    let title = title.map_or_else(|| from_name(name), str::to_owned);
    if simulated { format!("{title} (SIMULATED)") } else { title }
}

/// A tool's description.
pub(super) fn description(text: &str, deadline: Duration, simulated: bool) -> String {
    let warning = if simulated {
        "SIMULATED: no model is configured, so every answer is made up by shape. Run `punctual doctor`.\n\n"
    } else {
        ""
    };
    format!(
        "{warning}{}\n\nAnswers within {}, or fails by then and says why.",
        text.trim(),
        show(deadline)
    )
}

/// What a run is at, in a progress notification.
pub(super) fn phase(id: &RunId, phase: &str, elapsed_ms: u64, deadline_ms: u64) -> String {
    let phase = if phase.is_empty() { "starting" } else { phase };
    let seconds = |ms: u64| ms / 1000;
    format!("{phase} · {} s of {} s · {id}", seconds(elapsed_ms), seconds(deadline_ms))
}

/// What the model must know beside a delivered or degraded output; `None` where there is nothing.
pub(super) fn notes(report: &RunReport) -> Option<String> {
    let mut lines = Vec::new();
    if report.simulated {
        lines.push(
            "SIMULATED: at least one answer in this result was made up by the simulator. Do not use it as fact."
                .to_owned(),
        );
    }
    if !report.unchecked.is_empty() {
        lines.push(format!(
            "UNCHECKED: made-up answers were not held to the `check` of: {}.",
            report.unchecked.join(", ")
        ));
    }
    if !report.missing.is_empty() {
        lines.push(format!(
            "DEGRADED: missing from this result: {}. The rest is valid.",
            report.missing.join(", ")
        ));
    }
    if !report.unverified.is_empty() {
        lines.push(format!(
            "DEGRADED: not confirmed by its validator: {}.",
            report.unverified.join(", ")
        ));
    }
    if report.outcome == "degraded" && report.missing.is_empty() && report.unverified.is_empty() {
        lines.push("DEGRADED: valid, but not all of what was asked for.".to_owned());
    }
    if !report.reused.is_empty() {
        lines.push(format!(
            "Reused from an earlier call with the same arguments: {}.",
            report.reused.join(", ")
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Why a run has no result, what it cost, and what to do.
pub(super) fn failure(report: &RunReport) -> String {
    let mut took = show(Duration::from_millis(report.elapsed_ms));
    if report.deadline_ms > 0 {
        let _ = write!(took, " of {}", show(Duration::from_millis(report.deadline_ms)));
    }
    let failure = report.failure.clone().unwrap_or_default();
    let mut text = if report.outcome == "cancelled" {
        format!("{} was cancelled after {took}.", report.workflow)
    } else {
        let at = failure.step.as_deref().map(|s| format!(" at step '{s}'")).unwrap_or_default();
        format!("{} failed{at} after {took}.", report.workflow)
    };
    if !failure.class.is_empty() && report.outcome != "cancelled" {
        let _ = write!(text, "\nCause: {}: {}", failure.class, failure.message);
    } else if !failure.message.is_empty() {
        let _ = write!(text, "\n{}", failure.message);
    }
    let _ = write!(text, "\n{}", spent(report));
    let retryable = failure.retryable.unwrap_or(report.outcome == "cancelled");
    let _ = write!(text, "\n{}", advice(retryable, failure.retry_after_ms, &report.validated));
    let id = &report.run_id;
    let _ = write!(text, "\nRun {id}; `punctual trace {id}` shows every attempt and decision.");
    text
}

/// What to do after a failure.
fn advice(retryable: bool, retry_after_ms: Option<u64>, kept: &[String]) -> String {
    if !retryable {
        return "Making the same call again will not help: the cause above has to change first."
            .to_owned();
    }
    let when = retry_after_ms
        .map_or_else(String::new, |ms| format!(" in {}", show(Duration::from_millis(ms))));
    if kept.is_empty() {
        return format!("Making the same call again{when} may help.");
    }
    format!(
        "Making the same call again{when} may help: it reuses what is already validated ({}) and pays only for the rest.",
        kept.join(", ")
    )
}

fn spent(report: &RunReport) -> String {
    let cost = Usd::from_dollars(report.cost_usd).unwrap_or(Usd::ZERO);
    let estimated = if report.cost_estimated { " (estimated)" } else { "" };
    let n = attempts(report);
    let plural = if n == 1 { "" } else { "s" };
    format!(
        "Spent {cost}{estimated}: {n} attempt{plural}, {} tokens in, {} out.",
        report.tokens.input, report.tokens.output
    )
}

/// Every attempt of a run, losers included.
pub(super) fn attempts(report: &RunReport) -> usize {
    report.steps.iter().map(|step| step.attempts.len()).sum()
}

/// A call that was not started.
pub(super) fn refusal(workflow: &str, refusal: &Refusal) -> String {
    match refusal {
        Refusal::InvalidInput(lines) => format!(
            "{workflow} was not started: the arguments do not fit its input schema.\n{lines}\nCorrect these and call it again; nothing was spent."
        ),
        Refusal::Full { message, retry_after } => format!(
            "{workflow} was not started: {message}\nCall it again in {}; nothing was spent.",
            show(*retry_after)
        ),
        Refusal::Closing => format!(
            "{workflow} was not started: the server is shutting down. Call it again once the server is back."
        ),
    }
}

/// Arguments of a fixed tool that do not fit.
pub(super) fn wrong_arguments(tool: &str, problems: &[String]) -> String {
    format!(
        "{tool} did nothing: its arguments do not fit its input schema.\n{}\nCorrect these and call it again.",
        problems.join("\n")
    )
}

/// A name that no tool has.
pub(super) fn unknown(kind: &str, name: &str, meant: Option<&str>, all: &[&str]) -> String {
    let shown: String = name.chars().take(80).collect();
    let mut text = format!("There is no {kind} '{shown}'.");
    if let Some(meant) = meant {
        let _ = write!(text, " Did you mean '{meant}'?");
    }
    if all.is_empty() {
        text.push_str(" No workflow is loaded; run `punctual check` to see why.");
    } else {
        let _ = write!(text, " There is: {}.", all.join(", "));
    }
    text
}

/// A workflow whose file has errors and that has no earlier version.
pub(super) fn quarantined(file: &Quarantined) -> String {
    format!(
        "The workflow '{}' cannot run: its file {} has errors.\n{}\nCorrect the file; it is loaded again as soon as it is saved.",
        file.name,
        file.file,
        file.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    )
}

/// What the model must know where `punctual.yaml` has errors; `None` where it has none.
pub(super) fn configuration(problems: usize) -> Option<String> {
    let errors = if problems == 1 { "an error".to_owned() } else { format!("{problems} errors") };
    (problems > 0).then(|| {
        format!(
            "The server's configuration has {errors} (configuration_problems): its last good version, if it had one, stays in force. It is loaded again as soon as it is saved."
        )
    })
}

/// What the model must know of providers that nothing is sent to; `None` where there are none.
pub(super) fn out(providers: &[String]) -> Option<String> {
    (!providers.is_empty()).then(|| format!("{}.", providers.join(".\n")))
}

/// A run that goes on while its call has to be answered.
pub(super) fn handed_over(report: &RunReport, phase: &str) -> String {
    let left = Duration::from_millis(report.deadline_ms.saturating_sub(report.elapsed_ms));
    format!(
        "{} is still running ({}). Its run id is {id}; it ends within {}. Call get_run with {{\"run_id\": \"{id}\", \"wait_s\": 45}} now to wait for the result. Do not call {} again.",
        report.workflow,
        if phase.is_empty() { "started" } else { phase },
        show(left),
        report.workflow,
        id = report.run_id,
    )
}

/// A run that was ended because the server stops.
pub(super) fn closing(report: &RunReport) -> String {
    format!("The server is shutting down.\n{}", failure(report))
}

/// A run that is under way, in `get_run`.
pub(super) fn running(report: &RunReport, phase: &str) -> String {
    let left = Duration::from_millis(report.deadline_ms.saturating_sub(report.elapsed_ms));
    format!(
        "{} is still running ({}); it ends within {}. Call get_run again.",
        report.workflow,
        if phase.is_empty() { "started" } else { phase },
        show(left)
    )
}

/// A run id that means nothing here.
pub(super) fn unknown_run(id: &str) -> String {
    let shown: String = id.chars().take(80).collect();
    format!(
        "There is no run '{shown}' in this server. Run ids look like run_0123456789abcdef; only the latest runs are kept, and `punctual runs` lists them."
    )
}

/// An output beyond what a client can take.
pub(super) fn too_large(report: &RunReport, bytes: usize, limit: usize) -> String {
    format!(
        "{} delivered {bytes} bytes, more than the {limit} a tool result may hold. Ask for less, or bound the workflow's output; `punctual run {} --json` prints an output of any size.",
        report.workflow, report.workflow
    )
}

/// Stands in for the JSON text of an output that is only given as structured content.
pub(super) fn structured_only(bytes: usize) -> String {
    format!("The output has {bytes} bytes and is in structuredContent only.")
}

/// An output that breaks the promise of the tool's `outputSchema`.
pub(super) fn broken_promise(report: &RunReport, lines: &str) -> String {
    format!(
        "{} ended with an output that does not fit its own output schema; it is withheld. This is a fault of punctual, please report it.\n{lines}\n{}\nRun {}.",
        report.workflow,
        spent(report),
        report.run_id
    )
}

/// Too many calls at once.
pub(super) const BUSY: &str = "Not started: too many calls are open on this connection. Wait for some to end, then call again.";

/// `support_triage` → `Support triage`.
fn from_name(name: &str) -> String {
    let spaced = name.replace('_', " ");
    let mut chars = spaced.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests;
