//! Values and exceptions of Python as numbers and as text for messages.

use pyo3::prelude::*;
use pyo3::types::PyBool;

/// An exception as one line, with the place in the user's file.
pub(super) fn shown(py: Python<'_>, error: &PyErr) -> String {
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

/// Extracts a number. Python's `True` would pass as one, but is a mistake here.
pub(super) fn number(py: Python<'_>, value: &Py<PyAny>) -> Option<f64> {
    if value.bind(py).is_instance_of::<PyBool>() {
        return None;
    }
    value.extract::<f64>(py).ok()
}

/// Returns the `repr()` of a value, cut to the length of a message.
pub(super) fn text(py: Python<'_>, value: &Py<PyAny>) -> String {
    let shown = value.bind(py).repr().map_or_else(|_| "a value whose repr() fails".to_owned(), |r| r.to_string());
    match shown.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}
