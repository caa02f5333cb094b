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
