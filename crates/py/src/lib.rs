//! The Python module `narrows._core`: conversion only. `python/narrows/_core.pyi` declares its contents for Python.

#![allow(unsafe_code, reason = "PyO3's macros expand to it")]

mod aside;
mod backstop;
mod files;
mod foreign;
mod host;
mod live;
mod memory;
mod packetdrill;
mod result;
mod watch;

use aside::aside;
use backstop::PyBackstop;
use files::Folder;
use foreign::{Classes, Failure, PyAck, PyCongestion, PyPath, PyWindow};
use narrows_scenario::{Catalogue, CatalogueKind, CatalogueParam, CatalogueRow};
use narrows_sim::{Algorithms, Budget, Options, Progress, RunError, Spill, Threads};
use narrows_units::{Duration, Instant};
use pyo3::IntoPyObjectExt;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use result::{PyResult, lost};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use watch::{Calls, watched};

create_exception!(_core, ScenarioError, PyValueError, "A scenario that is refused; `problems` lists why.");
create_exception!(_core, AlgorithmError, PyException, "A congestion control written in Python that failed.");
create_exception!(_core, Stopped, PyException, "A run that was stopped by `Progress.stop`.");

/// A validated scenario.
#[pyclass(name = "Scenario", frozen)]
struct PyScenario(Arc<narrows_scenario::Scenario>, Vec<narrows_scenario::Problem>);

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

    /// What is legal but odd: dicts as those of `ScenarioError.problems`.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResultOf<Bound<'py, PyList>> {
        problem_list(py, &self.1)
    }

    /// Return counts of nodes, links, flows, and of the rows that sampling will yield.
    fn size<'py>(&self, py: Python<'py>) -> PyResultOf<Bound<'py, PyDict>> {
        let size = self.0.size();
        let counts = PyDict::new(py);
        counts.set_item("nodes", size.nodes)?;
        counts.set_item("links", size.links)?;
        counts.set_item("flows", size.flows)?;
        counts.set_item("flow_rows", size.flow_rows)?;
        counts.set_item("queue_rows", size.queue_rows)?;
        counts.set_item("router_rows", size.router_rows)?;
        counts.set_item("state_rows", size.state_rows)?;
        Ok(counts)
    }

    /// Return for each flow of the file its name, its congestion control and its scheme's name; both are None for UDP.
    fn flow_controls(&self) -> Vec<(&str, Option<&str>, Option<&str>)> {
        let flows = self.0.listed().map(|flow| (&*flow.name, flow.tcp()));
        flows.map(|(name, tcp)| (name, tcp.map(|tcp| &*tcp.cc), tcp.and_then(|tcp| tcp.assist.as_deref()))).collect()
    }

    /// Whether it has 802.11 channels.
    #[getter]
    fn has_channels(&self) -> bool {
        !self.0.wifi.is_empty()
    }

    /// Return the scenario as TOML with every default shown.
    fn to_toml(&self, py: Python<'_>) -> PyResultOf<String> {
        let scenario = Arc::clone(&self.0);
        aside(py, move || scenario.to_toml())
    }

    /// Return the same without the settings that affect no run: name, title, description and seed.
    fn to_nameless_toml(&self, py: Python<'_>) -> PyResultOf<String> {
        let scenario = Arc::clone(&self.0);
        aside(py, move || scenario.to_nameless_toml())
    }

    /// Return the resolved scenario (nodes, links, flows) as JSON. Parts that flows or links share are listed once.
    fn to_json(&self, py: Python<'_>) -> PyResultOf<String> {
        let scenario = Arc::clone(&self.0);
        aside(py, move || scenario.to_shared_json())
    }

    /// Return the nodes that the packets of each flow pass, as the engine routes them: indices, both ends included.
    fn paths(&self, py: Python<'_>) -> PyResultOf<Vec<Vec<usize>>> {
        let scenario = Arc::clone(&self.0);
        aside(py, move || narrows_sim::paths(&scenario, &Progress::default()))?.map_err(run_error)
    }
}

/// The progress of a run, and the means to stop it; shared between threads.
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
struct PyBudget(Arc<Budget>);

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

/// PyO3's result; the plain name is taken by the class.
pub(crate) type PyResultOf<T> = pyo3::PyResult<T>;

/// Replaced values, by path of the field.
type Overrides = Vec<(String, String)>;

/// A congestion control written in Python: name, title, and parameters as (name, meaning, default).
type ForeignRow = (String, String, Vec<(String, String, ForeignDefault)>);

