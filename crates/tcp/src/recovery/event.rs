//! What a recovery is told, and what it answers.

use crate::segment::{Segment, Sending, flag};
use narrows_units::{Duration, Instant};

/// The time, and what the reordering window is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The current time: that of the ACK, of the transmission or of the expiry.
    pub(crate) now: Instant,
    /// Smoothed round-trip time; `None` before the first sample.
    pub(crate) srtt: Option<Duration>,
    /// Smallest round-trip time sample.
    pub(crate) min_rtt: Option<Duration>,
    /// Latest round-trip time sample.
    pub(crate) latest_rtt: Option<Duration>,
}

/// What the probe timeout is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    /// Smoothed round-trip time; `None` before the first sample.
    pub(crate) srtt: Option<Duration>,
    /// When the retransmission timer expires.
    pub(crate) rto_at: Instant,
    /// The retransmission timeout, backoff included.
    pub(crate) rto: Duration,
    /// Floor of the retransmission timeout.
    pub(crate) rto_min: Duration,
    /// When the head was last sent; `None` if nothing is outstanding.
    pub(crate) head_sent_at: Option<Instant>,
    /// Whether exactly one segment is outstanding.
    pub(crate) single: bool,
}

/// An ACK as recovery sees it. The board already reflects it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckEvent {
    /// Octets newly acknowledged cumulatively.
    pub(crate) acked: u64,
    /// Octets newly SACKed.
    pub(crate) sacked: u64,
    /// Whether it is a duplicate by RFC 5681, section 2.
    pub(crate) duplicate: bool,
    /// SND.UNA with this ACK.
    pub(crate) una: u64,
    /// SND.NXT.
    pub(crate) nxt: u64,
    /// The time of the ACK, with its round-trip time sample in the estimates.
    pub(crate) clock: Clock,
    /// Its D-SACK block: octets that arrived more than once (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
    /// What the ACK delivers; nothing unless recovery [wants to know](super::LossRecovery::wants_deliveries).
    pub(crate) deliveries: Deliveries,
}

/// What an ACK delivers, cumulatively or selectively, by order of sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deliveries {
    /// The most recent transmission (RACK.xmit_ts and RACK.end_seq of RFC 8985, section 6.2). A retransmission counts
    /// only if it is [credible](Credible) that it was delivered.
    pub(crate) newest: Option<Sending>,
    /// When the last segment was sent whose delivery this ACK shows, where SACK blocks come before the cumulative part,
    /// as in Linux (RFC 8985 leaves the order free).
    cumulative: Option<Instant>,
    selective: Option<Instant>,
    /// Offset of the lowest of the segments that were sent just once, so that their originals were delivered (RFC 5682,
    /// section 3.1).
    pub(crate) original: Option<u64>,
}

/// Until when a retransmission must have been sent if it is to be what an ACK delivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credible {
    /// By the cumulative part of the ACK.
    pub(crate) cumulative: Instant,
    /// By a SACK block.
    pub(crate) selective: Instant,
}

impl Credible {
    /// The same time for both parts.
    pub(crate) fn at(time: Instant) -> Self {
        Self { cumulative: time, selective: time }
    }
}

impl Deliveries {
    /// Notes the delivery of a segment, by the cumulative part of the ACK or by a SACK block.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &Segment, credible: &Credible, cumulative: bool) {
        let (by, until) = if cumulative {
            (&mut self.cumulative, credible.cumulative)
        } else {
            (&mut self.selective, credible.selective)
        };
        if !segment.has(flag::EVER) {
            self.original = Some(self.original.map_or(segment.start, |start| start.min(segment.start)));
        } else if segment.sent_at > until {
            return;
        }
        *by = Some(segment.sent_at);
        self.newest = self.newest.max(Some(segment.sending()));
    }

    /// When the segment was sent that gives RACK.rtt (RFC 8985, section 6.2, step 2).
    pub(crate) fn latest(&self) -> Option<Instant> {
        self.cumulative.or(self.selective)
    }
}

/// What last started the probe timeout (RFC 8985, section 7.2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// When SND.UNA advanced or new data was sent; [`Instant::NEVER`] before that.
    pub(crate) at: Instant,
    /// Whether it was new data.
    pub(crate) sent: bool,
}

/// What happens to the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum RtoTimer {
    /// An ACK that advances SND.UNA restarts it (RFC 6298, rules 5.2 and 5.3).
    #[default]
    Usual,
    /// It runs on as it is (RFC 6582's "impatient" variant).
    Keep,
    /// It restarts now: a probe is about to leave in its place (RFC 8985, section 7.3).
    Restart,
}

/// What an ACK, or an expiry of recovery's own timer, means for the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Verdict {
    /// Whether a congestion episode begins: loss was found by duplicate ACKs, SACK or time.
    pub(crate) enter: bool,
    /// Whether the episode begins with one segment and slow start, whatever cwnd the congestion control set (Tahoe).
    pub(crate) restart: bool,
    /// Whether the episode before has ended (also: the Loss phase).
    pub(crate) exit: bool,
    /// On leaving fast recovery, an upper bound of cwnd against bursts (RFC 6582, section 3.2, step 3).
    pub(crate) cwnd_cap: Option<u64>,
    /// Octets newly marked lost.
    pub(crate) newly_lost: u64,
    /// When the last of the retransmissions that this ACK shows to be lost was sent.
    pub(crate) lost_retransmission: Option<Instant>,
    /// Whether a probe repaired a loss that nothing else showed: the window is reduced and no episode begins (RFC 8985,
    /// section 7.4).
    pub(crate) repaired: bool,
    /// Whether the reduction of the current episode was spurious; recovery has no part in the undo but
    /// [`LossRecovery::on_undo`](super::LossRecovery::on_undo).
    pub(crate) spurious: bool,
    /// What happens to the retransmission timer.
    pub(crate) rto_timer: RtoTimer,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The segment with this index, again.
    Retransmit(u64),
    /// The same, as RFC 6675's rescue retransmission.
    Rescue(u64),
    /// A probe, whatever the congestion window allows: the segment with this index again, or new data (RFC 8985,
    /// section 7.3).
    Probe(Option<u64>),
    /// New data.
    New,
    /// Something waits, but the window does not allow it.
    Hold,
    /// Nothing waits.
    Idle,
}

/// The windows when the next segment is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Congestion window.
    pub(crate) cwnd: u64,
    /// Length of the new segment that the peer's window and the application allow; 0 for none.
    pub(crate) new: u64,
}

/// New data if `used` octets leave room for it in `window`.
#[inline]
pub(super) fn next_new(used: u64, room: &Room, window: u64) -> Next {
    if room.new == 0 {
        Next::Idle
    } else if used + room.new <= window {
        Next::New
    } else {
        Next::Hold
    }
}
