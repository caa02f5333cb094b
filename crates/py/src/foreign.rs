//! Congestion controls written in Python: objects with `on_ack` and `on_congestion`, called during a run.
//!
//! An object gets an ACK or an event, the path and the window, and sets the window's fields. The fields are checked
//! after each call. The first call that raises, or sets an invalid value, stops the run; [`Failure`] keeps the reason.

use crate::watch::Calls;
use narrows_cc::{Ack, Congestion, CongestionControl, Needs, ParamValue, Params, Path, Phase, Window};
use narrows_sim::{Algorithms, Progress};
use narrows_units::{Bytes, Rate};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Largest window that a congestion control may set: what a receiver can announce (RFC 7323, section 2.3), in bytes.
const MAX_WINDOW: f64 = (65_535_u64 << 14) as f64;

/// Why a user's algorithm ended the run.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    fault: Mutex<Option<String>>,
    progress: Arc<Progress>,
}

impl Failure {
    /// Makes a failure that stops the run which `progress` watches.
    pub(crate) fn new(progress: Arc<Progress>) -> Arc<Self> {
        Arc::new(Self { fault: Mutex::default(), progress })
    }

    /// The first fault.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().ok().and_then(|fault| fault.clone())
    }

    /// Whether the run is to end; no more hooks are called then.
    fn stopped(&self) -> bool {
        self.progress.stopped()
    }

    /// Keeps the first reason, and stops the run.
    pub(crate) fn note(&self, why: String) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(why);
        }
        self.progress.stop();
    }
}

/// The classes of a run by name.
pub(crate) struct Classes {
    classes: BTreeMap<String, (Py<PyAny>, f64)>,
    failure: Arc<Failure>,
    calls: Arc<Calls>,
}

impl Classes {
    /// Classes (or any callables that make an object) by name, each with the time that a call may take, in seconds.
    pub(crate) fn new(classes: BTreeMap<String, (Py<PyAny>, f64)>, failure: Arc<Failure>, calls: Arc<Calls>) -> Self {
        Self { classes, failure, calls }
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.classes.keys()).finish()
    }
}

impl Algorithms for Classes {
    fn has(&self, name: &str) -> bool {
        self.classes.contains_key(name)
    }

    fn build(&self, name: &str, params: &Params) -> Box<dyn CongestionControl> {
        let limit = self.classes.get(name).map_or(f64::INFINITY, |(_, limit)| *limit);
        let limit = Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX);
        let object = Python::attach(|py| {
            let (class, _) = self.classes.get(name).filter(|_| !self.failure.stopped())?;
            match self.calls.during(name, "its making", limit, || make(py, class, params)) {
                Ok(object) => Some(object),
                Err(error) => {
                    self.failure.note(format!("{name}: raised when it was made: {}", shown(py, &error)));
                    None
                }
            }
        });
        let (failure, calls) = (Arc::clone(&self.failure), Arc::clone(&self.calls));
        Box::new(Foreign { name: name.to_owned(), object, limit, failure, calls })
    }
}

fn make(py: Python<'_>, class: &Py<PyAny>, params: &Params) -> PyResult<Object> {
    let keywords = PyDict::new(py);
    for (name, value) in params.given() {
        match value {
            ParamValue::Number(v) => keywords.set_item(name, v)?,
            ParamValue::Choice(v) => keywords.set_item(name, v)?,
            ParamValue::Switch(v) => keywords.set_item(name, v)?,
        }
    }
    let made = class.bind(py).call((), Some(&keywords))?;
    let hook = |name: &str| made.getattr(name).ok().map(Bound::unbind);
    Ok(Object {
        on_ack: made.getattr("on_ack")?.unbind(),
        on_congestion: made.getattr("on_congestion")?.unbind(),
        on_start: hook("on_start"),
        on_recovered: hook("on_recovered"),
        on_undo: hook("on_undo"),
    })
}

/// An exception as one line, with the place in the user's file.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let place = error.traceback(py).and_then(|mut frame| {
        // The innermost frame is where the user looks first.
        while let Ok(Some(next)) = frame.getattr("tb_next").map(|n| n.cast_into().ok()) {
            frame = next;
        }
        let line = frame.getattr("tb_lineno").ok()?.extract::<u32>().ok()?;
        let code = frame.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
        Some((code.getattr("co_filename").ok()?.extract::<String>().ok()?, line))
    });
    match place {
        Some((file, line)) => format!("{error} ({}:{line})", file.rsplit('/').next().unwrap_or(&file)),
        None => error.to_string(),
    }
}

/// The methods of a user's object.
struct Object {
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_start: Option<Py<PyAny>>,
    on_recovered: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
}

