//! Answers by shape, for prompts without a recorded one: strings are taken from the prompt, words of an enum
//! and ids that stand in it are preferred, `pass` is true. The same prompt gets the same answer.

use serde_json::{Map, Number, Value};

use super::excerpt::{Excerpt, hash};
use super::pattern;
use crate::domain::message::Prompt;
use crate::domain::shape::{ListRange, Object, Range, Shape, TextRange};
use crate::schema::Schema;

/// Characters of one string, tried in turn until the whole answer keeps to its bound.
const STRING_CHARS: [usize; 4] = [200, 90, 40, 12];
/// Levels below which optional fields and further list items are left out.
const MAX_DEPTH: usize = 6;
/// Most items of a list, whatever the schema asks for.
const MAX_ITEMS: u64 = 200;
/// Bytes a token stands for in prose.
const BYTES_PER_TOKEN: usize = 4;

/// Why no answer could be made up.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the simulator cannot make up an answer for this schema ({0}); record one in a case")]
pub struct NoAnswer(pub String);

/// Tokens of a text as the simulator counts them.
#[must_use]
pub fn tokens_of(text: &str) -> u64 {
    text.len().div_ceil(BYTES_PER_TOKEN) as u64
}

/// An answer to `prompt` of at most `max_tokens`: JSON that fits `schema`, or a few sentences without one.
/// Where the shortest JSON is longer, that one, so that its cutting off is seen.
///
/// # Errors
/// The schema demands what cannot be made up.
pub fn answer(
    prompt: &Prompt,
    schema: Option<&Value>,
    max_tokens: u32,
) -> Result<String, NoAnswer> {
    let excerpt = Excerpt::of(prompt);
    let Some(schema) = schema else { return Ok(prose(&excerpt, max_tokens)) };
    let shape = Schema::to_shape(schema);
    let mut shortest = None;
    for most in STRING_CHARS {
        let mut writer = Writer { excerpt: &excerpt, most, strings: 0, ids: 0 };
        let value = writer.value(&shape, "", 0);
        let text = value.to_string();
        let is_short = tokens_of(&text) <= u64::from(max_tokens);
        shortest = Some((value, text));
        if is_short {
            break;
        }
    }
    let Some((value, text)) = shortest else { return Err(NoAnswer("no form of it".to_owned())) };
    verify(schema, &shape, &value)?;
    Ok(text)
}

/// What the writer makes of a shape fits it; a schema that says more than its shape is asked.
fn verify(schema: &Value, shape: &Shape, value: &Value) -> Result<(), NoAnswer> {
    if !has_patterns(shape) && Schema::of_shape(shape) == *schema {
        return Ok(());
    }
    let compiled = Schema::compile(schema.clone())
        .map_err(|error| NoAnswer(format!("{}: {}", error.pointer, error.message)))?;
    match compiled.violations(value).first() {
        None => Ok(()),
        Some(violation) => Err(NoAnswer(violation.to_string())),
    }
}

/// Bounds that exclude each other count as patterns: they, too, need asking.
fn has_patterns(shape: &Shape) -> bool {
    match shape {
        Shape::Any | Shape::Boolean => false,
        Shape::Enum(words) => words.is_empty(),
        Shape::Text(range) => range.pattern.is_some() || range.min > range.max.or(range.min),
        Shape::Integer(range) | Shape::Number(range) => range.min.is_some() && range.max.is_some(),
        Shape::List(item, range) => {
            has_patterns(item) || range.min > range.max.or(range.min) || range.min > Some(MAX_ITEMS)
        }
        Shape::Object(object) => object.fields.iter().any(|field| has_patterns(&field.shape)),
        Shape::Nullable(inner) => has_patterns(inner),
    }
}