/// The default of a parameter, which determines its kind.
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
    let own_start = Some("is an algorithm of your own, which has its slow start itself".to_owned());
    CatalogueRow { name, title, params, own_start, ..CatalogueRow::default() }
}

/// The names that scenarios may use without congestion controls of the user. Making it takes longer than to parse a
/// small scenario.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(narrows_sim::catalogue()));

/// The catalogue with the user's congestion controls.
fn catalogue_with(own: Vec<ForeignRow>) -> Arc<Catalogue> {
    let mut catalogue = Arc::clone(&CATALOGUE);
    if !own.is_empty() {
        Arc::make_mut(&mut catalogue).cc.extend(own.into_iter().map(foreign_row));
    }
    catalogue
}

/// What parsing yields: a scenario and its warnings, or all problems.
type Parsed = Result<(narrows_scenario::Scenario, Vec<narrows_scenario::Problem>), narrows_scenario::Problems>;

/// Converts what parsing yields to a `Scenario` or a `ScenarioError`.
fn parsed(py: Python<'_>, parsed: Parsed) -> Result<PyScenario, PyErr> {
    parsed.map(|(scenario, warnings)| PyScenario(Arc::new(scenario), warnings)).map_err(|problems| {
        let error = ScenarioError::new_err(problems.to_string());
        match problem_list(py, &problems.0).and_then(|list| error.value(py).setattr("problems", list)) {
            Ok(()) => error,
            Err(failure) => failure,
        }
    })
}

/// Parse and validate a scenario, which may also name the congestion controls of `own`; raises `ScenarioError`.
///
/// `folder` is the directory relative to which it names traces.
#[pyfunction]
#[pyo3(signature = (text, path, overrides, own, folder = None))]
fn parse(
    py: Python<'_>,
    text: String,
    path: String,
    overrides: Overrides,
    own: Vec<ForeignRow>,
    folder: Option<PathBuf>,
) -> PyResultOf<PyScenario> {
    let files = Folder(folder.unwrap_or_default());
    let catalogue = catalogue_with(own);
    let made = aside(py, move || narrows_scenario::parse_told(&text, &path, &overrides, &catalogue, &files))?;
    parsed(py, made)
}

/// Parse and validate a scenario once for each list of overrides, as `parse` does.
///
/// Return for each a `ScenarioError`, or a `Scenario` with its `to_nameless_toml`.
#[pyfunction]
#[pyo3(signature = (text, path, overrides, own, folder = None))]
fn parse_each<'py>(
    py: Python<'py>,
    text: String,
    path: String,
    overrides: Vec<Overrides>,
    own: Vec<ForeignRow>,
    folder: Option<PathBuf>,
) -> PyResultOf<Vec<Bound<'py, PyAny>>> {
    let files = Folder(folder.unwrap_or_default());
    let catalogue = catalogue_with(own);
    let made = aside(py, move || {
        let document = narrows_scenario::Document::read(&text, &path);
        let parse = |overrides: &Overrides| {
            let made = document.parse(overrides, &catalogue, &files);
            let written = made.as_ref().map_or_else(|_| String::new(), |(scenario, _)| scenario.to_nameless_toml());
            (made, written)
        };
        overrides.iter().map(parse).collect::<Vec<_>>()
    })?;
    let told = |(made, written)| match parsed(py, made) {
        Ok(scenario) => (scenario, written).into_bound_py_any(py),
        Err(error) if error.is_instance_of::<ScenarioError>(py) => error.into_bound_py_any(py),
        Err(error) => Err(error),
    };
    made.into_iter().map(told).collect()
}

fn problem_list<'py>(py: Python<'py>, problems: &[narrows_scenario::Problem]) -> PyResultOf<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("kind", problem.kind.word())?;
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

