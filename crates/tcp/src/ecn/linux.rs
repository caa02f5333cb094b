//! ECN of a full end: what Linux 7.2 negotiates, counts and reports (`include/net/tcp_ecn.h`, `net/ipv4/tcp_input.c`).
//!
//! Where RFC 9768 leaves a choice, this follows the kernel; [`super::accurate`] follows the RFC alone. The kernel
//! counts every packet, pure ACKs included. With `tcp_ecn_option` 2 it writes the option on every segment with room.
//! It turns ECN or the option off, direction by direction, once the path was seen to change them ([`fail`]).

use super::Echo;
use crate::assist::Agreement;
use narrows_units::{Duration, Instant};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, SackBlocks, TcpFlags, TcpOptions, TcpRepr};

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
/// Marked packets not reported yet that call for an ACK (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_UNREPORTED: u32 = 6;
/// A counter of bytes has 24 bits.
const FIELD: u32 = 0x00ff_ffff;
/// Bytes of one counter after which the option is sent again: 2^22.
const WRAPS: u32 = !((1 << 22) - 1);
/// Average packets per ACK that mean that ACKs are thinned (`ACK_COMP_THRESH`), and the fraction bits of the average.
const THINNED: u32 = 4;
const PRECISION: u32 = 6;
/// Bytes sent after which it is too late for a first option: counters may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;
/// Bytes of an option with three counters, of its head, and of each counter.
const LONGEST: usize = 11;
const PER_FIELD: usize = 3;
/// Bytes of an option with three counters, with its NOP.
pub(crate) const FULL: u64 = 12;

/// Index of a codepoint's counters.
fn index(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(0),
        Ecn::Ect0 => Some(1),
        Ecn::Ce => Some(2),
    }
}

/// How many counters the option needs so that it has that of a codepoint, in the order ECT(1), CE, ECT(0).
fn fields_for(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
        Ecn::Ect0 => 3,
    }
}

/// The codepoint with which a SYN arrived, by the ACE field of the answer.
fn reported(ace: u8) -> Ecn {
    match ace {
        0b010 => Ecn::NotEct,
        0b000 | 0b100 => Ecn::Ect0,
        0b110 => Ecn::Ce,
        _ => Ecn::Ect1,
    }
}

/// Whether a router may have made one codepoint of the other.
fn is_valid_change(sent: Ecn, arrived: Ecn) -> bool {
    sent == arrived || (sent != Ecn::NotEct && arrived != Ecn::NotEct && sent != Ecn::Ce)
}

