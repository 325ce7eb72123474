//! The JSON Schemas that editors use: as committed they are what the types say, they know the keys that the loader
//! knows, place by place, and they say of a value what the loader says.
//!
//! `UPDATE_SCHEMAS=1 cargo test --test schemas` writes the committed files anew.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

use punctual::definition::catalog::{load_cases, load_file};
use punctual::definition::config::{self, Configuration};
use punctual::definition::diagnostic::Diagnostic;
use punctual::definition::editor::Document;
use punctual::definition::environment::Environment;
use punctual::definition::keys::{self, Place};
use punctual::definition::page::{Page, to_json};
use punctual::definition::source::Source;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn schema(document: Document) -> Value {
    serde_json::from_str(document.text()).unwrap()
}

fn validator(document: Document) -> jsonschema::Validator {
    jsonschema::draft7::new(&schema(document)).unwrap()
}

/// The YAML files of a folder; of a file, itself.
fn files(place: &str) -> Vec<PathBuf> {
    let path = root().join(place);
    if path.is_file() {
        return vec![path];
    }
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    files.sort();
    files
}

fn document_of(file: &Path) -> Document {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    if name.ends_with(".cases.yaml") {
        Document::Cases
    } else if name == "punctual.yaml" {
        Document::Config
    } else {
        Document::Workflow
    }
}

/// What a file holds, as JSON; `None` where it is not YAML.
fn content(file: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    let mut found = Vec::new();
    let page = Page::parse(Source::new("file.yaml", text), &mut found)?;
    found.is_empty().then(|| to_json(&page.root))
}

/// The simulator's models, so that no key is needed.
fn configuration() -> Configuration {
    Configuration::simulated("calm", 1)
}

#[test]
fn the_committed_schemas_are_what_the_types_say() {
    for document in Document::ALL {
        let path = root().join("schemas").join(document.file_name());
        let generated = document.generate();
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert!(
            committed == generated,
            "{} is not what the types say: UPDATE_SCHEMAS=1 cargo test --test schemas",
            document.file_name()
        );
    }
}

#[test]
fn the_schemas_are_sound_and_every_key_is_explained() {
    for document in Document::ALL {
        let schema = schema(document);
        assert!(jsonschema::draft7::meta::is_valid(&schema), "{document:?}");
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
        let mut silent = Vec::new();
        walk(&schema, "", &mut |pointer, part| {
            for (key, value) in part["properties"].as_object().into_iter().flatten() {
                let about = value["description"].as_str().unwrap_or("");
                if !about.ends_with('.') || about.contains('`') || about.contains('\n') {
                    silent.push(format!("{pointer}/properties/{key}: {about:?}"));
                }
            }
        });
        assert!(silent.is_empty(), "{document:?}: {silent:#?}");
    }
}

/// Every schema that says what may stand somewhere; rules among keys are no places.
fn walk(schema: &Value, pointer: &str, seen: &mut dyn FnMut(&str, &Value)) {
    let Value::Object(map) = schema else { return };
    seen(pointer, schema);
    for (name, inner) in map {
        let each = |of: &Map<String, Value>| -> Vec<(String, Value)> {
            of.iter().map(|(key, value)| (format!("/{key}"), value.clone())).collect()
        };
        let parts = match (name.as_str(), inner) {
            ("properties" | "patternProperties" | "definitions", Value::Object(of)) => each(of),
            ("items" | "additionalProperties", inner) => vec![(String::new(), inner.clone())],
            ("allOf" | "anyOf", Value::Array(of)) => {
                of.iter().enumerate().map(|(ix, part)| (format!("/{ix}"), part.clone())).collect()
            }
            _ => continue,
        };
        for (key, part) in parts {
            walk(&part, &format!("{pointer}/{name}{key}"), seen);
        }
    }
}

