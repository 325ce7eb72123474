use super::*;
use crate::definition::config::preset::PRESETS;
use Tier::{Balanced, Best, Quick};

#[test]
fn a_dated_or_regional_id_has_the_facts_of_its_base() {
    let of = |kind, id| catalogue().of(kind, id).map(|facts| facts.id.as_str());
    assert_eq!(of("anthropic", "claude-haiku-4-5-20251001"), Some("claude-haiku-4-5"));
    assert_eq!(of("openai", "gpt-5.4-2026-03-05"), Some("gpt-5.4"));
    assert_eq!(of("openai", "gpt-5.4-2026-3-5"), None);
    assert_eq!(of("openai", "claude-haiku-4-5"), None);
    assert_eq!(
        of("bedrock", "apac.anthropic.claude-sonnet-4-6"),
        Some("anthropic.claude-sonnet-4-6")
    );
    assert_eq!(of("bedrock", "mars.anthropic.claude-sonnet-4-6"), None);
    assert_eq!(of("openai", "ö-2026-03-05"), None);
    let facts = catalogue().of("anthropic", "claude-haiku-4-5").unwrap();
    assert_eq!(facts.price.charge(1_000_000, 0, 0), Usd::from_dollars(1.0).unwrap());
}

#[test]
fn a_kind_that_serves_anothers_models_has_their_facts() {
    for kind in ["azure", "openai_responses"] {
        assert_eq!(catalogue().of(kind, "gpt-5.4").unwrap().context, 1_050_000, "{kind}");
    }
    assert!(catalogue().of("openai", "gpt-5.5-pro").is_none(), "it is served on responses alone");
    assert!(catalogue().of("openai_responses", "gpt-5.5-pro").is_some());
}

#[test]
fn every_kind_has_rows_or_a_reason_to_have_none() {
    for preset in &PRESETS {
        let served = catalogue().serves(preset.kind).next().is_some();
        assert!(served || catalogue().why_free(preset.kind).is_some(), "{}", preset.kind);
    }
    for kind in ["gemini", "openai_responses", "bedrock"] {
        assert!(catalogue().is_complete(kind), "{kind}");
    }
    for kind in ["azure", "ollama", "openai_compatible"] {
        assert!(!catalogue().is_complete(kind), "{kind}");
    }
}

#[test]
fn every_row_stands_once_and_its_figures_are_plausible() {
    let all = &catalogue().facts;
    assert!(all.len() > 150, "{}", all.len());
    for (at, facts) in all.iter().enumerate() {
        let name = format!("{} {}", facts.kind, facts.id);
        let twice = all[..at].iter().any(|f| f.kind == facts.kind && f.id == facts.id);
        assert!(!twice, "{name} stands twice");
        assert!((8_000..=12_000_000).contains(&facts.context), "{name}: {}", facts.context);
        assert!(facts.input.is_none_or(|most| most < facts.context), "{name}");
        assert!(facts.output.is_none_or(|most| u64::from(most) <= facts.context), "{name}");
        let Price { input, output, cached_input } = facts.price;
        let most = Usd::from_dollars(500.0).unwrap();
        assert!(input > Usd::ZERO && input <= output && output <= most, "{name}");
        assert!(cached_input.is_none_or(|cached| cached <= input), "{name}");
        assert!((0.5..1.0).contains(&facts.trust), "{name}");
    }
}

#[test]
fn the_file_has_no_column_that_nobody_reads() {
    const COLUMNS: [&str; 15] = [
        "kind",
        "id",
        "from",
        "context",
        "input",
        "output",
        "price",
        "can",
        "system",
        "token_field",
        "temperature",
        "effort",
        "trust",
        "tier",
        "own",
    ];
    let file: serde_json::Value = serde_json::from_str(FILE).unwrap();
    for row in file["models"].as_array().unwrap() {
        for key in row.as_object().unwrap().keys() {
            assert!(COLUMNS.contains(&key.as_str()), "{key} in {row}");
        }
        for word in row["effort"].as_array().unwrap() {
            assert!(Efforts::WORDS.contains(&word.as_str().unwrap()), "{row}");
        }
    }
    let lines = FILE.lines().filter(|line| line.starts_with("    {\"kind\": ")).count();
    assert_eq!(lines, catalogue().facts.len(), "a row is a line, so that diffs can be read");
    let read = file["read"].as_str().unwrap();
    assert!(read.len() == 10 && file["sources"].as_array().unwrap().len() > 1, "{read}");
}

#[test]
fn every_kind_with_a_tier_has_the_three_or_says_less_on_purpose() {
    let tiers = |kind: &str| -> Vec<Tier> {
        let rows = catalogue().facts.iter().filter(|f| f.kind == kind && f.tier != Tier::Unused);
        rows.map(|f| f.tier).collect()
    };
    for kind in ["openai", "anthropic", "mistral", "xai", "openrouter"] {
        assert_eq!(tiers(kind), [Quick, Balanced, Best], "{kind}");
    }
    // Two open models are all that Groq and DeepSeek have; Responses serves what chat completions serve.
    for kind in ["groq", "deepseek"] {
        assert_eq!(tiers(kind), [Quick, Balanced], "{kind}");
    }
    assert_eq!(tiers("openai_responses"), []);
}
