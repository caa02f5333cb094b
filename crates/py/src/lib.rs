//! The Python module `narrows._core`: conversion only. `python/narrows/_core.pyi` declares what is here for Python.

#![allow(unsafe_code, reason = "PyO3's macros expand to it")]

mod foreign;
mod host;
mod live;

use foreign::{Classes, Ledger, PyAck, PyCongestion, PyPath, PyWindow};
use narrows_samples::{Samples, Table};
use narrows_scenario::{CatalogueKind, CatalogueParam, CatalogueRow};
use narrows_sim::{Algorithms, Options, Outcome, Progress, RunError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

create_exception!(_core, ScenarioError, PyValueError, "A scenario that is refused; `problems` lists why.");
create_exception!(_core, AlgorithmError, PyException, "A congestion control written in Python that failed.");
create_exception!(_core, Stopped, PyException, "A run that was stopped by `Progress.stop`.");

/// A validated scenario.
#[pyclass(name = "Scenario", frozen)]
struct PyScenario(narrows_scenario::Scenario);

#[pymethods]
impl PyScenario {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.duration.as_nanos()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Return the scenario as TOML with every default shown.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Return the resolved scenario (nodes, links, flows) as JSON.
    fn to_json(&self) -> String {
        self.0.to_json().to_string()
    }
}

/// How far a run is, and the means to stop it; shared between threads.
#[pyclass(name = "Progress", frozen)]
#[derive(Default)]
struct PyProgress(Arc<Progress>);

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
}

/// What one run yields.
#[pyclass(name = "Result", frozen)]
struct PyResult(Outcome, Option<narrows_live::Conditions>);

#[pymethods]
impl PyResult {
    /// Compute SHA-256 of the samples.
    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.digest())
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }

    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets
    }

    #[getter]
    fn flow_names(&self) -> Vec<String> {
        self.0.samples.flow_names.clone()
    }

    #[getter]
    fn queue_names(&self) -> Vec<String> {
        self.0.samples.queue_names.clone()
    }

    #[getter]
    fn router_names(&self) -> Vec<String> {
        self.0.samples.router_names.clone()
    }

    #[getter]
    fn station_names(&self) -> Vec<String> {
        self.0.samples.station_names.clone()
    }

    #[getter]
    fn channel_names(&self) -> Vec<String> {
        self.0.samples.channel_names.clone()
    }

    /// Return what a live run depended on; none of a simulated one.
    fn conditions<'py>(&self, py: Python<'py>) -> PyResultOf<Option<Bound<'py, PyDict>>> {
        self.1.as_ref().map(|told| live::conditions(py, told)).transpose()
    }

    /// Return the tables: columns as (name, unit, meaning, little-endian u64 values); 2^64-1 is "no value".
    fn tables<'py>(&self, py: Python<'py>) -> PyResultOf<Bound<'py, PyDict>> {
        let Samples { flows, queues, routers, flow_totals, queue_totals, router_totals, station_totals, .. } =
            &self.0.samples;
        let tables = PyDict::new(py);
        add_table(&tables, flows)?;
        add_table(&tables, queues)?;
        add_table(&tables, routers)?;
        add_table(&tables, flow_totals)?;
        add_table(&tables, queue_totals)?;
        add_table(&tables, router_totals)?;
        add_table(&tables, station_totals)?;
        Ok(tables)
    }
}

/// PyO3's result; the plain name is taken by the class.
type PyResultOf<T> = pyo3::PyResult<T>;

fn add_table<T: Table>(tables: &Bound<'_, PyDict>, table: &T) -> PyResultOf<()> {
    let py = tables.py();
    let columns = PyList::empty(py);
    for (column, data) in table.columns() {
        let bytes = PyBytes::new_with(py, table.len() * 8, |buffer| {
            let mut cells = buffer.chunks_exact_mut(8);
            data.for_each_part(|values| {
                // Values first: what comes second in a zip is not asked for once the first has ended.
                for (value, cell) in values.iter().zip(cells.by_ref()) {
                    cell.copy_from_slice(&value.to_le_bytes());
                }
            });
            Ok(())
        })?;
        columns.append((column.name, column.unit, column.doc, bytes))?;
    }
    tables.set_item(T::NAME, columns)
}

/// A congestion control written in Python: name, title, and parameters as (name, meaning, default).
type ForeignRow = (String, String, Vec<(String, String, ForeignDefault)>);

/// The default of a parameter, which tells its kind.
#[derive(FromPyObject)]
enum ForeignDefault {
    Switch(bool),
    Number(f64),
}

