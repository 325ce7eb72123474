use super::*;
use crate::definition::environment::Environment;
use crate::definition::source::Source;
use crate::domain::model::{Subset, SystemPrompt, TokenField};
use crate::domain::provider::SecretRef;

fn read(text: &str, environment: &Environment) -> (Configuration, Vec<String>) {
    let (configuration, found) = load(
        Source::new("punctual.yaml", text),
        std::path::Path::new("/c/punctual.yaml"),
        environment,
    );
    (configuration.unwrap(), found.iter().map(ToString::to_string).collect())
}

const TWO: &str = "
providers:
  openai: {kind: openai}
  groq: {kind: groq, optional: true}
models:
  quick:
    paths:
      - {provider: groq, model: openai/gpt-oss-20b}
      - {provider: openai, model: gpt-5-mini, can: [json]}
    stronger: best
  best:
    paths: [{provider: openai, model: own-model, context: 9000, price: {in: 1, out: 2}}]
  judge: {same_as: quick, not: [groq]}
";

#[test]
fn facts_presets_and_the_file_are_put_together() {
    let environment = Environment::of([("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")]);
    let (configuration, found) = read(TWO, &environment);
    assert_eq!(found, Vec::<String>::new());
    let quick = configuration.model("quick").unwrap();
    assert_eq!(quick.paths[0].profile.context, Some(131_072));
    assert_eq!(quick.paths[0].profile.token_field, TokenField::MaxCompletionTokens);
    assert_eq!(quick.paths[1].profile.structured, Structured::Json);
    let judge = configuration.model("judge").unwrap();
    assert_eq!(judge.paths.len(), 1);
    assert_eq!(judge.stronger.as_deref(), Some("best"));
    let key = configuration.provider("groq").unwrap().api_key.clone();
    assert_eq!(key, Some(SecretRef::Env("GROQ_API_KEY".to_owned())));
}

#[test]
fn an_optional_provider_without_key_is_left_out_with_a_warning() {
    let environment = Environment::of([("OPENAI_API_KEY", "k")]);
    let (configuration, found) = read(TWO, &environment);
    assert_eq!(configuration.model("quick").unwrap().paths.len(), 1);
    assert!(configuration.provider("groq").is_none());
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("warning[P0502]: provider 'groq' is left out: GROQ_API_KEY is not set")
    );
}

#[test]
fn a_required_key_that_is_not_set_is_an_error_that_names_it() {
    let (configuration, found) = read(TWO, &Environment::default());
    assert!(configuration.models.is_empty());
    assert!(
        found[0].contains("error[P0502]: provider 'openai': OPENAI_API_KEY is not set"),
        "{found:?}"
    );
}

#[test]
fn a_key_in_the_file_is_refused_and_never_quoted() {
    let text = "providers:\n  a: {kind: opena, api_key: sk-abc123, headers: {Authorization: Bearer sk-abc123}}\n";
    let (_, found) = read(text, &Environment::default());
    assert!(found.iter().any(|d| d.contains("P0501")), "{found:?}");
    assert!(!found.iter().any(|d| d.contains("abc123")), "{found:?}");
}

#[test]
fn a_known_vendors_key_is_not_sent_to_another_address() {
    let text = "providers:\n  a: {kind: openai, base_url: 'https://proxy.example/v1'}\nmodels: {m: {paths: [{provider: a, model: x}]}}\n";
    let (configuration, _) = read(text, &Environment::of([("OPENAI_API_KEY", "k")]));
    assert_eq!(configuration.provider("a").unwrap().api_key, None);
}

#[test]
fn aliases_in_a_circle_are_an_error() {
    let (_, found) =
        read("models:\n  a: {same_as: b}\n  b: {same_as: a}\n", &Environment::default());
    assert!(found.iter().all(|d| d.contains("P0506")) && found.len() == 2, "{found:?}");
}

#[test]
fn without_a_file_keys_in_the_environment_make_the_configuration() {
    let found =
        from_environment(&Environment::of([("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")]));
    assert_eq!(found.model("quick").unwrap().paths.len(), 2);
    assert_eq!(found.model("judge").unwrap().stronger.as_deref(), Some("best"));
    assert!(!found.is_simulated());
}

#[test]
fn a_key_in_the_place_of_its_variables_name_is_not_repeated() {
    let text = "providers:\n  a: {kind: openai, api_key: {env: sk-abc123}}\n";
    let (_, found) = read(text, &Environment::default());
    assert!(found[0].contains("P0501"), "{found:?}");
    assert!(!found.iter().any(|d| d.contains("abc123")), "{found:?}");
}

#[test]
fn an_address_may_end_in_the_version_that_is_added_to_it() {
    let text = "providers:\n  a: {kind: anthropic, base_url: 'https://proxy.example.com/v1/'}\n  b: {kind: openai_compatible, base_url: 'https://x.example.com/v1'}\n  c: {kind: gemini, base_url: 'https://x.example.com/v1beta'}\n";
    let source = Source::new("punctual.yaml", text);
    let path = std::path::Path::new("punctual.yaml");
    let (configuration, found) = load(source, path, &Environment::default());
    assert!(found.is_empty(), "{found:?}");
    let configuration = configuration.unwrap();
    assert_eq!(configuration.provider("a").unwrap().base_url, "https://proxy.example.com");
    assert_eq!(configuration.provider("b").unwrap().base_url, "https://x.example.com/v1");
    assert_eq!(configuration.provider("c").unwrap().base_url, "https://x.example.com");
}

