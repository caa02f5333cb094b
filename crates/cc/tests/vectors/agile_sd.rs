//! Agile-SD (the reference's section 38).

use crate::common::{Model, close, params};
use narrows_units::{Bytes, Duration};

/// A flow whose segments are so large that rounding to bytes is negligible.
fn exact(given: &[(&str, &str)]) -> Model {
    let row = narrows_cc::find("agile_sd").unwrap();
    Model::of((row.build)(&params(row, given)), 1_000_000, Duration::from_millis(20))
}

/// Lambda at a window of `cwnd` segments, computed at the next ACK.
fn lambda_at(m: Model, cwnd: u64) -> (Model, f64) {
    let mut m = m.at(cwnd, Some(2));
    m.ack(m.path.smss.as_u64());
    let lambda = m.state("lambda");
    (m, lambda)
}

/// A flow that lost in congestion avoidance at `loss` segments.
fn lost_at(given: &[(&str, &str)], loss: u64) -> Model {
    let mut m = exact(given).at(loss, Some(2));
    m.loss();
    m
}

#[test]
fn agile_sd_epoch_times() {
    // A gap of four segments, crossed segment by segment with the lambda of each: a loss at 80 leaves 76.
    for (lambda_max, ms) in [("1", 80.0), ("2", 63.3333), ("3", 48.8889), ("4", 41.6667)] {
        let mut m = lost_at(&[("lambda_max", lambda_max)], 80);
        assert_eq!(m.cwnd(), 76.0);
        let mut epoch = 0.0;
        for cwnd in 76..80 {
            let (next, lambda) = lambda_at(m, cwnd);
            m = next;
            epoch += 20.0 / lambda;
        }
        close(&[epoch], &[ms], 1e-5);
    }
}

#[test]
fn agile_sd_lambda() {
    let mut m = lost_at(&[], 80);
    for (cwnd, want) in [(76, 3.0), (77, 2.25), (78, 1.5), (79, 1.0), (80, 1.0), (200, 1.0), (40, 3.0)] {
        let (next, lambda) = lambda_at(m, cwnd);
        close(&[lambda], &[want], 1e-5);
        m = next;
    }
}

#[test]
fn agile_sd_paper_growth() {
    let mut m = lost_at(&[], 100);
    assert_eq!(m.cwnd(), 95.0);
    close(&m.rounds(4), &[97.24, 98.486, 99.476, 100.466], 1e-3);
    let mut m = lost_at(&[("beta2", "0.9")], 100);
    assert_eq!(m.cwnd(), 90.0);
    close(&m.rounds(5), &[92.563, 94.466, 95.886, 96.952, 97.937], 1e-3);
}

#[test]
fn agile_sd_module_growth() {
    let module = |beta, rounds: &[usize]| {
        let mut m = Model::new("agile_sd", &[("profile", "module"), ("beta2", beta)], 20).at(1000, Some(2));
        m.loss();
        let first = m.cwnd();
        let windows = m.rounds(*rounds.last().unwrap());
        (first, rounds.iter().map(|n| windows[n - 1]).collect::<Vec<_>>())
    };
    let (first, windows) = module("0.95", &[1, 2, 5, 10, 15, 20, 25, 30, 40]);
    assert_eq!(first, 950.0);
    assert_eq!(windows, [952.0, 955.0, 963.0, 972.0, 979.0, 985.0, 990.0, 995.0, 1005.0]);
    let (first, windows) = module("0", &[1, 2, 5, 10, 20, 30, 40, 50, 70]);
    assert_eq!(first, 900.0, "the module's own factor");
    assert_eq!(windows, [902.0, 905.0, 913.0, 926.0, 945.0, 959.0, 970.0, 980.0, 1000.0]);
}

#[test]
fn agile_sd_decreases_by_stage() {
    let after = |given: &[(&str, &str)], ssthresh, cwnd| {
        let mut m = exact(given).at(cwnd, ssthresh);
        m.loss();
        m.cwnd()
    };
    assert_eq!([after(&[], None, 100), after(&[], Some(2), 100)], [90.0, 95.0]);
    let module = [("profile", "module")];
    assert_eq!([after(&module, None, 101), after(&module, Some(2), 101)], [90.0, 90.0]);
    assert_eq!([after(&[], Some(2), 2), after(&module, Some(2), 2)], [2.0, 2.0], "two segments remain");
    assert_eq!(after(&[("beta1", "0.5")], None, 100), 50.0);
}

