//! Facts about well-known models, which a configuration overrides.
//!
//! Source: `model_prices_and_context_window_backup.json` of `litellm` 1.110.2 (MIT), read on 2026-11-30.
//! Prices are US dollars per million tokens. Trust is our prior, not a measurement.

use crate::domain::money::{Price, Usd};

/// What is known of one model id.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The kind of provider that serves it.
    pub kind: &'static str,
    /// The id there.
    pub id: &'static str,
    /// Window in tokens.
    pub context: u64,
    /// Most tokens of one answer.
    pub max_output: u32,
    /// Per million input tokens.
    pub input: f64,
    /// Per million output tokens.
    pub output: f64,
    /// Per million cached input tokens.
    pub cached: f64,
    /// Whether `temperature` is accepted.
    pub temperature: bool,
    /// Whether answers can be constrained to a JSON Schema.
    pub schema: bool,
    /// Prior chance that a schema-valid answer is right.
    pub trust: f64,
    /// The logical model it serves where no file says otherwise.
    pub tier: Tier,
}

/// The logical model that a model id serves without a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// `quick`
    Quick,
    /// `balanced`
    Balanced,
    /// `best`
    Best,
    /// None by itself.
    Unused,
}

#[expect(clippy::too_many_arguments, reason = "one row of a table")]
const fn row(
    kind: &'static str,
    id: &'static str,
    context: u64,
    max_output: u32,
    prices: (f64, f64, f64),
    temperature: bool,
    trust: f64,
    tier: Tier,
) -> Facts {
    let (input, output, cached) = prices;
    Facts {
        kind,
        id,
        context,
        max_output,
        input,
        output,
        cached,
        temperature,
        schema: true,
        trust,
        tier,
    }
}

/// The rows, per kind from quick to best.
#[rustfmt::skip]
pub const CATALOGUE: [Facts; 27] = [
    row("openai", "gpt-5.4-nano", 272_000, 128_000, (0.20, 1.25, 0.02), false, 0.85, Tier::Unused),
    row("openai", "gpt-5.4-mini", 272_000, 128_000, (0.75, 4.50, 0.075), false, 0.90, Tier::Quick),
    row("openai", "gpt-5.4", 1_050_000, 128_000, (2.50, 15.00, 0.25), false, 0.95, Tier::Balanced),
    row("openai", "gpt-5.5", 1_050_000, 128_000, (5.00, 30.00, 0.50), false, 0.97, Tier::Best),
    row("openai", "gpt-5", 272_000, 128_000, (1.25, 10.00, 0.125), false, 0.94, Tier::Unused),
    row("openai", "gpt-5-mini", 272_000, 128_000, (0.25, 2.00, 0.025), false, 0.90, Tier::Unused),
    row("openai", "gpt-5-nano", 272_000, 128_000, (0.05, 0.40, 0.005), false, 0.82, Tier::Unused),
    row("openai", "gpt-5.1", 272_000, 128_000, (1.25, 10.00, 0.125), false, 0.94, Tier::Unused),
    row("openai", "gpt-5.2", 272_000, 128_000, (1.75, 14.00, 0.175), false, 0.95, Tier::Unused),
    row("anthropic", "claude-haiku-4-5", 200_000, 64_000, (1.00, 5.00, 0.10), true, 0.90, Tier::Quick),
    row("anthropic", "claude-sonnet-4-6", 1_000_000, 128_000, (3.00, 15.00, 0.30), true, 0.95, Tier::Balanced),
    row("anthropic", "claude-opus-4-6", 1_000_000, 128_000, (5.00, 25.00, 0.50), true, 0.97, Tier::Best),
    row("anthropic", "claude-opus-4-5", 200_000, 64_000, (5.00, 25.00, 0.50), true, 0.96, Tier::Unused),
    row("gemini", "gemini-3.1-flash-lite", 1_048_576, 65_536, (0.25, 1.50, 0.025), true, 0.88, Tier::Quick),
    row("gemini", "gemini-3.6-flash", 1_048_576, 65_536, (0.75, 3.75, 0.075), false, 0.92, Tier::Balanced),
    row("gemini", "gemini-3.1-pro-preview", 1_048_576, 65_536, (2.00, 12.00, 0.20), true, 0.96, Tier::Best),
    row("groq", "openai/gpt-oss-20b", 131_072, 65_536, (0.075, 0.30, 0.0375), true, 0.82, Tier::Quick),
    row("groq", "openai/gpt-oss-120b", 131_072, 65_536, (0.15, 0.60, 0.075), true, 0.88, Tier::Balanced),
    row("mistral", "mistral-small-latest", 262_144, 262_144, (0.15, 0.60, 0.015), true, 0.85, Tier::Quick),
    row("mistral", "mistral-medium-latest", 262_144, 262_144, (1.50, 7.50, 0.15), true, 0.92, Tier::Balanced),
    row("mistral", "mistral-large-latest", 262_144, 262_144, (0.50, 1.50, 0.05), true, 0.92, Tier::Best),
    Facts {
        schema: false,
        ..row("deepseek", "deepseek-v4-flash", 1_000_000, 393_216, (0.30, 1.20, 0.006), true, 0.88, Tier::Quick)
    },
    Facts {
        schema: false,
        ..row("deepseek", "deepseek-v4-pro", 1_000_000, 393_216, (1.32, 3.96, 0.044), true, 0.93, Tier::Balanced)
    },
    row("openrouter", "openai/gpt-oss-120b", 131_072, 65_536, (0.15, 0.60, 0.075), true, 0.88, Tier::Balanced),
    row("bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000, 64_000, (1.00, 5.00, 0.10), true, 0.90, Tier::Quick),
    row("bedrock", "global.anthropic.claude-sonnet-4-6", 1_000_000, 64_000, (3.00, 15.00, 0.30), true, 0.95, Tier::Balanced),
    row("bedrock", "global.anthropic.claude-opus-4-6-v1", 1_000_000, 128_000, (5.00, 25.00, 0.50), true, 0.97, Tier::Best),
];

impl Facts {
    /// What is known of `id` at a provider of that kind; dated ids (`…-20251001`) count as their base.
    #[must_use]
    pub fn of(kind: &str, id: &str) -> Option<&'static Self> {
        let undated = id
            .rsplit_once('-')
            .filter(|(_, date)| date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()))
            .map_or(id, |(base, _)| base);
        CATALOGUE.iter().find(|facts| facts.kind == kind && facts.id == undated)
    }

    /// The price.
    #[must_use]
    pub fn price(&self) -> Option<Price> {
        Some(Price {
            input: Usd::from_dollars(self.input)?,
            output: Usd::from_dollars(self.output)?,
            cached_input: Usd::from_dollars(self.cached),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_id_has_the_facts_of_its_base() {
        let facts = Facts::of("anthropic", "claude-haiku-4-5-20251001").unwrap();
        assert_eq!(facts.price().unwrap().charge(1_000_000, 0, 0), Usd::from_dollars(1.0).unwrap());
        assert!(Facts::of("openai", "claude-haiku-4-5").is_none());
    }

    #[test]
    fn every_row_has_a_price_and_stands_once() {
        for (at, facts) in CATALOGUE.iter().enumerate() {
            assert!(facts.price().is_some() && (0.0..=1.0).contains(&facts.trust), "{}", facts.id);
            assert!(
                !CATALOGUE[..at].iter().any(|f| f.kind == facts.kind && f.id == facts.id),
                "{}",
                facts.id
            );
        }
    }
}
