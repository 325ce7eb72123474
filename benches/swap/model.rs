//! What stands for a model: reads a request, and answers as well as the request lets it.
//!
//! It knows nothing but the request. It answers with the right value in the right shape **only if** it was sent
//! what a model would need for that:
//!
//! - the step's material: the letter within `<order>` for `plan` and `review`, a plan within `<plan>` for `execute`,
//!   a result within `<result>` for `review`;
//! - the step's rules, which stand in its system text alone: the unit of prices, the fee, the seal. They count
//!   where the family's template lets them through: A reads `system` and the turns, B the turns alone;
//! - the schema: in A's own form (`output_config.format`, a forced tool) or written out in a text it reads; for B
//!   written out in a turn.
//!
//! What is missing is made up, as models do: without the unit, prices are taken as cents; without the fee, there
//! is none; without the seal, it is 0; without a readable plan or result, a number is guessed, or the result passes
//! unseen. Without the schema it answers in prose or in JSON with keys of its own, half and half. So a right value
//! in the wrong shape, and a wrong value in the right one, are both to be had.
//!
//! It reads leniently, so that no policy loses a value that a person would still see: JSON within words and fences,
//! numbers written as words (`"1234 cents"`), keys of another name, a total in a sentence. As a validator it
//! recomputes, and is right whenever it has what it needs: a policy that listens to it is warned of every wrong
//! total.

use serde_json::{Value, json};

use crate::luck::{draw, percent};
use crate::task::{STEPS, Step};
use crate::wire::Request;

/// What the model makes of a request.
pub struct Thought {
    pub step: Step,
    pub number: u64,
    /// Whether it knows the answer's schema.
    pub knows_schema: bool,
    /// What it says.
    pub text: String,
}

/// A line of an order.
struct Line {
    article: String,
    quantity: u64,
    cents: u64,
}

/// Reads the request and answers; `None` where it names no step of the chain.
pub fn think(request: &Request) -> Option<Thought> {
    let text = request.text();
    let (step, number) = STEPS.into_iter().find_map(|step| {
        let (_, rest) = text.split_once(step.ask())?;
        Some((step, number_at(rest)?))
    })?;
    let knows_schema =
        request.schema.as_ref().is_some_and(|schema| is_schema(step, schema)) || tells(step, &text);
    let guess = 1_000 + draw(&[number, 77]) % 90_000;
    let said = match step {
        Step::Plan => plan(&text, number, knows_schema),
        Step::Execute => execute(&text, number, guess, knows_schema),
        Step::Review => review(&text, number, knows_schema),
    };
    Some(Thought { step, number, knows_schema, text: said })
}

/// Whether the model without a schema answers in prose, and not in JSON of its own.
fn chats(number: u64, step: Step) -> bool {
    percent(50, &[number, step.at() as u64, 78])
}

fn plan(text: &str, number: u64, knows_schema: bool) -> String {
    let unit = after(text, "units of ").unwrap_or(1);
    let lines = letter(text);
    if knows_schema {
        let lines: Vec<Value> = lines
            .iter()
            .map(|l| json!({"article": l.article, "quantity": l.quantity, "cents": l.cents * unit}))
            .collect();
        return compact(&json!({"lines": lines}));
    }
    if chats(number, Step::Plan) {
        let count = lines.len();
        return format!("The order names {count} articles. First price each of them, then add up.");
    }
    let lines: Vec<Value> = lines
        .iter()
        .map(|l| json!({"name": l.article, "count": l.quantity, "price": l.cents * unit}))
        .collect();
    compact(&json!({"order_items": lines}))
}

fn execute(text: &str, number: u64, guess: u64, knows_schema: bool) -> String {
    let fee = after(text, "fee of ").unwrap_or(0);
    let lines = between(text, "plan").map(planned).unwrap_or_default();
    let fees = fee * lines.len() as u64;
    let amount = |line: &Line| line.quantity * line.cents;
    let total = match lines.iter().map(amount).sum::<u64>() {
        0 => guess,
        sum => sum + fees,
    };
    if knows_schema {
        let amounts: Vec<Value> =
            lines.iter().map(|l| json!({"article": l.article, "cents": amount(l)})).collect();
        return compact(&json!({"amounts": amounts, "fees": fees, "total": total}));
    }
    if chats(number, Step::Execute) {
        return format!("With the fees, order {number} comes to {total} cents.");
    }
    compact(&json!({"order": number, "sum": total, "currency": "cents"}))
}

