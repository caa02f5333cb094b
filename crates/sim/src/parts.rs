//! One run on several threads: the network is cut into parts, and each part goes ahead as far as no packet of another
//! part can reach it.
//!
//! This is conservative parallel simulation (Chandy and Misra 1979) with synchronous windows. The shortest delay of the
//! links that cross the cut is the lookahead. All parts handle their events from the earliest pending one up to it plus
//! the lookahead, then hand over the packets that crossed the cut. Such a packet arrives after the window.
//!
//! Both ends of a flow are in one part, so a flow's state is in one place. Each part has a `World` of the whole
//! scenario and uses its share. A direction of a link has its queue in the part of the node that it leaves, or of the
//! line that it is folded into, and its arrivals in the part of the node that it leads to.
//!
//! The order of events at one instant does not depend on when the engine learns of them ([`event`](crate::event)), and
//! a random stream belongs to one part. So results are bit-identical to those of one thread.

use crate::build::build;
use crate::edge::Link;
use crate::parcels::Parcel;
use crate::run::{Options, RunError};
use crate::slots::Slots;
use crate::world::World;
use narrows_samples::NoProbe;
use narrows_scenario::{Sampling, Scenario};
use narrows_units::{Duration, Instant};
use narrows_wire::Packet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A packet that crosses from one part to another.
#[derive(Debug)]
struct Crossing {
    edge: usize,
    arrival: Instant,
    parcel: Parcel,
    packet: Packet,
}

/// The share of one part.
#[derive(Debug)]
pub(crate) struct Share {
    /// Per direction of a link: the part of its arrivals.
    to: Vec<u8>,
    /// This part.
    own: u8,
    /// Packets for each part.
    out: Vec<Vec<Crossing>>,
}

/// How a scenario is cut.
struct Cut {
    parts: usize,
    /// Per flow, per direction of a link: the part that has it, and of a direction the part of its arrivals.
    flows: Vec<u8>,
    queues: Vec<u8>,
    arrivals: Vec<u8>,
    lookahead: Duration,
}

impl Cut {
    /// Cuts a network into `parts`; `None` if something acts on both sides at once, or if no delay is left.
    fn new(world: &World<'_>, options: &Options<'_>, parts: usize) -> Option<Self> {
        let simple = world.links.iter().all(|link| matches!(link, Link::Line(_)))
            && world.topology.edges.len() == world.links.len()
            && world.nodes.iter().all(|node| node.agent.is_none())
            && world.sampling == Sampling::Off
            && world.case.is_none()
            && world.states.is_none()
            && options.algorithms.is_none()
            && !options.captures();
        if !simple || !(2..=usize::from(u8::MAX)).contains(&parts) {
            return None;
        }
        let nodes = Self::place(world, parts);
        let flows = world.scenario.flows.iter().map(|flow| nodes[flow.from]).collect();
        let edges = &world.topology.edges;
        let mut queues: Vec<u8> = edges.iter().map(|edge| nodes[edge.from]).collect();
        let arrivals: Vec<u8> = edges.iter().map(|edge| nodes[edge.to]).collect();
        let mut lookahead = Duration::MAX;
        for flow in 0..world.flows.len() {
            for along in [false, true] {
                let mut way = world.routes.start(flow, along);
                let mut folded_into = None;
                while let Some(edge) = world.routes.hop(way).edge() {
                    if let Some(before) = folded_into {
                        queues[edge] = before;
                    }
                    folded_into = world.routes.hop(way).goes_on().then_some(queues[edge]);
                    if folded_into.is_none() && queues[edge] != arrivals[edge] {
                        let link = &world.scenario.links[edge / 2];
                        let direction = if edge.is_multiple_of(2) { &link.forward } else { &link.reverse };
                        lookahead = lookahead.min(direction.delay);
                    }
                    way = way.next();
                }
            }
        }
        (!lookahead.is_zero()).then_some(Self { parts, flows, queues, arrivals, lookahead })
    }