/// Up to four sentences of the document.
fn prose(excerpt: &Excerpt, max_tokens: u32) -> String {
    let room = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
    let mut text = String::new();
    for sentence in excerpt.sentences.iter().take(4) {
        if !text.is_empty() && text.len() + sentence.len() + 1 > room {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    clip(&text, room.min(2_000)).to_owned()
}

struct Writer<'a> {
    excerpt: &'a Excerpt,
    /// Characters of one string.
    most: usize,
    /// Strings written so far: each takes the next sentence.
    strings: usize,
    /// Ids written so far.
    ids: usize,
}

impl Writer<'_> {
    fn value(&mut self, shape: &Shape, name: &str, depth: usize) -> Value {
        match shape {
            Shape::Any => Value::from(self.text(&TextRange::default(), name)),
            Shape::Boolean => Value::Bool(name == "pass" || self.pick(name, 2) == 0),
            Shape::Integer(range) => self.integer(range, name),
            Shape::Number(range) => self.number(range, name),
            Shape::Text(range) => Value::from(self.text(range, name)),
            Shape::Enum(words) => self.word(words, name),
            Shape::List(item, range) => self.list(item, range, name, depth),
            Shape::Object(object) => self.object(object, depth),
            Shape::Nullable(inner) => self.value(inner, name, depth),
        }
    }

    fn object(&mut self, object: &Object, depth: usize) -> Value {
        let judges = object.field("pass").is_some_and(|field| field.shape == Shape::Boolean);
        let mut map = Map::new();
        for field in &object.fields {
            if field.optional && depth >= MAX_DEPTH {
                continue;
            }
            // What a verdict of `pass: true` lists are objections: there are none.
            let value = match &field.shape {
                Shape::List(_, range) if judges && range.min.unwrap_or(0) == 0 => {
                    Value::Array(vec![])
                }
                shape => self.value(shape, &field.name, depth + 1),
            };
            map.insert(field.name.clone(), value);
        }
        Value::Object(map)
    }

    fn list(&mut self, item: &Shape, range: &ListRange, name: &str, depth: usize) -> Value {
        let usual = if depth >= MAX_DEPTH { 0 } else { 2 + self.pick(name, 2) };
        let least = range.min.unwrap_or(0);
        let count = usual.max(least).min(range.max.unwrap_or(u64::MAX)).min(MAX_ITEMS);
        let singular = name.strip_suffix('s').unwrap_or(name);
        let mut items: Vec<Value> = Vec::new();
        for nth in 0..count {
            let value = match item {
                Shape::Enum(words) => self.nth_word(words, name, nth),
                item => self.value(item, singular, depth + 1),
            };
            // A short document or enum repeats itself; a list says nothing twice if it need not.
            if nth < least || !items.contains(&value) {
                items.push(value);
            }
        }
        Value::Array(items)
    }

    /// A number from 0 to below `count` that depends on the prompt and the field.
    fn pick(&self, name: &str, count: u64) -> u64 {
        (hash(name.as_bytes()) ^ self.excerpt.hash).rotate_right(17) % count.max(1)
    }

    fn word(&self, words: &[String], name: &str) -> Value {
        self.nth_word(words, name, 0)
    }

    /// Words that stand in the prompt first, the others from a place that depends on it.
    fn nth_word(&self, words: &[String], name: &str, nth: u64) -> Value {
        let text = &self.excerpt.text;
        let (there, others): (Vec<&String>, Vec<&String>) =
            words.iter().partition(|word| word.len() > 2 && stands_alone(text, word));
        let turn = usize::try_from(self.pick(name, others.len() as u64)).unwrap_or(0);
        let mut order =
            there.into_iter().chain(others.iter().copied().cycle().skip(turn).take(others.len()));
        let nth = usize::try_from(nth).unwrap_or(usize::MAX) % words.len().max(1);
        order.nth(nth).map_or(Value::Null, |word| Value::from(word.as_str()))
    }

    fn integer(&self, range: &Range, name: &str) -> Value {
        let bound = |number: &Option<Number>, round: fn(f64) -> f64| {
            let number = number.as_ref()?;
            number.as_i64().or_else(|| whole(round(number.as_f64()?)))
        };
        let (least, most) = (bound(&range.min, f64::ceil), bound(&range.max, f64::floor));
        let low = least.unwrap_or_else(|| most.map_or(1, |most| most.saturating_sub(4).min(1)));
        let high = most.unwrap_or_else(|| low.saturating_add(4));
        let span =
            u64::try_from(high.saturating_sub(low)).unwrap_or(0).saturating_add(1).min(1_000);
        let offset = i64::try_from(self.pick(name, span)).unwrap_or(0);
        Value::from(low.saturating_add(offset))
    }

    fn number(&self, range: &Range, name: &str) -> Value {
        let bound = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
        let (low, high) = match (bound(&range.min), bound(&range.max)) {
            (Some(low), Some(high)) => (low, high),
            (Some(low), None) => (low, low + 4.0),
            (None, Some(high)) => (high - 4.0, high),
            (None, None) => (0.0, 4.0),
        };
        let share = [0.25, 0.5, 0.75, 1.0][usize::try_from(self.pick(name, 4)).unwrap_or(0)];
        let exact = (low + (high - low) * share).clamp(low.min(high), high);
        let rounded = (exact * 100.0).round() / 100.0;
        Value::from(if (low..=high).contains(&rounded) { rounded } else { exact })
    }

    fn text(&mut self, range: &TextRange, name: &str) -> String {
        if let Some(pattern) = &range.pattern {
            return self.patterned(pattern, range);
        }
        if let Some(id) = self.id(name) {
            return self.fitted(&id, range);
        }
        self.strings += 1;
        self.fitted(self.excerpt.sentence(self.strings - 1), range)
    }

    /// The text within its bounds: clipped at a word's end, or lengthened by the document's next sentences.
    fn fitted(&self, text: &str, range: &TextRange) -> String {
        let count = |bound: u64| usize::try_from(bound).unwrap_or(usize::MAX);
        let least = count(range.min.unwrap_or(0)).min(100_000);
        let most = range.max.map_or(usize::MAX, count).min(self.most.max(least));
        let mut text = text.to_owned();
        let mut next = self.strings;
        while text.chars().count() < least {
            text.push(' ');
            text.push_str(self.excerpt.sentence(next));
            text.push('.');
            next += 1;
        }
        let clipped = clip(&text, most);
        if clipped.chars().count() >= least {
            return clipped.to_owned();
        }
        text.chars().take(most).collect()
    }

    /// The next id of the prompt, for fields that hold one.
    fn id(&mut self, name: &str) -> Option<String> {
        let names_one = matches!(name, "id" | "ref" | "source" | "citation" | "key" | "code")
            || name.ends_with("_id")
            || name.ends_with("_ref");
        if !names_one {
            return None;
        }
        self.ids += 1;
        let nth = self.ids - 1;
        let of_prompt = self.excerpt.ids.get(nth % self.excerpt.ids.len().max(1)).cloned();
        Some(of_prompt.unwrap_or_else(|| format!("item-{}", nth + 1)))
    }

    /// A text the pattern is found in: the prompt's own where one fits, else one made from the pattern.
    fn patterned(&mut self, pattern: &str, range: &TextRange) -> String {
        let shape = Shape::Text(range.clone());
        let made = pattern::example(pattern);
        let Ok(schema) = Schema::compile(Schema::of_shape(&shape)) else {
            return made.unwrap_or_default();
        };
        let sentence = self.fitted(self.excerpt.sentence(self.strings), range);
        self.strings += 1;
        let words = self.excerpt.text.split_whitespace().take(400);
        let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let padded = made.clone().map(|made| self.fitted(&made, range));
        let candidates = (self.excerpt.ids.iter().cloned())
            .chain([sentence])
            .chain(made.clone())
            .chain(padded)
            .chain(words.map(str::to_owned));
        let found = candidates.into_iter().find(|text| schema.accepts(&Value::from(text.as_str())));
        found.or(made).unwrap_or_default()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked in the line above")]
fn whole(number: f64) -> Option<i64> {
    let is_exact = number.abs() < 9e15;
    is_exact.then_some(number as i64)
}

fn stands_alone(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

/// At most `most` characters, cut at a word's end where there is one in the second half.
fn clip(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let head = &text[..end];
    match head.rfind(' ') {
        Some(space) if space > head.len() / 2 => head[..space].trim_end_matches([',', ';', ' ']),
        _ => head,
    }
}
