//! What functions of the past remember between looks.

use super::{Mark, Values, Watch};
use crate::case::Case;
use crate::expression::{Memory, MemoryKind, Scene};
use narrows_units::Instant;

/// What one function of the past remembers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Remembered {
    /// Nothing yet.
    #[default]
    Nothing,
    /// The value of the function.
    Value(f64),
    /// `was`: the values at the previous look and at this one.
    Was(f64, f64),
    /// `mean`: the integral over the time with a value, that time in seconds, and the last value with its time.
    Mean(f64, f64, f64, Instant),
}

impl Remembered {
    pub(super) fn value(&self) -> f64 {
        match *self {
            Self::Nothing => f64::NAN,
            Self::Value(value) | Self::Was(value, _) => value,
            Self::Mean(sum, time, last, _) => {
                if time > 0.0 {
                    sum / time
                } else {
                    last
                }
            }
        }
    }

    /// Takes the value at a look since the step, or, of `was`, at any look.
    fn take(self, kind: MemoryKind, value: f64, now: Instant) -> Self {
        match (kind, self) {
            (MemoryKind::Was, Self::Was(_, last)) => Self::Was(last, value),
            (MemoryKind::Was, _) => Self::Was(f64::NAN, value),
            (MemoryKind::At, Self::Nothing) => Self::Value(value),
            (MemoryKind::Highest, Self::Value(old)) if old >= value || value.is_nan() => self,
            (MemoryKind::Lowest, Self::Value(old)) if old <= value || value.is_nan() => self,
            (MemoryKind::Highest | MemoryKind::Lowest, _) => Self::Value(value),
            (MemoryKind::Mean, Self::Mean(sum, time, last, then)) => {
                let passed = now.since(then).as_secs_f64();
                if last.is_nan() {
                    Self::Mean(sum, time, value, now)
                } else {
                    Self::Mean(sum + last * passed, time + passed, value, now)
                }
            }
            (MemoryKind::Mean, _) => Self::Mean(0.0, 0.0, value, now),
            (MemoryKind::At, known) => known,
        }
    }
}

impl Watch {
    /// Brings what is remembered up to this look.
    pub(super) fn remember(&mut self, case: &Case, now: Mark, values: &dyn Values) {
        for (index, memory) in case.memories.iter().enumerate() {
            let active = match memory.step {
                None => self.begun.is_some(),
                Some(step) => self.steps.get(step).is_some_and(|progress| progress.happened().is_some()),
            };
            if active && !(memory.kind == MemoryKind::At) {
                self.update(case, index, memory, (now, values));
            }
        }
    }

    /// Begins what is remembered since a step that happens now.
    pub(super) fn begin_memories(&mut self, case: &Case, step: usize, now: Mark, values: &dyn Values) {
        for (index, memory) in case.memories.iter().enumerate() {
            if memory.step == Some(step) {
                self.update(case, index, memory, (now, values));
            }
        }
    }

    fn update(&mut self, case: &Case, index: usize, memory: &Memory, (now, values): (Mark, &dyn Values)) {
        let value = memory.node.value(&self.scene(case, now, values) as &dyn Scene);
        if let Some(place) = self.memories.get_mut(index) {
            *place = place.take(memory.kind, value, now.at);
        }
    }
}