#[test]
fn agile_sd_avoids_after_a_loss() {
    for at_equality in [false, true] {
        let mut m = exact(&[]).at(100, None);
        m.path.slow_start_at_equality = at_equality;
        m.loss();
        assert!(!m.win.in_slow_start(&m.path));
        assert_eq!(m.ssthresh(), 89.0, "a segment below cwnd");
        m.round();
        assert!(m.cwnd() < 93.0, "{}", m.cwnd());
    }
}

#[test]
fn agile_sd_timeout_restarts_from_the_initial_window() {
    let mut m = exact(&[]).at(100, Some(2));
    m.path.initial_window = m.path.smss * 2;
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (2.0, 95.0), "the paper's window of 2");
    assert_eq!(m.rounds(5), [4.0, 8.0, 16.0, 32.0, 64.0], "slow start");
    assert!((95.0..96.0).contains(&m.round()), "to the threshold: {}", m.cwnd());
    m = m.at(60, Some(2));
    m.timeout(false);
    m.timeout(true);
    assert_eq!((m.cwnd(), m.ssthresh()), (2.0, 57.0), "reduced once");
    let mut small = exact(&[]).at(4, Some(2));
    small.timeout(false);
    assert_eq!(small.cwnd(), 4.0, "a timeout is no reason to grow");
}

#[test]
fn agile_sd_module_timeout_restarts_from_one_segment() {
    let mut m = exact(&[("profile", "module")]).at(100, Some(2));
    m.timeout(false);
    assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 90.0));
}

#[test]
fn agile_sd_lambda_max_of_one_is_newreno() {
    let mut m = exact(&[("lambda_max", "1"), ("beta1", "0.5"), ("beta2", "0.5")]).at(20, Some(2));
    m.loss();
    let row = narrows_cc::find("reno").unwrap();
    let mut reno =
        Model::of((row.build)(&params(row, &[("increase", "per_ack")])), 1_000_000, Duration::from_millis(20));
    reno = reno.at(20, Some(2));
    reno.loss();
    close(&m.rounds(10), &reno.rounds(10), 1e-5);
}

#[test]
fn agile_sd_grows_as_reno_beyond_the_loss() {
    let mut m = lost_at(&[("lambda_max", "100")], 100).at(100, Some(2));
    let windows = m.rounds(20);
    for pair in windows.windows(2) {
        assert!(pair[1] - pair[0] > 0.9 && pair[1] - pair[0] <= 1.0, "{windows:?}");
    }
}

#[test]
fn agile_sd_module_counts_acks() {
    let growth = |given: &[(&str, &str)], per| {
        let mut m = lost_at(given, 1000);
        let before = m.cwnd();
        (0..20).for_each(|_| {
            m.round_of(per);
        });
        m.cwnd() - before
    };
    let module = [("profile", "module"), ("lambda_max", "1")];
    assert_eq!([growth(&module, 1), growth(&module, 2)], [19.0, 9.0]);
    let paper = [("lambda_max", "1")];
    close(&[growth(&paper, 2)], &[growth(&paper, 1)], 1e-3);
}

#[test]
fn agile_sd_undo_leaves_the_window_at_the_loss() {
    for profile in ["paper", "module"] {
        let mut m = lost_at(&[("profile", profile)], 100);
        m.undo();
        assert_eq!(m.win.cwnd, Bytes::new(100_000_000), "{profile}: max(cwnd, loss_cwnd)");
        m.round();
        assert_eq!(m.state("lambda"), 1.0);
    }
}

#[test]
fn agile_sd_reports_the_part_of_a_segment_that_has_grown() {
    let (m, lambda) = lambda_at(lost_at(&[("profile", "module")], 80), 76);
    assert_eq!(lambda, 1.5, "half of the gap from 72 to 80 is left");
    close(&[m.state("frac_tracer")], &[lambda / 76.0], 1e-3);
}
