//! How much new data leaves together, and whether the sender waits for more.

use super::Connection;
use crate::linux::gso::{self, Batch, Deferred, Ready, Unfull};
use crate::linux::write_queue::{Cut, Head};
use crate::pacer::{is_below_by_ratio, rate_by_ratio};
use crate::recovery::{Next, Room};
use crate::sender::Fresh;
use narrows_cc::{Phase, Window};
use narrows_units::{Duration, Instant, Rate};

/// Linux's percentages of the window that leave per round-trip time (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATIO: (u32, u32) = (200, 120);

impl Connection {
    /// The next new data, as far as the peer's window and Nagle's algorithm allow some of it (`tcp_snd_wnd_test`,
    /// `tcp_nagle_test`),
    /// and the buffer that it begins.
    pub(super) fn fresh_together(&mut self) -> (Fresh, Option<Head>) {
        if self.tx.overridden {
            return (self.tx.fresh(self.smss, self.holds_small()), None);
        }
        let room = self.tx.edge.saturating_sub(self.tx.nxt);
        let Some(head) = self.head_of(1) else {
            let fresh = match (self.tx.fin_waits(), room) {
                (false, _) => Fresh::Nothing,
                (true, 0) => Fresh::Blocked,
                (true, _) => Fresh::Segment { len: 0, fin: true },
            };
            return (fresh, None);
        };
        let fin = head.last && self.tx.fin_waits();
        let len = head.octets.min(self.smss);
        let whole = head.octets <= self.smss;
        let held = whole && !fin && head.last && self.nagle_holds(head.octets < self.smss);
        if room < len || held {
            return (Fresh::Blocked, None);
        }
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        (Fresh::Segment { len, fin: fin && whole }, Some(head))
    }

    /// The buffer at the head of the write queue, grown to `segments` if there is so much.
    fn head_of(&mut self, segments: u32) -> Option<Head> {
        let (nxt, smss) = (self.tx.nxt, self.smss);
        let max_window = self.tx.max_window();
        let cut = Cut { smss, max_window };
        let queue = &mut self.gso.as_mut()?.queue;
        let head = queue.head(nxt, &cut)?;
        let wanted = u64::from(segments) * smss;
        if head.octets >= wanted || head.last || head.record {
            return Some(head);
        }
        queue.grow(nxt, wanted);
        queue.head(nxt, &cut)
    }

    /// Whether Nagle's algorithm, in Minshall's variant, holds back a segment that is `partial` (`tcp_nagle_check`).
    fn nagle_holds(&self, partial: bool) -> bool {
        let small = self.gso.as_ref().is_some_and(|gso| gso.small_outstanding(self.tx.una));
        let small = small && !self.tx.board.is_empty();
        partial && self.socket.as_ref().map_or(self.config.nagle && small, |socket| socket.hold.holds(small))
    }

    /// Most segments of a super-packet (`tcp_tso_segs`).
    pub(super) fn burst_limit(&self) -> u32 {
        let win = Window { cwnd: self.cwnd(), ..self.congestion.win };
        let burst = self.config.burst;
        let burst = win.pacing_rate.map_or(burst, |rate| gso::paced(rate, burst));
        gso::segments(self.rate_of(&win), self.smss, self.rtt.min(), &burst)
    }

    /// The rate of a window (`sk_pacing_rate`), whether or not it paces the sender.
    #[inline]
    pub(super) fn rate_of(&self, win: &Window) -> Option<Rate> {
        let by_window = || {
            let srtt = self.rto.srtt()?;
            rate_by_ratio(RATIO, win, self.tx.board.flight(), self.smss, srtt)
        };
        self.pacer.rate(win).or_else(by_window)
    }

    /// Whether `octets` are at least those of [`burst_limit`](Self::burst_limit).
    #[inline(never)]
    fn is_full(&self, octets: u64) -> bool {
        let win = Window { cwnd: self.cwnd(), ..self.congestion.win };
        let burst = self.config.burst;
        let burst = win.pacing_rate.map_or(burst, |rate| gso::paced(rate, burst));
        gso::is_full(octets, self.smss, self.rtt.min(), &burst, |most| match (self.pacer.rate(&win), self.rto.srtt()) {
            (Some(rate), _) => rate < most,
            (None, Some(srtt)) => is_below_by_ratio(RATIO, &win, self.tx.board.flight(), self.smss, srtt, most),
            (None, None) => false,
        })
    }

    /// Whether `octets` are known to be less than that, without computing it.
    #[inline(always)]
    fn is_unfull(&self, octets: u64) -> bool {
        let (Some(srtt), Some(gso)) = (self.rto.srtt(), &self.gso) else { return false };
        let by_ratio = self.pacer.rate(&self.congestion.win).is_none();
        by_ratio && gso.unfull.holds(octets, self.smss, self.cwnd().as_u64(), srtt, &self.config.burst)
    }

