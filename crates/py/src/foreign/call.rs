//! Calls of a user's object: each hook of a congestion control becomes a call of the method with its name.

use super::event::{PyAck, PyCongestion};
use super::failure::Failure;
use super::path::PyPath;
use super::value::shown;
use super::window::{After, PyWindow};
use crate::watch::Calls;
use narrows_cc::{Ack, Congestion, CongestionControl, Needs, Path, Window};
use pyo3::prelude::*;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The methods of a user's object.
pub(super) struct Object {
    pub(super) on_ack: Py<PyAny>,
    pub(super) on_congestion: Py<PyAny>,
    pub(super) on_start: Option<Py<PyAny>>,
    pub(super) on_recovered: Option<Py<PyAny>>,
    pub(super) on_undo: Option<Py<PyAny>>,
}

/// A user's object as a congestion control.
pub(super) struct Foreign {
    pub(super) name: String,
    /// `None` after a fault: from then on the window stays unchanged until the run has stopped.
    pub(super) object: Option<Object>,
    /// Time that a call may take.
    pub(super) limit: Duration,
    pub(super) failure: Arc<Failure>,
    pub(super) calls: Arc<Calls>,
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
    Ok(window.after(py))
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
