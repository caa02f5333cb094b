//! Segments that leave together, as Linux's do with GSO: which, and how they are one packet.
//!
//! `tcp_write_xmit` and `tcp_xmit_retransmit_queue` (Linux 7.2, `net/ipv4/tcp_output.c`) make super-packets;
//! [`crate::linux::gso`] has their arithmetic. A super-packet of `n` segments is `n` entries on the board. Its first
//! segment is chosen as every segment is, by recovery and the windows. The others follow it: of new data as many as
//! were chosen with the first, of retransmissions as long as recovery names the next segment of the same super-packet.
//!
//! [`poll_transmit`](Connection::poll_transmit) gives the segments, as they are on the wire.
//! [`poll_burst`](Connection::poll_burst) gives the super-packet, as a packet socket of the sending host sees it.

use super::Connection;
use super::output::{Choice, Part};
use crate::linux::gso::{Batch, Deferred, Rest};
use crate::linux::write_queue::Head;
use crate::pacer::Departure;
use crate::recovery::{Next, Room};
use crate::segment::flag;
use narrows_units::{Instant, Packets};
use narrows_wire::{Packet, TcpFlags};

impl Connection {
    /// The next packet that leaves now, with all segments that leave together with [`Config::gso`](crate::Config::gso):
    /// one header, and the payload of all. All but the last segment have the same size. Call until there is none.
    pub fn poll_burst(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.poll_transmit(now)?;
        if self.is_cut_early() {
            return Some(packet);
        }
        let mut part = self.blank();
        while packet.payload_len > 0 && self.is_within_burst() && self.poll_data(now, &mut part) {
            let last = part.tcp().map_or(TcpFlags::NONE, |tcp| tcp.flags);
            if let Some(tcp) = packet.tcp_mut() {
                tcp.flags = tcp.flags.with(last);
            }
            packet.payload_len += part.payload_len;
        }
        Some(packet)
    }

    /// Whether the kernel cuts super-packets before a packet socket sees them: devices without GSO for AccECN, as TUN
    /// devices, get segments.
    fn is_cut_early(&self) -> bool {
        self.socket.as_ref().is_some_and(|socket| socket.ecn.is_accurate())
    }

    /// Sets whether new data leaves without waiting for room for more (`tcp_tso_should_defer`): while one packet is
    /// polled because a program that writes has filled the first buffer (`tcp_push_one`).
    pub fn set_eager(&mut self, on: bool) {
        if let Some(gso) = &mut self.gso {
            gso.set_eager(on);
        }
    }

    /// Whether the next [`poll_transmit`](Self::poll_transmit) gives a segment that leaves together with the last one.
    #[must_use]
    pub fn is_within_burst(&self) -> bool {
        self.gso.as_ref().is_some_and(|gso| gso.rest != Rest::Nothing)
    }

    /// What leaves next, where segments leave together.
    #[inline(always)]
    pub(super) fn choose_together(&mut self, now: Instant) -> Choice {
        match self.gso.as_ref().map_or(Rest::Nothing, |gso| gso.rest) {
            Rest::New(batch) => {
                self.continue_together();
                Choice::New(self.next_part(batch))
            }
            Rest::Nothing => match self.choose_bulk(now) {
                Some(choice) => choice,
                None => self.choose_first(now),
            },
            Rest::Again { index, .. } => {
                self.continue_together();
                Choice::Again(index, Next::Retransmit(index))
            }
        }
    }

    /// What [`choose_first`](Self::choose_first) chooses on nearly every ACK of a bulk transfer: all is well, nothing
    /// paces the sender, and the buffer at the head of the write queue and the peer's window have more than the
    /// congestion window has room for. `None` in any other case.
    #[inline(always)]
    fn choose_bulk(&mut self, now: Instant) -> Option<Choice> {
        #[cfg(test)]
        if !self.predicts {
            return None;
        }
        let (nxt, smss) = (self.tx.nxt, self.smss);
        let gso = self.gso.as_ref()?;
        let octets = gso.queue.settled(nxt)?;
        let usual = self.recovery.is_open() && !self.tx.overridden && gso.plain && !self.tx.board.is_empty();
        let cwnd = self.cwnd().as_u64();
        let (send_room, room) = (self.tx.edge.saturating_sub(nxt), cwnd.saturating_sub(self.tx.board.pipe()));
        let most = octets.min(send_room);
        let unpaced = self.pacer.rate(&self.congestion.win).is_none() && self.pacer.due() <= now;
        if !(usual && unpaced && most >= smss && most > room) {
            return None;
        }
        if room < smss || self.waits_for_more(octets, now) {
            self.note_usage(true, now);
            self.pacer.idle();
            return Some(Choice::Nothing);
        }
        self.pacer.idle();
        self.begin_together();
        if room < 2 * smss {
            return Some(Choice::New(Part { len: u32::try_from(smss).unwrap_or(u32::MAX), ..Part::default() }));
        }
        let octets = u64::from(self.quota()) * smss;
        Some(Choice::New(self.next_part(Batch { octets, push: false, fin: false })))
    }

    /// Whether the sender waits for more room in the congestion window, with `octets` to send.
    #[inline(always)]
    fn waits_for_more(&mut self, octets: u64, now: Instant) -> bool {
        let head = Head { octets, last: false, push: false, record: false };
        self.deferred(&head, now).is_some()
    }

