//! Packets of a run, handed to a caller as values.

use narrows_queue::Dropped;
use narrows_units::Instant;
use narrows_wifi::{Frame, Mpdu};
use narrows_wire::Packet;
use std::fmt;

/// Receives the packets of a run: on links as transmissions start, on 802.11 channels by frame.
///
/// `edge` is the index of a direction in the arena: link `edge / 2`, forward if it is even. `channel` is the index of
/// an 802.11 channel in the scenario. Calls come in the order of their times.
pub trait Packets: fmt::Debug + Send + Sync {
    /// The transmission of `packet` on direction `edge` starts at `at`.
    fn departed(&self, edge: usize, packet: &Packet, at: Instant);

    /// The queue of direction `edge` drops a packet at `at`.
    fn dropped(&self, edge: usize, dropped: &Dropped, at: Instant);

    /// Direction `edge` loses a packet at `at`, after its transmission started.
    fn corrupted(&self, edge: usize, packet: &Packet, at: Instant);

    /// `frame` starts on a channel and carries `mpdus`; it may still collide.
    fn frame(&self, channel: usize, frame: &Frame, mpdus: &[Mpdu]);
}
