//! rLEDBAT (RFC 9840): a receiver that bounds the window it advertises by LEDBAT++, so that any sender's flow yields to
//! others.
//!
//! The receiver's window (RLWND) follows the rules of [`narrows_cc::algorithms::ledbat_pp`] with what a receiver can
//! measure:
//!
//! * **Round-trip times** (section 4.2.1): the time from the ACK that carried a TSval until the first data segment that
//!   echoes it. Later segments with the same echo may have waited at the sender and do not count.
//! * **Losses** (section 4.3): a segment below the highest octet received (RCV.HGH) whose TSval is newer than that of
//!   the segment with this octet (TSV.HGH) is a retransmission. RLWND is halved, at most once per round-trip time.
//! * **No shrinking** (section 4.1.1): the right edge of the window never moves left. A smaller RLWND takes effect
//!   while data arrives, within a round-trip time.
//! * **Window scale** (section 4.1.2): the shift is at most 11, so that RLWND has a granularity of about a segment. The
//!   advertised window is RLWND rounded up to a unit: rounded down, two segments would become one, whose ACK waits for
//!   the timer.
//!
//! Different from the RFC:
//!
//! * Retransmissions of data that is here already do not count, since nothing was lost. By the rule of section 4.3 they
//!   do.
//!
//! What the RFC leaves open:
//!
//! * A sender whose own window or application is the limit shows nothing about the path. RLWND then stops growing: in
//!   the last round trip at least half of it must have arrived.
//! * Without timestamps there is no RLWND, and the window is that of the buffer.

use crate::assist::WindowCap;
use crate::options::tick_before;
use narrows_cc::Window;
use narrows_cc::algorithms::ledbat_pp::window::{Delivery, LedbatPp, MIN_WINDOW, Settings};
use narrows_units::{Bytes, Duration, Instant};

/// Largest shift of the window field (RFC 9840, section 4.1.2): 2048 bytes per unit.
pub(crate) const MOST_SHIFT: u8 = 11;

/// A data segment that arrived, as rLEDBAT sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSegment {
    /// Offset of its first octet, and of the octet after its last.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Whether it brings octets that were not received before.
    pub(crate) new: bool,
    /// The sender's clock when it left (TSval).
    pub(crate) val: u32,
    /// This end's clock that it echoes (TSecr), and how long ago that was.
    pub(crate) echo: u32,
    pub(crate) rtt: Duration,
}

/// RLWND of a connection, and what it follows from.
#[derive(Debug)]
pub(crate) struct Rledbat {
    rules: LedbatPp,
    /// RLWND, and its slow-start threshold.
    win: Window,
    smss: Bytes,
    srtt: Option<Duration>,
    latest: Option<Duration>,
    /// The newest echo that gave a round-trip time.
    echoed: Option<u32>,
    /// RCV.HGH as an offset, and TSV.HGH.
    highest: Option<(i64, u32)>,
    /// Until when a further retransmission is of the same round trip as the last halving.
    halved: Instant,
    losses: u64,
    /// Bytes that arrived in the present round trip and in the one before, and when the present one ends.
    arrived: u64,
    before: u64,
    round_ends: Instant,
}

impl Rledbat {
    /// RLWND of two segments of `smss` bytes.
    pub(crate) fn new(smss: u64) -> Self {
        let smss = Bytes::new(smss);
        Self {
            rules: LedbatPp::new(Settings::default()),
            win: Window { cwnd: smss * MIN_WINDOW, ssthresh: None, pacing_rate: None },
            smss,
            srtt: None,
            latest: None,
            echoed: None,
            highest: None,
            halved: Instant::ZERO,
            losses: 0,
            arrived: 0,
            before: 0,
            round_ends: Instant::ZERO,
        }
    }

    /// Takes the size of a full segment, which the handshake has agreed on.
    pub(crate) fn start(&mut self, smss: u64) {
        self.smss = Bytes::new(smss);
        self.win.cwnd = self.smss * MIN_WINDOW;
    }

    /// The bound of the window whose field counts in units of `1 << shift` bytes.
    pub(crate) fn cap(&self, shift: u8) -> u64 {
        self.win.cwnd.as_u64().div_ceil(1 << shift) << shift
    }

    /// Takes a data segment before the receiver does.
    pub(crate) fn on_data(&mut self, data: &DataSegment, now: Instant) {
        self.measure(data, now);
        let resent = self.is_resent(data);
        if self.highest.is_none_or(|(end, _)| data.end > end) {
            self.highest = Some((data.end, data.val));
        }
        if !data.new {
            return;
        }
        let bytes = u64::try_from(data.end - data.start).unwrap_or(0);
        self.count(bytes, now);
        if resent {
            self.halve(now);
            return;
        }
        let delivery = Delivery {
            now,
            bytes: Bytes::new(bytes),
            smss: self.smss,
            srtt: self.srtt,
            may_grow: self.arrived.max(self.before).saturating_mul(2) >= self.win.cwnd.as_u64(),
        };
        self.rules.on_delivery(&delivery, &mut self.win);
    }

