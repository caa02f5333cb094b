//! Links with impairments, step by step.

use super::*;
use crate::link::{LinkDirection, LinkWatch};
use crate::loss::LossModel;
use narrows_queue::{Dropped, Limit, QueueView};
use narrows_rng::Stream;
use narrows_scenario::{
    AckDecimation, Change, Decimated, Duplicate, Held, Jitter, JitterDistribution, LinkAggregation, Loss, OutageQueue,
    Reorder,
};
use narrows_units::{Packets, Rate, SeqNum};
use narrows_wire::{Ip, SackBlocks, TcpFlags, TcpRepr, Transport, UdpRepr};
use proptest::prelude::*;

#[derive(Default)]
struct Log {
    departures: Vec<u64>,
    dropped: usize,
    corrupted: usize,
}

impl LinkWatch for Log {
    fn dropped(&mut self, _dropped: &Dropped, _at: Instant) {
        self.dropped += 1;
    }
    fn corrupted(&mut self, _packet: &Packet, _at: Instant) {
        self.corrupted += 1;
    }
    fn departing(&mut self, _packet: &mut Packet, _queue: &QueueView, _at: Instant) {}
    fn departed(&mut self, _packet: &Packet, at: Instant) {
        self.departures.push(at.as_nanos() / 1000);
    }
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn p(x: f64) -> Probability {
    Probability::new(x).unwrap()
}

/// A datagram of 125 bytes, recognised by its source port.
fn datagram(name: u16) -> Packet {
    Packet {
        ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
        transport: Transport::Udp(UdpRepr { src_port: name, dst_port: 2, rtp: None }),
        payload_len: 97,
    }
}

fn name(packet: &Packet) -> u16 {
    packet.flow().src_port
}

fn ack(number: u32) -> Packet {
    let tcp =
        TcpRepr { src_port: 80, dst_port: 9, ack: SeqNum::new(number), flags: TcpFlags::ACK, ..TcpRepr::default() };
    Packet {
        ip: Ip::between([10, 0, 0, 2].into(), [10, 0, 0, 1].into()),
        transport: Transport::Tcp(tcp),
        payload_len: 0,
    }
}

/// 8 Mb/s, so that a datagram takes 125 us, and 1 ms.
fn link(impairments: &Impairments, limit: u64, changes: Vec<Change>) -> LinkDirection {
    let loss = LossModel::new(Loss::None, Stream::new(1, 0, "l", "loss"));
    let queue = narrows_queue::droptail(Limit::Packets(Packets::new(limit)));
    let mut link = LinkDirection::new(queue, Rate::mbps(8), Duration::from_millis(1), loss, false, changes);
    link.impair(Impair::new(impairments, "link/a->b", Seeds::new(1, 0)));
    link
}

/// Carries the link's events until nothing is left; returns what arrives, with times in microseconds.
fn arrivals(link: &mut LinkDirection, log: &mut Log) -> Vec<(u64, u16)> {
    let mut list = Vec::new();
    loop {
        let now = link.next_event().min(link.next_change());
        if now == Instant::NEVER {
            return list;
        }
        if link.next_change() <= now {
            link.change(now, log);
        }
        if let Some(packet) = link.arrive(now, log) {
            list.push((now.as_nanos() / 1000, name(&packet)));
        }
    }
}

/// What arrives of `n` datagrams that are offered at time zero.
fn carried(impairments: &Impairments, n: u16) -> (Vec<(u64, u16)>, ImpairMeter) {
    let (mut link, mut log) = (link(impairments, 1000, Vec::new()), Log::default());
    (1..=n).for_each(|i| link.offer(&datagram(i), us(0), &mut log));
    (arrivals(&mut link, &mut log), link.meter().impaired)
}

fn reorder(selected: Selected) -> Impairments {
    let (probability, correlation) = (Probability::ONE, Probability::ZERO);
    let reorder = Reorder { delay: Duration::from_micros(300), probability, correlation, gap: 3, selected };
    Impairments { reorder: Some(reorder), ..Impairments::default() }
}

#[test]
fn selected_packets_go_ahead_of_those_that_wait() {
    // Transmissions end at 125 i, and the link takes 1000. Packets 3 and 6 have no extra delay of 300.
    let (list, meter) = carried(&reorder(Selected::Ahead), 6);
    assert_eq!(list, [(1375, 3), (1425, 1), (1550, 2), (1750, 6), (1800, 4), (1925, 5)]);
    assert_eq!(meter.reordered, 4);
}

#[test]
fn selected_packets_fall_behind_those_that_pass() {
    let (list, meter) = carried(&reorder(Selected::Behind), 6);
    assert_eq!(list, [(1125, 1), (1250, 2), (1500, 4), (1625, 5), (1675, 3), (2050, 6)]);
    assert_eq!(meter.reordered, 1, "only packet 3 comes after one that was sent later");
}

fn jitter(time: u64, order: JitterOrder) -> Impairments {
    let (time, distribution) = (Duration::from_micros(time), JitterDistribution::Uniform);
    Impairments {
        jitter: Some(Jitter { time, distribution, correlation: Probability::ZERO, order }),
        ..Impairments::default()
    }
}

#[test]
fn a_jitter_varies_the_delay_and_may_reorder() {
    let (list, meter) = carried(&jitter(400, JitterOrder::Free), 400);
    let delay = |&(at, i): &(u64, u16)| at as i64 - 125 * i64::from(i);
    assert_eq!(list.len(), 400);
    assert!(list.iter().map(delay).all(|d| (600..=1400).contains(&d)));
    let mean = list.iter().map(delay).sum::<i64>() / 400;
    assert!((mean - 1000).abs() < 50, "{mean}");
    assert!(meter.reordered > 50 && list.is_sorted_by_key(|x| x.0));
}

#[test]
fn a_jitter_that_keeps_the_order_lets_nobody_overtake() {
    let (list, meter) = carried(&jitter(400, JitterOrder::Kept), 400);
    assert_eq!(meter.reordered, 0);
    assert!(list.iter().map(|x| x.1).eq(1..=400));
    assert!(list.windows(2).any(|w| w[0].0 == w[1].0), "one catches up with another and waits for it");
}

#[test]
fn a_jitter_above_the_delay_does_not_deliver_before_the_transmission_ends() {
    let (list, _) = carried(&jitter(5000, JitterOrder::Free), 400);
    assert!(list.iter().all(|&(at, i)| at >= 125 * u64::from(i)));
    assert!(list.iter().any(|&(at, i)| at == 125 * u64::from(i)));
}

#[test]
fn a_duplicate_arrives_with_its_original_and_takes_no_time_of_the_transmitter() {
    let duplicate = Some(Duplicate { probability: Probability::ONE, correlation: Probability::ZERO });
    let (list, meter) = carried(&Impairments { duplicate, ..Impairments::default() }, 3);
    assert_eq!(list, [(1125, 1), (1125, 1), (1250, 2), (1250, 2), (1375, 3), (1375, 3)]);
    assert_eq!((meter.duplicated, meter.reordered), (3, 0));
}

fn outage(start: u64, duration: u64, queue: OutageQueue) -> Impairments {
    let outage = Outage { start: us(start), duration: Duration::from_micros(duration), queue };
    Impairments { outages: vec![outage], ..Impairments::default() }
}

#[test]
fn an_outage_that_keeps_the_queue_delays_it() {
    let (mut link, mut log) = (link(&outage(200, 1000, OutageQueue::Keep), 3, Vec::new()), Log::default());
    (1..=4).for_each(|i| link.offer(&datagram(i), us(0), &mut log));
    link.change(us(200), &mut log);
    // Packet 2 is in transmission. Packets 3 and 4 wait, one more has room.
    (5..=6).for_each(|i| link.offer(&datagram(i), us(700), &mut log));
    assert_eq!(arrivals(&mut link, &mut log), [(1125, 1), (1250, 2), (2325, 3), (2450, 4), (2575, 5)]);
    assert_eq!(log.departures, [0, 125, 1200, 1325, 1450]);
    assert_eq!((log.dropped, link.meter().dropped_overflow, link.meter().impaired.outage_drops), (1, 1, 0));
    assert_eq!(link.meter().busy, Duration::from_micros(5 * 125));
    assert_eq!(link.capacity_bits(us(2200)), 8 * 1200, "it could not send for 1000 us");
}

#[test]
fn an_outage_that_drops_loses_what_waits_and_what_comes() {
    let (mut link, mut log) = (link(&outage(200, 1000, OutageQueue::Drop), 10, Vec::new()), Log::default());
    (1..=4).for_each(|i| link.offer(&datagram(i), us(0), &mut log));
    link.change(us(200), &mut log);
    // Packet 2 is in transmission until 250 us; then packets 3 and 4 are dropped.
    link.offer(&datagram(5), us(700), &mut log);
    assert_eq!((log.dropped, link.view().packets), (3, Packets::ZERO));
    link.offer(&datagram(6), us(1200), &mut log);
    assert_eq!(arrivals(&mut link, &mut log), [(1125, 1), (1250, 2), (2325, 6)]);
    let meter = link.meter();
    assert_eq!((meter.dropped_forced, meter.impaired.outage_drops, meter.forwarded_packets), (3, 3, 3));
    assert_eq!(meter.delay.count(), 3, "dropped packets have no queueing delay");
}

#[test]
fn the_capacity_after_an_outage_is_that_of_the_rate_that_changed_in_it() {
    let changes = vec![Change { at: us(500), rate: Some(Rate::mbps(4)), delay: None }];
    let mut link = link(&outage(200, 1000, OutageQueue::Keep), 3, changes);
    [200, 500].into_iter().for_each(|at| link.change(us(at), &mut Log::default()));
    assert_eq!(link.capacity_bits(us(700)), 8 * 200);
    assert_eq!(link.capacity_bits(us(1300)), 8 * 200 + 4 * 100);
}

fn bursts(packets: u64, of: Held) -> Impairments {
    let aggregation = Some(LinkAggregation { packets, time: Duration::from_micros(400), of });
    Impairments { aggregation, ..Impairments::default() }
}

#[test]
fn a_burst_is_released_when_it_is_complete_or_its_first_packet_has_waited() {
    let (list, meter) = carried(&bursts(3, Held::All), 5);
    // Packets arrive at 1125, 1250 .. 1625. The third completes a burst; the fourth waits from 1500 for 400.
    assert_eq!(list, [(1375, 1), (1375, 2), (1375, 3), (1900, 4), (1900, 5)]);
    assert_eq!((meter.held, meter.reordered), (5, 0));
    let (list, _) = carried(&bursts(100, Held::All), 5);
    // 1125 + 400 = 1525: the fourth, at 1500, still belongs to it.
    assert_eq!(list, [(1525, 1), (1525, 2), (1525, 3), (1525, 4), (2025, 5)]);
}

#[test]
fn a_packet_that_arrives_at_the_deadline_belongs_to_the_burst() {
    let aggregation = Some(LinkAggregation { packets: 100, time: Duration::from_micros(375), of: Held::All });
    let (list, _) = carried(&Impairments { aggregation, ..Impairments::default() }, 4);
    assert_eq!(list, [(1500, 1), (1500, 2), (1500, 3), (1500, 4)]);
}

#[test]
fn with_acks_alone_other_packets_pass() {
    let (mut link, mut log) = (link(&bursts(2, Held::Acks), 10, Vec::new()), Log::default());
    // An ACK of 40 bytes takes 40 us.
    [ack(1), datagram(1), ack(2), datagram(2), ack(3)].iter().for_each(|x| link.offer(x, us(0), &mut log));
    let list = arrivals(&mut link, &mut log);
    assert_eq!(list, [(1165, 1), (1205, 80), (1205, 80), (1330, 2), (1770, 80)]);
    assert_eq!((link.meter().impaired.held, link.meter().impaired.reordered), (3, 1));
}

fn decimation(every: u64, of: Decimated) -> Impairments {
    Impairments { ack_decimation: Some(AckDecimation { every, of }), ..Impairments::default() }
}

/// Which of the packets pass decimation.
fn passing(impairments: &Impairments, packets: &[Packet]) -> Vec<usize> {
    let mut impair = Impair::new(impairments, "link/a->b", Seeds::new(1, 0));
    let mut meter = ImpairMeter::default();
    let passes: Vec<usize> = (0..packets.len()).filter(|&i| !impair.thins(&packets[i], &mut meter)).collect();
    assert_eq!(meter.decimated as usize, packets.len() - passes.len());
    passes
}

#[test]
fn decimation_passes_the_last_of_each_n_acks_of_a_flow() {
    let acks: Vec<Packet> = (0..10).map(|i| ack(1000 * i)).collect();
    // The first one may end the handshake. Then the third, sixth and ninth pass.
    assert_eq!(passing(&decimation(3, Decimated::Cumulative), &acks), [0, 3, 6, 9]);
    // Another flow has a count of its own.
    let other = |i: u32| {
        let mut packet = ack(1000 * i);
        packet.tcp_mut().unwrap().dst_port = 10;
        packet
    };
    let mixed: Vec<Packet> = (0..8).map(|i| if i % 2 == 0 { ack(500 * i) } else { other(i) }).collect();
    assert_eq!(passing(&decimation(3, Decimated::Cumulative), &mixed), [0, 1, 6, 7]);
}

#[test]
fn decimation_spares_what_is_not_a_new_cumulative_ack() {
    let with = |change: &dyn Fn(&mut Packet)| {
        let mut packet = ack(5000);
        change(&mut packet);
        packet
    };
    let flags = |add: TcpFlags| with(&move |x| x.tcp_mut().unwrap().flags = TcpFlags::ACK.with(add));
    let mut blocks = SackBlocks::EMPTY;
    blocks.push(SeqNum::new(7000), SeqNum::new(8000));
    let spared = [
        with(&|x| x.payload_len = 100),
        with(&|x| x.tcp_mut().unwrap().options.sack = blocks),
        flags(TcpFlags::ECE),
        flags(TcpFlags::CWR),
        flags(TcpFlags::AE),
        flags(TcpFlags::FIN),
        flags(TcpFlags::SYN),
        flags(TcpFlags::RST),
        flags(TcpFlags::URG),
        ack(1000),
        ack(900),
        datagram(1),
    ];
    for packet in spared {
        assert_eq!(passing(&decimation(9, Decimated::Cumulative), &[ack(1000), packet]), [0, 1], "{packet:?}");
    }
    for dropped in [ack(5000), flags(TcpFlags::PSH)] {
        assert_eq!(passing(&decimation(9, Decimated::Cumulative), &[ack(1000), dropped]), [0], "{dropped:?}");
    }
    let acks = [ack(1000), ack(1000), ack(900), spared[1], flags(TcpFlags::ECE)];
    assert_eq!(passing(&decimation(9, Decimated::All), &acks), [0]);
    let control = [TcpFlags::FIN, TcpFlags::SYN, TcpFlags::RST].map(flags);
    assert_eq!(passing(&decimation(9, Decimated::All), &[&[ack(1000)], &control[..]].concat()), [0, 1, 2, 3]);
}

#[test]
fn a_repeated_ack_passes_after_the_first_one_was_dropped() {
    assert_eq!(passing(&decimation(2, Decimated::Cumulative), &[ack(1), ack(2), ack(2), ack(3)]), [0, 2, 3]);
}

#[test]
fn a_decimated_ack_is_a_forced_drop_in_front_of_the_queue() {
    let (mut link, mut log) = (link(&decimation(2, Decimated::Cumulative), 10, Vec::new()), Log::default());
    (0..5).for_each(|i| link.offer(&ack(i), us(0), &mut log));
    assert_eq!(arrivals(&mut link, &mut log).len(), 3);
    let meter = link.meter();
    assert_eq!((meter.arrived_packets, meter.dropped_forced, meter.forwarded_packets, log.dropped), (5, 2, 3, 2));
}

#[test]
fn loss_of_acks_meets_pure_acks_alone() {
    let impairments = Impairments { ack_loss: p(0.25), ..Impairments::default() };
    let (mut link, mut log) = (link(&impairments, 100_000, Vec::new()), Log::default());
    for i in 0..4000 {
        link.offer(&ack(i), us(0), &mut log);
        link.offer(&datagram(1), us(0), &mut log);
    }
    let arrived = arrivals(&mut link, &mut log);
    let datagrams = arrived.iter().filter(|x| x.1 == 1).count();
    let lost = link.meter().impaired.acks_lost;
    assert_eq!((datagrams, arrived.len() as u64), (4000, 8000 - lost));
    assert!(lost.abs_diff(1000) < 80, "{lost}");
    assert_eq!((link.meter().corrupted, log.corrupted as u64), (lost, lost));
}

fn any_impairments() -> impl Strategy<Value = Impairments> {
    let jitter = (0u64..3000, 0..4usize, any::<bool>()).prop_map(|(time, distribution, kept)| Jitter {
        time: Duration::from_micros(time),
        distribution: [
            JitterDistribution::Uniform,
            JitterDistribution::Normal,
            JitterDistribution::Pareto,
            JitterDistribution::ParetoNormal,
        ][distribution],
        correlation: p(0.3),
        order: if kept { JitterOrder::Kept } else { JitterOrder::Free },
    });
    let reorder = (1u64..3000, 0.0..1.0, 1u64..6, any::<bool>()).prop_map(|(delay, probability, gap, ahead)| Reorder {
        delay: Duration::from_micros(delay),
        probability: p(probability),
        correlation: p(0.2),
        gap,
        selected: if ahead { Selected::Ahead } else { Selected::Behind },
    });
    let duplicate = (0.0..1.0).prop_map(|x| Duplicate { probability: p(x), correlation: p(0.5) });
    let aggregation = (2u64..20, 1u64..3000, any::<bool>()).prop_map(|(packets, time, all)| LinkAggregation {
        packets,
        time: Duration::from_micros(time),
        of: if all { Held::All } else { Held::Acks },
    });
    let outage = (0u64..20_000, 1u64..20_000, any::<bool>()).prop_map(|(start, duration, keep)| Outage {
        start: us(start),
        duration: Duration::from_micros(duration),
        queue: if keep { OutageQueue::Keep } else { OutageQueue::Drop },
    });
    let decimation = (2u64..5, any::<bool>())
        .prop_map(|(every, all)| AckDecimation { every, of: if all { Decimated::All } else { Decimated::Cumulative } });
    (
        proptest::option::of(jitter),
        proptest::option::of(reorder),
        proptest::option::of(duplicate),
        proptest::option::of(outage),
        proptest::option::of(aggregation),
        proptest::option::of(decimation),
        0.0..0.5,
    )
        .prop_map(|(jitter, reorder, duplicate, outage, aggregation, ack_decimation, loss)| Impairments {
            jitter,
            reorder,
            duplicate,
            outages: outage.into_iter().collect(),
            aggregation,
            ack_decimation,
            ack_loss: p(loss),
        })
}

proptest! {
    /// Packets are conserved, times do not go back, and an early look at the link changes nothing.
    #[test]
    fn any_impairments_conserve_packets(
        impairments in any_impairments(),
        steps in proptest::collection::vec((0u64..400, any::<bool>()), 1..200),
        limit in 1u64..40,
    ) {
        let mut outcomes = Vec::new();
        for eager in [false, true] {
            let (mut link, mut log) = (link(&impairments, limit, Vec::new()), Log::default());
            let (mut now, mut arrived) = (0, Vec::new());
            for (i, &(wait, acks)) in steps.iter().enumerate() {
                now += wait;
                loop {
                    let departure = if eager { link.next_departure() } else { Instant::NEVER };
                    let at = link.next_event().min(link.next_change()).min(departure);
                    if at > us(now) {
                        break;
                    }
                    link.change(at, &mut log);
                    arrived.extend(link.arrive(at, &mut log).map(|packet| (at, packet)));
                }
                let packet = if acks { ack(i as u32) } else { datagram(i as u16) };
                link.offer(&packet, us(now), &mut log);
            }
            loop {
                let at = link.next_event().min(link.next_change());
                if at == Instant::NEVER {
                    break;
                }
                link.change(at, &mut log);
                arrived.extend(link.arrive(at, &mut log).map(|packet| (at, packet)));
            }
            let meter = link.meter().clone();
            let dropped = meter.dropped_overflow + meter.dropped_early + meter.dropped_forced;
            prop_assert_eq!(meter.arrived_packets as usize, steps.len());
            prop_assert_eq!(meter.arrived_packets, meter.forwarded_packets + dropped);
            prop_assert_eq!(meter.forwarded_packets + meter.impaired.duplicated, meter.corrupted + arrived.len() as u64);
            prop_assert_eq!(meter.dropped_forced, meter.impaired.decimated + meter.impaired.outage_drops);
            prop_assert_eq!(log.dropped as u64, dropped);
            prop_assert!(arrived.is_sorted_by_key(|x| x.0));
            outcomes.push((arrived, meter.impaired, meter.busy, log.departures));
        }
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }
}
