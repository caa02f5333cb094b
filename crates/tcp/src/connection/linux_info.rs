//! What Linux's `TCP_INFO` shows beside [`Info`](crate::Info): counts of segments and states of timers.

use super::Connection;
use crate::assist::Agreement;
use crate::segment::{Segment, flag};
use crate::stats::State;
use narrows_units::{Bytes, Duration};

/// Values of Linux's `struct tcp_info` that [`Info`](crate::Info) and [`Stats`](crate::Stats) do not have, in its
/// units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxInfo {
    /// Expiries of the retransmission timer in a row.
    pub retransmits: u64,
    /// Window probes in a row.
    pub probes: u64,
    /// Times that the retransmission timeout is doubled.
    pub backoff: u64,
    /// Shift of the windows that the peer sends.
    pub send_shift: u8,
    /// Shift of the windows that this end sends.
    pub receive_shift: u8,
    /// Whether the handshake agreed on ECN.
    pub ecn: bool,
    /// Whether the application limited the flow.
    pub app_limited: bool,
    /// Delay of ACKs (`icsk_ack.ato`).
    pub ack_delay: Duration,
    /// Estimate of the peer's segment size.
    pub receive_mss: Bytes,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u64,
    /// Of these, segments reported by SACK.
    pub sacked: u64,
    /// Of these, segments deemed lost.
    pub lost: u64,
    /// Of these, segments whose retransmission is in the network.
    pub retrans: u64,
    /// Segments delivered to the peer, the SYN included (`tp->delivered`).
    pub delivered: u64,
    /// Degree of reordering in segments, and how often reordering was seen.
    pub reordering: (u32, u32),
    /// Receive window as advertised last.
    pub receive_window: Bytes,
    /// Largest window that the peer ever offered.
    pub max_window: Bytes,
}

impl Connection {
    /// The values that Linux's `TCP_INFO` shows beside [`info`](Self::info).
    #[must_use]
    pub fn linux_info(&self) -> LinuxInfo {
        let count = |segment: &Segment| u64::from(segment.len).div_ceil(self.smss.max(1)).max(1);
        // Data of a SYN that goes again is a retransmission for Linux.
        let again = self.socket.as_ref().map_or(0, |socket| socket.fast_open.again);
        let (mut unacked, mut sacked, mut lost, mut retrans) = (0, 0, 0, 0);
        for segment in self.tx.board.segments() {
            let segments = count(segment);
            unacked += segments;
            sacked += if segment.has(flag::SACKED) { segments } else { 0 };
            lost += if segment.has(flag::LOST) { segments } else { 0 };
            retrans += if segment.has(flag::RETRANS) || segment.start < again { segments } else { 0 };
        }
        LinuxInfo {
            retransmits: self.timers.retries.into(),
            probes: self.socket.as_ref().map_or(self.timers.probes, |socket| socket.probes_out).into(),
            backoff: self.rto.backoff().into(),
            send_shift: self.tx.send_shift,
            receive_shift: self.rx.shift(),
            ecn: matches!(self.agreement, Agreement::Ecn | Agreement::AccurateEcn),
            app_limited: self.rate.is_app_limited(),
            ack_delay: self.rx.ack_delay(),
            receive_mss: Bytes::new(self.rx.peer_mss()),
            unacked,
            sacked,
            lost,
            retrans,
            delivered: self.delivered_segments(sacked),
            reordering: self.recovery.reordering().unwrap_or((self.config.dupthresh, 0)),
            receive_window: Bytes::new(self.rx.offered_window()),
            max_window: Bytes::new(self.tx.max_window()),
        }
    }

    /// Segments delivered so far, of which `sacked` are still on the board. Data of a SYN and the SYN count as one.
    fn delivered_segments(&self, sacked: u64) -> u64 {
        let opening = matches!(self.state, State::Listen | State::SynSent | State::SynReceived);
        let syn = u64::from(!opening && !self.is_fast_open_pending() && self.syn_data().is_zero());
        self.tx.board.head_index() + sacked + syn
    }
}
