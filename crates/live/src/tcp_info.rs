//! What the kernel reports about a TCP connection: `getsockopt(TCP_INFO)`, as columns of samples.
//!
//! Newer kernels extend `struct tcp_info`, always at its end (`include/uapi/linux/tcp.h`). An older kernel fills less
//! of it; fields that it did not fill are "no value".

use narrows_fabric::CONNECTION_VARIABLES;
use narrows_samples::{FLOW_COUNTERS, FlowRow, FlowTotal, NONE};
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TCP_INFINITE_SSTHRESH` of `include/net/tcp.h`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The kernel's `struct tcp_info` up to what Linux 6.7 added. Fields that are not read here are placeholders.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Raw {
    state: u8,
    ca_state: u8,
    _retransmits: u8,
    _probes: u8,
    _backoff: u8,
    options: u8,
    _window_scales: u8,
    flags: u8,
    rto: u32,
    _ato: u32,
    snd_mss: u32,
    _rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    _fackets: u32,
    _last: [u32; 4],
    _pmtu: u32,
    _rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    _advmss: u32,
    _reordering: u32,
    _rcv_rtt: u32,
    _rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    _max_pacing_rate: u64,
    bytes_acked: u64,
    _bytes_received: u64,
    _segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    _data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    _times: [u64; 3],
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    _dsack_dups: u32,
    _reord_seen: u32,
    _rcv_ooopack: u32,
    snd_wnd: u32,
    _rcv_wnd: u32,
    _rehash: u32,
    total_rto: u16,
    _total_rto_recoveries: u16,
    _total_rto_time: u32,
}

/// A TCP connection at one time, as its end in this kernel sees it.
#[derive(Clone, Copy, Debug)]
pub struct TcpInfo {
    raw: Raw,
    /// Bytes that the kernel filled.
    length: usize,
}

/// A field, if the kernel filled it.
macro_rules! field {
    ($info:expr, $name:ident) => {{
        let info: &TcpInfo = $info;
        (info.length >= offset_of!(Raw, $name) + size_of_val(&info.raw.$name)).then_some(info.raw.$name)
    }};
}

mod field;

pub(crate) use field::untold;

impl TcpInfo {
    /// Reads the state of a connection from the kernel.
    ///
    /// # Errors
    /// Those of `getsockopt(2)`, if the socket is no TCP socket.
    pub fn read(socket: BorrowedFd<'_>) -> std::io::Result<Self> {
        // SAFETY: all bytes zero are a valid value of this struct of integers.
        let mut raw: Raw = unsafe { std::mem::zeroed() };
        let mut length = size_of::<Raw>() as libc::socklen_t;
        // SAFETY: the pointers are to a struct of `length` bytes and to that length; the kernel writes no more than
        // that.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut raw).cast(),
                &raw mut length,
            )
        };
        if result == 0 { Ok(Self { raw, length: length as usize }) } else { Err(std::io::Error::last_os_error()) }
    }

    /// Whether the three-way handshake is over, and neither end has closed or given up.
    pub(crate) const fn is_established(&self) -> bool {
        const TCP_ESTABLISHED: u8 = 1;
        self.raw.state == TCP_ESTABLISHED
    }

    /// Whether the handshake is in progress, so that no data has been sent.
    const fn is_opening(&self) -> bool {
        const TCP_SYN_SENT: u8 = 2;
        const TCP_SYN_RECV: u8 = 3;
        matches!(self.raw.state, TCP_SYN_SENT | TCP_SYN_RECV)
    }

    /// Whether this end has closed, or the connection is gone: the kernel's tracepoint `tcp_probe` does not fire from
    /// then on.
    #[must_use]
    pub const fn has_closed(&self) -> bool {
        const TCP_CLOSE_WAIT: u8 = 8;
        !self.is_opening() && !self.is_established() && self.raw.state != TCP_CLOSE_WAIT
    }

    /// Segments that the receiver has acknowledged or SACKed, SYN and FIN included; wraps. `None` before Linux 4.18.
    #[must_use]
    pub fn delivered(&self) -> Option<u32> {
        field!(self, delivered)
    }

    /// Segments received, with payload or without; wraps. `None` before Linux 4.2.
    #[must_use]
    pub fn received_segments(&self) -> Option<u32> {
        field!(self, segs_in)
    }

    /// Whether the connection has SACK (RFC 2018) and whether it has timestamps (RFC 7323), as `(sack, timestamps)`.
    #[must_use]
    pub const fn options(&self) -> (bool, bool) {
        const TIMESTAMPS: u8 = 1;
        const SACK: u8 = 2;
        (self.raw.options & SACK != 0, self.raw.options & TIMESTAMPS != 0)
    }

    /// Whether ECN (RFC 3168) was negotiated.
    #[must_use]
    pub const fn ecn(&self) -> bool {
        const ECN: u8 = 8;
        self.raw.options & ECN != 0
    }

    /// Whether the sender is in loss recovery (`TCP_CA_Recovery`, `TCP_CA_Loss`).
    #[must_use]
    pub const fn in_recovery(&self) -> bool {
        self.raw.ca_state >= 3
    }

    /// Payload bytes of the sender's full segments (`mss_cache`).
    #[must_use]
    pub const fn smss(&self) -> u32 {
        self.raw.snd_mss
    }

    /// Smoothed round-trip time in nanoseconds (`srtt_us`, RFC 6298 with Linux's variance); `None` before the first
    /// sample.
    #[must_use]
    pub fn srtt_ns(&self) -> Option<u64> {
        (self.raw.rtt > 0).then(|| u64::from(self.raw.rtt) * 1000)
    }

    /// Smallest round-trip time in nanoseconds in the kernel's window (`tcp_min_rtt_wlen`, five minutes); `None` before
    /// the first sample.
    #[must_use]
    pub fn min_rtt_ns(&self) -> Option<u64> {
        field!(self, min_rtt).filter(|&us| us > 0 && us < u32::MAX).map(|us| u64::from(us) * 1000)
    }

    /// Reports the variables of a connection ([`CONNECTION_VARIABLES`]): `tcpi_ca_state`, `tcpi_rttvar` (the mean
    /// deviation `mdev_us`, not the maximum from which Linux computes the RTO), `tcpi_min_rtt` and, of a connection
    /// that is `paced`, `tcpi_pacing_rate`. The kernel computes a rate for the others too, but does not send by it.
    pub(crate) fn state(&self, paced: bool, visit: &mut dyn FnMut(&'static str, f64)) {
        let measured = self.srtt_ns().map(|_| f64::from(self.raw.rttvar) / 1e6);
        let rate = field!(self, pacing_rate).filter(|&rate| paced && rate != u64::MAX);
        let values = [
            Some(f64::from(self.raw.ca_state)),
            measured,
            self.min_rtt_ns().map(|ns| ns as f64 / 1e9),
            rate.map(|bytes| 8.0 * bytes as f64),
        ];
        for (variable, value) in CONNECTION_VARIABLES.iter().zip(values) {
            visit(variable.name, value.unwrap_or(f64::NAN));
        }
    }

    /// Returns the sender's columns of a sample. Values that the kernel does not report are "no value": the latest
    /// round-trip time sample (which per-ACK records have), and what only the network and the receiver know.
    ///
    /// | column | source in `struct tcp_info` |
    /// |---|---|
    /// | `cwnd_bytes` | `tcpi_snd_cwnd` x `tcpi_snd_mss` |
    /// | `ssthresh_bytes` | `tcpi_snd_ssthresh` x `tcpi_snd_mss`; none while it is `TCP_INFINITE_SSTHRESH` |
    /// | `srtt_ns`, `rto_ns` | `tcpi_rtt`, `tcpi_rto`, in microseconds there |
    /// | `rwnd_bytes` | `tcpi_snd_wnd` (Linux 6.2); none before the peer was heard |
    /// | `flightsize_bytes` | `tcpi_bytes_sent` - `tcpi_bytes_retrans` - `tcpi_bytes_acked` (which counts a SYN sent) |
    /// | `inflight_bytes` | (`tcpi_unacked` - `tcpi_sacked` - `tcpi_lost` + `tcpi_retrans`) x `tcpi_snd_mss` |
    /// | `sent_bytes`, `sent_packets` | `tcpi_bytes_sent` (Linux 4.19), `tcpi_data_segs_out` (4.6) |
    /// | `retransmitted_packets` | `tcpi_total_retrans`, which counts a SYN sent again too |
    /// | `timeouts` | `tcpi_total_rto` (Linux 6.7) |
    #[must_use]
    pub fn row(&self, opened: bool) -> FlowRow {
        let raw = &self.raw;
        let mss = u64::from(raw.snd_mss);
        let finite = raw.snd_ssthresh < INFINITE_SSTHRESH;
        // A SYN in flight is no data, but the kernel counts it as a packet.
        let unacked = raw.unacked.saturating_sub(self.is_opening().into());
        let inflight = (i64::from(unacked) + i64::from(raw.retrans)) - (i64::from(raw.sacked) + i64::from(raw.lost));
        FlowRow {
            cwnd_bytes: u64::from(raw.snd_cwnd) * mss,
            ssthresh_bytes: if finite { u64::from(raw.snd_ssthresh) * mss } else { NONE },
            srtt_ns: self.srtt_ns().unwrap_or(NONE),
            rtt_ns: NONE,
            rto_ns: u64::from(raw.rto) * 1000,
            rwnd_bytes: or_none(field!(self, snd_wnd).filter(|_| !self.is_opening())),
            flightsize_bytes: self.flightsize(opened).unwrap_or(NONE),
            inflight_bytes: u64::try_from(inflight).unwrap_or(0) * mss,
            sent_bytes: field!(self, bytes_sent).unwrap_or(NONE),
            sent_packets: or_none(field!(self, data_segs_out)),
            delivered_bytes: NONE,
            lost_packets: NONE,
            retransmitted_packets: or_none(field!(self, total_retrans)),
            timeouts: or_none(field!(self, total_rto)),
            arrived_bytes: NONE,
            ..FlowRow::default()
        }
    }

    /// Returns the sender's part of a flow's totals; everything else is "no value".
    #[must_use]
    pub fn total(&self) -> FlowTotal {
        FlowTotal {
            sent_bytes: field!(self, bytes_sent).unwrap_or(NONE),
            sent_packets: or_none(field!(self, data_segs_out)),
            retransmitted_packets: or_none(field!(self, total_retrans)),
            retransmitted_bytes: field!(self, bytes_retrans).unwrap_or(NONE),
            timeouts: or_none(field!(self, total_rto)),
            rtt_min_ns: self.min_rtt_ns().unwrap_or(NONE),
            ..no_total()
        }
    }

    /// Returns the bytes sent and not cumulatively acknowledged. `opened` says whether this end sent the SYN, which the
    /// kernel counts as one acknowledged byte.
    fn flightsize(&self, opened: bool) -> Option<u64> {
        let fresh = field!(self, bytes_sent)?.saturating_sub(field!(self, bytes_retrans)?);
        let acked = self.raw.bytes_acked.saturating_sub(opened.into());
        Some(fresh.saturating_sub(acked))
    }
}

fn or_none(value: Option<impl Into<u64>>) -> u64 {
    value.map_or(NONE, Into::into)
}

/// Returns a flow's totals with nothing known.
pub(crate) fn no_total() -> FlowTotal {
    FlowTotal {
        start_ns: NONE,
        stop_ns: NONE,
        sent_bytes: NONE,
        sent_packets: NONE,
        arrived_bytes: NONE,
        arrived_packets: NONE,
        delivered_bytes: NONE,
        lost_packets: NONE,
        retransmitted_packets: NONE,
        retransmitted_bytes: NONE,
        timeouts: NONE,
        fast_retransmits: NONE,
        triple_duplicate_acks: NONE,
        later_duplicate_acks: NONE,
        ecn_reductions: NONE,
        spurious: NONE,
        rtt_samples: NONE,
        rtt_sum_ns: NONE,
        rtt_min_ns: NONE,
        rtt_max_ns: NONE,
        rtt_p50_ns: NONE,
        rtt_p95_ns: NONE,
        rtt_p99_ns: NONE,
        max_bin_bytes: NONE,
        counters: [0; FLOW_COUNTERS],
        transactions: 0,
        finished_ns: NONE,
        aborted_ns: NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_layout_is_the_kernel_s() {
        // Offsets of include/uapi/linux/tcp.h, which each kernel keeps.
        assert_eq!(offset_of!(Raw, rto), 8);
        assert_eq!(offset_of!(Raw, rttvar), 72);
        assert_eq!(offset_of!(Raw, total_retrans), 100);
        assert_eq!(offset_of!(Raw, pacing_rate), 104);
        assert_eq!(offset_of!(Raw, bytes_acked), 120);
        assert_eq!(offset_of!(Raw, segs_in), 140);
        assert_eq!(offset_of!(Raw, data_segs_out), 156);
        assert_eq!(offset_of!(Raw, delivered), 192);
        assert_eq!(offset_of!(Raw, bytes_sent), 200);
        assert_eq!(offset_of!(Raw, snd_wnd), 228);
        assert_eq!(offset_of!(Raw, total_rto), 240);
        assert_eq!(size_of::<Raw>(), 248);
    }

    #[test]
    fn a_connection_is_told_of_in_bytes_and_nanoseconds() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        server.write_all(&[1; 1]).unwrap();
        client.read_exact(&mut [0; 1]).unwrap();
        let info = TcpInfo::read(client.as_fd()).unwrap();
        let row = info.row(true);
        assert!(info.is_established() && !info.in_recovery());
        assert_eq!((row.sent_bytes, row.flightsize_bytes, row.inflight_bytes), (5000, 0, 0));
        assert_eq!(row.cwnd_bytes % u64::from(info.smss()), 0);
        assert_eq!((row.ssthresh_bytes, row.rtt_ns), (NONE, NONE), "nothing was lost; samples are not told");
        assert!(row.srtt_ns > 0 && row.srtt_ns < 1_000_000_000, "{row:?}");
        assert!(row.rto_ns >= 200_000_000, "{row:?}");
        assert_eq!((info.total().retransmitted_bytes, info.total().fast_retransmits), (0, NONE));
        let state = |paced| {
            let mut told = Vec::new();
            info.state(paced, &mut |name, value| told.push((name, value)));
            told
        };
        let [phase, rttvar, min_rtt, rate] = state(true)[..] else { panic!("{:?}", state(true)) };
        assert_eq!(phase, ("phase", 0.0));
        assert!(rttvar.0 == "rttvar" && rttvar.1 > 0.0 && rttvar.1 < 1.0, "{rttvar:?}");
        assert!(min_rtt.0 == "min_rtt" && min_rtt.1 * 1e9 <= row.srtt_ns as f64, "{min_rtt:?}");
        assert!(rate.0 == "pacing_rate" && rate.1 > 0.0, "{rate:?}");
        assert!(state(false)[3].1.is_nan(), "a rate that nothing is sent by");
    }

    #[test]
    fn what_an_older_kernel_does_not_fill_is_no_value() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut info = TcpInfo::read(listener.as_fd()).unwrap();
        info.length = offset_of!(Raw, bytes_sent);
        let row = info.row(false);
        assert_eq!((row.sent_bytes, row.flightsize_bytes, row.rwnd_bytes, row.timeouts), (NONE, NONE, NONE, NONE));
        assert_ne!(row.sent_packets, NONE);
    }
}
