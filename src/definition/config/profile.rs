//! A model's profile: what its kind of provider is like, what the catalogue knows of the id, what the file says.

use crate::definition::config::catalogue::{Facts, catalogue};
use crate::definition::config::preset::{Preset, Wire};
use crate::definition::config::read::{Ability, RawPath};
use crate::domain::model::{ModelProfile, Structured};

/// What is known about a model id at a kind of provider, without the file's word. Of an id that is not in the
/// catalogue what the kind's servers take in general, and nothing beyond.
#[must_use]
pub fn profile(preset: &Preset, id: &str) -> ModelProfile {
    let structured = preset.structured_of(id);
    let plain = ModelProfile {
        structured,
        fallback: fallback_of(structured),
        subset: preset.subset,
        token_field: preset.token_field,
        ..ModelProfile::plain(id)
    };
    match catalogue().of(preset.kind, id) {
        Some(facts) => known(preset, facts, plain),
        None => plain,
    }
}

fn known(preset: &Preset, facts: &Facts, plain: ModelProfile) -> ModelProfile {
    let (structured, fallback) = modes(&facts.can, preset);
    ModelProfile {
        context: Some(facts.context),
        max_input: facts.input,
        max_output: facts.output,
        structured,
        fallback,
        system: facts.system,
        token_field: facts.token_field.unwrap_or(plain.token_field),
        temperature: facts.temperature,
        effort: facts.effort,
        price: Some(facts.price),
        trust: facts.trust,
        ..plain
    }
}

/// The same with what a path of the file says of it.
pub fn stated(path: &RawPath, preset: &Preset) -> ModelProfile {
    let mut profile = profile(preset, &path.model.value);
    if path.context.is_some() {
        (profile.context, profile.max_input) = (path.context, None);
    }
    profile.max_output = path.max_output.or(profile.max_output);
    profile.price = path.price.or(profile.price);
    profile.trust = path.trust.unwrap_or(profile.trust);
    profile.system = path.system.unwrap_or(profile.system);
    profile.token_field = path.token_field.unwrap_or(profile.token_field);
    profile.temperature = path.temperature.unwrap_or(profile.temperature);
    profile.effort = path.effort.unwrap_or(profile.effort);
    if let Some(can) = &path.can {
        (profile.structured, profile.fallback) = modes(can, preset);
    }
    profile
}

/// How JSON is asked for, and how where that does not do: a schema first, then what the kind does best beside it.
fn modes(can: &[Ability], preset: &Preset) -> (Structured, Structured) {
    let by_tool = matches!(preset.wire, Wire::Anthropic | Wire::Bedrock);
    let beside = if by_tool {
        [(Ability::Tools, Structured::Tool), (Ability::Json, Structured::Json)]
    } else {
        [(Ability::Json, Structured::Json), (Ability::Tools, Structured::Tool)]
    };
    let order = [(Ability::Schema, Structured::Schema)].into_iter().chain(beside);
    let mut able = order.filter(|(ability, _)| can.contains(ability)).map(|(_, mode)| mode);
    let first = able.next().unwrap_or(Structured::Instruct);
    (first, able.next().unwrap_or(Structured::Instruct))
}

/// Beside which mode a kind's servers have which other, where nothing is known of the model.
const fn fallback_of(structured: Structured) -> Structured {
    match structured {
        Structured::Schema => Structured::Json,
        Structured::Json | Structured::Tool | Structured::Instruct => Structured::Instruct,
    }
}
