//! State, counters and a snapshot of a connection.

use crate::assist::Agreement;
use narrows_cc::Phase;
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};

/// State of a connection (RFC 9293, section 3.3.2).
///
/// ```text
///            connect                listen
///   SynSent <------- (Closed) -------> Listen
///      |  \  SYN                          | SYN
///      |   `-----------> SynReceived <----'
///      | SYN,ACK             | ACK
///      v                     v
///      `------------> Established ------------ FIN -----> CloseWait
///                      | close                               | close
///                      v                                     v
///                  FinWait1 --- FIN ---> Closing          LastAck
///               ACK |  \ FIN,ACK            | ACK            | ACK
///                   v   `-----------.       v                v
///               FinWait2 -- FIN --> TimeWait -- 2 MSL --> Closed
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Received a SYN and sent a SYN-ACK.
    SynReceived,
    /// Data flows.
    Established,
    /// Sent a FIN.
    FinWait1,
    /// Our FIN is acknowledged.
    FinWait2,
    /// Received a FIN; our own side is still open.
    CloseWait,
    /// Both sent a FIN at the same time; ours is not acknowledged.
    Closing,
    /// Received a FIN, then sent ours.
    LastAck,
    /// Waits until no old segment can be left in the network.
    TimeWait,
    /// No connection.
    #[default]
    Closed,
}

/// Counters over the life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Stats {
    /// Payload bytes sent, retransmissions and the octets of window probes included.
    pub sent_bytes: Bytes,
    /// Segments with payload sent, retransmissions and window probes included.
    pub sent_packets: Packets,
    /// Segments sent without data, SYN, FIN and RST.
    pub acks_sent: Packets,
    /// Segments received.
    pub segments_received: Packets,
    /// Segments received with payload.
    pub data_segments_received: Packets,
    /// Payload bytes sent again.
    pub retransmitted_bytes: Bytes,
    /// Segments with payload sent again.
    pub retransmitted_packets: Packets,
    /// Payload bytes marked lost, counted each time.
    pub lost_bytes: Bytes,
    /// Expiries of the retransmission timer, those of the SYN included.
    pub timeouts: u64,
    /// Episodes of fast recovery.
    pub fast_retransmits: u64,
    /// Third consecutive duplicate ACKs: ACKs without data, SYN or FIN that acknowledge nothing new while data is
    /// outstanding. ACKs that change the window count too, as in ns-3; RFC 5681, section 2, excludes them, and so does
    /// the loss recovery here.
    pub triple_duplicate_acks: u64,
    /// Consecutive duplicate ACKs from the third on. Unlike [`triple_duplicate_acks`](Self::triple_duplicate_acks),
    /// this counts each such ACK, not each series.
    pub later_duplicate_acks: u64,
    /// Reductions after an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions found to be spurious and undone.
    pub spurious: u64,
    /// Of these, the reductions of timeouts. The others are those of fast retransmits.
    pub spurious_timeouts: u64,
    /// Segments that D-SACK blocks reported as duplicates.
    pub duplicates_reported: Packets,
    /// Tail loss probes sent (RFC 8985, section 7).
    pub tail_probes: u64,
    /// Losses that a tail loss probe alone repaired (RFC 8985, section 7.4).
    pub tail_repairs: u64,
    /// Zero-window probes sent. A probe with an octet also counts in [`sent_bytes`](Self::sent_bytes) and
    /// [`sent_packets`](Self::sent_packets). If the peer does not take the octet, it is sent again as new data, not as
    /// a retransmission.
    pub probes_sent: Packets,
    /// RST segments sent.
    pub resets_sent: Packets,
    /// Received data segments of which every byte had been received before.
    pub duplicate_segments: Packets,
    /// Received data segments beyond a gap.
    pub out_of_order_segments: Packets,
    /// Received segments dropped by RFC 7323's protection against wrapped sequence numbers.
    pub paws_drops: Packets,
    /// Received data segments marked CE.
    pub ce_received: Packets,
    /// Duplicate ACKs received (RFC 5681's definition).
    pub duplicate_acks: Packets,
}

/// The counters that a connection keeps: those that every segment changes, and the rare ones once any of them is used.
/// Most ends of most connections never use a rare one, and there may be many thousands.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Counters {
    rare: Option<Box<Rare>>,
    pub(crate) sent_bytes: Bytes,
    pub(crate) sent_packets: Packets,
    pub(crate) acks_sent: Packets,
    pub(crate) segments_received: Packets,
    pub(crate) data_segments_received: Packets,
}

/// What most ends of most connections never use.
#[derive(Debug)]
struct Rare {
    received: RareReceived,
    /// None at an end that only receives.
    sent: Option<Box<RareSent>>,
    /// When the connection was aborted; [`Instant::NEVER`] if it was not.
    aborted_at: Instant,
}

