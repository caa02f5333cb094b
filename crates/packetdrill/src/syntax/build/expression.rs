//! Expressions.

use super::{Builder, Node};
use crate::syntax::error::ScriptError;
use crate::syntax::parser::Rule;
use crate::syntax::{Expression, Member};
use std::net::IpAddr;

impl Builder<'_> {
    pub(super) fn expression(&self, node: Node<'_>) -> Result<Expression, ScriptError> {
        let at = node.as_span().start();
        match node.as_rule() {
            Rule::expression => self.expression(self.first(node)?),
            Rule::assignment => {
                let mut parts = node.into_inner();
                let (name, value) = parts.next().zip(parts.next()).ok_or_else(|| self.missing(at))?;
                Ok(Expression::Assign(name.as_str().to_owned(), Box::new(self.expression(value)?)))
            }
            Rule::alternatives => {
                let mut whole: Option<Expression> = None;
                for part in node.into_inner() {
                    let part = self.expression(part)?;
                    whole = Some(match whole {
                        Some(before) => Expression::Or(Box::new(before), Box::new(part)),
                        None => part,
                    });
                }
                whole.ok_or_else(|| self.missing(at))
            }
            Rule::ellipsis => Ok(Expression::Ellipsis),
            Rule::number | Rule::hexadecimal => {
                Ok(Expression::Integer(self.integer(&node, "the integer", "64 bits")?))
            }
            Rule::symbol => Ok(Expression::Word(node.as_str().to_owned())),
            Rule::strings => self.string(node),
            Rule::list => Ok(Expression::List(self.expressions(node)?)),
            Rule::braces => self.braces(node),
            Rule::function => self.function(node),
            _ => Err(self.missing(at)),
        }
    }

    pub(super) fn expressions(&self, node: Node<'_>) -> Result<Vec<Expression>, ScriptError> {
        node.into_inner().map(|part| self.expression(part)).collect()
    }

    /// Joins adjacent strings and resolves their escapes.
    fn string(&self, node: Node<'_>) -> Result<Expression, ScriptError> {
        let mut bytes = Vec::new();
        for part in node.into_inner().filter(|part| part.as_rule() == Rule::string) {
            let text = super::unquote(part.as_str());
            unescape(text, &mut bytes).map_err(|message| self.error(&part, message))?;
        }
        Ok(Expression::String(bytes))
    }

    fn braces(&self, node: Node<'_>) -> Result<Expression, ScriptError> {
        let at = node.as_span().start();
        let (mut members, mut values) = (Vec::new(), Vec::new());
        for part in node.into_inner() {
            if part.as_rule() == Rule::member {
                members.push(self.member(part)?);
            } else {
                values.push(self.expression(part)?);
            }
        }
        match (members.is_empty(), values.is_empty()) {
            (true, _) => Ok(Expression::Group(values)),
            (false, true) => Ok(Expression::Struct(members)),
            (false, false) => Err(self.error_at(at, "members with and without names in one structure")),
        }
    }

    fn member(&self, node: Node<'_>) -> Result<Member, ScriptError> {
        let at = node.as_span().start();
        let mut parts: Vec<Node<'_>> = node.into_inner().collect();
        let value = parts.pop().ok_or_else(|| self.missing(at))?;
        let count = if parts.len() > 1 { parts.pop() } else { None };
        let name = parts.pop().ok_or_else(|| self.missing(at))?;
        Ok(Member {
            name: name.as_str().to_owned(),
            count: count.map(|count| self.expression(count)).transpose()?,
            value: self.expression(value)?,
        })
    }

    fn function(&self, node: Node<'_>) -> Result<Expression, ScriptError> {
        let at = node.as_span().start();
        let mut parts = node.into_inner();
        let (name, argument) = parts.next().zip(parts.next()).ok_or_else(|| self.missing(at))?;
        let argument = self.expression(argument)?;
        match (name.as_str(), argument) {
            ("htons", value) => Ok(Expression::Function("htons".to_owned(), Box::new(value))),
            ("inet_addr" | "inet6_addr", Expression::String(text)) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let address: IpAddr =
                    text.parse().map_err(|_| self.error_at(at, format!("`{text}` is no IP address")))?;
                Ok(Expression::Address(address))
            }
            ("inet_addr" | "inet6_addr", _) => Err(self.error_at(at, "expected an address in quotes")),
            (other, _) => Err(self
                .error_at(at, format!("unknown function `{other}`; known are `htons`, `inet_addr` and `inet6_addr`"))),
        }
    }
}

/// Appends a string's bytes: `\n`, `\t`, `\r`, `\0`, `\\`, `\"` and `\xHH` are escapes.
fn unescape(text: &str, bytes: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = rest.next();
        bytes.push(match escape {
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('r') => b'\r',
            Some('0') => 0,
            Some('\\') => b'\\',
            Some('"') => b'"',
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                u8::from_str_radix(&digits, 16).map_err(|_| format!("`\\x{digits}` needs two hexadecimal digits"))?
            }
            other => {
                let shown = other.map(String::from).unwrap_or_default();
                return Err(format!("unknown escape `\\{shown}`; known are \\n \\t \\r \\0 \\\\ \\\" \\xHH"));
            }
        });
    }
    Ok(())
}
