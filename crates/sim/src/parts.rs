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

mod cut;
mod place;
mod rows;
mod traffic;

use crate::build::build;
use crate::edge::Link;
use crate::parcels::Parcel;
use crate::run::{Options, RunError, Threads, no_samples};
use crate::slots::Slots;
use crate::world::World;
use cut::Cut;
use narrows_fabric::Progress;
use narrows_samples::{NoProbe, Probe, Samples};
use narrows_scenario::{Sampling, Scenario};
use narrows_units::Instant;
use narrows_wire::Packet;
use rows::{Boxes, FLOWS_BY, QUEUES_BY, Rows, Writer};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Threads that a run takes by itself, if it may and if they pay: as many as have been measured.
const MOST_BY_ITSELF: usize = 2;

/// Events between two looks at whether the run was asked to stop.
const LOOK_EVERY: u64 = 1 << 14;

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
    cut: Arc<Cut>,
    /// This part.
    own: u8,
    /// Packets for each part, and the earliest arrival of one.
    out: Vec<Vec<Crossing>>,
    earliest: Instant,
    rows: Rows,
}

/// What parts hand to each other at the end of a window.
#[derive(Debug)]
struct Exchange {
    /// Per part: its next event, or the earliest arrival of a packet that it hands over.
    next: Vec<AtomicU64>,
    /// Packets, by the part that they come from times the number of parts, plus the part that they go to.
    letters: Vec<Mutex<Vec<Crossing>>>,
    /// Per part: rows of samples that it has made.
    rows: Vec<Boxes>,
}

/// What the threads of a run share.
///
/// Parts meet once per window. What they write at the end of one window they read at the beginning of the next, while
/// others may already write at its end; so windows use two exchanges in turn.
#[derive(Debug)]
struct Meeting {
    cut: Arc<Cut>,
    here: AtomicUsize,
    round: AtomicUsize,
    exchanges: [Exchange; 2],
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

/// Turns of a waiting thread before it offers its core to others: few, because on a busy machine the part that it waits
/// for may have no other core.
const TURNS: u32 = 100;

impl Exchange {
    fn new(parts: usize) -> Self {
        Self {
            next: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            letters: (0..parts * parts).map(|_| Mutex::default()).collect(),
            rows: (0..parts).map(|_| Boxes::default()).collect(),
        }
    }

    /// Hands over what part `own` has for others. The letter boxes give back empty vectors with room.
    fn put(&self, world: &mut World<'_>, own: usize) -> Option<()> {
        let share = world.share.as_mut()?;
        for (part, out) in share.out.iter_mut().enumerate().filter(|(_, out)| !out.is_empty()) {
            core::mem::swap(&mut *self.letters[own * self.next.len() + part].lock().ok()?, out);
        }
        share.rows.put_into(&self.rows[own]);
        let earliest = core::mem::replace(&mut share.earliest, Instant::NEVER);
        let next = world.agenda.next().map_or(Instant::NEVER, |(time, _)| time).min(earliest);
        self.next[own].store(next.as_nanos(), Ordering::Release);
        Some(())
    }

