//! Models and their paths.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::definition::config::read::RawModel;
use crate::definition::config::read::part::Cost;
use crate::definition::editor::leaf::{Flag, Name};
use crate::definition::editor::mapping::{ListOf, Mapping};
use crate::definition::editor::word::{Can, Effort, OneOf};
use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Reader, Spanned, WRONG_TYPE};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::model::{Efforts, SystemPrompt, TokenField};
use crate::domain::money::{Price, Usd};

/// A path.
#[derive(Debug, JsonSchema)]
#[schemars(inline, transform = Mapping::closed().required(&["provider", "model"]))]
pub struct RawPath {
    /// The name of a provider of this file.
    #[schemars(with = "Name")]
    pub provider: Spanned<String>,
    /// The model's id there, as the vendor writes it.
    #[schemars(with = "Name")]
    pub model: Spanned<String>,
    /// The window in tokens, prompt and answer together, from 256. Default: as known of the model.
    #[schemars(with = "u64", range(min = 256, max = 1_073_741_824))]
    pub context: Option<u64>,
    /// The longest answer in tokens, from 1. Default: as known of the model.
    #[schemars(with = "u32", range(min = 1, max = 1_073_741_824))]
    pub max_output: Option<u32>,
    /// What the model can there, which decides how an answer's shape is asked for. Default: as known of the model,
    /// else as the kind's.
    #[schemars(with = "ListOf<OneOf<Can>>")]
    pub can: Option<Vec<Ability>>,
    /// Where the system prompt goes: native, or merged into the first user message for models that know none.
    /// Default: as known of the model, else native.
    #[schemars(with = "OneOf<SystemPrompt>")]
    pub system: Option<SystemPrompt>,
    /// The request's field for the longest answer, of OpenAI-like servers. Default: as known of the model, else the
    /// kind's.
    #[schemars(with = "OneOf<TokenField>")]
    pub token_field: Option<TokenField>,
    /// Whether the model takes a temperature; where not, none is sent. Default: as known of the model, else true.
    #[schemars(with = "Flag")]
    pub temperature: Option<bool>,
    /// The words that the model takes for effort, as [low, medium, high]; of another word the nearest one is sent, and
    /// where the list is empty none. Default: as known of the model, else none.
    #[schemars(with = "ListOf<OneOf<Effort>>")]
    pub effort: Option<Efforts>,
    /// Dollars per million tokens. Default: as known of the model, else nothing is charged and costs are named as
    /// estimates.
    #[schemars(with = "Cost")]
    pub price: Option<Price>,
    /// The chance, from 0 to 1, that an answer of the right shape is right. Default: as known of the model, else 0.9.
    #[schemars(with = "f64", range(min = 0, max = 1))]
    pub trust: Option<f64>,
}

/// What a model can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Ability {
    #[serde(rename = "json_schema")]
    Schema,
    #[serde(rename = "json")]
    Json,
    #[serde(rename = "tools")]
    Tools,
}

impl RawModel {
    pub(super) fn read(reader: &mut Reader<'_>, name: &Key, node: &Node) -> Self {
        let mut model = Self {
            key: name.clone(),
            paths: Vec::new(),
            faster: None,
            stronger: None,
            same_as: None,
            not: Vec::new(),
        };
        for (key, value) in reader.map(node, &keys::MODEL) {
            let what = format!("model '{}': `{}`", name.name, key.name);
            match key.name.as_str() {
                "paths" => {
                    let items = reader.items(value, &what).iter();
                    model.paths = items.filter_map(|i| RawPath::read(reader, i, &what)).collect();
                }
                "faster" => model.faster = reader.text(value, &what),
                "stronger" => model.stronger = reader.text(value, &what),
                "same_as" => model.same_as = reader.text(value, &what),
                _ => {
                    let items = reader.items(value, &what).iter();
                    model.not = items.filter_map(|item| reader.text(item, &what)).collect();
                }
            }
        }
        let has = |name: &str| match &node.kind {
            Kind::Map(entries) => entries.iter().any(|(key, _)| key.name == name),
            Kind::Scalar(_) | Kind::List(_) => true,
        };
        if !has("paths") && !has("same_as") {
            let message = format!("model '{}' has neither `paths` nor `same_as`", name.name);
            reader
                .error(MISSING_KEY, &name.span, message)
                .help("paths: [{provider: NAME, model: ID}]");
        }
        model
    }
}

