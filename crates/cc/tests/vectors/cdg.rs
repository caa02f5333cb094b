//! CDG by Linux 6.1 (the reference's section 35). Exponentials and probabilities are those of the kernel's integer
//! arithmetic, computed apart from this code.

use crate::common::{Model, params};
use narrows_cc::algorithms::cdg::gradient::{Gradients, MinMax, negative_exponential};
use narrows_cc::find;
use narrows_units::{Bytes, Duration};

/// A gradient that always makes the flow back off, and a slow start that only losses and gradients end.
const CERTAIN: [(&str, &str); 2] = [("backoff_factor", "100000"), ("hystart_detect", "off")];
/// A flow that never backs off.
const NEVER: (&str, &str) = ("backoff_factor", "0");
const OFF: (&str, &str) = ("hystart_detect", "off");

fn seeded(given: &[(&str, &str)], seed: u64) -> Model {
    let row = find("cdg").unwrap();
    Model::of((row.build)(&params(row, given).seeded(seed)), 1448, Duration::from_millis(100))
}

/// A flow in congestion avoidance at `cwnd` segments, whose rounds all took 100 ms.
fn flat(given: &[(&str, &str)], cwnd: u64) -> Model {
    let row = find("cdg").unwrap();
    let mut m = Model::with_window((row.build)(&params(row, given)), 1448, Duration::from_millis(100), cwnd);
    m.win.ssthresh = Some(m.path.smss * 2);
    m.path.cwnd_limited = false;
    m.rounds(4);
    m.path.cwnd_limited = true;
    m
}

/// `n` rounds, each with a round-trip time `us` microseconds longer than the one before.
fn rising(m: &mut Model, n: usize, us: u64) {
    for _ in 0..n {
        m.rtt += Duration::from_micros(us);
        m.round();
    }
}

#[test]
fn cdg_nexp_is_the_kernel_s() {
    for (millionths, want) in [
        (0, 4_294_967_295),
        (1, 4_294_963_001),
        (255, 4_293_872_325),
        (256, 4_293_853_183),
        (1000, 4_290_630_103),
        (42_000, 4_118_341_248),
        (336_000, 3_069_363_401),
        (1_000_000, 1_580_047_138),
        (1_008_000, 1_567_479_035),
        (2_100_000, 525_928_931),
        (10_000_000, 196_221),
        (16_777_215, 223),
        (16_777_216, 0),
        (u32::MAX, 0),
    ] {
        assert_eq!(negative_exponential(millionths), want, "{millionths}");
    }
}

#[test]
fn cdg_backs_off_as_often_as_the_gradient_says() {
    // P of the reference's vectors: gradient sums of 8 and 24 ms.
    for (us, want) in [(8000, 0.285_36), (24_000, 0.635_04)] {
        let mut backoffs = 0.0;
        for seed in 0..2000 {
            let mut m = seeded(&[("window", "1"), OFF], seed).at(4, Some(2));
            m.path.cwnd_limited = false;
            m.rounds(3);
            rising(&mut m, 1, us);
            backoffs += m.state("backoffs");
        }
        // Three standard deviations of 2000 draws are 0.03.
        let share = backoffs / 2000.0;
        assert!((share - want).abs() < 0.03, "{share} of the flows backed off at {us} us, want {want}");
    }
}

#[test]
fn cdg_gradient_window_sums_and_extrapolates() {
    let mut gradients = Gradients::new(4);
    let at = |rtt| MinMax { min: rtt, max: rtt + 50 };
    let got: Vec<i64> =
        [100, 110, 120, 130, 140, 90].windows(2).map(|pair| gradients.add(at(pair[0]), at(pair[1])).gradient).collect();
    // One, two and three rounds of +10 stand for four; then the sum of four; then 10 + 10 + 10 - 50.
    assert_eq!(got, [40, 40, 40, 40, -20]);
    gradients.clear();
    assert_eq!(gradients.add(at(100), at(107)).gradient, 28);
}

