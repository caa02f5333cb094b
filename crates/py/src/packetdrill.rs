//! Packetdrill scripts for Python: conversion only.

use crate::PyResultOf;
use crate::host::live_error;
use crate::run::{PyProgress, run_error};
use narrows_fabric::{PcapFailure, PcapFile};
use narrows_live::LiveError;
use narrows_live::packetdrill as live;
use narrows_packetdrill::host::TcpInfo;
use narrows_packetdrill::notation;
use narrows_packetdrill::options::{IpVersion, Options};
use narrows_packetdrill::run::{Mismatch, Outcome, Plan, Verdict, run};
use narrows_packetdrill::simulated::Simulated;
use narrows_packetdrill::syntax::{Direction, ScriptError, ScriptOption, parse, parse_options};
use narrows_sim::RunError;
use narrows_units::{Duration, Instant};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Names and values of options, without the dashes.
type Given = Vec<(String, String)>;

/// A script that is ready to run.
struct Ready {
    options: Options,
    plan: Plan,
}

/// What a script is run with: `options` for scripts that do not set them, `overrides` in place of the script's own, and
/// `symbols`, words of the script with their replacements.
#[derive(FromPyObject)]
pub(crate) struct Invocation {
    #[pyo3(item)]
    text: String,
    #[pyo3(item)]
    path: String,
    #[pyo3(item)]
    options: Given,
    #[pyo3(item)]
    overrides: Given,
    #[pyo3(item)]
    symbols: BTreeMap<String, String>,
}

impl Invocation {
    fn ready(&self) -> Result<Ready, ScriptError> {
        let option =
            |(name, value): &(String, String)| ScriptOption { name: name.clone(), value: Some(value.clone()), line: 0 };
        // The script's own options replace those that are only given for scripts without.
        let own = parse_options(&self.path, &self.text)?;
        let all: Vec<ScriptOption> = self.options.iter().map(option).chain(own).collect();
        let overrides: Vec<ScriptOption> = self.overrides.iter().map(option).collect();
        let options = Options::resolve(&self.path, &all, &overrides)?;
        let script = parse(&self.path, &self.text, &self.symbols)?;
        let plan = Plan::new(&self.path, &script, &options)?;
        Ok(Ready { options, plan })
    }
}

/// Run a script on Narrows' TCP in virtual time; raises `Stopped` after `progress.stop()`.
///
/// `included` returns the text of a file that a command line of the script names, or `None`; an error counts as no
/// file. It is called on this thread, and the interpreter's lock is held for these calls alone.
#[pyfunction]
pub(crate) fn packetdrill<'py>(
    py: Python<'py>,
    invocation: Invocation,
    included: Py<PyAny>,
    progress: &PyProgress,
) -> PyResultOf<Bound<'py, PyDict>> {
    let ready = match invocation.ready() {
        Ok(ready) => ready,
        Err(error) => return invalid(py, &error),
    };
    let helpers = |name: &str| {
        Python::attach(|py| {
            let text = included.call1(py, (name,)).and_then(|text| text.extract::<Option<String>>(py));
            text.unwrap_or_default()
        })
    };
    let progress = &progress.0;
    let outcome = py.detach(|| {
        let mut host = Simulated::new(&ready.options, Box::new(helpers)).until(Box::new(|| progress.stopped()));
        run(&ready.plan, &mut host)
    });
    if matches!(outcome.verdict, Verdict::Stopped { .. }) {
        return Err(run_error(RunError::Stopped));
    }
    told(py, &outcome, false)
}

/// Run a script on this machine's kernel, its command lines in `directory`; raises `LiveError`, also after
/// `progress.stop()`.
#[pyfunction]
pub(crate) fn packetdrill_live<'py>(
    py: Python<'py>,
    invocation: Invocation,
    directory: PathBuf,
    progress: &PyProgress,
) -> PyResultOf<Bound<'py, PyDict>> {
    let ready = match invocation.ready() {
        Ok(ready) => ready,
        Err(error) => return invalid(py, &error),
    };
    let progress = &progress.0;
    let work = || {
        live::on_kernel(&ready.options, &directory, progress, |host| {
            let outcome = run(&ready.plan, host);
            (outcome, host.latest())
        })
    };
    let (outcome, latest) = py.detach(work).map_err(|error| live_error(py, &error))?;
    if matches!(outcome.verdict, Verdict::Stopped { .. }) {
        return Err(live_error(py, &LiveError::Stopped));
    }
    let late = latest > ready.options.tolerance;
    told(py, &outcome, late)
}

/// Returns the outcome of what is no script.
fn invalid<'py>(py: Python<'py>, error: &ScriptError) -> PyResultOf<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("ended", "invalid")?;
    made.set_item("why", &error.message)?;
    made.set_item("line", (error.line > 0).then_some(error.line))?;
    Ok(made)
}