    /// The part of each node. Hosts between which there are flows are in one part; such groups go to the part with the
    /// fewest flows, and routers to the parts in turn.
    fn place(world: &World<'_>, parts: usize) -> Vec<u8> {
        let nodes = world.scenario.nodes.len();
        let mut group: Vec<usize> = (0..nodes).collect();
        let find = |group: &mut Vec<usize>, mut node: usize| {
            while group[node] != node {
                group[node] = group[group[node]];
                node = group[node];
            }
            node
        };
        let mut flows = vec![0; nodes];
        for flow in &world.scenario.flows {
            let (a, b) = (find(&mut group, flow.from), find(&mut group, flow.to));
            group[a.max(b)] = a.min(b);
        }
        for flow in &world.scenario.flows {
            flows[find(&mut group, flow.from)] += 1;
        }
        let mut load = vec![0; parts];
        let mut routers = 0;
        let mut of_group = vec![0_u8; nodes];
        (0..nodes)
            .map(|node| {
                let first = find(&mut group, node);
                if flows[first] == 0 {
                    routers += 1;
                    return ((routers - 1) % parts) as u8;
                }
                if first == node {
                    let part = (0..parts).min_by_key(|&part| load[part]).unwrap_or(0);
                    load[part] += flows[node];
                    of_group[node] = part as u8;
                }
                of_group[first]
            })
            .collect()
    }

    /// Leaves a world with the share of one part.
    fn share(&self, world: &mut World<'_>, own: usize) {
        for flow in (0..world.flows.len()).filter(|&flow| usize::from(self.flows[flow]) != own) {
            world.agenda.arm(world.slots.app(flow), Instant::NEVER);
        }
        let out = (0..self.parts).map(|_| Vec::new()).collect();
        world.share = Some(Box::new(Share { to: self.arrivals.clone(), own: own as u8, out }));
    }

    /// Moves what another part has to the world of the first part.
    fn merge(&self, world: &mut World<'_>, mut other: World<'_>, part: usize) {
        for (edge, _) in self.queues.iter().enumerate().filter(|&(_, &owner)| usize::from(owner) == part) {
            core::mem::swap(&mut world.links[edge], &mut other.links[edge]);
        }
        for (flow, &owner) in self.flows.iter().enumerate() {
            let lost = world.flows[flow].meter.lost_packets + other.flows[flow].meter.lost_packets;
            if usize::from(owner) == part {
                core::mem::swap(&mut world.flows[flow], &mut other.flows[flow]);
            }
            world.flows[flow].meter.lost_packets = lost;
        }
        world.connections.adopt(other.connections);
        world.events += other.events;
        world.packets += other.packets;
    }
}

/// What the threads of a run share.
struct Meeting {
    parts: usize,
    here: AtomicUsize,
    round: AtomicUsize,
    /// Per part: its next event.
    next: Vec<AtomicU64>,
    letters: Vec<Mutex<Vec<Crossing>>>,
    broken: AtomicBool,
}

/// Tells the other parts when a part panics, so that they do not wait for it.
struct Leave<'a>(&'a AtomicBool);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

/// Turns of a waiting thread before it offers its core to others.
const TURNS: u32 = 2_000;

