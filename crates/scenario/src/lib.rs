//! Scenario files: types, parsing, validation and JSON Schema. Knows no engine.

mod types;

pub use types::*;
