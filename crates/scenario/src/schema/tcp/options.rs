//! What the ends agree on: options of TCP, ECN, and when a connection is given up.

use super::reads;
use crate::record::{FromValue, ToValue, Value};
use crate::schema::{Field, Kind, Lens, Need, Word};
use crate::types::PeerEcn;

/// When a connection is given up, and its options.
pub(super) const OPTIONS: &[Field] = &[
    setting!(
        max_retries,
        Kind::Or(&Kind::Integer(1, 1000), &[Word("unlimited", "the connection never gives up, as in ns-2")]),
        Need::ByStack(["15", "15", "unlimited", "unlimited"]),
        "Consecutive timeouts after which the connection gives up (RFC 9293's R2; Linux's tcp_retries2).",
    )
    .honoured(),
    ruled!(
        sack,
        Kind::Switch,
        Need::ByStack(["true", "true", "false", "true"]),
        "Selective acknowledgments (RFC 2018)."
    )
    .honoured(),
    setting!(
        timestamps,
        Kind::Switch,
        Need::ByStack(["true", "true", "false", "false"]),
        "Timestamps (RFC 7323); they take 12 bytes of each segment.",
    )
    .honoured(),
    setting!(
        timestamp_offsets,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "Timestamps count milliseconds from a random offset of each pair of hosts and direction, as in Linux \
         (`secure_tcp_ts_off`); `false`: microseconds of one clock, so that one-way delays can be measured.",
    ),
    setting!(
        window_scaling,
        Kind::Switch,
        Need::Default("true"),
        "Window scaling (RFC 7323); without it the window is at most 65535 bytes.",
    )
    .honoured(),
];

/// Explicit congestion notification.
pub(super) const ECN: &[Field] = &[
    Field::new(
        "ecn",
        Kind::Or(
            &Kind::Switch,
            &[
                Word("off", "none; also `false`"),
                Word("classic", "RFC 3168; also `true`"),
                Word("accurate", "AccECN (RFC 9768), and classic ECN with a peer that has only that"),
            ],
        ),
        Need::Default("off"),
        "Explicit congestion notification. If no table gives it, a congestion control for L4S, such as `prague`, sets it \
         to `accurate`.",
    )
    .lens(Lens {
        get: |tcp| match (tcp.config.ecn, tcp.config.accurate_ecn) {
            (false, _) => Value::Word("off"),
            (true, false) => Value::Word("classic"),
            (true, true) => Value::Word("accurate"),
        },
        set: None,
    })
    .honoured(),
    Field::new(
        "peer_ecn",
        Kind::Or(
            &Kind::Switch,
            &[
                Word("same", "that of `ecn`"),
                Word("off", "none; also `false`"),
                Word("classic", "RFC 3168; also `true`"),
                Word("accurate", "AccECN (RFC 9768)"),
            ],
        ),
        Need::Default("same"),
        "ECN at the end that the flow goes to, if it has another than the one that it comes from. Simulated runs only.",
    )
    .lens(reads(|tcp| match tcp.peer.ecn {
        None => Value::Word("same"),
        Some(PeerEcn::Off) => Value::Word("off"),
        Some(PeerEcn::Classic) => Value::Word("classic"),
        Some(PeerEcn::Accurate) => Value::Word("accurate"),
    })),
    ruled!(
        ecn_echo,
        Kind::Choice(&[
            Word("until_cwr", "on every ACK until CWR arrives (RFC 3168)"),
            Word("each_mark", "on exactly the ACKs of marked segments (RFC 8257); needs `ecn = true`"),
        ]),
        Need::Described("`each_mark` if the congestion control needs it, else `until_cwr`"),
        "How the receiver echoes CE marks.",
    ),
    ruled!(
        ect1,
        Kind::Switch,
        Need::Default("false"),
        "Data is sent as ECT(1), which asks for the low delay of L4S (RFC 9331), not as ECT(0); needs ECN and a scalable \
         congestion control, such as `dctcp`. If no table gives it, a congestion control for L4S sets it to `true`. \
         Linux sends ECT(0); in a live run the network rewrites it behind the host's device.",
    )
    .honoured(),
];
