use super::*;

const GOOD: &str = "description: Says hello.\nsteps:\n  hello:\n    max_tokens: 50\n    prompt: Hello {{ input.name }}\ninput: {name: string}\n";

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("workflows")).unwrap();
        Self { dir }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn load(&self, previous: Option<&Catalog>) -> Catalog {
        load(&Folder::at(self.dir.path()), &Environment::default(), previous)
    }
}

fn shown(catalog: &Catalog) -> Vec<String> {
    catalog.diagnostics.iter().map(ToString::to_string).collect()
}

#[test]
fn a_bad_file_leaves_the_others_and_its_last_good_version_in_service() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("workflows/b.yaml", GOOD);
    let first = bench.load(None);
    assert_eq!(shown(&first), Vec::<String>::new());
    bench.write("workflows/a.yaml", "description: [");
    let second = bench.load(Some(&first));
    assert_eq!(second.workflows.len(), 2);
    assert!(Arc::ptr_eq(&second.workflows["a"], &first.workflows["a"]));
    assert!(Arc::ptr_eq(&second.workflows["b"], &first.workflows["b"]));
    assert!(second.quarantined[0].serving_previous && second.quarantined[0].name == "a");
    assert_eq!(second.generation, 2);
    std::fs::remove_file(bench.dir.path().join("workflows/a.yaml")).unwrap();
    let third = bench.load(Some(&second));
    assert_eq!(third.workflows.keys().collect::<Vec<_>>(), ["b"]);
    let fresh = Bench::new();
    fresh.write("workflows/a.yaml", "description: [");
    assert!(!fresh.load(None).quarantined[0].serving_previous);
}

#[test]
fn a_folder_that_vanishes_keeps_serving_what_it_held() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    let first = bench.load(None);
    std::fs::remove_dir_all(bench.dir.path()).unwrap();
    let second = bench.load(Some(&first));
    assert!(second.workflows.contains_key("a"));
    assert!(shown(&second)[0].contains("P0608"), "{:?}", shown(&second));
    let third = bench.load(Some(&second));
    assert!(third.workflows.contains_key("a"));
}

#[test]
fn a_broken_configuration_keeps_the_last_good_one() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("punctual.yaml", "limits: {concurrent_runs: 3}\n");
    let first = bench.load(None);
    assert_eq!(first.configuration.limits.concurrent_runs, Some(3));
    bench.write("punctual.yaml", "limits: {concurrent_runs: many}\n");
    let second = bench.load(Some(&first));
    assert_eq!(second.configuration.limits.concurrent_runs, Some(3));
    assert!(second.workflows.contains_key("a"));
    assert!(!second.is_clean());
    let fresh = Bench::new();
    fresh.write("workflows/a.yaml", GOOD);
    fresh.write("punctual.yaml", "limits: [");
    let broken = fresh.load(None);
    assert!(broken.workflows.is_empty());
    assert!(shown(&broken).iter().any(|d| d.contains("P0508")), "{:?}", shown(&broken));
}

#[test]
fn a_configuration_that_is_removed_stays_in_force_and_never_turns_into_the_simulator() {
    let keyed = Environment::of([("OPENAI_API_KEY", "k")]);
    let real =
        "providers:\n  o: {kind: openai}\nmodels:\n  m: {paths: [{provider: o, model: gpt-5}]}\n";
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("punctual.yaml", real);
    let folder = Folder::at(bench.dir.path());
    let first = super::load(&folder, &keyed, None);
    assert!(first.is_clean() && !first.configuration.is_simulated());
    std::fs::remove_file(bench.dir.path().join("punctual.yaml")).unwrap();
    let second = super::load(&folder, &keyed, Some(&first));
    assert_eq!(second.configuration, first.configuration);
    assert_eq!(second.configuration_problems[0].code, GONE);
    let third = super::load(&folder, &keyed, Some(&second));
    assert_eq!(third.configuration, first.configuration);
    // It comes back, and its key does not.
    bench.write("punctual.yaml", real);
    let keyless = super::load(&folder, &Environment::default(), Some(&third));
    assert_eq!(keyless.configuration, first.configuration);
    assert!(keyless.configuration_problems[0].message.contains("OPENAI_API_KEY"));
    let back = super::load(&folder, &keyed, Some(&keyless));
    assert!(back.configuration_problems.is_empty());
    // Without a file from the start there is nothing to keep.
    std::fs::remove_file(bench.dir.path().join("punctual.yaml")).unwrap();
    assert!(super::load(&folder, &Environment::default(), None).configuration.is_simulated());
}

