//! The tail loss probe (RFC 8985, section 7).

use super::super::{AckEvent, Tail};
use super::SLACK;
use narrows_settings::RecoveryStyle;
use narrows_units::Duration;

/// Budget for the delayed ACK of a single segment (TLP.max_ack_delay); RFC 1122 allows 500 ms, stacks delay 200 ms at
/// most.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// Probe timeout without a round-trip time sample.
const INITIAL: Duration = Duration::from_secs(1);

/// The probe timeout (section 7.2), without its bound by the retransmission timeout.
#[inline]
pub(super) fn probe_timeout(style: RecoveryStyle, tail: &Tail) -> Duration {
    let Some(srtt) = tail.srtt else { return INITIAL };
    srtt * 2
        + match (style, tail.single) {
            (RecoveryStyle::Rfc, false) => Duration::ZERO,
            (RecoveryStyle::Rfc, true) => MAX_ACK_DELAY,
            (RecoveryStyle::Linux, false) => SLACK,
            (RecoveryStyle::Linux, true) => tail.rto_min,
        }
}

/// The shortest that the probe timeout can be.
#[inline]
pub(in super::super) fn least_probe_timeout(srtt: Option<Duration>) -> Duration {
    srtt.map_or(INITIAL, |srtt| srtt * 2)
}

/// A probe in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// SND.NXT when it was sent (TLP.end_seq).
    pub(super) end: u64,
    /// Whether it was a retransmission (TLP.is_retrans).
    pub(super) again: bool,
}

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing shows it yet.
    Unknown,
    /// It was new data, or the original arrived as well: no loss.
    Needless,
    /// It repaired a loss.
    Repaired,
}

impl Probe {
    /// What an ACK shows of it (section 7.4.2).
    pub(super) fn fate(&self, ack: &AckEvent) -> Fate {
        if ack.una < self.end {
            return Fate::Unknown;
        }
        let twice = ack.dsack.is_some_and(|(_, right)| right == self.end);
        if !self.again || twice {
            Fate::Needless
        } else if ack.una > self.end {
            Fate::Repaired
        } else if ack.duplicate && ack.sacked == 0 {
            // Without D-SACK, a duplicate ACK means that both have arrived.
            Fate::Needless
        } else {
            Fate::Unknown
        }
    }
}