/// A user's object as a congestion control.
struct Foreign {
    name: String,
    /// `None` after a fault: from then on the window stays unchanged until the run has stopped.
    object: Option<Object>,
    /// Time that a call may take.
    limit: Duration,
    failure: Arc<Failure>,
    calls: Arc<Calls>,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Foreign {
    /// Calls a hook with `first` (an ACK or event), the path and the window, and applies the window if it is valid.
    fn call(
        &mut self,
        hook: &str,
        pick: impl FnOnce(&Object) -> Option<&Py<PyAny>>,
        first: impl FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>>,
        path: &Path,
        win: &mut Window,
    ) {
        let Some(method) = self.object.as_ref().and_then(pick).filter(|_| !self.failure.stopped()) else { return };
        let why = Python::attach(|py| {
            match self.calls.during(&self.name, hook, self.limit, || run(py, method, first, path, win)) {
                Ok(after) => after.check(py, win).err().map(|why| format!("{}: {hook} {why}", self.name)),
                Err(error) => Some(format!("{}: {hook} raised {}", self.name, shown(py, &error))),
            }
        });
        if let Some(why) = why {
            let now = path.now.as_secs_f64();
            self.failure
                .note(format!("{why}; simulated time {now} s, cwnd before the call {} bytes", win.cwnd.as_u64()));
            self.object = None;
        }
    }
}

fn run(
    py: Python<'_>,
    method: &Py<PyAny>,
    first: impl FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>>,
    path: &Path,
    win: &Window,
) -> PyResult<After> {
    let window = Py::new(py, PyWindow::new(py, win)?)?;
    let path = Py::new(py, PyPath(*path))?;
    match first(py)? {
        Some(first) => method.call1(py, (first, path, &window))?,
        None => method.call1(py, (path, &window))?,
    };
    let window = window.bind(py).borrow();
    Ok(After {
        cwnd: window.cwnd.clone_ref(py),
        ssthresh: window.ssthresh.clone_ref(py),
        pacing_rate: window.pacing_rate.clone_ref(py),
    })
}

/// The window's fields after a call, unchecked.
struct After {
    cwnd: Py<PyAny>,
    ssthresh: Py<PyAny>,
    pacing_rate: Py<PyAny>,
}

impl After {
    /// Applies the fields if they are valid; otherwise returns what is wrong.
    fn check(&self, py: Python<'_>, win: &mut Window) -> Result<(), String> {
        let bytes = |what: &str, value: &Py<PyAny>| {
            number(py, value).filter(|v| (1.0..=MAX_WINDOW).contains(v)).map(|v| Bytes::new(v as u64)).ok_or_else(
                || {
                    let given = text(py, value);
                    format!("set {what} to {given}; allowed: a number of bytes from 1 to {MAX_WINDOW}")
                },
            )
        };
        let cwnd = bytes("cwnd", &self.cwnd)?;
        // `None` means no threshold; infinity means the same.
        let unlimited = self.ssthresh.is_none(py) || number(py, &self.ssthresh) == Some(f64::INFINITY);
        let ssthresh = if unlimited { None } else { Some(bytes("ssthresh", &self.ssthresh)?) };
        let pacing_rate = if self.pacing_rate.is_none(py) {
            None
        } else {
            let rate = number(py, &self.pacing_rate).filter(|v| (1.0..=1e15).contains(v)).ok_or_else(|| {
                let given = text(py, &self.pacing_rate);
                format!("set pacing_rate to {given}; allowed: None, or a number from 1 to 1e15 in bit/s")
            })?;
            Some(Rate::bps(rate as u64))
        };
        (win.cwnd, win.ssthresh, win.pacing_rate) = (cwnd, ssthresh, pacing_rate);
        Ok(())
    }
}

/// Extracts a number. Python's `True` would pass as one, but is a mistake here.
fn number(py: Python<'_>, value: &Py<PyAny>) -> Option<f64> {
    if value.bind(py).is_instance_of::<PyBool>() {
        return None;
    }
    value.extract::<f64>(py).ok()
}

/// Returns the `repr()` of a value, cut to the length of a message.
fn text(py: Python<'_>, value: &Py<PyAny>) -> String {
    let shown = value.bind(py).repr().map_or_else(|_| "a value whose repr() fails".to_owned(), |r| r.to_string());
    match shown.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

impl CongestionControl for Foreign {
    fn needs(&self) -> Needs {
        Needs { rates: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.call("on_start", |o| o.on_start.as_ref(), |_| Ok(None), path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let ack = PyAck(*ack);
        self.call("on_ack", |o| Some(&o.on_ack), |py| Ok(Some(Py::new(py, ack)?.into_any())), path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let event = PyCongestion(*event);
        let first = |py: Python<'_>| Ok(Some(Py::new(py, event)?.into_any()));
        self.call("on_congestion", |o| Some(&o.on_congestion), first, path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.call("on_recovered", |o| o.on_recovered.as_ref(), |_| Ok(None), path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.call("on_undo", |o| o.on_undo.as_ref(), |_| Ok(None), path, win);
    }
}

/// Values that a congestion control may set.
#[pyclass(name = "Window")]
pub(crate) struct PyWindow {
    /// Congestion window, bytes.
    #[pyo3(get, set)]
    cwnd: Py<PyAny>,
    /// Slow-start threshold, bytes; None is "arbitrarily high" (RFC 5681).
    #[pyo3(get, set)]
    ssthresh: Py<PyAny>,
    /// Pacing rate, bit/s; None is the connection's own setting.
    #[pyo3(get, set)]
    pacing_rate: Py<PyAny>,
}

impl PyWindow {
    fn new(py: Python<'_>, win: &Window) -> PyResult<Self> {
        Ok(Self {
            cwnd: win.cwnd.as_u64().into_pyobject(py)?.into_any().unbind(),
            ssthresh: win.ssthresh.map(Bytes::as_u64).into_pyobject(py)?.into_any().unbind(),
            pacing_rate: win.pacing_rate.map(Rate::as_bps).into_pyobject(py)?.into_any().unbind(),
        })
    }
}

#[pymethods]
impl PyWindow {
    /// Whether cwnd is below ssthresh.
    #[getter]
    fn in_slow_start(&self, py: Python<'_>) -> bool {
        match (number(py, &self.cwnd), number(py, &self.ssthresh)) {
            (Some(cwnd), Some(ssthresh)) => cwnd < ssthresh,
            _ => self.ssthresh.is_none(py),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let [cwnd, ssthresh, rate] = [&self.cwnd, &self.ssthresh, &self.pacing_rate].map(|v| text(py, v));
        format!("Window(cwnd={cwnd}, ssthresh={ssthresh}, pacing_rate={rate})")
    }
}

/// What the connection knows of its path.
#[pyclass(name = "Path", frozen)]
pub(crate) struct PyPath(Path);

#[pymethods]
impl PyPath {
    /// Current time, s.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// Sender maximum segment size, bytes.
    #[getter]
    fn smss(&self) -> u64 {
        self.0.smss.as_u64()
    }

    /// Initial window (RFC 6928), bytes.
    #[getter]
    fn initial_window(&self) -> u64 {
        self.0.initial_window.as_u64()
    }

    /// Smoothed round-trip time, s; None before the first sample.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// Smallest round-trip time, s.
    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        self.0.min_rtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// Retransmission timeout, s.
    #[getter]
    fn rto_s(&self) -> f64 {
        self.0.rto.as_secs_f64()
    }

    /// Bytes sent and not cumulatively acknowledged (RFC 5681).
    #[getter]
    fn flightsize(&self) -> u64 {
        self.0.flightsize.as_u64()
    }

    /// Bytes in the network as estimated by the scoreboard (RFC 6675's pipe).
    #[getter]
    fn inflight(&self) -> u64 {
        self.0.inflight.as_u64()
    }

    /// Offset of the first byte not acknowledged.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }

    /// Offset of the next byte to send for the first time.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }

    /// Bytes delivered over the life of the connection.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.as_u64()
    }

    /// Bytes marked lost over the life of the connection.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.as_u64()
    }

    /// Whether cwnd limited the sender last time; grow only then (RFC 7661).
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// Rate at which segments are paced, whoever set it, bit/s; None without pacing.
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.0.pacing_rate.map(|rate| rate.as_bps() as f64)
    }

    /// Phase of loss recovery: open, disorder, cwr, recovery or loss.
    #[getter]
    fn phase(&self) -> &'static str {
        match self.0.phase {
            Phase::Open => "open",
            Phase::Disorder => "disorder",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// An ACK that delivered data.
#[pyclass(name = "Ack", frozen)]
pub(crate) struct PyAck(Ack);

#[pymethods]
impl PyAck {
    /// Bytes newly acknowledged cumulatively.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked.as_u64()
    }

    /// Bytes newly delivered, cumulatively or by SACK.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.as_u64()
    }

    /// Round-trip time sample, s; None without a valid sample (Karn's rule).
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// One-way delay including the clocks' offset, s; only differences are meaningful. None without timestamps.
    #[getter]
    fn one_way_delay_s(&self) -> Option<f64> {
        self.0.one_way_delay.map(narrows_units::Duration::as_secs_f64)
    }

    /// Delivery-rate sample, bit/s; None without one.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.0.rate.map(|s| Rate::of(s.delivered, s.interval).as_bps() as f64)
    }

    /// Whether the application limited the delivery-rate sample.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.rate.is_some_and(|s| s.app_limited)
    }

    /// Bytes reported as marked CE.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked.as_u64()
    }

    /// Bytes that this ACK revealed as lost.
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost.as_u64()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A congestion event.
#[pyclass(name = "Congestion", frozen)]
pub(crate) struct PyCongestion(Congestion);

#[pymethods]
impl PyCongestion {
    /// Kind of event: loss, ecn or timeout.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            Congestion::Loss { .. } => "loss",
            Congestion::Ecn { .. } => "ecn",
            Congestion::Timeout { .. } => "timeout",
        }
    }

    /// Whether it is a repeated timeout of the same data: ssthresh must then stay (RFC 5681, section 3.1).
    #[getter]
    fn repeated(&self) -> bool {
        matches!(self.0, Congestion::Timeout { repeated: true })
    }

    /// Bytes marked lost so far in this episode; zero for other events than a loss.
    #[getter]
    fn lost(&self) -> u64 {
        if let Congestion::Loss { lost } = self.0 { lost.as_u64() } else { 0 }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
