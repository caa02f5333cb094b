//! What a connection reports to a receiver that follows Linux ([`crate::linux`]).

use super::Connection;
use crate::linux::{OwnPath, Segment};
use crate::receiver::Arrival;
use narrows_units::Instant;
use narrows_wire::{Ecn, Packet, TcpFlags, TcpRepr};

/// Bytes of the timestamps option on each segment, padding included (`TCPOLEN_TSTAMP_ALIGNED`).
const TIMESTAMP_BYTES: u64 = 12;

impl Connection {
    /// Reports a segment with data, or several of `size` octets that were merged, whose first octet is at `offset`, and
    /// which was taken as `arrival`.
    #[inline(never)]
    pub(super) fn data_as_linux(
        &mut self,
        (segment, size): (&Packet, u32),
        offset: i64,
        arrival: Arrival,
        now: Instant,
    ) {
        let Some(tcp) = segment.tcp() else { return };
        let echo = tcp.options.timestamps.filter(|_| self.ts.on).map(|ts| (ts.ecr, self.ts.since(ts.ecr, now)));
        let segment = Segment {
            len: u64::from(segment.payload_len),
            size: u64::from(size),
            header: tcp.header_len() as u64,
            push: tcp.flags.has(TcpFlags::PSH),
            echo,
            start: offset,
        };
        let own = OwnPath { srtt: self.rto.srtt(), rto: self.rto.current() };
        self.rx.on_data_as_linux(&segment, (arrival, self.sack), &own, now);
    }

    /// Reports the marks of a segment with data, where an echo lasts until CWR; `echoed` is whether an echo was on
    /// before.
    pub(super) fn ecn_as_linux(&mut self, segment: &Packet, tcp: &TcpRepr, echoed: bool) {
        let ecn = segment.ip.ecn();
        let cwr = tcp.flags.has(TcpFlags::CWR);
        self.rx.on_ecn_as_linux(ecn != Ecn::NotEct, ecn == Ecn::Ce && (!echoed || cwr));
        if cwr {
            // The sender's window may be very low (`tcp_ecn_accept_cwr`).
            self.rx.request_ack();
        }
    }

    /// Sets the window of the SYN-ACK that answers the peer's SYN.
    pub(super) fn accept_as_linux(&mut self) {
        let options = if self.ts.on { TIMESTAMP_BYTES } else { 0 };
        self.rx.on_accept(u64::from(self.config.mss).saturating_sub(options));
    }

    /// Reports that the connection is established; `passive` is whether the peer opened it. The kernel subtracts
    /// options from the MSS that it announced if it opened the connection itself.
    pub(super) fn establish_as_linux(&mut self, passive: bool, now: Instant) {
        let options = if self.ts.on && !passive { TIMESTAMP_BYTES } else { 0 };
        self.rx.establish(u64::from(self.config.mss).saturating_sub(options), now);
    }
}
