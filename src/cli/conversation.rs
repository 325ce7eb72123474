//! What models were sent and said in a run, for reading: one block an attempt.

use super::terminal::{Style, Terminal, tame};
use crate::trace::report::{AttemptReport, ContentReport, RunReport, StepReport};

/// Most lines of one text; `--json` has them all.
const LINES_MAX: usize = 200;

/// Every attempt's conversation, or how to have one kept.
#[must_use]
pub fn of(report: &RunReport, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    for step in &report.steps {
        for attempt in &step.attempts {
            if let Some(content) = &attempt.content {
                lines.extend(block(step, attempt, content, terminal));
            }
        }
    }
    if lines.is_empty() {
        let how = "The run has kept no content: 'run' and 'serve' keep it with --keep-content.";
        return vec![String::new(), how.to_owned()];
    }
    lines
}

fn block(
    step: &StepReport,
    attempt: &AttemptReport,
    content: &ContentReport,
    terminal: Terminal,
) -> Vec<String> {
    let item = step.item.map(|item| format!("[{item}]")).unwrap_or_default();
    let title = format!("{}{item}, attempt {} on {}", step.step, attempt.n, attempt.path);
    let mut lines = vec![String::new(), terminal.paint(Style::Bold, title).to_string()];
    let system = content.system.iter().map(|text| ("system", text.as_str()));
    let turns = content.messages.iter().map(|turn| (turn.role.as_str(), turn.text.as_str()));
    let answer = (!content.answer.is_empty()).then_some(("answer", content.answer.as_str()));
    for (who, text) in system.chain(turns).chain(answer) {
        lines.push(terminal.paint(Style::Dim, format!("{who}:")).to_string());
        lines.extend(text.lines().take(LINES_MAX).map(|line| format!("  {}", tame(line, false))));
        let more = text.lines().count().saturating_sub(LINES_MAX);
        if more > 0 {
            lines.push(format!("  … and {more} more lines; --json has them all"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::TurnReport;

    #[test]
    fn a_conversation_is_shown_turn_by_turn_and_cannot_steer_the_terminal() {
        let content = ContentReport {
            system: Some("Be exact.".to_owned()),
            messages: vec![TurnReport {
                role: "user".to_owned(),
                text: "one\ntwo\u{1b}[2J".to_owned(),
            }],
            schema: None,
            answer: "{}".to_owned(),
        };
        let attempt = AttemptReport {
            n: 2,
            path: "a/b".to_owned(),
            content: Some(content),
            ..AttemptReport::default()
        };
        let step = StepReport {
            step: "draft".to_owned(),
            item: Some(3),
            attempts: vec![attempt],
            ..StepReport::default()
        };
        let report = RunReport { steps: vec![step], ..RunReport::default() };
        let expected = [
            "",
            "draft[3], attempt 2 on a/b",
            "system:",
            "  Be exact.",
            "user:",
            "  one",
            "  two\u{FFFD}[2J",
            "answer:",
            "  {}",
        ];
        assert_eq!(of(&report, Terminal::plain(80)), expected);
        assert!(of(&RunReport::default(), Terminal::plain(80))[1].contains("--keep-content"));
    }
}
