//! What a refused request says about a profile that was wrong: from the refusal's words to a correction. Pure.
//!
//! Only what the request held is corrected, and only where the words speak of it: a value out of its range, a field
//! that was never sent, a prompt that is too long say nothing about the profile.

use std::fmt;
use std::sync::Arc;

use crate::domain::failure::{About, Failure, FailureClass};
use crate::domain::model::{Efforts, ModelProfile, Structured, SystemPrompt, TokenField};

use super::Exchange;
use super::constraint::{self, Constraint};

/// A change to what is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// It takes no temperature.
    NoTemperature,
    /// These words alone for how hard to think; none where the set is empty.
    Effort(Efforts),
    /// Counts in the stream may not be asked for.
    NoCounts,
    /// The answer's bound has this name.
    TokenField(TokenField),
    /// The answer's bound may be no higher.
    MaxOutput(u32),
    /// It has no place for a system prompt.
    MergedSystem,
    /// JSON is asked for in this way.
    Structured(Structured),
    /// The same for this one schema, which its constrained decoding refuses.
    OneSchema(Structured),
}

impl Correction {
    /// What `failure`, the answer to `exchange`, corrects.
    #[must_use]
    pub fn of(failure: &Failure, exchange: &Exchange) -> Option<Self> {
        let refused = failure.class == FailureClass::UnsupportedParameter;
        if !refused && failure.class != FailureClass::BadRequest {
            return None;
        }
        let text = failure.message.to_lowercase();
        let named = match &failure.about {
            Some(About::Parameter(name)) => name.to_lowercase(),
            Some(About::Size { .. }) | None => String::new(),
        };
        let said = Said { text: &text, named: &named };
        let rules = [counts, effort, bound, temperature, schema, token_field, system];
        rules.iter().find_map(|rule| rule(&said, exchange, refused))
    }

    /// Applies it to what is asked of the model.
    pub fn apply(self, exchange: &mut Exchange) {
        self.change(Arc::make_mut(&mut exchange.profile));
    }

    /// Applies it to what is known of the model.
    pub fn change(self, profile: &mut ModelProfile) {
        match self {
            Self::NoTemperature => profile.temperature = false,
            Self::Effort(words) => profile.effort = words,
            Self::NoCounts => profile.counts = false,
            Self::TokenField(field) => profile.token_field = field,
            Self::MaxOutput(most) => profile.max_output = Some(most),
            Self::MergedSystem => profile.system = SystemPrompt::Merged,
            Self::Structured(way) | Self::OneSchema(way) => profile.structured = way,
        }
    }
}

impl fmt::Display for Correction {
    /// What is done from now on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |way: &Structured| match way {
            Structured::Schema => "by a schema",
            Structured::Json => "in JSON mode",
            Structured::Tool => "by a forced tool",
            Structured::Instruct => "by instructions",
        };
        match self {
            Self::NoTemperature => f.write_str("`temperature` is not sent"),
            Self::Effort(words) if words.is_empty() => f.write_str("no effort is sent"),
            Self::Effort(words) => {
                write!(f, "effort is one of {}", words.words().collect::<Vec<_>>().join(", "))
            }
            Self::NoCounts => f.write_str("`stream_options` is not sent"),
            Self::TokenField(TokenField::MaxTokens) => f.write_str("the bound is `max_tokens`"),
            Self::TokenField(TokenField::MaxCompletionTokens) => {
                f.write_str("the bound is `max_completion_tokens`")
            }
            Self::MaxOutput(most) => write!(f, "the bound is at most {most} tokens"),
            Self::MergedSystem => f.write_str("the system prompt goes into the first user message"),
            Self::Structured(to) => write!(f, "JSON is asked for {}", way(to)),
            Self::OneSchema(to) => write!(f, "this schema is asked for {}", way(to)),
        }
    }
}

/// A refusal's words and the parameter it names, lower case.
struct Said<'a> {
    text: &'a str,
    named: &'a str,
}

impl Said<'_> {
    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }

    /// Whether it names one of these, as its parameter or in its words.
    fn names(&self, names: &[&str]) -> bool {
        let whole = self.named;
        let last = whole.rsplit(['.', '/']).next().unwrap_or(whole);
        if !whole.is_empty() && names.iter().any(|name| *name == whole || *name == last) {
            return true;
        }
        whole.is_empty() && names.iter().any(|name| self.text.contains(name))
    }
}

fn counts(said: &Said<'_>, _: &Exchange, refused: bool) -> Option<Correction> {
    (refused && said.names(&["stream_options", "include_usage"])).then_some(Correction::NoCounts)
}

