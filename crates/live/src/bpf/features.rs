//! Which eBPF features this kernel and this user have, found by trying.

use super::log;
use super::programs::programs;
use super::register::{register, unique_name};
use crate::LiveError;
use libbpf_rs::btf::{Btf, BtfType};
use narrows_cc::Params;
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// The device that every network namespace has: loopback.
const LOOPBACK: i32 = 1;

/// Loads a program of two instructions that lets a packet pass.
fn load(attach_type: u32) -> io::Result<OwnedFd> {
    // r0 = -1 (TCX_NEXT); exit.
    let instructions = [
        libbpf_sys::bpf_insn { code: 0xb7, imm: -1, ..Default::default() },
        libbpf_sys::bpf_insn { code: 0x95, ..Default::default() },
    ];
    let mut options = libbpf_sys::bpf_prog_load_opts {
        sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
        expected_attach_type: attach_type,
        ..Default::default()
    };
    let program = log::quiet(|| {
        // SAFETY: all pointers are to values that outlive the call; the count is that of the instructions.
        unsafe {
            libbpf_sys::bpf_prog_load(
                libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
                c"narrows_probe".as_ptr(),
                c"GPL".as_ptr(),
                instructions.as_ptr(),
                instructions.len() as libbpf_sys::size_t,
                &raw mut options,
            )
        }
    });
    owned(program.0)
}

/// Converts a result to a file descriptor, or to the error that a negative one stands for.
fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the kernel has just made it, and no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Tries to load a program for packets.
///
/// # Errors
/// The kernel's error.
pub(crate) fn try_load() -> io::Result<()> {
    load(0).map(drop)
}

/// Tries to attach a program to a device by tcx, in a network namespace that is gone afterwards.
///
/// # Errors
/// The kernel's error; EINVAL if it has no tcx.
pub(crate) fn try_tcx() -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    apart(|| {
        let program = load(libbpf_sys::BPF_TCX_INGRESS)?;
        let link = log::quiet(|| {
            // SAFETY: the program is open; a null pointer means no options.
            unsafe {
                libbpf_sys::bpf_link_create(
                    program.as_raw_fd(),
                    LOOPBACK,
                    libbpf_sys::BPF_TCX_INGRESS,
                    std::ptr::null(),
                )
            }
        });
        owned(link.0).map(drop)
    })
}

/// Runs `step` in a network namespace of its own, which ends with it.
///
/// # Errors
/// Those of `step`, and the kernel's when it refuses the namespace.
pub(crate) fn apart<T: Send>(step: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET)?;
        step()
    };
    let died = |_| io::Error::other("the probe died");
    std::thread::scope(|scope| scope.spawn(inside).join()).map_err(died)?
}

/// Loads every congestion control that we have, without registering any.
///
/// # Errors
/// The error of the first one that the kernel refuses.
pub(crate) fn try_struct_ops() -> Result<(), LiveError> {
    programs().iter().try_for_each(|program| program.open(&Params::default())?.load().map(drop))
}

/// Registers a congestion control under a name unique to this process, and removes it again.
///
/// # Errors
/// Why that fails.
pub(crate) fn try_register() -> Result<(), LiveError> {
    programs()
        .first()
        .map_or(Ok(()), |program| register(program.name, &unique_name("probe"), &Params::default()).map(drop))
}

/// Returns those of `names` that the kernel's type information has; none if there is no type information.
pub(crate) fn known<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let Ok(types) = log::quiet(Btf::from_vmlinux).0 else { return Vec::new() };
    names.iter().copied().filter(|name| types.type_by_name::<BtfType<'_>>(name).is_some()).collect()
}
