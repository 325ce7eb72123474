//! How many items a fan-out has at least, where the file says it.

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::text::Text;
use crate::domain::finding::Code;
use crate::domain::shape::ListRange;
use crate::engine::FAN_OUT_MAX;
use crate::expression::Expression;

/// A list that is always longer than a fan-out may be.
pub const TOO_MANY_ITEMS: Code = Code("P0613");

impl Lowering<'_> {
    /// Whether the file has an `each` that could not be read: its items are not missing, then.
    pub(super) fn says_each(&self, draft: &Draft<'_>) -> bool {
        let written = || {
            let pointer = format!("/steps/{}/each", draft.name());
            self.reader.page.root.at_pointer(&pointer).is_some()
        };
        draft.raw.each.is_none() && !self.reader.found.is_empty() && written()
    }

    /// Refuses a list that can never be run: its `$min`, or its items as written, are too many.
    pub(super) fn check_fan_out(
        &mut self,
        length: &ListRange,
        each: &Text<Expression>,
        owner: &str,
    ) {
        let Some(least) = length.min.filter(|least| *least > FAN_OUT_MAX as u64) else { return };
        let message =
            format!("the list has at least {least} items, and a step runs at most {FAN_OUT_MAX}");
        let help = "put several into one item, as batches(list, 20), or bound the list with `$max`";
        self.type_problem(TOO_MANY_ITEMS, each, owner, message, help);
    }
}
