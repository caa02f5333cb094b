//! Tests that each TCP setting of a scenario reaches the connection's configuration.

#![allow(clippy::unwrap_used)]

use narrows_scenario as scenario;
use narrows_tcp as tcp;

/// A scenario of one flow with these lines in `[tcp]`.
fn scenario(tcp: &str) -> scenario::Scenario {
    let text = format!(
        "[topology]\nkind = \"dumbbell\"\nbottleneck = {{ rate = \"10 Mb/s\", delay = \"20 ms\" }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n[tcp]\n{tcp}\n"
    );
    scenario::parse(&text, "test.toml", &[], &crate::catalogue()).unwrap()
}

/// The configuration of that flow's connection.
fn config(tcp: &str) -> tcp::Config {
    scenario(tcp).flows[0].tcp().unwrap().config
}

#[test]
fn a_scenario_that_says_nothing_has_the_connection_s_own_defaults() {
    assert_eq!(config(""), tcp::Config::default());
}

#[test]
fn each_switch_reaches_the_connection() {
    let base = tcp::Config::default();
    let cases = [
        ("recovery = \"tahoe\"", tcp::Config { recovery: tcp::RecoveryKind::Tahoe, ..base }),
        ("recovery = \"reno\"", tcp::Config { recovery: tcp::RecoveryKind::Reno, ..base }),
        ("recovery = \"newreno\"", tcp::Config { recovery: tcp::RecoveryKind::NewReno, ..base }),
        ("recovery = \"rto_only\"", tcp::Config { recovery: tcp::RecoveryKind::RtoOnly, ..base }),
        ("recovery = \"fack\"", tcp::Config { recovery: tcp::RecoveryKind::Fack, ..base }),
        ("recovery = \"rack\"", tcp::Config { recovery: tcp::RecoveryKind::Rack, ..base }),
        ("recovery_style = \"linux\"", tcp::Config { recovery_style: tcp::RecoveryStyle::Linux, ..base }),
        ("tail_probes = false", tcp::Config { tail_probes: false, ..base }),
        ("frto = true", tcp::Config { frto: true, ..base }),
        ("reduction = \"prr\"", tcp::Config { reduction: tcp::Reduction::Prr, ..base }),
        ("reduction = \"prr_linux\"", tcp::Config { reduction: tcp::Reduction::PrrLinux, ..base }),
        ("undo = false", tcp::Config { undo: false, ..base }),
        ("reduce_once = true", tcp::Config { reduce_once: true, ..base }),
        ("full_ack_cap = false", tcp::Config { full_ack_cap: false, ..base }),
        ("tso = true", tcp::Config { tso: true, ..base }),
        ("gso = true", tcp::Config { gso: true, ..base }),
        ("impatient = false", tcp::Config { impatient: false, ..base }),
        ("timestamp_offsets = true", tcp::Config { timestamp_offsets: true, ..base }),
        ("idle_restart = false", tcp::Config { idle_restart: tcp::IdleRestart::Off, ..base }),
        ("idle_restart = true", base),
        ("idle_restart = \"linux\"", tcp::Config { idle_restart: tcp::IdleRestart::Linux, ..base }),
        ("cwnd_validation = true", tcp::Config { cwnd_validation: true, ..base }),
        ("rate_limited = \"max_flight\"", tcp::Config { rate_limited: tcp::RateLimited::MaxFlight, ..base }),
        ("rate_limited = \"rfc7661\"", tcp::Config { rate_limited: tcp::RateLimited::Rfc7661, ..base }),
        ("rate_limited = \"unlimited\"", tcp::Config { rate_limited: tcp::RateLimited::Unlimited, ..base }),
        ("slow_start = \"own\"", base),
        ("slow_start = \"hystart\"", tcp::Config { slow_start: tcp::SlowStart::Standard, ..base }),
        ("slow_start = \"search\"", tcp::Config { slow_start: tcp::SlowStart::Search, ..base }),
        ("cc = \"reno\"\nslow_start = \"hystart\"", tcp::Config { slow_start: tcp::SlowStart::HyStart, ..base }),
        (
            "cc = \"reno\"\nslow_start = \"hystart++\"",
            tcp::Config { slow_start: tcp::SlowStart::HyStartPlusPlus, ..base },
        ),
        (
            "slow_start = \"limited\"\nmax_ssthresh = 50",
            tcp::Config { slow_start: tcp::SlowStart::Limited, max_ssthresh: 50, ..base },
        ),
        (
            "careful_resume = { saved_cwnd = \"1 MB\", saved_rtt = \"40 ms\" }",
            tcp::Config {
                careful_resume: Some(tcp::CarefulResume {
                    saved_cwnd: narrows_units::Bytes::new(1_000_000),
                    saved_rtt: narrows_units::Duration::from_millis(40),
                }),
                ..base
            },
        ),
        (
            "misbehavior = { ack_division = 3, optimistic_acks = \"30 kB\", conceal_ce = true }",
            tcp::Config {
                misbehavior: Some(tcp::Misbehavior {
                    ack_division: 3,
                    duplicate_acks: 0,
                    optimistic_acks: narrows_units::Bytes::new(30_000),
                    conceal_ce: true,
                }),
                ..base
            },
        ),
        ("misbehavior = {}", base),
        ("quick_ack = true", tcp::Config { quick_ack: true, ..base }),
        ("autotuning = true", tcp::Config { autotuning: true, ..base }),
        ("kernel = \"linux-6.1\"", tcp::Config { kernel: tcp::LinuxVersion::V6_1, ..base }),
        ("kernel = \"linux-6.12\"", tcp::Config { kernel: tcp::LinuxVersion::V6_12, ..base }),
        ("kernel = \"linux-7.2\"", tcp::Config { kernel: tcp::LinuxVersion::V7_2, ..base }),
        ("slow_start_at_equality = true", tcp::Config { slow_start_at_equality: true, ..base }),
        (
            "pacing = { avoidance = 110 }",
            tcp::Config { pacing: tcp::Pacing::Ratio { slow_start: 200, avoidance: 110 }, ..base },
        ),
        ("ecn = true", tcp::Config { ecn: true, ..base }),
        ("ecn = \"accurate\"", tcp::Config { ecn: true, accurate_ecn: true, ..base }),
        ("ecn = true\nect1 = true", tcp::Config { ecn: true, ect1: true, ..base }),
        ("ecn = true\necn_echo = \"each_mark\"", tcp::Config { ecn: true, ecn_echo: tcp::EcnEcho::EachMark, ..base }),
    ];
    for (text, expected) in cases {
        assert_eq!(config(text), expected, "{text}");
    }
}

