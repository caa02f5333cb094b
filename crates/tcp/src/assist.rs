//! What a network-assisted scheme implements at an end point; the connection calls it.

use crate::ecn::HeaderBits;
use core::fmt;
use narrows_cc::Advice;
use narrows_units::{Bytes, Instant};
use narrows_wire::{Packet, TcpFlags};

/// What both ends agreed on during the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Agreement {
    /// Neither the scheme nor ECN.
    #[default]
    Nothing,
    /// Classic ECN (RFC 3168).
    Ecn,
    /// AccECN (RFC 9768).
    AccurateEcn,
    /// The scheme; the connection leaves ECN bits to it.
    Assisted,
}

/// What kind of segment is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// New data.
    Data,
    /// Data sent before.
    Retransmission,
    /// An acknowledgment without data.
    PureAck,
    /// SYN, SYN-ACK, FIN, RST.
    Control,
    /// A window probe.
    Probe,
}

/// What an agent sees of a segment about to leave.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The current time.
    pub now: Instant,
    /// Kind of segment.
    pub kind: SegmentKind,
    /// Current congestion window.
    pub cwnd: Bytes,
    /// Sent and not cumulatively acknowledged, this segment not included.
    pub flightsize: Bytes,
    /// Whether another segment of new data can follow at once: there is data, and the windows allow it.
    pub more: bool,
}

/// An upper bound of the window that this end advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCap {
    /// The bound in bytes; a window below one segment is advertised as zero.
    pub bytes: Bytes,
    /// Whether the right edge may move left to meet it. RFC 9293, section 3.8.6, says that it should not; if it does,
    /// data in a window offered before is still accepted.
    pub shrink: bool,
}

/// Most counters that an end point's part of a scheme has.
pub const COUNTERS: usize = 3;

/// The end-point part of a network-assisted scheme: it reads and writes header bits, nothing else.
///
/// It may not touch sequence numbers, lengths or windows. Changes of the congestion window go through [`Advice`], which
/// the connection hands to the congestion control; the window that is advertised is bounded by a [`WindowCap`].
pub trait Assist: fmt::Debug + Send {
    /// The bits of segments that the scheme writes while it is in force. If they exclude those of ECN, the handshake
    /// must agree on the scheme, and ECN is then off. If not, the scheme acts at this end whatever the peer supports,
    /// SYNs are those of a connection without it, and ECN can be agreed on beside it.
    fn bits(&self) -> HeaderBits;

    /// Flags that our SYN carries beside SYN to offer the scheme. This method and the next two are called only if the
    /// scheme's [bits](Self::bits) exclude those of ECN.
    fn offer(&self) -> TcpFlags;

    /// Answers a SYN with these flags: returns what is agreed, and the flags that our SYN-ACK carries beside SYN and
    /// ACK. `ecn` is whether this end would use classic ECN.
    fn accept(&mut self, syn: TcpFlags, ecn: bool) -> (Agreement, TcpFlags);

    /// Returns what is agreed when a SYN-ACK with these flags answers our offer. An offer binds: if its flags also form
    /// an ECN-setup SYN, a peer's plain ECN answer means classic ECN, whatever this end would have chosen alone.
    fn agreed(&mut self, syn_ack: TcpFlags) -> Agreement;

    /// Writes the bits of a scheme in force into a segment about to leave.
    fn on_transmit(&mut self, packet: &mut Packet, out: &Outgoing);

    /// Reads the bits of a scheme in force from a segment that arrived. Returns the advice to the sender, if the
    /// segment carries any. Called before the connection handles the segment.
    fn on_receive(&mut self, packet: &Packet, now: Instant) -> Option<Advice>;

    /// Bytes that the scheme may add to the network header of a data segment (an IPv6 extension header, an IPv4
    /// option). The connection subtracts them from its SMSS so that the packet still fits. Called once, when the scheme
    /// comes into force.
    fn header_overhead(&self, _ipv6: bool) -> u16 {
        0
    }

    /// The bound of the window that this end advertises from now on; `None` if the scheme sets none. Called after each
    /// segment that arrives, and before the SYN too if the scheme is not negotiated.
    fn window_cap(&self) -> Option<WindowCap> {
        None
    }

    /// What this end has counted so far, in the order of the scheme's row; counters that the row does not name are
    /// zero.
    fn counters(&self) -> [u64; COUNTERS] {
        [0; COUNTERS]
    }
}
