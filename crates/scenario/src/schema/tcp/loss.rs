//! How losses are found and repaired.

use crate::record::{FromValue, ToValue};
use crate::schema::{Field, Kind, Lens, Need, Word};

/// The settings, one row each.
pub(super) const LOSS: &[Field] = &[
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
];
