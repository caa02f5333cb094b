//! Pauses and rate limits that the steps of a timeline put on an application.
//!
//! A paused application writes nothing, and what it wrote and its connection has not sent is withdrawn where it offers
//! all that it has at once: a bulk transfer, and an on/off application without a rate. Other applications have written
//! only what they were to send by then, and the connection still sends it.

use super::Source;
use crate::act::Act;
use narrows_scenario::Traffic;
use narrows_units::{Bytes, Instant, Rate, Serialiser};

/// What steps ask of an application.
#[derive(Debug)]
pub(super) struct Control {
    paused: bool,
    /// Whether the application was to be woken while it was paused.
    missed: bool,
    /// Whether what was withdrawn is to be offered again.
    offers: bool,
    bulk: Option<Bulk>,
}

/// A bulk transfer that steps may stop and slow down.
#[derive(Debug)]
struct Bulk {
    endless: bool,
    /// Bytes that are not written; without meaning for one without end.
    left: Bytes,
    /// Rate of its writes; `None` for all at once.
    rate: Option<Rate>,
    /// Bytes per write at a rate.
    write: Bytes,
    pace: Serialiser,
    /// Whether an endless transfer has offered all.
    offered: bool,
}

impl Bulk {
    /// Writes what is due now; returns when the next write is.
    fn wake(&mut self, now: Instant) -> (Act, Instant) {
        match (self.rate, self.endless) {
            (None, true) if self.offered => (Act::Nothing, Instant::NEVER),
            (None, true) => {
                self.offered = true;
                (Act::Write(Bytes::MAX), Instant::NEVER)
            }
            (Some(rate), true) => (Act::Write(self.write), now + self.pace.time_for(self.write, rate)),
            (_, false) if self.left.is_zero() => (Act::Nothing, Instant::NEVER),
            (None, false) => (Act::Write(core::mem::take(&mut self.left)), Instant::NEVER),
            (Some(rate), false) => {
                let bytes = self.write.min(self.left);
                self.left -= bytes;
                let next = if self.left.is_zero() { Instant::NEVER } else { now + self.pace.time_for(bytes, rate) };
                (Act::Write(bytes), next)
            }
        }
    }
}

impl Control {
    fn new(traffic: &Traffic) -> Self {
        let bulk = match traffic {
            Traffic::Bulk { size } => Some(Bulk {
                endless: size.is_none(),
                left: size.unwrap_or_default(),
                rate: None,
                write: Bytes::ZERO,
                pace: Serialiser::default(),
                offered: false,
            }),
            _ => None,
        };
        Self { paused: false, missed: false, offers: false, bulk }
    }

    /// What the application does instead of what it would; `None` if it does as it would.
    pub(super) fn wake(&mut self, now: Instant) -> Option<(Act, Instant)> {
        if self.paused {
            self.missed = true;
            return Some((Act::Nothing, Instant::NEVER));
        }
        self.bulk.as_mut().map(|bulk| bulk.wake(now))
    }

    /// Whether what was withdrawn is to be offered again now; asked once after a pause.
    pub(super) fn take_offer(&mut self) -> bool {
        core::mem::take(&mut self.offers)
    }
}

impl Source {
    /// Lets steps pause the application, and limit the rate of a bulk transfer. Called before the application is first
    /// woken. A bulk transfer of bounded size then does not close by itself: the caller closes once all is
    /// [written](Self::has_written_all) and sent.
    pub fn allow_control(&mut self) {
        self.control = Some(Box::new(Control::new(&self.traffic)));
    }

    /// Stops the application: it writes nothing until [`resume`](Self::resume). Returns whether the caller withdraws
    /// what was not sent, and reports it by [`take_back`](Self::take_back).
    pub fn pause(&mut self) -> bool {
        let withdraws = matches!(self.traffic, Traffic::Bulk { .. } | Traffic::OnOff { rate: None, .. });
        self.control.as_mut().is_some_and(|control| {
            control.paused = true;
            withdraws
        })
    }

    /// Takes back bytes that were written and have been withdrawn.
    pub fn take_back(&mut self, bytes: Bytes) {
        let Some(control) = &mut self.control else { return };
        control.offers = true;
        if let Some(bulk) = &mut control.bulk {
            bulk.offered = false;
            if !bulk.endless {
                bulk.left += bytes;
            }
        }
    }

    /// Lets the application go on at `now`; returns when it wants to be woken, besides the time that it asked for.
    pub fn resume(&mut self, now: Instant) -> Instant {
        let Some(control) = &mut self.control else { return Instant::NEVER };
        control.paused = false;
        let missed = core::mem::take(&mut control.missed);
        if missed || control.offers || control.bulk.is_some() { now } else { Instant::NEVER }
    }