/// Converts an outcome. `late` is whether the host was too late for the script's tolerance, so that a difference proves
/// nothing.
fn told<'py>(py: Python<'py>, outcome: &Outcome, late: bool) -> PyResultOf<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    match &outcome.verdict {
        Verdict::Matched => made.set_item("ended", "match")?,
        Verdict::Differed(mismatch) => {
            made.set_item("ended", if late { "late" } else { "mismatch" })?;
            made.set_item("line", mismatch.line)?;
            made.set_item("why", why(mismatch))?;
            made.set_item("difference", difference(py, mismatch)?)?;
            made.set_item("state", state(py, mismatch.tcp_info.as_ref())?)?;
        }
        Verdict::Unsupported { line, reason } => {
            made.set_item("ended", "refused")?;
            made.set_item("line", line)?;
            made.set_item("why", reason)?;
        }
        // Callers raise before.
        Verdict::Stopped { line } => {
            made.set_item("ended", "refused")?;
            made.set_item("line", line)?;
            made.set_item("why", "the run was stopped")?;
        }
        Verdict::Failed { line, reason } => {
            made.set_item("ended", if late { "late" } else { "mismatch" })?;
            made.set_item("line", line)?;
            made.set_item("why", reason)?;
        }
    }
    let steps = outcome.steps.iter().map(|step| (step.at.as_nanos(), step.line, step.text.as_str()));
    made.set_item("steps", PyList::new(py, steps)?)?;
    let code = PyList::empty(py);
    for piece in &outcome.code {
        code.append((piece.line, &piece.text, state(py, piece.info.as_ref())?))?;
    }
    made.set_item("code", code)?;
    let packets = PyList::empty(py);
    for packet in &outcome.packets {
        let leaves = packet.direction == Direction::Outbound;
        packets.append((packet.at.as_nanos(), leaves, PyBytes::new(py, &packet.bytes)))?;
    }
    made.set_item("packets", packets)?;
    Ok(made)
}

/// Says in a sentence what differs.
fn why(mismatch: &Mismatch) -> String {
    let fields: Vec<String> = mismatch
        .differences
        .iter()
        .map(|one| format!("{} is {}, expected {}", one.field, one.actual, one.expected))
        .collect();
    format!("{}: {}", mismatch.what, fields.join("; "))
}

fn difference<'py>(py: Python<'py>, mismatch: &Mismatch) -> PyResultOf<Bound<'py, PyDict>> {
    let seconds = |time: Option<Duration>| time.map_or_else(|| "*".to_owned(), notation::time);
    let made = PyDict::new(py);
    made.set_item("line", mismatch.line)?;
    made.set_item("what", &mismatch.what)?;
    made.set_item("expected", format!("{} {}", seconds(mismatch.expected_time), mismatch.expected))?;
    made.set_item("actual", format!("{} {}", seconds(mismatch.actual_time), mismatch.actual))?;
    let fields = mismatch.differences.iter().map(|one| (&one.field, &one.expected, &one.actual));
    made.set_item("fields", PyList::new(py, fields)?)?;
    Ok(made)
}

/// Converts the fields of `tcp_info`; empty without any.
fn state<'py>(py: Python<'py>, info: Option<&TcpInfo>) -> PyResultOf<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (name, value) in info.map_or(&[][..], |info| &info.0) {
        made.set_item(name, value)?;
    }
    Ok(made)
}

/// Write packets to a capture for Wireshark, with an interface for each direction: (time in nanoseconds, whether it
/// leaves the host, bytes from the IP header on). Raises `OSError`.
#[pyfunction]
pub(crate) fn packetdrill_capture(path: PathBuf, packets: Vec<(u64, bool, Vec<u8>)>) -> PyResultOf<()> {
    let write = || {
        let interfaces = ["to the host".to_owned(), "from the host".to_owned()];
        let mut file = PcapFile::raw_ip(path, &interfaces)?;
        for (at, leaves, bytes) in &packets {
            file.write(u32::from(*leaves), Instant::from_nanos(*at), bytes)?;
        }
        file.finish()
    };
    write().map_err(|error: PcapFailure| PyOSError::new_err(error.to_string()))
}

/// Check that scripts can run live here; raises `LiveError`.
#[pyfunction]
pub(crate) fn packetdrill_check(py: Python<'_>) -> PyResultOf<()> {
    let options = Options::new(IpVersion::V4);
    py.detach(|| live::on_kernel(&options, &std::env::temp_dir(), &Arc::default(), |_| ()))
        .map_err(|error| live_error(py, &error))
}
