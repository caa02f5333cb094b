//! Westwood's estimates of the bandwidth: the count of what arrived, and the three filters.

use narrows_units::{Bytes, Duration, Instant};

/// The shortest time over which the kernel takes a sample (`TCP_WESTWOOD_RTT_MIN`).
const LEAST_WINDOW: Duration = Duration::from_millis(50);
/// tau, the time constant of the filter of 2001, in seconds.
const TAU: f64 = 0.5;

/// The amount that an ACK reports as arrived (Casetti et al. 2001, "AckedCount"): one segment for a duplicate ACK,
/// which a later cumulative ACK does not count again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckedCount {
    accounted: Bytes,
}

impl AckedCount {
    /// Octets that arrived, by an ACK of `acked` new octets.
    pub fn count(&mut self, acked: Bytes, smss: Bytes) -> Bytes {
        if acked.is_zero() {
            self.accounted += smss;
            return smss;
        }
        if acked <= smss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted = self.accounted.saturating_sub(acked);
            return smss;
        }
        acked.saturating_sub(core::mem::take(&mut self.accounted))
    }

    /// Octets counted by duplicate ACKs and not yet by a cumulative ACK.
    #[must_use]
    pub fn accounted(&self) -> Bytes {
        self.accounted
    }
}

/// The kernel's filter: two filters of 7/8 in series, in bytes per millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinuxFilter {
    /// The first filter (`bw_ns_est`), in bytes/ms.
    pub ns: u64,
    /// The second (`bw_est`), in bytes/ms.
    pub est: u64,
}

impl LinuxFilter {
    /// Adds a sample in bytes/ms; the first one fills the filter.
    pub fn step(&mut self, sample: u64) {
        if self.ns == 0 && self.est == 0 {
            (self.ns, self.est) = (sample, sample);
        } else {
            self.ns = self.ns.saturating_mul(7).saturating_add(sample) >> 3;
            self.est = self.est.saturating_mul(7).saturating_add(self.ns) >> 3;
        }
    }
}

/// Westwood+'s filter with ns-3's constant coefficients: `B = 0.9 B + 0.1 (b + b_before) / 2`, in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Plus {
    /// The estimate.
    pub b: f64,
    last: f64,
}

impl Plus {
    /// Adds a sample.
    pub fn step(&mut self, sample: f64) {
        self.b = 0.9 * self.b + 0.1 * (sample + self.last) / 2.0;
        self.last = sample;
    }
}

/// Westwood's filter of 2001: a low-pass of time constant tau, made discrete by Tustin's rule for samples at any
/// distance. While nothing arrives, it takes a sample of zero each tau / 2. In any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tustin {
    /// The estimate.
    pub b: f64,
    last: f64,
}

impl Tustin {
    /// Adds a sample that comes `delta` seconds after the previous one.
    pub fn step(&mut self, sample: f64, delta: f64) {
        let d = (delta / TAU).clamp(1e-9, 1e9);
        let ratio = 2.0 / d;
        self.b = (((ratio - 1.0) * self.b + sample + self.last) / (ratio + 1.0)).max(0.0);
        self.last = sample;
    }

    /// Adds a sample after `delta` seconds without an arrival, with a sample of zero for each whole tau / 2 before it.
    pub fn step_after_silence(&mut self, sample: f64, delta: f64) {
        let silent = libm::floor(delta / (TAU / 2.0));
        let rest = delta - silent * TAU / 2.0;
        // After a hundred steps of 3/5 nothing is left of any estimate.
        for _ in 0..silent.min(100.0) as u32 {
            self.step(0.0, TAU / 2.0);
        }
        if rest > 0.0 {
            self.step(sample, rest);
        }
    }
}

/// The filter and its state.
#[derive(Clone, Copy, Debug)]
pub enum Filter {
    /// Linux.
    Linux(LinuxFilter),
    /// Westwood+ of 2004, in bytes/s.
    Plus(Plus),
    /// Westwood of 2001, in bytes/s.
    Tustin(Tustin),
}

/// A filter in use, with the octets gathered since its last sample.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    filter: Filter,
    gathered: Bytes,
    since: Instant,
    started: bool,
}

impl Estimate {
    /// An estimate by this filter, without samples.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self { filter, gathered: Bytes::ZERO, since: Instant::ZERO, started: false }
    }

    /// Starts at `now`.
    pub fn start(&mut self, now: Instant) {
        self.since = now;
    }

    /// Adds `counted` octets of an ACK at `now`; `rtt` is the last round-trip time.
    pub fn observe(&mut self, counted: Bytes, rtt: Duration, now: Instant) {
        let elapsed = now.since(self.since);
        match &mut self.filter {
            Filter::Linux(filter) => {
                // The kernel's clock counts whole milliseconds, and the sample does not include this ACK.
                let millis = now.since(Instant::ZERO).as_millis() - self.since.since(Instant::ZERO).as_millis();
                if millis > rtt.max(LEAST_WINDOW).as_millis() {
                    filter.step(self.gathered.as_u64() / millis);
                    self.gathered = Bytes::ZERO;
                    self.since = now;
                }
                // The kernel starts to count after the first ACK.
                if core::mem::replace(&mut self.started, true) {
                    self.gathered += counted;
                }
            }
            Filter::Plus(filter) => {
                self.gathered += counted;
                if elapsed >= rtt && !elapsed.is_zero() {
                    filter.step(self.gathered.as_f64() / elapsed.as_secs_f64());
                    self.gathered = Bytes::ZERO;
                    self.since = now;
                }
            }
            Filter::Tustin(filter) => {
                // ACKs at the same instant make one sample.
                self.gathered += counted;
                if !elapsed.is_zero() {
                    let seconds = elapsed.as_secs_f64();
                    filter.step_after_silence(self.gathered.as_f64() / seconds, seconds);
                    self.gathered = Bytes::ZERO;
                    self.since = now;
                }
            }
        }
    }

    /// The estimate in bytes/s.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        match self.filter {
            Filter::Linux(filter) => filter.est as f64 * 1000.0,
            Filter::Plus(filter) => filter.b,
            Filter::Tustin(filter) => filter.b,
        }
    }

    /// Bytes that the estimated bandwidth carries in `rtt_min`.
    #[must_use]
    pub fn pipe(&self, rtt_min: Duration) -> Bytes {
        match self.filter {
            Filter::Linux(filter) => Bytes::new(filter.est.saturating_mul(rtt_min.as_millis())),
            _ => Bytes::from_f64(self.bytes_per_second() * rtt_min.as_secs_f64()),
        }
    }
}
