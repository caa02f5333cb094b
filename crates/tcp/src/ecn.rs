//! ECN of a connection: classic (RFC 3168, section 6.1), or with an echo of each mark (RFC 8257, section 3.2).
//!
//! With [`EcnEcho::EachMark`] the receiver's state is `DCTCP.CE`, whether the last data segment was marked:
//! ```text
//!          unmarked                    marked           marked
//!          .------.    a delayed ACK leaves, no ECE    .------.
//!          |      v  -------------------------------->  |     v
//!          `---- false                                 true --'
//!                   <--------------------------------
//!                     a delayed ACK leaves, with ECE
//! ```
//! so that an ACK is about segments of one kind only. As in Linux, the segment that changes the state is also
//! acknowledged at once. Such a receiver ignores CWR.

use crate::offset::MaybeOffset;
use narrows_settings::EcnEcho;

/// State of both roles.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct EcnState {
    /// As a sender: SND.NXT at the last reduction, whatever its cause, until that window is acknowledged.
    pub(crate) reduced_until: MaybeOffset,
    /// Whether classic ECN is in use.
    pub(crate) on: bool,
    /// As a receiver: whether every ACK carries ECE, until the sender's CWR arrives or while segments arrive marked.
    pub(crate) echo: bool,
    /// As a receiver: whether the last data segment was marked.
    last_ce: bool,
    /// As a receiver: whether ECE follows the marks (RFC 8257).
    each_mark: bool,
    /// As a sender: whether the next new data carries CWR.
    pub(crate) cwr_pending: bool,
    /// As a sender: whether that reduction answered an echo and its window is not yet acknowledged.
    pub(crate) in_cwr: bool,
}

impl EcnState {
    /// ECN that is not negotiated yet.
    pub(crate) fn new(echo: EcnEcho) -> Self {
        Self { each_mark: echo == EcnEcho::EachMark, ..Self::default() }
    }

    /// Whether a pending ACK must leave before a segment with this mark is taken, because one ACK cannot report both
    /// kinds of segment.
    #[inline]
    pub(crate) fn parts(&self, ce: bool) -> bool {
        self.each_mark && self.last_ce != ce
    }

    /// Takes the marks of a data segment. Returns whether its CE mark differs from that of the segment before, which
    /// calls for an ACK at once.
    #[inline]
    pub(crate) fn on_data(&mut self, ce: bool, cwr: bool) -> bool {
        if self.each_mark || cwr {
            self.echo = false;
        }
        self.echo |= ce;
        core::mem::replace(&mut self.last_ce, ce) != ce
    }

    /// Whether the window of the last reduction is still in force after SND.UNA moved to `una`. It ends when something
    /// above the window is acknowledged, because only that shows that CWR has reached the receiver.
    #[inline]
    pub(crate) fn holds(&mut self, una: u64) -> bool {
        if self.reduced_until.get().is_some_and(|end| una > end) {
            self.reduced_until = MaybeOffset::NONE;
            self.in_cwr = false;
        }
        self.reduced_until.get().is_some()
    }

    /// Whether a loss from SND.UNA `una` on belongs to the window that was reduced after an echo. The first segment
    /// sent after the reduction does not: it carries CWR, and if it is lost, the window is reduced again (RFC 3168,
    /// section 6.1.2).
    #[inline]
    pub(crate) fn covers(&self, una: u64) -> bool {
        self.in_cwr && self.reduced_until.get().is_some_and(|end| una < end)
    }

    /// Notes a reduction after an echo; `nxt` is SND.NXT.
    pub(crate) fn on_reduction(&mut self, nxt: u64) {
        (self.cwr_pending, self.reduced_until, self.in_cwr) = (true, MaybeOffset::at(nxt), true);
    }

    /// Notes a reduction after a loss, which CWR announces too (RFC 3168, section 6.1.2).
    pub(crate) fn on_loss(&mut self, nxt: u64) {
        if self.on {
            (self.cwr_pending, self.reduced_until, self.in_cwr) = (true, MaybeOffset::at(nxt), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_echo_lasts_until_cwr() {
        let mut e = EcnState { on: true, ..EcnState::default() };
        assert!(e.on_data(true, false) && e.echo);
        assert!(e.on_data(false, false) && e.echo, "no mark, still echoing");
        e.on_data(false, true);
        assert!(!e.echo);
        e.on_data(true, true);
        assert!(e.echo, "the segment that carries CWR may itself be marked");
    }

    #[test]
    fn with_each_mark_the_echo_follows_the_marks() {
        let mut e = EcnState::new(EcnEcho::EachMark);
        assert!(e.parts(true) && !e.parts(false));
        assert!(e.on_data(true, false) && e.echo && !e.parts(true));
        assert!(!e.on_data(true, true) && e.echo, "CWR means nothing");
        assert!(e.parts(false) && e.on_data(false, false) && !e.echo);
        let classic = EcnState::new(EcnEcho::UntilCwr);
        assert!(!classic.parts(true), "an echo that lasts may be merged");
    }

    #[test]
    fn a_reduction_rules_until_data_beyond_its_window_is_acknowledged() {
        let mut e = EcnState { reduced_until: MaybeOffset::at(100), ..EcnState::default() };
        assert!(e.holds(99) && e.holds(100));
        assert!(!e.holds(101));
    }
}
