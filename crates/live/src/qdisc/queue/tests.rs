#![allow(clippy::unwrap_used)]

use super::super::message::Attributes;
use super::*;
use narrows_wire::{Ipv4View, TcpRepr, UdpRepr};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// A kernel that does what the test says.
#[derive(Debug, Default)]
struct Script {
    inside: Vec<Vec<u8>>,
    out: VecDeque<Vec<u8>>,
    refuses: bool,
}

type Shared = Arc<Mutex<Script>>;

impl Discipline for Shared {
    fn send(&mut self, bytes: &[u8]) -> bool {
        let mut script = self.lock().unwrap();
        if !script.refuses {
            script.inside.push(bytes.to_vec());
        }
        !script.refuses
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let packet = self.lock().unwrap().out.pop_front()?;
        buffer[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }

    fn waiting(&mut self) -> Option<u32> {
        Some(self.lock().unwrap().inside.len() as u32)
    }
}

impl Script {
    /// Lets the packet at this place out, and drops it from the kernel.
    fn let_out(&mut self, place: usize) {
        let packet = self.inside.remove(place);
        self.out.push_back(packet);
    }
}

fn queue(order: Order) -> (KernelQueue<Shared>, Shared) {
    let settings = Settings {
        kind: "codel",
        words: String::new(),
        options: Attributes::default(),
        mtu: 1500,
        order,
        arriving: DropReason::Overflow,
        room: 10,
    };
    let script = Shared::default();
    (KernelQueue::new(Arc::clone(&script), &settings, Limit::Packets(Packets::new(10))), script)
}

fn packet(flow: u16, number: u16) -> Packet {
    let header = TcpRepr { src_port: flow, dst_port: 80, ..TcpRepr::default() };
    let mut ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    ip.set_ecn(Ecn::Ect0);
    crate::store::with_slot(Packet { ip, transport: Transport::Tcp(header), payload_len: 960 }, number)
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn numbers(dropped: &[Dropped]) -> Vec<u16> {
    dropped.iter().map(|dropped| number_of(&dropped.packet)).collect()
}

#[test]
fn packets_pass_with_their_number_size_and_time() {
    let (mut queue, script) = queue(Order::All);
    let mut dropped = Vec::new();
    queue.enqueue(packet(1, 7), at(5), &mut dropped);
    assert_eq!((queue.view().packets, queue.view().bytes), (Packets::new(1), Bytes::new(1000)));
    assert!(queue.dequeue(at(6), &mut dropped).is_none(), "the kernel holds it back");
    assert_eq!(script.lock().unwrap().inside[0].len(), 1000);
    script.lock().unwrap().let_out(0);
    let left = queue.dequeue(at(9), &mut dropped).unwrap();
    assert_eq!((number_of(&left.packet), left.enqueued, left.marked), (7, at(5), false));
    assert_eq!((left.packet, dropped.len()), (packet(1, 7), 0));
    assert!(queue.view().packets.is_zero());
    assert_eq!(queue.next_timer(), Some(Instant::NEVER));
}

#[test]
fn a_mark_of_the_kernel_is_seen() {
    let (mut queue, script) = queue(Order::All);
    queue.enqueue(packet(1, 7), at(5), &mut Vec::new());
    let mut bytes = script.lock().unwrap().inside.remove(0);
    Ipv4View::new_checked(&mut bytes[..]).unwrap().set_ecn(Ecn::Ce);
    script.lock().unwrap().out.push_back(bytes);
    let left = queue.dequeue(at(9), &mut Vec::new()).unwrap();
    assert_eq!((left.marked, left.packet.ip.ecn()), (true, Ecn::Ce));
}

#[test]
fn packets_passed_by_others_of_their_flow_were_dropped() {
    for (order, expected) in [(Order::All, vec![0, 1]), (Order::Flow, vec![1]), (Order::Class, vec![0, 1])] {
        let (mut queue, script) = queue(order);
        let mut dropped = Vec::new();
        for (flow, number) in [(9, 0), (1, 1), (1, 2)] {
            queue.enqueue(packet(flow, number), at(5), &mut dropped);
        }
        script.lock().unwrap().let_out(2);
        assert_eq!(number_of(&queue.dequeue(at(9), &mut dropped).unwrap().packet), 2);
        assert_eq!(numbers(&dropped), expected, "{order:?}");
    }
}

fn with_ecn(number: u16, ecn: Ecn) -> Packet {
    let mut made = packet(1, number);
    made.ip.set_ecn(ecn);
    made
}

#[test]
fn a_packet_of_one_class_may_pass_those_of_its_flow_in_the_other() {
    let (mut queue, script) = queue(Order::Class);
    let mut dropped = Vec::new();
    let sent = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect0];
    for (number, ecn) in sent.into_iter().enumerate() {
        queue.enqueue(with_ecn(number as u16, ecn), at(5), &mut dropped);
    }
    script.lock().unwrap().let_out(3);
    assert_eq!(number_of(&queue.dequeue(at(6), &mut dropped).unwrap().packet), 3);
    assert_eq!(numbers(&dropped), [2], "before it in the L4S queue");
    // A mark does not change the queue in which a packet waited.
    let mut bytes = script.lock().unwrap().inside.remove(1);
    Ipv4View::new_checked(&mut bytes[..]).unwrap().set_ecn(Ecn::Ce);
    script.lock().unwrap().out.push_back(bytes);
    let left = queue.dequeue(at(7), &mut dropped).unwrap();
    assert_eq!((number_of(&left.packet), left.marked, numbers(&dropped)), (1, true, vec![2, 0]));
    assert_eq!(queue.view().packets, Packets::new(1));
}

#[test]
fn packets_that_the_kernel_no_longer_has_were_dropped() {
    let (mut queue, script) = queue(Order::Flow);
    let mut dropped = Vec::new();
    for number in 0..2 {
        queue.enqueue(packet(1, number), at(0), &mut dropped);
    }
    script.lock().unwrap().inside.remove(1);
    queue.on_timer(queue.next_timer().unwrap(), &mut dropped);
    assert_eq!(dropped.len(), 0, "one waits");
    script.lock().unwrap().inside.clear();
    queue.on_timer(queue.next_timer().unwrap(), &mut dropped);
    assert_eq!((numbers(&dropped), queue.view().packets), (vec![0, 1], Packets::ZERO));
    assert_eq!(queue.view().bytes, Bytes::ZERO);
}

#[test]
fn a_refused_packet_is_dropped_at_once() {
    let (mut queue, script) = queue(Order::All);
    script.lock().unwrap().refuses = true;
    let mut dropped = Vec::new();
    queue.enqueue(packet(1, 3), at(0), &mut dropped);
    assert_eq!((numbers(&dropped), dropped[0].reason), (vec![3], DropReason::Overflow));
}

#[test]
fn datagrams_and_ipv6_keep_their_number_and_lose_the_label() {
    let udp = Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None });
    let ip = Ip::between("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
    let made = crate::store::with_slot(Packet { ip, transport: udp, payload_len: 100 }, 0xabcd);
    let mut bytes = Vec::new();
    write(&made, &mut bytes);
    let (came, number) = read(&bytes).unwrap();
    assert_eq!((number, came.flow(), came.len()), (0xabcd, made.flow(), made.len()));
    assert_eq!(bytes[1] & 0x0f, 0);
    assert_eq!(bytes[2..4], [0, 0]);
}