    /// Takes the packets for part `own`.
    fn take(&self, world: &mut World<'_>, own: usize) -> Option<()> {
        let parts = self.next.len();
        for part in (0..parts).filter(|&part| part != own) {
            world.accept(&mut *self.letters[part * parts + own].lock().ok()?);
        }
        Some(())
    }
}

impl Meeting {
    fn new(cut: &Arc<Cut>) -> Self {
        Self {
            cut: Arc::clone(cut),
            here: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            exchanges: [Exchange::new(cut.parts), Exchange::new(cut.parts)],
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all parts are here; returns whether one of them gave up.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.cut.parts {
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

    /// Runs one part to the end; `writer` is that of a part that writes rows.
    fn attend(&self, world: &mut World<'_>, own: usize, mut writer: Option<Writer<'_>>, options: &Options<'_>) {
        let _leave = Leave(&self.broken);
        if self.windows(world, own, &mut writer, options).is_none() {
            self.broken.store(true, Ordering::Release);
        }
    }

    /// Runs one part window by window; `None` if it gave up.
    fn windows(
        &self,
        world: &mut World<'_>,
        own: usize,
        writer: &mut Option<Writer<'_>>,
        options: &Options<'_>,
    ) -> Option<()> {
        for exchange in self.exchanges.iter().cycle() {
            exchange.put(world, own)?;
            if self.wait() {
                return None;
            }
            let first = exchange.next.iter().map(|next| next.load(Ordering::Acquire)).min()?;
            exchange.take(world, own)?;
            if let Some(writer) = writer
                && !writer.write(own, &exchange.rows, &self.cut)
            {
                return None;
            }
            if first > world.end.as_nanos() {
                break;
            }
            world.run_before(Instant::from_nanos(first) + self.cut.window, options)?;
        }
        Some(())
    }
}

impl World<'_> {
    /// Handles all events before `until`, and none after the end of the run; `None` if the run was asked to stop.
    fn run_before(&mut self, until: Instant, options: &Options<'_>) -> Option<()> {
        self.look_at = self.look_at.min(self.events + 1);
        while let Some((time, slot)) = self.agenda.next()
            && time < until
            && time <= self.end
        {
            self.now = time;
            self.events += 1;
            if self.events >= self.look_at {
                self.look_at = self.events + LOOK_EVERY;
                if options.stopped() {
                    return None;
                }
                if let (Some(progress), Some(0)) = (options.progress, self.share.as_ref().map(|share| share.own)) {
                    progress.set(time.as_nanos(), self.end.as_nanos());
                }
            }
            if slot == self.slots.sampler() {
                self.sample_share();
            } else {
                self.handle(slot, &mut NoProbe);
            }
        }
        Some(())
    }

    /// Puts packets that come from other parts on their wires.
    fn accept(&mut self, letters: &mut Vec<Crossing>) {
        for Crossing { edge, arrival, parcel, packet } in letters.drain(..) {
            let parcel = self.parcels.keep(&packet, parcel.flow(), parcel.along(), parcel.way());
            if let Link::Line(line) = &mut self.links[edge]
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
        let to = share.cut.arrivals()[edge];
        if to == share.own {
            return false;
        }
        let packet = self.parcels.take(parcel);
        share.earliest = share.earliest.min(arrival);
        share.out[usize::from(to)].push(Crossing { edge, arrival, parcel, packet });
        true
    }
}

/// Whether a run of this process has taken several threads by itself; others then do not, as they run beside it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives back what a run took by itself.
struct Taken;

impl Taken {
    fn take() -> Option<Self> {
        (!TAKEN.swap(true, Ordering::AcqRel)).then_some(Self)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// How a run is divided by itself or on request; `None` for one thread.
fn divided(world: &World<'_>, options: &Options<'_>) -> Option<Cut> {
    match options.threads {
        Threads::One => None,
        Threads::Exactly(parts) => Cut::new(world, options, parts),
        Threads::WherePays => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let cut = Cut::new(world, options, cores.min(MOST_BY_ITSELF))?;
            cut.pays(world).then_some(cut)
        }
    }
}

/// Runs `world`, which was just built, to its end on several threads; returns `false`, with nothing done, if it is to
/// have one.
///
/// # Errors
/// As for [`build`](crate::build::build), [`RunError::Samples`], and [`RunError::Stopped`].
pub(crate) fn run_in_parts<'a>(
    world: &mut World<'a>,
    samples: &mut Samples,
    scenario: &'a Scenario,
    options: &Options<'_>,
) -> Result<bool, RunError> {
    let Some(cut) = divided(world, options).map(Arc::new) else { return Ok(false) };
    let taken = if options.threads == Threads::WherePays { Taken::take() } else { None };
    if options.threads == Threads::WherePays && taken.is_none() {
        return Ok(false);
    }
    let mut others = (1..cut.parts).map(|_| build(scenario, options)).collect::<Result<Vec<_>, _>>()?;
    cut.share(world, 0);
    for (number, other) in others.iter_mut().enumerate() {
        cut.share(other, number + 1);
    }
    let meeting = Meeting::new(&cut);
    let sampled = world.sampling != Sampling::Off;
    let mut beside = no_samples(options);
    let flows = world.flows.len();
    let mut writer = Some(Writer::new(&mut beside, flows)).filter(|_| sampled);
    let all = std::thread::scope(|scope| {
        for (number, other) in others.iter_mut().enumerate() {
            let meeting = &meeting;
            let writer = if number + 1 == FLOWS_BY { writer.take() } else { None };
            let attend = move || meeting.attend(other, number + 1, writer, options);
            if std::thread::Builder::new().spawn_scoped(scope, attend).is_err() {
                meeting.broken.store(true, Ordering::Release);
                return false;
            }
        }
        let writer = Some(Writer::new(samples, 0)).filter(|_| sampled);
        meeting.attend(world, QUEUES_BY, writer, options);
        true
    });
    if !all {
        // The system has no thread for each part; those that started have done nothing.
        *world = build(scenario, options)?;
        return Ok(false);
    }
    if let Some(fault) = samples.fault().or(beside.fault()) {
        return Err(fault.clone().into());
    }
    if meeting.broken.load(Ordering::Acquire) {
        return Err(RunError::Stopped);
    }
    samples.flows = beside.flows;
    // No event is left; this counts what was transmitted by the end.
    world.run(&mut NoProbe, options.progress)?;
    for (number, mut other) in others.into_iter().enumerate() {
        other.run(&mut NoProbe, options.progress.filter(|progress: &&Progress| progress.stopped()))?;
        cut.merge(world, other, number + 1);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::Duration;

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
        Some((cut.flows().to_vec(), cut.window))
    }

    #[test]
    fn two_threads_pay_for_much_traffic_and_long_delays_only() {
        let pays = |rate: &str, access: &str, duration: &str| {
            let text = format!(
                "format = 1\nname = \"t\"\nduration = \"{duration}\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
                 bottleneck = {{ rate = \"{rate}\", delay = \"5 ms\" }}\naccess = {{ rate = \"10 Gb/s\", delay = \"{access}\" }}\n\
                 [[flows]]\nname = \"f\"\nfrom = \"s*\"\nto = \"d*\"\ncopies = 2\n"
            );
            let scenario = narrows_scenario::parse(&text, "t.toml", &[], &crate::catalogue()).unwrap();
            let options = Options::default();
            let world = build(&scenario, &options).unwrap();
            Cut::new(&world, &options, 2).unwrap().pays(&world)
        };
        assert!(pays("1 Gb/s", "2 ms", "10 s"), "167 packets per window, 833,000 in all");
        assert!(!pays("1 Gb/s", "1 ms", "10 s"), "83 packets per window");
        assert!(!pays("1 Gb/s", "2 ms", "500 ms"), "41,700 packets in all");
    }

    #[test]
    fn pairs_of_hosts_are_divided_and_the_lookahead_is_the_delay_of_what_crosses() {
        let off = "sampling = \"off\"";
        assert_eq!(cut("2 ms", off), Some((vec![0, 1], Duration::from_millis(2))));
        assert_eq!(cut("0 s", off), None, "no lookahead");
        assert_eq!(cut("2 ms", "sampling = \"10 ms\""), cut("2 ms", off));
        assert_eq!(cut("2 ms", "sampling = \"events\""), None, "samples see both parts");
    }
}
