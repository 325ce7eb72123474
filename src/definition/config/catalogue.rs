//! Facts about well-known models, which a configuration overrides: `catalogue.json`, with its sources and date,
//! refreshed by `catalogue.py` beside it. Read at first use.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::domain::finding::did_you_mean;
use crate::domain::model::{Efforts, SystemPrompt, TokenField};
use crate::domain::money::{Price, Usd};

use super::read::Ability;

const FILE: &str = include_str!("catalogue.json");

/// Regions that stand before an id of Bedrock's: the model behind them is the same.
const REGIONS: [&str; 12] =
    ["global", "us", "us-gov", "eu", "apac", "jp", "au", "ca", "in", "sa", "me", "uk"];

/// All that is known.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// A row for each model id of a kind, per kind from quick to best as far as they have a tier.
    pub facts: Vec<Facts>,
    /// Kinds that serve the models of another kind under the same ids.
    same: BTreeMap<String, String>,
    /// Kinds whose ids say nothing by themselves, and why.
    free: BTreeMap<String, String>,
}

/// What is known of one model id.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The kind of provider that serves it.
    pub kind: String,
    /// The id there.
    pub id: String,
    /// Window in tokens, prompt and answer together.
    pub context: u64,
    /// Most tokens of a prompt, where that is less.
    pub input: Option<u64>,
    /// Most tokens of one answer.
    pub output: Option<u32>,
    /// What it charges.
    pub price: Price,
    /// How its answers can be constrained.
    pub can: Vec<Ability>,
    /// Where the system prompt goes.
    pub system: SystemPrompt,
    /// The bound's field, where it is another one than its kind's.
    pub token_field: Option<TokenField>,
    /// Whether `temperature` is accepted.
    pub temperature: bool,
    /// Which words it takes for how hard to think.
    pub effort: Efforts,
    /// Prior chance that a schema-valid answer is right.
    pub trust: f64,
    /// The logical model it serves where no file says otherwise.
    pub tier: Tier,
}

/// The logical model that a model id serves without a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// The file.
#[derive(Deserialize)]
struct RawCatalogue {
    same: BTreeMap<String, String>,
    free: BTreeMap<String, String>,
    models: Vec<RawFacts>,
}

/// One line of it. `from` and `own` are for the script.
#[derive(Deserialize)]
struct RawFacts {
    kind: String,
    id: String,
    context: u64,
    input: Option<u64>,
    output: Option<u32>,
    price: Vec<f64>,
    can: Vec<Ability>,
    #[serde(default)]
    system: RawSystem,
    token_field: Option<RawTokenField>,
    temperature: bool,
    effort: Vec<String>,
    trust: f64,
    tier: Tier,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSystem {
    #[default]
    Native,
    Merged,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawTokenField {
    MaxTokens,
    MaxCompletionTokens,
}

/// The catalogue. Were its file broken it would be empty, which a test rules out.
#[must_use]
pub fn catalogue() -> &'static Catalogue {
    static READ: OnceLock<Catalogue> = OnceLock::new();
    READ.get_or_init(|| read(FILE).unwrap_or_default())
}

/// `None` where a line is not as it must be.
fn read(text: &str) -> Option<Catalogue> {
    let RawCatalogue { same, free, models } = serde_json::from_str(text).ok()?;
    let facts = models.into_iter().map(facts).collect::<Option<Vec<Facts>>>()?;
    Some(Catalogue { facts, same, free })
}

fn facts(raw: RawFacts) -> Option<Facts> {
    let dollars = |at: usize| raw.price.get(at).copied().and_then(Usd::from_dollars);
    Some(Facts {
        price: Price { input: dollars(0)?, output: dollars(1)?, cached_input: dollars(2) },
        system: match raw.system {
            RawSystem::Native => SystemPrompt::Native,
            RawSystem::Merged => SystemPrompt::Merged,
        },
        token_field: raw.token_field.map(|field| match field {
            RawTokenField::MaxTokens => TokenField::MaxTokens,
            RawTokenField::MaxCompletionTokens => TokenField::MaxCompletionTokens,
        }),
        effort: Efforts::of(raw.effort.iter().map(String::as_str)),
        kind: raw.kind,
        id: raw.id,
        context: raw.context,
        input: raw.input,
        output: raw.output,
        can: raw.can,
        temperature: raw.temperature,
        trust: raw.trust,
        tier: raw.tier,
    })
}

impl Catalogue {
    /// What is known of `id` at a provider of that kind; dated ids (`…-20251001`) count as their base, and
    /// Bedrock's regional ones as their model.
    #[must_use]
    pub fn of(&self, kind: &str, id: &str) -> Option<&Facts> {
        let exact = |id: &str| self.serves(kind).find(|facts| facts.id == id);
        let undated = || {
            let (base, date) = id.rsplit_once('-')?;
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            if date.len() == 8 && digits(date) {
                return exact(base);
            }
            // `…-2026-03-05`
            let cut = id.len().checked_sub(11)?;
            let dated = id.is_char_boundary(cut)
                && id[cut..].split('-').map(str::len).eq([0, 4, 2, 2])
                && id[cut..].split('-').skip(1).all(digits);
            dated.then(|| exact(&id[..cut])).flatten()
        };
        let regional = || {
            let (region, rest) = id.split_once('.').filter(|_| kind == "bedrock")?;
            REGIONS.contains(&region).then(|| exact(rest)).flatten()
        };
        exact(id).or_else(undated).or_else(regional)
    }

    /// The tier of an id, whoever serves it.
    #[must_use]
    pub fn tier(&self, id: &str) -> Option<Tier> {
        let mut known = self.facts.iter().filter(|facts| facts.id == id).map(|facts| facts.tier);
        let first = known.next()?;
        Some(if first == Tier::Unused {
            known.find(|t| *t != Tier::Unused).unwrap_or(first)
        } else {
            first
        })
    }

    /// Whether an id of that kind that is not in the catalogue is worth a word: the vendor names its models, and
    /// this kind's are listed.
    #[must_use]
    pub fn is_complete(&self, kind: &str) -> bool {
        !self.free.contains_key(kind) && self.serves(kind).next().is_some()
    }

    /// Why a kind has no rows, or need not have one for each of its ids.
    #[must_use]
    pub fn why_free(&self, kind: &str) -> Option<&str> {
        self.free.get(kind).map(String::as_str)
    }

    /// The known id of that kind that `id` may have been meant to be.
    #[must_use]
    pub fn near(&self, kind: &str, id: &str) -> Option<&str> {
        did_you_mean(id, self.serves(kind).map(|facts| facts.id.as_str()))
    }

    /// The models of a kind: its own rows, then those of the kind it shares ids with.
    fn serves<'a, 'k>(&'a self, kind: &'k str) -> impl Iterator<Item = &'a Facts> + use<'a, 'k> {
        let shared = self.same.get(kind).map(String::as_str);
        let own = self.facts.iter().filter(move |facts| facts.kind == kind);
        own.chain(self.facts.iter().filter(move |facts| Some(facts.kind.as_str()) == shared))
    }
}

#[cfg(test)]
mod tests;
