//! Segments as packets carry them: without offload each leaves TCP on its own, and so has marks of its own.

use crate::LiveError;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::AsRawFd;

/// `SIOCETHTOOL` of include/uapi/linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// `ETHTOOL_SGSO` of include/uapi/linux/ethtool.h.
const ETHTOOL_SGSO: u32 = 0x24;

/// `struct ethtool_value` of include/uapi/linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Has TCP hand down single segments to the device `name` of the calling thread's namespace (`ethtool -K NAME gso off`).
/// Connections that are open already go on as they did.
///
/// # Errors
/// [`LiveError::Failed`] as the kernel says.
pub(super) fn segment_in_tcp(name: &str) -> Result<(), LiveError> {
    let failed = |error: nix::Error| LiveError::failed(format!("switch segmentation offload of {name} off"), error);
    let control = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
    let mut value = EthtoolValue { command: ETHTOOL_SGSO, data: 0 };
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the ioctl reads an ifreq whose name ends in a zero, and the value that it points to; both live.
    let done = unsafe { libc::ioctl(control.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    nix::Error::result(done).map(drop).map_err(failed)
}
