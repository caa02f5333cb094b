//! A queue whose packets wait in the kernel.

use super::table::{Order, Settings};
use narrows_queue::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_units::{Bytes, Duration, Instant, Packets, Rate};
use narrows_wire::{Ecn, FlowKey, Ip, Packet, Transport};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

/// A discipline of the kernel: packets go in, and come out when the shaper sends them.
pub(super) trait Discipline: Debug + Send {
    /// Hands a packet over; returns whether the discipline has taken it.
    fn send(&mut self, bytes: &[u8]) -> bool;
    /// Reads the next packet that has come out into `buffer`, and returns its length.
    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize>;
    /// Returns how many packets wait in the kernel, if it says.
    fn waiting(&mut self) -> Option<u32>;
}

/// Interval at which a queue with packets asks the kernel whether it still has them.
const ASK: Duration = Duration::from_millis(50);

/// Longest IP packet.
const LONGEST: usize = 65_535;

/// A packet that the kernel has.
#[derive(Debug)]
struct Waiting {
    packet: Packet,
    since: Instant,
}

/// Packets that leave in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    All,
    Flow(FlowKey),
    L4s,
    Classic,
}

/// A queue whose packets wait in a discipline of the kernel.
///
/// The kernel is given a packet's headers, and zeros of the length of its data. The packet's number is in the checksum
/// of TCP or UDP, which no discipline reads. Packets of a [`Line`] leave in their order, so that those before one that
/// has come out, and did not, have been dropped. These drops count as early: the kernel does not tell whether it had
/// room.
#[derive(Debug)]
pub(super) struct KernelQueue<D> {
    discipline: D,
    order: Order,
    arriving: DropReason,
    room: u64,
    limit: Limit,
    rate: Rate,
    /// What the kernel has.
    inside: BTreeMap<Line, VecDeque<Waiting>>,
    /// What has come out and was not dequeued.
    outside: VecDeque<Dequeued>,
    packets: u64,
    bytes: u64,
    asked: Instant,
    buffer: Vec<u8>,
}

impl<D: Discipline> KernelQueue<D> {
    pub(super) fn new(discipline: D, settings: &Settings, limit: Limit) -> Self {
        Self {
            discipline,
            order: settings.order,
            arriving: settings.arriving,
            room: settings.room,
            limit,
            rate: Rate::ZERO,
            inside: BTreeMap::new(),
            outside: VecDeque::new(),
            packets: 0,
            bytes: 0,
            asked: Instant::ZERO,
            buffer: vec![0; LONGEST],
        }
    }

    /// Returns the line of a packet that arrives.
    fn line(&self, packet: &Packet) -> Line {
        match self.order {
            Order::All => Line::All,
            Order::Flow => Line::Flow(packet.flow()),
            Order::Class if matches!(packet.ip.ecn(), Ecn::Ect1 | Ecn::Ce) => Line::L4s,
            Order::Class => Line::Classic,
        }
    }

    /// Finds a packet that has come out: its line, and how many wait before it there.
    fn find(&self, came: &Packet, number: u16) -> Option<(Line, usize)> {
        // With CE it is of either class: the kernel may have marked it.
        let other = (self.order == Order::Class && came.ip.ecn() == Ecn::Ce).then_some(Line::Classic);
        std::iter::once(self.line(came)).chain(other).find_map(|line| {
            let index = self.inside.get(&line)?.iter().position(|waiting| number_of(&waiting.packet) == number)?;
            Some((line, index))
        })
    }

    /// Takes what has come out of the kernel; what it must have dropped meanwhile goes to `dropped`.
    fn take(&mut self, dropped: &mut Vec<Dropped>) {
        while let Some(length) = self.discipline.receive(&mut self.buffer) {
            let Some((came, number)) = read(&self.buffer[..length]) else { continue };
            let Some((line, index)) = self.find(&came, number) else { continue };
            let Some(line) = self.inside.get_mut(&line) else { continue };
            for lost in line.drain(..index) {
                self.packets -= 1;
                self.bytes -= lost.packet.len().as_u64();
                dropped.push(Dropped { packet: lost.packet, reason: DropReason::Early, subqueue: 0 });
            }
            if let Some(Waiting { mut packet, since }) = line.pop_front() {
                let marked = came.ip.ecn() == Ecn::Ce && packet.ip.ecn() != Ecn::Ce;
                packet.ip.set_ecn(came.ip.ecn());
                self.outside.push_back(Dequeued { packet, enqueued: since, marked, subqueue: 0 });
            }
        }
    }

