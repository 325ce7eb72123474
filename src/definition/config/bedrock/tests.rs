use std::path::Path;

use crate::definition::config::{Configuration, from_environment, load};
use crate::definition::environment::Environment;
use crate::definition::source::Source;

fn read(provider: &str, environment: &Environment) -> (Configuration, Vec<String>) {
    let text = format!(
        "providers:\n  aws: {provider}\nmodels: {{m: {{paths: [{{provider: aws, model: anthropic.claude-sonnet-4-6}}]}}}}\n"
    );
    let source = Source::new("punctual.yaml", text);
    let (configuration, found) = load(source, Path::new("/c/punctual.yaml"), environment);
    (configuration.unwrap(), found.iter().map(ToString::to_string).collect())
}

#[cfg(not(feature = "bedrock"))]
mod without_the_feature {
    use super::*;

    #[test]
    fn a_build_without_it_says_so_and_leaves_the_provider_out() {
        let keys =
            Environment::of([("AWS_BEARER_TOKEN_BEDROCK", "k"), ("AWS_REGION", "us-east-1")]);
        let (configuration, found) = read("{kind: bedrock}", &keys);
        assert!(configuration.providers.is_empty());
        let said = "error[P0511]: provider 'aws': this build does not speak bedrock";
        assert!(found[0].contains(said) && found[0].contains("--features bedrock"), "{found:?}");
        let (_, found) = read("{kind: bedrock, optional: true}", &keys);
        assert!(found[0].contains("warning[P0511]: provider 'aws' is left out"), "{found:?}");
        assert!(from_environment(&keys).is_simulated());
    }

    #[test]
    fn where_nothing_is_sent_nothing_needs_to_be_built() {
        let (configuration, found) =
            read("{kind: bedrock}", &Environment::default().assuming_keys());
        assert_eq!((configuration.providers.len(), found), (1, Vec::new()));
    }
}

#[cfg(feature = "bedrock")]
mod with_the_feature {
    use super::*;
    use crate::definition::config::Origin;
    use crate::domain::model::Structured;
    use crate::domain::provider::{BedrockSettings, Dialect, ProviderSettings, SecretRef};

    const BOTH: [(&str, &str); 3] = [
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_REGION", "eu-central-1"),
    ];

    fn env(name: &str) -> SecretRef {
        SecretRef::Env(name.to_owned())
    }

    fn good(provider: &str, environment: &Environment) -> (ProviderSettings, BedrockSettings) {
        let (configuration, found) = read(provider, environment);
        assert_eq!(found, Vec::<String>::new(), "{provider}");
        let settings = configuration.provider("aws").unwrap().clone();
        let Dialect::Bedrock(bedrock) = settings.dialect.clone() else { panic!("{settings:?}") };
        (settings, bedrock)
    }

    fn bad(provider: &str, environment: &Environment) -> String {
        let (configuration, found) = read(provider, environment);
        assert!(configuration.providers.is_empty(), "{provider}");
        found[0].clone()
    }

