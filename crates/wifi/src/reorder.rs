//! The receiver's side of a block ACK agreement: puts MPDUs back into order (IEEE 802.11-2016, section 10.24.7).

use narrows_wire::Packet;
use std::collections::VecDeque;

/// Sequence numbers count modulo 4096.
pub(crate) const MODULO: u16 = 4096;

/// Size of the window: a compressed block ACK's bitmap.
pub(crate) const WINDOW: u16 = 64;

/// The distance from `from` up to `to`, modulo 4096.
pub(crate) const fn distance(from: u16, to: u16) -> u16 {
    (to + MODULO - from) % MODULO
}

/// Reorder buffer for one sender.
#[derive(Debug, Default)]
pub(crate) struct Reorder {
    /// WinStartB: the next sequence number to deliver.
    start: u16,
    /// Packets received from `start` on; the front is always missing.
    held: VecDeque<Option<Packet>>,
}

impl Reorder {
    /// Accepts an MPDU and delivers the packets that are now in order; `false` if the MPDU had come before.
    pub(crate) fn receive(&mut self, seq: u16, packet: &Packet, mut deliver: impl FnMut(&Packet)) -> bool {
        let ahead = distance(self.start, seq);
        if ahead >= MODULO / 2 {
            return false;
        }
        if ahead >= WINDOW {
            // The sender has moved on: MPDUs below its window will not come again.
            self.advance((seq + MODULO + 1 - WINDOW) % MODULO, &mut deliver);
        }
        let index = usize::from(distance(self.start, seq));
        if self.held.len() <= index {
            self.held.resize(index + 1, None);
        }
        if self.held[index].is_some() {
            return false;
        }
        self.held[index] = Some(*packet);
        self.release(&mut deliver);
        true
    }

    /// Moves on to `seq`, because the sender gave up everything before it, and delivers the held packets.
    pub(crate) fn advance(&mut self, seq: u16, mut deliver: impl FnMut(&Packet)) {
        let steps = distance(self.start, seq);
        if steps >= MODULO / 2 {
            return;
        }
        for _ in 0..steps {
            if let Some(Some(packet)) = self.held.pop_front() {
                deliver(&packet);
            }
        }
        self.start = seq;
        self.release(&mut deliver);
    }

    /// Number of packets that wait for those before them.
    pub(crate) fn len(&self) -> usize {
        self.held.iter().flatten().count()
    }

    /// Whether this MPDU, one that the sender may still send, has been received.
    pub(crate) fn has(&self, seq: u16) -> bool {
        let ahead = distance(self.start, seq);
        ahead >= MODULO / 2 || self.held.get(usize::from(ahead)).is_some_and(Option::is_some)
    }

    fn release(&mut self, deliver: &mut impl FnMut(&Packet)) {
        while let Some(Some(packet)) = self.held.front() {
            deliver(packet);
            self.held.pop_front();
            self.start = (self.start + 1) % MODULO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::{Ip, Transport, UdpRepr};
    use proptest::prelude::*;

    fn packet(n: u32) -> Packet {
        Packet {
            ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
            payload_len: n,
        }
    }

    fn feed(reorder: &mut Reorder, seq: u16, out: &mut Vec<u32>) -> bool {
        reorder.receive(seq, &packet(u32::from(seq)), |p| out.push(p.payload_len))
    }

    #[test]
    fn a_hole_holds_back_what_is_behind_it() {
        let (mut r, mut out) = (Reorder::default(), Vec::new());
        assert!(feed(&mut r, 0, &mut out) && feed(&mut r, 2, &mut out) && feed(&mut r, 3, &mut out));
        assert_eq!(out, [0]);
        assert!(!feed(&mut r, 2, &mut out) && !feed(&mut r, 0, &mut out), "both came before");
        assert_eq!([0, 1, 2, 3, 4].map(|seq| r.has(seq)), [true, false, true, true, false]);
        assert!(feed(&mut r, 1, &mut out));
        assert_eq!(out, [0, 1, 2, 3]);
    }

    #[test]
    fn what_the_sender_gave_up_is_skipped() {
        let (mut r, mut out) = (Reorder::default(), Vec::new());
        feed(&mut r, 1, &mut out);
        feed(&mut r, 3, &mut out);
        r.advance(2, |p| out.push(p.payload_len));
        assert_eq!(out, [1]);
        r.advance(3, |p| out.push(p.payload_len));
        assert_eq!(out, [1, 3]);
        r.advance(1, |p| out.push(p.payload_len));
        assert_eq!(out, [1, 3], "the window never moves back");
    }

    proptest! {
        #[test]
        fn everything_comes_once_and_in_order(order in Just((0_u16..64).collect::<Vec<_>>()).prop_shuffle(), start in 0..MODULO) {
            let (mut r, mut out) = (Reorder { start, held: VecDeque::new() }, Vec::new());
            for &n in &order {
                prop_assert!(r.receive((start + n) % MODULO, &packet(u32::from(n)), |p| out.push(p.payload_len)));
                prop_assert!(!r.receive((start + n) % MODULO, &packet(u32::from(n)), |_| ()));
            }
            prop_assert_eq!(out, (0..64).collect::<Vec<_>>());
        }
    }
}
