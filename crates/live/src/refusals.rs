//! Refusals, collected and reported together.

use crate::LiveError;

/// Collects refusals, in the order found and without repetition.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Vec<LiveError>);

impl Refusals {
    /// Adds a refusal; if it combines several, adds each.
    pub(crate) fn add(&mut self, error: LiveError) {
        match error {
            LiveError::Refused { refusals } => refusals.into_iter().for_each(|one| self.add(one)),
            one if self.0.contains(&one) => {}
            one => self.0.push(one),
        }
    }

    /// Returns the value; adds an error.
    pub(crate) fn take<T>(&mut self, result: Result<T, LiveError>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// `Ok` if there are none.
    ///
    /// # Errors
    /// The only refusal as it is; several as [`LiveError::Refused`].
    pub(crate) fn end(mut self) -> Result<(), LiveError> {
        match self.0.len() {
            0 => Ok(()),
            1 => Err(self.0.remove(0)),
            _ => Err(LiveError::Refused { refusals: self.0 }),
        }
    }
}
