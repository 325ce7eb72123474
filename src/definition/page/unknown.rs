//! Keys that may not stand where they stand, told apart.

use crate::definition::keys::{self, Place};
use crate::definition::page::{MISPLACED_KEY, Reader, UNKNOWN_KEY};
use crate::definition::yaml::Key;
use crate::domain::finding::did_you_mean;

impl Reader<'_> {
    /// A key of a later version.
    pub(super) fn reserved(&mut self, key: &Key, place: &Place) {
        let what = format!("`{}` in {}", key.name, place.name);
        self.not_yet(&key.span, &what, "remove it; its name is reserved for a later version");
    }

    /// A key that may not stand here: misplaced, of a later version, or misspelt.
    pub(super) fn unknown(&mut self, key: &Key, place: &Place) {
        if self.is_full() {
            return;
        }
        let name = key.name.as_str();
        let elsewhere = place.elsewhere(name);
        let slip = place.keys.iter().any(|key| strsim::levenshtein(key, name) == 1);
        if !elsewhere.is_empty() && !slip {
            let message = format!("'{name}' may not stand in {}", place.name);
            let top = elsewhere.iter().all(|place| place.starts_with("the top"));
            let at = if top { "at" } else { "under" };
            let help = format!("'{name}' belongs {at} {}", elsewhere.join(" or "));
            self.error(MISPLACED_KEY, &key.span, message).help(help);
            return;
        }
        if !slip && place.comes_later(name) {
            self.reserved(key, place);
            return;
        }
        if !slip && let Some(help) = foreign(name, place) {
            self.error(UNKNOWN_KEY, &key.span, format!("unknown key '{name}' in {}", place.name))
                .help(help);
            return;
        }
        let candidates = place.keys.iter().chain(place.later).copied();
        let help = match did_you_mean(name, candidates) {
            Some(near) if place.later.contains(&near) => {
                format!("'{near}' is not yet supported; ")
            }
            Some(near) => format!("did you mean '{near}'? "),
            None => String::new(),
        };
        let keys = place.keys.join(", ");
        self.error(UNKNOWN_KEY, &key.span, format!("unknown key '{name}' in {}", place.name))
            .help(format!("{help}keys: {keys}"));
    }
}

/// What other formats call things, and what to write here.
const OF_STEPS: [(&[&str], &str); 13] = [
    (
        &["depends_on", "dependsOn", "depends", "after", "requires"],
        "dependencies follow from what a step refers to; `needs: [step]` adds an order",
    ),
    (&["if", "condition", "run_if", "skip_if"], "write `when:` and an expression"),
    (
        &["for_each", "foreach", "forEach", "for", "loop", "map", "with_items", "over"],
        "write `each:` and a list, as plan.questions; `as:` names the item",
    ),
    (
        &["retry", "retries", "max_retries", "max_attempts", "tries"],
        "write `policy: {attempts: 4}`",
    ),
    (
        &["timeout", "timeout_s", "timeout_ms", "timeout_seconds", "time_limit"],
        "`deadline` at the top bounds the call; `policy: {cutoff: 5s}` when an attempt is no longer relied on",
    ),
    (&["name", "id"], "a step's name is its key; remove it"),
    (&["type", "kind", "uses", "action"], "a step with a `prompt` asks a model; remove it"),
    (
        &["schema", "response_format", "output_type", "returns", "response_model"],
        "write `output: {field: string}`, or `output_schema` for JSON Schema",
    ),
    (
        &["messages", "template", "user", "text", "question"],
        "write `prompt: |` and the text below it",
    ),
    (&["instructions", "system_prompt", "developer"], "write `system: |` and the text below it"),
    (
        &["fallback", "fallbacks", "provider", "models"],
        "a model's paths are its fallbacks: they stand in punctual.yaml, the step names the model",
    ),
    (
        &["parallel", "concurrency"],
        "steps run at once where they can; `max_parallel` bounds the items of an `each` step",
    ),
    (
        &["input", "inputs", "args", "with"],
        "a prompt refers to what it needs, as {{ input.text }} or {{ plan.questions }}",
    ),
];
const OF_WORKFLOWS: [(&[&str], &str); 6] = [
    (&["name", "id"], "the tool's name is the file's; `title` is for people"),
    (&["version", "apiVersion", "schema_version"], "there is one version of the format; remove it"),
    (&["timeout", "time_limit", "max_duration"], "write `deadline: 30s`"),
    (
        &["providers", "models", "api_key", "base_url", "limits", "workflows"],
        "it belongs into punctual.yaml, beside the folder of workflows",
    ),
    (&["nodes", "tasks", "jobs", "agents", "stages"], "write `steps:`, step name → {prompt: …}"),
    (
        &["variables", "env", "constants"],
        "write `vars:` for constants; secrets stand in punctual.yaml alone",
    ),
];

/// What to write for a key of another format.
fn foreign(name: &str, place: &Place) -> Option<&'static str> {
    let table: &[(&[&str], &str)] = if *place == keys::STEP {
        &OF_STEPS
    } else if *place == keys::WORKFLOW {
        &OF_WORKFLOWS
    } else if *place == keys::ANNOTATION && !name.starts_with('$') {
        return Some(
            "a mapping with `$` keys annotates one shape: its fields stand in `$type: {…}`",
        );
    } else {
        return None;
    };
    table.iter().find(|(words, _)| words.contains(&name)).map(|(_, help)| *help)
}
