//! The workflows that the program carries, for folders that hold none.

/// Shipped files, each under its relative path.
macro_rules! shipped {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../workflows/", $path)))),*]
    };
}

/// Relative path and content of every shipped file.
pub const FILES: &[(&str, &str)] = shipped![
    "summarize.yaml",
    "summarize.cases.yaml",
    "support_triage.yaml",
    "support_triage.cases.yaml",
    "inputs/summarize.json",
    "inputs/support_triage.json",
    "prompts/support_classify.md",
    "prompts/support_find_policy.md",
    "prompts/support_reply.md",
    "prompts/support_reply_task.md",
    "prompts/support_review.md",
    "prompts/support_review_task.md",
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
