//! Copa's velocity (section 2.1 of the paper): steps grow while cwnd keeps its direction.

/// Rounds after the first of one direction at whose end v doubles. A direction that lasts 2.5 round-trip times, as in
/// the paper's steady state, touches three rounds.
const SAME: u32 = 3;
/// Largest v; steps are bounded by what an ACK acknowledges long before.
const MOST: f64 = 65_536.0;

/// Where cwnd moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// cwnd grows.
    Up = 1,
    /// cwnd shrinks.
    Down = 2,
}

/// v, and what decides it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    value: f64,
    direction: Option<Direction>,
    /// Rounds for which the direction has stayed the same, after the first.
    same: u32,
    /// cwnd at the beginning of the round, in bytes; none before the first.
    cwnd: Option<f64>,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { value: 1.0, direction: None, same: 0, cwnd: None }
    }
}

impl Velocity {
    /// v.
    pub(super) fn get(&self) -> f64 {
        self.value
    }

    /// The direction of the last round.
    pub(super) fn direction(&self) -> Option<Direction> {
        self.direction
    }

    /// An ACK moves cwnd in this direction. A step against the direction of the rounds ends a velocity that was meant
    /// for it.
    pub(super) fn toward(&mut self, direction: Direction, cwnd: f64) {
        if self.value > 1.0 && self.direction != Some(direction) {
            *self = Self { value: 1.0, direction: Some(direction), same: 0, cwnd: Some(cwnd) };
        }
    }

    /// A round ends at `cwnd` bytes.
    pub(super) fn end_round(&mut self, cwnd: f64) {
        let Some(before) = self.cwnd.replace(cwnd) else { return };
        let direction = if cwnd > before { Direction::Up } else { Direction::Down };
        if self.direction == Some(direction) {
            self.same = self.same.saturating_add(1);
            if self.same >= SAME {
                self.value = (2.0 * self.value).min(MOST);
            }
        } else {
            (self.direction, self.same, self.value) = (Some(direction), 0, 1.0);
        }
    }
}
