//! The receiver: what is counted, and which segments report it (RFC 9768, sections 3.2.2 and 3.2.3).

use super::{ACE_MASK, FIELD, FIRST_BYTES, FIRST_PACKETS, FULL, LinuxEcn, LinuxEcnMode, SeenOption, fail};
use crate::ecn::mirrors;
use narrows_units::{Duration, Instant};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, SackBlocks, TcpFlags, TcpOptions, TcpRepr};

/// Bytes of one counter after which the option is sent again: 2^22.
const WRAPS: u32 = !((1 << 22) - 1);
/// SACK blocks that a header holds without the option.
const MOST_BLOCKS: usize = 4;
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
        // A fourth block is worth more than an option without counters, which would take its place.
        if let Some(fields) = fits(room).filter(|fields| *fields > 0 || options.sack.len() < MOST_BLOCKS) {
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

#[cfg(test)]
mod tests {
    use super::super::EcnOptions;
    use super::*;
    use narrows_units::{Bytes, SeqNum};
    use narrows_wire::Timestamps;

    const RTT: Option<Duration> = Some(Duration::from_millis(30));

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// An end that has agreed on AccECN and seen the peer's option.
    fn end(option: u8) -> LinuxEcn {
        let mut ecn =
            LinuxEcn { mode: LinuxEcnMode::Accurate, seen_option: SeenOption::Counters, ..LinuxEcn::default() };
        ecn.set(EcnOptions { mode: 3, option, ..EcnOptions::default() });
        ecn
    }

    /// An ACK with as many SACK blocks, whose first is a D-SACK if `dsack`.
    fn ack(ecn: &mut LinuxEcn, blocks: u32, dsack: bool, now: Instant) -> TcpRepr {
        let mut tcp = TcpRepr { flags: TcpFlags::ACK, ..TcpRepr::default() };
        for n in 0..blocks {
            tcp.options.sack.push(SeqNum::new(100 * n), SeqNum::new(100 * n) + Bytes::new(50));
        }
        ecn.write(&mut tcp, (dsack, None), now, RTT);
        tcp
    }

    fn counters(tcp: &TcpRepr) -> Option<[Option<u32>; 3]> {
        tcp.options.accecn().map(|option| [option.ect1(), option.ce(), option.ect0()])
    }

    #[test]
    fn the_field_counts_from_five_and_goes_round() {
        // RFC 9768, section 3.2.2: r.cep begins with 5.
        let mut ecn = end(0);
        assert_eq!(ack(&mut ecn, 0, false, at(0)).flags.ace(), 5);
        for expected in [6, 7, 0, 1] {
            ecn.count(Ecn::Ce, 0);
            assert_eq!(ack(&mut ecn, 0, false, at(0)).flags.ace(), expected, "pure ACKs count too");
        }
    }

    #[test]
    fn counters_of_bytes_begin_with_one_one_and_zero() {
        let mut ecn = end(2);
        assert_eq!(counters(&ack(&mut ecn, 0, false, at(0))), Some([Some(1), Some(0), Some(1)]));
        ecn.count(Ecn::Ect1, 10);
        ecn.count(Ecn::Ce, 200);
        ecn.count(Ecn::Ect0, 3_000);
        ecn.count(Ecn::NotEct, 40_000);
        assert_eq!(counters(&ack(&mut ecn, 0, false, at(0))), Some([Some(11), Some(200), Some(3_001)]));
        ecn.received[2] = FIELD;
        ecn.count(Ecn::Ce, 6);
        assert_eq!(counters(&ack(&mut ecn, 0, false, at(0))).map(|all| all[1]), Some(Some(5)), "24 bits");
    }

    #[test]
    fn a_change_of_codepoint_is_acknowledged_at_once_and_by_two_options() {
        // RFC 9768, section 3.2.3.3.
        let mut ecn = end(1);
        ecn.set(EcnOptions { mode: 3, option: 1, beacon: 0, ..EcnOptions::default() });
        let after = |ecn: &mut LinuxEcn, codepoint| {
            ecn.count(codepoint, 100);
            let due = ecn.is_ack_due();
            (due, ack(ecn, 0, false, at(0)).options.accecn().is_some())
        };
        assert_eq!(after(&mut ecn, Ecn::Ect0), (true, true));
        assert_eq!(after(&mut ecn, Ecn::Ect0), (false, true), "the second");
        assert_eq!(after(&mut ecn, Ecn::Ect0), (false, false));
        assert_eq!(after(&mut ecn, Ecn::Ce), (true, true));
        assert_eq!(after(&mut ecn, Ecn::Ce), (false, true), "a mark that goes on");
    }

    #[test]
    fn options_come_thrice_a_round_trip_and_before_a_counter_wraps() {
        let mut ecn = end(1);
        ecn.previous = Ecn::Ect0;
        assert!(ack(&mut ecn, 0, false, at(100)).options.accecn().is_some(), "the beacon");
        assert!(ack(&mut ecn, 0, false, at(109)).options.accecn().is_none());
        assert!(ack(&mut ecn, 0, false, at(110)).options.accecn().is_some(), "a third of 30 ms");
        ecn.count(Ecn::Ect0, (1 << 22) - 1);
        assert!(ack(&mut ecn, 0, false, at(111)).options.accecn().is_none());
        ecn.count(Ecn::Ect0, 1);
        assert!(ack(&mut ecn, 0, false, at(111)).options.accecn().is_some(), "4 MiB of one kind");
    }

    #[test]
    fn beside_sack_blocks_the_option_is_shorter_or_takes_the_place_of_the_last() {
        // 40 bytes of options: a block takes 8, all of them 2 and 2 of padding, timestamps 12.
        let (all, two) = (Some([true; 3]), Some([true, true, false]));
        for (stamps, blocks, codepoint, expected) in [
            (false, 3, Ecn::Ect0, (3, all)),
            (false, 4, Ecn::NotEct, (4, None)),
            (false, 4, Ecn::Ect1, (3, all)),
            (true, 2, Ecn::Ect1, (2, two)),
            (true, 3, Ecn::Ect1, (2, two)),
            (true, 3, Ecn::Ect0, (3, None)),
        ] {
            let mut ecn = end(2);
            ecn.count(codepoint, 100);
            let mut tcp = TcpRepr { flags: TcpFlags::ACK, ..TcpRepr::default() };
            tcp.options.timestamps = stamps.then_some(Timestamps { val: 1, ecr: 1 });
            for n in 0..blocks {
                tcp.options.sack.push(SeqNum::new(100 * n), SeqNum::new(100 * n) + Bytes::new(50));
            }
            ecn.write(&mut tcp, (false, None), at(0), RTT);
            let shown = counters(&tcp).map(|all| all.map(|counter| counter.is_some()));
            assert_eq!((tcp.options.sack.len(), shown), expected, "{stamps} {blocks} {codepoint:?}");
            assert!(tcp.options.len() <= 40);
        }
    }

    #[test]
    fn a_segment_that_is_sent_again_after_an_option_with_its_dsack_shows_that_options_are_lost() {
        let mut ecn = end(2);
        ecn.on_duplicate_again();
        assert_eq!(ecn.failures, 0, "no option was sent with one");
        ack(&mut ecn, 1, true, at(0));
        ecn.on_duplicate_again();
        assert_eq!(ecn.failures, fail::OPTION_SEND);
        assert!(ack(&mut ecn, 0, false, at(0)).options.accecn().is_none());
        let mut persists = end(3);
        ack(&mut persists, 1, true, at(0));
        persists.on_duplicate_again();
        assert!(ack(&mut persists, 0, false, at(0)).options.accecn().is_some(), "tcp_ecn_option = 3");
    }

    #[test]
    fn the_handshake_s_encoding_is_sent_once_and_on_no_fin() {
        let mut ecn = end(0);
        (ecn.reflects, ecn.syn_received) = (true, Ecn::Ect0);
        let mut fin = TcpRepr { flags: TcpFlags::FIN.with(TcpFlags::ACK), ..TcpRepr::default() };
        ecn.write(&mut fin, (false, None), at(0), RTT);
        assert_eq!(fin.flags.ace(), 5);
        assert_eq!(ack(&mut ecn, 0, false, at(0)).flags.ace(), 0b100);
        assert_eq!(ack(&mut ecn, 0, false, at(0)).flags.ace(), 5);
    }

    #[test]
    fn nothing_is_written_before_the_peer_has_shown_an_option() {
        let mut ecn = LinuxEcn { seen_option: SeenOption::Nothing, ..end(2) };
        assert!(!ecn.takes_room() && ack(&mut ecn, 0, false, at(0)).options.accecn().is_none());
        assert!(end(2).takes_room() && !end(1).takes_room() && !end(0).takes_room());
    }
}
