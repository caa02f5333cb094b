//! Congestion controls written in Python: objects with `on_ack` and `on_congestion`, called during a run.
//!
//! An object gets an ACK or an event, the path and the window, and sets the window's fields. The fields are checked
//! after each call. The first call that raises, or sets an invalid value, stops the run; [`Failure`] keeps the reason.

mod call;
mod classes;
mod event;
mod failure;
mod path;
mod value;
mod window;

pub(crate) use classes::Classes;
pub(crate) use event::{PyAck, PyCongestion};
pub(crate) use failure::Failure;
pub(crate) use path::PyPath;
pub(crate) use window::PyWindow;
