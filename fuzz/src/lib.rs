//! What must hold for any input, one function per fuzz target.
//!
//! The crates under test replay the corpora through these same functions in their ordinary tests, by including the
//! modules here (`crates/*/tests/corpus.rs`), so they depend on nothing but the crate under test.

pub mod live;
pub mod scenario;
pub mod scheme;
pub mod wire;
