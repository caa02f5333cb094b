//! One record: the state of a connection's sending end at one time (`struct record` in `bpf/trace.bpf.c`).

use narrows_samples::{FLOW_COUNTERS, FlowRow, NONE};
use narrows_units::Instant;

/// What made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A segment arrived, usually an ACK. The record shows the state before the segment is processed.
    Segment,
    /// A segment was retransmitted; the counts include it.
    Retransmission,
    /// The phase of loss recovery changes; the record shows the new phase, and everything else as before.
    Phase,
}

/// Phases of loss recovery (`enum tcp_ca_state` of `include/uapi/linux/tcp.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No sign of loss or congestion.
    Open,
    /// Duplicate ACKs or SACKs arrived, too few to indicate a loss.
    Disorder,
    /// The window is being reduced for a reason other than loss: ECN, or congestion in the host.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery from a timeout.
    Loss,
}

/// The state of a connection's sending end at one time. Values that the kernel does not report are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time, in nanoseconds of `CLOCK_MONOTONIC` ([`crate::Clock::at`]).
    pub at_ns: u64,
    /// What made the record.
    pub event: Event,
    /// Phase of loss recovery.
    pub phase: Phase,
    /// `snd_cwnd`, in segments.
    pub cwnd_packets: u32,
    /// `snd_ssthresh`, in segments; `None` while unlimited.
    pub ssthresh_packets: Option<u32>,
    /// `srtt_us`; `None` before the first sample.
    pub srtt_ns: Option<u64>,
    /// Latest round-trip time sample (`rack.rtt_us`: of the segments that the latest ACK delivered, the one sent last).
    /// `rack.rtt_us` needs SACK; without it, this is the sample that moved the smoothed value since the previous
    /// record.
    pub rtt_ns: Option<u64>,
    /// `icsk_rto`, including any backoff; `None` before the connection is established.
    pub rto_ns: Option<u64>,
    /// `snd_wnd`: the latest window that the peer advertised.
    pub rwnd_bytes: u32,
    /// `snd_nxt` - `snd_una`.
    pub flightsize_bytes: u32,
    /// `packets_out`: segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// `sacked_out`: those of them that SACKs report as received.
    pub sacked_packets: u32,
    /// `lost_out`: those of them that are presumed lost.
    pub lost_packets: u32,
    /// `retrans_out`: retransmissions in flight.
    pub retrans_out: u32,
    /// `mss_cache`: payload of a full segment.
    pub mss_bytes: u32,
    /// `delivered`: segments delivered to the receiver, retransmissions counted once; wraps.
    pub delivered_packets: u32,
    /// `bytes_sent`: payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// `data_segs_out`: segments with payload sent, retransmissions included; wraps.
    pub sent_packets: u32,
    /// `bytes_acked`: cumulatively acknowledged payload; the end that connects counts its SYN too.
    pub acked_bytes: u64,
    /// `bytes_retrans`: payload retransmitted.
    pub retransmitted_bytes: u64,
    /// `total_retrans`: segments retransmitted.
    pub retransmitted_packets: u32,
    /// `total_rto` (Linux 6.7): expiries of the retransmission timer.
    pub timeouts: Option<u32>,
}

/// Bytes of a record in the ring.
const LEN: usize = 112;

/// `TCP_INFINITE_SSTHRESH` of `include/net/tcp.h`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// `TCP_RTO_MIN` of `include/net/tcp.h`: 200 ms. `icsk_rto_min` is this time in jiffies, a fifth of CONFIG_HZ, and so
/// gives the length of a jiffy. Nothing in our namespaces changes it (socket option, route or sysctl).
const RTO_MIN_NS: u64 = 200_000_000;

impl Record {
    /// Parses a record from the ring; returns its flow and the record.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<(u32, Self)> {
        let bytes: &[u8; LEN] = bytes.get(..LEN)?.try_into().ok()?;
        let long = |index: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * index + byte]));
        let word = |index: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[32 + 4 * index + byte]));
        let known = |value: u32| (value > 0).then_some(value);
        let micros = |value: u32| known(value).map(|us| u64::from(us) * 1000);
        let event = match bytes[104] {
            0 => Event::Segment,
            1 => Event::Retransmission,
            _ => Event::Phase,
        };
        let phase = match bytes[105] {
            0 => Phase::Open,
            1 => Phase::Disorder,
            2 => Phase::Cwr,
            3 => Phase::Recovery,
            _ => Phase::Loss,
        };
        let record = Self {
            at_ns: long(0),
            event,
            phase,
            cwnd_packets: word(1),
            ssthresh_packets: (word(2) < INFINITE_SSTHRESH).then_some(word(2)),
            // The kernel keeps eight times the smoothed value.
            srtt_ns: known(word(3)).map(|eighths| u64::from(eighths) * 1000 / 8),
            rtt_ns: micros(word(4)),
            rto_ns: known(word(6)).map(|rto_min| u64::from(word(5)) * RTO_MIN_NS / u64::from(rto_min)),
            rwnd_bytes: word(7),
            flightsize_bytes: word(8),
            packets_out: word(9),
            sacked_packets: word(10),
            lost_packets: word(11),
            retrans_out: word(12),
            mss_bytes: word(13),
            delivered_packets: word(14),
            sent_bytes: long(1),
            sent_packets: word(15),
            acked_bytes: long(2),
            retransmitted_bytes: long(3),
            retransmitted_packets: word(16),
            timeouts: (word(17) < u32::MAX).then_some(word(17)),
        };
        Some((word(0), record))
    }

    /// Returns the segments presumed to be in the network (`tcp_packets_in_flight`).
    #[must_use]
    pub const fn inflight_packets(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_packets + self.lost_packets)
    }

    /// Returns the sender's columns of a sample, as [`crate::TcpInfo::row`] does, and the latest round-trip time.
    /// Values that only the network and the receiver know are "no value".
    #[must_use]
    pub fn row(&self, flow: u64, at: Instant) -> FlowRow {
        let mss = u64::from(self.mss_bytes);
        FlowRow {
            time_ns: at.as_nanos(),
            flow,
            cwnd_bytes: u64::from(self.cwnd_packets) * mss,
            ssthresh_bytes: self.ssthresh_packets.map_or(NONE, |packets| u64::from(packets) * mss),
            srtt_ns: self.srtt_ns.unwrap_or(NONE),
            rtt_ns: self.rtt_ns.unwrap_or(NONE),
            rto_ns: self.rto_ns.unwrap_or(NONE),
            rwnd_bytes: self.rwnd_bytes.into(),
            flightsize_bytes: self.flightsize_bytes.into(),
            inflight_bytes: u64::from(self.inflight_packets()) * mss,
            sent_bytes: self.sent_bytes,
            sent_packets: self.sent_packets.into(),
            delivered_bytes: NONE,
            lost_packets: NONE,
            retransmitted_packets: self.retransmitted_packets.into(),
            timeouts: self.timeouts.map_or(NONE, u64::from),
            counters: [0; FLOW_COUNTERS],
            arrived_bytes: NONE,
        }
    }
}