    /// Takes the round-trip time that the first segment with an echo shows.
    fn measure(&mut self, data: &DataSegment, now: Instant) {
        if self.echoed.is_some_and(|newest| !tick_before(newest, data.echo)) {
            return;
        }
        self.echoed = Some(data.echo);
        self.latest = Some(data.rtt);
        self.rules.sample(data.rtt, now);
        // 7/8 of the old value and 1/8 of the sample (RFC 6298).
        self.srtt = Some(self.srtt.map_or(data.rtt, |srtt| (srtt * 7 + data.rtt) / 8));
    }

    /// Whether a segment is a retransmission: below RCV.HGH, and sent after the segment that brought RCV.HGH.
    fn is_resent(&self, data: &DataSegment) -> bool {
        self.highest.is_some_and(|(end, val)| data.end <= end && tick_before(val, data.val))
    }

    /// Counts bytes that arrive, by round trips.
    fn count(&mut self, bytes: u64, now: Instant) {
        if now >= self.round_ends {
            let srtt = self.srtt.unwrap_or(Duration::ZERO);
            // After more than two round trips without data nothing was in use.
            self.before = if now < self.round_ends + srtt { self.arrived } else { 0 };
            self.arrived = 0;
            self.round_ends = now + srtt;
        }
        self.arrived += bytes;
    }

    /// Halves RLWND for a loss.
    fn halve(&mut self, now: Instant) {
        if now < self.halved {
            return;
        }
        let reduced = self.rules.reduced(self.smss, &self.win);
        self.win.ssthresh = Some(reduced);
        self.win.cwnd = self.win.cwnd.min(reduced);
        self.rules.on_reduced(now, self.srtt);
        self.halved = now + self.srtt.unwrap_or(Duration::ZERO);
        self.losses += 1;
    }

    /// Reports the variables of [`narrows_settings::RLEDBAT_VARIABLES`]; `offered` is the advertised window in bytes.
    pub(crate) fn state(&self, offered: u64, visit: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
        visit("stage", f64::from(self.rules.stage() as u8));
        visit("window", self.win.cwnd.as_f64());
        visit("ssthresh", self.win.ssthresh.map_or(f64::NAN, Bytes::as_f64));
        visit("offered", offered as f64);
        visit("rtt", seconds(self.latest));
        visit("base_rtt", seconds(self.rules.base()));
        visit("queuing_delay", seconds(self.rules.queuing()));
        visit("gain", self.rules.gain());
        visit("slowdowns", self.rules.slowdowns() as f64);
        visit("slowdown_time", self.rules.lasted().as_secs_f64());
        visit("losses", self.losses as f64);
    }
}

impl super::Receiver {
    fn rledbat(&self) -> Option<&Rledbat> {
        self.unusual.as_ref().and_then(|unusual| unusual.rledbat.as_ref())
    }

    /// Whether the window follows rLEDBAT.
    #[inline]
    pub(crate) fn has_rledbat(&self) -> bool {
        self.rledbat().is_some()
    }

    /// Starts rLEDBAT with what the handshake agreed on; without timestamps it cannot measure and ends.
    pub(crate) fn start_rledbat(&mut self, smss: u64, timestamps: bool) {
        if let Some(unusual) = &mut self.unusual {
            match &mut unusual.rledbat {
                Some(rledbat) if timestamps => rledbat.start(smss),
                _ => unusual.rledbat = None,
            }
        }
        self.field = None;
    }

    /// Gives a data segment to rLEDBAT.
    pub(crate) fn on_data_of_rledbat(&mut self, data: &DataSegment, now: Instant) {
        let Some(rledbat) = self.unusual.as_mut().and_then(|unusual| unusual.rledbat.as_mut()) else { return };
        let new = data.end > self.nxt as i64
            && self.waiting.as_ref().is_none_or(|held| {
                let start = data.start.max(self.nxt as i64) as u64;
                held.overlap(start, data.end as u64).is_none_or(|(from, to)| from > start || to < data.end as u64)
            });
        rledbat.on_data(&DataSegment { new, ..*data }, now);
        self.field = None;
    }

    /// Reports what rLEDBAT keeps.
    pub(crate) fn rledbat_state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Some(rledbat) = self.rledbat() {
            rledbat.state(self.offered_window(), visit);
        }
    }

    /// The least bound of the window: that of a scheme, and RLWND.
    pub(super) fn bound(&self) -> Option<u64> {
        let cap: Option<WindowCap> = self.cap.as_deref().copied();
        let scheme = cap.map(|cap| cap.bytes.as_u64());
        let own = self.rledbat().map(|rledbat| rledbat.cap(self.shift));
        match (scheme, own) {
            (Some(scheme), Some(own)) => Some(scheme.min(own)),
            (bound, None) | (None, bound) => bound,
        }
    }
}
