//! A receiver that breaks the rules to make its sender send more.
//!
//! S. Savage et al., "TCP Congestion Control with a Misbehaving Receiver", SIGCOMM CCR 29(5), 1999, has the three
//! attacks; [`Misbehavior`] has their parameters. The receiver decides as an honest one when an ACK is due. What then
//! leaves in its place is decided here:
//!
//! * **ACK division**: several ACKs, each of an equal part of the octets, the last of all of them.
//! * **DupACK spoofing**: the ACK, then duplicates of it.
//! * **Optimistic ACKing**: an ACK of the highest octet that has arrived and a *lead*. The lead grows by what arrives,
//!   as a sender's window does in slow start. A sender answers an ACK of what it has not sent with an ACK whose
//!   sequence number is SND.NXT (RFC 9293, section 3.10.7.4). The receiver falls back to that number and acknowledges
//!   it.
//! * **Concealment**: an optimistic receiver never reports a gap. It cuts the gap out of its stream: the octets do not
//!   count as delivered, whether they were lost or come later.
//!
//! Different from the paper: the spoofed duplicates follow each ACK of new data, where the paper's receiver repeats the
//! ACK of the SYN until the sender's timer is about to expire; and the paper's optimistic receiver guesses the rate at
//! which data comes, where this one is driven by the data that arrives.
//!
//! ACKs that data carries (a sender of its own data acknowledges too) and window updates are honest.

use super::Receiver;
use narrows_settings::Misbehavior;
use narrows_units::{Bytes, SeqNum};
use narrows_wire::Ecn;

/// The state of a receiver that misbehaves.
#[derive(Debug)]
pub(crate) struct Misbehaving {
    rules: Misbehavior,
    /// Octets beyond the highest arrived that the next ACK covers.
    lead: u64,
    /// The highest offset that an ACK from here carried.
    sent: u64,
    /// The codepoint of the last data that was not marked.
    ect: Ecn,
}

impl Misbehaving {
    /// A receiver that has seen nothing.
    pub(super) fn new(rules: Misbehavior) -> Self {
        Self { rules, lead: 0, sent: 0, ect: Ecn::Ect0 }
    }

    fn is_optimistic(&self) -> bool {
        !self.rules.optimistic_acks.is_zero()
    }
}

/// The ACKs that leave in place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What was acknowledged before, and what the last of them acknowledges, as offsets.
    from: u64,
    to: u64,
    /// In how many ACKs the octets between are acknowledged.
    pieces: u64,
    /// How many duplicates follow.
    duplicates: u64,
}

impl Plan {
    /// The acknowledged offsets in order. A piece has at least one octet.
    pub(crate) fn offsets(self) -> impl Iterator<Item = u64> {
        let Self { from, to, pieces, duplicates } = self;
        let octets = to - from;
        let pieces = pieces.min(octets).max(1);
        // `octets` and `pieces` are of one ACK: their product is far below 2^64.
        (1..=pieces).map(move |i| from + octets * i / pieces).chain((0..duplicates).map(move |_| to))
    }
}

impl Receiver {
    fn misbehaving(&self) -> Option<&Misbehaving> {
        self.unusual.as_ref().and_then(|unusual| unusual.misbehaving.as_ref())
    }

    fn misbehaving_mut(&mut self) -> Option<&mut Misbehaving> {
        self.unusual.as_mut().and_then(|unusual| unusual.misbehaving.as_mut())
    }

    /// Whether it breaks any rule.
    #[inline]
    pub(crate) fn misbehaves(&self) -> bool {
        self.misbehaving().is_some()
    }

    /// The codepoint with which a data segment counts that arrived with `ecn`.
    pub(crate) fn seen_codepoint(&mut self, ecn: Ecn) -> Ecn {
        let Some(it) = self.misbehaving_mut().filter(|it| it.rules.conceal_ce) else { return ecn };
        match ecn {
            Ecn::Ce => it.ect,
            Ecn::NotEct => ecn,
            Ecn::Ect0 | Ecn::Ect1 => {
                it.ect = ecn;
                ecn
            }
        }
    }

