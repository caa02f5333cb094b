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
mod meeting;
mod place;
mod rows;
mod traffic;

use crate::build::{Shared, build_with};
use crate::edge::Link;
use crate::parcels::Parcel;
use crate::run::{Options, RunError, Threads, no_samples};
use crate::slots::Slots;
use crate::world::World;
use cut::Cut;
use meeting::Meeting;
use narrows_fabric::Progress;
use narrows_samples::{NoProbe, Probe, Samples};
use narrows_scenario::{Sampling, Scenario};
use narrows_units::Instant;
use narrows_wire::{Compact, Packet};
use rows::{FLOWS_BY, QUEUES_BY, Rows, Writer};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

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
    /// As it is stored in the tables of both parts.
    packet: (Compact, Option<Box<Packet>>),
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

impl World<'_> {
    /// Handles all events before `until`, and none after the end of the run; `None` if the run was asked to stop.
    fn run_before(&mut self, until: Instant, options: &Options<'_>) -> Option<()> {
        self.look_at = self.look_at.min(self.events + 1);
        loop {
            let next = self.agenda.next().filter(|&(time, _)| time < until && time <= self.end);
            if self.visits.come_before(next.map_or(Instant::NEVER, |(time, _)| time)) {
                self.visit_all();
                continue;
            }
            let Some((time, slot)) = next else { break };
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
                self.visit_first();
            }
        }
        Some(())
    }

    /// Puts packets that come from other parts on their wires.
    fn accept(&mut self, letters: &mut Vec<Crossing>) {
        for Crossing { edge, arrival, parcel, packet } in letters.drain(..) {
            let parcel = self.parcels.move_in(parcel, packet);
            if let Link::Line(line) = &mut self.links[edge]
                && line.put_on_wire(parcel, arrival)
            {
                self.agenda.arm_with(Slots::link(edge), arrival, parcel.hint());
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
        let packet = self.parcels.move_out(parcel);
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
    let meeting = Meeting::new(&cut);
    let sampled = world.sampling != Sampling::Off;
    let mut beside = no_samples(options);
    let mut writer = Some(Writer::new(&mut beside, world.flows.len())).filter(|_| sampled);
    let others = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(cut.parts - 1);
        for own in 1..cut.parts {
            let (meeting, shared) = (&meeting, Shared::of(world));
            let writer = if own == FLOWS_BY { writer.take() } else { None };
            let part = move || run_other(meeting, own, scenario, shared, writer, options);
            match std::thread::Builder::new().spawn_scoped(scope, part) {
                Ok(thread) => threads.push(thread),
                Err(_) => {
                    // The system has no thread for each part; those that started end when they come to the meeting.
                    meeting.give_up();
                    return None;
                }
            }
        }
        cut.share(world, 0);
        let writer = Some(Writer::new(samples, 0)).filter(|_| sampled);
        meeting.attend(world, QUEUES_BY, writer, options);
        let own = if meeting.is_given_up() { Err(RunError::Stopped) } else { finish(world, options.progress) };
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        let others: Result<Vec<_>, _> = threads.into_iter().map(join).collect();
        Some(own.and(others))
    });
    let Some(others) = others else { return Ok(false) };
    if let Some(fault) = samples.fault().or(beside.fault()) {
        return Err(fault.clone().into());
    }
    for (number, other) in others?.into_iter().enumerate() {
        cut.merge(world, other, number + 1);
    }
    samples.flows = beside.flows;
    Ok(true)
}

/// Builds and runs a part other than the first, on a thread of its own.
fn run_other<'a>(
    meeting: &Meeting,
    own: usize,
    scenario: &'a Scenario,
    shared: Shared,
    writer: Option<Writer<'_>>,
    options: &Options<'_>,
) -> Result<World<'a>, RunError> {
    let mut world = meeting.or_give_up(|| build_with(scenario, options, Some(shared)))?;
    meeting.cut.share(&mut world, own);
    meeting.attend(&mut world, own, writer, options);
    if meeting.is_given_up() {
        return Err(RunError::Stopped);
    }
    finish(&mut world, None)?;
    world.put_away();
    Ok(world)
}

/// Counts what a part transmitted by the end of the run, when no event is left.
fn finish(world: &mut World<'_>, progress: Option<&Progress>) -> Result<(), RunError> {
    world.run(&mut NoProbe, progress)
}

#[cfg(test)]
mod tests;