#[test]
fn bad_cases_are_told_and_take_neither_their_workflow_nor_sound_cases_down() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("workflows/a.cases.yaml", "- {name: sound, input: {name: Ada}}\n- nonsense\n");
    let first = bench.load(None);
    assert_eq!((first.workflows.len(), first.quarantined.len()), (1, 0));
    let cases = &first.cases["a"];
    assert_eq!((cases.written, cases.list.len()), (2, 1), "{:#?}", first.diagnostics);
    let files: Vec<&str> = first.diagnostics.iter().map(|d| d.file.as_str()).collect();
    assert_eq!(files, ["workflows/a.cases.yaml"]);
    // A change of cases is a new catalog with the same workflow: whoever answers from them must hear of it.
    assert!(bench.load(Some(&first)).same_as(&first));
    bench.write("workflows/a.cases.yaml", "- {name: sound, input: {name: Bo}}\n");
    let second = bench.load(Some(&first));
    assert!(!second.same_as(&first) && !second.same_cases(&first));
    assert!(Arc::ptr_eq(&second.workflows["a"], &first.workflows["a"]));
    assert!(second.files.contains(&bench.dir.path().join("workflows/a.cases.yaml")));
}

#[test]
fn files_that_are_no_workflows_are_left_alone() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("workflows/notes.txt", "x");
    bench.write("workflows/sub/c.yaml", "nonsense: [");
    let catalog = bench.load(None);
    assert_eq!((catalog.workflows.len(), catalog.diagnostics.len()), (1, 0));
}

#[test]
fn two_files_of_one_stem_are_both_refused() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", GOOD);
    bench.write("workflows/a.yml", GOOD);
    let catalog = bench.load(None);
    assert!(catalog.workflows.is_empty());
    assert_eq!(catalog.diagnostics.iter().filter(|d| d.code == SAME_NAME).count(), 2);
}

#[test]
fn files_outside_the_folder_are_refused_links_included() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "secret").unwrap();
    let workflow = |file: &str| {
        format!("description: d\nsteps:\n  s:\n    max_tokens: 9\n    prompt_file: {file}\n")
    };
    std::os::unix::fs::symlink(
        outside.path().join("secret.md"),
        bench.dir.path().join("workflows/link.md"),
    )
    .unwrap();
    bench.write("workflows/inside.md", "Hello");
    std::os::unix::fs::symlink("inside.md", bench.dir.path().join("workflows/good.md")).unwrap();
    bench.write("workflows/a.yaml", workflow("link.md"));
    bench.write("workflows/b.yaml", workflow("../secret.md"));
    bench.write("workflows/c.yaml", workflow("/etc/passwd"));
    bench.write("workflows/d.yaml", workflow("good.md"));
    bench.write("workflows/e.yaml", workflow("none.md"));
    let catalog = bench.load(None);
    assert_eq!(catalog.workflows.keys().collect::<Vec<_>>(), ["d"], "{:?}", shown(&catalog));
    let codes: Vec<_> = catalog.diagnostics.iter().map(|d| d.code.0).collect();
    assert_eq!(codes, ["P0603", "P0603", "P0603", "P0601"]);
}

