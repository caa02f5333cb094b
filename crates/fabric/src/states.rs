//! The internal state of algorithms as samples: which variables there are, and a row for each at each sample.

use narrows_samples::{NONE, Owner, Probe, Series, StateRow};
use narrows_units::{Instant, Variable};

/// The variables that the objects of a run have reported.
///
/// A variable becomes a series when it is reported first, so the order of series follows from the order of samples.
#[derive(Debug, Default)]
pub struct States {
    series: Vec<Series>,
    /// Per flow and per queue: indices of its series.
    flows: Vec<Vec<usize>>,
    queues: Vec<Vec<usize>>,
}

/// An algorithm whose state is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Reporter<'a> {
    /// Kind of the object that it works for.
    pub owner: Owner,
    /// Index of that object.
    pub index: usize,
    /// Name of the algorithm.
    pub algorithm: &'a str,
    /// The variables that it declares; empty for an algorithm that declares none.
    pub variables: &'a [Variable],
}

impl States {
    /// Writes a row for each variable that `state` reports. A value that is not a number becomes "no value".
    pub fn take<P: Probe>(
        &mut self,
        reporter: Reporter<'_>,
        at: Instant,
        state: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
        probe: &mut P,
    ) {
        state(&mut |variable, value| {
            let series = self.series(reporter, variable);
            let value_bits = if value.is_nan() { NONE } else { value.to_bits() };
            probe.state(&StateRow { time_ns: at.as_nanos(), series: series as u64, value_bits });
        });
    }

    /// Returns the index of a variable's series, which begins here if it is new.
    fn series(&mut self, reporter: Reporter<'_>, name: &'static str) -> usize {
        let Reporter { owner, index, algorithm, variables } = reporter;
        let objects = match owner {
            Owner::Flow => &mut self.flows,
            Owner::Queue => &mut self.queues,
        };
        if objects.len() <= index {
            objects.resize_with(index + 1, Vec::new);
        }
        let of_object = &mut objects[index];
        let known = |&series: &usize| {
            let known = &self.series[series];
            known.variable.name == name && known.algorithm == algorithm
        };
        if let Some(series) = of_object.iter().copied().find(known) {
            return series;
        }
        of_object.push(self.series.len());
        let declared = variables.iter().find(|variable| variable.name == name);
        self.series.push(Series {
            owner,
            index: index as u64,
            algorithm: algorithm.to_owned(),
            variable: declared.copied().unwrap_or(Variable::new(name, "", "")),
        });
        self.series.len() - 1
    }

    /// Returns the series, in the order of their indices.
    #[must_use]
    pub fn into_series(self) -> Vec<Series> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_samples::{Samples, Table};

    fn reporter(owner: Owner, index: usize, algorithm: &str) -> Reporter<'_> {
        const DECLARED: &[Variable] = &[Variable::new("w_max", "bytes", "The last maximum.")];
        Reporter { owner, index, algorithm, variables: DECLARED }
    }

    fn take(states: &mut States, samples: &mut Samples, who: Reporter<'_>, at: u64, values: &[(&'static str, f64)]) {
        let report = |visit: &mut dyn FnMut(&'static str, f64)| values.iter().for_each(|(name, v)| visit(name, *v));
        states.take(who, Instant::from_nanos(at), report, samples);
    }

    #[test]
    fn each_variable_of_each_object_is_one_series_however_often_it_is_reported() {
        let (mut states, mut samples) = (States::default(), Samples::default());
        for at in [1, 2, 3] {
            let now = at as f64;
            take(&mut states, &mut samples, reporter(Owner::Flow, 1, "cubic"), at, &[("w_max", now), ("k", 0.5)]);
            take(&mut states, &mut samples, reporter(Owner::Flow, 1, "recovery"), at, &[("k", 7.0)]);
            take(&mut states, &mut samples, reporter(Owner::Queue, 1, "cubic"), at, &[("k", f64::NAN)]);
        }
        assert_eq!(samples.state.len(), 12);
        let rows = samples.state.unpack().unwrap();
        assert_eq!(rows.series, [0, 1, 2, 3].repeat(3));
        assert_eq!(rows.time_ns, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(f64::from_bits(rows.value_bits[4]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(rows.value_bits[3], NONE);
        let series = states.into_series();
        let told: Vec<_> = series.iter().map(|s| (s.owner.word(), s.index, &*s.algorithm, s.variable.name)).collect();
        assert_eq!(
            told,
            [
                ("flow", 1, "cubic", "w_max"),
                ("flow", 1, "cubic", "k"),
                ("flow", 1, "recovery", "k"),
                ("queue", 1, "cubic", "k"),
            ]
        );
        assert_eq!(series[0].variable.unit, "bytes");
    }

    #[test]
    fn a_variable_may_be_reported_at_some_samples_only() {
        let (mut states, mut samples) = (States::default(), Samples::default());
        let who = reporter(Owner::Flow, 0, "bbr");
        take(&mut states, &mut samples, who, 1, &[("a", 1.0)]);
        take(&mut states, &mut samples, who, 2, &[("b", 2.0), ("a", 3.0)]);
        assert_eq!(samples.state.unpack().unwrap().series, [0, 1, 0]);
    }
}
