//! The algorithms: a file each, with folders for the parts of some.
//!
//! Each file has the algorithm's page as its header and its row as `ROW`, which [`registry`](crate::registry()) lists.
//! An algorithm uses what the crate root has for all (growth, slow start, rounds, filters) and the row types; nothing
//! but the registry uses the algorithm, except where one is built on another (DCTCP on Reno, C2TCP on CUBIC, BBR
//! version 3 on BBR).

pub mod agile_sd;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod c2tcp;
pub mod cdg;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod fack;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_pp;
pub mod lp;
pub mod newreno;
pub mod none;
pub mod nv;
pub mod prague;
pub mod reno;
pub mod sack;
pub mod scalable;
pub mod swift;
pub mod tahoe;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod yeah;
