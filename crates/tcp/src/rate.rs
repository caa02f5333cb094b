//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use crate::segment::{Segment, flag};
use narrows_cc::RateSample;
use narrows_units::{Bytes, Duration, Instant};

/// State of the sampler when a segment was sent; the draft's `P.*`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// `P.delivered`, bytes.
    pub(crate) delivered: u64,
    /// `P.delivered_time`.
    pub(crate) delivered_at: Instant,
    /// `P.first_sent_time`.
    pub(crate) first_sent_at: Instant,
    /// Bytes marked lost before the segment was sent.
    pub(crate) lost: u64,
    /// Bytes in flight after the transmission; a window never exceeds 2^30 bytes.
    pub(crate) tx_inflight: u32,
}

/// Data in flight, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// Sent and not cumulatively acknowledged (Linux's `packets_out`).
    pub(crate) outstanding: u64,
    /// The estimate of what is in the network (RFC 6675).
    pub(crate) pipe: u64,
}

/// The sampler of a connection; the draft's `C.*`. The counters are always kept; samples are only taken on request.
#[derive(Debug, Default)]
pub(crate) struct RateSampler {
    delivered: u64,
    lost: u64,
    /// Value of `delivered` up to which samples are limited by the application; 0 if they are not.
    app_limited_until: u64,
    samples: Option<Box<Samples>>,
}

/// State that only samples need.
#[derive(Debug, Default)]
struct Samples {
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The most recently sent segment that the current ACK delivered.
    newest: Option<Newest>,
    /// What is kept for those who watch the sender.
    watched: Option<Box<Watched>>,
}

/// What a watched sender has measured.
#[derive(Debug, Default)]
struct Watched {
    /// The last sample.
    last: Option<RateSample>,
    /// Packet-timed round trips, and the value of `delivered` at which the last one ended; BBR's `round_count` and
    /// `next_round_delivered`.
    rounds: u64,
    round_end: u64,
    /// Bytes that ACKs reported as marked.
    marked: u64,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    end: u64,
    stamp: Stamp,
    app_limited: bool,
}

impl RateSampler {
    /// A sampler that takes samples, and stamps segments for them.
    pub(crate) fn sampling() -> Self {
        Self { samples: Some(Box::default()), ..Self::default() }
    }

    /// Whether it takes samples.
    pub(crate) const fn is_sampling(&self) -> bool {
        self.samples.is_some()
    }

    /// Begins to keep what [`measured`](Self::measured) returns. The sampler must take samples.
    pub(crate) fn watch(&mut self) {
        if let Some(samples) = &mut self.samples {
            samples.watched.get_or_insert_default();
        }
    }

    /// The last sample, packet-timed round trips, and bytes that ACKs reported as marked; nothing before
    /// [`watch`](Self::watch).
    pub(crate) fn measured(&self) -> (Option<RateSample>, u64, u64) {
        let watched = self.samples.as_ref().and_then(|samples| samples.watched.as_ref());
        watched.map_or((None, 0, 0), |watched| (watched.last, watched.rounds, watched.marked))
    }

    /// Notes bytes that an ACK reported as marked.
    #[inline]
    pub(crate) fn on_marked(&mut self, bytes: u64) {
        if let Some(watched) = self.samples.as_mut().and_then(|samples| samples.watched.as_mut()) {
            watched.marked += bytes;
        }
    }

    /// A sampler in the middle of a connection, for tests.
    #[cfg(test)]
    pub(crate) fn at(delivered: u64) -> Self {
        Self { delivered, ..Self::sampling() }
    }

