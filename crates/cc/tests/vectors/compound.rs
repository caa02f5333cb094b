//! Compound (the reference's section 28).

use crate::common::{Model, close, params};
use narrows_units::Duration;

const LINUX: (&str, &str) = ("profile", "linux");

/// A flow in congestion avoidance at `cwnd` segments that has measured one round without growing.
fn at(given: &[(&str, &str)], cwnd: u64) -> Model {
    let row = narrows_cc::find("compound").unwrap();
    let cc = (row.build)(&params(row, given));
    let mut m = Model::with_window(cc, 1448, Duration::from_millis(100), cwnd);
    m.win.ssthresh = Some(m.path.smss * 2);
    m.path.cwnd_limited = false;
    m.rounds(2);
    m.path.cwnd_limited = true;
    m
}

/// dwnd in segments.
fn dwnd(m: &Model) -> f64 {
    m.state("dwnd") / 1448.0
}

#[test]
fn compound_delay_window_increment() {
    for (cwnd, want) in [(38, 0.913), (50, 1.350), (100, 2.953), (500, 12.217), (1000, 21.228)] {
        let mut m = at(&[], cwnd);
        (0..30).for_each(|_| m.ack(1448));
        // When the round ends, the window exceeds `cwnd` by one ACK's growth.
        close(&[dwnd(&m)], &[want], 2e-3);
    }
}

#[test]
fn compound_total_from_100() {
    // The vector adds a whole segment per round for Reno; its 1/win per segment adds a little less in a growing round.
    let mut m = at(&[], 100);
    let want = [103.95, 108.02, 112.21, 116.52, 120.95, 125.51, 130.2, 135.02, 139.97, 145.06];
    close(&m.rounds(10), &want, 5e-3);
}

#[test]
fn compound_is_reno_below_38() {
    let mut m = at(&[], 30);
    let windows = m.rounds(5);
    assert_eq!(dwnd(&m), 0.0);
    assert!(windows[4] > 34.5 && windows[4] < 35.0, "{windows:?}");
}

#[test]
fn compound_gives_way_to_queues() {
    let mut m = at(&[("gamma_tuning", "false")], 100);
    m.rounds(20);
    let (total, grown) = (m.cwnd(), dwnd(&m));
    assert!(grown > 60.0, "{grown}");
    // A quarter of the window waits in a queue: more than 30 segments.
    m.rtt = Duration::from_nanos(133_333_333);
    m.rounds(2);
    let diff = total / 4.0;
    assert!((dwnd(&m) - (grown - diff)).abs() < 8.0, "{grown} less {diff} is {}", dwnd(&m));
    m.rounds(10);
    assert_eq!(dwnd(&m), 0.0, "what remains is Reno");
}

#[test]
fn compound_loss_halves_the_total() {
    let mut m = at(&[], 100);
    m.rounds(10);
    let (total, delay) = (m.cwnd(), dwnd(&m));
    m.loss();
    close(&[m.cwnd(), m.ssthresh(), dwnd(&m)], &[total / 2.0, total / 2.0, delay / 2.0], 1e-4);
    m.undo();
    close(&[m.cwnd(), dwnd(&m)], &[total, delay], 1e-4);
}

#[test]
fn compound_timeout_forgets_the_delay_window() {
    for given in [&[][..], &[LINUX]] {
        let mut m = at(given, 100);
        m.rounds(10);
        let half = m.cwnd() / 2.0;
        m.timeout(false);
        let delay_window = if given.is_empty() { "dwnd" } else { "dwnd_segments" };
        assert_eq!((m.cwnd(), m.state(delay_window)), (1.0, 0.0));
        close(&[m.ssthresh()], &[half], 0.01);
        assert!(m.state("base_rtt") > 0.0);
    }
}

#[test]
fn compound_gamma_is_tuned_at_losses() {
    let after_loss = |given: &[(&str, &str)], rtt_us| {
        let mut m = at(given, 100);
        m.path.cwnd_limited = false;
        m.rtt = Duration::from_micros(rtt_us);
        m.rounds(3);
        m.loss();
        m.state("gamma")
    };
    // A fifth of 100 segments waits: 20 * 3/4 = 15, and 22.5 is half-way from 30 to 15.
    close(&[after_loss(&[], 125_000)], &[22.5], 1e-3);
    close(&[after_loss(&[], 100_000)], &[15.0], 1e-3);
    assert_eq!(after_loss(&[("gamma", "6")], 100_000), 5.0, "at least 5");
    assert_eq!(after_loss(&[("gamma_tuning", "false")], 125_000), 30.0);
}

#[test]
fn compound_linux_delay_window_increment() {
    for (cwnd, want) in [(40, 0.0), (41, 1.0), (69, 1.0), (70, 2.0), (100, 2.0), (500, 12.0), (1000, 21.0)] {
        let mut m = at(&[LINUX], cwnd);
        let before = m.state("dwnd_segments");
        (0..30).for_each(|_| m.ack(1448));
        assert_eq!(m.state("dwnd_segments") - before, want, "at {cwnd}");
    }
}

#[test]
fn compound_linux_gives_way_to_queues() {
    let mut m = at(&[LINUX], 100);
    m.rounds(20);
    let grown = m.state("dwnd_segments");
    assert!(grown > 30.0, "{grown}");
    m.rtt = Duration::from_millis(150);
    m.rounds(10);
    assert_eq!(m.state("dwnd_segments"), 0.0);
}

#[test]
fn compound_linux_splits_the_window() {
    let mut m = at(&[LINUX], 100);
    m.rounds(5);
    let (total, delay) = (m.cwnd(), m.state("dwnd_segments"));
    m.loss();
    let half = (total as u64 / 2) as f64;
    // cwnd alone is larger than half of the total, so the delay window goes.
    assert_eq!(
        (m.cwnd(), m.state("dwnd_segments"), m.state("cwnd_reno")),
        (half, 0.0, half),
        "from {total} with {delay}"
    );
    let mut grown = at(&[LINUX], 1000);
    grown.rounds(100);
    let (total, delay) = (grown.cwnd(), grown.state("dwnd_segments"));
    assert!(delay > total / 2.0);
    grown.cc.on_window_set(&grown.path, &grown.win);
    grown = grown.at(delay as u64 + 2000, Some(2));
    grown.path.cwnd_limited = false;
    grown.ack(1448);
    assert_eq!((grown.state("dwnd_segments"), grown.state("cwnd_reno")), (delay, 2000.0), "what fits stays");
}

#[test]
fn compound_linux_forgets_when_idle() {
    let mut m = at(&[LINUX], 100);
    m.rounds(5);
    m.idle(Duration::from_secs(1));
    assert_eq!((m.state("dwnd_segments"), m.state("base_rtt")), (0.0, 0.0));
    let mut draft = at(&[], 100);
    draft.rounds(5);
    draft.idle(Duration::from_secs(1));
    assert!(draft.state("dwnd") > 0.0 && draft.state("base_rtt") == 0.1, "the draft keeps both");
}
