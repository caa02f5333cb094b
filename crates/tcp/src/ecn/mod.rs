//! ECN of a connection: negotiation, encoding, decoding and counting of feedback. How the sender reacts is the
//! episode's ([`crate::episode`]).
//!
//! | mode | feedback | sources |
//! |---|---|---|
//! | [`Mode::UntilCwr`] | ECE on every ACK, from a mark until the sender's CWR | RFC 3168, section 6.1 |
//! | [`Mode::EachMark`] | ECE on the ACKs of marked segments | RFC 8257, section 3.2 |
//! | [`Mode::Accurate`] | a count of marked packets in AE, CWR and ECE, and of bytes in an option | RFC 9768 |
//!
//! [`bits`] lists which header bits each of them owns, and `negotiation` decides who owns them on a connection. An end
//! that offers AccECN accepts classic ECN from a peer that has only that; its data is then ECT(0), because ECT(1) asks
//! for a response that takes accurate feedback (RFC 9331, section 4.2).
//!
//! With `EachMark` the receiver's state is `DCTCP.CE`, whether the last data segment was marked:
//! ```text
//!          unmarked                    marked           marked
//!          .------.    a delayed ACK leaves, no ECE    .------.
//!          |      v  -------------------------------->  |     v
//!          `---- false                                 true --'
//!                   <--------------------------------
//!                     a delayed ACK leaves, with ECE
//! ```
//! so that an ACK is about segments of one kind only. As in Linux, the segment that changes the state is also
//! acknowledged at once. Such a receiver ignores CWR.
//!
//! # Header prediction
//! An ACK that reports marks is predicted like any other while the window is already reduced, because then it changes
//! nothing but counts: feedback that differs on every ACK, such as AccECN's, does not send each ACK the long way. Only
//! the ACK that begins a reduction or ends one goes there. [`Feedback::bits`] are the flags that prediction does not
//! compare, [`Feedback::reports`] looks at their content, and the episode decides what it means.

mod accurate;
mod bits;
mod linux;
mod negotiation;

pub use accurate::AccurateEcn;
pub(crate) use accurate::first_option;
pub use bits::HeaderBits;
pub(crate) use linux::{Delivered, FULL, LinuxEcn};
pub use linux::{EcnOptions, LinuxEcnCounters, LinuxEcnMode, SeenOption, fail};
pub(crate) use negotiation::{Offer, accept, agreed, mirrors, negotiates, offer};

use crate::assist::Agreement;
use crate::handshake::Syn;
use crate::stats::Counters;
use accurate::Accurate;
use narrows_cc::EcnFeedback;
use narrows_settings::{Config, EcnEcho};
use narrows_units::{Duration, Instant, Packets};
use narrows_wire::{Ecn, Packet, TcpFlags, TcpRepr};

/// How marks are reported on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// Not at all: ECN is not agreed on, or a scheme owns its bits.
    #[default]
    Off,
    /// ECE on every ACK until CWR arrives.
    UntilCwr,
    /// ECE exactly on the ACKs of marked segments.
    EachMark,
    /// AccECN.
    Accurate,
}

/// What an ACK reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Echo {
    /// Whether it reports a mark.
    pub(crate) marks: bool,
    /// How many of the bytes that it delivers were marked.
    pub(crate) bytes: u64,
}

/// The ECN feedback of a connection, in both roles.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Feedback {
    mode: Mode,
    /// The flags that carry feedback, as a mask of the ACE field: zero where ECN is off.
    mask: u8,
    /// As a receiver: what every segment with ACK carries in these flags, as an ACE field.
    answer: u8,
    /// As a receiver: whether the last data segment was marked.
    last_ce: bool,
    /// As a sender: whether the next new data carries CWR.
    cwr_pending: bool,
    /// As a sender: the codepoint of new data.
    codepoint: Ecn,
    /// The state of AccECN, where it is agreed on.
    accurate: Option<Box<Accurate>>,
}

/// ECE as an ACE field.
const ECE: u8 = TcpFlags::ECE.ace();

