//! Trains: runs of packets that one computation carries over a line and all lines folded into it.
//!
//! If all packets that leave a line go on over the same folded lines ([`lines`](crate::lines)), and packets of one size
//! find each of these lines free, then the first line decides for all: its packets are apart by at least its time of
//! transmission, and stay apart by as much. If no later line needs more time, each of them is free for every packet of
//! the run. So the arrival at the end of the fold is the time of sending plus a constant. The later lines are
//! brought up to date when the train ends (`World::end_train`).
//!
//! A packet of another size, one that has to wait, or one that comes after the next sample or the end of the run ends
//! the train. It is sent hop by hop (`World::send_hop_by_hop`), which is the specification of this file. A line with
//! nothing folded into it has trains over one line.

use crate::edge::Link;
use crate::line::{Line, Train};
use crate::parcels::Parcel;
use crate::slots::Slots;
use crate::world::World;
use narrows_units::{Duration, Instant};

impl World<'_> {
    /// Carries a packet over its next line, `edge`, and all lines folded into it, if it goes with the train there;
    /// returns `false`, with nothing changed, for any other.
    #[inline(always)]
    pub(crate) fn ride(&mut self, edge: usize, parcel: Parcel, at: Instant) -> bool {
        let Some(Link::Line(line)) = self.links.get_mut(edge) else { return false };
        let Some(arrival) = line.ride(parcel.size(), at) else { return false };
        let (hops, last) = line.fold();
        debug_assert!(hops > 0 && arrival <= self.end);
        self.packets += u64::from(hops) - 1;
        self.put_on_wire(last, parcel.advanced_by(hops), arrival);
        true
    }

    /// Puts a packet on the wire of a line, on which its arrival at `arrival` is an event.
    #[inline(always)]
    pub(crate) fn put_on_wire(&mut self, edge: usize, parcel: Parcel, arrival: Instant) {
        if self.share.is_some() && self.crosses(edge, parcel, arrival) {
            return;
        }
        let Some(Link::Line(line)) = self.links.get_mut(edge) else { return };
        if line.leads_to_host() {
            return if self.has_many_flows() {
                self.visit_later(edge, parcel, arrival, self.is_ahead());
            } else {
                self.arrive(edge, parcel, arrival, self.is_ahead());
            };
        }
        if line.put_on_wire(parcel, arrival) {
            self.agenda.arm_with(Slots::link(edge), arrival, parcel.hint());
        }
    }

    /// Lets the host at the far end of `edge` go ahead and handle a packet that arrives at `arrival`; or puts the
    /// packet on the wire, if it `waits`, others are before it, or the host may not.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, edge: usize, parcel: Parcel, arrival: Instant, waits: bool) {
        let Some(Link::Line(line)) = self.links.get_mut(edge) else { return };
        let (occupied, far_end) = (line.is_occupied(), line.far_end());
        if !waits && !occupied && self.go_ahead((edge, far_end), parcel, arrival) {
            return;
        }
        let Some(Link::Line(line)) = self.links.get_mut(edge) else { return };
        if line.put_on_wire(parcel, arrival) {
            self.agenda.arm_with(Slots::link(edge), arrival, parcel.hint());
        }
    }

    /// Whether trains may begin at `edge`.
    #[inline]
    pub(crate) fn has_trains(&self, edge: usize) -> bool {
        matches!(self.links.get(edge), Some(Link::Line(line)) if line.fold().0 > 0)
    }

    /// Sends a packet that does not go with the train at `edge`: the train ends, and another may begin.
    #[inline(never)]
    pub(crate) fn send_beside_train(&mut self, edge: usize, parcel: Parcel, at: Instant) {
        self.end_train(edge);
        self.send_hop_by_hop(parcel, at);
        self.begin_train(edge);
    }

    fn line_mut(&mut self, edge: usize) -> Option<&mut Line> {
        match self.links.get_mut(edge) {
            Some(Link::Line(line)) => Some(line),
            _ => None,
        }
    }

    /// Begins a train at `edge`, if the packet that was just sent from there found all lines free, and packets of its
    /// size will as long as the first line does.
    #[inline]
    fn begin_train(&mut self, edge: usize) {
        if let Some(Link::Line(line)) = self.links.get(edge)
            && line.may_begin_train()
        {
            self.begin_train_of_run(edge);
        }
    }

    #[inline(never)]
    fn begin_train_of_run(&mut self, edge: usize) {
        let Some(Link::Line(first)) = self.links.get(edge) else { return };
        let (hops, _) = first.fold();
        let head = first.run();
        let (mut until, mut passage) = (self.end, Duration::ZERO);
        let mut next = edge;
        for _ in 0..hops {
            let Some(Link::Line(line)) = self.links.get(next) else { return };
            let run = line.run();
            if run.is_none() || run.size != head.size || run.time > head.time {
                return;
            }
            // Packets of the train are apart by at least the first line's time, which is not enough where they must not
            // leave at once after one another.
            if run.time == head.time && head.whole && !run.whole {
                return;
            }
            let look_at = line.look_at();
            if look_at < Instant::ZERO + passage {
                return;
            }
            if look_at < Instant::NEVER {
                until = until.min(look_at - passage);
            }
            passage += run.passage;
            next = line.next();
        }
        if self.end < Instant::ZERO + passage {
            return;
        }
        until = until.min(self.end - passage);
        let train = Train { size: head.size, packets: 0, time: head.time, passage, until, whole: head.whole };
        if let Some(line) = self.line_mut(edge) {
            line.begin_train(train);
        }
    }

    /// Ends the train at `edge`: the lines folded into this one get the packets that went with it.
    #[inline]
    fn end_train(&mut self, edge: usize) {
        if let Some(Link::Line(line)) = self.links.get(edge)
            && line.has_train()
        {
            self.end_that_train(edge);
        }
    }

    #[inline(never)]
    fn end_that_train(&mut self, edge: usize) {
        let Some(line) = self.line_mut(edge) else { return };
        let (hops, _) = line.fold();
        let Some((packets, mut at)) = line.end_train() else { return };
        let mut next = edge;
        for _ in 0..hops {
            let Some(line) = self.line_mut(next) else { return };
            at = line.catch_up(packets, at);
            next = line.next();
        }
    }

    /// Ends all trains, before lines are sampled or their counters are read.
    pub(crate) fn end_trains(&mut self) {
        (0..self.links.len()).for_each(|edge| self.end_train(edge));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build::build;
    use crate::run::Options;
    use narrows_fabric::ports;
    use narrows_wire::{Ip, Packet, Transport, UdpRepr};
    use proptest::prelude::*;

    /// Links whose times of transmission get shorter towards the end, or do not.
    fn text(rates: [&str; 3], sampling: &str) -> String {
        let link = |(n, rate): (usize, &&str)| {
            format!(
                "[[links]]\nbetween = [\"n{n}\", \"n{}\"]\nrate = \"{rate}\"\ndelay = \"10 us\"\n\
                 queue = {{ limit = \"3 packets\" }}\n",
                n + 1
            )
        };
        let node = |n: usize| {
            let kind = if n == 1 || n == 2 { "kind = \"router\"\n" } else { "" };
            format!("[[nodes]]\nname = \"n{n}\"\n{kind}")
        };
        let nodes: String = (0..4).map(node).collect();
        let links: String = rates.iter().enumerate().map(link).collect();
        format!(
            "format = 1\nname = \"t\"\nduration = \"1 ms\"\nsampling = \"{sampling}\"\n\
             {nodes}{links}[[flows]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n3\"\n"
        )
    }

    fn packet(payload_len: u32) -> Packet {
        let (src_port, dst_port) = ports(0);
        Packet {
            ip: Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            transport: Transport::Udp(UdpRepr { src_port, dst_port, rtp: None }),
            payload_len,
        }
    }

    /// Rates of the links, and whether there are trains. At 3 Gb/s and at 1,999,750 kb/s a packet of 1000 bytes takes
    /// no whole number of nanoseconds.
    const RATES: [([&str; 3], bool); 6] = [
        (["1 Gb/s"; 3], true),
        (["1 Gb/s", "2 Gb/s", "1 Gb/s"], true),
        (["2 Gb/s", "1 Gb/s", "2 Gb/s"], false),
        (["3 Gb/s"; 3], true),
        (["1999750 kb/s", "2 Gb/s", "3 Gb/s"], true),
        (["2 Gb/s", "1999750 kb/s", "2 Gb/s"], false),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_train_leaves_the_lines_as_hops_do(
            (rates, rides) in prop::sample::select(RATES.to_vec()),
            sampling in prop::sample::select(vec!["off", "100 us"]),
            packets in prop::collection::vec((0_u64..20, prop::bool::weighted(0.1)), 100..300),
        ) {
            let scenario = narrows_scenario::parse(&text(rates, sampling), "t.toml", &[], &crate::catalogue()).unwrap();
            let options = Options::default();
            let (mut trains, mut hops) = (build(&scenario, &options).unwrap(), build(&scenario, &options).unwrap());
            let (mut now, mut rode) = (Instant::ZERO, 0);
            for (gap, small) in packets {
                // A packet of 1000 bytes takes 8 us at 1 Gb/s, or half as long.
                now += Duration::from_micros(gap);
                if gap == 3 {
                    // Some leave at once after another.
                    now = trains.line_mut(0).map_or(now, |line| line.backlog().0.max(now));
                }
                let packet = packet(if small { 97 } else { 972 });
                for (world, by_train) in [(&mut trains, true), (&mut hops, false)] {
                    world.now = now;
                    let way = world.routes.start(0, true);
                    let parcel = world.parcels.keep(&packet, 0, true, way);
                    let edge = world.routes.hop(way).edge().unwrap();
                    if !by_train {
                        world.send_hop_by_hop(parcel, now);
                    } else if world.ride(edge, parcel, now) {
                        rode += 1;
                    } else {
                        world.send_by_lines(parcel, now);
                    }
                }
            }
            trains.end_trains();
            hops.end_trains();
            prop_assert_eq!(format!("{:?}", trains.links), format!("{:?}", hops.links));
            prop_assert_eq!(trains.packets, hops.packets);
            prop_assert_eq!(trains.agenda.next(), hops.agenda.next());
            prop_assert_eq!(rode > 0, rides, "{} of the packets", rode);
        }
    }
}