/// What an ACK delivers, as AccECN needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// Segments, and their bytes.
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
    /// Whether anything was delivered.
    pub(crate) progress: bool,
    /// Payload bytes of a segment.
    pub(crate) smss: u32,
    /// Whether SACK is in use, or nothing is being repaired.
    pub(crate) reliable: bool,
    /// Bytes sent in all.
    pub(crate) sent: u64,
}

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
    /// The codepoint to which bytes without a report are counted, plus one.
    estimate: Option<usize>,
    /// Average packets per ACK.
    average: u32,
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

    // The handshake.

    /// The codepoint of our SYN and SYN-ACK where the congestion control needs ECN.
    fn syn_codepoint(&self) -> Ecn {
        match (self.options.needed, self.options.ect1) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// The flags and the codepoint of our SYN; `retransmissions` counts those before it (`tcp_ecn_send_syn`,
    /// `tcp_retransmit_skb`).
    pub(crate) fn offer(&mut self, retransmissions: u32) -> (TcpFlags, Ecn) {
        if retransmissions == 0 {
            let accurate = self.options.mode == 3;
            let any = accurate || matches!(self.options.mode, 1 | 4) || self.options.needed;
            self.mode = match (accurate, any) {
                (true, _) => LinuxEcnMode::Pending,
                (_, true) => LinuxEcnMode::Classic,
                _ => LinuxEcnMode::Disabled,
            };
            self.syn_sent = if any { self.syn_codepoint() } else { Ecn::NotEct };
        }
        let flags = match self.mode {
            LinuxEcnMode::Pending => TcpFlags::ACE,
            LinuxEcnMode::Classic => TcpFlags::ECE.with(TcpFlags::CWR),
            LinuxEcnMode::Disabled | LinuxEcnMode::Accurate => TcpFlags::NONE,
        };
        let offers = if self.mode == LinuxEcnMode::Pending { 1 } else { 0 };
        let cleared = self.options.fallback && retransmissions > offers;
        (if cleared { TcpFlags::NONE } else { flags }, self.syn_sent)
    }

    /// Reads a SYN-ACK (`tcp_ecn_rcv_synack`).
    pub(crate) fn on_syn_ack(&mut self, tcp: &TcpRepr, ecn: Ecn) {
        if self.mode == LinuxEcnMode::Disabled {
            return;
        }
        let ace = tcp.flags.ace();
        let mut marked = false;
        match ace {
            0b000 | 0b111 => self.mode = LinuxEcnMode::Disabled,
            0b001 => self.mode = LinuxEcnMode::Classic,
            0b101 if self.mode != LinuxEcnMode::Pending => {}
            0b101 => {
                self.accept_syn_ack(tcp, ecn);
                marked = ecn == Ecn::Ce;
            }
            _ => {
                self.accept_syn_ack(tcp, ecn);
                marked = ecn == Ecn::Ce && self.validates(ace);
                if ecn != Ecn::Ce {
                    self.validates(ace);
                }
            }
        }
        if marked {
            self.received_ce += 1;
            self.unreported += 1;
        }
        if self.is_accurate() {
            self.reflects = true;
        }
    }

    fn accept_syn_ack(&mut self, tcp: &TcpRepr, ecn: Ecn) {
        self.mode = LinuxEcnMode::Accurate;
        self.syn_received = ecn;
        if let Some(option) = tcp.options.accecn().filter(|_| self.seen_option < SeenOption::Counters) {
            self.see_option(&option);
            self.demand = 2;
        }
    }

    /// Whether the report of our SYN's codepoint is credible (`tcp_accecn_validate_syn_feedback`).
    fn validates(&mut self, ace: u8) -> bool {
        let valid = !self.options.fallback || is_valid_change(self.syn_sent, reported(ace));
        if !valid {
            self.failures |= fail::ACE_RECEIVE;
        }
        valid
    }

    /// Reads a SYN (`tcp_ecn_create_request`).
    pub(crate) fn on_syn(&mut self, tcp: &TcpRepr, ecn: Ecn) {
        let ace = tcp.flags.ace();
        let accurate = ace != 0 && ace != 0b011 && self.options.mode >= 3;
        let classic = tcp.flags.has(TcpFlags::ECE) && tcp.flags.has(TcpFlags::CWR);
        let reserved = tcp.flags.has(TcpFlags::AE) || tcp.flags.any(TcpFlags::RESERVED_0X200);
        self.mode = if accurate {
            LinuxEcnMode::Accurate
        } else if classic && (((ecn == Ecn::NotEct || reserved) && self.options.mode > 0) || self.options.needed) {
            LinuxEcnMode::Classic
        } else {
            LinuxEcnMode::Disabled
        };
        self.syn_received = ecn;
        self.previous = ecn;
        self.syn_sent = if self.mode == LinuxEcnMode::Disabled { Ecn::NotEct } else { self.syn_codepoint() };
    }

    /// Reads a SYN that came again before our SYN-ACK was acknowledged (`tcp_check_req`).
    pub(crate) fn on_syn_again(&mut self, tcp: &TcpRepr, ecn: Ecn) {
        if self.is_accurate() {
            self.syn_received = ecn;
            if tcp.flags.ace() == 0 {
                self.failures |= fail::ACE_RECEIVE;
            }
        }
    }

    /// The flags, the codepoint and the option of our SYN-ACK. `timeouts` is how often its timer had expired before
    /// this transmission was due, `again` whether it was sent before (`tcp_ecn_make_synack`).
    pub(crate) fn answer(&mut self, timeouts: u32, again: bool) -> (TcpFlags, Ecn, Option<AccEcn>) {
        let flags = match self.mode {
            LinuxEcnMode::Accurate if again && timeouts > 0 => TcpFlags::NONE,
            LinuxEcnMode::Accurate => super::mirrors(self.syn_received),
            LinuxEcnMode::Classic if !(again && timeouts > 0) => TcpFlags::ECE,
            _ => TcpFlags::NONE,
        };
        let option = (self.is_accurate() && self.options.option > 0 && !again)
            .then(|| AccEcn::new(AccEcnOrder::Ect1First, &[FIRST_BYTES[0], FIRST_BYTES[2], FIRST_BYTES[1]]));
        (flags, self.syn_sent, option)
    }

    /// Notes that a SYN-ACK left after that many others; after the second our ACE field may not arrive.
    pub(crate) fn on_answer_again(&mut self, retransmissions: u32) {
        if retransmissions > 1 && self.is_accurate() {
            self.failures |= fail::ACE_SEND;
        }
    }

    /// Reads the segment that ends the handshake of a passive open (`tcp_ecn_openreq_child`).
    pub(crate) fn on_third_ack(&mut self, tcp: &TcpRepr, ecn: Ecn, payload: u32) {
        if !self.is_accurate() {
            return;
        }
        if let Some(option) = tcp.options.accecn().filter(|_| self.seen_option < SeenOption::Counters) {
            self.see_option(&option);
        }
        self.demand = 1;
        self.count(ecn, payload);
        match tcp.flags.ace() {
            0 => {
                if tcp.options.sack.is_empty() {
                    self.failures |= fail::ACE_RECEIVE | fail::OPTION_RECEIVE;
                }
            }
            0b111 | 0b101 | 0b001 => {}
            ace => {
                if payload == 0
                    && tcp.options.sack.is_empty()
                    && self.validates(ace)
                    && reported(ace) == Ecn::Ce
                    && self.delivered_ce == 0
                {
                    self.delivered_ce = 1;
                }
            }
        }
    }

    /// Reads a SYN or SYN-ACK on a synchronized connection: the last ACK of the handshake was lost. Returns whether it
    /// concerns ECN.
    pub(crate) fn on_late_syn(&mut self, tcp: &TcpRepr, ecn: Ecn) {
        if !self.is_accurate() {
            return;
        }
        self.reflects = true;
        self.syn_received = ecn;
        if let Some(option) = tcp.options.accecn().filter(|_| self.seen_option < SeenOption::Counters) {
            self.see_option(&option);
            self.demand = self.demand.max(1);
        }
    }

    /// Notes the peer's option (`tcp_accecn_option_init`).
    fn see_option(&mut self, option: &AccEcn) {
        let (first, last) = match option.order() {
            AccEcnOrder::Ect1First => (option.ect1(), option.ect0()),
            AccEcnOrder::Ect0First => (option.ect0(), option.ect1()),
        };
        self.seen_option = match (first, last) {
            (None, _) => SeenOption::Empty,
            (Some(0), _) | (_, Some(0)) => SeenOption::Failed,
            _ => SeenOption::Counters,
        };
        if self.seen_option == SeenOption::Failed {
            self.failures |= fail::OPTION_RECEIVE;
        }
    }

    // The receiver.

    /// Counts a packet with `payload` bytes (`tcp_ecn_received_counters`).
    pub(crate) fn count(&mut self, ecn: Ecn, payload: u32) {
        let marked = ecn == Ecn::Ce;
        if let Some(at) = index(ecn) {
            // With classic ECN the kernel looks at data alone (`tcp_data_ecn_check`).
            self.seen |= self.mode != LinuxEcnMode::Classic || payload > 0;
            self.received_ce = self.received_ce.wrapping_add(u32::from(marked));
            self.unreported = (self.unreported + u32::from(marked)).min(15);
            if payload > 0 {
                let before = self.received[at];
                self.received[at] = before.wrapping_add(payload);
                self.least = self.least.max(fields_for(ecn));
                if (self.received[at] ^ before) & WRAPS != 0 {
                    self.demand = self.demand.max(1);
                }
            }
        }
        let edge = self.previous != ecn;
        if edge || marked {
            self.previous = ecn;
            if self.is_accurate() {
                self.demand = 2;
                self.ack_due |= edge;
            }
        }
    }

    /// Whether data is to be acknowledged at once, because a codepoint differs from that before or many marks wait.
    pub(crate) fn is_ack_due(&self) -> bool {
        self.ack_due
    }

    /// Notes that data arrived again whose D-SACK left with an option: the option did not arrive.
    pub(crate) fn on_duplicate_again(&mut self) {
        if self.is_accurate() && self.option_with_dsack {
            self.failures |= fail::OPTION_SEND;
        }
    }

    /// Whether segments carry an option of three counters at least now and then with data, so that SMSS is smaller.
    pub(crate) fn takes_room(&self) -> bool {
        self.is_accurate() && self.writes_options() && self.options.option >= 2
    }

    /// Whether options are written at all.
    fn writes_options(&self) -> bool {
        self.options.option > 0
            && self.seen_option != SeenOption::Nothing
            && (self.options.option >= 3 || self.failures & fail::OPTION_SEND == 0)
    }

    /// Writes what a segment reports: its ACE field, and the option where it is due and fits (`tcp_ecn_send`,
    /// `tcp_established_options`). `dsack` is whether its first SACK block is a D-SACK, `room` how many more bytes a
    /// segment with data may have. Returns its codepoint.
    pub(crate) fn write(
        &mut self,
        tcp: &mut TcpRepr,
        (dsack, room): (bool, Option<u64>),
        now: Instant,
        srtt: Option<Duration>,
    ) -> Ecn {
        self.ack_due = false;
        let pure = !tcp.flags.any(TcpFlags::SYN.with(TcpFlags::RST).with(TcpFlags::FIN));
        let reflects = pure && core::mem::take(&mut self.reflects);
        tcp.flags = if reflects {
            tcp.flags.with_ace(super::mirrors(self.syn_received).ace())
        } else {
            self.unreported = 0;
            tcp.flags.with_ace((self.received_ce.wrapping_add(FIRST_PACKETS) & ACE_MASK) as u8)
        };
        let beacon = self.options.beacon > 0
            && now.since(self.option_at) * u64::from(self.options.beacon) >= srtt.unwrap_or(Duration::ZERO);
        self.option_with_dsack = false;
        if self.writes_options()
            && (self.options.option >= 2 || self.demand > 0 || beacon)
            && room.is_none_or(|room| self.options.option >= 2 || room >= FULL)
            && let Some(fields) = self.fit(&mut tcp.options)
        {
            let counter = |at: usize| self.received[at].wrapping_add(FIRST_BYTES[at]) & FIELD;
            let all = [counter(0), counter(2), counter(1)];
            tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect1First, all.get(..fields).unwrap_or(&all)));
            self.least = 0;
            self.option_at = now;
            self.option_with_dsack = dsack;
            self.demand = self.demand.saturating_sub(1);
        }
        self.codepoint()
    }

    /// The codepoint of segments.
    pub(crate) fn codepoint(&self) -> Ecn {
        match (self.failures & (fail::ACE_SEND | fail::ACE_RECEIVE), self.options.ect1) {
            (0, true) => Ecn::Ect1,
            (0, false) => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    /// How many counters fit beside the other options, perhaps without the last SACK block (`tcp_options_fit_accecn`).
    fn fit(&self, options: &mut TcpOptions) -> Option<usize> {
        let least = usize::from(self.least);
        let room = 40 - options.len().min(40);
        let fits = |room: usize| {
            (least..=3).rev().find(|&fields| {
                let len = LONGEST - (3 - fields) * PER_FIELD;
                room >= len.next_multiple_of(4)
            })
        };
        if let Some(fields) = fits(room) {
            return Some(fields);
        }
        let mut blocks = options.sack.len();
        let mut room = room;
        while least > 0 && blocks > 2 {
            blocks -= 1;
            room += 8;
            if let Some(fields) = fits(room) {
                let mut kept = SackBlocks::EMPTY;
                for (left, right) in options.sack.iter().take(blocks) {
                    kept.push(left, right);
                }
                options.sack = kept;
                return Some(fields);
            }
        }
        None
    }

    // The sender.

    /// Reads what an ACK reports (`tcp_accecn_process`).
    pub(crate) fn on_ack(&mut self, tcp: &TcpRepr, delivered: &Delivered) -> Echo {
        let stamps = core::mem::take(&mut self.stamp_progress);
        if !self.is_accurate() || !(delivered.progress || stamps) {
            return Echo::default();
        }
        self.ack_due |= self.unreported >= MOST_UNREPORTED;
        let before = self.delivered[2];
        let valid = self.read_option(tcp, delivered);
        if delivered.packets > 0 {
            let fresh = delivered.packets << PRECISION;
            let average = if self.average == 0 { fresh } else { ((self.average << 6) - self.average + fresh) >> 6 };
            self.average = average.min(0xffff);
        }
        let marked = self.marked(tcp, delivered, valid, before);
        self.delivered_ce = self.delivered_ce.wrapping_add(marked);
        let bytes = u64::from(marked) * u64::from(delivered.smss);
        Echo { marks: marked > 0, bytes: bytes.min(u64::from(delivered.bytes)) }
    }

    /// Marked packets that an ACK reports; `before` is the count of marked bytes before it.
    fn marked(&self, tcp: &TcpRepr, delivered: &Delivered, valid: bool, before: u32) -> u32 {
        let packets = delivered.packets;
        let ace = u32::from(tcp.flags.ace()).wrapping_sub(FIRST_PACKETS);
        let delta = ace.wrapping_sub(self.delivered_ce) & ACE_MASK;
        if packets <= ACE_MASK {
            return delta;
        }
        let safe = packets - (packets.wrapping_sub(delta) & ACE_MASK);
        if !valid {
            return if self.average > THINNED << PRECISION { delta } else { safe };
        }
        let bytes = self.delivered[2].wrapping_sub(before);
        if bytes == 0 {
            return delta;
        }
        if packets >= 2 * (ACE_MASK + 1) && delivered.reliable {
            if delivered.bytes <= bytes {
                return safe;
            }
            let estimate = (u64::from(bytes) * u64::from(packets)).div_ceil(u64::from(delivered.bytes.max(1))) as u32;
            return safe.min(delta + (estimate & !ACE_MASK));
        }
        if bytes > delta * delivered.smss {
            return safe;
        }
        if bytes < (safe * delivered.smss) >> 1 { delta } else { safe }
    }

    /// Reads the option of an ACK (`tcp_accecn_process_option`); returns whether the counters of bytes are right.
    fn read_option(&mut self, tcp: &TcpRepr, delivered: &Delivered) -> bool {
        if self.failures & fail::OPTION_RECEIVE != 0 {
            return false;
        }
        let Some(option) = tcp.options.accecn() else {
            if self.seen_option == SeenOption::Nothing {
                if delivered.sent >= TOO_LATE {
                    self.seen_option = SeenOption::Failed;
                    self.failures |= fail::OPTION_RECEIVE;
                }
                return false;
            }
            let Some(at) = self.estimate else { return false };
            self.delivered[at] = self.delivered[at].wrapping_add(delivered.bytes);
            return true;
        };
        if self.seen_option < SeenOption::Counters {
            self.see_option(&option);
        }
        let estimate = self.estimate;
        let (mut valid, mut ambiguous, mut changed) = (estimate.is_some(), false, false);
        let order = match option.order() {
            AccEcnOrder::Ect1First => [(0, option.ect1()), (2, option.ce()), (1, option.ect0())],
            AccEcnOrder::Ect0First => [(1, option.ect0()), (2, option.ce()), (0, option.ect1())],
        };
        for (at, value) in order {
            let Some(value) = value else { break };
            let wire = value.wrapping_sub(FIRST_BYTES[at]) & FIELD;
            // The difference of 24 bits, with its sign.
            let difference = (wire.wrapping_sub(self.delivered[at]) << 8) as i32 >> 8;
            self.delivered[at] = self.delivered[at].wrapping_add(difference as u32);
            if difference < 0 {
                (valid, ambiguous) = (false, true);
            }
            if difference != 0 && Some(at) != estimate {
                if changed {
                    (valid, ambiguous) = (false, true);
                } else {
                    self.estimate = Some(at);
                    changed = true;
                }
            }
        }
        if ambiguous {
            self.estimate = None;
        }
        valid
    }
}
