//! A run in a few lines: how it ended, what it cost, what is missing, what to do.

use std::borrow::Cow;
use std::time::Duration;

use super::terminal::{Style, Terminal, wrap};
use crate::domain::money::Usd;
use crate::domain::time::show;
use crate::trace::report::{FailureReport, RunReport};

/// `1 attempt`, `3 attempts`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A list of violations, shortened to the first two: they make the point.
#[must_use]
pub fn few(text: &str) -> Cow<'_, str> {
    // Each begins with the JSON pointer of its value.
    let more = text.matches("; /").count().saturating_sub(1);
    match text.match_indices("; /").nth(1) {
        Some((end, _)) => Cow::Owned(format!("{} and {more} more", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// How a run ended and in which time: `delivered in 8.1 s of 20 s`.
#[must_use]
pub fn ending(report: &RunReport) -> String {
    let took = show(Duration::from_millis(report.elapsed_ms));
    let bound = show(Duration::from_millis(report.deadline_ms));
    match report.outcome.as_str() {
        "running" => format!("running for {took} of {bound}"),
        "failed" | "cancelled" => format!("{} after {took} of {bound}", report.outcome),
        other => format!("{other} in {took} of {bound}"),
    }
}

/// `$0.0031 (estimated) · 5 attempts · 812 tokens in, 240 out`.
#[must_use]
pub fn spent(report: &RunReport) -> String {
    let attempts = report.steps.iter().map(|step| step.attempts.len()).sum();
    let cost = Usd::from_dollars(report.cost_usd).unwrap_or(Usd::ZERO);
    let estimated = if report.cost_estimated { " (estimated)" } else { "" };
    let attempts = count(attempts, "attempt");
    let (input, output) = (report.tokens.input, report.tokens.output);
    format!("{cost}{estimated} · {attempts} · {input} tokens in, {output} out")
}

/// What a person must know beside a result: one line each.
#[must_use]
pub fn caveats(report: &RunReport, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    let mut odd = |text: String| {
        let painted = |line| terminal.paint(Style::Odd, line).to_string();
        lines.extend(wrap(&text, terminal.width).into_iter().map(painted));
    };
    if report.simulated {
        odd("SIMULATED: no model was asked; at least one answer was made up by the simulator."
            .to_owned());
    }
    if !report.unchecked.is_empty() {
        odd(format!(
            "UNCHECKED: made-up answers were not held to the `check` of: {}.",
            report.unchecked.join(", ")
        ));
    }
    if !report.missing.is_empty() {
        odd(format!("DEGRADED: missing: {}. The rest is valid.", report.missing.join(", ")));
    }
    if !report.unverified.is_empty() {
        let steps = report.unverified.join(", ");
        odd(format!("DEGRADED: no validator vouches for: {steps}."));
    }
    if !report.reused.is_empty() {
        odd(format!("Reused from an earlier run: {}.", report.reused.join(", ")));
    }
    lines
}

/// Why a run failed and what to do about it.
#[must_use]
pub fn failure(report: &RunReport, failure: &FailureReport, terminal: Terminal) -> Vec<String> {
    let at = failure.step.as_ref().map(|step| format!(" at step '{step}'")).unwrap_or_default();
    let first = format!("{} {}{at}: {}", report.workflow, ending(report), failure.class);
    let mut lines: Vec<String> = wrap(&first, terminal.width)
        .into_iter()
        .map(|line| terminal.paint(Style::Bad, line).to_string())
        .collect();
    let indent = |line: String| format!("  {line}");
    lines.extend(wrap(&few(&failure.message), terminal.width - 2).into_iter().map(indent));
    if report.outcome == "cancelled" {
        return lines;
    }
    let again = match (failure.retryable, failure.retry_after_ms) {
        (Some(true), Some(ms)) => {
            format!("The same call may fare better in {}.", show(Duration::from_millis(ms)))
        }
        (Some(true), None) => "The same call may fare better when made again.".to_owned(),
        (Some(false), _) => "The same call will fail again until the cause is mended.".to_owned(),
        (None, _) => return lines,
    };
    lines.push(indent(again));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_violations_is_told_by_its_first_two() {
        assert_eq!(few("/a: x; /b: y"), "/a: x; /b: y");
        assert_eq!(few("/a: x; /b: y; /c: z; /d: z"), "/a: x; /b: y and 2 more");
    }

    #[test]
    fn a_failure_says_where_why_and_what_to_do() {
        let failed = FailureReport {
            class: "rate_limited".to_owned(),
            step: Some("draft".to_owned()),
            message: "every path of 'balanced' is throttled".to_owned(),
            retryable: Some(true),
            retry_after_ms: Some(7_000),
            evidence: None,
        };
        let report = RunReport {
            workflow: "rfp".to_owned(),
            outcome: "failed".to_owned(),
            elapsed_ms: 1_500,
            deadline_ms: 20_000,
            ..RunReport::default()
        };
        let lines = failure(&report, &failed, Terminal::plain(100));
        assert_eq!(
            lines.join("\n"),
            "rfp failed after 1.5 s of 20 s at step 'draft': rate_limited\n  \
             every path of 'balanced' is throttled\n  \
             The same call may fare better in 7 s."
        );
    }
}
