//! What a connection tells of itself: state, counters and a snapshot.

use crate::assist::Agreement;
use narrows_cc::Phase;
use narrows_units::{Bytes, Duration, Packets, Rate};

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
    /// Received a SYN and sent SYN, ACK.
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

impl State {
    /// Whether both ends know of each other's SYN.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Listen | Self::SynSent | Self::SynReceived | Self::Closed)
    }
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
    /// Payload bytes marked lost, each time they were.
    pub lost_bytes: Bytes,
    /// Expiries of the retransmission timer, those of the SYN included.
    pub timeouts: u64,
    /// Episodes of fast recovery.
    pub fast_retransmits: u64,
    /// Third duplicate ACKs in a row: ACKs without data, SYN or FIN that acknowledge nothing new while data is outstanding.
    /// Those that move the window count too, as in ns-3; RFC 5681, section 2, leaves them out, and so does the loss
    /// recovery here.
    pub triple_duplicate_acks: u64,
    /// Duplicate ACKs in a row from the third on: what [`triple_duplicate_acks`](Self::triple_duplicate_acks) is if each counts
    /// that finds two before it, not each series.
    pub later_duplicate_acks: u64,
    /// Reductions after an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions found to be spurious and taken back.
    pub spurious: u64,
    /// Zero-window probes sent. One that carries an octet also counts in [`sent_bytes`](Self::sent_bytes) and
    /// [`sent_packets`](Self::sent_packets); where the peer does not take it, it is sent again as new data, not as a
    /// retransmission.
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

/// Counters as a connection keeps them: those that each segment changes, and, once anything else was counted, the others.
/// Most ends of most connections never count anything else, and there may be many thousands.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Counters {
    pub(crate) sent_bytes: Bytes,
    pub(crate) sent_packets: Packets,
    pub(crate) acks_sent: Packets,
    pub(crate) segments_received: Packets,
    pub(crate) data_segments_received: Packets,
    rare: Option<Box<Stats>>,
}

impl Counters {
    /// The others; those above are not kept there.
    pub(crate) fn rare(&mut self) -> &mut Stats {
        self.rare.get_or_insert_default()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Stats {
        Stats {
            sent_bytes: self.sent_bytes,
            sent_packets: self.sent_packets,
            acks_sent: self.acks_sent,
            segments_received: self.segments_received,
            data_segments_received: self.data_segments_received,
            ..self.rare.as_deref().copied().unwrap_or_default()
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
    /// Pacing rate in force: the congestion control's, or by the connection's own setting; `None` where nothing is paced.
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
    /// What was agreed on in the handshake.
    pub agreement: Agreement,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Whether timestamps are in use.
    pub timestamps: bool,
}