impl RawPath {
    pub(super) fn read(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Self> {
        let (mut provider, mut model) = (None, None);
        let mut path = Self {
            provider: Spanned { value: String::new(), span: node.span.clone() },
            model: Spanned { value: String::new(), span: node.span.clone() },
            context: None,
            max_output: None,
            can: None,
            system: None,
            token_field: None,
            temperature: None,
            effort: None,
            price: None,
            trust: None,
        };
        for (key, value) in reader.map(node, &keys::PATH) {
            let what = format!("{what}: `{}`", key.name);
            match key.name.as_str() {
                "provider" => provider = reader.text(value, &what),
                "model" => model = reader.text(value, &what),
                "context" => {
                    path.context = reader.integer(value, &what, 256..=1 << 30).map(|n| n.value);
                }
                "max_output" => {
                    path.max_output = reader.small(value, &what, 1..=1 << 30).map(|n| n.value);
                }
                "can" => path.can = Some(abilities(reader, value, &what)),
                "system" => path.system = reader.word(value, &what, &SYSTEMS).map(|w| w.value),
                "token_field" => {
                    path.token_field = reader.word(value, &what, &FIELDS).map(|w| w.value);
                }
                "temperature" => path.temperature = takes_temperature(reader, value, &what),
                "effort" => path.effort = Some(efforts(reader, value, &what)),
                "price" => path.price = price(reader, value, &what),
                _ => path.trust = reader.number(value, &what, 0.0..=1.0).map(|n| n.value),
            }
        }
        let Kind::Map(entries) = &node.kind else { return None };
        for required in ["provider", "model"] {
            if !entries.iter().any(|(key, _)| key.name == required) {
                let message = format!("{what}: a path has no `{required}`");
                reader.error(MISSING_KEY, &node.span, message);
            }
        }
        path.provider = provider?;
        path.model = model?;
        Some(path)
    }
}

const SYSTEMS: [(&str, SystemPrompt); 2] =
    [("native", SystemPrompt::Native), ("merged", SystemPrompt::Merged)];
const FIELDS: [(&str, TokenField); 2] = [
    ("max_tokens", TokenField::MaxTokens),
    ("max_completion_tokens", TokenField::MaxCompletionTokens),
];

/// People write the temperature itself here.
fn takes_temperature(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<bool> {
    let before = reader.found.len();
    let read = reader.boolean(node, what).map(|b| b.value);
    if let Some(found) = reader.found.get_mut(before) {
        found.help = Some(
            "true or false: whether the model takes one; the temperature itself stands in a step or in `defaults`"
                .to_owned(),
        );
    }
    read
}

fn efforts(reader: &mut Reader<'_>, node: &Node, what: &str) -> Efforts {
    let words = Efforts::WORDS.map(|word| (word, word));
    let items = reader.items(node, what).iter();
    let read: Vec<&str> =
        items.filter_map(|item| reader.word(item, what, &words)).map(|w| w.value).collect();
    Efforts::of(read)
}

fn abilities(reader: &mut Reader<'_>, node: &Node, what: &str) -> Vec<Ability> {
    let words =
        [("json_schema", Ability::Schema), ("json", Ability::Json), ("tools", Ability::Tools)];
    let items = reader.items(node, what).iter();
    items.filter_map(|item| reader.word(item, what, &words)).map(|w| w.value).collect()
}

fn price(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<Price> {
    let (mut input, mut output, mut cached_input): (Option<Usd>, Option<Usd>, Option<Usd>) =
        (None, None, None);
    let before = reader.found.len();
    for (key, value) in reader.map(node, &keys::PRICE) {
        let read = reader.dollars(value, format!("{what}: `{}`", key.name)).map(|d| d.value);
        match key.name.as_str() {
            "in" => input = read,
            "out" => output = read,
            _ => cached_input = read,
        }
    }
    let price = input.zip(output).map(|(input, output)| Price { input, output, cached_input });
    if price.is_none() && reader.found.len() == before {
        let message = format!("{what} needs both `in` and `out`");
        reader.error(WRONG_TYPE, &node.span, message).help("dollars per million tokens");
    }
    price
}
