//! How a flow is set up: its stack, congestion control, scheme and segment size, and the bounds of its window.

use super::reads;
use crate::record::{FromValue, Item, ToValue, Value};
use crate::schema::{Field, Kind, LARGE, Lens, Need, STACKS, Word};
use crate::types::{InitialWindow, ParamValue, Tcp};
use narrows_units::Bytes;

const UNLIMITED: &[Word] = &[Word("unlimited", "no bound")];

/// The settings, one row each.
pub(super) const FLOW: &[Field] = &[
    Field::new(
        "stack",
        Kind::Choice(STACKS),
        Need::Default("rfc"),
        "System whose defaults apply if neither the flow nor `[tcp]` sets a value.",
    )
    .lens(reads(|tcp| tcp.stack.to_value()))
    .honoured(),
    Field::new("cc", Kind::Cc, Need::Default("cubic"), "Congestion control.")
        .lens(reads(|tcp| Value::Text(tcp.cc.clone())))
        .honoured(),
    Field::new(
        "cc_params",
        Kind::CcParams,
        Need::Described("the congestion control's own defaults; its `profile` by `stack`"),
        "Parameters of the congestion control. Those of `[tcp]` apply to flows with the congestion control of `[tcp]`.",
    )
    .lens(reads(cc_params))
    .honoured(),
    Field::new(
        "assist",
        Kind::Scheme,
        Need::Described("the scheme whose table is enabled, else `none`"),
        "Network-assisted scheme at both ends.",
    )
    .lens(reads(|tcp| named(&tcp.assist)))
    .honoured(),
    Field::new(
        "peer_assist",
        Kind::Or(&Kind::Scheme, &[Word("same", "that of `assist`")]),
        Need::Default("same"),
        "Network-assisted scheme at the end that the flow goes to, if it has another than the one that it comes from. \
         Simulated runs only.",
    )
    .lens(reads(|tcp| tcp.peer.assist.as_ref().map_or(Value::Word("same"), named))),
    Field::new(
        "mss",
        Kind::Size(88, 65_495),
        Need::ByStack(["1460 B", "1460 B", "1000 B", "1000 B"]),
        "Maximum segment size (RFC 9293): payload and TCP options; an IPv4 packet is 40 bytes larger, an IPv6 packet \
         60.",
    )
    .lens(Lens {
        get: |tcp| Value::Size(Bytes::new(tcp.mss.into())),
        set: Some(|tcp, value| {
            tcp.config.mss = u16::try_from(Bytes::from_value(value)?.as_u64()).ok()?;
            Some(())
        }),
    })
    .honoured(),
    setting!(
        initial_window,
        Kind::Or(
            &Kind::Integer(1, 1_000_000),
            &[Word("rfc6928", "10 segments, at most 14600 bytes"), Word("rfc5681", "2 to 4 segments by their size"),],
        ),
        Need::ByStack(["rfc6928", "10", "2", "2"]),
        "Initial congestion window: a number of segments, or the rule of an RFC.",
    )
    .honoured(),
    setting!(
        initial_ssthresh,
        Kind::Or(&Kind::Size(1, LARGE), UNLIMITED),
        Need::Default("unlimited"),
        "Initial slow-start threshold.",
    ),
    setting!(max_cwnd, Kind::Or(&Kind::Size(1, LARGE), UNLIMITED), Need::Default("unlimited"), "Upper bound of cwnd.",),
];

/// The name of a scheme, or that there is none.
fn named(scheme: &Option<String>) -> Value {
    scheme.clone().map_or(Value::Absent("none"), Value::Text)
}

/// Returns the congestion control's parameters.
fn cc_params(tcp: &Tcp) -> Value {
    let param = |(name, value): &(String, ParamValue)| {
        let value = match value {
            ParamValue::Number(n) => Value::Number(*n),
            ParamValue::Choice(word) => Value::Text(word.clone()),
            ParamValue::Switch(on) => Value::Switch(*on),
        };
        (name.clone(), Item::bare(value))
    };
    Value::Params(tcp.cc_params.iter().map(param).collect())
}

impl ToValue for InitialWindow {
    fn to_value(&self) -> Value {
        match *self {
            Self::Rfc6928 => Value::Word("rfc6928"),
            Self::Rfc5681 => Value::Word("rfc5681"),
            Self::Segments(n) => Value::Integer(n.into()),
        }
    }
}

impl FromValue for InitialWindow {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word("rfc6928") => Some(Self::Rfc6928),
            Value::Word("rfc5681") => Some(Self::Rfc5681),
            other => u32::from_value(other).map(Self::Segments),
        }
    }
}
