//! AccECN (RFC 9768): both roles of an end, from the handshake's last ACK on.
//!
//! | file | its part |
//! |---|---|
//! | `mod.rs` | both roles together, and what the handshake leaves to them |
//! | `arrivals.rs` | as a receiver: what is counted, and which segments report it |
//! | `reports.rs` | as a sender: what the peer's ACE field and option mean |
//!
//! `negotiation.rs` has the flags of the two SYNs.
//!
//! # Differences from RFC 9768
//! * Pure ACKs, SYNs and retransmissions are not ECN-capable, as in RFC 3168. So no CE mark arrives on them, and only
//!   segments with data or FIN are counted. A report that a SYN arrived with another codepoint means that something on
//!   the way changes the IP header (section 3.2.2.3).
//! * Data segments carry the option only if it fits beside their data; the MSS does not shrink for it. A full segment
//!   reports by the ACE field alone.
//! * Options that do not arrive need no mode of their own: an ACK without option is read by its ACE field (appendix
//!   A.2), and one with option by both. Only a SYN-ACK that is sent again leaves the option out (section 3.2.3.2.2).
//! * The tests for continuous CE marking (section 3.2.2.3, last part) are left out.

mod arrivals;
mod reports;

use super::Echo;
use crate::handshake::Syn;
use arrivals::Arrivals;
use narrows_units::{Duration, Instant, Packets};
use narrows_wire::{AccEcn, AccEcnOrder, Ecn, TcpOptions, TcpRepr};
use reports::Reports;

/// First value of the packet counters: zero would look like a field that was cleared on the way (section 3.2.1).
const FIRST_PACKETS: u32 = 5;
/// First value of the byte counters of ECT(0) and ECT(1), for the same reason. That of CE begins with zero.
const FIRST_BYTES: u32 = 1;

/// The option of a SYN-ACK: the counters' first values.
pub(crate) fn first_option() -> AccEcn {
    AccEcn::new(AccEcnOrder::Ect0First, &[FIRST_BYTES, 0, FIRST_BYTES])
}

/// Counters of AccECN over the life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AccurateEcn {
    /// Packets that arrived here with a CE mark.
    pub ce_received: Packets,
    /// Packets that the peer reported as marked.
    pub ce_reported: Packets,
    /// Bytes that the peer reported as marked, or that are estimated from its packets.
    pub ce_reported_bytes: u64,
    /// Reports that the RFC's tests found to be changed on the way: an ACE field or an option of zeros, or a codepoint
    /// on a SYN that was not sent.
    pub faults: u64,
}

/// AccECN's state of a connection.
#[derive(Debug)]
pub(crate) struct Accurate {
    arrivals: Arrivals,
    reports: Reports,
}

impl Accurate {
    /// Begins after a handshake that left `syn`, with segments of `smss` bytes. The second value is whether data may be
    /// ECN-capable.
    pub(crate) fn start(syn: &Syn, smss: u64) -> (Self, bool) {
        // Our SYN was not ECN-capable. The answer to an active open is the peer's report of it.
        let changed = syn.reported.is_some_and(|ecn| ecn != Ecn::NotEct);
        let greets = (!syn.passive).then_some(syn.peer_ecn);
        let mut reports = Reports::new(smss);
        if changed {
            reports.note_fault();
        }
        if let Some(option) = syn.peer.as_ref().and_then(TcpOptions::accecn) {
            reports.test_option(&option);
        }
        (Self { arrivals: Arrivals::new(greets), reports }, syn.capable && !changed)
    }

    /// Reads the ACE field of the pure ACK that ends the handshake of a passive open (section 3.2.2.1, table 4).
    /// Returns whether data may be ECN-capable.
    pub(crate) fn on_last_handshake_ack(&mut self, ace: u8) -> bool {
        match ace {
            0b000 => {
                self.reports.on_zeroed();
                false
            }
            // The SYN-ACK was not ECN-capable, so these mean that its IP header was changed.
            0b011 | 0b100 | 0b110 => {
                self.reports.note_fault();
                if ace == 0b110 {
                    self.reports.on_marked_handshake();
                }
                false
            }
            _ => true,
        }
    }

    /// A SYN-ACK arrived again: its ACK has the handshake encoding too.
    pub(crate) fn on_repeated_syn_ack(&mut self, ecn: Ecn) {
        self.arrivals.greet(ecn);
    }

    /// Counts segments that arrived together, as payload and number; returns whether they call for an ACK at once.
    pub(crate) fn on_data(&mut self, ecn: Ecn, segments: (u32, u32)) -> bool {
        self.arrivals.on_data(ecn, segments)
    }

    /// The ACE field of the next segment: `r.cep` modulo 8 (section 3.2.2).
    pub(crate) fn ace(&self) -> u8 {
        self.arrivals.ace()
    }

    /// Writes what a pure ACK reports.
    pub(crate) fn on_pure_ack(&mut self, tcp: &mut TcpRepr, now: Instant, srtt: Option<Duration>) {
        self.arrivals.on_pure_ack(tcp, now, srtt);
    }

    /// Writes what a data segment reports that has room for `room` more bytes of options.
    pub(crate) fn on_data_segment(&mut self, tcp: &mut TcpRepr, room: u64, now: Instant, srtt: Option<Duration>) {
        self.arrivals.on_data_segment(tcp, room, now, srtt);
    }

    /// Whether an ACK reports marks that were not reported before.
    pub(crate) fn has_news(&self, tcp: &TcpRepr) -> bool {
        self.reports.has_news(tcp)
    }

    /// Reads an ACK that delivers `delivered` bytes. The second value is false if data may no longer be ECN-capable.
    pub(crate) fn on_ack(&mut self, tcp: &TcpRepr, delivered: u64) -> (Echo, bool) {
        self.reports.on_ack(tcp, delivered)
    }

    /// The counters.
    pub(crate) fn counters(&self) -> AccurateEcn {
        AccurateEcn { ce_received: self.arrivals.marked(), ..self.reports.counters() }
    }
}
