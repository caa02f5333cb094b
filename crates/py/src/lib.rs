//! The Python module `narrows._core`: conversion only. `python/narrows/_core.pyi` declares its contents for Python.

#![allow(unsafe_code, reason = "PyO3's macros expand to it")]

mod aside;
mod backstop;
mod capture;
mod catalogue;
mod files;
mod foreign;
mod host;
mod live;
mod memory;
mod packetdrill;
mod result;
mod run;
mod scenario;
mod version;
mod watch;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(_core, ScenarioError, PyValueError, "A scenario that is refused; `problems` lists why.");
create_exception!(_core, AlgorithmError, PyException, "A congestion control written in Python that failed.");
create_exception!(_core, Stopped, PyException, "A run that was stopped by `Progress.stop`.");

/// PyO3's result; the plain name is taken by the class.
pub(crate) type PyResultOf<T> = pyo3::PyResult<T>;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResultOf<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("AlgorithmError", module.py().get_type::<AlgorithmError>())?;
    module.add("Stopped", module.py().get_type::<Stopped>())?;
    module.add("LiveError", module.py().get_type::<host::LiveError>())?;
    module.add_class::<scenario::PyScenario>()?;
    module.add_class::<run::PyProgress>()?;
    module.add_class::<run::PyBudget>()?;
    module.add_class::<result::PyResult>()?;
    module.add_class::<backstop::PyBackstop>()?;
    module.add_class::<host::PyDeployed>()?;
    module.add_class::<foreign::PyAck>()?;
    module.add_class::<foreign::PyCongestion>()?;
    module.add_class::<foreign::PyPath>()?;
    module.add_class::<foreign::PyWindow>()?;
    module.add_function(wrap_pyfunction!(scenario::parse, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::parse_each, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::own_threads, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::schema, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::places, module)?)?;
    module.add_function(wrap_pyfunction!(capture::deliveries, module)?)?;
    module.add_function(wrap_pyfunction!(memory::end_on_failed_allocation, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue::catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(version::version, module)?)?;
    module.add_function(wrap_pyfunction!(version::release, module)?)?;
    module.add_function(wrap_pyfunction!(version::commit, module)?)?;
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
