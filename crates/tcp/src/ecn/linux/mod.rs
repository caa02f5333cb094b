//! ECN of a full end: what Linux 7.2 negotiates, counts and reports (`include/net/tcp_ecn.h`, `net/ipv4/tcp_input.c`).
//!
//! Where RFC 9768 leaves a choice, this follows the kernel; [`super::accurate`] follows the RFC alone. The kernel
//! counts every packet, pure ACKs included. With `tcp_ecn_option` 2 it writes the option on every segment with room.
//! It turns ECN or the option off, direction by direction, once the path was seen to change them ([`fail`]).
//!
//! | file | its part |
//! |---|---|
//! | `mod.rs` | the state, and what a socket sets and sees |
//! | `negotiation.rs` | what the SYNs and the ACK after them agree on |
//! | `receiving.rs` | what is counted, and which segments report it |
//! | `sending.rs` | what the peer's ACE field and option mean |

mod negotiation;
mod receiving;
mod sending;

use crate::assist::Agreement;
use narrows_units::Instant;
use narrows_wire::Ecn;
pub(crate) use sending::Delivered;

/// How ECN is used by a socket (`net.ipv4.tcp_ecn`, by number).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnOptions {
    /// `tcp_ecn`: 0 off, 1 classic, 2 classic if the peer asks, 3 AccECN; 4 AccECN if the peer asks, and classic is
    /// offered; 5 AccECN if the peer asks, and nothing is offered.
    pub mode: u8,
    /// `tcp_ecn_option`: 0 no AccECN options, 1 where something has to be told, 2 on every ACK and data segment with
    /// room, 3 as 2 and once more after losses.
    pub option: u8,
    /// `tcp_ecn_option_beacon`: options per round-trip time at least.
    pub beacon: u8,
    /// `tcp_ecn_fallback`: whether retransmitted SYNs leave ECN out.
    pub fallback: bool,
    /// Whether the congestion control needs ECN (`TCP_CONG_NEEDS_ECN`, as DCTCP).
    pub needed: bool,
    /// Whether the congestion control asks for ECT(1) (`TCP_CONG_ECT_1_NEGOTIATION`).
    pub ect1: bool,
}

impl Default for EcnOptions {
    /// Linux's values: classic ECN if the peer asks, options on every ACK with room, three a round trip.
    fn default() -> Self {
        Self { mode: 2, option: 2, beacon: 3, fallback: true, needed: false, ect1: false }
    }
}

/// What turned out not to pass the path (`TCP_ACCECN_*_FAIL_*`).
pub mod fail {
    /// The peer does not read our ACE field.
    pub const ACE_SEND: u8 = 1;
    /// The peer's ACE field is changed on its way.
    pub const ACE_RECEIVE: u8 = 2;
    /// Our options do not arrive.
    pub const OPTION_SEND: u8 = 4;
    /// The peer's options are changed on their way.
    pub const OPTION_RECEIVE: u8 = 8;
}

/// How feedback is exchanged (`TCP_ECN_MODE_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinuxEcnMode {
    /// No ECN.
    #[default]
    Disabled,
    /// Classic ECN (RFC 3168).
    Classic,
    /// AccECN.
    Accurate,
    /// AccECN is offered and not answered yet.
    Pending,
}

/// What options of the peer have been seen (`TCP_ACCECN_OPT_*`), in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeenOption {
    /// None.
    #[default]
    Nothing,
    /// One without counters.
    Empty,
    /// One with counters.
    Counters,
    /// One whose counters were cleared.
    Failed,
}

/// Counters of AccECN, as `tcp_info` shows them. Bytes are in the order ECT(1), ECT(0), CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinuxEcnCounters {
    /// How feedback is exchanged.
    pub mode: LinuxEcnMode,
    /// Bits of [`fail`].
    pub failures: u8,
    /// What options of the peer have been seen.
    pub seen_option: SeenOption,
    /// Packets that arrived marked.
    pub received_ce: u32,
    /// Packets that the peer reports as marked.
    pub delivered_ce: u32,
    /// Payload bytes that arrived, by codepoint.
    pub received_bytes: [u32; 3],
    /// Payload bytes that the peer reports, by codepoint.
    pub delivered_bytes: [u32; 3],
    /// Whether an ECN-capable packet arrived (`TCPI_OPT_ECN_SEEN`).
    pub seen: bool,
}

/// Where counters begin: of marked packets in ACE, and of ECT bytes.
const FIRST_PACKETS: u32 = 5;
const FIRST_BYTES: [u32; 3] = [1, 1, 0];
/// The ACE field counts modulo 8.
const ACE_MASK: u32 = 7;
/// A counter of bytes has 24 bits.
const FIELD: u32 = 0x00ff_ffff;
/// Bytes of an option with three counters, with its NOP.
pub(crate) const FULL: u64 = 12;

/// The ECN state of a full end.
#[derive(Debug, Default)]
pub(crate) struct LinuxEcn {
    options: EcnOptions,
    mode: LinuxEcnMode,
    failures: u8,
    seen_option: SeenOption,
    /// Codepoint of our SYN or SYN-ACK, and of the peer's.
    syn_sent: Ecn,
    syn_received: Ecn,
    received_ce: u32,
    unreported: u32,
    received: [u32; 3],
    delivered_ce: u32,
    delivered: [u32; 3],
    /// Codepoint of the last packet.
    previous: Ecn,
    seen: bool,
    /// Fewest counters that the next option needs.
    least: u8,
    /// Options that are due.
    demand: u8,
    option_at: Instant,
    option_with_dsack: bool,
    /// Index of the counter that bytes without a report are added to (`est_ecnfield`).
    estimate: Option<usize>,
    /// Average packets per ACK.
    average: u32,
    /// Whether the segment under way ends the handshake.
    third: bool,
    /// Whether the next ACK has the handshake's encoding.
    reflects: bool,
    /// Whether the last segment moved TS.Recent forward.
    pub(crate) stamp_progress: bool,
    /// Whether data is to be acknowledged at once.
    ack_due: bool,
}

impl LinuxEcn {
    /// Takes the options.
    pub(crate) fn set(&mut self, options: EcnOptions) {
        self.options = options;
    }

    /// Whether AccECN is agreed on.
    pub(crate) fn is_accurate(&self) -> bool {
        self.mode == LinuxEcnMode::Accurate
    }

    /// What the handshake agreed on.
    pub(crate) fn agreement(&self) -> Agreement {
        match self.mode {
            LinuxEcnMode::Disabled | LinuxEcnMode::Pending => Agreement::Nothing,
            LinuxEcnMode::Classic => Agreement::Ecn,
            LinuxEcnMode::Accurate => Agreement::AccurateEcn,
        }
    }

    /// What `tcp_info` shows.
    pub(crate) fn counters(&self) -> LinuxEcnCounters {
        LinuxEcnCounters {
            mode: self.mode,
            failures: self.failures,
            seen_option: self.seen_option,
            received_ce: self.received_ce,
            delivered_ce: self.delivered_ce,
            received_bytes: self.received,
            delivered_bytes: self.delivered,
            seen: self.seen,
        }
    }
}
