//! Slow starts and careful resume in a connection.

use super::harness::*;
use crate::{CarefulResume, Config, Connection, DelayedAck, InitialWindow, Reduction, SlowStart};
use narrows_cc::Params;
use narrows_units::{Bytes, Instant, SeqNum};

/// A connection by Reno with segments of 1000 bytes, an ACK for each, and a round-trip time of 100 ms.
fn start(config: Config) -> Net {
    let config = Config {
        mss: 1000,
        timestamps: false,
        initial_window: InitialWindow::Segments(10),
        delayed_ack: DelayedAck::Off,
        ..config
    };
    let reno = || narrows_cc::build("reno", &Params::default()).unwrap();
    let [client, server] = addresses();
    let mut net = Net::with([
        Connection::connect(config, reno(), None, client, server, SeqNum::new(1)),
        Connection::listen(config, reno(), None, server, client, SeqNum::new(1)),
    ]);
    net.establish();
    net
}

fn state(net: &Net, name: &str) -> Option<f64> {
    let mut found = None;
    net.ends[C].cc().state(&mut |n, value| {
        if n == name {
            found = Some(value);
        }
    });
    found
}

/// cwnd in segments after `n` round-trip times with endless data.
fn window_after(config: Config, n: u64) -> u64 {
    let mut net = start(config);
    net.ends[C].write(Bytes::MAX);
    net.run(at(250 + n * 100));
    net.ends[C].info().cwnd.as_u64() / 1000
}

#[test]
fn the_setting_limits_slow_start() {
    let of = |slow_start| window_after(Config { slow_start, max_ssthresh: 20, ..Config::default() }, 4);
    assert_eq!(of(SlowStart::Own), 160);
    assert_eq!(of(SlowStart::Standard), 160);
    let limited = of(SlowStart::Limited);
    assert!((48..=51).contains(&limited), "10, 20, then about 10 more per round: {limited}");
}

#[test]
fn without_the_setting_an_algorithm_reports_no_more_than_its_own() {
    assert_eq!(state(&start(Config::default()), "slow_start"), None);
    let search = Config { slow_start: SlowStart::Search, ..Config::default() };
    assert_eq!(state(&start(search), "slow_start"), Some(1.0));
}

/// A connection that resumes a window of 200 segments at 100 ms, and has endless data.
fn resumed(config: Config) -> Net {
    let saved = CarefulResume { saved_cwnd: Bytes::new(200_000), saved_rtt: ms(100) };
    let mut net = start(Config { careful_resume: Some(saved), ..config });
    net.ends[C].write(Bytes::MAX);
    net
}

#[test]
fn a_resumed_connection_sends_half_of_the_saved_window_paced_over_a_round_trip_time() {
    let mut net = resumed(Config::default());
    net.run(at(299));
    assert_eq!((net.data(C).len(), state(&net, "resume_phase")), (10, Some(1.0)), "the initial window");
    net.run(at(301));
    assert_eq!((net.ends[C].info().cwnd, state(&net, "resume_phase")), (Bytes::new(100_000), Some(2.0)));
    net.run(at(399));
    let times: Vec<Instant> =
        net.log.iter().filter(|e| e.1 == C && e.2.payload_len > 0 && e.0 > at(300)).map(|e| e.0).collect();
    assert!(times.len() >= 60, "{}", times.len());
    for pair in times.windows(2) {
        // 100 segments in 100 ms.
        assert!(pair[1].since(pair[0]) >= ms(1), "{} and {}", pair[0], pair[1]);
    }
    net.run(at(700));
    assert_eq!(state(&net, "resume_phase"), Some(0.0));
    let resumed = net.ends[C].info().cwnd.as_u64() / 1000;
    let slow = window_after(Config::default(), 4);
    assert!(resumed >= slow && resumed >= 100, "{resumed}, and {slow} by slow start alone");
}

#[test]
fn a_loss_of_the_jump_retreats_at_once_even_with_prr() {
    let mut net = resumed(Config { reduction: Reduction::PrrLinux, ..Config::default() });
    let mut dropped = false;
    // One segment of the jump is lost.
    net.rule = Box::new(move |from, packet, now| {
        let hit = from == C && !dropped && packet.payload_len > 0 && now > at(330);
        dropped |= hit;
        if hit { Fate::Drop } else { Fate::Pass }
    });
    while state(&net, "resume_phase") != Some(4.0) {
        assert!(net.step(at(600)), "the loss is found");
    }
    let info = net.ends[C].info();
    let pipe = state(&net, "resume_pipe").unwrap();
    assert_eq!(info.cwnd.as_u64(), (pipe / 2.0) as u64, "half of PipeSize, in one step");
    net.run(at(1_500));
    assert_eq!(state(&net, "resume_phase"), Some(0.0));
    let threshold = net.ends[C].info().ssthresh.unwrap().as_f64();
    assert!(threshold <= state(&net, "resume_pipe").unwrap() / 2.0, "{threshold}");
}
