//! What has no bound: answers on the longest chain, and lists of calls.

use crate::definition::lower::lint::Look;
use crate::definition::lower::lint::pace::list_of;
use crate::definition::lower::step::DEFAULT_MAX_TOKENS;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::engine::FAN_OUT_MAX;

/// An answer without a bound of its own on the longest chain.
pub const UNBOUNDED_ANSWER: Code = Code("P0411");
/// A fan-out over a list of the caller's, of any length.
pub const UNBOUNDED_LIST: Code = Code("P0812");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    for ix in look.timeline.chain(look.plan()) {
        let draft = look.draft(ix);
        if draft.settings.max_tokens.is_some() {
            continue;
        }
        let message =
            format!("step '{}' is on the longest chain and has no `max_tokens`", draft.name());
        reader.warn(UNBOUNDED_ANSWER, &draft.raw.key.span, message).help(format!(
            "{DEFAULT_MAX_TOKENS} is assumed; a bound near the usual length cuts a runaway answer early"
        ));
    }
    for ix in look.asked() {
        let draft = look.draft(ix);
        let (Some(each), Some(range)) =
            (&draft.raw.each, list_of(look.subject, look.places[ix.at()]))
        else {
            continue;
        };
        if range.max.is_some() {
            continue;
        }
        let list = each.text.trim();
        let message = format!(
            "step '{}' calls its model once for each of {list}, which the caller may make {FAN_OUT_MAX} long",
            draft.name()
        );
        reader
            .warn(UNBOUNDED_LIST, &each.node.span, message)
            .help("bound the list where `input` declares it, as {$type: […], $max: 40}");
    }
}