#[test]
fn text_that_is_not_utf8_is_shown_where_it_breaks() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", b"description: ok\nsteps: \xff\n");
    let catalog = bench.load(None);
    assert!(
        shown(&catalog)[0]
            .starts_with("workflows/a.yaml:2:8 error[P0604]: 'a.yaml' is not UTF-8: byte 0xff"),
        "{:?}",
        shown(&catalog)
    );
}

#[test]
fn a_changed_prompt_file_changes_the_version() {
    let bench = Bench::new();
    bench.write("workflows/p.md", "Hello");
    bench.write(
        "workflows/a.yaml",
        "description: d\nsteps:\n  s:\n    max_tokens: 9\n    prompt_file: p.md\n",
    );
    let first = bench.load(None);
    assert!(first.files.contains(&bench.dir.path().join("workflows/p.md")));
    bench.write("workflows/p.md", "Hallo");
    let second = bench.load(Some(&first));
    assert_ne!(first.workflows["a"].version, second.workflows["a"].version);
}

#[test]
fn a_changed_include_changes_the_version_whoever_includes_it() {
    let bench = Bench::new();
    bench.write("workflows/prompts/p.md", "{% include \"prompts/rules.md\" %}");
    bench.write("workflows/prompts/rules.md", "Be kind.");
    bench.write(
        "workflows/a.yaml",
        "description: d\nsteps:\n  s:\n    max_tokens: 9\n    prompt_file: prompts/p.md\n",
    );
    let first = bench.load(None);
    assert!(first.is_clean(), "{:?}", shown(&first));
    assert!(first.files.contains(&bench.dir.path().join("workflows/prompts/rules.md")));
    bench.write("workflows/prompts/rules.md", "Be blunt.");
    let second = bench.load(Some(&first));
    assert_ne!(first.workflows["a"].version, second.workflows["a"].version);
    std::fs::remove_file(bench.dir.path().join("workflows/prompts/rules.md")).unwrap();
    let third = bench.load(Some(&second));
    assert!(third.quarantined[0].serving_previous);
    assert!(third.files.contains(&bench.dir.path().join("workflows/prompts/rules.md")));
}

#[test]
fn includes_outside_the_folder_are_refused_links_included() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), "secret").unwrap();
    let link = bench.dir.path().join("workflows/link.md");
    std::os::unix::fs::symlink(outside.path().join("secret.md"), link).unwrap();
    bench.write("workflows/p.md", "{% include 'link.md' %}");
    bench.write(
        "workflows/a.yaml",
        "description: d\nsteps:\n  s:\n    max_tokens: 9\n    prompt: '{% include \"p.md\" %}'\n",
    );
    let catalog = bench.load(None);
    assert!(
        shown(&catalog)[0].starts_with(
            "workflows/p.md:1:12 error[P0603]: step 's': 'link.md' leads outside the folder"
        ),
        "{:?}",
        shown(&catalog)
    );
}

#[test]
fn a_folder_of_nothing_but_workflows_is_served_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), GOOD).unwrap();
    let catalog = load(&Folder::at(dir.path()), &Environment::default(), None);
    assert!(catalog.workflows.contains_key("a"));
}

#[test]
fn simulation_replaces_providers_and_takes_any_model_name() {
    let bench = Bench::new();
    bench.write("workflows/a.yaml", format!("defaults: {{model: my_own}}\n{GOOD}"));
    bench.write(
        "punctual.yaml",
        "providers: {o: {kind: openai}}\nmodels: {my_own: {paths: [{provider: o, model: m}]}}\n",
    );
    let folder = Folder::at(bench.dir.path()).simulated("calm", 5);
    let catalog = load(&folder, &Environment::default(), None);
    assert!(catalog.is_clean(), "{:?}", shown(&catalog));
    let plan = &catalog.workflows["a"].plan;
    assert!(plan.providers.iter().all(|p| p.simulated));
    assert_eq!(plan.models[0].name, "balanced");
    assert_eq!(plan.path(plan.models[0].paths[0]).label, "sim_a/flagship");
}