    /// Bytes delivered so far.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes marked lost so far.
    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether samples of what is sent now are limited by the application.
    #[inline]
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The stamp of a segment of `len` octets sent now; `None` if no samples are taken.
    ///
    /// `before` is what the scoreboard counts before it.
    ///
    /// A new interval begins if nothing is outstanding, as in Linux (`packets_out` when a segment is sent). The draft
    /// begins one if its estimate of the data in flight is zero, which a timeout makes it; a wrong timeout would then
    /// shorten the interval and raise the rate.
    #[inline]
    pub(crate) fn on_sent(&mut self, before: InFlight, len: u32, now: Instant) -> Option<Stamp> {
        let samples = self.samples.as_deref_mut()?;
        if before.outstanding == 0 {
            samples.first_sent_at = now;
            samples.delivered_at = now;
        }
        Some(Stamp {
            delivered: self.delivered,
            delivered_at: samples.delivered_at,
            first_sent_at: samples.first_sent_at,
            lost: self.lost,
            tx_inflight: u32::try_from(before.pipe).unwrap_or(u32::MAX).saturating_add(len),
        })
    }

    /// Notes the delivery of a segment with this stamp.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &Segment, stamp: Option<&Stamp>, now: Instant) {
        self.delivered += u64::from(segment.len);
        if let (Some(samples), Some(stamp)) = (self.samples.as_deref_mut(), stamp) {
            samples.on_delivered(segment, stamp, now);
        }
    }

    /// Notes the delivery of `octets` by an ACK where no samples are taken.
    #[inline]
    pub(crate) fn on_acked(&mut self, octets: u64) {
        self.delivered += octets;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// Bytes were marked lost.
    #[inline]
    pub(crate) fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Notes that the application has nothing to send although the window allows it, with `pipe` octets in flight.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, pipe: u64) {
        self.app_limited_until = (self.delivered + pipe).max(1);
    }

    /// The sample of the current ACK; `None` if its interval would be shorter than the smallest round-trip time.
    #[inline]
    pub(crate) fn sample(&mut self, min_rtt: Option<Duration>, now: Instant) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let samples = self.samples.as_deref_mut()?;
        let newest = samples.newest.take()?;
        let stamp = newest.stamp;
        samples.first_sent_at = newest.sent_at;
        if let Some(watched) = &mut samples.watched
            && stamp.delivered >= watched.round_end
        {
            watched.rounds += 1;
            watched.round_end = self.delivered;
        }
        let interval = newest.sent_at.since(stamp.first_sent_at).max(now.since(stamp.delivered_at));
        if interval.is_zero() || min_rtt.is_some_and(|m| interval < m) {
            return None;
        }
        let sample = RateSample {
            delivered: Bytes::new(self.delivered - stamp.delivered),
            interval,
            prior_delivered: Bytes::new(stamp.delivered),
            tx_inflight: Bytes::new(u64::from(stamp.tx_inflight)),
            lost: Bytes::new(self.lost - stamp.lost),
            app_limited: newest.app_limited,
        };
        if let Some(watched) = &mut samples.watched {
            watched.last = Some(sample);
        }
        Some(sample)
    }
}

impl Samples {
    fn on_delivered(&mut self, segment: &Segment, stamp: &Stamp, now: Instant) {
        self.delivered_at = now;
        let end = segment.end();
        if self.newest.is_none_or(|n| (n.sent_at, n.end) < (segment.sent_at, end)) {
            let app_limited = segment.has(flag::APP_LIMITED);
            self.newest = Some(Newest { sent_at: segment.sent_at, end, stamp: *stamp, app_limited });
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_interval_begins_when_nothing_is_outstanding_and_not_when_all_is_lost() {
        let ms = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut rate = RateSampler { samples: Some(Box::default()), ..RateSampler::default() };
        let stamp = rate.on_sent(InFlight { outstanding: 0, pipe: 0 }, 1000, ms(10)).unwrap();
        assert_eq!((stamp.first_sent_at, stamp.delivered_at), (ms(10), ms(10)), "nothing was outstanding");
        let after_timeout = InFlight { outstanding: 1000, pipe: 0 };
        let stamp = rate.on_sent(after_timeout, 1000, ms(500)).unwrap();
        assert_eq!((stamp.first_sent_at, stamp.delivered_at), (ms(10), ms(10)), "the interval goes on");
        assert_eq!(stamp.tx_inflight, 1000);
    }
}
