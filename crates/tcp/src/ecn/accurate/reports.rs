//! AccECN as a data sender: what the peer's ACE field and option mean (RFC 9768, section 3.2 and appendix A).

use super::super::Echo;
use super::{AccurateEcn, FIRST_PACKETS};
use narrows_units::Packets;
use narrows_wire::{AccEcn, TcpRepr};

/// Values of the ACE field (DIVACE in appendix A).
const CYCLE: u64 = 8;
/// Values of a counter in an option.
const FIELD: u32 = 1 << 24;
/// Appendix A.2.2.
const SAFETY_FACTOR: u64 = 2;

/// What the peer reported.
#[derive(Debug)]
pub(super) struct Reports {
    /// Marked packets (`s.cep`).
    packets: u32,
    /// Marked bytes by the options (`s.ceb`), without their wraps.
    ce: u64,
    /// Marked bytes that congestion control was told of. More than `ce` after estimates; options then catch up first.
    told: u64,
    /// Payload bytes of a full segment.
    smss: u64,
    /// Whether an ACK was read after the handshake, and an option.
    read: bool,
    read_option: bool,
    /// Whether the ACE field, and the options, say nothing: something on the way clears them.
    ace_cleared: bool,
    options_cleared: bool,
    faults: u64,
}

/// What an ACK adds to the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct News {
    /// By how much the ACE field moved (`d.cep`).
    step: u64,
    /// By how much the option's count moved (`d.ceb`); `None` without a usable option.
    bytes: Option<u32>,
}

impl Reports {
    /// The first values of a connection with full segments of `smss` bytes.
    pub(super) fn new(smss: u64) -> Self {
        Self {
            packets: FIRST_PACKETS,
            ce: 0,
            told: 0,
            smss: smss.max(1),
            read: false,
            read_option: false,
            ace_cleared: false,
            options_cleared: false,
            faults: 0,
        }
    }

    /// Counts a report that was changed on the way.
    pub(super) fn note_fault(&mut self) {
        self.faults += 1;
    }

    /// The ACE field is cleared on the way: its reports have no meaning (section 3.2.2.4).
    pub(super) fn on_zeroed(&mut self) {
        self.faults += 1;
        self.ace_cleared = true;
    }

    /// The SYN-ACK is reported as marked (table 4): the peer counts it.
    pub(super) fn on_marked_handshake(&mut self) {
        self.packets += 1;
    }

    /// Tests the first option: its counters of ECT(0) and ECT(1) never begin with zero (section 3.2.3.2.4).
    pub(super) fn test_option(&mut self, option: &AccEcn) {
        if self.read_option || option.is_empty() {
            return;
        }
        self.read_option = true;
        if option.ect0() == Some(0) || option.ect1() == Some(0) {
            self.faults += 1;
            self.options_cleared = true;
        }
    }

    fn news(&self, tcp: &TcpRepr) -> News {
        if self.ace_cleared {
            return News { step: 0, bytes: None };
        }
        let step = (u64::from(tcp.flags.ace()) + CYCLE - u64::from(self.packets) % CYCLE) % CYCLE;
        let option = tcp.options.accecn().filter(|_| !self.options_cleared);
        // A count that went back by up to half of the field is that of an older ACK.
        let moved = |ce: u32| ce.wrapping_sub(self.ce as u32) % FIELD;
        let bytes = option.and_then(|option| option.ce()).map(moved).filter(|moved| *moved < FIELD / 2);
        News { step, bytes }
    }

    /// Whether an ACK reports marks that were not reported before.
    pub(super) fn has_news(&self, tcp: &TcpRepr) -> bool {
        let News { step, bytes } = self.news(tcp);
        step > 0 || bytes.is_some_and(|bytes| self.ce + u64::from(bytes) > self.told)
    }

