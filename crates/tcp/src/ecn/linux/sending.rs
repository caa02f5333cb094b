//! The sender: what the peer's ACE field and option mean (RFC 9768, section 3.2.2.5 and appendix A).

use super::{ACE_MASK, FIELD, FIRST_BYTES, FIRST_PACKETS, LinuxEcn, SeenOption, fail};
use crate::ecn::Echo;
use narrows_wire::{AccEcnOrder, TcpRepr};

/// Marked packets not reported yet that call for an ACK (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_UNREPORTED: u32 = 6;
/// Average packets per ACK that mean that ACKs are thinned (`ACK_COMP_THRESH`), and the fraction bits of the average.
const THINNED: u32 = 4;
const PRECISION: u32 = 6;
/// Bytes sent after which it is too late for a first option: counters may have wrapped.
const TOO_LATE: u64 = (1 << 23) - 1;

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

impl LinuxEcn {
    /// Reads what an ACK reports (`tcp_accecn_process`).
    pub(crate) fn on_ack(&mut self, tcp: &TcpRepr, delivered: &Delivered) -> Echo {
        let stamps = core::mem::take(&mut self.stamp_progress);
        if !self.is_accurate() || !(delivered.progress || stamps) {
            return Echo::default();
        }
        let before = self.delivered[2];
        let valid = self.read_option(tcp, delivered);
        if delivered.packets > 0 {
            let fresh = delivered.packets << PRECISION;
            let average = if self.average == 0 { fresh } else { ((self.average << 6) - self.average + fresh) >> 6 };
            self.average = average.min(0xffff);
        }
        if self.third {
            return Echo::default();
        }
        self.ack_due |= self.unreported >= MOST_UNREPORTED;
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
