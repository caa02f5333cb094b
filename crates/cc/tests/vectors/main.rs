//! The reference's vectors: each test is named by the rule it proves.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

#[path = "../common/mod.rs"]
mod common;

mod cubic;
mod growth;
mod hystart;
mod params;
mod reno;
