//! Where the parts of a run meet once per window: they hand over packets and rows of samples, and agree on the next
//! window.

use super::Crossing;
use super::cut::Cut;
use super::rows::{Boxes, Writer};
use crate::run::Options;
use crate::world::World;
use narrows_units::Instant;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Turns of a waiting thread before it offers its core to others: few, because on a busy machine the part that it waits
/// for may have no other core.
const TURNS: u32 = 100;

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
pub(super) struct Meeting {
    pub(super) cut: Arc<Cut>,
    /// Parts that wait.
    here: AtomicUsize,
    /// Times that all parts were here.
    round: AtomicUsize,
    exchanges: [Exchange; 2],
    /// Whether a part gave up.
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
    pub(super) fn new(cut: &Arc<Cut>) -> Self {
        Self {
            cut: Arc::clone(cut),
            here: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            exchanges: [Exchange::new(cut.parts), Exchange::new(cut.parts)],
            broken: AtomicBool::new(false),
        }
    }

    /// Ends the run without a result: every part leaves when it comes here next.
    pub(super) fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Does what may fail; gives up if it does, or if it panics.
    pub(super) fn or_give_up<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _leave = Leave(&self.broken);
        work().inspect_err(|_| self.give_up())
    }

    /// Whether a part gave up.
    pub(super) fn is_given_up(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Waits until all parts are here; returns whether one of them gave up.
    fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.cut.parts {
            self.here.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
        }
        let mut turns = 0;
        while self.round.load(Ordering::Acquire) == round && !self.is_given_up() {
            turns += 1;
            if turns < TURNS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        self.is_given_up()
    }

    /// Runs one part to the end; `writer` is that of a part that writes rows.
    pub(super) fn attend(
        &self,
        world: &mut World<'_>,
        own: usize,
        mut writer: Option<Writer<'_>>,
        options: &Options<'_>,
    ) {
        let _leave = Leave(&self.broken);
        if self.windows(world, own, &mut writer, options).is_none() {
            self.give_up();
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
