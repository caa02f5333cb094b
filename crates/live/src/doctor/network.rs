//! Checks of what hosts and the network between them are built from: namespaces, TUN devices, congestion controls,
//! scheduling.

use super::{Check, Status};
use crate::{bpf::features, controls};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// The file through which TUN devices are made.
const TUN: &str = "/dev/net/tun";

pub(super) fn checks() -> Vec<Check> {
    vec![namespaces(), tun(), congestion_controls(), real_time()]
}

fn namespaces() -> Check {
    let check = Check::ok("namespaces", "hosts of live runs", "network namespaces can be made");
    match features::apart(|| Ok(())) {
        Ok(()) => check,
        Err(error) => check.without_finding().but(
            Status::Missing,
            format!("making one fails: {error}"),
            if is_refused(&error) { "run it as root" } else { "a kernel with CONFIG_NET_NS=y" },
        ),
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

fn tun() -> Check {
    let check = Check::ok("TUN", "the devices of these hosts", TUN);
    let opened = File::options().read(true).write(true).open(TUN);
    let Err(error) = opened else {
        return match features::apart(make_device) {
            Ok(()) => check,
            Err(error) if is_refused(&error) => {
                check.but(Status::Unknown, "making a device needs rights that this process lacks", "run it as root")
            }
            Err(error) => check.but(Status::Missing, format!("making a device fails: {error}"), ENABLE),
        };
    };
    check.without_finding().but(
        Status::Missing,
        format!("{TUN} cannot be opened: {error}"),
        if is_refused(&error) { "run it as root" } else { ENABLE },
    )
}

/// What makes TUN devices available.
const ENABLE: &str = "modprobe tun, and in a container the device /dev/net/tun; or a kernel with CONFIG_TUN=y";

/// Makes a TUN device in the namespace of the calling thread; it ends with its file descriptor, on return.
fn make_device() -> io::Result<()> {
    let device = File::options().read(true).write(true).open(TUN)?;
    // SAFETY: ifreq is plain old data, for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the file is open, and TUNSETIFF reads and writes one ifreq, which outlives the call.
    let made = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
    if made < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn congestion_controls() -> Check {
    let (available, allowed) = (controls::available(), controls::allowed());
    let default = controls::default().unwrap_or_default();
    let found = format!("{} (default {default}; without rights: {})", available.join(", "), allowed.join(", "));
    let check = Check::ok("congestion controls", "those of this kernel; live runs can use them", found);
    if available.is_empty() {
        return check.without_finding().but(
            Status::Missing,
            "net.ipv4.tcp_available_congestion_control cannot be read",
            "a mounted /proc",
        );
    }
    let lacking: Vec<&str> =
        ["reno", "cubic", "bbr"].into_iter().filter(|name| !available.iter().any(|a| a == name)).collect();
    if lacking.is_empty() {
        return check;
    }
    let modules: Vec<String> = lacking.iter().map(|name| format!("modprobe tcp_{name}")).collect();
    check.but(Status::Partly, format!("not loaded: {}", lacking.join(", ")), modules.join("; "))
}

fn real_time() -> Check {
    let check = Check::ok("SCHED_FIFO", "a bottleneck that other processes do not delay", "can be set");
    let attempt = std::thread::scope(|scope| scope.spawn(try_fifo).join());
    match attempt {
        Ok(Ok(())) => check,
        Ok(Err(error)) => check.without_finding().but(
            Status::Missing,
            format!("the kernel refuses it: {error}"),
            "run it as root, or raise RLIMIT_RTPRIO; without it a busy machine makes packets late",
        ),
        Err(_) => check.but(Status::Unknown, "the probe died", "try again"),
    }
}

/// Gives the calling thread real-time scheduling; only for a thread that ends right after.
fn try_fifo() -> io::Result<()> {
    let wanted = libc::sched_param { sched_priority: 1 };
    // SAFETY: zero is the calling thread, and the parameter outlives the call.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
