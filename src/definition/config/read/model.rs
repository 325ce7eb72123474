//! Models and their paths.

use crate::definition::config::read::{Ability, RawModel, RawPath};
use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Reader, Spanned, WRONG_TYPE};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::money::{Price, Usd};

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
            model: String::new(),
            context: None,
            max_output: None,
            can: None,
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
        path.model = model?.value;
        Some(path)
    }
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
