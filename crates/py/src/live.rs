//! Live runs for Python: conversion only.

use crate::PyResultOf;
use crate::host::live_error;
use crate::result::PyResult;
use crate::run::{PyProgress, moment};
use crate::scenario::PyScenario;
use narrows_live::{Conditions, LatenessFacts, Options, vm};
use narrows_sim::Outcome;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;

/// Converts the conditions of a run to the form of `narrows.outcome.conditions`.
pub(crate) fn conditions<'py>(py: Python<'py>, told: &Conditions) -> PyResultOf<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("kernel", &told.kernel)?;
    made.set_item("cpus", told.cpus)?;
    made.set_item("bottleneck_scheduling", &told.scheduling)?;
    made.set_item("bottleneck_cpu_percent", (told.bottleneck_cpu * 1000.0).round() / 10.0)?;
    made.set_item("lateness", lateness(py, &told.lateness, "packets")?)?;
    made.set_item("traffic_lateness", lateness(py, &told.traffic, "looks")?)?;
    made.set_item("packets_astray", told.astray)?;
    made.set_item("offloads", &told.offloads)?;
    made.set_item("cc", pairs(py, &told.controls)?)?;
    made.set_item("sysctls", pairs(py, &told.sysctls)?)?;
    if !told.queues.is_empty() {
        made.set_item("kernel_qdiscs", PyList::new(py, &told.queues)?)?;
    }
    made.set_item("rtt_source", &told.rtt_source)?;
    made.set_item("tcp_info_every_ms", told.look.as_millis_f64())?;
    made.set_item("trace_records_lost", told.trace_lost)?;
    made.set_item("trace_records_not_kept", told.trace_not_kept)?;
    made.set_item("trace_cpu_percent", (told.trace_cpu * 1000.0).round() / 10.0)?;
    if !told.trace_missing.is_empty() {
        made.set_item("tracepoints_missing", PyList::new(py, &told.trace_missing)?)?;
    }
    made.set_item("left_to_the_kernel", PyList::new(py, &told.left_to_kernel)?)?;
    if !told.programs.is_empty() {
        made.set_item("programs", PyList::new(py, &told.programs)?)?;
    }
    made.set_item("process_cpu_percent", (told.process_cpu * 1000.0).round() / 10.0)?;
    made.set_item("trusted", told.trusted())?;
    made.set_item("doubts", PyList::new(py, &told.doubts)?)?;
    Ok(made)
}

fn lateness<'py>(py: Python<'py>, facts: &LatenessFacts, of: &str) -> PyResultOf<Bound<'py, PyDict>> {
    let micros = |nanos: f64| (nanos / 10.0).round() / 100.0;
    let made = PyDict::new(py);
    made.set_item(of, facts.count)?;
    made.set_item("mean_us", micros(facts.mean_ns))?;
    made.set_item("p50_us", micros(facts.p50_ns as f64))?;
    made.set_item("p99_us", micros(facts.p99_ns as f64))?;
    made.set_item("max_us", micros(facts.max_ns as f64))?;
    Ok(made)
}

fn pairs<'py>(py: Python<'py>, list: &[(String, String)]) -> PyResultOf<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (name, value) in list {
        made.set_item(name, value)?;
    }
    Ok(made)
}

/// Run a scenario live without holding the interpreter's lock; raises `LiveError`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, run, progress, pcap_dir, programs, until_decided=false, looks=None))]
#[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn live(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    run: u64,
    progress: Option<&PyProgress>,
    pcap_dir: Option<PathBuf>,
    programs: Vec<(String, String)>,
    until_decided: bool,
    looks: Option<(f64, f64)>,
) -> PyResultOf<PyResult> {
    let progress = progress.map(|p| p.0.clone());
    let options = Options {
        seed,
        run,
        pcap_dir: pcap_dir.as_deref(),
        progress: progress.as_deref(),
        programs: &programs,
        kernel_qdisc: false,
        until_decided,
        looks: looks.map(|(begin, end)| (moment(begin), moment(end))),
    };
    match py.detach(|| narrows_live::run(&scenario.0, &options)) {
        Ok(made) => {
            let outcome = Outcome { samples: made.samples, events: 0, packets: made.packets, case: made.case };
            Ok(PyResult(outcome, Some(made.conditions), progress.unwrap_or_default()))
        }
        Err(error) => Err(live_error(py, &error)),
    }
}

/// Return what a virtual machine is asked to run: bytes for `narrows.runs.vm`.
#[pyfunction]
pub(crate) fn vm_request(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    run: u64,
    programs: Vec<(String, String)>,
    kernel_qdisc: bool,
) -> Py<PyBytes> {
    let request = vm::Request { scenario: scenario.0.to_toml(), seed, run, programs, captures: false, kernel_qdisc };
    PyBytes::new(py, &request.encode()).unbind()
}

/// Return the kernel modules that a scenario's queues need where the kernel carries them.
#[pyfunction]
pub(crate) fn vm_qdisc_modules(scenario: &PyScenario) -> Vec<&'static str> {
    narrows_live::qdisc_modules(&scenario.0)
}

/// Return how far a virtual machine is, from the head of the memory that it shares: the state (0 starting, 1 running,
/// 2 done), the scenario time and the guest's time in nanoseconds, and where its result begins and ends.
#[pyfunction]
pub(crate) fn vm_header(memory: &[u8]) -> (u8, u64, u64, u64, u64) {
    let head = vm::Header::read(memory);
    let state = match head.state {
        vm::State::Starting => 0,
        vm::State::Running => 1,
        vm::State::Done => 2,
    };
    let begin = vm::Header::SIZE as u64;
    (state, head.now_ns, head.uptime_ns, begin, begin.saturating_add(head.length))
}

/// Return the result of a run in a virtual machine; raises the guest's `LiveError`.
#[pyfunction]
pub(crate) fn vm_result(py: Python<'_>, scenario: &PyScenario, result: &[u8]) -> PyResultOf<PyResult> {
    match py.detach(|| vm::decode(result, &scenario.0)) {
        Ok(made) => {
            let outcome = Outcome { samples: made.samples, events: 0, packets: made.packets, case: None };
            Ok(PyResult(outcome, Some(made.conditions), std::sync::Arc::default()))
        }
        Err(error) => Err(live_error(py, &error)),
    }
}

/// Check that a scenario can run live here, without running it; raises `LiveError`.
#[pyfunction]
pub(crate) fn live_check(py: Python<'_>, scenario: &PyScenario) -> PyResultOf<()> {
    narrows_live::check(&scenario.0).map_err(|error| live_error(py, &error))
}

/// Open a shell on a host of the emulated network, on this terminal, and return its exit code; raises `LiveError`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, host, traffic))]
pub(crate) fn live_shell(
    py: Python<'_>,
    scenario: &PyScenario,
    seed: u64,
    host: &str,
    traffic: bool,
) -> PyResultOf<i32> {
    py.detach(|| narrows_live::shell(&scenario.0, seed, host, traffic)).map_err(|error| live_error(py, &error))
}
