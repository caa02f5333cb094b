//! What the steps of a timeline do to a direction of a link while it runs.
//!
//! A direction that steps may touch is told so before it carries anything ([`LinkDirection::allow_interventions`]).
//! Its wire then lets packets overtake each other. A direction that was not told has none of this, and no packet asks
//! for it.
//!
//! # Order of steps for a packet
//! 1. In front of the queue: ACK decimation (see [`crate::Impair`]), then the drops that steps asked for, the policer,
//!    and last the marks. A packet that is dropped here counts as offered to the queue and dropped by rule
//!    ([`DropReason::Forced`]).
//! 2. When its transmission starts: losses, then the choice of packets that arrive later than they would.
//!
//! Of several interventions of one kind, the earlier ones choose first. A packet that one of them takes is not seen by
//! the later ones, so two drops of one packet each drop two packets.
//!
//! # Time
//! An intervention begins after everything that the direction does at its instant: a transmission that starts then
//! belongs to the time before.

use super::{LinkDirection, LinkWatch};
use crate::flow_id::flow_of;
use crate::impair::Impair;
use crate::seeds::Seeds;
use narrows_queue::{DropReason, Meter, NO_SUBQUEUE};
use narrows_rng::Stream;
use narrows_scenario::{Impairments, LinkAggregation, Loss};
use narrows_units::{Bytes, Duration, Instant, Probability, Rate};
use narrows_wire::{Ecn, Packet, TcpFlags};

/// Which of the packets that a [`Selection`] counts it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chosen {
    /// All of them.
    All,
    /// Each with this probability, independently of the others.
    Share(Probability),
    /// The last one of each this many; zero counts as one.
    Every(u64),
}

/// Which packets of a direction count for a [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// All.
    All,
    /// Those of a flow: packets with payload in the direction of its data, all but SYN segments in the other.
    Flow {
        /// Its index in the scenario.
        index: usize,
        /// Whether its data travels from its `from` to its `to`.
        along: bool,
    },
}

impl Counted {
    fn has(self, packet: &Packet) -> bool {
        let Self::Flow { index, along } = self else { return true };
        let (flow, way) = flow_of(packet);
        let syn = || packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN));
        flow == index && if way == along { packet.payload_len > 0 } else { !syn() }
    }
}

/// A choice among the packets of a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Which packets count.
    pub counted: Counted,
    /// Which of the packets that count are taken.
    pub chosen: Chosen,
    /// How many packets count, taken or not; the selection ends with the last of them.
    pub packets: u64,
    /// How long the selection lasts; [`Duration::MAX`] for no end.
    pub time: Duration,
}

/// What a step does to a direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intervention {
    /// It sends at this rate, above zero. A direction that follows a trace keeps to it.
    Rate(Rate),
    /// It has this propagation delay. Packets with a shorter one do not overtake those on the wire.
    Delay(Duration),
    /// It loses each packet with this probability, and in no other way at random.
    Loss(Probability),
    /// It drops packets in front of the queue.
    Drop(Selection),
    /// It marks packets CE in front of the queue; only those that are ECN-capable and not yet marked count.
    Mark(Selection),
    /// It delivers packets this much later than it would, and others overtake them.
    Late(Selection, Duration),
    /// It delivers packets in bursts; with `None` packets pass as they come, and those that wait are released.
    Aggregate(Option<LinkAggregation>),
    /// A token bucket in front of the queue drops what exceeds this rate, with bursts of so many bytes; `None` removes
    /// it. The bucket is full at first.
    Police(Option<(Rate, Bytes)>),
}

/// A selection at work.
#[derive(Debug)]
struct Active {
    /// The step that began it.
    step: usize,
    selection: Selection,
    until: Instant,
    /// Packets counted since the last one that was taken, for [`Chosen::Every`].
    passed: u64,
}

impl Active {
    /// Whether it takes this packet at `at`, which it counts if it is one of its packets.
    fn takes(&mut self, packet: &Packet, at: Instant, stream: &mut Stream) -> bool {
        let Selection { counted, chosen, packets, .. } = &mut self.selection;
        if *packets == 0 || at >= self.until || !counted.has(packet) {
            return false;
        }
        *packets = packets.saturating_sub(u64::from(*packets < u64::MAX));
        match *chosen {
            Chosen::All => true,
            Chosen::Share(share) => stream.chance(share.as_f64()),
            Chosen::Every(every) => {
                self.passed += 1;
                let last = self.passed >= every;
                if last {
                    self.passed = 0;
                }
                last
            }
        }
    }

