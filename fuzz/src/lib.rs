//! Invariants for any input, one function per fuzz target.
//!
//! The crates under test replay the corpora through these same functions in their ordinary tests, which include the
//! modules here (`crates/*/tests/corpus.rs`). A module therefore depends only on the crate under test and on that
//! crate's own dependencies.

pub mod condition;
pub mod live;
pub mod packetdrill;
pub mod scenario;
pub mod scheme;
pub mod wire;
