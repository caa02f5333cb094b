//! The settings of a connection of Linux, from the sysctls and the route.

use crate::sysctl::Sysctls;
use narrows_settings::{
    Burst, Config, DelayedAck, EcnEcho, IdleRestart, InitialWindow, LinuxVersion, Pacing, RecoveryKind, RecoveryStyle,
    Reduction, RtoConfig, RtoStyle,
};
use narrows_units::{Bytes, Duration};

/// The settings of a connection of Linux with default sysctls: those of a scenario's `stack = "linux"`, but with
/// RACK-TLP, F-RTO, Nagle's algorithm, which is a socket's default, and Linux's TIME-WAIT.
#[must_use]
pub fn linux() -> Config {
    Config {
        mss: 1460,
        initial_window: InitialWindow::Segments(10),
        initial_ssthresh: None,
        max_cwnd: None,
        delayed_ack: DelayedAck::On { every: 2, timeout: Duration::from_millis(40) },
        quick_ack: true,
        rto: RtoConfig {
            style: RtoStyle::Linux,
            initial: Duration::from_secs(1),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            granularity: Duration::from_millis(1),
        },
        recovery: RecoveryKind::Rack,
        recovery_style: RecoveryStyle::Linux,
        frto: true,
        reduction: Reduction::PrrLinux,
        dupthresh: 3,
        limited_transmit: true,
        lost_retransmission: true,
        sack: true,
        timestamps: true,
        timestamp_offsets: true,
        window_scaling: true,
        ecn: false,
        accurate_ecn: false,
        ecn_echo: EcnEcho::UntilCwr,
        ect1: false,
        recv_buffer: Bytes::new(3 * 1024 * 1024),
        autotuning: true,
        kernel: LinuxVersion::V7_2,
        nagle: true,
        idle_restart: IdleRestart::Linux,
        cwnd_validation: true,
        slow_start_at_equality: false,
        pacing: Pacing::Off,
        undo: true,
        reduce_once: true,
        full_ack_cap: false,
        impatient: false,
        tso: true,
        gso: true,
        max_retries: Some(15),
        time_wait: Duration::from_secs(60),
        ..Config::default()
    }
}

/// Which side of the handshake a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It sends the SYN.
    Active,
    /// It answers one.
    Passive,
}

/// Fills a configuration from the sysctls.
pub(crate) fn configure(config: &mut Config, sysctls: &Sysctls, side: Side) {
    config.sack = sysctls.is_on("tcp_sack");
    config.timestamps = sysctls.is_on("tcp_timestamps");
    config.window_scaling = sysctls.is_on("tcp_window_scaling");
    config.dupthresh = u32::try_from(sysctls.number("tcp_reordering")).unwrap_or(3);
    config.tail_probes = sysctls.number("tcp_early_retrans") >= 3;
    config.frto = sysctls.number("tcp_frto") > 0;
    if !sysctls.is_on("tcp_slow_start_after_idle") {
        config.idle_restart = IdleRestart::Off;
    }
    config.rto.max = Duration::from_millis(sysctls.number("tcp_rto_max_ms").unsigned_abs());
    config.rto.min = Duration::from_micros(sysctls.number("tcp_rto_min_us").unsigned_abs());
    let small = |name: &str| u32::try_from(sysctls.number(name)).unwrap_or(u32::MAX);
    config.burst = Burst {
        min_segments: small("tcp_min_tso_segs"),
        win_divisor: small("tcp_tso_win_divisor"),
        rtt_log: small("tcp_tso_rtt_log").min(31) as u8,
    };
    config.max_retries = u32::try_from(sysctls.number("tcp_retries2")).ok();
    (config.ecn, config.accurate_ecn) = match (sysctls.number("tcp_ecn"), side) {
        (1, _) | (2, Side::Passive) | (4, Side::Active) => (true, false),
        (3, _) | (4 | 5, Side::Passive) => (true, true),
        _ => (false, false),
    };
    let [_, first, most] = sysctls.triple("tcp_rmem");
    let tuned = sysctls.is_on("tcp_moderate_rcvbuf");
    config.autotuning = tuned;
    config.recv_buffer = Bytes::new(if tuned { most } else { first } / 2);
}
