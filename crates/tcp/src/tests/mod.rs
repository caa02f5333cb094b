#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
//! Two end points and a deterministic network between them, in virtual time.

mod harness;
mod transfer;