#[test]
fn each_stack_reaches_the_connection() {
    use narrows_units::Duration;
    let base = tcp::Config::default();
    let rto = |style, initial, max, granularity| tcp::RtoConfig {
        style,
        initial: Duration::from_secs(initial),
        min: Duration::from_millis(200),
        max: Duration::from_secs(max),
        granularity: Duration::from_millis(granularity),
    };
    let linux = tcp::Config {
        initial_window: tcp::InitialWindow::Segments(10),
        delayed_ack: tcp::DelayedAck::On { every: 2, timeout: Duration::from_millis(40) },
        quick_ack: true,
        recv_buffer: narrows_units::Bytes::new(3 << 20),
        autotuning: true,
        reduction: tcp::Reduction::PrrLinux,
        reduce_once: true,
        recovery: tcp::RecoveryKind::Rack,
        recovery_style: tcp::RecoveryStyle::Linux,
        frto: true,
        full_ack_cap: false,
        impatient: false,
        tso: true,
        gso: true,
        idle_restart: tcp::IdleRestart::Linux,
        cwnd_validation: true,
        timestamp_offsets: true,
        rto: rto(tcp::RtoStyle::Linux, 1, 120, 1),
        ..base
    };
    assert_eq!(config("stack = \"linux\""), linux);
    let own = tcp::Config {
        mss: 1000,
        initial_window: tcp::InitialWindow::Segments(2),
        delayed_ack: tcp::DelayedAck::Off,
        recovery: tcp::RecoveryKind::Reno,
        lost_retransmission: false,
        undo: false,
        full_ack_cap: false,
        sack: false,
        max_retries: None,
        timestamps: false,
        idle_restart: tcp::IdleRestart::Off,
        rto: rto(tcp::RtoStyle::Ns2, 3, 60, 10),
        ..base
    };
    assert_eq!(config("stack = \"ns2\"\ncc = \"reno\""), own);
    let tcp_linux = tcp::Config {
        recovery: tcp::RecoveryKind::Sack,
        reduction: tcp::Reduction::Prr,
        dupthresh: 4,
        sack: true,
        lost_retransmission: true,
        slow_start_at_equality: true,
        rto: rto(tcp::RtoStyle::Linux, 3, 120, 10),
        ..own
    };
    assert_eq!(config("stack = \"ns2\"\ncc = \"cubic\""), tcp_linux);
}

#[test]
fn every_algorithm_runs_in_every_stack_with_its_own_profile() {
    for row in narrows_cc::registry() {
        for stack in ["rfc", "linux", "ns2"] {
            let ecn = row.traits.needs_ecn;
            let value = if row.traits.l4s { "\"accurate\"".to_owned() } else { ecn.to_string() };
            let said = format!("stack = \"{stack}\"\ncc = \"{}\"\necn = {value}", row.name);
            let scenario = scenario(&said);
            let shown = scenario.to_toml();
            let again = scenario::parse(&shown, "test.toml", &[], &crate::catalogue()).unwrap();
            assert_eq!(scenario, again, "{shown}");
            if let Some(recovery) = row.recovery {
                assert!(shown.contains(&format!("\nrecovery = \"{recovery}\"\n")), "{said}\n{shown}");
            }
            if let Some(profile) = row.profile(stack) {
                assert!(shown.contains(&format!("profile = \"{profile}\"")), "{said}\n{shown}");
            }
            let echo = if ecn { tcp::EcnEcho::EachMark } else { tcp::EcnEcho::UntilCwr };
            assert_eq!(scenario.flows[0].tcp().unwrap().ecn_echo, echo, "{said}");
        }
    }
}
