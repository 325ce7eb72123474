//! The result: as written, or the only sink's answer.

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::names::is_name;
use crate::definition::lower::scope::World;
use crate::definition::lower::shape::Typed;
use crate::definition::page::MISSING_KEY;
use crate::definition::raw::{RawText, RawWorkflow};
use crate::definition::yaml::Key;
use crate::domain::finding::Code;
use crate::domain::shape::{Field, Object, Shape};
use crate::expression::Expression;

/// More than one step, or an optional one, could be the result.
pub const UNCLEAR_OUTPUT: Code = Code("P0410");

type Output = Vec<(String, Expression)>;

impl Lowering<'_> {
    pub(super) fn output(
        &mut self,
        raw: &RawWorkflow<'_>,
        drafts: &[Draft<'_>],
        world: &World,
    ) -> (Output, Typed) {
        if drafts.is_empty() {
            return (Vec::new(), Typed::unknown());
        }
        match &raw.output {
            Some(fields) => self.written(raw, fields, world),
            None => self.sink(raw, drafts),
        }
    }

    fn written(
        &mut self,
        raw: &RawWorkflow<'_>,
        fields: &[(&Key, RawText<'_>)],
        world: &World,
    ) -> (Output, Typed) {
        if fields.is_empty() && !self.reader.found.iter().any(|d| d.pointer.starts_with("/output"))
        {
            let root = &self.reader.page.root;
            let written = root.at_pointer("/output").map(|node| node.span.clone());
            let span = written.unwrap_or_else(|| raw.steps_span.clone());
            self.reader
                .error(MISSING_KEY, &span, "`output` names no field")
                .help("output: {summary: draft.summary}, one field a line");
        }
        let fields = self.named_expressions(fields, "output");
        let mentions = fields.iter().flat_map(|field| field.text.body.mentions());
        let scope = world.scope(&mentions.map(|mention| mention.name.as_str()).collect());
        let shape = self.type_fields(&fields, &scope, "output");
        let output = fields.into_iter().map(|field| (field.name, field.text.body));
        (output.collect(), Typed::of(shape))
    }

    fn sink(&mut self, raw: &RawWorkflow<'_>, drafts: &[Draft<'_>]) -> (Output, Typed) {
        let used = |at: usize| {
            drafts.iter().any(|other| {
                other.validates != Some(at) && other.needs.iter().any(|(step, _)| *step == at)
            })
        };
        let sinks: Vec<usize> = (0..drafts.len())
            .filter(|at| drafts[*at].raw.validates.is_none() && !used(*at))
            .collect();
        let [sink] = sinks.as_slice() else {
            // Without any sink the steps wait for one another, which is said elsewhere.
            if sinks.len() > 1 {
                let names: Vec<&str> = sinks.iter().map(|at| drafts[*at].name()).collect();
                let message = format!(
                    "the workflow has no `output`, and {} steps end it: {}",
                    sinks.len(),
                    names.join(", ")
                );
                self.reader.error(UNCLEAR_OUTPUT, &raw.steps_span, message).help(format!(
                    "say what the result is, as output: {{{}: {}}}",
                    names[0], names[0]
                ));
            }
            return (Vec::new(), Typed::unknown());
        };
        let draft = &drafts[*sink];
        if draft.is_optional() || draft.is_conditional() {
            let message =
                format!("the result is step '{}' alone, which may be missing", draft.name());
            self.reader.error(UNCLEAR_OUTPUT, &draft.raw.key.span, message).help(
                "make it required, or write an `output` with a default: field: step.field ?? \"\"",
            );
            return (Vec::new(), Typed::unknown());
        }
        default_output(draft)
    }
}

fn default_output(draft: &Draft<'_>) -> (Output, Typed) {
    let name = draft.name();
    let answer = &draft.expected.typed;
    let parse = |text: &str| Expression::parse(text).ok();
    if let (Shape::Object(object), false) = (&answer.shape, draft.raw.each.is_some()) {
        let plain = !object.open && object.fields.iter().all(|f| is_name(&f.name));
        let fields = object.fields.iter().filter_map(|field| {
            parse(&format!("{name}.{}", field.name)).map(|e| (field.name.clone(), e))
        });
        let fields: Output = fields.collect();
        if plain && fields.len() == object.fields.len() && !fields.is_empty() {
            return (fields, answer.clone());
        }
    }
    let list = draft.raw.each.is_some();
    let shape = if list { Shape::list(answer.shape.clone()) } else { answer.shape.clone() };
    let output = parse(name).map(|e| vec![(name.to_owned(), e)]).unwrap_or_default();
    let object = Object { fields: vec![field(name, shape)], open: false };
    (output, Typed::of(Shape::from(object)))
}

fn field(name: &str, shape: Shape) -> Field {
    Field { name: name.to_owned(), shape, optional: false, default: None, about: None }
}
