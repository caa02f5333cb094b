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

#[cfg(test)]
mod tests {
    use super::super::LinuxEcnMode;
    use super::*;
    use narrows_wire::{AccEcn, TcpFlags};

    fn end() -> LinuxEcn {
        LinuxEcn { mode: LinuxEcnMode::Accurate, ..LinuxEcn::default() }
    }

    /// An ACK with this ACE field, and an option with these counters of ECT(1), CE and ECT(0).
    fn ack(ace: u8, counters: Option<[u32; 3]>) -> TcpRepr {
        let mut tcp = TcpRepr { flags: TcpFlags::ACK.with_ace(ace), ..TcpRepr::default() };
        if let Some(counters) = counters {
            tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect1First, &counters));
        }
        tcp
    }

    /// An ACK of so many segments of 1000 bytes.
    fn of(packets: u32) -> Delivered {
        Delivered { packets, bytes: 1_000 * packets, progress: packets > 0, smss: 1_000, reliable: true, sent: 0 }
    }

    fn marked(ecn: &mut LinuxEcn, tcp: &TcpRepr, delivered: &Delivered) -> u32 {
        let before = ecn.delivered_ce;
        ecn.on_ack(tcp, delivered);
        ecn.delivered_ce - before
    }

    #[test]
    fn up_to_seven_packets_are_told_by_the_field() {
        let mut ecn = end();
        assert_eq!(marked(&mut ecn, &ack(5, None), &of(7)), 0);
        assert_eq!(marked(&mut ecn, &ack(0, None), &of(7)), 3);
        assert_eq!(ecn.on_ack(&ack(1, None), &of(2)), Echo { marks: true, bytes: 1_000 });
        assert_eq!(ecn.on_ack(&ack(2, None), &Delivered { bytes: 300, ..of(1) }).bytes, 300, "no more than delivered");
    }

    #[test]
    fn an_ack_without_progress_says_nothing() {
        // RFC 9768, section 3.2.2.5.2: others may have overtaken it.
        let mut ecn = end();
        assert_eq!(ecn.on_ack(&ack(7, None), &of(0)), Echo::default());
        ecn.stamp_progress = true;
        assert!(ecn.on_ack(&ack(7, None), &of(0)).marks, "a newer timestamp shows that it is not old");
    }

    #[test]
    fn the_ack_that_ends_the_handshake_counts_nothing() {
        let mut ecn = end();
        ecn.set_third(true);
        assert_eq!(marked(&mut ecn, &ack(0b010, None), &of(1)), 0);
        ecn.set_third(false);
        assert_eq!(marked(&mut ecn, &ack(6, None), &of(1)), 1);
    }

    #[test]
    fn a_long_ack_without_option_counts_the_safest_case() {
        // RFC 9768, section 3.2.2.5 and appendix A.2.1: 10 packets, and the field moved by 1: 10 - (10 - 1) mod 8 = 9.
        let short = || LinuxEcn { average: 1 << PRECISION, ..end() };
        assert_eq!(marked(&mut short(), &ack(6, None), &of(10)), 9);
        assert_eq!(marked(&mut short(), &ack(5, None), &of(16)), 16, "the field may have gone round twice");
        let mut thinned = LinuxEcn { average: (THINNED + 1) << PRECISION, ..end() };
        assert_eq!(marked(&mut thinned, &ack(6, None), &of(10)), 1, "where ACKs are thinned, long ones are usual");
    }

    #[test]
    fn the_option_decides_how_often_the_field_went_round() {
        // 10 packets, the field moved by 1; the counter of CE by ..
        let by = |bytes: u32, packets: u32| {
            let mut ecn = end();
            // The first option shows which counter moves; the estimate is then known.
            ecn.on_ack(&ack(5, Some([1, 0, 1_001])), &of(1));
            marked(&mut ecn, &ack(6, Some([1, bytes, 1_001 + 1_000 * packets - bytes])), &of(packets))
        };
        assert_eq!(by(0, 10), 1, "no byte was marked: the mark was on a pure ACK");
        assert_eq!(by(1_000, 10), 1, "one packet of ten");
        assert_eq!(by(9_000, 10), 9);
        let alone = |bytes: u32, packets: u32| {
            let mut ecn = end();
            ecn.on_ack(&ack(5, Some([1, 1_000, 1])), &of(1));
            marked(&mut ecn, &ack(6, Some([1, 1_000 + bytes, 1])), &of(packets))
        };
        assert_eq!(alone(1_000, 10), 1, "one packet");
        assert_eq!(alone(9_000, 10), 9, "more than the field shows");
        assert_eq!(alone(16_000, 16), 9, "all bytes of 16: 16 - (16 - 1) mod 8");
        assert_eq!(alone(8_000, 16), 9, "half of them: 1 + 8");
        assert_eq!(alone(1_000, 16), 1);
    }

    #[test]
    fn both_orders_of_the_option_are_read_by_table_5() {
        for (order, counters) in
            [(AccEcnOrder::Ect1First, [11, 200, 3_001]), (AccEcnOrder::Ect0First, [3_001, 200, 11])]
        {
            let mut ecn = end();
            let mut tcp = ack(5, None);
            tcp.options.set_accecn(AccEcn::new(order, &counters));
            ecn.on_ack(&tcp, &of(3));
            assert_eq!(ecn.delivered, [10, 3_000, 200], "ECT(1), ECT(0), CE");
        }
    }

    #[test]
    fn bytes_wrap_at_24_bits_and_a_count_that_went_back_is_no_news() {
        let mut ecn = end();
        ecn.seen_option = SeenOption::Counters;
        ecn.delivered[1] = FIELD - 10;
        ecn.on_ack(&ack(5, Some([1, 0, (FIELD - 10 + 1 + 100) & FIELD])), &of(1));
        assert_eq!(ecn.delivered[1], FIELD - 10 + 100);
        ecn.on_ack(&ack(5, Some([1, 0, (FIELD - 10 + 1 + 50) & FIELD])), &of(1));
        assert_eq!((ecn.delivered[1], ecn.estimate), (FIELD - 10 + 50, None));
    }

    #[test]
    fn bytes_without_an_option_go_to_the_counter_that_moved_last() {
        let mut ecn = end();
        ecn.on_ack(&ack(5, Some([1, 0, 1_001])), &of(1));
        ecn.on_ack(&ack(5, None), &of(2));
        assert_eq!(ecn.delivered, [0, 3_000, 0]);
    }

    #[test]
    fn a_first_option_that_comes_too_late_is_not_waited_for() {
        let mut ecn = end();
        ecn.on_ack(&ack(5, None), &Delivered { sent: TOO_LATE - 1, ..of(1) });
        assert_eq!(ecn.failures, 0);
        ecn.on_ack(&ack(5, None), &Delivered { sent: TOO_LATE, ..of(1) });
        assert_eq!((ecn.failures, ecn.seen_option), (fail::OPTION_RECEIVE, SeenOption::Failed));
        ecn.on_ack(&ack(5, Some([1, 0, 5_001])), &of(1));
        assert_eq!(ecn.delivered, [0; 3], "options are ignored");
    }

    #[test]
    fn six_marks_that_no_segment_reported_call_for_an_ack() {
        // RFC 9768, section 3.2.2.5.1, as far as Linux goes.
        let mut ecn = LinuxEcn { unreported: MOST_UNREPORTED - 1, ..end() };
        ecn.on_ack(&ack(5, None), &of(1));
        assert!(!ecn.is_ack_due());
        ecn.unreported = MOST_UNREPORTED;
        ecn.on_ack(&ack(5, None), &of(1));
        assert!(ecn.is_ack_due());
    }
}
