use super::*;

const GOOD: &str = "description: d\nsteps:\n  s:\n    max_tokens: 9\n    prompt: Hello\n";
const NEVER: Duration = Duration::from_secs(86_400);
/// A guard against hanging, far above what is needed; nothing waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

fn folder() -> (tempfile::TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("workflows")).unwrap();
    std::fs::write(dir.path().join("workflows/a.yaml"), GOOD).unwrap();
    let folder = Folder::at(dir.path());
    (dir, folder)
}

async fn until(watch: &Watch, seen: impl Fn(&Catalog) -> bool) -> Arc<Catalog> {
    let mut receiver = watch.receiver();
    let found = tokio::time::timeout(PATIENCE, receiver.wait_for(|catalog| seen(catalog))).await;
    Arc::clone(&found.expect("no such catalog came").unwrap())
}

#[tokio::test]
async fn a_dropped_a_replaced_and_a_removed_file_are_noticed_without_polling() {
    let (dir, folder) = folder();
    let watch = Watch::with_poll(folder, Environment::default(), NEVER);
    assert_eq!(watch.current().workflows.len(), 1);
    let path = dir.path().join("workflows/b.yaml");
    std::fs::write(&path, GOOD).unwrap();
    until(&watch, |c| c.workflows.len() == 2).await;
    // As editors do it: a new file, renamed onto the old one.
    let temporary = dir.path().join("workflows/.b.yaml.swp");
    std::fs::write(&temporary, GOOD.replace("Hello", "{{ input.missing")).unwrap();
    std::fs::rename(&temporary, &path).unwrap();
    let broken = until(&watch, |c| !c.quarantined.is_empty()).await;
    assert!(broken.workflows.contains_key("b"));
    std::fs::remove_file(&path).unwrap();
    until(&watch, |c| c.workflows.len() == 1 && c.quarantined.is_empty()).await;
}

#[tokio::test]
async fn a_prompt_file_and_a_linked_folder_are_followed() {
    let target = tempfile::tempdir().unwrap();
    std::fs::create_dir(target.path().join("prompts")).unwrap();
    std::fs::write(target.path().join("prompts/p.md"), "Hello").unwrap();
    let text = GOOD.replace("prompt: Hello", "prompt_file: prompts/p.md");
    std::fs::write(target.path().join("a.yaml"), text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(target.path(), dir.path().join("workflows")).unwrap();
    let watch = Watch::with_poll(Folder::at(dir.path()), Environment::default(), NEVER);
    let before = watch.current().workflows["a"].version.clone();
    std::fs::write(target.path().join("prompts/p.md"), "Good day").unwrap();
    until(&watch, |c| c.workflows["a"].version != before).await;
}

#[tokio::test(start_paused = true)]
async fn the_poll_finds_what_nobody_reports() {
    let (dir, folder) = folder();
    let first = Arc::new(catalog::load(&folder, &Environment::default(), None));
    let (sender, receiver) = watch::channel(first);
    let (_signal, signals) = mpsc::channel(1);
    let looking = Looking {
        folder,
        environment: Environment::default(),
        sender,
        signals,
        notifier: None,
        watched: BTreeSet::new(),
        fingerprint: 0,
    };
    let mut task = JoinSet::new();
    task.spawn(looking.run(POLL));
    let watch = Watch { receiver, _task: task };
    std::fs::write(dir.path().join("workflows/b.yaml"), GOOD).unwrap();
    let seen = until(&watch, |c| c.workflows.len() == 2).await;
    assert_eq!(seen.generation, 2);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_does_not_change_is_published_once() {
    let (_dir, folder) = folder();
    let watch = Watch::with_poll(folder, Environment::default(), POLL);
    let mut receiver = watch.receiver();
    receiver.mark_unchanged();
    let quiet = tokio::time::timeout(POLL * 5, receiver.changed()).await;
    assert!(quiet.is_err());
    assert_eq!(watch.current().generation, 1);
}

/// Two simulated models, one of them the default; limits and deadline as given.
fn configuration(model: &str, deadline: &str, runs: &str) -> String {
    format!(
        "providers:\n  sim: {{kind: simulated, regime: calm}}\n\
         models:\n  one: {{paths: [{{provider: sim, model: flagship}}]}}\n  \
         two: {{paths: [{{provider: sim, model: light}}]}}\n\
         defaults: {{model: {model}, deadline: {deadline}}}\n\
         limits: {{concurrent_runs: {runs}}}\n"
    )
}

#[tokio::test]
async fn a_changed_configuration_is_live_and_a_broken_one_leaves_the_last_good_one_in_force() {
    let (dir, folder) = folder();
    let path = dir.path().join("punctual.yaml");
    std::fs::write(&path, configuration("one", "30s", "3")).unwrap();
    let watch = Watch::with_poll(folder, Environment::default(), NEVER);
    let model = |c: &Catalog| c.workflows["a"].plan.models[0].name.clone();
    assert_eq!(model(&watch.current()), "one");
    std::fs::write(&path, configuration("two", "20s", "5")).unwrap();
    let changed = until(&watch, |c| c.configuration.limits.concurrent_runs == Some(5)).await;
    assert_eq!(model(&changed), "two");
    assert_eq!(changed.workflows["a"].plan.deadline, Duration::from_secs(20));
    std::fs::write(&path, configuration("three", "10s", "7")).unwrap();
    let broken = until(&watch, |c| !c.configuration_problems.is_empty()).await;
    assert_eq!(broken.configuration, changed.configuration);
    assert_eq!(broken.workflows["a"].plan, changed.workflows["a"].plan);
    assert!(broken.configuration_problems[0].message.contains("no model 'three'"));
    // What is dropped meanwhile is served on the last good one.
    std::fs::write(dir.path().join("workflows/b.yaml"), GOOD).unwrap();
    let more = until(&watch, |c| c.workflows.contains_key("b")).await;
    assert_eq!(more.workflows["b"].plan.deadline, Duration::from_secs(20));
    std::fs::write(&path, configuration("one", "10s", "7")).unwrap();
    let mended = until(&watch, |c| c.configuration_problems.is_empty()).await;
    assert_eq!(
        (model(&mended).as_str(), mended.workflows["a"].plan.deadline.as_secs()),
        ("one", 10)
    );
}
