//! A folder of 1,000 workflows: CPU of loading it, checks and lints included. Baseline: the same files read
//! and parsed as YAML, and nothing more. `cargo bench --bench load` (Linux; `-- --test` runs it once)
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark stops where its setting cannot be made"
)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use punctual::definition::catalog::load;
use punctual::definition::environment::Environment;
use punctual::definition::folder::Folder;
use punctual::definition::source::Source;
use punctual::definition::yaml;

const WORKFLOWS: usize = 1_000;
const TIMES: usize = 10;
/// What 1,000 files may take, in CPU milliseconds.
const BOUND_MS: f64 = 1_000.0;

/// CPU time of all threads of this process, in milliseconds.
fn cpu_ms() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let nanos = tasks.filter_map(Result::ok).filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e6
}

/// Copies everything below a folder but the workflow files, which are returned.
fn beside(from: &Path, to: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(to).unwrap();
    let mut workflows = Vec::new();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let text = name.to_string_lossy();
        if path.is_dir() {
            for inner in beside(&path, &to.join(&name)) {
                fs::copy(&inner, to.join(&name).join(inner.file_name().unwrap())).unwrap();
            }
        } else if text.ends_with(".cases.yaml") {
            // Cases are the business of tests.
        } else if text.ends_with(".yaml") {
            workflows.push(path);
        } else {
            fs::copy(&path, to.join(&name)).unwrap();
        }
    }
    workflows.sort();
    workflows
}

/// The shipped workflows in turn, or one of them alone.
fn folder(only: Option<&str>) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("punctual-load-{}", std::process::id()));
    let mut shipped =
        beside(&Path::new(env!("CARGO_MANIFEST_DIR")).join("workflows"), &folder.join("workflows"));
    shipped.retain(|path| only.is_none_or(|name| path.file_stem().unwrap() == name));
    for n in 0..WORKFLOWS {
        let to = folder.join(format!("workflows/tool_{n}.yaml"));
        fs::copy(&shipped[n % shipped.len()], to).unwrap();
    }
    folder
}

fn baseline(folder: &Path) -> f64 {
    let before = cpu_ms();
    for n in 0..WORKFLOWS {
        let text = fs::read_to_string(folder.join(format!("workflows/tool_{n}.yaml"))).unwrap();
        let (root, problems) = yaml::parse(&Source::new("tool.yaml", text));
        assert!(black_box(root).is_some() && problems.is_empty());
    }
    cpu_ms() - before
}

fn loading(folder: &Path) -> f64 {
    let before = cpu_ms();
    let folder = Folder::at(folder).simulated("calm", 1);
    let catalog = load(&folder, &Environment::default(), None);
    let spent = cpu_ms() - before;
    assert_eq!(catalog.workflows.len(), WORKFLOWS);
    assert!(catalog.diagnostics.is_empty());
    spent
}

fn row(name: &str, mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    println!("{name:46} best {:7.1} ms   median {:7.1} ms", values[0], values[values.len() / 2]);
    values[0]
}

fn main() {
    let times = if std::env::args().any(|arg| arg == "--test") { 1 } else { TIMES };
    for (only, what) in
        [(None, "the shipped ones in turn"), (Some("support_triage"), "four steps each")]
    {
        let folder = folder(only);
        let (mut base, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..times {
            base.push(baseline(&folder));
            whole.push(loading(&folder));
        }
        fs::remove_dir_all(&folder).unwrap();
        println!("{WORKFLOWS} workflows ({what}), {times} times, CPU");
        row("baseline: read and parsed as YAML", base);
        let best = row("loaded, checked and linted", whole);
        println!("{:46} {}", "within one second", if best < BOUND_MS { "yes" } else { "NO" });
    }
}
