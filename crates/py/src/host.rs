//! This host: congestion controls attached to its kernel, and what it supports.

use narrows_live::LiveError as Error;
use narrows_live::deploy::{self, Deployed};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    _core,
    LiveError,
    PyException,
    "Something live that could not be done: `kind` and `remedy` say more."
);

/// Converts an error to Python's: `kind` is unavailable, unsupported, failed or stopped.
pub(crate) fn live_error(py: Python<'_>, error: &Error) -> PyErr {
    let (kind, remedy) = match error {
        Error::Unavailable { remedy, .. } => ("unavailable", Some(remedy.as_str())),
        Error::Unsupported { .. } => ("unsupported", None),
        // What must change in the scenario takes precedence over what the machine lacks.
        Error::Refused { refusals } if refusals.iter().all(|one| matches!(one, Error::Unavailable { .. })) => {
            ("unavailable", None)
        }
        Error::Refused { .. } => ("unsupported", None),
        Error::Failed { .. } => ("failed", None),
        Error::Stopped => ("stopped", None),
    };
    let raised = LiveError::new_err(error.to_string());
    let value = raised.value(py);
    match value.setattr("kind", kind).and_then(|()| value.setattr("remedy", remedy)) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}

/// A congestion control that `narrows attach` registered on this host.
#[pyclass(name = "Deployed", frozen)]
pub(crate) struct PyDeployed(Deployed);

#[pymethods]
impl PyDeployed {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn params(&self) -> &str {
        &self.0.params
    }

    #[getter]
    fn is_default(&self) -> bool {
        self.0.is_default
    }

    #[getter]
    fn replaced(&self) -> Option<&str> {
        self.0.replaced.as_deref()
    }

    #[getter]
    fn pin(&self) -> String {
        self.0.pin.display().to_string()
    }
}

/// Register a congestion control on this host; raises `LiveError`. Returns it, whether it is new, and whether the BPF
/// file system was mounted for it.
#[pyfunction]
#[pyo3(signature = (name, params, default))]
pub(crate) fn attach(
    py: Python<'_>,
    name: &str,
    params: Vec<(String, String)>,
    default: bool,
) -> PyResult<(PyDeployed, bool, bool)> {
    let done = py.detach(|| deploy::attach(name, &params, default)).map_err(|error| live_error(py, &error))?;
    Ok((PyDeployed(done.deployed), done.is_new, done.mounted))
}

/// Remove a congestion control from this host; raises `LiveError`. Returns the default that was restored, if it was the
/// default.
#[pyfunction]
pub(crate) fn detach(py: Python<'_>, name: &str) -> PyResult<Option<String>> {
    py.detach(|| deploy::detach(name)).map(|done| done.default).map_err(|error| live_error(py, &error))
}

/// Return the congestion controls that were attached to this host; raises `LiveError`.
#[pyfunction]
pub(crate) fn attached(py: Python<'_>) -> PyResult<Vec<PyDeployed>> {
    let found = py.detach(deploy::attached).map_err(|error| live_error(py, &error))?;
    Ok(found.into_iter().map(PyDeployed).collect())
}

/// Return the names of the congestion controls that exist as eBPF programs.
#[pyfunction]
pub(crate) fn attachable() -> Vec<&'static str> {
    narrows_live::bpf::programs().iter().map(|program| program.name).collect()
}

/// One check: name, status, found, purpose, why, remedy.
type PyCheck = (&'static str, &'static str, String, &'static str, String, String);

/// Check what this machine supports; each check is name, status, found, purpose, why it is not ok, and what would
/// change that.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> Vec<PyCheck> {
    let checks = py.detach(narrows_live::doctor::doctor);
    let row = |check: narrows_live::doctor::Check| {
        (check.name, check.status.as_str(), check.found, check.purpose, check.why, check.remedy)
    };
    checks.into_iter().map(row).collect()
}
