//! When a station may send: carrier sense, interframe spaces, backoff (IEEE 802.11-2016, sections 10.3.2 to 10.3.4).
//!
//! Slots have no events. While the medium is idle, the time of the next access is computed: the start of the idle time,
//! plus the interframe space, plus the remaining slots. When the medium becomes busy, the elapsed slots are subtracted,
//! which is the standard's freezing of the backoff.

use narrows_rng::Stream;
use narrows_units::{Duration, Instant};

/// A station's access to the medium.
#[derive(Debug)]
pub(crate) struct Access {
    slot: Duration,
    difs: Duration,
    eifs: Duration,
    cw_min: u32,
    cw_max: u32,
    /// Contention window: a backoff is uniform in 0 to this.
    cw: u32,
    /// Slots left to count; `None` if no backoff is due.
    slots: Option<u32>,
    /// When the backoff was drawn: slots before that do not count.
    drawn: Instant,
    /// Since when the station senses no energy; `NEVER` while it does.
    idle_since: Instant,
    /// End of the network allocation vector.
    nav: Instant,
    /// Idle time before slots count: DIFS, or EIFS after a frame that was not understood.
    ifs: Duration,
}

impl Access {
    pub(crate) fn new(slot: Duration, difs: Duration, eifs: Duration, cw_min: u32, cw_max: u32) -> Self {
        Self {
            slot,
            difs,
            eifs,
            cw_min,
            cw_max,
            cw: cw_min,
            slots: None,
            drawn: Instant::ZERO,
            idle_since: Instant::ZERO,
            nav: Instant::ZERO,
            ifs: difs,
        }
    }