impl Feedback {
    /// Starts with what the handshake agreed on and left in `syn`, with segments of `smss` bytes.
    pub(crate) fn start(&mut self, agreement: Agreement, config: &Config, syn: &Syn, smss: u64) {
        (self.mode, self.mask) = match (agreement, config.ecn_echo) {
            (Agreement::AccurateEcn, _) => (Mode::Accurate, TcpFlags::ACE.ace()),
            (Agreement::Ecn, EcnEcho::UntilCwr) => (Mode::UntilCwr, ECE),
            (Agreement::Ecn, EcnEcho::EachMark) => (Mode::EachMark, ECE),
            (Agreement::Nothing | Agreement::Assisted, _) => (Mode::Off, 0),
        };
        let falls_back = config.accurate_ecn && self.mode != Mode::Accurate;
        let mut capable = syn.capable;
        if self.mode == Mode::Accurate {
            let (accurate, unchanged) = Accurate::start(syn, smss);
            (self.answer, capable) = (accurate.ace(), unchanged);
            self.accurate = Some(Box::new(accurate));
        }
        self.codepoint = match capable {
            false => Ecn::NotEct,
            true if config.ect1 && !falls_back => Ecn::Ect1,
            true => Ecn::Ect0,
        };
    }

    /// AccECN is agreed on at a full end, whose [`LinuxEcn`] exchanges the feedback in place of this.
    pub(crate) fn start_full(&mut self) {
        (self.mode, self.mask) = (Mode::Accurate, 0);
    }

    /// Reads the ACE field of the pure ACK that ended the handshake of a passive open.
    pub(crate) fn on_last_handshake_ack(&mut self, tcp: &TcpRepr) {
        if let Some(accurate) = &mut self.accurate
            && !accurate.on_last_handshake_ack(tcp.flags.ace())
        {
            self.codepoint = Ecn::NotEct;
        }
    }

    /// A SYN-ACK arrived again: the ACK that was to end the handshake was lost.
    pub(crate) fn on_repeated_syn_ack(&mut self, segment: &Packet) {
        if let Some(accurate) = &mut self.accurate {
            accurate.on_repeated_syn_ack(segment.ip.ecn());
        }
    }

