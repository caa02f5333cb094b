//! Live runs: a scenario on the machine's own Linux TCP stack.
//!
//! Hosts are unnamed network namespaces with a TUN device each. One process holds all devices and is the network
//! between them, built from the same parts as the simulator's network. Nothing has a name, so nothing outlives the
//! process.

#![allow(unsafe_code, reason = "namespaces, TUN devices and sockets are system calls")]

#[cfg(target_os = "linux")]
mod agenda;
mod bottleneck;
#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(target_os = "linux")]
mod case;
#[cfg(target_os = "linux")]
mod cc_info;
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod collect;
#[cfg(target_os = "linux")]
mod conditions;
#[cfg(target_os = "linux")]
pub mod controls;
mod counters;
#[cfg(target_os = "linux")]
pub mod deploy;
pub mod doctor;
mod error;
#[cfg(target_os = "linux")]
mod fit;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod hosts;
mod judge;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod netns;
#[cfg(target_os = "linux")]
mod netstat;
mod network;
#[cfg(target_os = "linux")]
pub mod packetdrill;
#[cfg(target_os = "linux")]
mod qdisc;
#[cfg(target_os = "linux")]
mod refusals;
#[cfg(target_os = "linux")]
mod release;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod scheme_counters;
#[cfg(target_os = "linux")]
mod schemes;
#[cfg(target_os = "linux")]
mod settings;
mod states;
mod store;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(all(test, target_os = "linux"))]
mod testing;
#[cfg(target_os = "linux")]
mod trace;
#[cfg(target_os = "linux")]
mod traffic;
#[cfg(target_os = "linux")]
mod tun;
pub mod vm;

#[cfg(target_os = "linux")]
pub use bottleneck::{KernelPorts, Pace, Ports, carry};
#[cfg(target_os = "linux")]
pub use child::{Captured, Child, Command, Ended, Exit, Output, Program};
#[cfg(target_os = "linux")]
pub use clock::{Clock, monotonic_ns};
#[cfg(target_os = "linux")]
pub use conditions::{Conditions, FAR_TOO_LATE, LatenessFacts, TRAFFIC_LATE};
pub use counters::{NetworkCounters, Track};
pub use error::LiveError;
#[cfg(target_os = "linux")]
pub use fit::{Control, KernelsOwn, control};
#[cfg(target_os = "linux")]
pub use hosts::{Host, Hosts};
#[cfg(target_os = "linux")]
pub use lateness::{LATE, LATE_SHARE, Lateness};
#[cfg(target_os = "linux")]
pub use netns::{Netns, set_sysctl, sysctl};
pub use network::{Deliver, Network};
#[cfg(target_os = "linux")]
pub use qdisc::qdisc_modules;
#[cfg(target_os = "linux")]
pub use run::{Options, Outcome, check, run, shell};
#[cfg(target_os = "linux")]
pub use schemes::Schemes;
#[cfg(target_os = "linux")]
pub use settings::Settings;
pub use states::{SenderPart, SenderState};
#[cfg(target_os = "linux")]
pub use tcp_info::TcpInfo;
#[cfg(target_os = "linux")]
pub use trace::{Event, FlowTrace, Phase, Record, Trace, Traced};
#[cfg(target_os = "linux")]
pub use traffic::{FlowRecord, Running, Traffic};
#[cfg(target_os = "linux")]
pub use tun::{RouteSettings, Tun, TunConfig};
