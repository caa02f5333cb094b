//! The user's classes by name, and the objects made of them when a run begins.

use super::call::{Foreign, Object};
use super::failure::Failure;
use super::value::shown;
use crate::watch::Calls;
use narrows_cc::{CongestionControl, ParamValue, Params};
use narrows_sim::Algorithms;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