fn effort(said: &Said<'_>, exchange: &Exchange, _: bool) -> Option<Correction> {
    const NAMES: [&str; 9] = [
        "thinkinglevel",
        "thinkingbudget",
        "thinking_budget",
        "reasoning_effort",
        "reasoning.effort",
        "output_config.effort",
        "effort",
        "does not support thinking",
        "thinking_level",
    ];
    constraint::effort(exchange)?;
    if !said.names(&NAMES) {
        return None;
    }
    let listed = ["supported values are", "must be one of", "expected one of", "valid values"];
    let rest = listed.iter().find_map(|marker| said.text.split_once(marker)).map_or("", |(_, r)| r);
    let words = rest.split(|c: char| !c.is_ascii_alphabetic());
    Some(Correction::Effort(Efforts::of(words)))
}

/// `max_tokens (10000) cannot exceed 8192`
fn bound(said: &Said<'_>, exchange: &Exchange, _: bool) -> Option<Correction> {
    const NAMES: [&str; 8] = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxoutputtokens",
        "max_new_tokens",
        "maximum tokens",
        "completion tokens",
        "output tokens",
    ];
    const LIMITS: [&str; 11] = [
        "cannot exceed",
        "less than or equal to",
        "model limit of",
        "supports at most",
        "must be <=",
        "lower than",
        "maximum value of",
        "maximum allowed is",
        "maximum is",
        "[1,",
        " > ",
    ];
    if !said.says(&NAMES) {
        return None;
    }
    let sent = exchange.profile.bound(exchange.max_tokens);
    let behind = |marker: &&str| -> Option<u32> {
        let (_, rest) = said.text.split_once(*marker)?;
        let digits = rest.trim_start_matches([' ', '`', '\'', '"', ':']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().filter(|most| (1..sent).contains(most))
    };
    LIMITS.iter().find_map(behind).map(Correction::MaxOutput)
}

fn temperature(said: &Said<'_>, exchange: &Exchange, _: bool) -> Option<Correction> {
    constraint::temperature(exchange)?;
    let ranged = ["above maximum", "below minimum", "between", "range", "<=", ">=", "greater than"];
    let hit = said.names(&["temperature"]) && !said.says(&ranged);
    hit.then_some(Correction::NoTemperature)
}

fn schema(said: &Said<'_>, exchange: &Exchange, _: bool) -> Option<Correction> {
    /// About one schema: another may do.
    const ONE: [&str; 8] = [
        "invalid schema",
        "compiled grammar",
        "json-schema-to-grammar",
        "parse grammar",
        "too many states",
        "format.schema",
        "schema is too",
        "unsupported schema",
    ];
    const NAMES: [&str; 14] = [
        "outputconfig.textformat",
        "textformat",
        "response_format",
        "json_schema",
        "json_object",
        "json mode",
        "structured output",
        "output_config",
        "output_format",
        "response_mime_type",
        "responsejsonschema",
        "text.format",
        "guided_json",
        "grammar",
    ];
    const TOOLS: [&str; 6] =
        ["tools", "tool_choice", "tool use", "function calling", "toolconfig", "toolchoice"];
    let fallback = exchange.profile.fallback;
    let one = said.says(&ONE);
    let to = match constraint::of(exchange) {
        Constraint::Schema(_) if one || said.names(&NAMES) => match fallback {
            Structured::Schema => Structured::Instruct,
            other => other,
        },
        // A schema of a tool's that is refused, or tools as such.
        Constraint::Tool(_) if one || said.names(&TOOLS) => match fallback {
            Structured::Json => Structured::Json,
            Structured::Schema | Structured::Tool | Structured::Instruct => Structured::Instruct,
        },
        Constraint::Object if said.names(&NAMES) => Structured::Instruct,
        Constraint::None | Constraint::Schema(_) | Constraint::Tool(_) | Constraint::Object => {
            return None;
        }
    };
    Some(if one { Correction::OneSchema(to) } else { Correction::Structured(to) })
}

fn token_field(said: &Said<'_>, exchange: &Exchange, refused: bool) -> Option<Correction> {
    let (other, name) = match exchange.profile.token_field {
        TokenField::MaxTokens => (TokenField::MaxCompletionTokens, "max_tokens"),
        TokenField::MaxCompletionTokens => (TokenField::MaxTokens, "max_completion_tokens"),
    };
    (refused && said.names(&[name])).then_some(Correction::TokenField(other))
}

fn system(said: &Said<'_>, exchange: &Exchange, _: bool) -> Option<Correction> {
    const WORDS: [&str; 11] = [
        "doesn't support the system field",
        "does not support the system field",
        "system role not supported",
        "system role is not supported",
        "does not support system",
        "doesn't support system",
        "system messages are not supported",
        "system message is not supported",
        "developer instruction is not enabled",
        "role 'system'",
        "roles must alternate",
    ];
    let native = exchange.profile.system == SystemPrompt::Native;
    let hit = said.says(&WORDS) || said.named == "system";
    (native && hit && constraint::prompt(exchange).0.is_some()).then_some(Correction::MergedSystem)
}

#[cfg(test)]
mod tests;