impl Default for Rare {
    fn default() -> Self {
        Self { received: RareReceived::default(), sent: None, aborted_at: Instant::NEVER }
    }
}

/// The rare counters of a receiver; see [`Stats`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RareReceived {
    pub(crate) duplicate_segments: Packets,
    pub(crate) out_of_order_segments: Packets,
    pub(crate) paws_drops: Packets,
    pub(crate) ce_received: Packets,
}

/// The rare counters of a sender; see [`Stats`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RareSent {
    pub(crate) retransmitted_bytes: Bytes,
    pub(crate) retransmitted_packets: Packets,
    pub(crate) lost_bytes: Bytes,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) triple_duplicate_acks: u64,
    pub(crate) later_duplicate_acks: u64,
    pub(crate) ecn_reductions: u64,
    pub(crate) spurious: u64,
    pub(crate) spurious_timeouts: u64,
    pub(crate) duplicates_reported: Packets,
    pub(crate) tail_probes: u64,
    pub(crate) tail_repairs: u64,
    pub(crate) probes_sent: Packets,
    pub(crate) resets_sent: Packets,
    pub(crate) duplicate_acks: Packets,
}

impl Counters {
    /// The rare counters of a sender.
    pub(crate) fn rare(&mut self) -> &mut RareSent {
        self.rare.get_or_insert_default().sent.get_or_insert_default()
    }

    /// The rare counters of a receiver.
    pub(crate) fn rare_received(&mut self) -> &mut RareReceived {
        &mut self.rare.get_or_insert_default().received
    }

    /// Notes that the connection is aborted.
    pub(crate) fn abort(&mut self, now: Instant) {
        self.rare.get_or_insert_default().aborted_at = now;
    }

    /// When the connection was aborted.
    pub(crate) fn aborted_at(&self) -> Option<Instant> {
        self.rare.as_ref().map(|rare| rare.aborted_at).filter(|at| *at != Instant::NEVER)
    }

    /// All counters.
    pub(crate) fn all(&self) -> Stats {
        let rare = self.rare.as_deref();
        let sent = rare.and_then(|rare| rare.sent.as_deref().copied()).unwrap_or_default();
        let received = rare.map(|rare| rare.received).unwrap_or_default();
        Stats {
            sent_bytes: self.sent_bytes,
            sent_packets: self.sent_packets,
            acks_sent: self.acks_sent,
            segments_received: self.segments_received,
            data_segments_received: self.data_segments_received,
            retransmitted_bytes: sent.retransmitted_bytes,
            retransmitted_packets: sent.retransmitted_packets,
            lost_bytes: sent.lost_bytes,
            timeouts: sent.timeouts,
            fast_retransmits: sent.fast_retransmits,
            triple_duplicate_acks: sent.triple_duplicate_acks,
            later_duplicate_acks: sent.later_duplicate_acks,
            ecn_reductions: sent.ecn_reductions,
            spurious: sent.spurious,
            spurious_timeouts: sent.spurious_timeouts,
            duplicates_reported: sent.duplicates_reported,
            tail_probes: sent.tail_probes,
            tail_repairs: sent.tail_repairs,
            probes_sent: sent.probes_sent,
            resets_sent: sent.resets_sent,
            duplicate_segments: received.duplicate_segments,
            out_of_order_segments: received.out_of_order_segments,
            paws_drops: received.paws_drops,
            ce_received: received.ce_received,
            duplicate_acks: sent.duplicate_acks,
        }
    }
}

/// A snapshot of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Congestion window, without a recovery's artificial inflation.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` is unlimited.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate in force: the congestion control's, or that of the connection's own setting; `None` if nothing is
    /// paced.
    pub pacing_rate: Option<Rate>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Latest round-trip time sample.
    pub rtt: Option<Duration>,
    /// Smallest round-trip time sample.
    pub min_rtt: Option<Duration>,
    /// Variation of the round-trip time.
    pub rttvar: Option<Duration>,
    /// Retransmission timeout, backoff included.
    pub rto: Duration,
    /// The peer's receive window.
    pub rwnd: Bytes,
    /// Sent and not cumulatively acknowledged.
    pub flightsize: Bytes,
    /// Estimate of what is in the network (RFC 6675's pipe).
    pub inflight: Bytes,
    /// Bytes delivered to the peer, cumulatively or selectively acknowledged.
    pub delivered: Bytes,
    /// Payload bytes of a full segment.
    pub smss: Bytes,
    /// Where loss recovery stands.
    pub phase: Phase,
    /// What the handshake agreed on.
    pub agreement: Agreement,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether timestamps are in use.
    pub timestamps: bool,
}
