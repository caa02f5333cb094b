//! What a direction tells about packets as it carries them.

use narrows_queue::{Dropped, QueueView};
use narrows_units::Instant;
use narrows_wire::Packet;

/// Receives what happens to packets, for the flows' counters and the capture.
pub trait LinkWatch {
    /// A queue dropped the packet.
    fn dropped(&mut self, dropped: &Dropped, at: Instant);
    /// The link corrupted the packet.
    fn corrupted(&mut self, packet: &Packet, at: Instant);
    /// The link delivers the packet twice: returns the copy, or `None` if there is no room for one.
    fn duplicated(&mut self, packet: &Packet) -> Option<Packet> {
        Some(*packet)
    }
    /// The packet leaves the queue; `queue` is its state without the packet. Called only after
    /// [`tell_departures`](super::LinkDirection::tell_departures).
    fn departing(&mut self, packet: &mut Packet, queue: &QueueView, at: Instant);
    /// The queue marked the packet, which has the mark, as it arrived or as it leaves.
    fn marked(&mut self, _packet: &Packet, _subqueue: u32) {}
    /// The transmission of the packet starts.
    fn departed(&mut self, packet: &Packet, at: Instant);
}
