//! Rows of the TCP settings (keys of `[tcp]`): allowed values, defaults, and the field that each fills.

use super::tcp_inner::{CAREFUL_RESUME, DELAYED_ACK, PACING, RTO};
use super::{ANY_RATE, Field, Kind, LARGE, Lens, Need, STACKS, Table, Word};
use crate::record::{FromValue, Item, ToValue, Value};
use crate::types::{IdleRestart, InitialWindow, ParamValue, PeerEcn, SlowStart, Tcp};
use crate::words::FromWord;
use narrows_units::Bytes;

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

/// The row of a setting that `build/tcp.rs` resolves, because it also depends on other settings.
macro_rules! ruled {
    ($field:ident, $kind:expr, $need:expr, $doc:expr $(,)?) => {
        Field::new(stringify!($field), $kind, $need, $doc)
            .lens(Lens { get: |tcp| tcp.config.$field.to_value(), set: None })
    };
}

/// A lens that only reads.
const fn reads(get: fn(&Tcp) -> Value) -> Lens {
    Lens { get, set: None }
}

/// The name of a scheme, or that there is none.
fn named(scheme: &Option<String>) -> Value {
    scheme.clone().map_or(Value::Absent("none"), Value::Text)
}

const UNLIMITED: &[Word] = &[Word("unlimited", "no bound")];

/// The `[tcp]` table.
pub(crate) static TCP: Table = Table {
    name: "tcp",
    doc: "TCP settings of both ends. `[tcp]` gives defaults for all flows, and `tcp = { .. }` of a flow what \
          differs. The defaults shown here are those of `stack = \"rfc\"`; see [Stacks](#stacks) for the others.",
    groups: &[
        SETTINGS,
        #[cfg(test)]
        super::toy::ROWS,
    ],
};