#[test]
fn cdg_the_largest_counts_if_the_smallest_does_not_rise() {
    let mut gradients = Gradients::new(1);
    let trend = gradients.add(MinMax { min: 100, max: 200 }, MinMax { min: 90, max: 260 });
    assert_eq!((trend.gradient, trend.sum), (60, MinMax { min: -10, max: 60 }));
    let trend = gradients.add(MinMax { min: 90, max: 260 }, MinMax { min: 95, max: 100 });
    assert_eq!((trend.gradient, trend.sum), (5, MinMax { min: 5, max: -160 }));
}

#[test]
fn cdg_backoff_leaves_724_of_1024_in_a_round() {
    let mut m = flat(&CERTAIN, 100);
    // The first ACK with a longer round-trip time ends CDG's round. It backs off; the window then falls with each ACK.
    m.rtt += Duration::from_millis(1);
    m.ack(1448);
    assert_eq!((m.state("backoffs"), m.state("state"), m.ssthresh(), m.cwnd()), (1.0, 3.0, 70.0, 100.0));
    for _ in 0..50 {
        m.ack(1448);
    }
    assert_eq!(m.cwnd(), 85.0, "half of the way");
    for _ in 0..50 {
        m.ack(1448);
    }
    assert_eq!((m.cwnd(), m.state("state")), (70.0, 0.0));
}

#[test]
fn cdg_ineffective_backoffs_end_after_five() {
    for (given, most) in [(None, 5.0), (Some(("use_ineff", "2")), 2.0), (Some(("use_ineff", "0")), 15.0)] {
        let given: Vec<_> = CERTAIN.into_iter().chain(given).collect();
        let mut m = flat(&given, 100);
        rising(&mut m, 60, 1000);
        let backoffs = m.state("backoffs");
        assert!(if most > 10.0 { backoffs >= most } else { backoffs == most }, "{given:?}: {backoffs}");
    }
}

#[test]
fn cdg_a_falling_delay_makes_backoffs_effective() {
    let mut m = flat(&[CERTAIN[0], CERTAIN[1], ("window", "1")], 100);
    rising(&mut m, 60, 1000);
    assert_eq!((m.state("backoffs"), m.state("backoff_cnt") > 5.0), (5.0, true));
    m.rtt = Duration::from_millis(100);
    m.rounds(10);
    assert_eq!((m.state("backoffs"), m.state("backoff_cnt")), (5.0, 0.0));
    rising(&mut m, 60, 1000);
    assert_eq!(m.state("backoffs"), 10.0);
}

#[test]
fn cdg_shadow_window_softens_a_loss() {
    for (given, ssthresh) in [(None, 50.0), (Some(("use_shadow", "false")), 35.0)] {
        let given: Vec<_> = CERTAIN.into_iter().chain([("window", "1")]).chain(given).collect();
        let mut m = flat(&given, 100);
        rising(&mut m, 1, 1000);
        assert_eq!((m.state("backoffs"), m.state("shadow_wnd")), (1.0, 100.0));
        m.ack(1448);
        assert_eq!(m.cwnd(), 70.0, "724/1024 of 100");
        m.loss();
        assert_eq!((m.ssthresh(), m.cwnd()), (ssthresh, ssthresh), "{given:?}");
    }
}

#[test]
fn cdg_shadow_window_is_cwnd_if_the_application_limits() {
    let mut m = flat(&[CERTAIN[0], CERTAIN[1], ("window", "1")], 100);
    rising(&mut m, 1, 1000);
    assert_eq!(m.state("shadow_wnd"), 100.0);
    m.path.cwnd_limited = false;
    m.rounds(2);
    assert_eq!((m.state("shadow_wnd"), m.cwnd()), (70.0, 70.0));
    m.loss();
    assert_eq!(m.ssthresh(), 35.0);
}