    /// Notes what [`is_unfull`](Self::is_unfull) knows from now on.
    #[inline(never)]
    fn note_unfull(&mut self) {
        let cwnd = self.cwnd().as_u64();
        if let (Some(srtt), Some(gso)) = (self.rto.srtt(), &mut self.gso) {
            gso.unfull = Unfull::by_ratio(RATIO.0.min(RATIO.1), cwnd, srtt);
        }
    }

    /// What of the new data leaves together now, of which recovery allows a segment; or why the sender waits.
    #[inline]
    pub(super) fn batch(
        &mut self,
        (fresh, head): (Fresh, Option<Head>),
        next: Next,
        now: Instant,
    ) -> Result<Batch, Deferred> {
        let Fresh::Segment { len, fin } = fresh else { return Err(Deferred::Otherwise) };
        // The FIN alone, or what the override timer lets go.
        let Some(mut head) = head else { return Ok(Batch { octets: u64::from(len), push: len > 0, fin }) };
        let mut quota = None;
        if !head.last && head.octets < self.cwnd().as_u64().saturating_sub(self.tx.board.pipe()) {
            let segments = self.quota();
            (quota, head) = (Some(segments), self.grown(head, segments));
        }
        if head.octets > self.smss
            && !matches!(next, Next::Probe(_))
            && !self.gso.as_ref().is_some_and(|gso| gso.eager)
            && let Some(deferred) = self.deferred(&head, now)
        {
            return Err(deferred);
        }
        let quota = quota.unwrap_or_else(|| self.quota());
        let head = self.grown(head, quota);
        let (smss, octets) = (self.smss, head.octets);
        let send_room = self.tx.edge.saturating_sub(self.tx.nxt);
        let most = u64::from(quota) * smss;
        let sent = match octets {
            _ if octets <= smss => octets,
            _ => gso::split_point(octets, head.last, (most, smss), send_room, || self.nagle_holds(true)),
        };
        let whole = sent == octets;
        let fin = head.last && self.tx.fin_waits();
        Ok(Batch { octets: sent, push: whole && head.push, fin: whole && fin && send_room > sent })
    }

    /// The buffer at the head of the write queue, grown by the next one if it has less than `segments`.
    #[inline]
    fn grown(&mut self, head: Head, segments: u32) -> Head {
        if head.octets >= u64::from(segments) * self.smss || head.last || head.record {
            return head;
        }
        self.head_of(segments).unwrap_or(head)
    }

    /// Whether the sender waits for room to send more of its buffers together, of which `head` is the first.
    #[inline(always)]
    pub(super) fn deferred(&mut self, head: &Head, now: Instant) -> Option<Deferred> {
        let ready = self.ready(head, now);
        let unfull = self.is_unfull(ready.room());
        let deferred = ready.deferred(|octets| !unfull && self.is_full(octets));
        if !unfull && deferred.is_some() {
            self.note_unfull();
        }
        deferred
    }

    /// The sender as [`Ready`] describes it, with `head` to send.
    #[inline(always)]
    fn ready(&self, head: &Head, now: Instant) -> Ready {
        let cwnd = self.cwnd().as_u64();
        Ready {
            repairs: matches!(self.phase(), Phase::Recovery | Phase::Loss),
            octets: head.octets,
            last: head.last,
            complete: head.record || (head.last && self.tx.fin_waits()),
            send_room: self.tx.edge.saturating_sub(self.tx.nxt),
            cwnd_room: cwnd.saturating_sub(self.tx.board.pipe()),
            window: self.tx.window().min(cwnd),
            win_divisor: self.config.burst.win_divisor,
            smss: self.smss,
            stamp: self.tx.last_sent.max(self.pacer.due()),
            head_sent: self.tx.board.head().map(|head| head.sent_at),
            srtt: self.rto.srtt().unwrap_or(Duration::ZERO),
            now,
        }
    }

    /// Segments of new data that leave together, of which recovery allows one.
    #[inline]
    pub(super) fn quota(&mut self) -> u32 {
        let (cwnd, smss) = (self.cwnd().as_u64(), self.smss);
        let by_pipe = gso::quota(cwnd, self.tx.board.pipe(), smss);
        if by_pipe <= 1 {
            return 1;
        }
        let by_pipe = by_pipe.min(self.burst_limit());
        let room = Room { cwnd, new: u64::from(by_pipe) * smss };
        if by_pipe == 1 || matches!(self.recovery.next(&mut self.tx.board, &room), Next::New) {
            return by_pipe;
        }
        self.quota_of_recovery(by_pipe)
    }

    /// The same where recovery does not go by the pipe, so that `by_pipe` are too many: it may count all that is not
    /// acknowledged.
    #[cold]
    fn quota_of_recovery(&mut self, by_pipe: u32) -> u32 {
        let (cwnd, smss) = (self.cwnd().as_u64(), self.smss);
        let (mut most, mut least) = (by_pipe, 1);
        while least + 1 < most {
            let middle = least.midpoint(most);
            let room = Room { cwnd, new: u64::from(middle) * smss };
            let fits = matches!(self.recovery.next(&mut self.tx.board, &room), Next::New);
            if fits { least = middle } else { most = middle }
        }
        least
    }
}