    /// Limits a bulk transfer to this rate, in writes of `write` bytes, or ends the limit; returns when it wants to be
    /// woken. The caller withdraws what was not sent, and reports it by [`take_back`](Self::take_back). Other
    /// applications keep their rates.
    pub fn limit(&mut self, rate: Option<Rate>, write: Bytes, now: Instant) -> Instant {
        let Some(Control { bulk: Some(bulk), .. }) = self.control.as_deref_mut() else { return Instant::NEVER };
        (bulk.rate, bulk.write) = (rate, write.max(Bytes::new(1)));
        bulk.pace = Serialiser::default();
        now
    }

    /// Whether a bulk transfer of bounded size that steps may pause has written all.
    #[must_use]
    pub fn has_written_all(&self) -> bool {
        let bulk = self.control.as_ref().and_then(|control| control.bulk.as_ref());
        bulk.is_some_and(|bulk| !bulk.endless && bulk.left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Datagram;
    use super::*;
    use narrows_rng::Stream;
    use narrows_scenario::Distribution;
    use narrows_units::Duration;

    fn source(traffic: Traffic) -> Source {
        let mut source = Source::new(traffic, Stream::new(1, 0, "flow", "app"), Datagram::default(), None);
        source.allow_control();
        source
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    const NEVER: Instant = Instant::NEVER;
    const WRITE: Bytes = Bytes::new(1000);

    #[test]
    fn a_bounded_transfer_writes_its_size_whatever_pauses_it() {
        let mut app = source(Traffic::Bulk { size: Some(Bytes::new(10_000)) });
        assert_eq!(app.wake(at(0)), (Act::Write(Bytes::new(10_000)), NEVER));
        assert!(app.has_written_all() && app.pause());
        app.take_back(Bytes::new(7_500));
        assert!(!app.has_written_all());
        assert_eq!(app.wake(at(1)), (Act::Nothing, NEVER));
        assert_eq!(app.resume(at(2)), at(2));
        // 8 Mb/s: a write of 1000 bytes a millisecond.
        assert_eq!(app.limit(Some(Rate::mbps(8)), WRITE, at(2)), at(2));
        let mut now = at(2);
        let mut written = 2_500;
        while now < NEVER {
            let (act, next) = app.wake(now);
            if let Act::Write(bytes) = act {
                written += bytes.as_u64();
            }
            assert!(next == NEVER || next == now + Duration::from_millis(1));
            now = next;
        }
        assert_eq!((written, app.has_written_all()), (10_000, true));
    }

    #[test]
    fn an_endless_transfer_offers_all_again_after_a_pause_or_a_limit() {
        let mut app = source(Traffic::Bulk { size: None });
        let all = (Act::Write(Bytes::MAX), NEVER);
        assert_eq!(app.wake(at(0)), all);
        assert_eq!(app.wake(at(1)), (Act::Nothing, NEVER), "it has offered all");
        assert!(app.pause());
        app.take_back(Bytes::new(5));
        assert_eq!((app.resume(at(3)), app.wake(at(3))), (at(3), all));
        app.limit(Some(Rate::mbps(8)), WRITE, at(4));
        app.take_back(Bytes::new(5));
        assert_eq!(app.wake(at(4)), (Act::Write(Bytes::new(1000)), at(5)));
        app.limit(None, WRITE, at(6));
        assert_eq!(app.wake(at(6)), all);
        assert!(!app.has_written_all());
    }

    #[test]
    fn an_application_with_a_rate_goes_on_at_its_rate_without_making_up_for_a_pause() {
        let mut app = source(Traffic::RateLimited { rate: Rate::mbps(8), write: Bytes::new(1000) });
        let write = Act::Write(Bytes::new(1000));
        assert_eq!(app.wake(at(0)), (write, at(1)));
        assert!(!app.pause(), "what it wrote was to be sent by now");
        assert_eq!(app.wake(at(1)), (Act::Nothing, NEVER));
        assert_eq!(app.resume(at(9)), at(9));
        assert_eq!(app.wake(at(9)), (write, at(10)));
        assert!(!app.pause());
        assert_eq!(app.resume(at(9)), NEVER, "it is woken at 10 ms anyway");
    }

    #[test]
    fn an_application_that_is_on_offers_all_again_and_one_that_is_off_nothing() {
        let (on, off) = (Duration::from_millis(10), Duration::from_millis(20));
        let mut app = source(Traffic::OnOff { rate: None, on, off, distribution: Distribution::Constant });
        assert_eq!(app.wake(at(0)), (Act::Write(Bytes::MAX), at(10)));
        assert!(app.pause());
        app.take_back(Bytes::new(5));
        assert_eq!((app.resume(at(4)), app.wake(at(4))), (at(4), (Act::Write(Bytes::MAX), at(10))));
        assert_eq!(app.wake(at(10)), (Act::Withdraw, at(30)));
        assert!(app.pause());
        app.take_back(Bytes::ZERO);
        assert_eq!((app.resume(at(12)), app.wake(at(12))), (at(12), (Act::Nothing, at(30))));
    }
}
