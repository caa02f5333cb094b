//! AccECN (RFC 9768): the counters of both roles, the ACE field and the option.
//!
//! What is left for a setting that switches it on: negotiation with its fallbacks (section 3.1), the feedback of the
//! handshake's own marks (section 3.2.2.1), tests for mangled and stripped fields (sections 3.2.2.3 and 3.2.3.2), and
//! options on data segments.

use super::Echo;
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, TcpOptions, TcpRepr};

/// Values of the ACE field.
const CYCLE: u64 = 8;
/// Values of a counter in an option.
const FIELD: u32 = 1 << 24;
/// Marks since the last ACK that call for one (section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;

/// The counters of a connection's two half-connections.
#[derive(Debug, Default)]
pub(crate) struct Accurate {
    /// As a receiver: packets that arrived as CE (`r.cep`).
    packets_ce: u32,
    /// As a receiver: payload bytes by codepoint (`r.ceb`, `r.e0b`, `r.e1b`).
    bytes_ce: u32,
    bytes_ect0: u32,
    bytes_ect1: u32,
    /// As a receiver: marks since the last ACK.
    unreported: u32,
    /// As a receiver: whether pure ACKs carry the option.
    options: bool,
    /// As a sender: marked packets and bytes that the peer reported (`s.cep`, `s.ceb`).
    heard_packets: u32,
    heard_bytes: u32,
    /// As a sender: payload bytes of a full segment.
    smss: u64,
}

impl Accurate {
    /// The counters' first values (section 3.2.1): zero would look like a field that was cleared on the way.
    pub(crate) fn new(options: bool, smss: u64) -> Self {
        Self { packets_ce: 5, heard_packets: 5, bytes_ect0: 1, bytes_ect1: 1, options, smss, ..Self::default() }
    }