    /// Whether marks are reported.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.mask != 0
    }

    /// How marks are reported.
    #[inline]
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// How marks are reported, as congestion control sees it.
    #[inline]
    pub(crate) fn feedback(&self) -> EcnFeedback {
        match self.mode {
            Mode::Off => EcnFeedback::Nothing,
            Mode::UntilCwr => EcnFeedback::Classic,
            Mode::EachMark => EcnFeedback::EachMark,
            Mode::Accurate => EcnFeedback::Accurate,
        }
    }

    /// The flags that carry feedback and so may differ from ACK to ACK.
    #[inline]
    pub(crate) fn bits(&self) -> TcpFlags {
        TcpFlags::NONE.with_ace(self.mask)
    }

    // The receiver.

    /// Counts data that arrived marked, in `count` segments, whatever the mode.
    #[inline]
    pub(crate) fn count(segment: &Packet, count: u32, stats: &mut Counters) {
        if segment.ip.ecn() == Ecn::Ce {
            stats.rare_received().ce_received += Packets::new(count.into());
        }
    }

    /// Whether a pending ACK must leave before a segment with this mark is taken, because one ACK cannot report both
    /// kinds of segment.
    #[inline]
    pub(crate) fn parts(&self, ce: bool) -> bool {
        self.mode == Mode::EachMark && self.last_ce != ce
    }

    /// Whether every ACK carries ECE at present.
    #[inline]
    pub(crate) fn echoes(&self) -> bool {
        self.answer & ECE != 0
    }

    /// Takes the marks of a segment with data or FIN, or of `count` that were merged. Returns whether they call for an
    /// ACK at once: the CE mark differs from that of the segment before.
    #[inline]
    pub(crate) fn on_data(&mut self, segment: &Packet, tcp: &TcpRepr, count: u32) -> bool {
        let ce = segment.ip.ecn() == Ecn::Ce;
        if let Some(accurate) = &mut self.accurate {
            let due = accurate.on_data(segment.ip.ecn(), (segment.payload_len, count));
            self.answer = accurate.ace();
            return due;
        }
        let changed = core::mem::replace(&mut self.last_ce, ce) != ce;
        if self.mode == Mode::EachMark || tcp.flags.has(TcpFlags::CWR) {
            self.answer = 0;
        }
        if ce {
            self.answer = ECE;
        }
        changed
    }

    /// The flags with which every segment with ACK reports marks.
    #[inline]
    pub(crate) fn answer(&self) -> TcpFlags {
        TcpFlags::NONE.with_ace(self.answer)
    }

    /// Writes what a pure ACK reports beyond the flags of every segment.
    #[inline]
    pub(crate) fn on_pure_ack(&mut self, out: &mut Packet, now: Instant, srtt: Option<Duration>) {
        if let Some(accurate) = &mut self.accurate
            && let Some(tcp) = out.tcp_mut()
        {
            accurate.on_pure_ack(tcp, now, srtt);
        }
    }

    /// Writes what a data segment with room for `room` more bytes reports beyond the flags of every segment.
    #[inline]
    pub(crate) fn on_data_segment(&mut self, out: &mut Packet, room: u64, now: Instant, srtt: Option<Duration>) {
        if let Some(accurate) = &mut self.accurate
            && let Some(tcp) = out.tcp_mut()
        {
            accurate.on_data_segment(tcp, room, now, srtt);
        }
    }

    // The sender.

    /// Marks a segment of new data as ECN-capable; where ECN is on.
    #[inline]
    pub(crate) fn on_new_data(&mut self, out: &mut Packet) {
        out.ip.set_ecn(self.codepoint);
        if core::mem::take(&mut self.cwr_pending)
            && let Some(tcp) = out.tcp_mut()
        {
            tcp.flags = tcp.flags.with(TcpFlags::CWR);
        }
    }

    /// Whether an ACK reports a mark.
    #[inline]
    pub(crate) fn reports(&self, tcp: &TcpRepr) -> bool {
        if let Some(accurate) = &self.accurate {
            return accurate.has_news(tcp);
        }
        tcp.flags.ace() & self.mask != 0
    }

    /// Reads what an ACK reports that delivers `delivered` bytes.
    #[inline]
    pub(crate) fn on_ack(&mut self, tcp: &TcpRepr, delivered: u64) -> Echo {
        if let Some(accurate) = &mut self.accurate {
            let (echo, capable) = accurate.on_ack(tcp, delivered);
            if !capable {
                self.codepoint = Ecn::NotEct;
            }
            return echo;
        }
        // Classic ECN cannot tell which of the segments that an ACK delivers were marked.
        let marks = self.reports(tcp);
        Echo { marks, bytes: if marks { delivered } else { 0 } }
    }

    /// Notes a reduction, whatever its cause, which CWR announces (RFC 3168, section 6.1.2).
    pub(crate) fn on_reduction(&mut self) {
        self.cwr_pending |= self.is_on() && self.announces();
    }

    /// Whether CWR announces reductions. With AccECN its bit is part of the ACE field.
    fn announces(&self) -> bool {
        self.mask & TcpFlags::CWR.ace() == 0
    }

    /// AccECN's counters, where it is agreed on.
    pub(crate) fn accurate(&self) -> Option<AccurateEcn> {
        self.accurate.as_ref().map(|accurate| accurate.counters())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use core::net::IpAddr;
    use narrows_wire::{Ip, Transport};

    fn start(feedback: &mut Feedback, agreement: Agreement, config: &Config) {
        feedback.start(agreement, config, &Syn { capable: true, ..Syn::default() }, 1_000);
    }

    fn started(echo: EcnEcho) -> Feedback {
        let mut feedback = Feedback::default();
        start(&mut feedback, Agreement::Ecn, &Config { ecn_echo: echo, ..Config::default() });
        feedback
    }

    #[test]
    fn new_data_has_the_configured_codepoint() {
        let cases = [
            (Agreement::Ecn, false, false, Ecn::Ect0),
            (Agreement::Ecn, true, false, Ecn::Ect1),
            (Agreement::Ecn, true, true, Ecn::Ect0),
            (Agreement::AccurateEcn, true, true, Ecn::Ect1),
            (Agreement::AccurateEcn, false, true, Ecn::Ect0),
        ];
        for (agreement, ect1, accurate_ecn, expected) in cases {
            let mut feedback = Feedback::default();
            start(&mut feedback, agreement, &Config { ect1, accurate_ecn, ..Config::default() });
            let ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
            let mut out = Packet { ip, transport: Transport::Tcp(TcpRepr::default()), payload_len: 100 };
            feedback.on_new_data(&mut out);
            assert_eq!(out.ip.ecn(), expected);
        }
    }

    /// Hands over a data segment; returns whether its mark differs from that before.
    fn data(feedback: &mut Feedback, ce: bool, cwr: bool) -> bool {
        let flags = if cwr { TcpFlags::ACK.with(TcpFlags::CWR) } else { TcpFlags::ACK };
        let mut ip = Ip::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        ip.set_ecn(if ce { Ecn::Ce } else { Ecn::Ect0 });
        let transport = Transport::Tcp(TcpRepr { flags, ..TcpRepr::default() });
        let segment = Packet { ip, transport, payload_len: 100 };
        feedback.on_data(&segment, segment.tcp().unwrap(), 1)
    }

    #[test]
    fn feedback_takes_two_words() {
        assert!(size_of::<Feedback>() <= 16, "on a line with other fields");
    }

    #[test]
    fn the_echo_lasts_until_cwr() {
        let mut e = started(EcnEcho::UntilCwr);
        assert!(data(&mut e, true, false) && e.echoes());
        assert!(data(&mut e, false, false) && e.echoes(), "no mark, still echoing");
        data(&mut e, false, true);
        assert!(!e.echoes());
        data(&mut e, true, true);
        assert!(e.echoes(), "the segment that carries CWR may itself be marked");
        assert_eq!(e.answer(), TcpFlags::ECE);
    }

    #[test]
    fn with_each_mark_the_echo_follows_the_marks() {
        let mut e = started(EcnEcho::EachMark);
        assert!(e.parts(true) && !e.parts(false));
        assert!(data(&mut e, true, false) && e.echoes() && !e.parts(true));
        assert!(!data(&mut e, true, true) && e.echoes(), "CWR means nothing");
        assert!(e.parts(false) && data(&mut e, false, false) && !e.echoes());
        assert!(!started(EcnEcho::UntilCwr).parts(true), "an echo that lasts may be merged");
    }

    #[test]
    fn who_owns_the_bits_decides_the_mode() {
        for (agreement, mode) in
            [(Agreement::Nothing, Mode::Off), (Agreement::Assisted, Mode::Off), (Agreement::Ecn, Mode::EachMark)]
        {
            let mut e = Feedback::default();
            start(&mut e, agreement, &Config { ecn_echo: EcnEcho::EachMark, ..Config::default() });
            assert_eq!((e.mode(), e.is_on()), (mode, agreement == Agreement::Ecn));
        }
    }

    #[test]
    fn an_ack_reports_marks_only_where_the_bits_mean_that() {
        let ack = |flags: TcpFlags| TcpRepr { flags: TcpFlags::ACK.with(flags), ..TcpRepr::default() };
        let mut e = started(EcnEcho::EachMark);
        assert!(e.reports(&ack(TcpFlags::ECE)) && !e.reports(&ack(TcpFlags::NONE)));
        assert_eq!(e.on_ack(&ack(TcpFlags::ECE), 7), Echo { marks: true, bytes: 7 });
        let off = &mut Feedback::default();
        assert!(!off.reports(&ack(TcpFlags::ECE)), "a bit that means nothing here");
        assert_eq!(off.on_ack(&ack(TcpFlags::ECE), 7), Echo::default());
    }
}