    /// Whether no packet can be taken from `at` on.
    const fn is_over(&self, at: Instant) -> bool {
        self.selection.packets == 0 || self.until.as_nanos() <= at.as_nanos()
    }
}

/// Selections of one kind, in the order in which they began.
#[derive(Debug, Default)]
struct Selections(Vec<Active>);

impl Selections {
    fn begin(&mut self, step: usize, selection: Selection, now: Instant) {
        self.0.retain(|active| !active.is_over(now));
        self.0.push(Active { step, selection, until: now + selection.time, passed: 0 });
    }

    fn end(&mut self, step: usize) {
        self.0.retain(|active| active.step != step);
    }

    #[inline]
    fn take(&mut self, packet: &Packet, at: Instant, stream: &mut Stream) -> bool {
        self.0.iter_mut().any(|active| active.takes(packet, at, stream))
    }
}

/// The interventions in a direction of a link.
#[derive(Debug)]
pub(super) struct Interventions {
    drops: Selections,
    marks: Selections,
    late: Selections,
    /// For each selection of `late`, by its step, how much later.
    by: Vec<(usize, Duration)>,
    policer: Option<Meter>,
    stream: Stream,
}

impl Interventions {
    fn new(stream: Stream) -> Self {
        let [drops, marks, late] = [const { Selections(Vec::new()) }; 3];
        Self { drops, marks, late, by: Vec::new(), policer: None, stream }
    }

    /// Whether a packet that comes to the queue is dropped.
    pub(super) fn drops(&mut self, packet: &Packet, now: Instant) -> bool {
        if self.drops.take(packet, now, &mut self.stream) {
            return true;
        }
        self.policer.as_mut().is_some_and(|policer| !policer.conforms(packet.len(), now))
    }

    /// Whether a packet that comes to the queue is marked.
    pub(super) fn marks(&mut self, packet: &Packet, now: Instant) -> bool {
        let ecn = packet.ip.ecn();
        ecn.is_capable() && ecn != Ecn::Ce && self.marks.take(packet, now, &mut self.stream)
    }

    /// How much later than it would a packet arrives whose transmission starts at `at`.
    pub(super) fn delays(&mut self, packet: &Packet, at: Instant) -> Duration {
        let stream = &mut self.stream;
        let taken = self.late.0.iter_mut().find_map(|active| active.takes(packet, at, stream).then_some(active.step));
        let by = taken.and_then(|step| self.by.iter().find(|(of, _)| *of == step));
        by.map_or(Duration::ZERO, |(_, by)| *by)
    }
}

impl LinkDirection {
    /// Lets steps touch the direction, which has carried nothing yet. `path` names the component, `link/A->B`; random
    /// choices are drawn from a stream of their own.
    pub fn allow_interventions(&mut self, path: &str, seeds: Seeds) {
        self.interventions = Some(Box::new(Interventions::new(seeds.stream(path, "steps"))));
        if self.impair.is_none() {
            self.impair(Impair::new(&Impairments::default(), path, seeds));
        }
        self.ahead = false;
    }

    /// Does what step number `step` asks for, from `now` on. Afterwards the caller arms
    /// [`next_event`](Self::next_event). Selections do nothing in a direction that steps may not touch.
    pub fn intervene(&mut self, step: usize, what: &Intervention, now: Instant, watch: &mut impl LinkWatch) {
        self.drain(now, watch);
        match *what {
            Intervention::Rate(rate) => self.set_rate(rate, now),
            Intervention::Delay(delay) => self.delay = delay,
            Intervention::Loss(per) => {
                self.loss.set(Loss::Uniform(per));
                self.lossy = !per.is_never();
            }
            Intervention::Aggregate(aggregation) => {
                if let Some(impair) = &mut self.impair {
                    impair.aggregate(aggregation, now);
                }
            }
            _ => {
                if let Some(interventions) = &mut self.interventions {
                    interventions.begin(step, what, now);
                }
            }
        }
    }

    /// Ends the drops, marks and delays that this step began.
    pub fn end_interventions(&mut self, step: usize, now: Instant, watch: &mut impl LinkWatch) {
        self.drain(now, watch);
        if let Some(interventions) = &mut self.interventions {
            for selections in [&mut interventions.drops, &mut interventions.marks, &mut interventions.late] {
                selections.end(step);
            }
        }
    }

