//! What captures say, for Python: when packets passed, and how long they are.

use crate::PyResultOf;
use crate::aside::aside;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Return times in nanoseconds and lengths in bytes of the IP packets in a capture, as arrays of 64 and 32 bits in the
/// machine's byte order. `src` and `dst` choose packets by address.
#[pyfunction]
pub(crate) fn deliveries<'py>(
    py: Python<'py>,
    path: PathBuf,
    src: Option<std::net::IpAddr>,
    dst: Option<std::net::IpAddr>,
) -> PyResultOf<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let wanted = narrows_sim::Wanted { src, dst };
    let found = aside(py, move || narrows_sim::Deliveries::of_capture(&path, wanted))?;
    let found = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let times: Vec<u8> = found.times_ns.iter().flat_map(|time| time.to_ne_bytes()).collect();
    let bytes: Vec<u8> = found.bytes.iter().flat_map(|bytes| bytes.to_ne_bytes()).collect();
    Ok((PyBytes::new(py, &times), PyBytes::new(py, &bytes)))
}
