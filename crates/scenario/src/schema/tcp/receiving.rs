//! What a receiver does: its ACKs, what its device merges, and the window that it offers.

use super::inner::{DELAYED_ACK, MISBEHAVIOR};
use crate::record::{FromValue, ToValue};
use crate::schema::{ANY_RATE, Field, Kind, Lens, Need, Word};

/// When a receiver acknowledges.
pub(super) const ACKS: &[Field] = &[
    ruled!(
        delayed_ack,
        Kind::OrFalse(&DELAYED_ACK),
        Need::DescribedByStack(
            "on, every 2 segments or 200 ms",
            ["{ every = 2, timeout = \"200 ms\" }", "{ every = 2, timeout = \"40 ms\" }", "false", "false"]
        ),
        "Delayed acknowledgments, or `false`.",
    ),
    setting!(
        quick_ack,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "Where ACKs are delayed: as Linux, up to 16 segments are acknowledged one by one at the beginning, after a \
         pause of an RTO and after old data, and each segment that lets the window grow; the delay follows the \
         interval of segments, from `delayed_ack.timeout` up.",
    ),
    setting!(
        gro,
        Kind::Time(0, 100_000_000),
        Need::Default("0 s"),
        "How long the host's device may hold a segment to merge it with those that follow in order, as GRO does with \
         `gro_flush_timeout`: TCP then gets them as one packet of up to 65,535 bytes, and decides about one ACK. A \
         segment with PSH, FIN, another ECN codepoint, other flags or options, or out of order ends it. Pure ACKs are \
         never merged. `0 s`: no merging, as in live networks, whose TUN devices have no GRO.",
    ),
    ruled!(
        misbehavior,
        Kind::OrFalse(&MISBEHAVIOR),
        Need::Default("false"),
        "How the receiver breaks the rules to make the sender send more, or `false`. Simulated runs only.",
    ),
];

/// The window that a receiver offers.
pub(super) const BUFFER: &[Field] = &[
    setting!(
        recv_buffer,
        Kind::Size(1, 65_535 << 14),
        Need::ByStack(["16 MiB", "3 MiB", "16 MiB", "16 MiB"]),
        "Receive buffer: the largest advertised window.",
    )
    .honoured(),
    ruled!(
        autotuning,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "The advertised window begins at 64 kB and grows with what is read, up to `recv_buffer`, as in Linux \
         with `tcp_rmem[2]` of twice `recv_buffer`; `false`: all of `recv_buffer` is offered from the beginning. \
         Where a file gives `recv_buffer` and not this, it is `false`, as `SO_RCVBUF` ends tuning in Linux.",
    )
    .honoured(),
    setting!(
        receiver_cc,
        Kind::Choice(&[
            Word("none", "the buffer alone bounds the window"),
            Word(
                "rledbat",
                "the window follows LEDBAT++, by round-trip times and retransmissions at the receiver (RFC 9840)"
            ),
        ]),
        Need::Default("none"),
        "Congestion control of the receiver, which bounds the window that it advertises whatever the sender's `cc` is: \
         with `rledbat` the flow yields to others. It needs timestamps. The shift of the window is then at most 11.",
    ),
    setting!(
        kernel,
        Kind::Choice(&[
            Word("linux-6.1", "the window is half of the memory"),
            Word("linux-6.12", "the window follows the overhead of the segments that arrive, as since Linux 6.6"),
            Word("linux-6.18", "also, the memory grows with what waits behind gaps, and without a cushion"),
            Word("linux-7.2", "also, the memory grows less on paths of less than a millisecond"),
        ]),
        Need::Default("linux-7.2"),
        "Version of Linux that `autotuning` follows. Other settings that follow Linux have the same meaning in each. A \
         live run has the version of its kernel.",
    ),
    Field::new(
        "read_rate",
        Kind::Or(&ANY_RATE, &[Word("unlimited", "at once")]),
        Need::Default("unlimited"),
        "Rate at which the receiving application reads.",
    )
    .lens(Lens {
        get: |tcp| tcp.read_rate.to_value(),
        set: Some(|tcp, value| {
            tcp.read_rate = FromValue::from_value(value)?;
            Some(())
        }),
    })
    .honoured(),
];