#[test]
fn both_addresses_of_azure_are_taken_as_they_are() {
    let text = "providers:
  a: {kind: azure, base_url: 'https://r.openai.azure.com/openai/v1/'}
  b: {kind: azure, base_url: 'https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21'}
";
    let (configuration, found) = read(text, &Environment::of([("AZURE_OPENAI_API_KEY", "k")]));
    assert!(found.is_empty(), "{found:?}");
    let address = |name: &str| configuration.provider(name).unwrap().base_url.clone();
    assert_eq!(address("a"), "https://r.openai.azure.com/openai/v1");
    assert!(address("b").ends_with("/openai/deployments/d?api-version=2024-10-21"));
    let key = Some(SecretRef::Env("AZURE_OPENAI_API_KEY".to_owned()));
    assert_eq!(configuration.provider("b").unwrap().api_key, key);
}

#[test]
fn every_preset_has_an_address_or_asks_for_one_and_stands_once() {
    for (at, preset) in preset::PRESETS.iter().enumerate() {
        assert!(
            !preset::PRESETS[..at].iter().any(|other| other.kind == preset.kind),
            "{}",
            preset.kind
        );
        let url = preset.base_url.unwrap_or_default();
        assert!(!url.ends_with('/') && !url.ends_with(preset.version().unwrap_or("-")), "{url}");
    }
}

#[test]
fn a_key_is_found_once_whatever_formats_it_is_good_for() {
    let found = |key| match from_environment(&Environment::of([(key, "k")])).origin {
        Origin::Found(names) => names,
        other => panic!("{other:?}"),
    };
    assert_eq!(found("OPENAI_API_KEY"), ["openai"]);
    assert_eq!(found("GEMINI_API_KEY"), ["gemini"]);
    let gemini = from_environment(&Environment::of([("GEMINI_API_KEY", "k")]));
    assert_eq!(gemini.provider("gemini").unwrap().dialect, Dialect::Gemini);
    assert_eq!(gemini.model("best").unwrap().paths[0].profile.id, "gemini-3.1-pro-preview");
}

#[test]
fn a_path_says_what_is_so_of_its_model_and_the_rest_is_known() {
    let text = "providers:
  o: {kind: openai}
models:
  m:
    paths:
      - {provider: o, model: gpt-5-mini, system: merged, token_field: max_tokens, temperature: true, effort: []}
      - {provider: o, model: gpt-5-mini}
      - {provider: o, model: gpt-5-mini, context: 100000, can: [tools], effort: [low, high]}
";
    let (configuration, found) = read(text, &Environment::of([("OPENAI_API_KEY", "k")]));
    assert_eq!(found, Vec::<String>::new());
    let [own, known, mixed] = &configuration.model("m").unwrap().paths[..] else { panic!() };
    let (own, known, mixed) = (&own.profile, &known.profile, &mixed.profile);
    assert_eq!((own.system, known.system), (SystemPrompt::Merged, SystemPrompt::Native));
    assert_eq!(own.token_field, TokenField::MaxTokens);
    assert_eq!(known.token_field, TokenField::MaxCompletionTokens);
    assert_eq!((own.temperature, known.temperature), (true, false));
    assert_eq!((own.effort.nearest("low"), known.effort.nearest("low")), (None, Some("low")));
    assert_eq!((known.context, known.max_input), (Some(400_000), Some(272_000)));
    assert_eq!((mixed.context, mixed.max_input), (Some(100_000), None), "the file's word is whole");
    assert_eq!((known.structured, known.fallback), (Structured::Schema, Structured::Json));
    assert_eq!((mixed.structured, mixed.fallback), (Structured::Tool, Structured::Instruct));
    assert_eq!(mixed.effort.nearest("medium"), Some("high"));
}

#[test]
fn an_id_that_nothing_is_known_of_is_used_with_a_warning_and_what_was_meant() {
    let text = |path: &str| {
        format!(
            "providers:\n  a: {{kind: anthropic{path}}}\nmodels: {{m: {{paths: [{{provider: a, model: claude-sonet-4-6}}]}}}}\n"
        )
    };
    let environment = Environment::of([("ANTHROPIC_API_KEY", "k")]);
    let (configuration, found) = read(&text(""), &environment);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("warning[P0512]: nothing is known of model 'claude-sonet-4-6'"),
        "{found:?}"
    );
    assert!(found[0].contains("did you mean 'claude-sonnet-4-6'?"), "{found:?}");
    let profile = &configuration.model("m").unwrap().paths[0].profile;
    let safe = ModelProfile {
        structured: Structured::Tool,
        subset: Subset::Anthropic,
        ..ModelProfile::plain("claude-sonet-4-6")
    };
    assert_eq!(*profile, safe);
    let (_, found) = read(
        &text(", base_url: 'http://127.0.0.1:1', api_key: {env: ANTHROPIC_API_KEY}"),
        &environment,
    );
    assert_eq!(found, Vec::<String>::new(), "behind another address ids are anyone's");
}
