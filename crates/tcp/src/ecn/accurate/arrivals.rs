//! AccECN as a data receiver (RFC 9768, sections 3.2.2 and 3.2.3): what is counted, and which segments report it.

use super::{FIRST_BYTES, FIRST_PACKETS};
use crate::ecn::bits::encoded;
use narrows_units::{Duration, Instant, Packets};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, TcpRepr};

/// Marks since the last ACK that call for one (section 3.2.2.5.1: `n`, 2 recommended).
const MARKS_PER_ACK: u32 = 2;
/// ACKs with the option after a codepoint changed: the next, and the one that follows it (section 3.2.3.3).
const ACKS_PER_CHANGE: u8 = 2;
/// Full-length options per round-trip time. The RFC asks for three, and Linux 6.18 sends four
/// (`TCP_ACCECN_BEACON_FREQ_SHIFT`).
const BEACONS_PER_RTT: u64 = 4;
/// Bytes of an option with three counters, with its NOP.
const FULL_OPTION: u64 = 12;
/// Bytes of one counter after which its option is repeated, so that no wrap of 24 bits goes unnoticed (section
/// 3.2.3.3: 2^22).
const BYTES_PER_OPTION: u32 = 1 << 22;

/// What arrived, and what of it is still to be reported.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Packets with CE (`r.cep`).
    packets_ce: u32,
    /// Payload bytes by codepoint (`r.ceb`, `r.e0b`, `r.e1b`).
    ce: u32,
    ect0: u32,
    ect1: u32,
    /// Marks since the last ACK.
    unreported: u32,
    /// Codepoint of the last data that was counted.
    last: Ecn,
    /// ACKs that still carry the option because of a change.
    owed: u8,
    /// `r.ceb`, and the sum of the two others, in the last option.
    reported: [u32; 2],
    /// When the next full-length option is due.
    beacon: Instant,
    /// Handshake encoding for the next pure ACK.
    greeting: Option<u8>,
}

impl Arrivals {
    /// The first values. `syn_ack` is the IP-ECN field of the SYN-ACK that answered an active open.
    pub(super) fn new(syn_ack: Option<Ecn>) -> Self {
        Self {
            // Table 3: a marked SYN-ACK counts.
            packets_ce: FIRST_PACKETS + u32::from(syn_ack == Some(Ecn::Ce)),
            ce: 0,
            ect0: FIRST_BYTES,
            ect1: FIRST_BYTES,
            unreported: 0,
            last: Ecn::NotEct,
            owed: 0,
            reported: [0, 2 * FIRST_BYTES],
            beacon: Instant::ZERO,
            greeting: syn_ack.map(encoded),
        }
    }

    /// Lets the next pure ACK have the handshake encoding of `ecn`.
    pub(super) fn greet(&mut self, ecn: Ecn) {
        self.greeting = Some(encoded(ecn));
    }

