//! What this process may do: its effective capabilities.

/// Returns the effective capabilities as a set of bits, numbered as in capabilities(7) (`linux/capability.h`); no bits
/// if the system does not report them.
pub(crate) fn effective() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    field.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Returns whether this process has the capabilities needed to load eBPF programs for the network. The kernel may still
/// refuse.
pub(crate) fn may_load() -> bool {
    has(NET_ADMIN) && (has(SYS_ADMIN) || has(BPF))
}

/// CAP_NET_ADMIN: devices, addresses, routes, and eBPF programs for packets.
pub(crate) const NET_ADMIN: u32 = 12;
/// CAP_SYS_ADMIN: namespaces, mounts, and everything in eBPF.
pub(crate) const SYS_ADMIN: u32 = 21;
/// CAP_PERFMON: eBPF programs at tracepoints (Linux 5.8).
pub(crate) const PERFMON: u32 = 38;
/// CAP_BPF: eBPF programs and maps (Linux 5.8).
pub(crate) const BPF: u32 = 39;

/// Whether a capability is among the effective ones.
pub(crate) fn has(capability: u32) -> bool {
    effective() & (1 << capability) != 0
}
