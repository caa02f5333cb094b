//! Drop-tail: no active management, only the limit.
//!
//! # Idea
//! An arriving packet that does not fit is dropped; all others wait in order.
//!
//! # Sources
//! None of its own: it is the baseline that RFC 7567, section 2, describes and advises against.
//!
//! # State
//! None; the limit is the storage's ([`Fifo`]).
//!
//! # Differences
//! - The limit counts waiting packets, without the one in transmission; a packet is taken while `length < limit`. That
//!   is Linux's `pfifo` and `bfifo` and ns-3's `DropTailQueue`. ns-2 drops where `length + 1 >= limit_`, so its
//!   `limit_ 50` holds 49 waiting packets: use 49 here.
//! - Byte limits: a packet is taken if it fits whole, as in Linux's `bfifo`. ns-2 compares with
//!   `limit_ * mean_pktsize_` and refuses the packet that would fill the last byte.
//! - Drops are always at the tail; ns-2's `drop_front_` has no counterpart.
//!
//! # Limits
//! A limit below one packet drops everything, even on an idle link.
//!
//! # Vectors
//! `a_burst_of_60_into_ns2_limit_50_loses_10`.

use crate::registry::{Discipline, Row, free};
use crate::{Aqm, Fifo, Limit, Queue, QueueView, Verdict};
use narrows_units::Instant;
use narrows_wire::Packet;

/// The row of drop-tail.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "droptail",
        title: "Drop-tail",
        doc: "first in, first out, until it is full",
        sources: &["RFC 7567, section 2"],
        params: &[],
        variables: &[],
        tail_only: true,
        fit: free,
        source: include_str!("droptail.rs"),
    },
    build: |setup| droptail(setup.limit),
};

/// The discipline that never marks or drops a packet that fits.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn on_enqueue(&mut self, _packet: &Packet, _view: &QueueView, _now: Instant) -> Verdict {
        Verdict::Pass
    }

    #[inline]
    fn ignores_passing(&self) -> bool {
        true
    }
}

/// A drop-tail queue that holds up to `limit`.
#[must_use]
pub fn droptail(limit: Limit) -> Box<dyn Queue> {
    Box::new(Fifo::new(limit, DropTail))
}
