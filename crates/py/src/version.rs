//! The version of the engine, and the commit that it was built from.

use pyo3::prelude::*;

/// The commit that the package was built from, between marks and in a field of fixed width: see `build.rs`.
#[used]
static COMMIT: [u8; 64] = *include_bytes!(concat!(env!("OUT_DIR"), "/commit"));

/// Return the released version of the engine, without the commit.
#[pyfunction]
pub(crate) const fn release() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Return the commit that the package was built from: `9094a25`, with `.dirty` after it if the tree was not clean, or
/// `unknown`.
#[pyfunction]
pub(crate) fn commit() -> String {
    // The compiler must not read the field: the commit would then be in the code too, and the same code would give
    // different builds.
    let field = String::from_utf8_lossy(std::hint::black_box(&COMMIT)).into_owned();
    let inside = field.split_once('<').map_or("", |(_, after)| after);
    inside.trim_end_matches('>').trim_end().to_owned()
}

/// Return the version of the engine with its commit: `0.1.0+g9094a25`, `0.1.0+g9094a25.dirty` or `0.1.0+unknown`.
#[pyfunction]
pub(crate) fn version() -> String {
    let commit = commit();
    if commit == "unknown" { format!("{}+{commit}", release()) } else { format!("{}+g{commit}", release()) }
}
