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

use narrows_settings::EcnEcho;

/// State of both roles.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct EcnState {
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

    /// Notes a reduction, whatever its cause, which CWR announces (RFC 3168, section 6.1.2).
    pub(crate) fn on_reduction(&mut self) {
        self.cwr_pending |= self.on;
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
}