/// A time in seconds as an instant; one before the start of the run is its start.
fn moment(seconds: f64) -> Instant {
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
fn run(
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
fn own_threads() -> usize {
    watch::threads()
}

/// A step of the path to a value in a TOML document.
#[derive(IntoPyObject)]
enum Part {
    Key(String),
    Index(usize),
}

/// Return the path and the line of each key and each element of an array in a TOML document.
#[pyfunction]
fn places(text: &str) -> Vec<(Vec<Part>, usize)> {
    let part = |part| match part {
        narrows_scenario::Part::Key(key) => Part::Key(key),
        narrows_scenario::Part::Index(index) => Part::Index(index),
    };
    let found = narrows_scenario::places(text).into_iter();
    found.map(|(path, line)| (path.into_iter().map(part).collect(), line)).collect()
}

/// Return the JSON Schema of scenario files, with the names that they may use; `own` adds congestion controls.
#[pyfunction]
#[pyo3(signature = (own = Vec::new()))]
fn schema(own: Vec<ForeignRow>) -> String {
    narrows_scenario::schema(&catalogue_with(own)).to_string()
}

/// Return congestion controls, queues and schemes with their parameters, as JSON.
#[pyfunction]
fn catalogue() -> String {
    CATALOGUE.to_json().to_string()
}

/// Return times in nanoseconds and lengths in bytes of the IP packets in a capture, as arrays of 64 and 32 bits in the
/// machine's byte order. `src` and `dst` choose packets by address.
#[pyfunction]
fn deliveries<'py>(
    py: Python<'py>,
    path: PathBuf,
    src: Option<std::net::IpAddr>,
    dst: Option<std::net::IpAddr>,
) -> PyResultOf<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let wanted = narrows_sim::Wanted { src, dst };
    let found = aside(py, move || narrows_sim::Deliveries::of_capture(&path, wanted))?;
    let found = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let times: Vec<u8> = found.times_ns.iter().flat_map(|time| time.to_ne_bytes()).collect();
    let bytes: Vec<u8> = found.bytes.iter().flat_map(|bytes| bytes.to_ne_bytes()).collect();
    Ok((PyBytes::new(py, &times), PyBytes::new(py, &bytes)))
}

/// The commit that the package was built from, between marks and in a field of fixed width: see `build.rs`.
#[used]
static COMMIT: [u8; 64] = *include_bytes!(concat!(env!("OUT_DIR"), "/commit"));

/// Return the released version of the engine, without the commit.
#[pyfunction]
const fn release() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Return the commit that the package was built from: `9094a25`, with `.dirty` after it if the tree was not clean, or
/// `unknown`.
#[pyfunction]
fn commit() -> String {
    // The compiler must not read the field: the commit would then be in the code too, and the same code would give
    // different builds.
    let field = String::from_utf8_lossy(std::hint::black_box(&COMMIT)).into_owned();
    let inside = field.split_once('<').map_or("", |(_, after)| after);
    inside.trim_end_matches('>').trim_end().to_owned()
}

/// Return the version of the engine with its commit: `0.1.0+g9094a25`, `0.1.0+g9094a25.dirty` or `0.1.0+unknown`.
#[pyfunction]
fn version() -> String {
    let commit = commit();
    if commit == "unknown" { format!("{}+{commit}", release()) } else { format!("{}+g{commit}", release()) }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResultOf<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("AlgorithmError", module.py().get_type::<AlgorithmError>())?;
    module.add("Stopped", module.py().get_type::<Stopped>())?;
    module.add("LiveError", module.py().get_type::<host::LiveError>())?;
    module.add_class::<PyScenario>()?;
    module.add_class::<PyProgress>()?;
    module.add_class::<PyBudget>()?;
    module.add_class::<PyResult>()?;
    module.add_class::<PyBackstop>()?;
    module.add_class::<host::PyDeployed>()?;
    module.add_class::<PyAck>()?;
    module.add_class::<PyCongestion>()?;
    module.add_class::<PyPath>()?;
    module.add_class::<PyWindow>()?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(parse_each, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(own_threads, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(places, module)?)?;
    module.add_function(wrap_pyfunction!(deliveries, module)?)?;
    module.add_function(wrap_pyfunction!(memory::end_on_failed_allocation, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(release, module)?)?;
    module.add_function(wrap_pyfunction!(commit, module)?)?;
    module.add_function(wrap_pyfunction!(host::attach, module)?)?;
    module.add_function(wrap_pyfunction!(host::detach, module)?)?;
    module.add_function(wrap_pyfunction!(host::attached, module)?)?;
    module.add_function(wrap_pyfunction!(host::attachable, module)?)?;
    module.add_function(wrap_pyfunction!(host::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(live::live, module)?)?;
    module.add_function(wrap_pyfunction!(live::vm_qdisc_modules, module)?)?;
    module.add_function(wrap_pyfunction!(live::vm_request, module)?)?;
    module.add_function(wrap_pyfunction!(live::vm_header, module)?)?;
    module.add_function(wrap_pyfunction!(live::vm_result, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_check, module)?)?;
    module.add_function(wrap_pyfunction!(live::live_shell, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill_live, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill_check, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill_capture, module)?)?;
    Ok(())
}