fn foreign_row((name, title, params): ForeignRow) -> CatalogueRow {
    let param = |(name, doc, default)| {
        let kind = match default {
            ForeignDefault::Switch(default) => CatalogueKind::Switch { default },
            ForeignDefault::Number(default) => {
                CatalogueKind::Number { unit: String::new(), default, min: f64::MIN, max: f64::MAX }
            }
        };
        CatalogueParam { name, doc, kind }
    };
    let params = params.into_iter().map(param).collect();
    CatalogueRow { name, title, params, ..CatalogueRow::default() }
}

/// Parse and validate a scenario, in which the congestion controls of `own` may be named too; raises `ScenarioError`.
#[pyfunction]
#[pyo3(signature = (text, path, overrides, own))]
fn parse(
    py: Python<'_>,
    text: &str,
    path: &str,
    overrides: Vec<(String, String)>,
    own: Vec<ForeignRow>,
) -> PyResultOf<PyScenario> {
    let mut catalogue = narrows_sim::catalogue();
    catalogue.cc.extend(own.into_iter().map(foreign_row));
    narrows_scenario::parse(text, path, &overrides, &catalogue).map(PyScenario).map_err(|problems| {
        let error = ScenarioError::new_err(problems.to_string());
        match problem_list(py, &problems).and_then(|list| error.value(py).setattr("problems", list)) {
            Ok(()) => error,
            Err(failure) => failure,
        }
    })
}

fn problem_list<'py>(py: Python<'py>, problems: &narrows_scenario::Problems) -> PyResultOf<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in &problems.0 {
        let entry = PyDict::new(py);
        entry.set_item("path", &problem.path)?;
        entry.set_item("line", problem.line)?;
        entry.set_item("field", &problem.field)?;
        entry.set_item("value", &problem.value)?;
        entry.set_item("allowed", &problem.allowed)?;
        entry.set_item("message", problem.message())?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Run a scenario without holding the interpreter's lock; raises `Stopped`, `AlgorithmError` and `OSError`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, run, progress, pcap_dir, own))]
fn run(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    run: u64,
    progress: Option<&PyProgress>,
    pcap_dir: Option<PathBuf>,
    own: BTreeMap<String, Py<PyAny>>,
) -> PyResultOf<PyResult> {
    let progress = progress.map_or_else(Arc::default, |p| Arc::clone(&p.0));
    let ledger = Ledger::new(Arc::clone(&progress));
    let algorithms: Option<Arc<dyn Algorithms>> =
        if own.is_empty() { None } else { Some(Arc::new(Classes::new(own, Arc::clone(&ledger)))) };
    let options = Options {
        seed,
        run,
        pcap_dir: pcap_dir.as_deref(),
        progress: Some(&progress),
        plain_loop: false,
        algorithms: algorithms.as_ref(),
    };
    let outcome = py.detach(|| narrows_sim::run(&scenario.0, &options));
    if let Some(fault) = ledger.fault() {
        return Err(AlgorithmError::new_err(fault));
    }
    outcome.map(|made| PyResult(made, None)).map_err(|error| match error {
        RunError::Stopped => Stopped::new_err(error.to_string()),
        RunError::Capture(_) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    })
}

/// Return the JSON Schema of scenario files.
#[pyfunction]
fn schema() -> String {
    narrows_scenario::schema().to_string()
}

/// Return congestion controls, queues and schemes with their parameters, as JSON.
#[pyfunction]
fn catalogue() -> String {
    narrows_sim::catalogue().to_json().to_string()
}

/// Return the version of the engine.
#[pyfunction]
const fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResultOf<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("AlgorithmError", module.py().get_type::<AlgorithmError>())?;
    module.add("Stopped", module.py().get_type::<Stopped>())?;
    module.add("LiveError", module.py().get_type::<host::LiveError>())?;
    module.add_class::<PyScenario>()?;
    module.add_class::<PyProgress>()?;
    module.add_class::<PyResult>()?;
    module.add_class::<host::PyDeployed>()?;
    module.add_class::<PyAck>()?;
    module.add_class::<PyCongestion>()?;
    module.add_class::<PyPath>()?;
    module.add_class::<PyWindow>()?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(host::attach, module)?)?;
    module.add_function(wrap_pyfunction!(host::detach, module)?)?;
    module.add_function(wrap_pyfunction!(host::attached, module)?)?;
    module.add_function(wrap_pyfunction!(host::attachable, module)?)?;
    module.add_function(wrap_pyfunction!(host::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(live::live, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_check, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_shell, module)?)?;
    Ok(())
}
