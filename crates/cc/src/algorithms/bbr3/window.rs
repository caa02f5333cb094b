//! What BBR version 3 derives from its model: pacing rate, send quantum and window.

use super::report::Latest;
use super::settings as set;
use super::{Bbr3, State};
use crate::algorithms::bbr::least_rate;
use crate::{Ack, Path, Window};
use narrows_units::{Bytes, Duration, Rate};

impl Bbr3 {
    /// BBRInitPacingRate: `gain * cwnd / srtt`, with a millisecond if no round-trip time is known.
    pub(super) fn init_pacing(&mut self, path: &Path, win: &mut Window) {
        self.seen_rtt = path.srtt.is_some();
        let rtt = path.srtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        let rate = Rate::of(win.cwnd, rtt).mul_f64(self.settings.startup_gain);
        win.pacing_rate = Some(rate.max(least_rate(path)));
    }

    /// BBRSetPacingRateWithGain: before the pipe is full the rate only rises.
    pub(super) fn set_pacing(&mut self, gain: f64, path: &Path, win: &mut Window) {
        if !self.seen_rtt && path.srtt.is_some() {
            self.init_pacing(path, win);
        }
        let rate = self.bw.mul_f64(gain * set::PACING_SHARE).max(least_rate(path));
        if self.full_bw_reached || win.pacing_rate.is_none_or(|before| rate > before) {
            win.pacing_rate = Some(rate);
        }
    }

    /// The gains of the present state: pacing gain and cwnd gain.
    pub(super) fn gains(&self) -> (f64, f64) {
        let s = &self.settings;
        match self.state {
            State::Startup => (s.startup_gain, set::CWND_GAIN),
            State::Drain => (s.drain_gain, set::CWND_GAIN),
            State::Down => (s.down_gain, set::CWND_GAIN),
            State::Cruise | State::Refill => (1.0, set::CWND_GAIN),
            State::Up => (set::UP_PACING_GAIN, set::UP_CWND_GAIN),
            State::ProbeRtt => (1.0, set::PROBE_RTT_CWND_GAIN),
        }
    }

    /// Updates the send quantum (SetSendQuantum).
    pub(super) fn set_quantum(&mut self, path: &Path, win: &Window) {
        let quantum = win.pacing_rate.unwrap_or(Rate::ZERO).bytes_in(Duration::from_millis(1));
        self.send_quantum = quantum.min(Bytes::new(set::MAX_QUANTUM)).max(path.smss * 2);
    }

    /// `gain * bw * min_rtt`; the initial window while there is no round-trip time (BDPMultiple).
    pub(super) fn bdp(&self, bw: Rate, gain: f64, path: &Path) -> Bytes {
        self.bdp_from(bw, gain, path.initial_window)
    }

    pub(super) fn bdp_from(&self, bw: Rate, gain: f64, initial_window: Bytes) -> Bytes {
        self.min_rtt.map_or(initial_window, |rtt| bw.bytes_in(rtt).mul_f64(gain))
    }

    /// `inflight`, but at least what offloading at both ends needs and four segments (QuantizationBudget).
    pub(super) fn quantized(&self, inflight: Bytes, smss: Bytes) -> Bytes {
        let extra = if self.state == State::Up { smss * 2 } else { Bytes::ZERO };
        inflight.max(self.send_quantum * 3).max(smss * set::MIN_PIPE) + extra
    }

    /// The target in flight at `gain` (Inflight).
    pub(super) fn inflight(&self, gain: f64, path: &Path) -> Bytes {
        self.quantized(self.bdp(self.bw, gain, path), path.smss)
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self, path: &Path, win: &Window) -> Bytes {
        self.bdp(self.bw, 1.0, path).min(win.cwnd)
    }

    /// inflight_longterm less the headroom for others; `None` while there is no bound (InflightWithHeadroom).
    pub(super) fn with_headroom(&self, smss: Bytes) -> Option<Bytes> {
        let long = self.bounds.inflight_long?;
        let headroom = long.mul_f64(set::HEADROOM).max(smss);
        Some(long.saturating_sub(headroom).max(smss * set::MIN_PIPE))
    }

    pub(super) fn probe_rtt_cwnd(&self, path: &Path) -> Bytes {
        self.bdp(self.bw, set::PROBE_RTT_CWND_GAIN, path).max(path.smss * set::MIN_PIPE)
    }

    /// Saves the window for the end of recovery or ProbeRTT (SaveCwnd). The connection reports losses when its phase is
    /// already that of recovery, so the phase does not tell whether these losses begin it.
    pub(super) fn save_cwnd(&mut self, win: &Window) {
        let fresh = !self.in_recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if fresh { win.cwnd } else { self.prior_cwnd.max(win.cwnd) };
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let least = path.smss * set::MIN_PIPE;
        let (_, gain) = self.gains();
        let target = self.quantized(self.bdp(self.bw, gain, path) + self.allowance(), path.smss);
        self.latest = Latest { smss: path.smss, initial_window: path.initial_window, max_inflight: target };
        if self.full_bw_reached {
            win.cwnd = (win.cwnd + ack.delivered).min(target);
        } else if win.cwnd < target || path.delivered < path.initial_window {
            win.cwnd += ack.delivered;
        }
        win.cwnd = win.cwnd.max(least);
        if self.state == State::ProbeRtt {
            win.cwnd = win.cwnd.min(self.probe_rtt_cwnd(path));
        }
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(path.smss),
            State::Startup | State::Drain => None,
        };
        let bound = long.unwrap_or(Bytes::MAX).min(self.bounds.inflight_short.unwrap_or(Bytes::MAX));
        win.cwnd = win.cwnd.min(bound.max(least));
    }
}
