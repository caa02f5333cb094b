//! Saturation throughput of DCF, computed: G. Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination
//! Function, IEEE JSAC 18(3), 2000, with the retry limit of H. Wu et al., INFOCOM 2002.
//!
//! Time goes in model slots: an idle slot of the length sigma, a success (Ts) or a collision (Tc). A station attempts
//! in each with probability tau, an attempt collides with p = 1 - (1 - tau)^(n - 1). The mean over one packet's
//! attempts gives tau = attempts / slots; without a retry limit that is Bianchi's equation (7).
//!
//! DCF's behaviour after a collision determines Tc, and more. All other stations have heard an unreadable frame and
//! wait for EIFS after its end: Tc = frame + propagation + EIFS. The colliders (the stations that sent) have heard
//! nothing: their backoff counts from the end of the timeout. With the standard's numbers this is earlier, by 5.6 slots
//! with 802.11g at 6 Mb/s of basic rate, by 7.2 slots with 802.11b. In this lead only the colliders count down, and
//! they attempt almost without competitors. Bianchi's model has no lead. Here, a lead phase follows each collision: the
//! colliders' draws below the lead end in a success or in another collision, or no station sends, and the others follow
//! with draws shortened by the lead. With a lead of 0 this is Bianchi's model again.

use narrows_units::{Bytes, Duration};
use narrows_wifi::Config;

/// The model's results for saturated stations.
#[derive(Clone, Copy, Debug)]
pub struct Saturation {
    /// Packets per microsecond, all stations together.
    pub packets_per_us: f64,
    /// Probability that an attempt collides.
    pub collision: f64,
}

/// Lengths in microseconds.
struct Times {
    slot: f64,
    success: f64,
    /// The frame that collides: a data frame, or an RTS.
    collided: f64,
    /// From the end of the collided frame to the end of the timeout, when the colliders' backoff begins.
    timeout: f64,
    /// From the end of the collided frame to the end of EIFS, when the others' backoff begins.
    eifs: f64,
}

impl Times {
    fn new(config: &Config, psdu: Bytes) -> Self {
        let us = |d: Duration| d.as_nanos() as f64 / 1e3;
        let control = |len| us(config.control.airtime(Bytes::new(len)));
        let (data, sifs, delta) = (us(config.data.airtime(psdu)), us(config.sifs), us(config.propagation));
        let tail = data + delta + sifs + control(14) + delta + us(config.difs());
        let (success, collided) = match config.rts_threshold {
            Some(_) => (control(20) + delta + sifs + control(14) + delta + sifs + tail, control(20)),
            None => (tail, data),
        };
        let (timeout, eifs) = (us(config.answer_timeout), delta + us(config.eifs));
        Self { slot: us(config.slot), success, collided, timeout, eifs }
    }

    /// The colliders' lead, in slots; zero if they are ahead only by the propagation delay, which a slot absorbs.
    fn lead(&self, propagation: Duration) -> f64 {
        let lead = self.eifs - self.timeout;
        assert!(lead > -1e-9, "others resume before the colliders: not modelled");
        if lead <= propagation.as_nanos() as f64 / 1e3 { 0.0 } else { lead / self.slot }
    }
}

/// Attempts of a packet that follow a collision, at one stage.
struct Stage {
    /// Attempts in the lead with success.
    won: f64,
    /// Attempts in the lead with another collision.
    tied: f64,
    /// Model slots spent if there is no attempt in the lead, including the slot of the attempt.
    slots: f64,
}

/// Solves the model for `n` stations with packets whose frames are of `psdu` bytes.
pub fn saturation(config: &Config, n: i32, psdu: Bytes) -> Saturation {
    let times = Times::new(config, psdu);
    let lead = times.lead(config.propagation);
    let windows = windows(config);
    let first = (windows[0] + 1.0) / 2.0; // slots of a packet's first attempt
    let mut tau = 1.0 / first;
    // Visits to each stage after a collision, per packet; visits to stage 0 come after a packet that was given up.
    let mut visits = vec![0.0; windows.len()];
    let mut collision = 0.0;
    for _ in 0..2_000 {
        let p = 1.0 - power(1.0 - tau, n - 1);
        let draws = Draws::new(&windows, &visits, lead);
        let stages: Vec<_> = windows.iter().map(|&w| draws.stage(w, n, tau, lead)).collect();
        let collides = |stage: &Stage| stage.tied + (1.0 - stage.won - stage.tied) * p;
        let fresh = 1.0 - visits[0];
        let mut next = vec![0.0; windows.len()];
        let mut reached = fresh * p + visits[0] * collides(&stages[0]);
        for (stage, next) in stages.iter().zip(&mut next).skip(1) {
            *next = reached;
            reached *= collides(stage);
        }
        next[0] = reached;
        visits = next;
        let after = |of: &dyn Fn(&Stage) -> f64| stages.iter().zip(&visits).map(|(s, v)| v * of(s)).sum::<f64>();
        let attempts = fresh + after(&|s| 1.0 - s.won - s.tied);
        let slots = fresh * first + after(&|s| s.slots);
        tau = 0.8 * tau + 0.2 * attempts / slots;
        collision = (fresh * p + after(&collides)) / (fresh + after(&|_| 1.0));
    }
    let draws = Draws::new(&windows, &visits, lead);
    Saturation { packets_per_us: draws.throughput(&times, n, tau), collision }
}

