//! A budget in dollars where a price is unknown.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::domain::finding::Code;

/// A budget that cannot be kept, as a price is unknown.
pub const UNKNOWN_PRICE: Code = Code("P0510");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let unpriced = look.plan().paths.iter().find(|path| path.profile.price.is_none());
    if let (Some(usd), Some(path)) = (&look.subject.raw.budget.usd, unpriced) {
        let message =
            format!("`budget.usd` cannot be kept on {}: its price is unknown", path.label);
        reader
            .warn(UNKNOWN_PRICE, &usd.span, message)
            .help("add price: {in: …, out: …} to the path in punctual.yaml, or bound `calls`");
    }
}