    /// Takes note of `len` octets that have arrived: an optimistic receiver's lead grows, and gaps are cut out.
    pub(crate) fn run_ahead(&mut self, len: u64) {
        let Some(it) = self.misbehaving_mut().filter(|it| it.is_optimistic()) else { return };
        it.lead = (it.lead + len).min(it.rules.optimistic_acks.as_u64());
        while self.gap && self.cut_gap() {}
    }

    /// Cuts the first gap out of the stream, so that what waits behind it is in order.
    fn cut_gap(&mut self) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        let Some(start) = waiting.start() else { return false };
        let gap = start - self.nxt;
        waiting.shift(gap);
        self.nxt = waiting.advance(self.nxt);
        self.gap = !waiting.is_empty();
        self.first += Bytes::new(gap);
        for edge in [&mut self.edge, &mut self.offered, &mut self.promised] {
            *edge = edge.saturating_sub(gap).max(self.nxt);
        }
        self.fin = self.fin.get().map_or(self.fin, |fin| crate::offset::MaybeOffset::at(fin - gap));
        (self.dsack, self.field) = (None, None);
        if let Some(it) = self.misbehaving_mut() {
            it.sent = it.sent.saturating_sub(gap);
        }
        true
    }

    /// The ACKs that leave for the one that is due; `None` if an honest one does. Counts them as sent.
    pub(crate) fn plan_acks(&mut self) -> Option<Plan> {
        let (nxt, acked, offered, finished) = (self.nxt, self.acked, self.offered, self.is_finished());
        let it = self.misbehaving_mut()?;
        let from = acked.max(it.sent);
        let to = match it.lead {
            lead if !finished => (nxt + lead).min(offered).max(nxt),
            _ => nxt,
        };
        let to = to.max(it.sent);
        it.sent = to;
        if to > from {
            let Misbehavior { ack_division, duplicate_acks, .. } = it.rules;
            return Some(Plan { from, to, pieces: ack_division.into(), duplicates: duplicate_acks.into() });
        }
        it.is_optimistic().then_some(Plan { from: to, to, pieces: 1, duplicates: 0 })
    }

    /// Takes the sequence number of an ACK without data, as an offset: if that is less than what was acknowledged, the
    /// sender may have refused it. Returns whether to acknowledge that number instead.
    pub(crate) fn on_refusal(&mut self, offset: i64) -> bool {
        let nxt = self.nxt;
        let Some(it) = self.misbehaving_mut().filter(|it| it.is_optimistic()) else { return false };
        if offset >= it.sent as i64 {
            return false;
        }
        let sent = offset.max(nxt as i64) as u64;
        (it.lead, it.sent) = (sent - nxt, sent);
        true
    }

    /// The sequence number and the window field of an ACK of this offset.
    pub(crate) fn ack_of(&self, offset: u64) -> (SeqNum, u16) {
        let field = self.offered.saturating_sub(offset) >> self.shift;
        (self.first + Bytes::new(offset), u16::try_from(field).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offsets(from: u64, to: u64, pieces: u64, duplicates: u64) -> Vec<u64> {
        Plan { from, to, pieces, duplicates }.offsets().collect()
    }

    #[test]
    fn pieces_divide_the_octets_equally() {
        assert_eq!(offsets(1000, 2000, 4, 0), [1250, 1500, 1750, 2000]);
        assert_eq!(offsets(1000, 2000, 1, 2), [2000, 2000, 2000]);
        assert_eq!(offsets(10, 13, 5, 0), [11, 12, 13], "a piece has an octet");
        assert_eq!(offsets(10, 10, 5, 0), [10]);
    }

    proptest! {
        #[test]
        fn a_plan_acknowledges_everything_once(from in 0u64..1 << 40, octets in 1u64..1 << 24, pieces in 1u64..1000) {
            let all = offsets(from, from + octets, pieces, 0);
            prop_assert_eq!(all.last().copied(), Some(from + octets));
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all[0] > from);
            prop_assert_eq!(all.len() as u64, pieces.min(octets));
        }
    }
}
