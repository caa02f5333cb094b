//! Which ACK of a Linux receiver leaves at once, and how long the others wait.
//!
//! A connection begins with up to 16 quick ACKs, one per segment, because the sender's slow start waits for them. After
//! that an ACK is due for more than one full segment, or after a delay, `ato`, that follows the interval between
//! segments. Quick ACKs begin again after old data, an ECN mark and a gap of more than an RTO; each step by which the
//! window grows makes the next ACK a quick one.
//!
//! Sources: `tcp_event_data_recv`, `tcp_incr_quickack`, `tcp_enter_quickack_mode`, `tcp_in_quickack_mode`,
//! `tcp_dec_quickack_mode`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler` and `tcp_event_data_sent` of Linux 6.1.
//! The kernel counts these times in ticks of 1 to 10 ms; here they are exact.

use super::peer_mss::{MAX_QUICK_ACKS, Note};
use narrows_units::{Duration, Instant};

/// Longest delay (`HZ / 2`).
const LONGEST: Duration = Duration::from_millis(500);
/// Longest delay in an interactive session, or after a pushed or small segment (`TCP_DELACK_MAX`, also the bound of a
/// socket, `icsk_delack_max`).
const SHORT: Duration = Duration::from_millis(200);

/// When a delayed ACK leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The delay is almost over.
    Now,
    /// At this time.
    At(Instant),
}

/// The ACK timing of a Linux receiver.
#[derive(Debug)]
pub(crate) struct QuickAck {
    /// ACKs that may still leave at once (`icsk_ack.quick`).
    quick: u32,
    /// Whether data arrived that no segment has acknowledged (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// Whether the session is interactive (`icsk_ack.pingpong`).
    pingpong: bool,
    /// Whether a pushed or small segment arrived since the last ACK, and a second one (`ICSK_ACK_PUSHED`,
    /// `ICSK_ACK_PUSHED2`).
    pushed: [bool; 2],
    /// Whether a segment with an ECN codepoint has arrived (`TCP_ECN_SEEN`).
    ect_seen: bool,
    /// The adaptive delay (`icsk_ack.ato`); zero before the first data.
    ato: Duration,
    /// Its floor (`TCP_ATO_MIN`, `TCP_DELACK_MIN`: 40 ms).
    least: Duration,
    /// When data came last (`icsk_ack.lrcvtime`).
    last: Instant,
}

impl QuickAck {
    /// State of a connection that is not established; `least` is the shortest delay.
    pub(crate) fn new(least: Duration) -> Self {
        let (quick, ato, last) = (0, Duration::ZERO, Instant::ZERO);
        Self { quick, scheduled: false, pingpong: false, pushed: [false; 2], ect_seen: false, ato, least, last }
    }

    /// The connection is established.
    pub(crate) fn establish(&mut self, now: Instant) {
        self.last = now;
    }

    /// Data in order arrived; `quota` is how many ACKs the window allows to leave at once.
    pub(crate) fn on_data(&mut self, quota: u32, rto: Duration, now: Instant) {
        self.scheduled = true;
        let half = self.least / 2;
        let gap = now.since(self.last);
        if self.ato.is_zero() {
            self.quick = self.quick.max(quota);
            self.ato = self.least;
        } else if gap <= half {
            self.ato = self.ato / 2 + half;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            self.quick = self.quick.max(quota);
        }
        self.last = now;
    }

    /// Data arrived that is not in order: an ACK is due.
    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// The peer's FIN arrived: the program will probably answer by closing (`tcp_fin`).
    pub(crate) fn on_fin(&mut self) {
        (self.scheduled, self.pingpong) = (true, true);
    }

    /// Takes what a segment shows about the peer's application.
    pub(crate) fn on_push(&mut self, note: Note) {
        match note {
            Note::Nothing => {}
            Note::Pushed => self.pushed[0] = true,
            Note::Small => self.pushed = [true, self.pushed[0]],
        }
    }

    /// Old data, or data outside the window, arrived: the sender may have lost our ACKs.
    pub(crate) fn on_old_data(&mut self, quota: u32) {
        self.scheduled = true;
        self.enter(quota.min(MAX_QUICK_ACKS));
    }

    /// Takes a segment's ECN codepoint; `first_mark` is whether it is the first CE mark to be echoed.
    pub(crate) fn on_ecn(&mut self, ect: bool, first_mark: bool, quota: u32) {
        // A segment without a codepoint after others with one is probably a retransmission.
        if first_mark || (!ect && self.ect_seen) {
            self.enter(quota.min(2));
        }
        self.ect_seen |= ect;
    }

    fn enter(&mut self, quota: u32) {
        self.quick = self.quick.max(quota);
        self.pingpong = false;
        self.ato = self.least;
    }

    /// Makes the next ACK a quick one, because the window grew and the sender should know.
    pub(crate) fn nudge(&mut self) {
        self.quick |= 1;
    }

    /// Ends quick ACKs, because the buffer fills and they would speed up the sender.
    pub(crate) fn exhaust(&mut self) {
        self.quick = 0;
    }

    /// Whether each segment is acknowledged at once.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// Whether the ACK leaves at once when the application has read everything (`tcp_cleanup_rbuf`).
    pub(crate) fn is_due_when_read(&self) -> bool {
        self.scheduled && (self.pushed[1] || (self.pushed[0] && !self.pingpong))
    }

    /// The adaptive delay; zero before the first data.
    pub(crate) fn ack_delay(&self) -> Duration {
        self.ato
    }