#[test]
fn cdg_tolerates_a_loss_while_the_queue_is_not_full() {
    // Gradients below 32 us count as none; the smallest rising with the largest is a queue that still has room.
    for (tolerance, us, state, ssthresh) in
        [("true", 1000, 1.0, 100.0), ("true", 3, 0.0, 50.0), ("false", 1000, 0.0, 50.0)]
    {
        let mut m = flat(&[NEVER, OFF, ("use_shadow", "false"), ("use_tolerance", tolerance)], 100);
        rising(&mut m, 3, us);
        m = m.at(100, Some(2));
        assert_eq!(m.state("state"), state, "{tolerance}, {us} us");
        m.loss();
        assert_eq!((m.ssthresh(), m.cwnd()), (ssthresh, ssthresh), "{tolerance}, {us} us");
    }
}

#[test]
fn cdg_an_idle_time_clears_all() {
    let mut m = flat(&CERTAIN, 100);
    rising(&mut m, 1, 1000);
    assert_eq!(m.state("state"), 3.0);
    m.idle(Duration::from_millis(999));
    assert_eq!(m.state("state"), 3.0, "an idle time shorter than the retransmission timeout");
    m.idle(Duration::from_secs(2));
    assert_eq!((m.state("state"), m.state("rtt_min"), m.state("gradient")), (0.0, 0.0, 0.0));
    assert_eq!(m.state("shadow_wnd"), m.cwnd().floor());
}

#[test]
fn cdg_hystart_ends_slow_start_by_delay() {
    for (us, ends) in [(12_500, false), (12_501, true)] {
        let mut m = seeded(&[NEVER, ("hystart_detect", "delay")], 1).at(20, None);
        m.rounds(2);
        m.rtt += Duration::from_micros(us);
        m.rounds(2);
        assert_eq!(m.win.ssthresh.is_some(), ends, "an eighth of 100 ms, {us} us");
    }
}

#[test]
fn cdg_hystart_ends_slow_start_by_an_ack_train() {
    // A round ends with the 11th ACK, so the train begins with the 12th, and spans more than 50 ms 51 ACKs later.
    let mut m = seeded(&[NEVER, ("hystart_detect", "ack_train")], 1).at(100, None);
    let mut acks = 0;
    while m.win.ssthresh.is_none() && acks < 1000 {
        m.path.now += Duration::from_millis(1);
        m.ack(1448);
        acks += 1;
    }
    assert_eq!((acks, m.ssthresh()), (63, 162.0));
    // ACKs 3 ms apart are no train.
    let mut m = seeded(&[NEVER, ("hystart_detect", "ack_train")], 1).at(100, None);
    for _ in 0..200 {
        m.path.now += Duration::from_millis(3);
        m.ack(1448);
    }
    assert_eq!(m.win.ssthresh, None);
}

#[test]
fn cdg_delayed_acks_are_no_samples() {
    let mut m = seeded(&[NEVER, OFF], 1).at(100, Some(2));
    m.ack(2 * 1448);
    m.rtt = Duration::from_millis(140);
    m.ack(1448);
    assert_eq!((m.state("rtt_min"), m.state("rtt_max")), (0.1, 0.1), "an ACK of one segment, after one of two");
    m.ack(1448);
    assert_eq!(m.state("rtt_max"), 0.14, "one of each is expected");
    m.ack(2 * 1448);
    m.rtt = Duration::from_millis(90);
    m.ack(1448);
    assert_eq!(m.state("rtt_min"), 0.09, "a delayed ACK counts if it is below the smallest");
}

#[test]
fn cdg_a_loss_in_a_backoff_reduces_once() {
    let mut m = flat(&CERTAIN, 100);
    m.rtt += Duration::from_millis(1);
    for _ in 0..20 {
        m.ack(1448);
    }
    assert_eq!((m.state("state"), m.ssthresh()), (3.0, 70.0));
    m.loss();
    assert_eq!((m.ssthresh(), m.win.cwnd), (70.0, Bytes::new(70 * 1448)));
}
