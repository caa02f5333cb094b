//! Scenario files for Python: the class `Scenario`, parsing, and the places of keys in a file.

use crate::aside::aside;
use crate::catalogue::{ForeignRow, catalogue_with};
use crate::files::Folder;
use crate::run::run_error;
use crate::{PyResultOf, ScenarioError};
use narrows_sim::Progress;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use std::sync::Arc;

/// A validated scenario.
#[pyclass(name = "Scenario", frozen)]
pub(crate) struct PyScenario(pub(crate) Arc<narrows_scenario::Scenario>, Vec<narrows_scenario::Problem>);

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

/// Replaced values, by path of the field.
pub(crate) type Overrides = Vec<(String, String)>;

/// What parsing yields: a scenario and its warnings, or all problems.
type Parsed = Result<(Arc<narrows_scenario::Scenario>, Vec<narrows_scenario::Problem>), narrows_scenario::Problems>;

/// Converts what parsing yields to a `Scenario` or a `ScenarioError`.
fn parsed(py: Python<'_>, parsed: Parsed) -> Result<PyScenario, PyErr> {
    parsed.map(|(scenario, warnings)| PyScenario(scenario, warnings)).map_err(|problems| {
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
pub(crate) fn parse(
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
    parsed(py, made.map(|(scenario, warnings)| (Arc::new(scenario), warnings)))
}

/// Parse and validate a scenario once for each list of overrides, as `parse` does.
///
/// Return for each a `ScenarioError`, or a `Scenario` with its `to_nameless_toml`.
#[pyfunction]
#[pyo3(signature = (text, path, overrides, own, folder = None))]
pub(crate) fn parse_each<'py>(
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
        let mut texts = narrows_scenario::Texts::default();
        let parse = |overrides: &Overrides| {
            let made = document.parse(overrides, &catalogue, &files);
            let made = made.map(|(scenario, warnings)| (Arc::new(scenario), warnings));
            let written = made.as_ref().map_or_else(|_| String::new(), |(scenario, _)| texts.nameless_toml(scenario));
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

/// A step of the path to a value in a TOML document.
#[derive(IntoPyObject)]
pub(crate) enum Part {
    Key(String),
    Index(usize),
}

/// Return the path and the line of each key and each element of an array in a TOML document.
#[pyfunction]
pub(crate) fn places(text: &str) -> Vec<(Vec<Part>, usize)> {
    let part = |part| match part {
        narrows_scenario::Part::Key(key) => Part::Key(key),
        narrows_scenario::Part::Index(index) => Part::Index(index),
    };
    let found = narrows_scenario::places(text).into_iter();
    found.map(|(path, line)| (path.into_iter().map(part).collect(), line)).collect()
}
