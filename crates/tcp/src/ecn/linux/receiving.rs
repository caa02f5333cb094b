//! The receiver: what is counted, and which segments report it (RFC 9768, sections 3.2.2 and 3.2.3).

use super::{ACE_MASK, FIELD, FIRST_BYTES, FIRST_PACKETS, FULL, LinuxEcn, LinuxEcnMode, SeenOption, fail};
use crate::ecn::mirrors;
use narrows_units::{Duration, Instant};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, SackBlocks, TcpFlags, TcpOptions, TcpRepr};

/// Bytes of one counter after which the option is sent again: 2^22.
const WRAPS: u32 = !((1 << 22) - 1);
/// Bytes of an option with three counters, and of each counter.
const LONGEST: usize = 11;
const PER_FIELD: usize = 3;

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

impl LinuxEcn {
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
            tcp.flags.with_ace(mirrors(self.syn_received).ace())
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
}