    #[test]
    fn requests_are_signed_with_the_variables_of_awss_own_programs() {
        let (settings, bedrock) = good("{kind: bedrock}", &Environment::of(BOTH));
        assert_eq!(settings.base_url, "https://bedrock-runtime.eu-central-1.amazonaws.com");
        assert_eq!(settings.api_key, None);
        assert_eq!(bedrock.region_variable.as_deref(), Some("AWS_REGION"));
        let keys = bedrock.signing.unwrap();
        assert_eq!((keys.region.as_str(), keys.session), ("eu-central-1", None));
        assert_eq!(
            (keys.access, keys.secret),
            (env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"))
        );
        let temporary = BOTH.into_iter().chain([("AWS_SESSION_TOKEN", "t")]);
        let (_, bedrock) = good("{kind: bedrock, region: us-west-2}", &Environment::of(temporary));
        assert_eq!(bedrock.region_variable, None);
        let keys = bedrock.signing.unwrap();
        assert_eq!(
            (keys.region.as_str(), keys.session),
            ("us-west-2", Some(env("AWS_SESSION_TOKEN")))
        );
    }

    #[test]
    fn a_key_made_for_bedrock_goes_before_a_signature() {
        let bearer = BOTH.into_iter().chain([("AWS_BEARER_TOKEN_BEDROCK", "b")]);
        let (settings, bedrock) = good("{kind: bedrock}", &Environment::of(bearer));
        assert_eq!(settings.api_key, Some(env("AWS_BEARER_TOKEN_BEDROCK")));
        assert_eq!(bedrock.signing, None);
        let file = "{kind: bedrock, api_key: {file: /dev/null}, base_url: 'https://x.example.com'}";
        let assumed = Environment::default().assuming_keys();
        let (settings, bedrock) = good(file, &assumed);
        assert_eq!(settings.api_key, Some(SecretRef::File("/dev/null".into())));
        assert_eq!((settings.base_url.as_str(), bedrock.signing), ("https://x.example.com", None));
        let vouched =
            "{kind: bedrock, region: us-east-1, headers: {Authorization: {env: AWS_REGION}}}";
        let (settings, bedrock) = good(vouched, &Environment::of(BOTH));
        assert_eq!((settings.api_key, bedrock.signing), (None, None));
    }

    #[test]
    fn a_key_of_the_environment_is_not_sent_to_an_address_of_its_own() {
        let own = "{kind: bedrock, region: us-east-1, base_url: 'https://x.example.com/'}";
        let bearer = [("AWS_BEARER_TOKEN_BEDROCK", "b")];
        let said = bad(own, &Environment::of(bearer));
        assert!(
            said.contains("only where `api_key` names it, and AWS_ACCESS_KEY_ID is not set"),
            "{said}"
        );
        let (settings, bedrock) = good(own, &Environment::of(BOTH.into_iter().chain(bearer)));
        assert_eq!(
            (settings.api_key, bedrock.signing.unwrap().region.as_str()),
            (None, "us-east-1")
        );
        assert_eq!(settings.base_url, "https://x.example.com");
    }

    #[test]
    fn what_is_missing_is_named() {
        let of = |vars: &[(&'static str, &'static str)]| Environment::of(vars.iter().copied());
        let cases = [
            (
                "{kind: bedrock, region: us-east-1}",
                of(&[]),
                "neither AWS_BEARER_TOKEN_BEDROCK nor AWS_ACCESS_KEY_ID is set",
            ),
            (
                "{kind: bedrock, region: us-east-1}",
                of(&BOTH[..1]),
                "AWS_SECRET_ACCESS_KEY is not set",
            ),
            ("{kind: bedrock}", of(&BOTH[..2]), "it has no `region`, and AWS_REGION is not set"),
            (
                "{kind: bedrock}",
                of(&[BOTH[0], BOTH[1], ("AWS_REGION", "EU, please")]),
                "AWS_REGION does not hold a region's name",
            ),
            (
                "{kind: bedrock, region: us-east-1, api_key: {env: NONE}}",
                of(&BOTH),
                "NONE is not set",
            ),
        ];
        for (provider, environment, words) in cases {
            let said = bad(provider, &environment);
            assert!(said.contains("error[P0502]") && said.contains(words), "{provider}: {said}");
            let optional = format!("{}, optional: true}}", &provider[..provider.len() - 1]);
            let said = bad(&optional, &environment);
            assert!(said.contains("warning[P0502]") && said.contains(words), "{optional}: {said}");
        }
    }

    #[test]
    fn partitions_with_a_domain_of_their_own_have_their_address() {
        let address = |region: &str| {
            good(&format!("{{kind: bedrock, region: {region}}}"), &Environment::of(BOTH)).0.base_url
        };
        assert_eq!(address("us-gov-west-1"), "https://bedrock-runtime.us-gov-west-1.amazonaws.com");
        assert_eq!(address("cn-north-1"), "https://bedrock-runtime.cn-north-1.amazonaws.com.cn");
        assert_eq!(
            address("eusc-de-east-1"),
            "https://bedrock-runtime.eusc-de-east-1.amazonaws.eu"
        );
    }

    #[test]
    fn a_shape_is_asked_for_as_the_model_can() {
        let structured = |path: &str| {
            let text = format!(
                "providers: {{aws: {{kind: bedrock}}}}\nmodels: {{m: {{paths: [{{provider: aws, {path}}}]}}}}\n"
            );
            let source = Source::new("punctual.yaml", text);
            let (configuration, found) =
                load(source, Path::new("punctual.yaml"), &Environment::of(BOTH));
            // These models are in no catalogue.
            assert!(found.iter().all(|one| one.code.0 == "P0512"), "{found:?}");
            configuration.unwrap().model("m").unwrap().paths[0].profile.structured
        };
        assert_eq!(structured("model: 'eu.anthropic.claude-x-v1:0'"), Structured::Tool);
        assert_eq!(structured("model: 'amazon.nova-lite-v1:0'"), Structured::Tool);
        assert_eq!(structured("model: 'meta.llama-x-v1:0'"), Structured::Instruct);
        assert_eq!(structured("model: 'meta.llama-x-v1:0', can: [json, tools]"), Structured::Tool);
        assert_eq!(
            structured("model: 'eu.anthropic.claude-x-v1:0', can: [json_schema]"),
            Structured::Schema
        );
    }

    #[test]
    fn without_a_file_a_key_made_for_bedrock_counts_and_access_keys_do_not() {
        let bearer = ("AWS_BEARER_TOKEN_BEDROCK", "b");
        let found =
            from_environment(&Environment::of([bearer, ("AWS_DEFAULT_REGION", "eu-west-1")]));
        assert_eq!(found.origin, Origin::Found(vec!["bedrock".to_owned()]));
        let provider = found.provider("bedrock").unwrap();
        assert_eq!(provider.base_url, "https://bedrock-runtime.eu-west-1.amazonaws.com");
        assert_eq!(provider.api_key, Some(env("AWS_BEARER_TOKEN_BEDROCK")));
        assert!(found.model("best").unwrap().paths[0].profile.price.is_some());
        assert!(from_environment(&Environment::of(BOTH)).is_simulated());
        assert!(from_environment(&Environment::of([bearer])).is_simulated(), "no region");
    }
}