/// `base` to the power of `n`, the same on every platform.
pub fn power(base: f64, n: i32) -> f64 {
    (0..n).fold(1.0, |product, _| product * base)
}

/// Contention windows in slots, W = CW + 1, of the attempts that a packet has.
fn windows(config: &Config) -> Vec<f64> {
    // After 100 collisions in a row the rest is below 10^-15.
    let attempts = config.short_retry.min(100);
    let mut cw = config.cw_min;
    let mut windows = Vec::new();
    for _ in 0..attempts {
        windows.push(f64::from(cw) + 1.0);
        cw = (2 * cw + 1).min(config.cw_max);
    }
    windows
}

/// A collider's draw: its chance of each slot of the lead.
struct Draws {
    /// The chance of slot `j`, and that of any slot after it.
    slots: Vec<(f64, f64)>,
}

impl Draws {
    fn new(windows: &[f64], visits: &[f64], lead: f64) -> Self {
        let all: f64 = visits.iter().sum();
        let below = |slots: f64| -> f64 {
            windows.iter().zip(visits).map(|(w, v)| v / all.max(1e-12) * (slots / w).min(1.0)).sum()
        };
        let slots = (0..lead.ceil() as u32).map(f64::from);
        Self { slots: slots.map(|j| (below(j + 1.0) - below(j), 1.0 - below(j + 1.0))).collect() }
    }

    /// The fate of a collider that draws from the window `w`. Its competitors are `n - 1` stations, each of which
    /// collided with probability tau, and at least one of which did.
    fn stage(&self, w: f64, n: i32, tau: f64, lead: f64) -> Stage {
        let none = power(1.0 - tau, n - 1);
        let all_after = |later: f64| (power(1.0 - tau + tau * later, n - 1) - none) / (1.0 - none).max(1e-12);
        let mut stage = Stage { won: 0.0, tied: 0.0, slots: 0.0 };
        let mut before = 1.0; // no competitor drew a slot before this one
        for (j, &(_, later)) in self.slots.iter().enumerate() {
            let j = j as f64;
            let (after, here) = (all_after(later), before - all_after(later));
            if j < w {
                stage.won += after / w;
                stage.tied += here / w;
            }
            // A competitor's frame freezes all longer draws: r slots are left, and the slot of the attempt.
            let longer = (w - j - 1.0).max(0.0);
            stage.slots += here * longer / w * ((1.0 + longer) / 2.0 + 1.0);
            before = after;
        }
        // No station sends in the lead.
        let (first, mut sum) = (self.slots.len() as f64, 0.0);
        let longer = (w - first).max(0.0);
        sum += longer * ((first + w - 1.0) / 2.0 - lead + 1.0);
        stage.slots += before * sum / w;
        stage
    }

    fn throughput(&self, times: &Times, n: i32, tau: f64) -> f64 {
        let idle = power(1.0 - tau, n);
        let alone = f64::from(n) * tau * power(1.0 - tau, n - 1);
        let collide = (1.0 - idle - alone).max(0.0);
        // Successes in the lead phase of a collision, and the time until it is over.
        let no_other = power(1.0 - tau, n - 1);
        let (mut successes, mut again, mut time, mut before) = (0.0, 0.0, 0.0, 1.0);
        for (j, &(here, later)) in self.slots.iter().enumerate() {
            let others = power(1.0 - tau + tau * later, n - 1);
            let one = f64::from(n) * tau * here * (others - no_other) / collide.max(1e-12);
            let after = (power(1.0 - tau + tau * later, n) - idle - alone * later) / collide.max(1e-12);
            let several = (before - after - one).max(0.0);
            let until = times.collided + times.timeout + j as f64 * times.slot;
            time += one * (until + times.success) + several * until;
            successes += one;
            again += several;
            before = after;
        }
        time += before * (times.collided + times.eifs);
        let (successes, time) = (successes / (1.0 - again), time / (1.0 - again));
        (alone + collide * successes) / (idle * times.slot + alone * times.success + collide * time)
    }
}
