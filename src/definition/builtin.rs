//! The workflows that the program carries, for folders that hold none.

/// Shipped files, each under its relative path.
macro_rules! shipped {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../workflows/", $path)))),*]
    };
}

/// Relative path and content of every shipped file.
pub const FILES: &[(&str, &str)] = shipped![
    "invoice_ledger.yaml",
    "invoice_ledger.cases.yaml",
    "meeting_actions.yaml",
    "meeting_actions.cases.yaml",
    "release_notes.yaml",
    "release_notes.cases.yaml",
    "rfp_answers.yaml",
    "rfp_answers.cases.yaml",
    "summarize.yaml",
    "summarize.cases.yaml",
    "support_triage.yaml",
    "support_triage.cases.yaml",
    "inputs/invoice_ledger.json",
    "inputs/meeting_actions.json",
    "inputs/release_notes.json",
    "inputs/rfp_answers.json",
    "inputs/summarize.json",
    "inputs/support_triage.json",
    "prompts/invoice_place.md",
    "prompts/invoice_place_task.md",
    "prompts/invoice_read.md",
    "prompts/invoice_remark.md",
    "prompts/invoice_remark_task.md",
    "prompts/meeting_read.md",
    "prompts/meeting_settle.md",
    "prompts/meeting_settle_task.md",
    "prompts/release_classify.md",
    "prompts/release_draft.md",
    "prompts/release_draft_task.md",
    "prompts/release_migrate.md",
    "prompts/rfp_answer.md",
    "prompts/rfp_draft.md",
    "prompts/rfp_draft_task.md",
    "prompts/rfp_gaps.md",
    "prompts/rfp_plan.md",
    "prompts/rfp_review.md",
    "prompts/rfp_review_task.md",
    "prompts/support_classify.md",
    "prompts/support_find_policy.md",
    "prompts/support_reply.md",
    "prompts/support_reply_task.md",
    "prompts/support_review.md",
    "prompts/support_review_task.md",
    "schemas/rfp_draft.json",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_shipped_file_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows");
        let mut folders = vec![root.clone()];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                // For those who read the folder; nothing loads it.
                if name.ends_with("README.md") {
                    continue;
                }
                seen += 1;
                assert!(FILES.iter().any(|(carried, _)| *carried == name), "{name} is not carried");
            }
        }
        assert_eq!(seen, FILES.len());
    }
}
