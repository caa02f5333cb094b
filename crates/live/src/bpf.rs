//! eBPF programs: from the bytes of an object to an attachment that is released on drop.
//!
//! An object is opened ([`Opened`]), its constants are set, it is loaded ([`Loaded`]: the kernel's verifier has passed
//! it), and then its parts are attached. An attachment lives as long as its [`Attached`] value. A file descriptor holds
//! it, so it ends with the process, however the process ends.
//!
//! A table in `programs` lists the congestion controls; [`register`] makes one of them available to sockets.

mod attach;
pub(crate) mod features;
mod log;
mod object;
mod programs;
mod register;
mod variables;

pub use attach::{Attached, Direction, Hook};
pub use object::{Loaded, Opened};
pub use programs::{Program, in_words, parameters, program, programs};
pub use register::{Registered, register, unique_name};

pub(crate) use attach::{open_pinned, pin};
pub(crate) use object::{ELSEWHERE, TYPES};
