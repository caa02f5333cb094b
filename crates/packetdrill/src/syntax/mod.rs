//! The packetdrill language: a script as a value, and the parser that reads it.
//!
//! The grammar is `grammar.pest`. [`parse`] reads the text with it and checks what a grammar cannot: ranges,
//! directions, lengths, names. It never panics and never runs long: [`MAX_BYTES`], [`MAX_EVENTS`] and [`MAX_DEPTH`]
//! bound a script.

mod ast;
mod build;
mod error;
mod lexical;
mod parser;

pub use ast::*;
pub use error::ScriptError;
pub use parser::{MAX_BYTES, MAX_DEPTH, MAX_EVENTS, parse, parse_options};