    /// Handles a packet at `now`, in front of the queue of a direction that steps may touch: drops it, marks it or lets
    /// it pass. Returns the packet that goes on.
    pub(super) fn pass_interventions(
        &mut self,
        packet: &Packet,
        now: Instant,
        watch: &mut impl LinkWatch,
    ) -> Option<Packet> {
        let Some(interventions) = &mut self.interventions else { return Some(*packet) };
        if interventions.drops(packet, now) {
            self.refuse(*packet, DropReason::Forced, now, watch);
            return None;
        }
        let mut packet = *packet;
        if interventions.marks(&packet, now) {
            packet.ip.set_ecn(Ecn::Ce);
            self.meter.marked += 1;
            watch.marked(&packet, NO_SUBQUEUE);
        }
        Some(packet)
    }
}

impl Interventions {
    fn begin(&mut self, step: usize, what: &Intervention, now: Instant) {
        match *what {
            Intervention::Drop(selection) => self.drops.begin(step, selection, now),
            Intervention::Mark(selection) => self.marks.begin(step, selection, now),
            Intervention::Late(selection, by) => {
                self.late.begin(step, selection, now);
                self.by.retain(|(of, _)| *of != step);
                self.by.push((step, by));
            }
            Intervention::Police(of) => self.policer = of.map(|(rate, burst)| Meter::new(rate, burst)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_id::ports;
    use crate::loss::LossModel;
    use narrows_queue::{Dropped, Limit, QueueView};
    use narrows_scenario::Held;
    use narrows_units::{Packets, SeqNum};
    use narrows_wire::{Ip, TcpRepr, Transport};

    /// Packets by their sequence numbers: dropped, marked, corrupted.
    #[derive(Default)]
    struct Log {
        dropped: Vec<u32>,
        marked: Vec<u32>,
        corrupted: Vec<u32>,
    }

    impl LinkWatch for Log {
        fn dropped(&mut self, dropped: &Dropped, _at: Instant) {
            assert_eq!(dropped.reason, DropReason::Forced);
            self.dropped.push(number(&dropped.packet));
        }
        fn corrupted(&mut self, packet: &Packet, _at: Instant) {
            self.corrupted.push(number(packet));
        }
        fn departing(&mut self, _packet: &mut Packet, _queue: &QueueView, _at: Instant) {}
        fn marked(&mut self, packet: &Packet, _subqueue: u32) {
            assert_eq!(packet.ip.ecn(), Ecn::Ce);
            self.marked.push(number(packet));
        }
        fn departed(&mut self, _packet: &Packet, _at: Instant) {}
    }

    fn number(packet: &Packet) -> u32 {
        packet.tcp().map_or(u32::MAX, |tcp| tcp.seq.as_u32())
    }

    /// A segment of a flow from its `from` to its `to`, of 125 bytes with payload 85.
    fn segment(flow: usize, seq: u32) -> Packet {
        let (src_port, dst_port) = ports(flow);
        let (seq, flags) = (SeqNum::new(seq), TcpFlags::ACK);
        let tcp = TcpRepr { src_port, dst_port, seq, flags, ..TcpRepr::default() };
        let mut ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        ip.set_ecn(Ecn::Ect0);
        Packet { ip, transport: Transport::Tcp(tcp), payload_len: 85 }
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    /// 8 Mb/s, 1 ms and a long queue: packets of 125 bytes take 125 us each.
    fn link() -> LinkDirection {
        let seeds = Seeds::new(1, 0);
        let mut link = LinkDirection::new(
            narrows_queue::droptail(Limit::Packets(Packets::new(10_000))),
            Rate::mbps(8),
            Duration::from_millis(1),
            LossModel::new(Loss::None, seeds.stream("link/a->b", "loss")),
            false,
            Vec::new(),
        );
        link.allow_interventions("link/a->b", seeds);
        link
    }

    fn all(packets: u64) -> Selection {
        Selection { counted: Counted::All, chosen: Chosen::All, packets, time: Duration::MAX }
    }

    /// Offers segments of flow 0 with these numbers, one each 200 us from `from` on.
    fn offer(link: &mut LinkDirection, numbers: core::ops::Range<u32>, from: u64, log: &mut Log) {
        for (index, seq) in numbers.enumerate() {
            link.offer(&segment(0, seq), us(from + 200 * index as u64), log);
        }
    }

    /// Everything that still arrives: times in us and numbers.
    fn arrivals(link: &mut LinkDirection, log: &mut Log) -> Vec<(u64, u32)> {
        let mut seen = Vec::new();
        while link.next_event() < Instant::NEVER {
            let now = link.next_event();
            if let Some(packet) = link.arrive(now, log) {
                seen.push((now.as_nanos() / 1000, number(&packet)));
            }
        }
        seen
    }

    fn numbers(arrivals: &[(u64, u32)]) -> Vec<u32> {
        arrivals.iter().map(|(_, number)| *number).collect()
    }

    #[test]
    fn the_next_packets_are_dropped_and_counted() {
        let (mut link, mut log) = (link(), Log::default());
        offer(&mut link, 0..2, 0, &mut log);
        link.intervene(0, &Intervention::Drop(all(3)), us(300), &mut log);
        offer(&mut link, 2..7, 400, &mut log);
        let seen = arrivals(&mut link, &mut log);
        assert_eq!((log.dropped, numbers(&seen)), (vec![2, 3, 4], vec![0, 1, 5, 6]));
        let meter = link.meter();
        assert_eq!((meter.arrived_packets, meter.forwarded_packets, meter.dropped_forced), (7, 4, 3));
    }

    #[test]
    fn two_drops_of_a_packet_drop_two_packets() {
        let (mut link, mut log) = (link(), Log::default());
        (0..2).for_each(|step| link.intervene(step, &Intervention::Drop(all(1)), us(0), &mut log));
        offer(&mut link, 0..3, 1, &mut log);
        assert_eq!(log.dropped, [0, 1]);
    }

    #[test]
    fn each_last_of_so_many_packets_is_dropped() {
        let (mut link, mut log) = (link(), Log::default());
        let selection = Selection { chosen: Chosen::Every(3), packets: 8, ..all(0) };
        link.intervene(0, &Intervention::Drop(selection), us(0), &mut log);
        offer(&mut link, 0..20, 1, &mut log);
        assert_eq!(log.dropped, [2, 5], "packets 6 and 7 are the last that count");
    }

    #[test]
    fn a_share_is_drawn_from_the_run_s_seed_and_ends_with_its_time() {
        let dropped = || {
            let (mut link, mut log) = (link(), Log::default());
            let chosen = Chosen::Share(Probability::clamped(0.25));
            let selection = Selection { chosen, time: Duration::from_millis(400), ..all(u64::MAX) };
            link.intervene(0, &Intervention::Drop(selection), us(0), &mut log);
            offer(&mut link, 0..4_000, 0, &mut log);
            log.dropped
        };
        let first = dropped();
        assert_eq!(first, dropped());
        // 2,000 packets in 400 ms; the standard deviation is 19.
        assert!((430..570).contains(&first.len()) && first.iter().all(|n| *n < 2_000), "{}", first.len());
    }

    #[test]
    fn a_step_s_selections_end_when_the_caller_says() {
        let (mut link, mut log) = (link(), Log::default());
        (0..2).for_each(|step| {
            let flow = Counted::Flow { index: step, along: true };
            link.intervene(step, &Intervention::Drop(Selection { counted: flow, ..all(u64::MAX) }), us(0), &mut log);
        });
        offer(&mut link, 0..2, 1, &mut log);
        link.end_interventions(0, us(300), &mut log);
        offer(&mut link, 2..4, 400, &mut log);
        link.offer(&segment(1, 9), us(1000), &mut log);
        assert_eq!(log.dropped, [0, 1, 9]);
    }

    #[test]
    fn of_a_flow_data_counts_one_way_and_all_but_syn_segments_the_other() {
        let ack = |flow| Packet { payload_len: 0, ..segment(flow, 1) };
        let mut syn = ack(4);
        if let Transport::Tcp(tcp) = &mut syn.transport {
            tcp.flags = TcpFlags::SYN;
        }
        let there = Counted::Flow { index: 4, along: true };
        let back = Counted::Flow { index: 4, along: false };
        let has = |counted: Counted| [segment(4, 1), ack(4), syn, segment(3, 1)].map(|packet| counted.has(&packet));
        assert_eq!(has(there), [true, false, false, false]);
        assert_eq!(has(back), [true, true, false, false]);
    }

    #[test]
    fn packets_that_are_capable_are_marked() {
        let (mut link, mut log) = (link(), Log::default());
        link.intervene(0, &Intervention::Mark(all(2)), us(0), &mut log);
        let mut others = [segment(0, 10), segment(0, 11)];
        others[0].ip.set_ecn(Ecn::NotEct);
        others[1].ip.set_ecn(Ecn::Ce);
        others.iter().for_each(|packet| link.offer(packet, us(1), &mut log));
        offer(&mut link, 0..3, 2, &mut log);
        assert_eq!((log.marked, link.meter().marked), (vec![0, 1], 2));
    }

    #[test]
    fn late_packets_are_overtaken() {
        let (mut link, mut log) = (link(), Log::default());
        link.intervene(0, &Intervention::Late(all(2), Duration::from_micros(500)), us(0), &mut log);
        offer(&mut link, 0..5, 1, &mut log);
        let seen = arrivals(&mut link, &mut log);
        // Each arrives 1,125 us after it came, and the first two 500 us later.
        assert_eq!(seen, [(1526, 2), (1626, 0), (1726, 3), (1826, 1), (1926, 4)]);
        assert_eq!(link.meter().impaired.reordered, 2);
    }

    #[test]
    fn an_aggregation_begins_and_ends_and_lets_go_of_what_waits() {
        let (mut link, mut log) = (link(), Log::default());
        let burst = LinkAggregation { packets: 3, time: Duration::from_millis(50), of: Held::All };
        link.intervene(0, &Intervention::Aggregate(Some(burst)), us(0), &mut log);
        offer(&mut link, 0..5, 1, &mut log);
        let mut seen = Vec::new();
        while link.next_event() < us(2_000) {
            let now = link.next_event();
            seen.extend(link.arrive(now, &mut log).map(|packet| (now.as_nanos() / 1000, number(&packet))));
        }
        assert_eq!(seen, [(1526, 0), (1526, 1), (1526, 2)], "the third completes the burst");
        link.intervene(1, &Intervention::Aggregate(None), us(2_000), &mut log);
        offer(&mut link, 5..6, 2_000, &mut log);
        assert_eq!(arrivals(&mut link, &mut log), [(2_000, 3), (2_000, 4), (3_125, 5)]);
    }

    #[test]
    fn a_policer_lets_pass_what_its_tokens_cover() {
        let (mut link, mut log) = (link(), Log::default());
        // A packet of 125 bytes each ms, and three at once.
        link.intervene(0, &Intervention::Police(Some((Rate::mbps(1), Bytes::new(375)))), us(5), &mut log);
        (0..5).for_each(|seq| link.offer(&segment(0, seq), us(6), &mut log));
        link.offer(&segment(0, 5), us(1_005), &mut log);
        link.offer(&segment(0, 6), us(1_006), &mut log);
        link.intervene(1, &Intervention::Police(None), us(1_007), &mut log);
        link.offer(&segment(0, 7), us(1_008), &mut log);
        assert_eq!(log.dropped, [3, 4, 5], "packet 6 comes a ms after the last one that conformed");
    }

    #[test]
    fn rate_delay_and_loss_change_for_what_is_sent_later() {
        let (mut link, mut log) = (link(), Log::default());
        (0..3).for_each(|seq| link.offer(&segment(0, seq), us(0), &mut log));
        link.intervene(0, &Intervention::Rate(Rate::mbps(4)), us(60), &mut log);
        link.intervene(0, &Intervention::Delay(Duration::from_millis(2)), us(130), &mut log);
        assert_eq!(link.rate_and_delay(), (Rate::mbps(4), Duration::from_millis(2)));
        // The second packet is in transmission from 125 us to 375 us; the delay is read when it is sent, at 125 us.
        assert_eq!(arrivals(&mut link, &mut log), [(1125, 0), (1375, 1), (2625, 2)]);
        link.intervene(1, &Intervention::Loss(Probability::clamped(1.0)), us(4_000), &mut log);
        link.offer(&segment(0, 3), us(4_000), &mut log);
        link.intervene(2, &Intervention::Loss(Probability::clamped(0.0)), us(5_000), &mut log);
        link.offer(&segment(0, 4), us(5_000), &mut log);
        assert_eq!((numbers(&arrivals(&mut link, &mut log)), log.corrupted), (vec![4], vec![3]));
    }
}
