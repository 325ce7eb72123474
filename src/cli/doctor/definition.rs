//! Which folder is served and why, and whether its files can be.

use std::path::Path;

use super::super::house::House;
use super::super::place::{Place, shown};
use super::super::summary::count;
use super::Finding;
use crate::definition::config::Origin;
use crate::definition::environment::Environment;

/// Folder, configuration and files.
pub fn findings(house: &House, place: &Place) -> Vec<Finding> {
    let mut findings = vec![folder(house, place), configuration(house)];
    let diagnostics = &house.catalog.diagnostics;
    let errors = diagnostics.iter().filter(|found| found.is_error()).count();
    findings.push(match (errors, diagnostics.len() - errors) {
        (0, 0) => Finding::good("every file checks without a remark"),
        (0, n) => Finding::note(count(n, "warning"), "'punctual check' shows them"),
        (n, _) => Finding::broken(
            count(n, "error"),
            "'punctual check' shows them; the files that have them are not served",
        ),
    });
    findings
}

fn folder(house: &House, place: &Place) -> Finding {
    let workflows = count(house.catalog.workflows.len(), "workflow");
    let why = why(house.folder.path(), place, &Environment::of_process());
    match house.folder.path() {
        None => Finding::note(
            format!("no folder found: the built-in examples are served ({workflows})"),
            "'punctual new NAME' begins one here; --dir or PUNCTUAL_DIR names another",
        ),
        Some(path) if !path.is_dir() => Finding::broken(
            format!("the folder {} is not there ({why})", shown(path)),
            "make it, or name another with --dir",
        ),
        Some(_) if house.catalog.workflows.is_empty() => Finding::note(
            format!(
                "folder: {}, as {why}; it holds no workflow that can be served",
                house.folder_shown()
            ),
            "'punctual new NAME' writes one",
        ),
        Some(_) => {
            Finding::good(format!("folder: {} ({workflows}), as {why}", house.folder_shown()))
        }
    }
}

/// Why that folder is the one.
fn why(path: Option<&Path>, place: &Place, environment: &Environment) -> &'static str {
    if place.dir.is_some() {
        "--dir says"
    } else if environment.folder("PUNCTUAL_DIR").is_some() {
        "PUNCTUAL_DIR says"
    } else if path == Some(Path::new(".")) {
        "it holds punctual.yaml or workflows/"
    } else {
        "the current folder holds neither punctual.yaml nor workflows/"
    }
}

fn configuration(house: &House) -> Finding {
    match &house.catalog.configuration.origin {
        Origin::File(file) => Finding::good(format!("configuration: {}", shown(file))),
        Origin::Found(names) => Finding::note(
            format!("no punctual.yaml; found: {}", names.join(", ")),
            "models are built from these; write a punctual.yaml to choose and to bound them",
        ),
        Origin::Simulated => Finding::note(
            "no punctual.yaml, no provider key in the environment, no local model server: the simulator answers",
            "every answer is made up and says so. Set ANTHROPIC_API_KEY or OPENAI_API_KEY where the client starts \
             the server, start Ollama or llama.cpp, or write a punctual.yaml",
        ),
    }
}
