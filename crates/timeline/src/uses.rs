//! Which variables a condition reads, for runs that do not know all of them.

use crate::case::Case;
use crate::expression::{Expression, Node};
use crate::vocabulary::VariableId;
use std::collections::BTreeSet;

impl Case {
    /// Returns the variables that a condition of this case reads, those behind its functions of the past and behind
    /// units of segments included.
    #[must_use]
    pub fn reads(&self, condition: &Expression) -> BTreeSet<VariableId> {
        let mut found = BTreeSet::new();
        self.read_by(&condition.root, &mut found);
        found
    }

    fn read_by(&self, node: &Node, found: &mut BTreeSet<VariableId>) {
        match node {
            Node::Constant(_) | Node::Time | Node::Since(_) | Node::RoundsSince(_) | Node::Happened(_) => {}
            Node::Variable(id) => {
                let segment = self.variables.get(id.0).and_then(|variable| variable.segment);
                found.extend(segment.into_iter().chain([*id]));
            }
            // The memory of a function holds only what was made before it, so that this ends.
            Node::Memory(id) => {
                if let Some(memory) = self.memories.get(id.0) {
                    self.read_by(&memory.node, found);
                }
            }
            Node::Not(part) | Node::Minus(part) | Node::Abs(part) => self.read_by(part, found),
            Node::Compare(_, left, right) | Node::Arithmetic(_, left, right) => {
                self.read_by(left, found);
                self.read_by(right, found);
            }
            Node::All(parts) | Node::Any(parts) | Node::Least(parts) | Node::Largest(parts) => {
                parts.iter().for_each(|part| self.read_by(part, found));
            }
            Node::Between(parts) | Node::Near(parts) => parts.iter().for_each(|part| self.read_by(part, found)),
        }
    }
}
