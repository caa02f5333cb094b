//! Invariants of a connection.

use super::Connection;
use crate::RecoveryKind::{Fack, RtoOnly, Sack};
use crate::stats::State;
use narrows_cc::Phase;
use narrows_units::{Bytes, Instant};

impl Connection {
    /// What the window limits: pipe or FACK's awnd, or FlightSize before an episode without limited transmit or without
    /// SACK; `None` if the window may be inflated or a probe exceeds it.
    pub(crate) fn window_used(&self) -> Option<Bytes> {
        let open = matches!(self.recovery.phase(), Phase::Open | Phase::Disorder);
        let used = match self.config.recovery {
            _ if self.recovery.is_timed() => return None,
            Sack | Fack if self.sack && open && !self.config.limited_transmit => self.tx.board.flight(),
            Fack if self.sack && open => self.tx.board.awnd(),
            Sack | Fack if self.sack => self.tx.board.pipe(),
            RtoOnly => self.tx.board.pipe(),
            _ if self.recovery.phase() == Phase::Open => self.tx.board.flight(),
            _ => return None,
        };
        Some(Bytes::new(used))
    }

    /// When recovery's own timer expires.
    pub(crate) fn recovery_timer(&self) -> Instant {
        self.recovery.timer(|| self.tail())
    }

    /// Recomputes the state that is kept incrementally, and compares.
    pub(crate) fn check(&self) {
        let tx = &self.tx;
        tx.board.check();
        assert!(tx.una <= tx.nxt, "SND.UNA is not beyond SND.NXT");
        assert_eq!(tx.board.flight(), tx.nxt - tx.una, "flightsize is SND.NXT - SND.UNA");
        let (farthest, edge) = self.rx.edges();
        assert!(farthest >= self.rx.nxt() || self.rx.is_finished(), "the window is not negative");
        assert!(farthest >= edge, "what was ever offered is accepted");
        let cwnd = self.congestion.win.cwnd.as_u64();
        assert!(cwnd >= self.smss, "cwnd is at least one segment");
        let forward = self.sack && self.config.recovery == Fack;
        if forward && self.recovery.phase() == Phase::Recovery {
            assert_eq!(tx.board.pipe(), tx.board.awnd(), "FACK: every hole below snd.fack is lost");
        }
        assert!(
            tx.board.is_empty() || self.timers.rto != Instant::NEVER || self.state == State::Closed,
            "data is outstanding and no retransmission timer runs"
        );
    }
}