    /// How many packets an ACK of `packets` packets reports as marked.
    ///
    /// Up to seven packets are told by the field. With more it may have gone round, and the safest likely case counts
    /// (appendix A.2.1). The option decides where it can (appendix A.2.2). A field that did not move, with no option to
    /// contradict it, is taken at its word: the receiver sends an ACK at every second mark, so eight marks in one step
    /// would take the loss of four ACKs and leave the field as it was.
    fn marked(&self, news: News, packets: u64) -> u64 {
        let least = news.step;
        if packets < CYCLE || (least == 0 && news.bytes.is_none_or(|bytes| bytes == 0)) {
            return least;
        }
        let safer = packets - (packets - least) % CYCLE;
        match news.bytes {
            Some(bytes) => {
                let bytes = u64::from(bytes);
                let fits = bytes <= least * self.smss;
                if fits && bytes * SAFETY_FACTOR < safer * self.smss { least } else { safer }
            }
            None => safer,
        }
    }

    /// Reads an ACK that delivers `delivered` bytes. The second value is false if something on the way turns out to
    /// clear the field, so that data may no longer be ECN-capable.
    pub(super) fn on_ack(&mut self, tcp: &TcpRepr, delivered: u64) -> (Echo, bool) {
        if !self.read {
            self.read = true;
            if tcp.flags.ace() == 0 && !self.ace_cleared {
                self.on_zeroed();
            }
        }
        if let Some(option) = tcp.options.accecn() {
            self.test_option(&option);
        }
        let news = self.news(tcp);
        let marked = self.marked(news, delivered.div_ceil(self.smss));
        self.packets = self.packets.wrapping_add(marked as u32);
        let bytes = match news.bytes {
            Some(bytes) => {
                self.ce += u64::from(bytes);
                self.ce.saturating_sub(self.told)
            }
            // Marked packets are taken for full ones (appendix A.3).
            None => (marked * self.smss).min(delivered),
        };
        self.told += bytes;
        (Echo { marks: marked > 0 || bytes > 0, bytes }, !self.ace_cleared)
    }

    /// The sender's part of the counters.
    pub(super) fn counters(&self) -> AccurateEcn {
        AccurateEcn {
            ce_received: Packets::ZERO,
            ce_reported: Packets::new(u64::from(self.packets.wrapping_sub(FIRST_PACKETS))),
            ce_reported_bytes: self.told,
            faults: self.faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::{AccEcnOrder, TcpFlags};
    use proptest::prelude::*;

    fn ack(ace: u8, ce_bytes: Option<u32>) -> TcpRepr {
        let mut tcp = TcpRepr { flags: TcpFlags::ACK.with_ace(ace), ..TcpRepr::default() };
        if let Some(bytes) = ce_bytes {
            tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect0First, &[1, bytes]));
        }
        tcp
    }

    fn echo(r: &mut Reports, ace: u8, ce: Option<u32>, delivered: u64) -> Echo {
        r.on_ack(&ack(ace, ce), delivered).0
    }

    fn marked(r: &Reports) -> u64 {
        r.counters().ce_reported.as_u64()
    }

    #[test]
    fn a_difference_is_taken_modulo_eight() {
        let mut r = Reports::new(1_000);
        assert!(!r.has_news(&ack(5, None)) && r.has_news(&ack(6, None)));
        assert_eq!(echo(&mut r, 5, None, 1_000), Echo::default());
        assert_eq!(echo(&mut r, 0, None, 5_000), Echo { marks: true, bytes: 3_000 });
        assert_eq!(echo(&mut r, 0, None, 5_000), Echo::default(), "nothing new");
        assert_eq!(echo(&mut r, 1, None, 200).bytes, 200, "no more than was delivered");
        assert_eq!(marked(&r), 4);
    }

    #[test]
    fn a_long_ack_without_option_counts_the_safest_case() {
        // Appendix A.2.1: 10 packets are acknowledged and the field moved by 1: 10 - (10 - 1) mod 8 = 9.
        let mut r = Reports::new(1_000);
        assert_eq!(echo(&mut r, 6, None, 10_000).bytes, 9_000);
        assert_eq!(marked(&r), 9);
        let mut r = Reports::new(1_000);
        assert_eq!(echo(&mut r, 6, None, 7_000).bytes, 1_000, "seven packets cannot have gone round");
        let mut r = Reports::new(1_000);
        assert_eq!(echo(&mut r, 5, None, 20_000), Echo::default(), "a field that did not move");
    }

