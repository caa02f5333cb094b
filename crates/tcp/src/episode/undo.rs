//! Detection of spurious retransmissions: Eifel (RFC 3522) and D-SACK (RFC 2883, RFC 3708).

use crate::options::tick_before;
use narrows_cc::Window;

/// What is known about the latest reduction.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// None if no reduction can be undone.
    reduction: Option<Box<Reduced>>,
    /// TSval of the episode's first retransmission, until the first ACK that advances SND.UNA.
    first: Option<u32>,
}

/// A reduction, and what followed it.
#[derive(Debug)]
struct Reduced {
    /// The window before the reduction.
    before: Window,
    /// Retransmissions that no D-SACK has reported as duplicates.
    unproven: u32,
    /// Whether any retransmission was sent.
    any: bool,
    /// SND.UNA at the reduction: D-SACKs below it are about older data.
    since: u64,
}

impl Undo {
    /// Notes a reduction from `before` at SND.UNA `una`, which may prove spurious.
    pub(super) fn arm(&mut self, before: Window, una: u64) {
        let reduction = Reduced { before, unproven: 0, any: false, since: una };
        self.first = None;
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

    /// Handles an ACK that advances SND.UNA and echoes `echo`. Returns the window to restore if the ACK answers the
    /// original transmission (RFC 3522, section 3.2). Only the first such ACK can show this.
    pub(super) fn on_advance(&mut self, echo: Option<u32>) -> Option<Window> {
        let first = self.first.take()?;
        if echo.is_some_and(|e| tick_before(e, first)) { self.take() } else { None }
    }

    /// Handles a D-SACK block that begins at `left`. Returns the window to restore once every retransmission has proved
    /// needless.
    pub(super) fn on_dsack(&mut self, left: u64) -> Option<Window> {
        let reduction = self.reduction.as_mut()?;
        if !reduction.any || left < reduction.since || reduction.unproven == 0 {
            return None;
        }
        reduction.unproven -= 1;
        if reduction.unproven == 0 { self.take() } else { None }
    }

    /// Takes the window to restore; `None` if there is no reduction to undo.
    pub(super) fn take(&mut self) -> Option<Window> {
        self.first = None;
        self.reduction.take().map(|reduction| reduction.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Bytes;

    #[test]
    fn the_ack_of_a_retransmission_of_the_episode_before_proves_nothing() {
        let before = Window { cwnd: Bytes::new(10), ssthresh: None, pacing_rate: None };
        for (decisive, found) in [(true, Some(before)), (false, None)] {
            let mut undo = Undo::default();
            undo.arm(before, 0);
            undo.on_retransmit(100, decisive);
            undo.on_retransmit(101, true);
            assert_eq!(undo.on_advance(Some(90)), found, "the first retransmission is decisive: {decisive}");
        }
    }
}
