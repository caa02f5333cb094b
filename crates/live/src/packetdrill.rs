//! A packetdrill host on this machine's kernel: a script's packets through a TUN device, its calls as real system
//! calls.
//!
//! [`on_kernel`] makes an unnamed network namespace with a device `tun0`, and runs the executor of
//! `narrows-packetdrill` in it. A thread holds everything: the network namespace, a mount namespace with a `/tmp` of
//! its own, and a shell in a process namespace of its own. Nothing has a name, so nothing outlives the thread, even if
//! the process is killed.
//!
//! ```text
//! executor -- calls.rs -----> sockets of the namespace --> TCP --> tun0 --- device.rs (packet socket) --> executor
//!          -- workers.rs ---> (calls that sleep)                    ^
//!          -- device.rs (write to the TUN device) ------------------'
//!          -- shell.rs -----> sh: sysctl, ip, tc
//! ```
//!
//! All times are nanoseconds of the kernel's clock `CLOCK_REALTIME`, because time stamps of packets and those in
//! control messages (`SCM_TIMESTAMPING`) are by this clock.

mod calls;
mod clock;
mod congestion;
mod device;
mod host;
mod info;
mod place;
mod shell;
mod workers;

pub use host::{KernelHost, on_kernel};
