//! What BBR derives from its model: the pacing rate, the target in flight, and the window in recovery.

use super::{Bbr, HIGH_GAIN, MIN_SEGMENTS, Mode, UNIT, least_rate, recovering};
use crate::growth::whole_segments;
use crate::{Ack, Path, Phase, Window};
use narrows_units::{Bytes, Duration, Rate};

/// Segments in the window without a round-trip time, and delivered segments below which STARTUP always grows
/// (`TCP_INIT_CWND`).
const INIT_SEGMENTS: u64 = 10;

impl Bbr {
    /// `bw * gain`, less 1 % so that rounding does not let the bottleneck's queue grow (`bbr_bw_to_pacing_rate`).
    pub(super) fn paced(bw: Rate, gain: u64, path: &Path) -> Rate {
        let rate = u128::from(bw.as_bps()) * u128::from(gain) * 99 / (100 * u128::from(UNIT));
        Rate::bps(u64::try_from(rate).unwrap_or(u64::MAX)).max(least_rate(path))
    }

    pub(super) fn init_pacing(&mut self, path: &Path, win: &mut Window) {
        self.seen_rtt = path.srtt.is_some();
        let rtt = path.srtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        win.pacing_rate = Some(Self::paced(Rate::of(win.cwnd, rtt), HIGH_GAIN, path));
    }

    pub(super) fn set_pacing(&mut self, bw: Rate, gain: u64, path: &Path, win: &mut Window) {
        if !self.seen_rtt && path.srtt.is_some() {
            self.init_pacing(path, win);
        }
        let rate = Self::paced(bw, gain, path);
        if self.full_bw_reached || win.pacing_rate.is_none_or(|before| rate > before) {
            win.pacing_rate = Some(rate);
        }
    }

    /// Segments in one burst of an offloading sender (`bbr_tso_segs_goal`).
    pub(super) fn burst(path: &Path, win: &Window) -> u64 {
        let rate = win.pacing_rate.unwrap_or(Rate::ZERO);
        let least = if rate < Rate::kbps(1200) { 1 } else { 2 };
        // The bytes of a millisecond (1/1024 s), and at most what fits in one buffer.
        let bytes = (rate.as_bps() / 8 / 1024).min(65_535 - 320);
        (bytes / path.smss.as_u64().max(1)).clamp(least, 127)
    }

    /// `gain * bw * min_rtt` in whole segments, rounded up (`bbr_bdp`).
    pub(super) fn bdp(&self, bw: Rate, gain: u64, path: &Path) -> u64 {
        let Some(rtt) = self.min_rtt else { return INIT_SEGMENTS };
        let bytes = u128::from(bw.bytes_in(rtt).as_u64()) * u128::from(gain);
        let segments = bytes.div_ceil(u128::from(UNIT) * u128::from(path.smss.as_u64().max(1)));
        u64::try_from(segments).unwrap_or(u64::MAX)
    }

    /// `segments` plus room for bursts in both ends' buffers, in even whole segments (`bbr_quantization_budget`).
    pub(super) fn quantized(&self, segments: u64, path: &Path, win: &Window) -> Bytes {
        let up = self.mode == Mode::ProbeBw && self.cycle == 0;
        let sum = segments.saturating_add(3 * Self::burst(path, win));
        path.smss * sum.saturating_add(sum % 2).saturating_add(if up { 2 } else { 0 })
    }

    /// The target in flight at `gain` times the bandwidth (`bbr_inflight`).
    pub(super) fn target(&self, gain: u64, path: &Path, win: &Window) -> Bytes {
        self.quantized(self.bdp(self.max_bw.max(), gain, path), path, win)
    }

    /// Bytes in the network when pacing lets the next segment leave (`bbr_packets_in_net_at_edt`): `inflight`, plus the
    /// burst that leaves then while the rate probes upwards, less the whole segments that arrive until then.
    pub(super) fn in_network(&self, inflight: Bytes, path: &Path, win: &Window) -> Bytes {
        let coming = if self.pacing_gain > UNIT { Self::burst(path, win) } else { 0 };
        let arriving = whole_segments(self.bw().bytes_in(path.departure.since(path.now)), path);
        (inflight + path.smss * coming).saturating_sub(path.smss * arriving)
    }

    /// Sets the window in recovery and after it; `true` if it conserves packets and so is final.
    pub(super) fn recover(&mut self, ack: &Ack, path: &Path, win: &mut Window) -> bool {
        let kept = path.inflight + ack.delivered;
        win.cwnd = win.cwnd.saturating_sub(ack.newly_lost).max(path.smss);
        if path.phase == Phase::Recovery && self.was != Phase::Recovery {
            (self.conserving, self.round_end) = (true, path.delivered);
            win.cwnd = kept;
        } else if recovering(self.was) && !recovering(path.phase) {
            win.cwnd = win.cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.was = path.phase;
        if self.conserving {
            win.cwnd = win.cwnd.max(kept);
        }
        self.conserving
    }

    /// Sets the window after an ACK (`bbr_set_cwnd`). One that delivers nothing changes neither it nor the phase of
    /// recovery.
    pub(super) fn set_cwnd(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        if !ack.delivered.is_zero() && !self.recover(ack, path, win) {
            let bw = self.bw();
            let mut segments = self.bdp(bw, self.cwnd_gain, path);
            if self.full_bw_reached && self.aggregates {
                let extra = self.aggregation.allowance(UNIT, bw);
                segments = segments.saturating_add(whole_segments(extra, path));
            }
            let target = self.quantized(segments, path, win);
            if self.full_bw_reached {
                win.cwnd = (win.cwnd + ack.delivered).min(target);
            } else if win.cwnd < target || path.delivered < path.smss * INIT_SEGMENTS {
                win.cwnd += ack.delivered;
            }
            win.cwnd = win.cwnd.max(path.smss * MIN_SEGMENTS);
        }
        if self.mode == Mode::ProbeRtt {
            win.cwnd = win.cwnd.min(path.smss * MIN_SEGMENTS);
        }
    }
}