    #[test]
    fn the_option_decides_how_often_the_field_went_round() {
        // Appendix A.2.2 with MSS 1000, 20 packets and d.cep = 2: dSafer.cep = 20 - (20 - 2) mod 8 = 18.
        let marked_by = |bytes| {
            let mut r = Reports::new(1_000);
            echo(&mut r, 7, Some(bytes), 20_000);
            (marked(&r), r.counters().ce_reported_bytes)
        };
        // s = 1000 is one MSS, and sSafer = 111 is less than half of it: the field is right.
        assert_eq!(marked_by(2_000), (2, 2_000));
        // s = 1001 is more than one MSS.
        assert_eq!(marked_by(2_002), (18, 2_002));
        assert_eq!(marked_by(18_000), (18, 18_000));
        assert_eq!(marked_by(0), (2, 0), "marked, and without data: no bytes");
        // Eight marks leave the field where it was; s is infinite, and dSafer.cep = 20 - 20 mod 8 = 16.
        let mut r = Reports::new(1_000);
        assert!(r.has_news(&ack(5, Some(8_000))));
        assert_eq!(echo(&mut r, 5, Some(8_000), 20_000), Echo { marks: true, bytes: 8_000 });
        assert_eq!(marked(&r), 16);
    }

    #[test]
    fn bytes_of_the_option_wrap_at_24_bits() {
        let mut r = Reports { ce: u64::from(FIELD) - 1, told: u64::from(FIELD) - 1, ..Reports::new(1_000) };
        assert_eq!(echo(&mut r, 6, Some(9), 1_000).bytes, 10);
        assert_eq!(echo(&mut r, 7, Some(FIELD - 1), 1_000).bytes, 1_000, "an old count is no count");
    }

    #[test]
    fn estimated_bytes_are_not_counted_twice() {
        let mut r = Reports::new(1_000);
        assert_eq!(echo(&mut r, 7, None, 2_000).bytes, 2_000, "an ACK whose option was stripped");
        assert_eq!(echo(&mut r, 7, Some(1_500), 2_000), Echo::default(), "they were smaller");
        assert_eq!(echo(&mut r, 0, Some(2_600), 2_000).bytes, 600);
        assert_eq!(r.counters().ce_reported_bytes, 2_600);
    }

    #[test]
    fn a_cleared_field_is_found_at_the_first_ack_and_never_again() {
        let mut r = Reports::new(1_000);
        assert_eq!(r.on_ack(&ack(0, None), 1_000), (Echo::default(), false));
        assert!(!r.has_news(&ack(3, Some(500))));
        assert_eq!((r.counters().faults, marked(&r)), (1, 0));
        let mut r = Reports::new(1_000);
        assert!(r.on_ack(&ack(5, None), 1_000).1 && r.on_ack(&ack(0, None), 3_000).1, "it went round");
        assert_eq!((r.counters().faults, marked(&r)), (0, 3));
    }

    #[test]
    fn cleared_options_are_ignored() {
        let mut r = Reports::new(1_000);
        let mut tcp = ack(6, None);
        tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect1First, &[0, 0, 0]));
        assert_eq!(r.on_ack(&tcp, 1_000), (Echo { marks: true, bytes: 1_000 }, true), "the field is read");
        assert_eq!(r.counters().faults, 1);
        assert_eq!(echo(&mut r, 7, Some(9_000), 1_000).bytes, 1_000);
    }

    proptest! {
        /// Where no more than seven packets are acknowledged at once, every mark is counted, with or without options.
        #[test]
        fn every_mark_is_counted(
            acks in prop::collection::vec((1u64..8, 0u64..8, any::<bool>()), 1..200),
        ) {
            let (mut r, mut packets, mut ce) = (Reports::new(1_000), 5u64, 0u32);
            r.on_ack(&ack(5, None), 1_000);
            for (delivered, marks, option) in acks {
                let marks = marks.min(delivered);
                packets += marks;
                ce = (ce + 1_000 * marks as u32) % FIELD;
                let tcp = ack((packets % 8) as u8, option.then_some(ce));
                prop_assert_eq!(r.has_news(&tcp), marks > 0);
                let got = echo(&mut r, (packets % 8) as u8, option.then_some(ce), 1_000 * delivered);
                prop_assert_eq!(got, Echo { marks: marks > 0, bytes: 1_000 * marks });
                prop_assert_eq!(marked(&r), packets - 5);
            }
        }
    }
}