/// The settings, one row each.
const SETTINGS: &[Field] = &[
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
    ruled!(
        recovery,
        Kind::Choice(&[
            Word("rto_only", "only the retransmission timer (RFC 793)"),
            Word("tahoe", "fast retransmit, then slow start from one segment (Jacobson 1988)"),
            Word("reno", "fast retransmit and fast recovery (RFC 2581)"),
            Word("newreno", "RFC 6582"),
            Word("sack", "RFC 6675"),
            Word("fack", "forward acknowledgments (Mathis and Mahdavi 1996)"),
            Word("rack", "RACK-TLP: losses by time, and tail loss probes (RFC 8985)"),
        ]),
        Need::DescribedByStack(
            "the recovery that the congestion control's name implies; else `sack` (`linux`: `rack`), or `newreno` with \
             `sack = false`",
            ["sack", "rack", "reno", "sack"]
        ),
        "Algorithm of loss detection and recovery.",
    ),
    setting!(
        recovery_style,
        Kind::Choice(&[
            Word("rfc", "RFC 8985, RFC 5682, RFC 3522 and RFC 3708 to the letter"),
            Word("linux", "Linux 7.2: timers 2 ms longer, undo at any ACK of the episode, and more"),
        ]),
        Need::ByStack(["rfc", "linux", "rfc", "rfc"]),
        "With `rack` recovery or `frto`: the rules where RFCs leave a choice or Linux differs from them.",
    ),
    setting!(
        tail_probes,
        Kind::Switch,
        Need::Default("true"),
        "With `rack` recovery: a probe leaves after two round-trip times without an ACK, so that losses at the end of a \
         flight show (RFC 8985, section 7; Linux's tcp_early_retrans).",
    ),
    ruled!(
        frto,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "F-RTO: after a timeout new data leaves before a second retransmission, and the ACKs show whether the timeout \
         was spurious (RFC 5682, Linux's tcp_frto). Not with `tahoe` and `rto_only` recovery, which turn it off.",
    ),
    ruled!(
        reduction,
        Kind::Choice(&[
            Word("immediate", "at once: nothing leaves until the pipe has drained (RFC 5681, RFC 6675)"),
            Word("prr", "proportional rate reduction: spread over the recovery (RFC 9937)"),
            Word("prr_linux", "the same, measured from cwnd at the start of recovery, as in Linux"),
        ]),
        Need::ByStack(["immediate", "prr_linux", "immediate", "prr"]),
        "How the window goes down after a loss or an echo to where congestion control wants it. `prr` needs recovery \
         by SACK; an echo it spreads in any case.",
    ),
    setting!(
        dupthresh,
        Kind::Integer(1, 1000),
        Need::ByStack(["3", "3", "3", "4"]),
        "Duplicate ACKs that indicate a loss (RFC 5681).",
    ),
    setting!(
        limited_transmit,
        Kind::Switch,
        Need::ByStack(["true"; 4]),
        "Limited transmit: new data on the first two duplicate ACKs (RFC 3042).",
    ),
    setting!(
        lost_retransmission,
        Kind::Switch,
        Need::ByStack(["true", "true", "false", "true"]),
        "With `sack` recovery: find by what was sent later, and is delivered, that a retransmission was lost too, \
         and by retransmissions that the end of a burst was, as Linux and RFC 8985; `false` leaves both to the \
         timer, as RFC 6675 and ns-2.",
    ),
    setting!(
        undo,
        Kind::Switch,
        Need::ByStack(["true", "true", "false", "false"]),
        "Undo window reductions that timestamps (RFC 3522, RFC 4015) or D-SACK (RFC 3708) reveal as spurious.",
    ),
    setting!(
        reduce_once,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "One reduction in an episode, as in Linux: a timeout in recovery keeps ssthresh, and a lost retransmission \
         is sent again; `false`: each reduces again (RFC 5681, section 4.3).",
    ),
    setting!(
        full_ack_cap,
        Kind::Switch,
        Need::ByStack(["true", "false", "false", "false"]),
        "At the end of NewReno's recovery cwnd is at most FlightSize and a segment; `false`: ssthresh (RFC 6582, \
         section 3.2, step 3, has both).",
    ),
    setting!(
        impatient,
        Kind::Switch,
        Need::ByStack(["true", "false", "true", "true"]),
        "In NewReno's recovery the first partial ACK alone restarts the retransmission timer, so that many holes end \
         in a timeout (RFC 6582, section 3.2, step 3); `false`: each does, as in Linux (its \"Slow-but-Steady\" \
         variant).",
    ),
    setting!(
        tso,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "Paced segments leave in bursts as from Linux with TSO: up to a millisecond's worth at the pacing rate, two \
         at least (`tcp_tso_autosize`); `false`: one by one.",
    ),
    setting!(
        gso,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "Segments leave in bursts as from Linux with GSO, paced or not: up to a millisecond's worth at the rate of the \
         window, two at least, and a sender whose ACK is due waits for room for more (`tcp_tso_autosize`, \
         `tcp_tso_should_defer`); `false`: one by one.",
    ),
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
    setting!(nagle, Kind::Switch, Need::Default("false"), "Nagle's algorithm (RFC 9293, section 3.7.4).").honoured(),
    Field::new(
        "idle_restart",
        Kind::Or(
            &Kind::Switch,
            &[
                Word("off", "no change; also `false`"),
                Word("rfc5681", "cwnd falls to the initial window (RFC 5681, section 4.1); also `true`"),
                Word("linux", "cwnd is halved for each idle RTO; ssthresh keeps 3/4 of cwnd (RFC 2861)"),
            ],
        ),
        Need::ByStack(["rfc5681", "linux", "off", "off"]),
        "Change of the window after an idle period of more than one RTO.",
    )
    .lens(Lens {
        get: |tcp| tcp.idle_restart.to_value(),
        set: Some(|tcp, value| {
            tcp.config.idle_restart = match value {
                Value::Switch(true) => IdleRestart::Rfc5681,
                Value::Switch(false) => IdleRestart::Off,
                other => IdleRestart::from_value(other)?,
            };
            Some(())
        }),
    }),
    setting!(
        cwnd_validation,
        Kind::Switch,
        Need::ByStack(["false", "true", "false", "false"]),
        "A window that the application has not filled for an RTO decays (RFC 2861, as Linux; RFC 7661 made it \
         historic).",
    ),
    setting!(
        rate_limited,
        Kind::Choice(&[
            Word(
                "cwnd_limited",
                "not at all; in slow start up to twice what was in flight (Linux; RFC 9438, section 5.8)",
            ),
            Word(
                "max_flight",
                "up to what the largest flight since the last reduction allows (draft-ietf-ccwg-ratelimited-increase-11)",
            ),
            Word(
                "rfc7661",
                "while at least half of cwnd is acknowledged per round-trip time; otherwise a loss reduces to half of what \
                 was in use, and five minutes halve the window; replaces `idle_restart` and `cwnd_validation`",
            ),
            Word("unlimited", "as if cwnd were the limit, as in ns-2 and in ns-3 of 2011 (RFC 5681 says nothing)"),
        ]),
        Need::Default("cwnd_limited"),
        "How cwnd grows while the application or the peer's window, not cwnd, limits the sender.",
    ),
    Field::new(
        "slow_start",
        Kind::Choice(&[
            Word("own", "as the congestion control has it: for nearly all standard, for CUBIC by its parameter"),
            Word("standard", "until a loss or an echo (RFC 5681)"),
            Word("hystart", "Linux's HyStart, which Linux has in CUBIC alone"),
            Word("hystart++", "RFC 9406"),
            Word("search", "until deliveries no longer double (draft-chung-ccwg-search, SEARCH 3.0)"),
            Word("limited", "RFC 3742: above `max_ssthresh` by half of that per round-trip time"),
        ]),
        Need::Default("own"),
        "Slow start, for every congestion control that has the standard one.",
    )
    .lens(reads(start)),
    setting!(
        max_ssthresh,
        Kind::Integer(2, 1_000_000),
        Need::Default("100"),
        "With `slow_start = \"limited\"`: the window in segments above which growth is limited (RFC 3742).",
    ),
    ruled!(
        careful_resume,
        Kind::OrFalse(&CAREFUL_RESUME),
        Need::Default("false"),
        "What the sender knows of the path from an earlier connection (RFC 9959), or `false`.",
    ),
    setting!(
        slow_start_at_equality,
        Kind::Switch,
        Need::ByStack(["false", "false", "false", "true"]),
        "Whether a cwnd equal to ssthresh means slow start, as in ns-2's TCP/Linux (RFC 5681 allows either).",
    ),
    ruled!(
        pacing,
        Kind::OrFalse(&PACING),
        Need::ByStack(["false"; 4]),
        "Pacing if the congestion control sets no rate, or `false`.",
    )
    .honoured(),
    ruled!(rto, Kind::Table(&RTO), Need::Described("the table's own defaults"), "The retransmission timer."),
];

/// Returns the slow start: the setting, or the word of a congestion control that has a parameter for it.
fn start(tcp: &Tcp) -> Value {
    let own = tcp.cc_params.iter().find_map(|(name, value)| match (name.as_str(), value) {
        ("slow_start", ParamValue::Choice(word)) => SlowStart::from_word(word),
        _ => None,
    });
    let start = match (tcp.slow_start, own) {
        (SlowStart::Standard, Some(own)) => own,
        (start, _) => start,
    };
    start.to_value()
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