    /// Counts a segment that arrived with `payload` bytes; returns whether it calls for an ACK at once.
    pub(crate) fn on_data(&mut self, ecn: Ecn, payload: u32) -> bool {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.bytes_ect0 = self.bytes_ect0.wrapping_add(payload),
            Ecn::Ect1 => self.bytes_ect1 = self.bytes_ect1.wrapping_add(payload),
            Ecn::Ce => {
                self.bytes_ce = self.bytes_ce.wrapping_add(payload);
                self.packets_ce = self.packets_ce.wrapping_add(1);
                self.unreported += 1;
            }
        }
        self.unreported >= MARKS_PER_ACK
    }

    /// The ACE field of the next segment: `r.cep` modulo 8.
    pub(crate) fn ace(&self) -> u8 {
        (u64::from(self.packets_ce) % CYCLE) as u8
    }

    /// Adds the option to a pure ACK. It leaves the last counter out, which no sender here needs.
    pub(crate) fn on_pure_ack(&mut self, options: &mut TcpOptions) {
        self.unreported = 0;
        if self.options {
            options.set_accecn(AccEcn::new(AccEcnOrder::Ect0First, &[self.bytes_ect0, self.bytes_ce]));
        }
    }

    /// How far the peer's count of marked packets has moved at least.
    fn step(&self, tcp: &TcpRepr) -> u64 {
        (u64::from(tcp.flags.ace()) + CYCLE - u64::from(self.heard_packets) % CYCLE) % CYCLE
    }

    /// By how many marked bytes an ACK's option is ahead of what was heard.
    fn news_in_option(&self, tcp: &TcpRepr) -> Option<u32> {
        let ce = tcp.options.accecn()?.ce()?;
        Some(ce.wrapping_sub(self.heard_bytes) % FIELD)
    }

    /// Whether an ACK reports marks that were not heard of.
    pub(crate) fn has_news(&self, tcp: &TcpRepr) -> bool {
        self.step(tcp) > 0 || self.news_in_option(tcp).is_some_and(|bytes| bytes > 0)
    }

    /// Reads an ACK that delivers `delivered` bytes.
    pub(crate) fn on_ack(&mut self, tcp: &TcpRepr, delivered: u64) -> Echo {
        let least = self.step(tcp);
        let option = self.news_in_option(tcp);
        let packets = delivered.div_ceil(self.smss);
        // Without the option the field may have gone round, and the safest case counts (appendix A.2). A field that did
        // not move is taken at its word.
        let most = if least == 0 || packets < CYCLE { least } else { packets - (packets - least) % CYCLE };
        let marked = if option.is_some() { least } else { most };
        self.heard_packets = self.heard_packets.wrapping_add(marked as u32);
        let bytes = match option {
            Some(bytes) => {
                self.heard_bytes = self.heard_bytes.wrapping_add(bytes);
                u64::from(bytes)
            }
            // Marked packets are taken for full ones (appendix A.3).
            None => (marked * self.smss).min(delivered),
        };
        Echo { marks: marked > 0 || bytes > 0, bytes }
    }

    /// Marked packets that arrived here and those that the peer reported, from the first value on.
    pub(crate) fn marked_packets(&self) -> [u32; 2] {
        [self.packets_ce, self.heard_packets].map(|n| n.wrapping_sub(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::TcpFlags;

    fn ack(ace: u8, ce_bytes: Option<u32>) -> TcpRepr {
        let mut tcp = TcpRepr { flags: TcpFlags::ACK.with_ace(ace), ..TcpRepr::default() };
        if let Some(bytes) = ce_bytes {
            tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect0First, &[1, bytes]));
        }
        tcp
    }

    #[test]
    fn the_field_counts_from_five_and_goes_round() {
        let mut a = Accurate::new(false, 1_000);
        assert_eq!(a.ace(), 5);
        for expected in [6, 7, 0, 1] {
            a.on_data(Ecn::Ce, 100);
            assert_eq!(a.ace(), expected);
        }
        a.on_data(Ecn::Ect0, 100);
        assert_eq!(a.ace(), 1, "unmarked");
    }

    #[test]
    fn every_second_mark_calls_for_an_ack() {
        let mut a = Accurate::new(false, 1_000);
        assert!(!a.on_data(Ecn::Ce, 1) && a.on_data(Ecn::Ce, 1));
        a.on_pure_ack(&mut TcpOptions::default());
        assert!(!a.on_data(Ecn::Ce, 1));
    }

    #[test]
    fn a_difference_is_taken_modulo_eight() {
        let mut a = Accurate::new(false, 1_000);
        assert!(!a.has_news(&ack(5, None)) && a.has_news(&ack(6, None)));
        assert_eq!(a.on_ack(&ack(0, None), 5_000), Echo { marks: true, bytes: 3_000 });
        assert_eq!(a.on_ack(&ack(0, None), 5_000), Echo::default(), "nothing new");
        assert_eq!(a.on_ack(&ack(1, None), 200).bytes, 200, "no more than was delivered");
        assert_eq!(a.marked_packets()[1], 4);
    }

    #[test]
    fn without_the_option_a_long_ack_counts_the_safest_case() {
        // Appendix A.2: 10 packets are acknowledged and the field moved by 1; it may have moved by 9.
        let mut a = Accurate::new(false, 1_000);
        assert_eq!(a.on_ack(&ack(6, None), 10_000).bytes, 9_000);
        let mut a = Accurate::new(false, 1_000);
        assert_eq!(a.on_ack(&ack(6, None), 7_000).bytes, 1_000, "seven packets cannot have gone round");
    }

    #[test]
    fn the_option_tells_bytes_whatever_the_field_lost() {
        let mut a = Accurate::new(true, 1_000);
        // Eight marked packets: the field is where it was.
        assert!(a.has_news(&ack(5, Some(8_000))));
        assert_eq!(a.on_ack(&ack(5, Some(8_000)), 20_000), Echo { marks: true, bytes: 8_000 });
        assert_eq!(a.on_ack(&ack(6, Some(8_100)), 1_000).bytes, 100);
        let mut a = Accurate { heard_bytes: FIELD - 1, ..Accurate::new(true, 1_000) };
        assert_eq!(a.on_ack(&ack(6, Some(9)), 1_000).bytes, 10, "24 bits");
    }
}
