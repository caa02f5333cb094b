//! Classic ECN of a connection (RFC 3168, section 6.1).

/// State of both roles.
#[derive(Debug, Default)]
pub(crate) struct EcnState {
    /// Whether classic ECN is in use.
    pub(crate) on: bool,
    /// As a receiver: ECE goes on every ACK until the sender's CWR arrives.
    pub(crate) echo: bool,
    /// As a receiver: whether the last data segment was marked.
    last_ce: bool,
    /// As a sender: CWR goes on the next new data.
    pub(crate) cwr_pending: bool,
    /// As a sender: SND.NXT at the last reduction for whatever reason, while that window is not acknowledged.
    pub(crate) reduced_until: Option<u64>,
    /// As a sender: that reduction answered an echo, and its window still rules.
    pub(crate) in_cwr: bool,
}

impl EcnState {
    /// A data segment arrived with these marks. Returns whether the congestion mark differs from the segment's before,
    /// which is worth an ACK at once.
    #[inline]
    pub(crate) fn on_data(&mut self, ce: bool, cwr: bool) -> bool {
        if cwr {
            self.echo = false;
        }
        self.echo |= ce;
        core::mem::replace(&mut self.last_ce, ce) != ce
    }

    /// Whether the window of the last reduction still rules after SND.UNA moved to `una`. Something above the window must
    /// be acknowledged, because only that tells that CWR has reached the receiver.
    #[inline]
    pub(crate) fn holds(&mut self, una: u64) -> bool {
        if self.reduced_until.is_some_and(|end| una > end) {
            self.reduced_until = None;
            self.in_cwr = false;
        }
        self.reduced_until.is_some()
    }

    /// The window was reduced after an echo; `nxt` is SND.NXT.
    pub(crate) fn on_reduction(&mut self, nxt: u64) {
        (self.cwr_pending, self.reduced_until, self.in_cwr) = (true, Some(nxt), true);
    }

    /// The window was reduced after a loss, which CWR tells too (RFC 3168, section 6.1.2).
    pub(crate) fn on_loss(&mut self, nxt: u64) {
        if self.on {
            (self.cwr_pending, self.reduced_until, self.in_cwr) = (true, Some(nxt), false);
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
    fn a_reduction_rules_until_data_beyond_its_window_is_acknowledged() {
        let mut e = EcnState { reduced_until: Some(100), ..EcnState::default() };
        assert!(e.holds(99) && e.holds(100));
        assert!(!e.holds(101));
    }
}