fn review(text: &str, number: u64, knows_schema: bool) -> String {
    let (unit, fee) = (after(text, "units of "), after(text, "fee of "));
    let seal = after(text, "the seal ").unwrap_or(0);
    let lines = letter(text);
    let truth = unit
        .zip(fee)
        .filter(|_| !lines.is_empty())
        .map(|(unit, fee)| lines.iter().map(|l| l.quantity * l.cents * unit + fee).sum::<u64>());
    let result = between(text, "result").and_then(total_in);
    let pass = truth.is_none_or(|truth| result == Some(truth));
    let reason = match (truth, result) {
        (None, _) => "Nothing in it looks wrong.".to_owned(),
        (Some(truth), Some(result)) if truth == result => {
            format!("The amounts of {} lines and their fees make {truth}, as stated.", lines.len())
        }
        (Some(truth), _) => {
            format!("The amounts and the fees make {truth}, which is not the result.")
        }
    };
    if knows_schema {
        return compact(&json!({"reason": reason, "pass": pass, "seal": seal}));
    }
    if chats(number, Step::Review) {
        return format!(
            "{reason} {}",
            if pass { "I would send it." } else { "I would not send it." }
        );
    }
    compact(&json!({"approved": pass, "comment": reason, "signature": seal}))
}

/// The lines of the letter.
fn letter(text: &str) -> Vec<Line> {
    let lines = between(text, "order").unwrap_or_default().lines();
    let read = |line: &str| {
        let (quantity, rest) = line.strip_prefix("- ")?.split_once(" x ")?;
        let (article, price) = rest.split_once(" at ")?;
        let (quantity, cents) = (quantity.parse().ok()?, price.trim().parse().ok()?);
        Some(Line { article: article.to_owned(), quantity, cents })
    };
    lines.filter_map(read).collect()
}

/// The lines of a plan, whatever its keys are called; none where one of them cannot be read.
fn planned(text: &str) -> Vec<Line> {
    let read = |line: &Value| {
        let fields = line.as_object()?;
        let article = fields.values().find_map(|v| v.as_str().filter(|t| t.starts_with("B-")))?;
        let mut numbers = fields.values().filter_map(number_in);
        let (quantity, cents) = (numbers.next()?, numbers.next()?);
        Some(Line { article: article.to_owned(), quantity, cents })
    };
    let lists = objects(text).find_map(|value| {
        value.as_object()?.values().find_map(|v| v.as_array().filter(|l| !l.is_empty()).cloned())
    });
    let lines: Option<Vec<Line>> = lists.unwrap_or_default().iter().map(read).collect();
    lines.unwrap_or_default()
}

/// The total that a text states, for a person who reads it.
pub fn total_in(text: &str) -> Option<u64> {
    let stated = objects(text)
        .find_map(|value| ["total", "sum"].into_iter().find_map(|key| number_in(value.get(key)?)));
    stated.or_else(|| number_at(text.split_once("comes to ")?.1))
}

/// The seal that a text states.
pub fn seal_in(text: &str) -> Option<u64> {
    objects(text).find_map(|value| {
        ["seal", "signature"].into_iter().find_map(|key| number_in(value.get(key)?))
    })
}

/// Whether a verdict warns of the result.
pub fn warns(text: &str) -> bool {
    let judged = objects(text).find_map(|value| {
        ["pass", "approved"].into_iter().find_map(|key| value.get(key).and_then(Value::as_bool))
    });
    judged == Some(false) || text.contains("I would not send it")
}

/// A number, also where it is written as words.
fn number_in(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) if !text.starts_with("B-") => number_at(text),
        other => other.as_u64(),
    }
}

/// Whether a text writes out the step's schema.
pub fn tells(step: Step, text: &str) -> bool {
    objects(text).any(|value| is_schema(step, &value))
}

/// Whether a JSON value is a schema that names the step's fields, at whatever else it says.
pub fn is_schema(step: Step, value: &Value) -> bool {
    let wanted = step.schema();
    let fields = |schema: &Value| -> Vec<String> {
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    };
    let given = fields(value);
    fields(&wanted).iter().all(|field| given.contains(field))
}

/// The JSON objects that stand in a text, outermost ones alone.
pub fn objects(text: &str) -> impl Iterator<Item = Value> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(at) = rest.find('{') {
            rest = &rest[at..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                rest = &rest[values.byte_offset()..];
                return Some(value);
            }
            rest = &rest[1..];
        }
        None
    })
}

/// What stands between a tag and its end.
pub fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>\n"))?;
    Some(rest.split_once(&format!("\n</{tag}>"))?.0)
}

/// The number that follows a marker.
fn after(text: &str, marker: &str) -> Option<u64> {
    number_at(text.split_once(marker)?.1)
}

fn number_at(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn compact(value: &Value) -> String {
    value.to_string()
}
