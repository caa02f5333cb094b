//! How a segment is written: its header and options, and the bits of ECN and of a scheme.

use super::Connection;
use crate::assist::{Outgoing, SegmentKind};
use crate::recovery::{Next, Room};
use crate::stats::State;
use narrows_units::{Bytes, Instant, Packets, SeqNum};
use narrows_wire::{Compact, Packet, TcpFlags, TcpOptions, TcpRepr, Transport};

/// SACK blocks that fit without timestamps, and beside them (RFC 2018, section 3).
const BLOCKS: [usize; 2] = [4, 3];

impl Connection {
    /// Writes an ACK without data; returns `true`.
    pub(super) fn pure_ack(&mut self, now: Instant, out: &mut Packet) -> bool {
        self.stats.acks_sent += Packets::new(1);
        // The peer may have taken a probe's octet; until it says so, the octet is not part of SND.NXT.
        self.segment(self.tx.seq(self.tx.nxt), TcpFlags::ACK, 0, now, out);
        if self.sack && self.rx.has_blocks() {
            self.add_blocks(out);
        }
        self.ecn.on_pure_ack(out, now, self.rto.srtt());
        let flight = self.tx.board.flight();
        self.finish(SegmentKind::PureAck, flight, now, out);
        true
    }

    #[inline(never)]
    fn add_blocks(&mut self, out: &mut Packet) {
        let blocks = self.rx.take_blocks(BLOCKS[usize::from(self.ts.on)]);
        if let Some(tcp) = out.tcp_mut() {
            tcp.options.sack = blocks;
        }
    }

    pub(super) fn reset_packet(&mut self, seq: SeqNum, ack: Option<SeqNum>, now: Instant, out: &mut Packet) {
        self.stats.rare().resets_sent += Packets::new(1);
        let flags = if ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
        let tcp = TcpRepr { seq, ack: ack.unwrap_or_default(), flags, ..TcpRepr::default() };
        *out = self.packet(tcp);
        let flight = self.tx.board.flight();
        self.finish(SegmentKind::Control, flight, now, out);
    }

    /// A RST of this end's own accord: like every segment of the connection (`tcp_send_active_reset`).
    pub(super) fn own_reset(&mut self, seq: SeqNum, now: Instant, out: &mut Packet) {
        self.stats.rare().resets_sent += Packets::new(1);
        self.bare(seq, TcpFlags::RST.with(TcpFlags::ACK), now, out);
    }

    /// Writes a segment without data, and nothing but the options of every segment.
    pub(super) fn bare(&mut self, seq: SeqNum, flags: TcpFlags, now: Instant, out: &mut Packet) {
        self.segment(seq, flags, 0, now, out);
        let flight = self.tx.board.flight();
        self.finish(SegmentKind::Control, flight, now, out);
    }

    /// Writes a segment of a synchronized connection, with the current ACK and window.
    #[inline(always)]
    pub(super) fn segment(&mut self, seq: SeqNum, flags: TcpFlags, payload: u32, now: Instant, out: &mut Packet) {
        let ack = self.rx.ack();
        let window = self.rx.on_ack_sent(true);
        let flags = flags.with(self.ecn.answer());
        let options = TcpOptions { timestamps: self.ts.option(now), ..TcpOptions::default() };
        *out = self.packet(TcpRepr { seq, ack, flags, window, options, ..TcpRepr::default() });
        out.payload_len = payload;
    }

    /// A packet of this connection with a blank TCP header.
    pub(crate) fn blank(&self) -> Packet {
        self.packet(TcpRepr::default())
    }

    /// A segment with this header, the connection's ports and no data.
    #[inline]
    pub(super) fn packet(&self, tcp: TcpRepr) -> Packet {
        let tcp = TcpRepr { src_port: self.src_port, dst_port: self.dst_port, ..tcp };
        Packet { ip: self.ip, transport: Transport::Tcp(tcp), payload_len: 0 }
    }

    /// A segment that this end receives, with the addresses and ports of the connection.
    #[inline]
    #[must_use]
    pub fn expand(&self, segment: &Compact) -> Packet {
        segment.behind(self.ip.reversed(), (self.dst_port, self.src_port))
    }

    /// Lets the scheme write its bits.
    #[inline]
    pub(super) fn finish(&mut self, kind: SegmentKind, flightsize: u64, now: Instant, packet: &mut Packet) {
        if self.assist.is_some() {
            self.assist_with(kind, flightsize, now, packet);
        }
    }

    #[inline(never)]
    fn assist_with(&mut self, kind: SegmentKind, flightsize: u64, now: Instant, packet: &mut Packet) {
        if self.active_assist().is_some() {
            let more = kind == SegmentKind::Data && self.more_follows();
            let cwnd = self.cwnd();
            if let Some(assist) = self.active_assist() {
                let out = Outgoing { now, kind, cwnd, flightsize: Bytes::new(flightsize), more };
                assist.on_transmit(packet, &out);
            }
        }
    }

    /// Whether another segment of new data can leave at once.
    fn more_follows(&mut self) -> bool {
        let new = self.tx.fresh(self.smss, self.holds_small()).window_octets();
        let room = Room { cwnd: self.cwnd().as_u64(), new };
        self.recovery.next(&mut self.tx.board, &room) == Next::New
    }

    /// Writes what a segment of a full end reports about ECN.
    #[inline(never)]
    pub(super) fn report_ecn(&mut self, now: Instant, out: &mut Packet) {
        let srtt = self.rto.srtt();
        // What is left of a connection without a program has no counters.
        let small = self.is_orphan() && matches!(self.state, State::TimeWait | State::FinWait2);
        let room = (out.payload_len > 0).then(|| self.smss.saturating_sub(u64::from(out.payload_len)));
        let Some(socket) = self.socket.as_mut().filter(|socket| socket.ecn.is_accurate()) else { return };
        let Some(tcp) = out.tcp_mut() else { return };
        let bare = tcp.flags.has(TcpFlags::RST) && !tcp.flags.has(TcpFlags::ACK);
        if bare || tcp.flags.has(TcpFlags::SYN) {
            return;
        }
        let mut blocks = tcp.options.sack.iter();
        let first = blocks.next();
        let below = |(_, right): (SeqNum, SeqNum)| (right.as_u32().wrapping_sub(tcp.ack.as_u32()) as i32) <= 0;
        let dsack = first.is_some_and(below);
        drop(blocks);
        if small {
            out.ip.set_ecn(socket.ecn.codepoint());
            return;
        }
        let ecn = socket.ecn.write(tcp, (dsack, room), now, srtt);
        out.ip.set_ecn(ecn);
    }
}
