//! The window as a user's object sees it, and the check of what the object set.

use super::value::{number, text};
use narrows_cc::Window;
use narrows_units::{Bytes, Rate};
use pyo3::prelude::*;

/// Largest window that a congestion control may set: what a receiver can announce (RFC 7323, section 2.3), in bytes.
const MAX_WINDOW: f64 = (65_535_u64 << 14) as f64;

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
    pub(super) fn new(py: Python<'_>, win: &Window) -> PyResult<Self> {
        Ok(Self {
            cwnd: win.cwnd.as_u64().into_pyobject(py)?.into_any().unbind(),
            ssthresh: win.ssthresh.map(Bytes::as_u64).into_pyobject(py)?.into_any().unbind(),
            pacing_rate: win.pacing_rate.map(Rate::as_bps).into_pyobject(py)?.into_any().unbind(),
        })
    }

    /// The fields as a call left them.
    pub(super) fn after(&self, py: Python<'_>) -> After {
        After {
            cwnd: self.cwnd.clone_ref(py),
            ssthresh: self.ssthresh.clone_ref(py),
            pacing_rate: self.pacing_rate.clone_ref(py),
        }
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

/// The window's fields after a call, unchecked.
pub(super) struct After {
    cwnd: Py<PyAny>,
    ssthresh: Py<PyAny>,
    pacing_rate: Py<PyAny>,
}

impl After {
    /// Applies the fields if they are valid; otherwise returns what is wrong.
    pub(super) fn check(&self, py: Python<'_>, win: &mut Window) -> Result<(), String> {
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
