//! Prompts that nothing of the call reaches, and items that do not reach their own.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::shape::Shape;

/// A prompt that is always the same.
pub const CONSTANT_PROMPT: Code = Code("P0811");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let asks = matches!(look.subject.input, Shape::Object(object) if !object.fields.is_empty());
    if !asks && !matches!(look.subject.input, Shape::Any) {
        return;
    }
    for ix in look.asked() {
        let draft = look.draft(ix);
        if !draft.raw.history.is_empty() {
            continue;
        }
        let heard = look.mentions(ix);
        let name = draft.name();
        let message = match &draft.raw.each {
            None if heard.iter().all(|mention| mention.name == "vars") => {
                format!("step '{name}' sends the same prompt whatever the caller passes")
            }
            Some(each) if is_path(each.text) && !reads_item(look, draft.item(), ix) => format!(
                "step '{name}' sends the same prompt for every item of {}: it reads neither '{}' nor `index`",
                each.text.trim(),
                draft.item()
            ),
            None | Some(_) => continue,
        };
        let help = if draft.raw.each.is_some() {
            format!("put {{{{ {} | tojson }}}} into the prompt", draft.item())
        } else {
            "a prompt sees only what it references: put {{ input.… }} or a step's answer into it"
                .to_owned()
        };
        reader.warn(CONSTANT_PROMPT, &draft.raw.key.span, message).help(help);
    }
}

/// Whether the list is one that is there, and no count of samples.
fn is_path(text: &str) -> bool {
    text.trim().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
}

fn reads_item(look: &Look<'_>, item: &str, ix: crate::domain::id::StepIx) -> bool {
    look.mentions(ix).iter().any(|mention| mention.name == item || mention.name == "index")
}
