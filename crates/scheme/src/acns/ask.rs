//! The asking part of a sender: which segment asks, and which ACKs answer it.
//!
//! # Choices
//! - **The last of a window.** At most one ask is outstanding. While none is, the first new data segment asks that
//!   either cannot be followed by another at once (`more` is false: the windows or the data are used up), or completes
//!   cwnd bytes since the previous asking segment. A window is therefore what is sent between two asks, and there is
//!   one ask per round trip, whether the sender bursts, is clocked by ACKs, paces, or has little to send.
//! - **The answer.** The cumulative ACK that reaches the end of the asking segment ends the ask. The answer is the
//!   harshest command on all ACKs since the previous answer, including this one. Behind a hole in the sequence space,
//!   the command comes on a duplicate ACK, and the cumulative ACK long after it says normal. If nothing is lost, only
//!   the covering ACK can carry a command, since routers write only to segments that ask. CE marks of classic ECN
//!   queues on the other segments of the window count too, and therefore once per window, as in RFC 3168.
//! - **A lost ask.** A retransmission is never an ask, and retransmitting the asking segment makes the ask void: unless
//!   a command came before, the ACK that covers it is no answer, and the command in force stays. In both cases the ask
//!   has ended and the next window asks again.
//! - **A lost ACK** loses its command: the receiver sends each command once, as in the papers.

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
#[derive(Clone, Debug)]
pub(super) struct Asker {
    ask: Option<Ask>,
    /// Harshest command since the last answer.
    harshest: Advice,
    /// New data sent after the last asking segment.
    since_ask: Bytes,
    /// Lowest unacknowledged sequence number, and the one after the last byte sent; `None` before the first data.
    span: Option<(SeqNum, SeqNum)>,
}

impl Asker {
    /// Creates the state before anything is sent.
    pub(super) const fn new() -> Self {
        Self { ask: None, harshest: Advice::Normal, since_ask: Bytes::ZERO, span: None }
    }

