//! `check`: conditions on a step's own answer, with everything the step could see.

use std::collections::BTreeSet;

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::names::RESERVED;
use crate::definition::lower::text::Text;
use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{Presence, Scope, Shape};
use crate::expression::{Expression, code};

/// A condition of `check` that is neither true nor false.
pub const CHECK_NEEDS_BOOLEAN: Code = Code("P0413");
/// A name in a `check` that could mean two things.
pub const AMBIGUOUS_NAME: Code = Code("P0414");

/// The fields of a step's own answer, which stand bare in its `check`; none where its type hides them.
pub fn own_fields(answer: &Shape) -> BTreeSet<String> {
    match answer {
        Shape::Object(object) => object.fields.iter().map(|field| field.name.clone()).collect(),
        _ => BTreeSet::new(),
    }
}

impl Lowering<'_> {
    /// Checks the conditions of a step, whose texts see `scope`.
    pub(super) fn check_checks(&mut self, draft: &Draft<'_>, scope: &Scope) {
        if draft.check.is_empty() {
            return;
        }
        let owner = draft.owner();
        let mut scope = scope.clone();
        let answer = &draft.expected.typed.shape;
        // A field hides a step of the same name; what every text sees is not to be hidden unnoticed.
        let item = draft.raw.each.is_some().then(|| draft.item());
        let taken: BTreeSet<String> = own_fields(answer)
            .into_iter()
            .filter(|field| RESERVED.contains(&field.as_str()) || item == Some(field.as_str()))
            .collect();
        if let Shape::Object(object) = answer {
            for field in &object.fields {
                let presence = if field.optional {
                    Presence::Maybe(format!("'{}' is optional", field.name).into())
                } else {
                    Presence::Always
                };
                scope.bind(field.name.as_str(), field.shape.clone(), presence);
            }
        }
        for check in &draft.check {
            if let Some(finding) = misnamed(check, draft, &taken) {
                self.finding(&finding, check.origin, &owner);
                continue;
            }
            let (shape, sound) = self.check_expression(check, &scope, &owner);
            if sound && !matches!(shape, Shape::Boolean | Shape::Any) {
                let message =
                    format!("a `check` must be true or false, and is {}", shape.describe());
                let help = "compare it, as length(bullets) <= 5, or all(contains(input.text, q) for q in quotes)";
                self.type_problem(CHECK_NEEDS_BOOLEAN, check, &owner, message, help);
            }
        }
    }
}

/// A name in a condition that is a field of the answer and something else too, or the step's own.
fn misnamed(
    check: &Text<'_, Expression>,
    draft: &Draft<'_>,
    taken: &BTreeSet<String>,
) -> Option<Finding> {
    let own = own_fields(&draft.expected.typed.shape);
    check.body.mentions().iter().find_map(|mention| {
        let name = &mention.name;
        let (code, message, help) = if taken.contains(name) {
            (
                AMBIGUOUS_NAME,
                format!("'{name}' is a field of this answer, and what every text sees as well"),
                "rename the field: in a `check` the fields of the answer stand bare".to_owned(),
            )
        } else if name == draft.name() && !own.contains(name) {
            let field = mention.path.first().or(own.first()).map_or("text", String::as_str);
            (
                code::UNKNOWN_NAME,
                format!("'{name}' is this step itself; in a `check` its fields stand bare"),
                format!("write {field}"),
            )
        } else {
            return None;
        };
        Some(Finding { code, range: mention.range.clone(), message, help: Some(help) })
    })
}
