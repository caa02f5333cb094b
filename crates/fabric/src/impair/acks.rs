//! Pure ACKs that a link drops: in front of the queue by decimation, on the wire by chance.

use narrows_rng::Stream;
use narrows_scenario::{AckDecimation, Decimated};
use narrows_units::{Probability, SeqNum};
use narrows_wire::{FlowKey, Packet, TcpFlags, TcpRepr};
use std::collections::BTreeMap;

/// Flags that an ACK has if it only acknowledges data. A push flag without payload means nothing.
const PLAIN: TcpFlags = TcpFlags::ACK.with(TcpFlags::PSH);

/// Flags of segments that are not pure ACKs.
const CONTROL: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);

/// The header of a pure ACK: TCP with ACK, without payload, SYN, FIN and RST.
pub(super) fn pure_ack(packet: &Packet) -> Option<&TcpRepr> {
    packet.tcp().filter(|tcp| packet.payload_len == 0 && tcp.flags.has(TcpFlags::ACK) && !tcp.flags.any(CONTROL))
}

/// What decimation knows of a flow.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Highest number that a packet of the flow acknowledged.
    highest: SeqNum,
    /// ACKs dropped since the last one that passed.
    dropped: u64,
}

/// Decimation and loss of pure ACKs.
///
/// Decimation counts per flow. The first packet with an acknowledgment passes: it may end the handshake. With
/// [`Decimated::Cumulative`], an ACK counts only if it acknowledges more than any packet of the flow before it, so that
/// duplicate ACKs, window updates and answers to probes pass, and a sender whose last ACK was dropped gets one after
/// its next retransmission.
#[derive(Debug)]
pub(super) struct Acks {
    decimation: Option<AckDecimation>,
    flows: BTreeMap<FlowKey, Seen>,
    loss: Probability,
    stream: Stream,
}

impl Acks {
    /// Drops ACKs as these settings say.
    pub(super) fn new(decimation: Option<AckDecimation>, loss: Probability, stream: Stream) -> Self {
        Self { decimation, flows: BTreeMap::new(), loss, stream }
    }

    /// Whether a packet that comes to the queue is dropped.
    pub(super) fn thins(&mut self, packet: &Packet) -> bool {
        let Some(AckDecimation { every, of }) = self.decimation else { return false };
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return false };
        let mut first = false;
        let seen = self.flows.entry(packet.flow()).or_insert_with(|| {
            first = true;
            Seen { highest: tcp.ack, dropped: 0 }
        });
        let newer = tcp.ack.after(seen.highest);
        if newer {
            seen.highest = tcp.ack;
        }
        let counts = !first
            && pure_ack(packet).is_some()
            && match of {
                Decimated::All => true,
                Decimated::Cumulative => {
                    newer && tcp.flags.without(PLAIN) == TcpFlags::NONE && tcp.options.sack.is_empty()
                }
            };
        if !counts {
            return false;
        }
        let drops = seen.dropped + 1 < every;
        seen.dropped = if drops { seen.dropped + 1 } else { 0 };
        drops
    }

    /// Whether a packet that is sent is lost.
    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        !self.loss.is_never() && pure_ack(packet).is_some() && self.stream.chance(self.loss.as_f64())
    }
}