    /// Drops what the kernel no longer has although it did not come out.
    fn reconcile(&mut self, dropped: &mut Vec<Dropped>) {
        if self.packets == self.outside.len() as u64 || self.discipline.waiting() != Some(0) {
            return;
        }
        self.take(dropped);
        for Waiting { packet, .. } in std::mem::take(&mut self.inside).into_values().flatten() {
            self.packets -= 1;
            self.bytes -= packet.len().as_u64();
            dropped.push(Dropped { packet, reason: DropReason::Early, subqueue: 0 });
        }
    }
}

impl<D: Discipline> Queue for KernelQueue<D> {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        if self.packets == 0 {
            self.asked = now;
        }
        self.buffer.clear();
        write(&packet, &mut self.buffer);
        let accepted = self.discipline.send(&self.buffer);
        self.buffer.resize(LONGEST, 0);
        if accepted {
            self.packets += 1;
            self.bytes += packet.len().as_u64();
            let line = self.line(&packet);
            self.inside.entry(line).or_default().push_back(Waiting { packet, since: now });
        } else {
            let reason = if self.packets >= self.room { DropReason::Overflow } else { self.arriving };
            dropped.push(Dropped { packet, reason, subqueue: 0 });
        }
        Enqueued::default()
    }

    fn dequeue(&mut self, _now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        if self.outside.is_empty() {
            self.take(dropped);
        }
        let next = self.outside.pop_front()?;
        self.packets -= 1;
        self.bytes -= next.packet.len().as_u64();
        Some(next)
    }

    fn view(&self) -> QueueView {
        QueueView {
            bytes: Bytes::new(self.bytes),
            packets: Packets::new(self.packets),
            limit: self.limit,
            rate: self.rate,
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(if self.packets == 0 { Instant::NEVER } else { self.asked + ASK })
    }

    fn on_timer(&mut self, now: Instant, dropped: &mut Vec<Dropped>) {
        self.take(dropped);
        if now >= self.asked + ASK {
            self.asked = now;
            self.reconcile(dropped);
        }
    }
}

/// Place of the checksum in the header of TCP or UDP.
const fn checksum(transport: &Transport) -> usize {
    match transport {
        Transport::Tcp(_) => 16,
        Transport::Udp(_) => 6,
    }
}

fn number_of(packet: &Packet) -> u16 {
    crate::store::slot_of(packet)
}

/// Writes a queue's copy of a packet, with its number in place of the checksum.
fn write(packet: &Packet, out: &mut Vec<u8>) {
    let mut plain = *packet;
    // The kernel's hash of a flow includes the label, which is the packet's number in our copy.
    match &mut plain.ip {
        Ip::V6(header) => header.flow_label = 0,
        Ip::V4(_) => {}
    }
    plain.emit_headers_into(out);
    let at = plain.ip.header_len() + checksum(&plain.transport);
    if let Some(field) = out.get_mut(at..at + 2) {
        field.copy_from_slice(&number_of(packet).to_be_bytes());
    }
    out.resize(packet.len().as_u64() as usize, 0);
}

/// Reads what [`write`] wrote: the packet, and its number.
fn read(bytes: &[u8]) -> Option<(Packet, u16)> {
    let packet = Packet::parse_unchecked(bytes).ok()?;
    let at = packet.ip.header_len() + checksum(&packet.transport);
    let number = bytes.get(at..at + 2)?.try_into().ok()?;
    Some((packet, u16::from_be_bytes(number)))
}

#[cfg(test)]
mod tests;
