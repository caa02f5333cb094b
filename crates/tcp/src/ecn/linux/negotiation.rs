//! What the SYNs and the ACK after them agree on (RFC 9768, section 3.1; `include/net/tcp_ecn.h`).

use super::{FIRST_BYTES, LinuxEcn, LinuxEcnMode, SeenOption, fail};
use crate::ecn::mirrors;
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, TcpFlags, TcpRepr};

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

impl LinuxEcn {
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
            LinuxEcnMode::Accurate => mirrors(self.syn_received),
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

    /// Notes whether the segment under way ends the handshake, so that its ACE field does not count marks
    /// (`FLAG_SYN_ACKED`).
    pub(crate) fn set_third(&mut self, third: bool) {
        self.third = third;
    }

    /// Reads a SYN or SYN-ACK on a synchronized connection: the last ACK of the handshake was lost. If it is answered
    /// (`answers`), the answer has the handshake's encoding.
    pub(crate) fn on_late_syn(&mut self, tcp: &TcpRepr, ecn: Ecn, answers: bool) {
        if !self.is_accurate() {
            return;
        }
        self.reflects |= answers;
        self.syn_received = ecn;
        if let Some(option) = tcp.options.accecn().filter(|_| self.seen_option < SeenOption::Counters) {
            self.see_option(&option);
            self.demand = self.demand.max(1);
        }
    }

    /// Notes the peer's option (`tcp_accecn_option_init`).
    pub(super) fn see_option(&mut self, option: &AccEcn) {
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
}

#[cfg(test)]
mod tests {
    use super::super::EcnOptions;
    use super::*;

    fn end(mode: u8) -> LinuxEcn {
        let mut ecn = LinuxEcn::default();
        ecn.set(EcnOptions { mode, ..EcnOptions::default() });
        ecn
    }

    fn with(ace: u8) -> TcpRepr {
        TcpRepr { flags: TcpFlags::SYN.with_ace(ace), ..TcpRepr::default() }
    }

    fn optioned(counters: &[u32]) -> TcpRepr {
        let mut tcp = with(0b010);
        tcp.options.set_accecn(AccEcn::new(AccEcnOrder::Ect1First, counters));
        tcp
    }

    #[test]
    fn a_syn_offers_what_the_mode_says() {
        // `tcp_ecn` 0 to 5: nothing, classic, nothing, AccECN, classic, nothing.
        for (mode, ace) in (0..).zip([0, 0b011, 0, 0b111, 0b011, 0]) {
            assert_eq!(end(mode).offer(0).0.ace(), ace, "{mode}");
        }
        let mut dctcp = LinuxEcn::default();
        dctcp.set(EcnOptions { mode: 0, needed: true, ..EcnOptions::default() });
        assert_eq!((dctcp.offer(0).0.ace(), dctcp.offer(0).1), (0b011, Ecn::Ect0), "and an ECN-capable SYN");
    }

    #[test]
    fn the_offer_is_repeated_once_and_classic_ecn_not_at_all() {
        // RFC 9768, section 3.1.4.1.
        let mut accurate = end(3);
        assert_eq!([0, 1, 2].map(|again| accurate.offer(again).0.ace()), [0b111, 0b111, 0]);
        let mut classic = end(1);
        assert_eq!([0, 1].map(|again| classic.offer(again).0.ace()), [0b011, 0]);
        classic.set(EcnOptions { mode: 1, fallback: false, ..EcnOptions::default() });
        assert_eq!(classic.offer(1).0.ace(), 0b011, "tcp_ecn_fallback is off");
    }

    #[test]
    fn a_client_reads_each_syn_ack_by_table_2() {
        use LinuxEcnMode::{Accurate, Classic, Disabled};
        let table = [Disabled, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, Disabled];
        for (ace, mode) in (0..).zip(table) {
            let mut client = end(3);
            client.offer(0);
            client.on_syn_ack(&with(ace), Ecn::NotEct);
            assert_eq!(client.mode, mode, "{ace:#05b}");
        }
        let mut none = end(2);
        none.offer(0);
        none.on_syn_ack(&with(0b010), Ecn::NotEct);
        assert_eq!(none.mode, Disabled, "nothing was offered");
        let mut classic = end(1);
        classic.offer(0);
        classic.on_syn_ack(&with(0b101), Ecn::NotEct);
        assert_eq!(classic.mode, Classic, "ECE without CWR, and a bit that is reserved");
    }

    #[test]
    fn a_server_answers_each_syn_by_table_2() {
        // Rows: what the SYN's ACE field is; columns: whether the server knows nothing, classic ECN or AccECN.
        for (ace, classic, accurate) in [
            (0b000, 0, 0),
            (0b001, 0, 0b010),
            (0b010, 0, 0b010),
            (0b011, 0b001, 0b001),
            (0b100, 0, 0b010),
            (0b101, 0, 0b010),
            (0b110, 0, 0b010),
            (0b111, 0b001, 0b010),
        ] {
            for (mode, expected) in [(0, 0), (1, classic), (2, classic), (3, accurate), (4, accurate), (5, accurate)] {
                let mut server = end(mode);
                server.on_syn(&with(ace), Ecn::NotEct);
                assert_eq!(server.answer(0, false).0.ace(), expected, "mode {mode}, SYN {ace:#05b}");
            }
        }
    }

