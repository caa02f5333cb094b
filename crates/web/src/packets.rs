//! Packets of a run as columns.

use narrows_fabric::flow_of;
use narrows_queue::Dropped;
use narrows_sim::Packets;
use narrows_units::Instant;
use narrows_wifi::{Frame, FrameKind, Mpdu};
use narrows_wire::{Packet, TcpFlags, Transport};
use std::sync::Mutex;

/// Most rows that a log keeps; later packets are counted only. A row takes 58 bytes, a SACK block 12.
pub(crate) const MOST_ROWS: usize = 2_000_000;

/// What happened to a packet, in the order of the numbers in the column `what`.
pub(crate) const WHAT: [&str; 4] = ["departed", "dropped", "corrupted", "frame"];

/// A log of packets: one row when a transmission starts, and one for each loss.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Rows>);

/// Columns of equal length, and the SACK blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Time, ns.
    pub(crate) time_ns: Vec<f64>,
    /// Index of the direction: link `edge / 2`, forward if even; of a frame, the channel.
    pub(crate) edge: Vec<u32>,
    /// Index into [`WHAT`].
    pub(crate) what: Vec<u8>,
    /// Index of the flow; of a frame without a packet, 2^32 - 1.
    pub(crate) flow: Vec<u32>,
    /// Whether it travels from the flow's `from` to its `to`.
    pub(crate) along: Vec<u8>,
    /// Bytes of the IP packet; of a frame, of its PSDU.
    pub(crate) bytes: Vec<u32>,
    /// Bytes of payload.
    pub(crate) payload: Vec<u32>,
    /// Sequence number of the TCP header.
    pub(crate) seq: Vec<u32>,
    /// Acknowledgment number.
    pub(crate) ack: Vec<u32>,
    /// Window field.
    pub(crate) window: Vec<u32>,
    /// The 12 flag bits of the TCP header.
    pub(crate) flags: Vec<u16>,
    /// ECN field of the IP header.
    pub(crate) ecn: Vec<u8>,
    /// Hash of what no router changes: the same on every link that a packet crosses.
    pub(crate) identity: Vec<u32>,
    /// Of a frame: its airtime, ns; sender, receiver, and kind (0 RTS, 1 CTS, 2 data, 3 ACK or block ACK).
    pub(crate) airtime_ns: Vec<f64>,
    pub(crate) sender: Vec<u16>,
    pub(crate) receiver: Vec<u16>,
    pub(crate) kind: Vec<u8>,
    /// SACK blocks: the row that carries each, and its edges.
    pub(crate) sack_row: Vec<u32>,
    pub(crate) sack_left: Vec<u32>,
    pub(crate) sack_right: Vec<u32>,
    /// Rows that did not fit.
    pub(crate) left_out: f64,
}

/// A frame's own values.
#[derive(Clone, Copy, Default)]
struct Air {
    airtime_ns: f64,
    sender: usize,
    receiver: usize,
    kind: u8,
}

impl Log {
    /// A copy of the rows.
    pub(crate) fn rows(&self) -> Rows {
        self.0.lock().map(|rows| rows.clone()).unwrap_or_default()
    }

    fn add(&self, what: u8, edge: usize, packet: Option<&Packet>, at: Instant, bytes: u64, air: Air) {
        if let Ok(mut rows) = self.0.lock() {
            rows.add(what, edge, packet, at, bytes, air);
        }
    }
}

impl Rows {
    fn add(&mut self, what: u8, edge: usize, packet: Option<&Packet>, at: Instant, bytes: u64, air: Air) {
        if self.what.len() >= MOST_ROWS {
            self.left_out += 1.0;
            return;
        }
        let row = self.what.len() as u32;
        let (flow, along) = packet.map_or((u32::MAX as usize, true), flow_of);
        self.time_ns.push(at.as_nanos() as f64);
        self.edge.push(edge as u32);
        self.what.push(what);
        self.flow.push(flow as u32);
        self.along.push(u8::from(along));
        self.bytes.push(bytes as u32);
        self.payload.push(packet.map_or(0, |packet| packet.payload_len));
        let tcp = packet.and_then(Packet::tcp);
        self.seq.push(tcp.map_or(0, |header| header.seq.as_u32()));
        self.ack.push(tcp.filter(|header| header.flags.has(TcpFlags::ACK)).map_or(0, |header| header.ack.as_u32()));
        self.window.push(tcp.map_or(0, |header| u32::from(header.window)));
        self.flags.push(tcp.map_or(0, |header| header.flags.as_bits()));
        self.ecn.push(packet.map_or(0, |packet| packet.ip.ecn() as u8));
        self.identity.push(packet.map_or(0, identity));
        self.airtime_ns.push(air.airtime_ns);
        self.sender.push(air.sender as u16);
        self.receiver.push(air.receiver as u16);
        self.kind.push(air.kind);
        for (left, right) in tcp.into_iter().flat_map(|header| header.options.sack.iter()) {
            self.sack_row.push(row);
            self.sack_left.push(left.as_u32());
            self.sack_right.push(right.as_u32());
        }
    }
}

impl Packets for Log {
    fn departed(&self, edge: usize, packet: &Packet, at: Instant) {
        self.add(0, edge, Some(packet), at, packet.len().as_u64(), Air::default());
    }

    fn dropped(&self, edge: usize, dropped: &Dropped, at: Instant) {
        self.add(1, edge, Some(&dropped.packet), at, dropped.packet.len().as_u64(), Air::default());
    }

    fn corrupted(&self, edge: usize, packet: &Packet, at: Instant) {
        self.add(2, edge, Some(packet), at, packet.len().as_u64(), Air::default());
    }

    fn frame(&self, channel: usize, frame: &Frame, mpdus: &[Mpdu]) {
        let kind = match frame.kind {
            FrameKind::Rts => 0,
            FrameKind::Cts => 1,
            FrameKind::Data | FrameKind::Aggregate { .. } => 2,
            FrameKind::Ack | FrameKind::BlockAck { .. } => 3,
        };
        let air = Air { airtime_ns: frame.airtime.as_nanos() as f64, sender: frame.from, receiver: frame.to, kind };
        self.add(3, channel, mpdus.first().map(|mpdu| &mpdu.packet), frame.start, frame.len.as_u64(), air);
    }
}

/// Hashes what no router changes (FNV-1a): flow, direction, sequence numbers, timestamps and payload length.
fn identity(packet: &Packet) -> u32 {
    let (flow, along) = flow_of(packet);
    let header = match &packet.transport {
        Transport::Tcp(header) => {
            let (value, echo) = header.options.timestamps.map_or((0, 0), |stamps| (stamps.val, stamps.ecr));
            [header.seq.as_u32(), header.ack.as_u32(), value, echo]
        }
        Transport::Udp(header) => [header.rtp.map_or(0, |rtp| u32::from(rtp.sequence)), 0, 0, 0],
    };
    let parts = [flow as u32, u32::from(along), packet.payload_len].into_iter().chain(header);
    parts.flat_map(u32::to_le_bytes).fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