impl Meeting {
    fn new(parts: usize) -> Self {
        Self {
            parts,
            here: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            next: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            letters: (0..parts).map(|_| Mutex::default()).collect(),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all parts are here; returns whether one of them gave up.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.parts {
            self.here.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round && !self.broken.load(Ordering::Acquire) {
            turns += 1;
            if turns < TURNS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.broken.load(Ordering::Acquire)
    }

    /// Runs one part to the end.
    fn attend(&self, world: &mut World<'_>, own: usize, lookahead: Duration, options: &Options<'_>) {
        let _leave = Leave(&self.broken);
        loop {
            let letters = match self.letters[own].lock() {
                Ok(mut letters) => core::mem::take(&mut *letters),
                Err(_) => return self.broken.store(true, Ordering::Release),
            };
            world.accept(letters);
            let next = world.agenda.next().map_or(u64::MAX, |(time, _)| time.as_nanos());
            self.next[own].store(next, Ordering::Release);
            if self.wait() {
                return;
            }
            let first = self.next.iter().map(|next| next.load(Ordering::Acquire)).min().unwrap_or(u64::MAX);
            if first > world.end.as_nanos() {
                return;
            }
            if options.stopped() {
                return self.broken.store(true, Ordering::Release);
            }
            world.run_before(Instant::from_nanos(first) + lookahead);
            if own == 0
                && let Some(progress) = options.progress
            {
                progress.set(world.now.as_nanos(), world.end.as_nanos());
            }
            let Some(share) = &mut world.share else { return };
            for (part, out) in share.out.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
                match self.letters[part].lock() {
                    Ok(mut letters) => letters.append(out),
                    Err(_) => return self.broken.store(true, Ordering::Release),
                }
            }
            if self.wait() {
                return;
            }
        }
    }
}

impl World<'_> {
    /// Handles all events before `until`, and none after the end of the run.
    fn run_before(&mut self, until: Instant) {
        while let Some((time, slot)) = self.agenda.next()
            && time < until
            && time <= self.end
        {
            self.now = time;
            self.events += 1;
            self.handle(slot, &mut NoProbe);
        }
    }

    /// Puts packets that come from other parts on their wires.
    fn accept(&mut self, letters: Vec<Crossing>) {
        for Crossing { edge, arrival, parcel, packet } in letters {
            if let Some(parcel) = self.parcels.keep(&packet, parcel.flow(), parcel.along(), parcel.way())
                && let Link::Line(line) = &mut self.links[edge]
                && line.put_on_wire(parcel, arrival)
            {
                self.agenda.arm(Slots::link(edge), arrival);
            }
        }
    }

    /// Hands a packet that arrives at the far end of `edge` to the part of that end; returns whether it is another.
    #[inline]
    pub(crate) fn crosses(&mut self, edge: usize, parcel: Parcel, arrival: Instant) -> bool {
        let Some(share) = &mut self.share else { return false };
        let to = share.to[edge];
        if to == share.own {
            return false;
        }
        let packet = self.parcels.take(parcel);
        share.out[usize::from(to)].push(Crossing { edge, arrival, parcel, packet });
        true
    }
}

/// Runs `world`, which was just built, to its end on `options.threads` threads; returns `false`, with nothing done, if
/// it cannot be cut.
///
/// # Errors
/// As for [`build`](crate::build::build), and [`RunError::Stopped`].
pub(crate) fn run_in_parts<'a>(
    world: &mut World<'a>,
    scenario: &'a Scenario,
    options: &Options<'_>,
) -> Result<bool, RunError> {
    let parts = options.threads;
    let Some(cut) = Cut::new(world, options, parts) else { return Ok(false) };
    let mut others = (1..parts).map(|_| build(scenario, options)).collect::<Result<Vec<_>, _>>()?;
    cut.share(world, 0);
    for (number, other) in others.iter_mut().enumerate() {
        cut.share(other, number + 1);
    }
    let meeting = Meeting::new(parts);
    let all = std::thread::scope(|scope| {
        for (number, other) in others.iter_mut().enumerate() {
            let (meeting, lookahead) = (&meeting, cut.lookahead);
            let attend = move || meeting.attend(other, number + 1, lookahead, options);
            if std::thread::Builder::new().spawn_scoped(scope, attend).is_err() {
                meeting.broken.store(true, Ordering::Release);
                return false;
            }
        }
        meeting.attend(world, 0, cut.lookahead, options);
        true
    });
    if !all {
        // The system has no thread for each part; those that started have done nothing.
        *world = build(scenario, options)?;
        return Ok(false);
    }
    if meeting.broken.load(Ordering::Acquire) {
        return Err(RunError::Stopped);
    }
    // No event is left; this counts what was transmitted by the end.
    world.run(&mut NoProbe, options.progress)?;
    for (number, mut other) in others.into_iter().enumerate() {
        other.run(&mut NoProbe, None)?;
        cut.merge(world, other, number + 1);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// How a dumbbell of two pairs is cut into two: the parts of its nodes, and the lookahead.
    fn cut(access: &str, more: &str) -> Option<(Vec<u8>, Duration)> {
        let text = format!(
            "format = 1\nname = \"t\"\nduration = \"1 s\"\n{more}\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
             bottleneck = {{ rate = \"1 Mb/s\", delay = \"5 ms\" }}\n\
             access = {{ rate = \"1 Gb/s\", delay = \"{access}\" }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
        );
        let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
        let options = Options::default();
        let world = build(&scenario, &options).unwrap();
        let cut = Cut::new(&world, &options, 2)?;
        Some((cut.flows, cut.lookahead))
    }

    #[test]
    fn pairs_of_hosts_are_divided_and_the_lookahead_is_the_delay_of_what_crosses() {
        let off = "sampling = \"off\"";
        assert_eq!(cut("2 ms", off), Some((vec![0, 1], Duration::from_millis(2))));
        assert_eq!(cut("0 s", off), None, "no lookahead");
        assert_eq!(cut("2 ms", "sampling = \"10 ms\""), None, "samples see both parts");
    }
}