    #[test]
    fn a_syn_ack_reports_how_the_syn_arrived_and_begins_the_counters() {
        for (ecn, ace) in [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
            let mut server = end(3);
            server.on_syn(&with(0b111), ecn);
            let (flags, codepoint, option) = server.answer(0, false);
            assert_eq!((flags.ace(), codepoint), (ace, Ecn::NotEct));
            assert_eq!(option, Some(AccEcn::new(AccEcnOrder::Ect1First, &[1, 0, 1])), "EE1B, ECEB, EE0B");
            let (flags, _, option) = server.answer(1, true);
            assert_eq!((flags.ace(), option), (0, None), "after a second timeout nothing is reported");
        }
    }

    #[test]
    fn a_marked_syn_ack_counts_and_is_reflected() {
        let mut client = end(3);
        client.offer(0);
        client.on_syn_ack(&with(0b010), Ecn::Ce);
        assert_eq!((client.received_ce, client.reflects, client.failures), (1, true, 0));
    }

    #[test]
    fn a_report_of_a_codepoint_that_was_not_sent_ends_ecn_capable_data() {
        // RFC 9768, section 3.2.2.3: our SYN was Not-ECT.
        for (ace, valid) in [(0b010, true), (0b011, false), (0b100, false), (0b110, false)] {
            let mut client = end(3);
            client.offer(0);
            client.on_syn_ack(&with(ace), Ecn::NotEct);
            assert_eq!(client.codepoint() == Ecn::Ect0, valid, "{ace:#05b}");
            client.set(EcnOptions { mode: 3, fallback: false, ..EcnOptions::default() });
        }
        for (sent, arrived, valid) in [
            (Ecn::Ect0, Ecn::Ect1, true),
            (Ecn::Ect0, Ecn::Ce, true),
            (Ecn::Ect1, Ecn::NotEct, false),
            (Ecn::Ce, Ecn::Ect0, false),
            (Ecn::Ce, Ecn::Ce, true),
        ] {
            assert_eq!(is_valid_change(sent, arrived), valid, "{sent:?} {arrived:?}");
        }
    }

    #[test]
    fn the_third_ack_is_read_by_table_4() {
        for (ace, failures, marked) in [
            (0b000, fail::ACE_RECEIVE | fail::OPTION_RECEIVE, 0),
            (0b001, 0, 0),
            (0b010, 0, 0),
            (0b011, fail::ACE_RECEIVE, 0),
            (0b100, fail::ACE_RECEIVE, 0),
            (0b101, 0, 0),
            (0b110, fail::ACE_RECEIVE, 0),
            (0b111, 0, 0),
        ] {
            let mut server = end(3);
            server.on_syn(&with(0b111), Ecn::NotEct);
            server.on_third_ack(&with(ace), Ecn::NotEct, 0);
            assert_eq!((server.failures, server.delivered_ce), (failures, marked), "{ace:#05b}");
        }
        let mut capable = LinuxEcn::default();
        capable.set(EcnOptions { mode: 3, needed: true, ..EcnOptions::default() });
        capable.on_syn(&with(0b111), Ecn::NotEct);
        capable.on_third_ack(&with(0b110), Ecn::NotEct, 0);
        assert_eq!((capable.failures, capable.delivered_ce), (0, 1), "an ECN-capable SYN-ACK arrived marked");
    }

    #[test]
    fn counters_that_begin_with_zero_were_cleared() {
        // RFC 9768, section 3.2.3.2.4.
        for (counters, seen) in [
            (&[][..], SeenOption::Empty),
            (&[1], SeenOption::Counters),
            (&[0], SeenOption::Failed),
            (&[1, 0], SeenOption::Counters),
            (&[1, 0, 1], SeenOption::Counters),
            (&[1, 0, 0], SeenOption::Failed),
        ] {
            let mut client = end(3);
            client.offer(0);
            client.on_syn_ack(&optioned(counters), Ecn::NotEct);
            assert_eq!(client.seen_option, seen, "{counters:?}");
            assert_eq!(client.failures & fail::OPTION_RECEIVE != 0, seen == SeenOption::Failed);
        }
    }

    #[test]
    fn a_second_repetition_of_the_syn_ack_ends_ecn_capable_data() {
        let mut server = end(3);
        server.on_syn(&with(0b111), Ecn::NotEct);
        server.on_answer_again(1);
        assert_eq!(server.codepoint(), Ecn::Ect0);
        server.on_answer_again(2);
        assert_eq!((server.failures, server.codepoint()), (fail::ACE_SEND, Ecn::NotEct));
    }

    #[test]
    fn a_syn_that_comes_again_without_the_offer_ends_ecn_capable_data() {
        // RFC 9768, section 3.1.5.
        let mut server = end(3);
        server.on_syn(&with(0b111), Ecn::NotEct);
        server.on_syn_again(&with(0b111), Ecn::Ce);
        assert_eq!((server.failures, server.answer(0, true).0.ace()), (0, 0b110), "the last SYN is reported");
        server.on_syn_again(&with(0), Ecn::NotEct);
        assert_eq!(server.codepoint(), Ecn::NotEct);
    }
}
