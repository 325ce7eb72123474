//! Where the links between models lead.

use super::id::ModelIx;
use super::plan::Plan;

impl Plan {
    /// `model`, and every model that its `faster` and `stronger` links lead to, nearest first.
    #[must_use]
    pub fn linked(&self, model: ModelIx) -> Vec<ModelIx> {
        let mut linked = vec![model];
        let mut next = 0;
        while let Some(of) = linked.get(next).and_then(|ix| self.models.get(ix.at())) {
            next += 1;
            for link in [of.faster, of.stronger].into_iter().flatten() {
                if !linked.contains(&link) {
                    linked.push(link);
                }
            }
        }
        linked
    }
}