    /// Counts `count` segments with `payload` bytes together; returns whether they call for an ACK at once: the first
    /// mark after unmarked data, and every second mark (section 3.2.2.5.1).
    pub(super) fn on_data(&mut self, ecn: Ecn, (payload, count): (u32, u32)) -> bool {
        let changed = ecn != self.last;
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 = self.ect0.wrapping_add(payload),
            Ecn::Ect1 => self.ect1 = self.ect1.wrapping_add(payload),
            Ecn::Ce => {
                self.ce = self.ce.wrapping_add(payload);
                self.packets_ce = self.packets_ce.wrapping_add(count);
                self.unreported += count;
            }
        }
        if changed {
            // Data that is not ECN-capable moves no counter, so it leaves nothing to report.
            self.owed = if ecn == Ecn::NotEct { self.owed } else { ACKS_PER_CHANGE };
            self.last = ecn;
        }
        self.unreported >= MARKS_PER_ACK || (changed && ecn == Ecn::Ce)
    }

    /// The ACE field: `r.cep` modulo 8.
    pub(super) fn ace(&self) -> u8 {
        (self.packets_ce % 8) as u8
    }

    /// Writes the handshake encoding or the option, where it is due, into a pure ACK.
    pub(super) fn on_pure_ack(&mut self, tcp: &mut TcpRepr, now: Instant, srtt: Option<Duration>) {
        self.unreported = 0;
        let greeting = self.greeting.take();
        if !tcp.options.sack.is_empty() {
            // The counters that change matter more than the rest of the blocks, and a full option would take more.
            if self.option_due(now) {
                tcp.options.set_accecn(self.option(2));
                self.note_option(now, srtt);
            }
            return;
        }
        if let Some(code) = greeting {
            tcp.flags = tcp.flags.with_ace(code);
        }
        if greeting.is_some() || self.option_due(now) {
            tcp.options.set_accecn(self.option(3));
            self.note_option(now, srtt);
        }
    }

    /// Writes the option, where it is due, into a data segment with `room` bytes left.
    pub(super) fn on_data_segment(&mut self, tcp: &mut TcpRepr, room: u64, now: Instant, srtt: Option<Duration>) {
        self.unreported = 0;
        if room >= FULL_OPTION && self.option_due(now) {
            tcp.options.set_accecn(self.option(3));
            self.note_option(now, srtt);
        }
    }

    /// Whether the next ACK carries the option (section 3.2.3.3): after a change, whenever `r.ceb` moved, before a
    /// counter can wrap, and as a beacon.
    fn option_due(&self, now: Instant) -> bool {
        let [ce, others] = self.reported;
        self.owed > 0
            || self.ce != ce
            || self.ect0.wrapping_add(self.ect1).wrapping_sub(others) >= BYTES_PER_OPTION
            || now >= self.beacon
    }

    /// The first `counters` counters, that of the codepoint that arrives first.
    fn option(&self, counters: usize) -> AccEcn {
        let (order, all) = if self.ect1 == FIRST_BYTES {
            (AccEcnOrder::Ect0First, [self.ect0, self.ce, self.ect1])
        } else {
            (AccEcnOrder::Ect1First, [self.ect1, self.ce, self.ect0])
        };
        AccEcn::new(order, all.get(..counters).unwrap_or(&all))
    }

    fn note_option(&mut self, now: Instant, srtt: Option<Duration>) {
        self.owed = self.owed.saturating_sub(1);
        self.reported = [self.ce, self.ect0.wrapping_add(self.ect1)];
        self.beacon = now + srtt.unwrap_or(Duration::ZERO) / BEACONS_PER_RTT;
    }

    /// Packets that arrived marked.
    pub(super) fn marked(&self) -> Packets {
        Packets::new(u64::from(self.packets_ce.wrapping_sub(FIRST_PACKETS)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use narrows_units::{Bytes, SeqNum};
    use narrows_wire::TcpFlags;

    const RTT: Option<Duration> = Some(Duration::from_millis(40));

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ack(a: &mut Arrivals, now: Instant) -> TcpRepr {
        let mut tcp = TcpRepr { flags: TcpFlags::ACK.with_ace(a.ace()), ..TcpRepr::default() };
        a.on_pure_ack(&mut tcp, now, RTT);
        tcp
    }

    #[test]
    fn the_field_counts_from_five_and_goes_round() {
        let mut a = Arrivals::new(None);
        assert_eq!(a.ace(), 5);
        for expected in [6, 7, 0, 1] {
            a.on_data(Ecn::Ce, (100, 1));
            assert_eq!(a.ace(), expected);
        }
        a.on_data(Ecn::Ect0, (100, 1));
        assert_eq!((a.ace(), a.marked()), (1, Packets::new(4)), "unmarked");
    }

    #[test]
    fn the_first_mark_and_every_second_call_for_an_ack() {
        let mut a = Arrivals::new(None);
        assert!(!a.on_data(Ecn::Ect1, (1, 1)));
        assert!(a.on_data(Ecn::Ce, (1, 1)), "a change to CE");
        ack(&mut a, at(0));
        assert!(!a.on_data(Ecn::Ce, (1, 1)) && a.on_data(Ecn::Ce, (1, 1)), "two more");
        ack(&mut a, at(0));
        assert!(!a.on_data(Ecn::Ect1, (1, 1)), "a change from CE is told by the next ACK");
    }

    #[test]
    fn the_first_pure_ack_has_the_handshake_encoding() {
        // Section 3.2.2.1, table 3: codepoint of the SYN-ACK, field, first value of r.cep modulo 8.
        for (ecn, code, after) in
            [(Ecn::NotEct, 0b010, 5), (Ecn::Ect1, 0b011, 5), (Ecn::Ect0, 0b100, 5), (Ecn::Ce, 0b110, 6)]
        {
            let mut a = Arrivals::new(Some(ecn));
            let first = ack(&mut a, at(0));
            assert_eq!(first.flags.ace(), code);
            assert_eq!(first.options.accecn().unwrap().len(), 3, "the first ACK has the option");
            assert_eq!(ack(&mut a, at(1)).flags.ace(), after);
            a.greet(ecn);
            assert_eq!(ack(&mut a, at(2)).flags.ace(), code, "a SYN-ACK that came again");
        }
    }

    #[test]
    fn options_follow_changes_marks_and_the_clock() {
        let mut a = Arrivals::new(None);
        let has = |a: &mut Arrivals, ecn, ms| {
            a.on_data(ecn, (1_000, 1));
            ack(a, at(ms)).options.accecn().is_some()
        };
        assert!(has(&mut a, Ecn::Ect1, 100), "the first");
        assert!(has(&mut a, Ecn::Ect1, 101), "the ACK after a change");
        assert!(!has(&mut a, Ecn::Ect1, 102) && !has(&mut a, Ecn::Ect1, 110));
        assert!(has(&mut a, Ecn::Ect1, 111), "a quarter of a round-trip time after the last");
        for ms in 112..116 {
            assert!(has(&mut a, Ecn::Ce, ms), "marks that go on");
        }
        assert!(has(&mut a, Ecn::Ect1, 116) && has(&mut a, Ecn::Ect1, 117) && !has(&mut a, Ecn::Ect1, 118));
        a.on_data(Ecn::Ect1, (BYTES_PER_OPTION, 1));
        assert!(ack(&mut a, at(119)).options.accecn().is_some(), "4 MiB of one kind");
    }

    #[test]
    fn the_order_begins_with_what_arrives() {
        let mut a = Arrivals::new(None);
        a.on_data(Ecn::Ect0, (7, 1));
        assert_eq!(a.option(3), AccEcn::new(AccEcnOrder::Ect0First, &[8, 0, 1]));
        a.on_data(Ecn::Ect1, (9, 1));
        a.on_data(Ecn::Ce, (2, 1));
        assert_eq!(a.option(3), AccEcn::new(AccEcnOrder::Ect1First, &[10, 2, 8]));
        assert_eq!(a.option(2), AccEcn::new(AccEcnOrder::Ect1First, &[10, 2]));
    }

    #[test]
    fn beside_sack_blocks_the_option_is_shorter() {
        let mut a = Arrivals::new(Some(Ecn::NotEct));
        let mut tcp = TcpRepr::default();
        tcp.options.sack.push(SeqNum::new(1), SeqNum::new(1) + Bytes::new(5));
        a.on_data(Ecn::Ce, (10, 1));
        a.on_pure_ack(&mut tcp, at(0), RTT);
        assert_eq!((tcp.options.accecn().unwrap().len(), tcp.options.sack.len()), (2, 1));
        assert_eq!(tcp.flags.ace(), 0, "no handshake encoding with SACK");
    }

    #[test]
    fn a_data_segment_has_the_option_where_it_fits() {
        let mut a = Arrivals::new(None);
        a.on_data(Ecn::Ce, (10, 1));
        for (room, has) in [(11, false), (12, true)] {
            let mut tcp = TcpRepr::default();
            a.on_data_segment(&mut tcp, room, at(0), RTT);
            assert_eq!(tcp.options.accecn().is_some(), has, "{room}");
        }
    }
}