    /// The first segment of a super-packet.
    #[inline(never)]
    fn choose_first(&mut self, now: Instant) -> Choice {
        let (fresh, head) = self.fresh_together();
        let new = if fresh.window_octets() > 0 { self.smss } else { 0 };
        if new > 0 && self.tx.board.is_empty() {
            self.restart_if_idle(now);
        }
        let cwnd = self.cwnd().as_u64();
        let next = self.recovery.next(&mut self.tx.board, &Room { cwnd, new });
        match next {
            Next::Hold => self.note_usage(true, now),
            Next::Idle => self.on_nothing_to_send(fresh, cwnd, now),
            _ if !self.pacer.admits(now) => {
                self.note_usage(false, now);
                return Choice::Nothing;
            }
            Next::Retransmit(index) if self.device_holds_again(index, now) => return Choice::Nothing,
            Next::Retransmit(index) | Next::Rescue(index) | Next::Probe(Some(index)) => {
                self.begin_together();
                return Choice::Again(index, next);
            }
            Next::New | Next::Probe(None) => match self.batch((fresh, head), next, now) {
                Ok(batch) if self.device_holds_new(batch.octets, now) => return Choice::Nothing,
                Ok(batch) => {
                    self.begin_together();
                    return Choice::New(Part { probe: next != Next::New, ..self.next_part(batch) });
                }
                Err(deferred) => self.note_usage(deferred == Deferred::Cwnd, now),
            },
        }
        self.pacer.idle();
        Choice::Nothing
    }

    /// Begins a super-packet.
    #[inline]
    fn begin_together(&mut self) {
        if let Some(gso) = &mut self.gso {
            (gso.rest, gso.begins) = (Rest::Nothing, true);
        }
    }

    /// Notes that the next segment is not the first of a super-packet.
    #[inline]
    fn continue_together(&mut self) {
        if let Some(gso) = &mut self.gso {
            gso.begins = false;
        }
    }

    /// The next segment of the new data that leaves together, which is `batch`.
    #[inline]
    fn next_part(&mut self, batch: Batch) -> Part {
        let (start, smss) = (self.tx.nxt, self.smss);
        let len = batch.octets.min(smss);
        let last = batch.octets == len;
        let mut part = Part { len: u32::try_from(len).unwrap_or(u32::MAX), ..Part::default() };
        let Some(gso) = &mut self.gso else { return part };
        if !gso.begins {
            part.marks = flag::JOINED;
        }
        if !last {
            gso.rest = Rest::New(Batch { octets: batch.octets - len, ..batch });
            return part;
        }
        gso.rest = Rest::Nothing;
        if batch.push {
            part.marks |= flag::PUSH;
        }
        if batch.fin {
            part.marks |= flag::FIN;
        }
        // Several segments end with PSH in any case, for the receiver's GRO, but only this time (`__tcp_transmit_skb`).
        part.push = batch.push || !gso.begins;
        // Data of a SYN that goes again is a retransmission for Linux, which Nagle's algorithm does not look at.
        let again = || self.socket.as_ref().is_some_and(|socket| start < socket.fast_open.sent.as_u64());
        if len < smss && !again() {
            gso.small_end = start + len + u64::from(batch.fin);
        }
        part
    }

    /// Sends the segment with this index again: as the first of a super-packet, or together with the one before it.
    #[inline(never)]
    pub(super) fn retransmit_together(&mut self, index: u64, next: Next, now: Instant, out: &mut Packet) -> bool {
        let most = match self.gso.as_ref().map_or(Rest::Nothing, |gso| gso.rest) {
            Rest::Again { most, .. } => most,
            _ if matches!(next, Next::Retransmit(_)) => self.burst_limit(),
            _ => 0,
        };
        let first = self.gso.as_ref().is_none_or(|gso| gso.begins);
        if first {
            self.tx.board.part(index);
        }
        let sent = self.retransmit(index, next, now, out);
        let more = matches!(next, Next::Retransmit(_)) && self.look_ahead(index + 1, most.saturating_sub(1));
        if !first
            && !more
            && let Some(tcp) = out.tcp_mut()
        {
            // The last of several.
            tcp.flags = tcp.flags.with(TcpFlags::PSH);
        }
        sent
    }

    /// Whether the segment with this index leaves again together with the one before it: it left together with that,
    /// recovery names it next, and `most` is not zero. Otherwise the super-packet is over.
    fn look_ahead(&mut self, index: u64, most: u32) -> bool {
        let joined = self.tx.board.get(index).is_some_and(|segment| segment.has(flag::JOINED));
        let room = Room { cwnd: self.cwnd().as_u64(), new: 0 };
        let more = joined && most > 0 && self.recovery.next(&mut self.tx.board, &room) == Next::Retransmit(index);
        if let Some(gso) = &mut self.gso {
            gso.rest = if more { Rest::Again { index, most } } else { Rest::Nothing };
        }
        if joined && !more {
            self.tx.board.part(index);
        }
        more
    }

    /// Reports a data segment that leaves to the pacer.
    pub(super) fn pace_together(&mut self, segment: Departure, now: Instant) {
        let Some(gso) = &mut self.gso else { return };
        let first = core::mem::take(&mut gso.begins);
        // Linux counts the segments of a super-packet when it leaves, and then asks whether it is paced.
        let follow = match gso.rest {
            Rest::New(batch) => batch.octets.div_ceil(self.smss.max(1)),
            Rest::Nothing | Rest::Again { .. } => 0,
        };
        let number = segment.number + Packets::new(follow);
        self.pacer.on_sent_together(Departure { number, ..segment }, first, &self.congestion.win, now);
    }
}
