//! The kernel's congestion controls as the calling thread's network namespace sees them: lists, and the default.
//!
//! The kernel has one list of names; each namespace has its own default (`net/ipv4/tcp_cong.c`).

use crate::LiveError;
use std::fs;

/// Directory of the sysctls that list and set them.
const SYSCTL: &str = "/proc/sys/net/ipv4";

fn words(name: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("{SYSCTL}/{name}")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns every registered congestion control; empty if the system does not report them.
#[must_use]
pub fn available() -> Vec<String> {
    words("tcp_available_congestion_control")
}

/// Returns the congestion controls that programs without CAP_NET_ADMIN may choose.
#[must_use]
pub fn allowed() -> Vec<String> {
    words("tcp_allowed_congestion_control")
}

/// Returns the congestion control that new connections of this namespace get.
#[must_use]
pub fn default() -> Option<String> {
    words("tcp_congestion_control").pop()
}

/// Makes `name` the default of this namespace.
///
/// # Errors
/// [`LiveError::Failed`] if the kernel refuses, or the name is not allowed. Such a name is not tried: outside the
/// host's own namespace the kernel would refuse it and keep a reference to it for ever
/// (`tcp_set_default_congestion_control`, 6.18).
pub fn set_default(name: &str) -> Result<(), LiveError> {
    let path = format!("{SYSCTL}/tcp_congestion_control");
    let what = format!("write {name} to {path}");
    if !allowed().iter().any(|item| item == name) {
        return Err(LiveError::failed(what, "it is not in net.ipv4.tcp_allowed_congestion_control"));
    }
    fs::write(path, name).map_err(|error| LiveError::failed(what, error))
}
