//! Functions of conditions: their arguments and types.

use super::{Scope, Typed};
use crate::ast::{Ast, Operation, Shape};
use crate::dimension::{Dimension, Type};
use crate::error::{Cause, ExpressionError};
use crate::expression::{Memory, MemoryKind, Node};
use crate::functions::{FUNCTIONS, Function};

impl Scope<'_> {
    pub(super) fn call(&mut self, ast: &Ast, name: &str, arguments: &[Ast]) -> Option<Typed> {
        let Some(function) = FUNCTIONS.iter().find(|row| row.name == name) else {
            let known = || FUNCTIONS.iter().map(|row| row.name);
            let allowed = known().collect::<Vec<_>>().join(", ");
            let error = ExpressionError::new(ast.column.0, Cause::Unknown, name, "is not a function", allowed);
            self.errors.push(error.known(known()));
            return None;
        };
        let count = arguments.len();
        if count < function.least || count > function.most {
            self.add(ast, format!("has {count} arguments"), function.usage);
            return None;
        }
        if function.step {
            let step = self.step(&arguments[0])?;
            return self.since(function, step, arguments.get(1));
        }
        match function.name {
            "was" => {
                let (node, kind) = self.any(&arguments[0])?;
                Some((self.remember(Memory { kind: MemoryKind::Was, step: None, node }), kind))
            }
            "abs" => {
                let (node, dimension) = self.number(&arguments[0])?;
                Some((Node::Abs(Box::new(node)), Type::Number(dimension)))
            }
            "near" => {
                let (x, dimension) = self.number(&arguments[0])?;
                let (y, share) = (self.of(&arguments[1], dimension), self.of(&arguments[2], Dimension::NUMBER));
                Some((Node::Near(Box::new([x, y?, share?])), Type::Truth))
            }
            "between" => {
                let (x, dimension) = self.number(&arguments[0])?;
                let (low, high) = (self.of(&arguments[1], dimension), self.of(&arguments[2], dimension));
                Some((Node::Between(Box::new([x, low?, high?])), Type::Truth))
            }
            _ => self.extreme(function, arguments),
        }
    }

    /// `min` and `max`.
    fn extreme(&mut self, function: &Function, arguments: &[Ast]) -> Option<Typed> {
        let (first, dimension) = self.number(&arguments[0])?;
        let rest: Vec<_> = arguments[1..].iter().map(|argument| self.of(argument, dimension)).collect();
        let mut nodes = vec![first];
        nodes.extend(rest.into_iter().collect::<Option<Vec<_>>>()?);
        let node = if function.name == "min" { Node::Least(nodes) } else { Node::Largest(nodes) };
        Some((node, Type::Number(dimension)))
    }

    /// The step that a function names.
    fn step(&mut self, ast: &Ast) -> Option<usize> {
        let Shape::Word(name) = &ast.shape else {
            self.add(ast, "is not the name of a step", "the name of a step in single quotes");
            return None;
        };
        let at = self.steps.iter().position(|step| step == name);
        if at.is_none() {
            let known = self.steps.iter().filter(|step| !step.contains(' ')).copied();
            let known: Vec<&str> = known.collect();
            let allowed = known.join(", ");
            let error = ExpressionError::new(ast.column.0, Cause::Unknown, name, "is not the name of a step", allowed);
            self.errors.push(error.known(known));
        }
        at
    }

    /// Functions of what was since a step.
    fn since(&mut self, function: &Function, step: usize, argument: Option<&Ast>) -> Option<Typed> {
        let kind = match function.name {
            "since" => return Some((Node::Since(step), Type::Number(Dimension::TIME))),
            "happened" => return Some((Node::Happened(step), Type::Truth)),
            "rounds_since" => {
                self.counts_rounds = true;
                return Some((Node::RoundsSince(step), Type::Number(Dimension::NUMBER)));
            }
            "highest" => MemoryKind::Highest,
            "lowest" => MemoryKind::Lowest,
            "mean" => MemoryKind::Mean,
            _ => MemoryKind::At,
        };
        let argument = argument?;
        // The value of a word or a condition at a moment is one too; of the others only numbers have a meaning.
        if function.name == "at" {
            let (node, of) = self.any(argument)?;
            return Some((self.remember(Memory { kind, step: Some(step), node }), of));
        }
        let (node, dimension) = self.number(argument)?;
        let past = self.remember(Memory { kind, step: Some(step), node: node.clone() });
        let total = function.name == "total";
        let found = if total { Node::Arithmetic(Operation::Minus, Box::new(node), Box::new(past)) } else { past };
        Some((found, Type::Number(dimension)))
    }
}
