//! The variables of a case over the looks of a run, for plots.

use crate::case::Case;
use crate::expression::Scene;
use crate::outcome::Series;
use crate::vocabulary::VariableId;
use narrows_units::Instant;

/// Most looks that are kept.
const MOST: usize = 20_000;

/// Keeps looks of a part of a run. When there are too many, every second one is dropped, but none at which a step
/// happened or a verdict became clear.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    begin: Instant,
    end: Instant,
    /// One of so many looks is kept.
    stride: u64,
    looks: u64,
    /// Whether each kept look stays.
    stays: Vec<bool>,
    series: Series,
}

impl Recorder {
    pub(super) fn new(case: &Case, begin: Instant, end: Instant) -> Self {
        let columns = vec![Vec::new(); case.variables.len()];
        Self { begin, end, stride: 1, looks: 0, stays: Vec::new(), series: Series { times: Vec::new(), columns } }
    }

    /// Takes a look; `decisive` is one at which something happened or was decided.
    pub(super) fn take(&mut self, now: Instant, scene: &dyn Scene, decisive: bool) {
        if now < self.begin || now > self.end {
            return;
        }
        self.looks += 1;
        if !decisive && !self.looks.is_multiple_of(self.stride) {
            return;
        }
        self.stays.push(decisive);
        self.series.times.push(now);
        for (index, column) in self.series.columns.iter_mut().enumerate() {
            column.push(scene.variable(VariableId(index)));
        }
        if self.stays.len() >= MOST {
            self.thin();
        }
    }

    pub(super) fn series(self) -> Series {
        self.series
    }

    fn thin(&mut self) {
        let keeps: Vec<bool> = self.stays.iter().enumerate().map(|(at, stays)| *stays || at % 2 == 0).collect();
        retain(&mut self.stays, &keeps);
        retain(&mut self.series.times, &keeps);
        for column in &mut self.series.columns {
            retain(column, &keeps);
        }
        self.stride = self.stride.saturating_mul(2);
    }
}

/// Keeps the values whose flag is set.
fn retain<T>(values: &mut Vec<T>, keeps: &[bool]) {
    let mut flags = keeps.iter();
    values.retain(|_| flags.next().copied().unwrap_or(true));
}
