//! A sans-IO TCP endpoint (RFC 9293): packets and time in, packets and events out.
//!
//! [`Connection`] only connects the parts: the sender, receiver, scoreboard, recovery, round-trip estimator, timers and
//! handshake are modules of their own. Time is always an argument; nothing here reads a clock or draws a random number.

mod assist;
mod congestion;
mod connection;
mod ecn;
mod episode;
pub mod fastopen;
mod handshake;
mod limits;
mod linux;
mod offset;
mod options;
mod pacer;
mod prefetch;
mod rate;
mod reassembly;
mod receiver;
mod recovery;
mod rto;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod socket;
mod stats;
mod usage;

pub use assist::{Agreement, Assist, COUNTERS, Outgoing, SegmentKind, WindowCap};
pub use connection::{BareAck, Connection, LinuxInfo, Measured};
pub use ecn::{AccurateEcn, EcnOptions, HeaderBits, LinuxEcnCounters, LinuxEcnMode, SeenOption, fail as ecn_fail};
pub use linux::write_queue::WriteFlags;
pub use narrows_settings::{
    Burst, CarefulResume, Config, DelayedAck, EcnEcho, IdleRestart, InitialWindow, LinuxVersion, Misbehavior, Pacing,
    RLEDBAT_VARIABLES, RateLimited, ReceiverCc, RecoveryKind, RecoveryStyle, Reduction, RtoConfig, RtoStyle, SlowStart,
};
pub use prefetch::prefetch_lines;
pub use socket::{Failure, Icmp, KeepAlive, SocketOptions};
pub use stats::{Info, State, Stats};

#[cfg(test)]
mod tests;
