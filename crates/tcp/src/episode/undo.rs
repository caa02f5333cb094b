//! Detection of spurious retransmissions: Eifel (RFC 3522) and D-SACK (RFC 2883, RFC 3708), and how Linux combines
//! them.
//!
//! Linux (`tcp_try_undo_recovery`, `tcp_try_undo_partial`, `tcp_try_undo_dsack`, `tcp_try_undo_loss`) differs from the
//! RFCs in what counts as proof:
//!
//! | | RFC 3522, RFC 3708 | Linux |
//! |---|---|---|
//! | timestamp | of the first ACK that advances, if the head was sent again | of each ACK that advances |
//! | while retransmissions are in the network | proof | no proof, unless the ACK ends recovery |
//! | an ACK advances before any retransmission | no proof | proof |
//! | D-SACK | one for each retransmission | a segment of a block for each, those before the episode too |
//! | D-SACK after a timeout | proof | proof once an ACK advances |

use crate::options::tick_before;
use narrows_cc::{Phase, Window};

/// What is known about the latest reduction.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// None if no reduction can be undone.
    reduction: Option<Box<Reduced>>,
    /// TSval of the episode's first retransmission, until the first ACK that advances SND.UNA; in Linux's style until
    /// the episode ends.
    first: Option<u32>,
}

/// A reduction, and what followed it.
#[derive(Debug)]
struct Reduced {
    /// The window before the reduction.
    before: Window,
    /// Whether the retransmission timer caused it.
    timeout: bool,
    /// Retransmissions that no D-SACK has reported as duplicates.
    unproven: u32,
    /// Whether any retransmission was sent.
    any: bool,
    /// SND.UNA at the reduction: D-SACKs below it are about older data.
    since: u64,
}

/// A reduction that proved spurious.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spurious {
    /// The window to restore.
    pub(crate) before: Window,
    /// Whether the retransmission timer caused it, not a fast retransmit.
    pub(crate) timeout: bool,
}

/// What an ACK says about the latest reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    /// Octets newly acknowledged cumulatively.
    pub(crate) acked: u64,
    /// The timestamp that it echoes.
    pub(crate) echo: Option<u32>,
    /// Its D-SACK block.
    pub(crate) dsack: Option<(u64, u64)>,
    /// Where recovery stands, if Linux's rules apply.
    pub(crate) linux: Option<Stage>,
}

/// Where recovery stands when an ACK arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    /// Recovery's phase before the ACK.
    pub(crate) phase: Phase,
    /// Whether the ACK ends fast recovery.
    pub(crate) full: bool,
    /// Whether retransmissions are in the network.
    pub(crate) retransmitted: bool,
    /// SMSS.
    pub(crate) smss: u64,
}

/// A reduction as it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// The window before it.
    pub(crate) before: Window,
    /// Whether the retransmission timer caused it.
    pub(crate) timeout: bool,
    /// SND.UNA.
    pub(crate) una: u64,
    /// Retransmissions of earlier episodes that are still in the network; 0 unless Linux's rules apply.
    pub(crate) carried: u32,
}

impl Undo {
    /// Notes a reduction, which may prove spurious.
    pub(super) fn arm(&mut self, begun: &Reduction) {
        let Reduction { before, timeout, una, carried } = *begun;
        let reduction = Reduced { before, timeout, unproven: carried, any: carried > 0, since: una };
        if carried == 0 {
            self.first = None;
        }
        match &mut self.reduction {
            // Losses are frequent, so the allocation is reused.
            Some(last) => **last = reduction,
            None => self.reduction = Some(Box::new(reduction)),
        }
    }

    /// Forgets the reduction: it can no longer be undone.
    pub(super) fn disarm(&mut self) {
        *self = Self::default();
    }

    /// Ends the use of timestamps, because the episode has ended.
    pub(super) fn end_episode(&mut self) {
        self.first = None;
    }

