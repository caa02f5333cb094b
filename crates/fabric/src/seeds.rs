//! Random streams of a run, by component and purpose.

use narrows_rng::Stream;

/// The source of a run's random streams.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    seed: u64,
    run: u64,
}

impl Seeds {
    /// The streams of run number `run` under `seed`.
    #[must_use]
    pub const fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The stream of a component for a purpose.
    #[must_use]
    pub fn stream(self, component: &str, purpose: &str) -> Stream {
        Stream::new(self.seed, self.run, component, purpose)
    }
}
