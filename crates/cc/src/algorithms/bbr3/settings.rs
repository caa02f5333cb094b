//! The constants of BBR version 3: the draft's, and Linux's where they differ.

use narrows_units::Duration;

/// Constants that the profiles share.
pub(super) const LOSS_THRESH: f64 = 0.02;
pub(super) const BETA: f64 = 0.7;
pub(super) const HEADROOM: f64 = 0.15;
/// MinPipeCwnd, in SMSS.
pub(super) const MIN_PIPE: u64 = 4;
pub(super) const CWND_GAIN: f64 = 2.0;
pub(super) const UP_PACING_GAIN: f64 = 1.25;
pub(super) const UP_CWND_GAIN: f64 = 2.25;
/// 1 minus PacingMargin.
pub(super) const PACING_SHARE: f64 = 0.99;
pub(super) const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
pub(super) const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// MaxBwFilterLen is two cycles: the present and the previous one.
pub(super) const MAX_BW_CYCLES: u64 = 1;
/// ExtraAckedFilterLen is ten rounds: the present and nine previous ones.
pub(super) const EXTRA_ACKED_ROUNDS: u64 = 9;
pub(super) const FULL_BW_GROWTH: f64 = 1.25;
pub(super) const FULL_BW_ROUNDS: u32 = 3;
/// StartupFullLossCnt: lost ranges in a round.
pub(super) const STARTUP_LOSSES: u32 = 6;
/// Gain of ecn_alpha (`bbr_ecn_alpha_gain`).
pub(super) const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
/// Share of ecn_alpha by which a marked round reduces inflight_shortterm (`bbr_ecn_factor`).
pub(super) const ECN_FACTOR: f64 = 1.0 / 3.0;
/// Share of marks in a round that is too much (`bbr_ecn_thresh`).
pub(super) const ECN_THRESH: f64 = 0.5;
/// Rounds with too many marks that end Startup (`bbr_full_ecn_cnt`).
pub(super) const STARTUP_ECN_ROUNDS: u32 = 2;
/// Shortest and longest wait for the next probe, in seconds.
pub(super) const PROBE_WAIT: (f64, f64) = (2.0, 3.0);
/// Bound on the rounds after which a Reno flow would have grown to the same window.
pub(super) const COEXIST_ROUNDS: u64 = 63;
/// Limit of the exponent of inflight_longterm's growth.
pub(super) const MAX_UP_ROUNDS: u32 = 30;
/// Largest send quantum, in bytes.
pub(super) const MAX_QUANTUM: u64 = 64 * 1024;

/// Settings in which the draft and Linux differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) startup_gain: f64,
    pub(super) drain_gain: f64,
    /// Rounds after which Drain ends, however much is in flight.
    pub(super) drain_rounds: Option<u64>,
    pub(super) down_gain: f64,
    /// The rules of google/bbr where they differ in more than numbers: the estimator of ACK aggregation (two windows
    /// of five rounds, at most 100 ms), the end of Startup by losses, the level that a full pipe has to exceed, and an
    /// undo that restores bounds but no state.
    pub(super) linux: bool,
}

/// draft-ietf-ccwg-bbr-06.
pub(super) const DRAFT: Settings =
    Settings { startup_gain: 2.77, drain_gain: 0.5, drain_rounds: Some(3), down_gain: 0.90, linux: false };

/// google/bbr, branch v3; gains in 1/256.
pub(super) const LINUX: Settings = Settings {
    startup_gain: 710.0 / 256.0,
    drain_gain: 88.0 / 256.0,
    drain_rounds: None,
    down_gain: 232.0 / 256.0,
    linux: true,
};