    /// Whether there is a reduction to undo.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        self.reduction.is_some()
    }

    /// Whether the next ACK that advances SND.UNA can show that the reduction was spurious.
    #[inline]
    pub(super) fn awaits_advance(&self) -> bool {
        self.first.is_some()
    }

    /// Notes a retransmission with this TSval. Eifel uses only the first one of the episode, and only if it is
    /// `decisive`. It is if the segment is the earliest outstanding one, so that the next ACK to advance SND.UNA is
    /// about it, and if no retransmission of it from an earlier episode is in the network, whose ACK would look like an
    /// ACK of the original.
    pub(super) fn on_retransmit(&mut self, tsval: u32, decisive: bool) {
        let Some(reduction) = &mut self.reduction else { return };
        if !reduction.any && decisive {
            self.first = Some(tsval);
        }
        reduction.any = true;
        reduction.unproven += 1;
    }

    /// Handles an ACK. Returns the reduction if the ACK shows that this was spurious.
    pub(super) fn on_ack(&mut self, proof: &Proof) -> Option<Spurious> {
        let Some(stage) = &proof.linux else {
            let by_dsack = proof.dsack.and_then(|(left, _)| self.on_dsack(left, 1));
            return if proof.acked > 0 && by_dsack.is_none() { self.on_advance(proof.echo) } else { by_dsack };
        };
        self.on_ack_as_linux(proof, stage)
    }

    fn on_ack_as_linux(&mut self, proof: &Proof, stage: &Stage) -> Option<Spurious> {
        let first = self.first;
        let reduction = self.reduction.as_mut()?;
        if let Some((left, right)) = proof.dsack
            && right > reduction.since
            && reduction.unproven > 0
        {
            let segments = (right - left).div_ceil(stage.smss.max(1)).max(1);
            reduction.unproven = reduction.unproven.saturating_sub(u32::try_from(segments).unwrap_or(u32::MAX));
        }
        let needless = reduction.any && reduction.unproven == 0;
        let advances = proof.acked > 0;
        let delayed = advances
            && match first {
                Some(first) => proof.echo.is_some_and(|echo| tick_before(echo, first)),
                None => !reduction.any,
            };
        let spurious = match stage.phase {
            Phase::Loss => advances && (delayed || needless),
            Phase::Recovery => needless || (delayed && (stage.full || !stage.retransmitted)),
            Phase::Open | Phase::Disorder | Phase::Cwr => needless,
        };
        if spurious { self.take() } else { None }
    }

    /// Handles an ACK that advances SND.UNA and echoes `echo`. Returns the reduction to undo if the ACK answers the
    /// original transmission (RFC 3522, section 3.2). Only the first such ACK can show this.
    fn on_advance(&mut self, echo: Option<u32>) -> Option<Spurious> {
        let first = self.first.take()?;
        if echo.is_some_and(|e| tick_before(e, first)) { self.take() } else { None }
    }

    /// Handles a D-SACK block that begins at `left` and covers `segments`. Returns the reduction to undo once every
    /// retransmission has proved needless.
    fn on_dsack(&mut self, left: u64, segments: u32) -> Option<Spurious> {
        let reduction = self.reduction.as_mut()?;
        if !reduction.any || left < reduction.since || reduction.unproven == 0 {
            return None;
        }
        reduction.unproven = reduction.unproven.saturating_sub(segments);
        if reduction.unproven == 0 { self.take() } else { None }
    }

    /// Takes the reduction to undo; `None` if there is none.
    pub(super) fn take(&mut self) -> Option<Spurious> {
        self.first = None;
        self.reduction.take().map(|reduction| Spurious { before: reduction.before, timeout: reduction.timeout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Bytes;

    #[test]
    fn the_ack_of_a_retransmission_of_the_episode_before_proves_nothing() {
        let before = Window { cwnd: Bytes::new(10), ssthresh: None, pacing_rate: None };
        for (decisive, found) in [(true, Some(Spurious { before, timeout: false })), (false, None)] {
            let mut undo = Undo::default();
            undo.arm(&Reduction { before, timeout: false, una: 0, carried: 0 });
            undo.on_retransmit(100, decisive);
            undo.on_retransmit(101, true);
            assert_eq!(undo.on_advance(Some(90)), found, "the first retransmission is decisive: {decisive}");
        }
    }
}
