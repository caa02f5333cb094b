//! Checks of the kernel and its eBPF support: rights, version, type information, struct_ops, tcx, tracepoints.

use super::{Check, Status};
use crate::bpf::{ELSEWHERE, TYPES, features, programs};
use crate::release::{self, LINKS_SINCE, TCX_SINCE};
use crate::{LiveError, rights, trace};
use std::io;

pub(super) fn checks() -> Vec<Check> {
    vec![user(), version(), types(), system_call(), struct_ops(), links(), tcx(), tracepoints(), cubic()]
}

fn user() -> Check {
    const WANTED: [(u32, &str); 4] = [
        (rights::SYS_ADMIN, "CAP_SYS_ADMIN"),
        (rights::NET_ADMIN, "CAP_NET_ADMIN"),
        (rights::BPF, "CAP_BPF"),
        (rights::PERFMON, "CAP_PERFMON"),
    ];
    let uid = nix::unistd::geteuid();
    let (held, lacking): (Vec<_>, Vec<_>) = WANTED.iter().partition(|(bit, _)| rights::has(*bit));
    let names = |of: &[&(u32, &str)]| of.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
    let who = if uid.is_root() { "root".to_owned() } else { format!("user {uid}") };
    let found = if held.is_empty() { who } else { format!("{who}, {}", names(&held)) };
    let check = Check::ok("rights", "namespaces, devices and eBPF programs", found);
    if lacking.is_empty() {
        return check;
    }
    // CAP_SYS_ADMIN includes the rights to eBPF.
    let enough = rights::has(rights::SYS_ADMIN) && rights::has(rights::NET_ADMIN);
    let status = if enough { Status::Partly } else { Status::Missing };
    check.but(status, format!("this process lacks {}", names(&lacking)), "run it as root")
}

fn version() -> Check {
    let release = release::name();
    let check = Check::ok("kernel", "Linux 6.6 or later supports all that live runs use", format!("Linux {release}"));
    match release::parse(&release) {
        Some(version) if version >= TCX_SINCE => check,
        Some(version) if version >= LINKS_SINCE => check.but(
            Status::Partly,
            "it is older than 6.6: no tcx links, filters are used instead",
            "Linux 6.6 or later",
        ),
        _ => check.but(
            Status::Partly,
            "it is older than 6.4: no struct_ops links, so no eBPF congestion controls",
            "Linux 6.6 or later",
        ),
    }
}

fn types() -> Check {
    let size = std::fs::metadata(TYPES).map(|data| data.len());
    let found = size.as_ref().map_or_else(|_| String::new(), |bytes| format!("{TYPES}, {} kB", bytes / 1000));
    let check = Check::ok("BTF", "fitting eBPF programs to this kernel as they are loaded", found);
    match size {
        Ok(_) => check,
        Err(_) => check.but(
            Status::Missing,
            format!("there is no {TYPES}"),
            "a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions build it",
        ),
    }
}

fn system_call() -> Check {
    let setting = std::fs::read_to_string("/proc/sys/kernel/unprivileged_bpf_disabled").unwrap_or_default();
    let found = format!("unprivileged_bpf_disabled = {}", setting.trim());
    let check = Check::ok("bpf()", "loading eBPF programs", found);
    match features::try_load() {
        Ok(()) => check,
        Err(error) => check.but(Status::Missing, format!("loading a program fails: {error}"), remedy(&error)),
    }
}

/// Returns the remedy for an error of the kernel.
fn remedy(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if !rights::may_load() => "run it as root".into(),
        Some(libc::EPERM | libc::EACCES) => ELSEWHERE.into(),
        Some(libc::ENOSYS) => "a kernel with CONFIG_BPF_SYSCALL=y".into(),
        _ => "a kernel of a current distribution".into(),
    }
}

/// A check that needs permission to load eBPF.
fn privileged(check: Check, attempt: impl FnOnce() -> Result<(), LiveError>) -> Check {
    if !rights::may_load() {
        return check.without_finding().but(
            Status::Unknown,
            "this check needs the right to load eBPF programs",
            "run it as root",
        );
    }
    match attempt() {
        Ok(()) => check,
        Err(LiveError::Unavailable { why, remedy, .. }) => check.without_finding().but(Status::Missing, why, remedy),
        Err(other) => {
            check.without_finding().but(Status::Missing, other.to_string(), "a kernel of a current distribution")
        }
    }
}

fn struct_ops() -> Check {
    let names: Vec<&str> = programs().iter().map(|program| program.name).collect();
    let check = Check::ok(
        "struct_ops",
        "congestion controls as eBPF programs",
        format!("the verifier passes {}", names.join(", ")),
    );
    privileged(check, features::try_struct_ops)
}

fn links() -> Check {
    let check = Check::ok(
        "links",
        "registering them so that nothing remains after a run",
        "a name was registered, and removed again",
    );
    privileged(check, features::try_register)
}

fn tcx() -> Check {
    let check = Check::ok(
        "tcx",
        "network-assisted schemes at the end points of live runs",
        "a program was attached to a device, and detached again",
    );
    if !rights::may_load() {
        return check.without_finding().but(
            Status::Unknown,
            "this check needs the right to load eBPF programs",
            "run it as root",
        );
    }
    match features::try_tcx() {
        Ok(()) => check,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => check.but(
            Status::Partly,
            "this kernel has none: filters of the device are used instead",
            "Linux 6.6 or later",
        ),
        Err(error) => {
            check.without_finding().but(Status::Missing, format!("attaching a program fails: {error}"), remedy(&error))
        }
    }
}

/// Checks which of `names` the kernel has; each is looked up with `prefix` before it and shown without.
fn among(check: Check, prefix: &str, names: &[&str], lacking: &'static str, remedy: &'static str) -> Check {
    let full: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
    let wanted: Vec<&str> = full.iter().map(String::as_str).collect();
    let known = features::known(&wanted);
    let shown: Vec<&str> = known.iter().map(|name| &name[prefix.len()..]).collect();
    let check = Check { found: shown.join(", "), ..check };
    if known.len() == names.len() {
        return check;
    }
    let status = if known.is_empty() { Status::Missing } else { Status::Partly };
    check.but(status, lacking, remedy)
}

fn tracepoints() -> Check {
    let names = trace::PROGRAMS.map(|(_, tracepoint)| tracepoint);
    among(
        Check::ok("tracepoints", "a record of every ACK, retransmission and change of state in live runs", ""),
        "btf_trace_",
        &names,
        "the kernel's type information lacks some: live samples then come from TCP_INFO alone",
        trace::REMEDY,
    )
}

fn cubic() -> Check {
    among(
        Check::ok("kernel CUBIC", "ACNS over the kernel's own CUBIC", ""),
        "",
        &["cubictcp_init", "cubictcp_cong_avoid", "cubictcp_recalc_ssthresh"],
        "eBPF programs cannot call it: ACNS runs over Reno",
        "a kernel with CUBIC built in (CONFIG_TCP_CONG_CUBIC=y) and BTF",
    )
}
