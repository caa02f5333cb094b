//! When a sender sends: bursts, idle times, growth of the window, pacing and the retransmission timer.

use super::inner::{CAREFUL_RESUME, PACING, RTO};
use super::reads;
use crate::record::{FromValue, ToValue, Value};
use crate::schema::{Field, Kind, Lens, Need, Word};
use crate::types::{IdleRestart, ParamValue, SlowStart, Tcp};
use crate::words::FromWord;

/// Which segments leave together, and how many wait in the host.
pub(super) const BURSTS: &[Field] = &[
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
        tsq,
        Kind::Switch,
        Need::Default("false"),
        "With `gso`: TCP Small Queues. A sender whose packets wait in its own host's device beyond two super-packets or \
         about a millisecond at its rate, whichever is more, stops until the device has sent some \
         (`tcp_small_queue_check`). Needs links of constant rate with drop-tail at the hosts that send data. `false` as in \
         live networks, whose TUN devices release a sender's memory at once.",
    ),
];

/// How small segments, idle times and slow start bound what is sent.
pub(super) const GROWTH: &[Field] = &[
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
];

/// When segments leave, and leave again.
pub(super) const TIMERS: &[Field] = &[
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