    /// Whether data waits for an ACK.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// When the waiting ACK leaves; `pending` is the deadline of an ACK that waits already.
    pub(crate) fn delay(&self, pending: Instant, srtt: Option<Duration>, now: Instant) -> Due {
        let mut ato = self.ato;
        if ato > self.least {
            let mut most = if self.pingpong || self.pushed[0] { SHORT } else { LONGEST };
            if let Some(srtt) = srtt {
                most = most.min(srtt.max(self.least));
            }
            ato = ato.min(most);
        }
        let ato = ato.min(SHORT.max(self.least));
        if pending == Instant::NEVER {
            return Due::At(now + ato);
        }
        if pending <= now + ato / 4 { Due::Now } else { Due::At(pending.min(now + ato)) }
    }

    /// The delay ran out.
    pub(crate) fn on_timeout(&mut self, rto: Duration) {
        if self.pingpong {
            (self.pingpong, self.ato) = (false, self.least);
        } else {
            self.ato = (self.ato * 2).min(rto);
        }
    }

    /// A segment with an ACK leaves.
    pub(crate) fn on_ack_sent(&mut self) {
        if self.quick > 0 {
            let used = u32::from(self.scheduled);
            if used >= self.quick {
                self.ato = self.least;
            }
            self.quick = self.quick.saturating_sub(used);
        }
        (self.scheduled, self.pushed) = (false, [false; 2]);
    }

    /// Notes that a segment with data leaves; soon after data came, it is probably an answer.
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.pingpong |= now.since(self.last) < self.ato;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(240);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }

    fn fresh() -> QuickAck {
        let mut quick = QuickAck::new(ms(40));
        quick.establish(at(0));
        quick
    }

    #[test]
    fn the_first_sixteen_segments_are_acknowledged_at_once() {
        let mut quick = fresh();
        for n in 0..20u64 {
            quick.on_data(16, RTO, at(n));
            assert_eq!(quick.is_quick(), n < 16, "{n}");
            quick.on_ack_sent();
        }
    }

    #[test]
    fn an_ack_that_answers_no_data_uses_no_quick_ack_up() {
        let mut quick = fresh();
        quick.on_data(2, RTO, at(0));
        quick.on_ack_sent();
        quick.on_ack_sent();
        assert!(quick.is_quick());
    }

    #[test]
    fn the_delay_follows_the_interval_of_segments() {
        let mut quick = fresh();
        quick.on_data(0, RTO, at(0));
        assert_eq!(quick.delay(Instant::NEVER, None, at(0)), Due::At(at(40)));
        // Each expiry doubles the delay, up to the RTO; the round-trip time bounds the delay in use.
        for expected in [80, 160, 200] {
            quick.on_timeout(RTO);
            assert_eq!(quick.delay(Instant::NEVER, None, at(0)), Due::At(at(expected)));
        }
        assert_eq!(quick.delay(Instant::NEVER, Some(ms(60)), at(0)), Due::At(at(60)));
        assert_eq!(quick.delay(Instant::NEVER, Some(ms(6)), at(0)), Due::At(at(40)));
        // 30 ms between segments: half of the old value, plus the interval.
        quick.on_data(0, RTO, at(30));
        assert_eq!(quick.ato, ms(150));
        quick.on_data(0, RTO, at(31));
        assert_eq!(quick.ato, ms(95), "below 20 ms it goes towards 40");
    }

    #[test]
    fn a_deadline_that_is_near_is_not_waited_for() {
        let mut quick = fresh();
        quick.on_data(0, RTO, at(0));
        assert_eq!(quick.delay(at(40), None, at(29)), Due::At(at(40)));
        assert_eq!(quick.delay(at(40), None, at(30)), Due::Now);
    }

    #[test]
    fn a_gap_of_more_than_an_rto_and_old_data_begin_quick_acks_again() {
        let mut quick = fresh();
        quick.on_data(1, RTO, at(0));
        quick.on_ack_sent();
        quick.on_data(16, RTO, at(240));
        assert!(!quick.is_quick());
        quick.on_data(16, RTO, at(481));
        assert!(quick.is_quick());
        quick.exhaust();
        quick.on_old_data(16);
        assert_eq!(quick.quick, 16);
    }

    #[test]
    fn a_mark_is_worth_two_quick_acks_and_so_is_a_retransmission_without_codepoint() {
        let mut quick = fresh();
        quick.on_ecn(false, false, 16);
        assert!(!quick.is_quick());
        quick.on_ecn(true, true, 16);
        assert_eq!(quick.quick, 2);
        quick.exhaust();
        quick.on_ecn(true, false, 16);
        assert!(!quick.is_quick());
        quick.on_ecn(false, false, 16);
        assert_eq!(quick.quick, 2);
    }

    #[test]
    fn an_answer_soon_after_data_ends_quick_acks_until_a_delay_runs_out() {
        let mut quick = fresh();
        quick.on_data_sent(at(0));
        quick.on_data(16, RTO, at(0));
        assert!(quick.is_quick(), "nothing had come before");
        quick.on_data_sent(at(10));
        assert!(!quick.is_quick());
        quick.on_timeout(RTO);
        assert!(quick.is_quick());
    }

    #[test]
    fn a_small_segment_is_answered_for_when_it_is_read() {
        let mut quick = fresh();
        quick.on_data(0, RTO, at(0));
        assert!(!quick.is_due_when_read());
        quick.on_push(Note::Small);
        assert!(quick.is_due_when_read());
        quick.on_data_sent(at(0));
        assert!(!quick.is_due_when_read(), "an answer may carry it");
        quick.on_push(Note::Small);
        assert!(quick.is_due_when_read(), "not for two");
        quick.on_ack_sent();
        assert!(!quick.is_due_when_read());
    }
}
