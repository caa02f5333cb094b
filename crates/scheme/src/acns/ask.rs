//! The asking side of a sender: which segment asks, and which ACKs answer it.
//!
//! # Choices
//! - **The last of a window.** At most one ask is outstanding. While none is, the first new data segment asks that
//!   either cannot be followed by another at once (`more` is false: the windows or the data are used up), or that
//!   completes cwnd bytes since the segment that asked before. So a window is what is sent between two asks, and there is
//!   one ask per round trip, whether the sender bursts, is clocked by ACKs, paces, or has little to say.
//! - **The answer.** The cumulative ACK that reaches the end of the asking segment ends the ask. The answer is the
//!   harshest command on all the ACKs since the ask was sent, that one included: behind a hole in the sequence space
//!   the command comes on a duplicate ACK, and the cumulative ACK long after it says normal. Where nothing is lost, only
//!   the covering ACK can carry one, since routers write only to segments that ask. CE marks of classic ECN queues on
//!   the other segments of the window count too, and so once per window, as in RFC 3168.
//! - **A lost ask.** An asking segment that is retransmitted (which is never an ask) is void: unless a command came
//!   before, the ACK that covers it is no answer and the command that rules stays. Either way the ask has ended and
//!   the next window asks anew.
//! - **A lost ACK** loses its command: the receiver says each command once, by the papers.

use narrows_cc::Advice;
use narrows_tcp::Outgoing;
use narrows_units::{Bytes, SeqNum};

/// An outstanding ask.
#[derive(Clone, Copy, Debug)]
struct Ask {
    /// Sequence number after its last byte.
    end: SeqNum,
    /// Whether the segment was retransmitted.
    void: bool,
    /// Harshest command since it was sent.
    harshest: Advice,
}

/// What an ACK tells a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The command on this ACK.
    pub(super) on_ack: Advice,
    /// The answer to the ask, if this ACK ended one that was not void.
    pub(super) answer: Option<Advice>,
}

/// Keeps track of asks and answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Asker {
    ask: Option<Ask>,
    /// New data sent after the segment that asked last.
    since_ask: Bytes,
    /// Lowest unacknowledged and highest sent sequence number; `None` before the first data.
    span: Option<(SeqNum, SeqNum)>,
}

impl Asker {
    /// A data segment leaves. Returns `None` if any of it was sent before, else whether it asks.
    pub(super) fn on_data(&mut self, seq: SeqNum, len: Bytes, out: &Outgoing) -> Option<bool> {
        let end = seq + len;
        let (una, max) = self.span.unwrap_or((seq, seq));
        if seq.before(max) {
            self.on_retransmission(seq, len);
            self.span = Some((una, max.later(end)));
            return None;
        }
        self.span = Some((una, end));
        self.since_ask += len;
        let asks = self.ask.is_none() && (!out.more || self.since_ask >= out.cwnd);
        if asks {
            self.ask = Some(Ask { end, void: false, harshest: Advice::Normal });
            self.since_ask = Bytes::ZERO;
        }
        Some(asks)
    }

    /// A segment leaves again.
    pub(super) fn on_retransmission(&mut self, seq: SeqNum, len: Bytes) {
        if let Some(ask) = &mut self.ask {
            ask.void |= seq.before(ask.end) && ask.end.at_or_before(seq + len);
        }
    }

    /// An ACK with this command arrived. `None` if it answers nothing: it is older than others, or no data of ours was
    /// outstanding.
    pub(super) fn on_ack(&mut self, ack: SeqNum, command: Advice) -> Option<Heard> {
        let (una, max) = self.span?;
        if una == max || ack.before(una) || ack.after(max) {
            return None;
        }
        self.span = Some((ack, max));
        let mut heard = Heard { on_ack: command, answer: None };
        if let Some(ask) = &mut self.ask {
            ask.harshest = ask.harshest.max(command);
            if ask.end.at_or_before(ack) {
                heard.answer = Some(ask.harshest).filter(|&c| !ask.void || c > Advice::Normal);
                self.ask = None;
            }
        }
        Some(heard)
    }
}