    /// Whether the medium is busy, by carrier sense or by the NAV.
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.idle_since == Instant::NEVER || self.nav > now
    }

    /// Whether the NAV reserves the medium.
    pub(crate) fn is_reserved(&self, now: Instant) -> bool {
        self.nav > now
    }

    /// When slots begin to count; `NEVER` while energy is sensed.
    fn begin(&self) -> Instant {
        if self.idle_since == Instant::NEVER {
            return Instant::NEVER;
        }
        let idle = self.idle_since.max(self.nav) + self.ifs;
        if self.slots.is_some() { idle.max(self.drawn) } else { idle }
    }

    /// When the station may send, if the medium stays as it is; this may be in the past.
    pub(crate) fn grant(&self) -> Instant {
        let begin = self.begin();
        match self.slots {
            Some(slots) if begin != Instant::NEVER => {
                begin + Duration::from_nanos(self.slot.as_nanos() * u64::from(slots))
            }
            _ => begin,
        }
    }

    /// Energy appears at `now`: the backoff freezes.
    pub(crate) fn on_busy(&mut self, now: Instant) {
        if let Some(slots) = self.slots {
            let begin = self.begin();
            if begin < now {
                let counted = now.since(begin).as_nanos() / self.slot.as_nanos();
                let left = u64::from(slots).saturating_sub(counted);
                self.slots = (left > 0).then_some(left as u32);
            }
        }
        self.idle_since = Instant::NEVER;
    }

    /// Energy is gone at `now`.
    pub(crate) fn on_idle(&mut self, now: Instant) {
        self.idle_since = now;
    }

    /// A frame ended that was understood: DIFS applies.
    pub(crate) fn understood(&mut self) {
        self.ifs = self.difs;
    }

    /// A frame ended that was not understood: EIFS applies until a frame is understood.
    pub(crate) fn not_understood(&mut self) {
        self.ifs = self.eifs;
    }

    /// A frame for another station reserves the medium until `end`; the NAV is never shortened.
    pub(crate) fn reserve(&mut self, end: Instant) {
        self.nav = self.nav.max(end);
    }

    /// Draws a backoff from the current contention window.
    pub(crate) fn draw(&mut self, now: Instant, stream: &mut Stream) {
        self.slots = Some(stream.below(u64::from(self.cw) + 1) as u32);
        self.drawn = now;
    }

    /// Whether a backoff is in progress; one that has ended by `now` is discarded first.
    pub(crate) fn backs_off(&mut self, now: Instant) -> bool {
        if self.slots.is_some() && self.grant() <= now {
            self.slots = None;
        }
        self.slots.is_some()
    }

    /// The station sends the frame that it contended for: the backoff is used up.
    pub(crate) fn granted(&mut self) {
        self.slots = None;
    }

    /// Widens the window after a failed attempt, to the next of the series 2^k - 1.
    pub(crate) fn widen(&mut self) {
        self.cw = (self.cw.saturating_mul(2).saturating_add(1)).min(self.cw_max);
    }

    /// Resets the window after a success, or when a frame is given up.
    pub(crate) fn reset(&mut self) {
        self.cw = self.cw_min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(n)
    }

    fn access() -> Access {
        Access::new(Duration::from_micros(20), Duration::from_micros(50), Duration::from_micros(364), 31, 1023)
    }

    #[test]
    fn an_idle_medium_is_free_after_difs() {
        let mut a = access();
        a.on_idle(us(100));
        assert_eq!(a.grant(), us(150));
        a.on_busy(us(120));
        assert_eq!(a.grant(), Instant::NEVER);
    }

    #[test]
    fn slots_that_went_by_are_not_counted_again() {
        let mut a = access();
        a.slots = Some(10);
        a.on_idle(us(1000));
        assert_eq!(a.grant(), us(1250));
        // The count begins at 1050; at 1115 three whole slots have elapsed.
        a.on_busy(us(1115));
        a.on_idle(us(2000));
        assert_eq!(a.grant(), us(2000 + 50 + 140));
        // A busy time within DIFS costs no slot.
        a.on_busy(us(2030));
        a.on_idle(us(3000));
        assert_eq!(a.grant(), us(3190));
    }

    #[test]
    fn the_nav_counts_as_busy_and_is_never_shortened() {
        let mut a = access();
        a.on_busy(us(10));
        a.reserve(us(500));
        a.reserve(us(300));
        a.on_idle(us(100));
        assert!(a.is_busy(us(499)) && !a.is_busy(us(500)));
        assert_eq!(a.grant(), us(550));
    }

    #[test]
    fn eifs_rules_until_a_frame_is_understood() {
        let mut a = access();
        a.on_busy(us(0));
        a.not_understood();
        a.on_idle(us(100));
        assert_eq!(a.grant(), us(464));
        a.on_busy(us(200));
        a.understood();
        a.on_idle(us(300));
        assert_eq!(a.grant(), us(350));
    }

    #[test]
    fn a_backoff_drawn_on_an_idle_medium_counts_from_then() {
        let mut a = access();
        a.on_idle(us(0));
        a.cw = 0;
        a.draw(us(1000), &mut Stream::new(1, 0, "s", "backoff"));
        assert_eq!(a.grant(), us(1000));
        a.slots = Some(2);
        assert_eq!(a.grant(), us(1040));
    }

    #[test]
    fn the_window_doubles_up_to_its_bound() {
        let mut a = access();
        let series: Vec<u32> = (0..7)
            .map(|_| {
                a.widen();
                a.cw
            })
            .collect();
        assert_eq!(series, [63, 127, 255, 511, 1023, 1023, 1023]);
        a.reset();
        assert_eq!(a.cw, 31);
    }

    #[test]
    fn backoffs_are_uniform_over_the_window() {
        let (mut a, mut stream) = (access(), Stream::new(1, 0, "s", "backoff"));
        let mut counts = [0_u32; 32];
        for _ in 0..64_000 {
            a.draw(us(0), &mut stream);
            counts[a.slots.unwrap_or(99) as usize] += 1;
        }
        // 2000 expected each, standard deviation 44.
        assert!(counts.iter().all(|&c| (1800..2200).contains(&c)), "{counts:?}");
    }
}
