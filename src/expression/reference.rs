//! References into a scope, for expressions and templates alike: what `plan.questions` holds, whether it can be
//! missing, and what to say where it does not exist.
use std::ops::Range;

use crate::domain::finding::{Finding, did_you_mean};
use crate::domain::shape::{Field, Presence, Scope, Shape};

use super::code;
use super::unify::{describe, strip};

/// A reference that has been proved present by a condition: `["gaps", "score"]` after `gaps.score != null and`.
pub type Proof = Vec<String>;

/// The binding of a root name; a dotted one, as `answer.items`, is a second view of the same name and wins where it
/// is written. Returns how many words of the path it takes.
pub fn root<'s>(
    scope: &'s Scope,
    first: &str,
    second: Option<&str>,
) -> Option<(&'s Shape, &'s Presence, usize)> {
    let view = second.and_then(|second| scope.view(first, second));
    let (binding, used) = match view {
        Some(view) => (view, 2),
        None => (scope.get(first)?, 1),
    };
    Some((&binding.shape, &binding.presence, used))
}

/// Whether `proofs` show that the path is there: it, or something below it, was tested.
pub fn proved(proofs: &[Proof], path: &[impl AsRef<str>]) -> bool {
    let covers = |p: &Proof| p.iter().zip(path).all(|(a, b)| a == b.as_ref());
    proofs.iter().any(|p| p.len() >= path.len() && covers(p))
}

/// Whether `proofs` show that the step `name` is there: its status was found to be ok.
pub fn proved_ok(proofs: &[Proof], name: &str) -> bool {
    proved(proofs, &["run", "status", name, "ok"])
}

/// What a field holds, and why it may be missing.
#[derive(Debug)]
pub struct Found {
    /// Its shape, without null.
    pub shape: Shape,
    /// Why it may be missing.
    pub missing: Option<Missing>,
}

/// Why a value may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It may not be there at all: an optional step, an optional key.
    Absent(String),
    /// It is there, and may be null.
    Null(String),
}

impl Missing {
    /// The words.
    pub fn why(&self) -> &str {
        match self {
            Self::Absent(why) | Self::Null(why) => why,
        }
    }
}

/// The field `name` of an object, which is called `owner`; `None` where the shape is not checked further.
///
/// # Errors
/// The finding, where there is no such field.
pub fn field(
    shape: &Shape,
    owner: impl Fn() -> String,
    name: &str,
    range: Range<usize>,
) -> Result<Option<Found>, Finding> {
    match shape {
        Shape::Any => Ok(None),
        Shape::Object(object) => match object.field(name) {
            Some(field) => Ok(Some(found(owner, field))),
            None if object.open => Ok(None),
            None => {
                let names: Vec<&str> = object.fields.iter().map(|f| f.name.as_str()).collect();
                Err(Finding {
                    code: code::UNKNOWN_FIELD,
                    range,
                    message: format!("'{}' has no field '{name}'", owner()),
                    help: Some(candidates(name, &names, "fields")),
                })
            }
        },
        other => Err(Finding {
            code: code::UNKNOWN_FIELD,
            range,
            message: format!("'{}' has no fields: it is {}", owner(), describe(other)),
            help: ["length", "len", "size", "count"].contains(&name).then(|| {
                let owner = owner();
                format!("write length({owner}) in an expression, {owner} | length in a prompt")
            }),
        }),
    }
}

fn found(owner: impl Fn() -> String, field: &Field) -> Found {
    let (shape, null) = strip(field.shape.clone());
    let optional = field.optional && field.default.as_ref().is_none_or(serde_json::Value::is_null);
    let missing = if optional {
        Some(Missing::Absent(format!("'{}.{}' is optional", owner(), field.name)))
    } else {
        null.then(|| Missing::Null(format!("'{}.{}' may be null", owner(), field.name)))
    };
    Found { shape, missing }
}

/// A name that is not visible.
pub fn unknown_name(scope: &Scope, locals: &[&str], name: &str, range: Range<usize>) -> Finding {
    let mut names: Vec<&str> = scope.names().filter(|n| !n.contains('.')).collect();
    names.extend(locals);
    names.sort_unstable();
    names.dedup();
    Finding {
        code: code::UNKNOWN_NAME,
        range,
        message: format!("there is no '{name}' here"),
        help: Some(match elsewhere(name) {
            Some(place) => format!("{place}; visible: {}", listed(&names)),
            None => candidates(name, &names, "visible"),
        }),
    }
}

/// Where a name that means something is visible, and what to write for one of another format.
fn elsewhere(name: &str) -> Option<&'static str> {
    match name {
        "item" | "index" => Some("only a step with `each` has it"),
        "loop" => Some("only the inside of a `{% for %}` has it"),
        "feedback" => Some("only a step that a validator judges has it"),
        "env" | "secrets" | "config" => Some("texts see neither the environment nor secrets"),
        "steps" | "outputs" | "nodes" | "results" => {
            Some("a step is referred to by its name alone, as plan.questions")
        }
        _ => None,
    }
}

/// A reference that can be missing and is neither guarded nor defaulted.
pub fn unguarded(path: &str, why: &str, range: Range<usize>, help: String) -> Finding {
    let message = if why.starts_with(&format!("'{path}' ")) {
        why.to_owned()
    } else {
        format!("'{path}' can be missing: {why}")
    };
    Finding { code: code::UNGUARDED, range, message, help: Some(help) }
}

/// `did you mean 'text'? fields: id, text, topics`.
pub fn candidates(word: &str, names: &[&str], kind: &str) -> String {
    let list = listed(names);
    match did_you_mean(word, names.iter().copied()) {
        Some(close) => format!("did you mean '{close}'? {kind}: {list}"),
        None => format!("{kind}: {list}"),
    }
}

fn listed(names: &[&str]) -> String {
    /// Most names a message lists.
    const LISTED: usize = 20;
    let mut list = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        list.push_str(", …");
    }
    if names.is_empty() {
        "none".clone_into(&mut list);
    }
    list
}
