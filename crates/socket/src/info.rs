//! A connection as `getsockopt(TCP_INFO)` shows it: Linux's field names, units and order (`struct tcp_info`).

use crate::chrono::Times;
use crate::socket::Socket;
use narrows_cc::Phase;
use narrows_tcp::{Connection, State};
use narrows_units::{Duration, Instant};

/// The fields of `struct tcp_info` by name, in its order; bit fields are fields of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo(pub Vec<(&'static str, u64)>);

impl TcpInfo {
    /// A field by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
    }
}

/// An unlimited slow-start threshold (`TCP_INFINITE_SSTHRESH`).
const INFINITE: u64 = 0x7fff_ffff;

/// Bits of `tcpi_options`.
mod option {
    pub(super) const TIMESTAMPS: u64 = 1;
    pub(super) const SACK: u64 = 2;
    pub(super) const WSCALE: u64 = 4;
    pub(super) const ECN: u64 = 8;
    pub(super) const ECN_SEEN: u64 = 16;
    pub(super) const SYN_DATA: u64 = 32;
}

/// A state's number (`TCP_ESTABLISHED` ..).
fn number(state: State) -> u64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// A phase's number (`TCP_CA_Open` ..).
fn ca_state(phase: Phase) -> u64 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

fn micros(time: Option<Duration>) -> u64 {
    time.map_or(0, Duration::as_micros)
}

/// Reads a socket; `advertised` is the MSS that it announces to its peer.
pub(crate) fn of(socket: &Socket, advertised: u64, now: Instant) -> TcpInfo {
    match socket.connection() {
        Some(connection) => {
            let times = socket.chrono.read(now);
            connected(connection, socket, &times, advertised)
        }
        None => TcpInfo(vec![("tcpi_state", number(socket.state()))]),
    }
}

fn connected(connection: &Connection, socket: &Socket, times: &Times, advertised: u64) -> TcpInfo {
    let (info, stats, more) = (connection.info(), connection.stats(), connection.linux_info());
    let smss = info.smss.as_u64().max(1);
    let mut options = 0;
    for (on, bit) in [
        (info.timestamps, option::TIMESTAMPS),
        (info.sack, option::SACK),
        (more.send_shift > 0 || more.receive_shift > 0, option::WSCALE),
        (more.ecn, option::ECN),
        (socket.syn_data_acked, option::SYN_DATA),
    ] {
        options |= if on { bit } else { 0 };
    }
    let ssthresh = info.ssthresh.map_or(INFINITE, |bytes| (bytes.as_u64() / smss).min(INFINITE));
    let ecn = connection.ecn_counters().unwrap_or_default();
    let ce = match (connection.accurate_ecn(), connection.ecn_counters()) {
        (_, Some(ecn)) => (u64::from(ecn.delivered_ce), u64::from(ecn.received_ce)),
        (Some(ecn), None) => (ecn.ce_reported.as_u64(), ecn.ce_received.as_u64()),
        (None, None) => (0, stats.ce_received.as_u64()),
    };
    if ecn.seen {
        options |= option::ECN_SEEN;
    }
    TcpInfo(vec![
        ("tcpi_state", number(connection.state())),
        ("tcpi_ca_state", ca_state(info.phase)),
        ("tcpi_retransmits", more.retransmits),
        ("tcpi_probes", more.probes),
        ("tcpi_backoff", more.backoff),
        ("tcpi_options", options),
        ("tcpi_snd_wscale", more.send_shift.into()),
        ("tcpi_rcv_wscale", more.receive_shift.into()),
        ("tcpi_delivery_rate_app_limited", more.app_limited.into()),
        ("tcpi_rto", info.rto.as_micros()),
        ("tcpi_ato", more.ack_delay.as_micros()),
        ("tcpi_snd_mss", smss),
        ("tcpi_rcv_mss", more.receive_mss.as_u64()),
        ("tcpi_unacked", more.unacked),
        ("tcpi_sacked", more.sacked),
        ("tcpi_lost", more.lost),
        ("tcpi_retrans", more.retrans),
        ("tcpi_fackets", 0),
        ("tcpi_last_data_sent", times.data_sent),
        ("tcpi_last_ack_sent", 0),
        ("tcpi_last_data_recv", times.data_received),
        ("tcpi_last_ack_recv", times.ack_received),
        ("tcpi_rcv_ssthresh", more.receive_window.as_u64()),
        ("tcpi_rtt", micros(info.srtt)),
        ("tcpi_rttvar", micros(info.rttvar)),
        ("tcpi_snd_ssthresh", ssthresh),
        ("tcpi_snd_cwnd", info.cwnd.as_u64() / smss),
        ("tcpi_advmss", advertised),
        ("tcpi_reordering", more.reordering.0.into()),
        ("tcpi_reord_seen", more.reordering.1.into()),
        ("tcpi_dsack_dups", stats.duplicates_reported.as_u64()),
        ("tcpi_total_retrans", stats.retransmitted_packets.as_u64()),
        ("tcpi_pacing_rate", info.pacing_rate.map_or(u64::MAX, |rate| rate.as_bps() / 8)),
        ("tcpi_max_pacing_rate", u64::MAX),
        ("tcpi_bytes_acked", connection.acked().as_u64()),
        ("tcpi_bytes_received", connection.delivered_to_app().as_u64()),
        ("tcpi_segs_in", stats.segments_received.as_u64()),
        ("tcpi_notsent_bytes", socket.memory.not_sent()),
        ("tcpi_min_rtt", info.min_rtt.map_or(u64::from(u32::MAX), Duration::as_micros)),
        ("tcpi_data_segs_in", stats.data_segments_received.as_u64()),
        ("tcpi_data_segs_out", stats.sent_packets.as_u64()),
        ("tcpi_busy_time", times.busy),
        ("tcpi_rwnd_limited", times.window_limited),
        ("tcpi_sndbuf_limited", times.buffer_limited),
        ("tcpi_delivered", more.delivered),
        ("tcpi_delivered_ce", ce.0),
        ("tcpi_bytes_sent", stats.sent_bytes.as_u64()),
        ("tcpi_bytes_retrans", stats.retransmitted_bytes.as_u64()),
        ("tcpi_rcv_ooopack", stats.out_of_order_segments.as_u64()),
        ("tcpi_snd_wnd", info.rwnd.as_u64()),
        ("tcpi_rcv_wnd", more.receive_window.as_u64()),
        ("tcpi_total_rto", stats.timeouts),
        ("tcpi_received_ce", ce.1),
        ("tcpi_delivered_e1_bytes", ecn.delivered_bytes[0].into()),
        ("tcpi_delivered_e0_bytes", ecn.delivered_bytes[1].into()),
        ("tcpi_delivered_ce_bytes", ecn.delivered_bytes[2].into()),
        ("tcpi_received_e1_bytes", ecn.received_bytes[0].into()),
        ("tcpi_received_e0_bytes", ecn.received_bytes[1].into()),
        ("tcpi_received_ce_bytes", ecn.received_bytes[2].into()),
    ])
}
