//! The part of a train that is on its first line ([`trains`](crate::trains)).

use super::{Line, Run};
use narrows_units::{Bytes, Duration, Instant};

/// A run of packets over a line and all lines folded into it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Train {
    /// The size in bytes; no packet has size 0, which is for no train.
    pub(crate) size: u32,
    /// Whether a packet may leave the first line at once after another ([`Run::whole`]).
    pub(crate) whole: bool,
    /// Packets of the train; the runs of its lines do not count them yet.
    pub(crate) packets: u64,
    /// Time of a transmission on the first line.
    pub(crate) time: Duration,
    /// From the start of a transmission on the first line to the arrival at the end of the last.
    pub(crate) passage: Duration,
    /// The last time at which a packet can join: a later one would pass the time of a sample, or arrive after the end
    /// of the run.
    pub(crate) until: Instant,
}

/// Where a line leads, if that is the same for all its packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fold {
    /// Lines of a train that begins here, this one included; 0 if none begins here.
    hops: u16,
    /// The last of them.
    last: u32,
    /// The line folded into this one.
    next: u32,
    /// Whether all packets of such a train are for one host, which may go ahead.
    home: bool,
}

impl Line {
    /// Lets trains of `hops` lines begin here, the last of which is `last`.
    pub(crate) fn allow_trains(&mut self, hops: usize, last: usize) {
        // A fold that is too long for the number has no trains.
        (self.fold.hops, self.fold.last) = (u16::try_from(hops).unwrap_or(0), last as u32);
    }

    /// Notes the line that is folded into this one.
    pub(crate) fn set_next(&mut self, next: usize) {
        self.fold.next = next as u32;
    }

    /// Notes that all packets of trains from here are for one host, which may go ahead.
    pub(crate) fn set_home(&mut self) {
        self.fold.home = true;
    }

    /// Whether all packets of trains from here are for one host, which may go ahead.
    pub(crate) fn is_home(&self) -> bool {
        self.fold.home
    }

    /// [`ride`](Self::ride) where all packets of the train are for one host, which may go ahead.
    #[inline(always)]
    pub(crate) fn ride_home(&mut self, size: Bytes, at: Instant) -> Option<Instant> {
        if self.fold.home { self.ride(size, at) } else { None }
    }

    /// The number of lines of trains that begin here, and the last of them.
    #[inline]
    pub(crate) fn fold(&self) -> (u32, usize) {
        (u32::from(self.fold.hops), self.fold.last as usize)
    }

    /// The line that is folded into this one.
    pub(crate) fn next(&self) -> usize {
        self.fold.next as usize
    }

    /// What a packet takes that finds the transmitter free, if the last one did.
    pub(crate) fn run(&self) -> Run {
        self.run
    }

    /// When the line will next be sampled.
    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Accepts a packet of `size` at `at` if it goes with the train; returns when it arrives at the end of the fold.
    #[inline(always)]
    pub(crate) fn ride(&mut self, size: Bytes, at: Instant) -> Option<Instant> {
        let train = self.train;
        if size.as_u64() != u64::from(train.size)
            || at < self.free_at
            || at > train.until
            || (at == self.free_at && !train.whole)
        {
            return None;
        }
        debug_assert!(self.waiting.is_empty() && !self.lossy && self.takes(size));
        debug_assert!(self.run.size == train.size && self.run.time == train.time && at <= self.look_at);
        self.train.packets += 1;
        self.free_at = at + train.time;
        Some(at + train.passage)
    }

    /// Whether the last packet may begin a train.
    #[inline]
    pub(crate) fn may_begin_train(&self) -> bool {
        self.fold.hops > 0 && !self.run.is_none()
    }

    /// Whether there is a train.
    #[inline]
    pub(crate) fn has_train(&self) -> bool {
        self.train.size != 0
    }

    /// Begins a train.
    pub(crate) fn begin_train(&mut self, train: Train) {
        self.train = train;
    }

    /// Ends the train, if there is one; returns the number of its packets, if any, and when the last of them came.
    #[inline]
    pub(crate) fn end_train(&mut self) -> Option<(u64, Instant)> {
        let train = core::mem::take(&mut self.train);
        (train.packets > 0).then(|| (train.packets, self.free_at - train.time))
    }

    /// Counts packets of a train, the last of which came at `at`; returns when that one arrived at the far end.
    pub(crate) fn catch_up(&mut self, packets: u64, at: Instant) -> Instant {
        debug_assert!(!self.run.is_none() && self.waiting.is_empty());
        self.run.packets += packets;
        self.free_at = at + self.run.time;
        at + self.run.passage
    }
}