/// Where each place of the loader's key tables stands in a schema.
fn places(document: Document) -> Vec<(String, &'static Place)> {
    let under = |base: &str, policy: bool, place: &'static Place| {
        let mut places = vec![(base.to_owned(), place)];
        if policy {
            let policy = format!("{base}/properties/policy");
            places.push((format!("{policy}/properties/on"), &keys::ON));
            places.push((format!("{policy}/properties/cutoff"), &keys::CUTOFF));
            places.push((format!("{policy}/properties/hedge"), &keys::HEDGE));
            places.push((policy, &keys::POLICY));
        }
        places
    };
    match document {
        Document::Workflow => [
            under("", false, &keys::WORKFLOW),
            under("/properties/budget", false, &keys::BUDGET),
            under("/properties/defaults", true, &keys::DEFAULTS),
            under("/properties/steps/additionalProperties", true, &keys::STEP),
            under("/definitions/shape", false, &keys::ANNOTATION),
        ]
        .concat(),
        Document::Config => {
            let provider = "/properties/providers/additionalProperties";
            let model = "/properties/models/additionalProperties";
            let path = format!("{model}/properties/paths/items");
            [
                under("", false, &keys::CONFIGURATION),
                under(provider, false, &keys::PROVIDER),
                under(&format!("{provider}/properties/limits"), false, &keys::PROVIDER_LIMITS),
                under(&format!("{provider}/properties/api_key"), false, &keys::SECRET),
                under(
                    &format!("{provider}/properties/headers/additionalProperties"),
                    false,
                    &keys::SECRET,
                ),
                under(model, false, &keys::MODEL),
                under(&path, false, &keys::PATH),
                under(&format!("{path}/properties/price"), false, &keys::PRICE),
                under("/properties/defaults", true, &keys::SERVER_DEFAULTS),
                under("/properties/defaults/properties/budget", false, &keys::BUDGET),
                under("/properties/limits", false, &keys::SERVER_LIMITS),
            ]
            .concat()
        }
        Document::Cases => {
            let expect = "/items/properties/expect";
            [
                under("/items", false, &keys::CASE),
                under(expect, false, &keys::EXPECT),
                under(&format!("{expect}/properties/failure"), false, &keys::EXPECT_FAILURE),
                under(
                    &format!("{expect}/properties/steps/additionalProperties"),
                    false,
                    &keys::EXPECT_STEP,
                ),
            ]
            .concat()
        }
    }
}

/// Marks of ours among keys that are the workflow's: where, and which.
fn marks(document: Document, pointer: &str) -> Option<Vec<&'static str>> {
    match (document, pointer) {
        (Document::Cases, "/items/properties/input") => Some(vec!["$file"]),
        (Document::Cases, "/definitions/answer") => {
            Some([keys::ATTEMPTS.keys, keys::FATE.keys].concat())
        }
        _ => None,
    }
}

#[test]
fn schemas_and_key_tables_know_the_same_keys_in_the_same_places() {
    for document in Document::ALL {
        let schema = schema(document);
        let places: BTreeMap<String, &Place> = places(document).into_iter().collect();
        let mut seen = Vec::new();
        walk(&schema, "", &mut |pointer, part| {
            let Some(properties) = part["properties"].as_object() else { return };
            if let Some(marks) = marks(document, pointer) {
                assert!(properties.keys().eq(marks.iter()), "{document:?} {pointer}: {marks:?}");
                return;
            }
            let Some(place) = places.get(pointer) else {
                seen.push(format!("{pointer} has keys, and is no place of the key tables"));
                return;
            };
            let mut ours: Vec<&str> = place.keys.to_vec();
            let mut theirs: Vec<&str> = properties.keys().map(String::as_str).collect();
            ours.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(ours, theirs, "{document:?} {pointer}, {}", place.name);
            let extensible = part["patternProperties"].get("^x-").is_some();
            assert_eq!(extensible, place.extensible, "{document:?} {pointer}: x-… keys");
            // Fields of a shape are free; which annotations there are is a matter of their names.
            let closed = part["additionalProperties"] == Value::Bool(false);
            assert_eq!(closed, *place != &keys::ANNOTATION, "{document:?} {pointer} is open");
        });
        assert!(seen.is_empty(), "{document:?}: {seen:#?}");
        for pointer in places.keys() {
            let part = schema.pointer(pointer);
            assert!(part.is_some_and(|p| p["properties"].is_object()), "{document:?} {pointer}");
        }
    }
}

