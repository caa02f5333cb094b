//! F-RTO: whether a timeout was spurious, from the ACKs that follow it (RFC 5682).
//!
//! After a timeout the head alone is sent again. If the next ACK advances SND.UNA, new data leaves instead of a second
//! retransmission. What the ACKs then deliver can only be that new data or an original of before the timeout. An
//! original shows that the flight was late and not lost.
//!
//! ```text
//!        timeout           ACK advances, new data leaves           original delivered
//!   Off ---------> First ------------------------------> Second ---------------------> Off (spurious)
//!                    | all is acknowledged; without SACK  | new data delivered first,
//!                    | a duplicate ACK                    | or a duplicate ACK
//!                    '--> Off (conventional)              '--> Off (conventional)
//! ```
//!
//! Sources: RFC 5682, section 2.1 without SACK and section 3.1 with it; Linux's `tcp_process_loss`. Section 3.2 allows
//! it again when the timer expires twice for the same head. Differences: all new data that cwnd allows may leave in
//! step 2, not two segments; after one segment's slow start these are two. The congestion window stays as slow start
//! made it in step 3.a, where it is at most three segments too; without SACK, duplicate ACKs show what has left the
//! network.
//!
//! | | RFC 5682 | Linux |
//! |---|---|---|
//! | original delivered by the first ACK | waits for the second | spurious: an ACK covers more than the head |
//! | duplicate ACK that SACKs nothing new, after new data | waits | conventional |
//! | nothing new to send in step 2 | conventional | conventional |
//!
//! Tests: `tests/frto.rs`.

use super::{AckEvent, Next, Room, Settings, next_new};
use crate::scoreboard::Scoreboard;
use narrows_settings::RecoveryStyle;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// The conventional recovery.
    #[default]
    Off,
    /// The head was sent again (step 2 of the RFC waits for an ACK).
    First,
    /// An ACK advanced SND.UNA (step 3).
    Second,
}

/// F-RTO of a connection.
#[derive(Debug)]
pub(super) struct Frto {
    sack: bool,
    style: RecoveryStyle,
    step: Step,
    smss: u64,
    /// SND.UNA at the latest timeout.
    una: u64,
    /// Octets of the new data that duplicate ACKs show to have left the network, without SACK (step 3.a allows three
    /// segments for the same reason; Linux's `tcp_process_loss`).
    left: u64,
}

impl Frto {
    /// Before any timeout.
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { sack, style, smss, .. } = *settings;
        Self { sack, style, step: Step::Off, smss: smss.into(), una: 0, left: 0 }
    }

    /// Octets by which the usable window is larger, because they have left the network.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Notes a timeout with SND.UNA at `una`. Only one of the same head again may follow another, and none follows fast
    /// recovery (step 1, section 3.2).
    pub(super) fn on_timeout(&mut self, una: u64, in_loss: bool, in_recovery: bool) {
        let repeated = in_loss && self.una == una;
        self.step = if repeated || !(in_loss || in_recovery) { Step::First } else { Step::Off };
        (self.una, self.left) = (una, 0);
    }

    /// Goes on by the conventional recovery.
    pub(super) fn stop(&mut self) {
        (self.step, self.left) = (Step::Off, 0);
    }

    /// Processes an ACK in the Loss phase, where SND.NXT was `recover` at the timeout. Returns whether the timeout was
    /// spurious.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, recover: u64, high_sacked: u64) -> bool {
        if ack.duplicate && !self.sack {
            self.left = (self.left + self.smss).min(ack.nxt - recover);
        }
        let original = ack.deliveries.original.is_some_and(|start| start < recover);
        let all = ack.una >= recover;
        let linux = self.sack && self.style == RecoveryStyle::Linux;
        let (next, spurious) = match self.step {
            Step::Off => (Step::Off, false),
            _ if linux && original => (Step::Off, true),
            Step::First if ack.acked == 0 => (if self.sack { Step::First } else { Step::Off }, false),
            Step::First => (if all { Step::Off } else { Step::Second }, false),
            Step::Second if linux => {
                let real = ack.nxt > recover && (ack.sacked > 0 || ack.duplicate);
                (if real { Step::Off } else { Step::Second }, false)
            }
            Step::Second if self.sack => {
                let beyond = ack.una > recover || (high_sacked > recover && ack.sacked > 0);
                let spurious = original && !beyond;
                (if beyond || spurious { Step::Off } else { Step::Second }, spurious)
            }
            Step::Second if ack.acked == 0 => (if ack.duplicate { Step::Off } else { Step::Second }, false),
            Step::Second => (Step::Off, original),
        };
        self.step = next;
        spurious
    }

    /// What to send instead of what is deemed lost; `None` if recovery is conventional. If nothing new can be sent, it
    /// becomes conventional.
    pub(super) fn next(&mut self, board: &Scoreboard, room: &Room, recover: u64) -> Option<Next> {
        if self.step != Step::Second {
            return None;
        }
        if board.end() <= recover && room.new == 0 {
            self.step = Step::Off;
            return None;
        }
        Some(next_new(board.pipe(), room, room.cwnd))
    }
}
