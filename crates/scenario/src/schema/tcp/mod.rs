//! Rows of the TCP settings (keys of `[tcp]`): allowed values, defaults, and the field that each fills.
//!
//! A file holds the settings of one subject; `inner.rs` has the tables inside `[tcp]`.

use super::{Lens, Table};
use crate::record::Value;
use crate::types::Tcp;

/// The row of a setting that fills the field of `narrows_settings::Config` with the same name.
macro_rules! setting {
    ($field:ident, $kind:expr, $need:expr, $doc:expr $(,)?) => {
        Field::new(stringify!($field), $kind, $need, $doc).lens(Lens {
            get: |tcp| tcp.config.$field.to_value(),
            set: Some(|tcp, value| {
                tcp.config.$field = FromValue::from_value(value)?;
                Some(())
            }),
        })
    };
}

/// The row of a setting that `build/tcp.rs` or `build/answer.rs` resolves, because it also depends on other settings.
macro_rules! ruled {
    ($field:ident, $kind:expr, $need:expr, $doc:expr $(,)?) => {
        Field::new(stringify!($field), $kind, $need, $doc)
            .lens(Lens { get: |tcp| tcp.config.$field.to_value(), set: None })
    };
}

mod flow;
mod inner;
mod loss;
mod options;
mod receiving;
mod sending;

pub(crate) use inner::{CAREFUL_RESUME, DELAYED_ACK, MISBEHAVIOR, PACING, RTO};

/// A lens that only reads.
const fn reads(get: fn(&Tcp) -> Value) -> Lens {
    Lens { get, set: None }
}

/// The `[tcp]` table.
pub(crate) static TCP: Table = Table {
    name: "tcp",
    doc: "TCP settings of both ends. `[tcp]` gives defaults for all flows, and `tcp = { .. }` of a flow what \
          differs. The defaults shown here are those of `stack = \"rfc\"`; see [Stacks](#stacks) for the others.",
    groups: &[
        flow::FLOW,
        receiving::ACKS,
        loss::LOSS,
        sending::BURSTS,
        options::OPTIONS,
        options::ECN,
        receiving::BUFFER,
        sending::GROWTH,
        sending::TIMERS,
        #[cfg(test)]
        super::toy::ROWS,
    ],
};
