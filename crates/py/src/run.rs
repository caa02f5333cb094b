//! Simulated runs for Python: one run, its progress, and the memory that its samples may take.

use crate::foreign::{Classes, Failure};
use crate::result::{PyResult, lost};
use crate::scenario::PyScenario;
use crate::watch::{self, Calls, watched};
use crate::{AlgorithmError, PyResultOf, Stopped};
use narrows_sim::{Algorithms, Budget, Options, Progress, RunError, Spill, Threads};
use narrows_units::{Duration, Instant};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The progress of a run, and the means to stop it; shared between threads.
#[pyclass(name = "Progress", frozen)]
#[derive(Default)]
pub(crate) struct PyProgress(pub(crate) Arc<Progress>);

#[pymethods]
impl PyProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Return the share of the simulated time that has passed, in [0, 1].
    fn fraction(&self) -> f64 {
        self.0.fraction()
    }

    /// Ask the run to stop; it raises `Stopped`.
    fn stop(&self) {
        self.0.stop();
    }

    /// Raise `Stopped` if `stop` was called.
    fn check(&self) -> PyResultOf<()> {
        if self.0.stopped() { Err(run_error(RunError::Stopped)) } else { Ok(()) }
    }
}

/// Converts an error of a run to a Python exception.
pub(crate) fn run_error(error: RunError) -> PyErr {
    match error {
        RunError::Stopped => Stopped::new_err(error.to_string()),
        RunError::Samples(fault) => lost(&fault),
        RunError::Capture(_) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// How many bytes of samples may stay in memory, for all runs that share this budget.
#[pyclass(name = "Budget", frozen)]
pub(crate) struct PyBudget(Arc<Budget>);

#[pymethods]
impl PyBudget {
    #[new]
    fn new(most: usize) -> Self {
        Self(Arc::new(Budget::new(most)))
    }

    /// Return how many bytes are in memory now.
    fn kept(&self) -> usize {
        self.0.kept()
    }
}

/// A time in seconds as an instant; one before the start of the run is its start.
pub(crate) fn moment(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_nanos((seconds.max(0.0) * 1e9).round() as u64)
}

/// Run a scenario without holding the interpreter's lock; raises `Stopped`, `AlgorithmError`, `OSError` and
/// `MemoryError`.
///
/// `own` has congestion controls by name, each with the time that a call of it may take, in seconds. `spill` is a
/// directory for samples that do not fit into the memory budget, and that budget. `until_decided` ends the run of a
/// test case as soon as everything is decided, and `looks` is the time in seconds in which its variables are recorded.
/// `threads` is how many threads the run has if it can be divided, `None` as many as pay.
#[pyfunction]
#[pyo3(signature = (
    scenario, seed, run, progress, pcap_dir, own, spill = None, until_decided = false, looks = None, threads = Some(1)
))]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    run: u64,
    progress: Option<&PyProgress>,
    pcap_dir: Option<PathBuf>,
    own: BTreeMap<String, (Py<PyAny>, f64)>,
    spill: Option<(PathBuf, PyRef<'_, PyBudget>)>,
    until_decided: bool,
    looks: Option<(f64, f64)>,
    threads: Option<usize>,
) -> PyResultOf<PyResult> {
    let threads = threads.map_or(Threads::WherePays, Threads::Exactly);
    let looks = looks.map(|(begin, end)| (moment(begin), moment(end)));
    let spill = spill.map(|(directory, budget)| Arc::new(Spill::new(&directory, Arc::clone(&budget.0))));
    let progress = progress.map_or_else(Arc::default, |p| Arc::clone(&p.0));
    let scenario = Arc::clone(&scenario.0);
    let (stop, used) = (Arc::clone(&progress), !own.is_empty());
    let failure = Failure::new(Arc::clone(&progress));
    let calls = Arc::<Calls>::default();
    let algorithms: Option<Arc<dyn Algorithms>> =
        used.then(|| Arc::new(Classes::new(own, Arc::clone(&failure), Arc::clone(&calls))) as _);
    let work = move || {
        let (pcap_dir, progress, algorithms) = (pcap_dir.as_deref(), Some(&*stop), algorithms.as_ref());
        let spill = spill.as_ref();
        narrows_sim::run(
            &scenario,
            &Options {
                seed,
                run,
                pcap_dir,
                progress,
                plain_loop: false,
                algorithms,
                spill,
                until_decided,
                looks,
                threads,
                ..Options::default()
            },
        )
    };
    let outcome = py.detach(|| if used { watched(work, (&calls, &failure, &progress)) } else { work() });
    if let Some(fault) = failure.fault() {
        return Err(AlgorithmError::new_err(fault));
    }
    outcome.map(|made| PyResult(made, None, progress)).map_err(run_error)
}

/// Return the number of threads of runs with congestion controls of the user: running, or left in a hook.
#[pyfunction]
pub(crate) fn own_threads() -> usize {
    watch::threads()
}