    /// Handles a data segment that leaves. Returns `None` if any of it was sent before, else whether it asks.
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
            self.ask = Some(Ask { end, void: false });
            self.since_ask = Bytes::ZERO;
        }
        Some(asks)
    }

    /// Handles a segment that leaves again.
    pub(super) fn on_retransmission(&mut self, seq: SeqNum, len: Bytes) {
        if let Some(ask) = &mut self.ask {
            ask.void |= seq.before(ask.end) && ask.end.at_or_before(seq + len);
        }
    }

    /// Handles an ACK with this command. Returns `None` if the ACK is old or invalid, or if no data was outstanding.
    pub(super) fn on_ack(&mut self, ack: SeqNum, command: Advice) -> Option<Heard> {
        let (una, max) = self.span?;
        if una == max || ack.before(una) || ack.after(max) {
            return None;
        }
        self.span = Some((ack, max));
        self.harshest = self.harshest.max(command);
        let mut answer = None;
        if let Some(ask) = self.ask.take_if(|ask| ask.end.at_or_before(ack)) {
            let harshest = core::mem::replace(&mut self.harshest, Advice::Normal);
            answer = Some(harshest).filter(|&c| !ask.void || c > Advice::Normal);
        }
        Some(Heard { on_ack: command, answer })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Advice::{Fallback, Freeze, Normal};
    use narrows_tcp::SegmentKind;
    use narrows_units::Instant;
    use proptest::prelude::*;

    const LEN: Bytes = Bytes::new(100);

    fn out(cwnd: u64, more: bool) -> Outgoing {
        Outgoing { now: Instant::ZERO, kind: SegmentKind::Data, cwnd: Bytes::new(cwnd), flightsize: Bytes::ZERO, more }
    }

    fn seq(n: u32) -> SeqNum {
        // Near the end of the sequence space, so that every test wraps.
        SeqNum::new(u32::MAX - 250) + Bytes::new(u64::from(n) * 100)
    }

    /// Sends segments `from..to`, with nothing to follow the last; returns those that asked.
    fn burst(a: &mut Asker, from: u32, to: u32) -> Vec<u32> {
        (from..to).filter(|&n| a.on_data(seq(n), LEN, &out(1_000_000, n + 1 < to)).unwrap()).collect()
    }

    #[test]
    fn the_last_segment_of_a_burst_asks_and_one_ask_is_outstanding_at_most() {
        let mut a = Asker::new();
        assert_eq!(burst(&mut a, 0, 10), [9]);
        assert_eq!(burst(&mut a, 10, 12), [] as [u32; 0]);
        // ACKs of other segments do not end the ask.
        assert_eq!(a.on_ack(seq(9), Normal).unwrap().answer, None);
        assert_eq!(burst(&mut a, 12, 13), [] as [u32; 0]);
        assert_eq!(a.on_ack(seq(10), Normal).unwrap().answer, Some(Normal));
        assert_eq!(burst(&mut a, 13, 15), [14]);
    }

    #[test]
    fn a_sender_that_never_runs_dry_asks_once_per_window() {
        let mut a = Asker::new();
        let mut asked = Vec::new();
        // 500 bytes of window; every segment is acknowledged at once.
        for n in 0..20 {
            if a.on_data(seq(n), LEN, &out(500, true)).unwrap() {
                asked.push(n);
            }
            a.on_ack(seq(n + 1), Normal);
        }
        assert_eq!(asked, [4, 9, 14, 19]);
    }

    #[test]
    fn the_answer_is_the_harshest_command_since_the_answer_before() {
        let mut a = Asker::new();
        burst(&mut a, 0, 3);
        // A hole: the command comes on a duplicate ACK, and the covering one says normal.
        a.on_ack(seq(1), Normal);
        assert_eq!(a.on_ack(seq(1), Fallback).unwrap(), Heard { on_ack: Fallback, answer: None });
        a.on_ack(seq(1), Freeze);
        assert_eq!(a.on_ack(seq(3), Normal).unwrap(), Heard { on_ack: Normal, answer: Some(Fallback) });
        burst(&mut a, 3, 6);
        assert_eq!(a.on_ack(seq(6), Normal).unwrap().answer, Some(Normal), "the next ask starts afresh");
    }

    #[test]
    fn a_lost_ask_is_no_answer_and_does_not_stall_the_next() {
        let mut a = Asker::new();
        assert_eq!(burst(&mut a, 0, 3), [2]);
        a.on_retransmission(seq(1), LEN);
        a.on_retransmission(seq(2), LEN);
        assert_eq!(a.on_ack(seq(3), Normal).unwrap().answer, None);
        assert_eq!(burst(&mut a, 3, 6), [5]);
        a.on_retransmission(seq(4), LEN);
        assert_eq!(a.on_ack(seq(6), Normal).unwrap().answer, Some(Normal), "another segment was lost, not the ask");
    }

    #[test]
    fn a_lost_ask_still_passes_on_a_command_that_came() {
        let mut a = Asker::new();
        burst(&mut a, 0, 3);
        a.on_retransmission(seq(2), LEN);
        assert_eq!(a.on_ack(seq(3), Freeze).unwrap().answer, Some(Freeze));
    }

    #[test]
    fn data_sent_before_is_a_retransmission_whatever_it_is_called() {
        let mut a = Asker::new();
        burst(&mut a, 0, 3);
        assert_eq!(a.on_data(seq(2), LEN, &out(1, false)), None);
        assert_eq!(a.on_ack(seq(3), Normal).unwrap().answer, None);
    }

    #[test]
    fn acks_without_data_outstanding_and_old_acks_answer_nothing() {
        let mut a = Asker::new();
        assert_eq!(a.on_ack(seq(0), Fallback), None);
        burst(&mut a, 0, 3);
        assert!(a.on_ack(seq(2), Normal).is_some());
        assert_eq!(a.on_ack(seq(1), Fallback), None, "older than the last");
        assert_eq!(a.on_ack(seq(9), Fallback), None, "nothing like that was sent");
        a.on_ack(seq(3), Normal);
        assert_eq!(a.on_ack(seq(3), Fallback), None);
    }

    proptest! {
        #[test]
        fn asking_never_stalls(
            windows in proptest::collection::vec((1u32..8, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let mut a = Asker::new();
            let mut n = 0;
            for (len, lost, early) in windows {
                prop_assert_eq!(burst(&mut a, n, n + len), [n + len - 1]);
                if early {
                    a.on_ack(seq(n + len - 1), Freeze);
                }
                if lost {
                    a.on_retransmission(seq(n + len - 1), LEN);
                }
                let heard = a.on_ack(seq(n + len), Normal).unwrap();
                let answer = if early { Some(Freeze) } else if lost { None } else { Some(Normal) };
                prop_assert_eq!(heard.answer, answer);
                n += len;
            }
        }
    }
}
