//! The packetdrill language: a script as a value.

pub mod ast;

pub use ast::*;