#[test]
fn every_file_that_loads_fits_its_schema() {
    let folders = [
        "workflows",
        "tests/definitions/good",
        "tests/definitions/punctual.yaml",
        "tests/clients/folder/workflows",
        "tests/clients/folder/punctual.yaml",
        "tests/cases/failing.cases.yaml",
        "tests/cases/warned",
    ];
    let mut unfit = Vec::new();
    let files: Vec<PathBuf> = folders.into_iter().flat_map(files).collect();
    assert!(files.len() >= 8);
    for file in files {
        let validator = validator(document_of(&file));
        let value = content(&file).unwrap();
        unfit.extend(
            validator
                .iter_errors(&value)
                .map(|error| format!("{}: {}: {error}", file.display(), error.instance_path())),
        );
    }
    assert!(unfit.is_empty(), "{unfit:#?}");
}

/// Codes of mistakes that can be seen without looking beyond the place itself.
const LOCAL: [&str; 8] = ["P0104", "P0105", "P0106", "P0107", "P0108", "P0109", "P0110", "P0111"];

/// Files in which such a mistake needs more than a schema knows.
const BEYOND: [&str; 2] = ["deadline_range.yaml", "input.cases.yaml"];

#[test]
fn files_with_a_mistake_that_a_schema_can_see_do_not_fit() {
    let configuration = configuration();
    let mut missed = Vec::new();
    let mut checked = 0;
    for file in files("tests/definitions/bad") {
        let found = load_file(&file, &configuration).diagnostics;
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let seen = found.iter().any(|d| d.is_error() && LOCAL.contains(&d.code.0));
        let Some(value) = content(&file).filter(|_| seen) else { continue };
        checked += 1;
        if validator(Document::Workflow).is_valid(&value) != BEYOND.contains(&name.as_str()) {
            missed.push(name);
        }
    }
    assert!(checked >= 20, "{checked}");
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn cases_with_a_mistake_that_a_schema_can_see_do_not_fit() {
    let workflow = load_file(&root().join("tests/cases/triage.yaml"), &configuration()).workflow;
    let mut missed = Vec::new();
    let mut checked = 0;
    for file in files("tests/cases/bad") {
        let found = load_cases(&file, workflow.as_deref()).diagnostics;
        let seen = found.iter().any(|d| d.is_error() && LOCAL.contains(&d.code.0));
        let Some(value) = content(&file).filter(|_| seen) else { continue };
        checked += 1;
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if validator(Document::Cases).is_valid(&value) != BEYOND.contains(&name.as_str()) {
            missed.push(file);
        }
    }
    assert!(checked >= 3, "{checked}");
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn case_values_are_right_or_wrong_for_loader_and_schema_alike() {
    let file = root().join("tests/cases/triage.yaml");
    let workflow = load_file(&file, &configuration()).workflow.unwrap();
    let base = json!([{"name": "n", "input": content(&root().join("tests/cases/failing.cases.yaml")).unwrap()[0]["input"]}]);
    let step = workflow.steps[0].name.as_str();
    let groups: [(&[&str], &Place); 4] = [
        (&["0"], &keys::CASE),
        (&["0", "expect"], &keys::EXPECT),
        (&["0", "expect", "failure"], &keys::EXPECT_FAILURE),
        (&["0", "expect", "steps", step], &keys::EXPECT_STEP),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("triage.cases.yaml");
    let validator = validator(Document::Cases);
    let read = |written: &Value| {
        std::fs::write(&file, written.to_string()).unwrap();
        load_cases(&file, Some(&workflow)).diagnostics
    };
    assert!(!read(&base).iter().any(Diagnostic::is_error), "{:?}", read(&base));
    let mut differing = Vec::new();
    for (path, place) in groups {
        for key in place.keys {
            let path: Vec<&str> = path.iter().chain([key]).copied().collect();
            for value in tried(&validator, &base, &path) {
                let written = with(&base, &path, &value);
                let pointer = format!("/{}", path.join("/"));
                differing.extend(differ(&validator, &written, &pointer, &read(&written)));
            }
        }
    }
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn shipped_files_begin_with_the_place_of_their_schema() {
    let mut wrong = Vec::new();
    for file in files("workflows") {
        let text = std::fs::read_to_string(&file).unwrap();
        let line = document_of(&file).modeline("../schemas");
        if text.lines().next() != Some(&line) {
            wrong.push(format!("{} does not begin with: {line}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Values of every kind, at and beyond the bounds of the keys.
fn values() -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(""),
        json!("  "),
        json!([]),
        json!({}),
        json!([{}]),
        json!([null]),
        json!(["a"]),
        json!([5]),
        json!({"a": "a"}),
        json!({"a": 5}),
        json!({"A b": "a"}),
        json!({"strange": 1}),
        json!({"env": "NAME"}),
        json!({"env": "sk-1"}),
        json!({"file": "key"}),
        json!({"env": "A", "file": "B"}),
        json!({"in": 1, "out": 2}),
        json!({"in": 1}),
        json!({"after": "2s", "max_extra": "5%"}),
        json!({"after": 2}),
        json!({"max_extra": "5%"}),
        json!({"total": "2s"}),
        json!({"total": 2}),
        json!({"provider": "a", "model": "m"}),
        json!([{"provider": "a", "model": "m"}]),
        json!([{"provider": "a"}]),
        json!(["json", "tools"]),
        json!("http://example.com/v1"),
        json!("ftp://example.com"),
        json!("https://user@example.com"),
    ];
    let bounds = [5, 7, 8, 255, 256, 1_000, 100_000, 1_000_000, 1_073_741_824, 4_294_967_295];
    let numbers = bounds.iter().flat_map(|n: &u64| [*n, n + 1]).chain([0, 1, 2, 3, u64::MAX]);
    values.extend(numbers.map(Value::from));
    values.extend([-1.0, -0.5, 0.5, 1.5, 2.5, 1_000_000.5].map(Value::from));
    let texts = [
        "2s", "2 s", "1.5s", "1500ms", "2", "2.s", "-1s", "2sec", "s", "80%", "80 %", "12.5%",
        "100%", "100.01%", "101%", "-1%", "%", "80", "p49", "p50", "p99", "p100", "a", "A b",
        "a.b", "my-step", "x9_",
    ];
    values.extend(texts.map(Value::from));
    values
}

/// What is tried at a place: words too, where one of a few words must stand.
fn tried(validator: &jsonschema::Validator, base: &Value, path: &[&str]) -> Vec<Value> {
    let mut values = values();
    let nonsense = with(base, path, &json!(NONSENSE));
    let is_enum = |error: jsonschema::ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Enum { .. })
    };
    if validator.iter_errors(&nonsense).any(is_enum) {
        values.extend(words().into_iter().map(Value::from));
    }
    values
}

/// Every word that any schema knows, and one that none knows.
fn words() -> Vec<String> {
    let mut words = vec![NONSENSE.to_owned()];
    for document in Document::ALL {
        walk(&schema(document), "", &mut |_, part| {
            let of = part["enum"].as_array().into_iter().flatten();
            words.extend(of.filter_map(Value::as_str).map(str::to_owned));
        });
    }
    words.sort();
    words.dedup();
    words
}

/// A word that no key takes.
const NONSENSE: &str = "nonsense";

/// A document in which `value` stands at `path`, and all else is in order.
fn with(base: &Value, path: &[&str], value: &Value) -> Value {
    let mut document = base.clone();
    let mut at = &mut document;
    for key in path {
        if at.is_null() {
            *at = json!({});
        }
        at = if let Ok(ix) = key.parse::<usize>() { &mut at[ix] } else { &mut at[*key] };
    }
    *at = value.clone();
    document
}

/// Where the loader and the schema differ about what stands at `pointer`, all else being in order.
fn differ(
    validator: &jsonschema::Validator,
    written: &Value,
    pointer: &str,
    found: &[Diagnostic],
) -> Option<String> {
    let inside = |place: &str| place == pointer || place.starts_with(&format!("{pointer}/"));
    let local = |d: &&Diagnostic| d.is_error() && LOCAL.contains(&d.code.0) && inside(&d.pointer);
    let told = found.iter().find(local);
    let error = validator.iter_errors(written).find(|e| inside(e.instance_path().as_str()));
    let value = written.pointer(pointer);
    let words = error.as_ref().and_then(|error| match error.kind() {
        ValidationErrorKind::Enum { options } => Some(options.clone()),
        _ => None,
    });
    if let (Some(words), Some(help)) = (words, told.and_then(|d| d.help.as_deref()))
        && value == Some(&json!(NONSENSE))
    {
        let known = help.rsplit("one of: ").next().unwrap_or("");
        let mut known: Vec<&str> = known.split(", ").collect();
        let mut ours: Vec<&str> = words.as_array()?.iter().filter_map(Value::as_str).collect();
        known.sort_unstable();
        ours.sort_unstable();
        return (known != ours).then(|| format!("{pointer}: {help}, schema {ours:?}"));
    }
    // An empty `input` is as good as none to the loader, and the simulator knows any model; to an editor it is a line
    // that is not yet finished.
    let blank = value.and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
    let unfinished = (pointer == "/input" && value == Some(&Value::Null))
        || (pointer.ends_with("/model") && blank);
    // What a schema refuses, the loader may refuse for a better reason.
    let agree = match (told, &error) {
        (Some(_), error) => error.is_some(),
        (None, Some(_)) => found.iter().any(Diagnostic::is_error) || unfinished,
        (None, None) => true,
    };
    let said: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    (!agree).then(|| {
        let error = error.map(|error| error.to_string());
        format!("{pointer}: {value:?}: loader {said:?}, schema {error:?}")
    })
}

#[test]
fn workflow_values_are_right_or_wrong_for_loader_and_schema_alike() {
    let base = json!({"description": "d", "steps": {"a": {"prompt": "p"}}});
    let computed = json!({"description": "d", "steps": {"a": {"value": {"n": 1}}}});
    let filed = json!({"description": "d", "steps": {"a": {"prompt_file": "p.md"}}});
    let mut slots: Vec<(Vec<&str>, &Value)> = Vec::new();
    let groups: [(&[&str], &Place); 8] = [
        (&[], &keys::WORKFLOW),
        (&["budget"], &keys::BUDGET),
        (&["defaults"], &keys::DEFAULTS),
        (&["steps", "a"], &keys::STEP),
        (&["steps", "a", "policy"], &keys::POLICY),
        (&["steps", "a", "policy", "on"], &keys::ON),
        (&["steps", "a", "policy", "cutoff"], &keys::CUTOFF),
        (&["steps", "a", "policy", "hedge"], &keys::HEDGE),
    ];
    for (path, place) in groups {
        for key in place.keys {
            let base = match *key {
                "value" => &computed,
                "prompt_file" => &filed,
                _ => &base,
            };
            slots.push((path.iter().chain([key]).copied().collect(), base));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    std::fs::write(folder.path().join("p.md"), "p").unwrap();
    let configuration = configuration();
    let validator = validator(Document::Workflow);
    let mut differing = Vec::new();
    for base in [&base, &computed, &filed] {
        std::fs::write(&file, base.to_string()).unwrap();
        let found = load_file(&file, &configuration).diagnostics;
        assert!(!found.iter().any(Diagnostic::is_error), "{found:?}");
    }
    for (path, base) in &slots {
        for value in tried(&validator, base, path) {
            let written = with(base, path, &value);
            std::fs::write(&file, written.to_string()).unwrap();
            let found = load_file(&file, &configuration).diagnostics;
            let pointer = format!("/{}", path.join("/"));
            differing.extend(differ(&validator, &written, &pointer, &found));
        }
    }
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn configuration_values_are_right_or_wrong_for_loader_and_schema_alike() {
    let base = json!({
        "providers": {"a": {"kind": "simulated"}},
        "models": {"m": {"paths": [{"provider": "a", "model": "m"}]}},
    });
    let groups: [(&[&str], &Place); 10] = [
        (&[], &keys::CONFIGURATION),
        (&["providers", "a"], &keys::PROVIDER),
        (&["providers", "a", "limits"], &keys::PROVIDER_LIMITS),
        (&["providers", "a", "api_key"], &keys::SECRET),
        (&["models", "m"], &keys::MODEL),
        (&["models", "m", "paths", "0"], &keys::PATH),
        (&["defaults"], &keys::SERVER_DEFAULTS),
        (&["defaults", "budget"], &keys::BUDGET),
        (&["defaults", "policy"], &keys::POLICY),
        (&["limits"], &keys::SERVER_LIMITS),
    ];
    let validator = validator(Document::Config);
    let mut differing = Vec::new();
    for (path, place) in groups {
        for key in place.keys {
            let path: Vec<&str> = path.iter().chain([key]).copied().collect();
            for value in tried(&validator, &base, &path) {
                let written = with(&base, &path, &value);
                let source = Source::new("punctual.yaml", written.to_string());
                let (_, found) =
                    config::load(source, Path::new("punctual.yaml"), &Environment::default());
                let pointer = format!("/{}", path.join("/"));
                differing.extend(differ(&validator, &written, &pointer, &found));
            }
        }
    }
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
}
