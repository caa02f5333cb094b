//! Scalable TCP (Kelly 2003, Linux 6.1 and ns-2's module; the reference's section 25).

use crate::common::{Model, close};

fn model(given: &[(&str, &str)], cwnd: u64) -> Model {
    Model::new("scalable", given, 100).at(cwnd, Some(2))
}

#[test]
fn scalable_linux_growth() {
    let want = [1010.0, 1020.0, 1030.0, 1040.0, 1051.0, 1061.0, 1072.0, 1082.0, 1093.0, 1104.0];
    assert_eq!(model(&[], 1000).rounds(10), want);
    assert_eq!(model(&[], 1000).round_of(2), 1010.0, "octets are counted, so delayed ACKs change nothing");
    assert_eq!(model(&[("per", "50")], 1000).round(), 1020.0, "older kernels and ns-3");
}

#[test]
fn scalable_growth_below_the_count_is_reno() {
    assert_eq!(model(&[], 50).rounds(3), [51.0, 52.0, 53.0]);
    assert_eq!(model(&[], 100).rounds(2), [101.0, 102.0]);
}

#[test]
fn scalable_ssthresh() {
    for profile in ["linux", "ns2"] {
        for (cwnd, left) in [(1000, 875.0), (100, 88.0), (8, 7.0), (7, 7.0), (2, 2.0)] {
            let mut m = model(&[("profile", profile)], cwnd);
            m.loss();
            assert_eq!((m.cwnd(), m.ssthresh()), (left, left), "{profile} from {cwnd}");
        }
    }
}

#[test]
fn scalable_paper_growth() {
    // A hundredth of a segment per ACK: 1 % per round.
    let want: Vec<f64> = (1..=5)
        .scan(1000.0, |w: &mut f64, _| {
            Some({
                *w += w.floor() * 0.01;
                *w
            })
        })
        .collect();
    close(&model(&[("profile", "paper")], 1000).rounds(5), &want, 1e-3);
}

#[test]
fn scalable_recovers_in_13_rounds_at_any_window() {
    for cwnd in [1000.0, 100_000.0] {
        let mut m = model(&[("profile", "paper")], cwnd as u64);
        m.loss();
        close(&[m.cwnd()], &[0.875 * cwnd], 1e-6);
        let windows = m.rounds(14);
        assert!(windows[12] < cwnd && windows[13] >= cwnd, "ln(1 / 0.875) / ln(1.01) = 13.4: {windows:?}");
    }
}

#[test]
fn scalable_legacy_region_is_reno() {
    let paper = ("profile", "paper");
    close(&[model(&[paper], 10).round()], &[10.9586], 1e-3);
    let after_loss = |given: &[(&str, &str)], cwnd| {
        let mut m = model(given, cwnd);
        m.loss();
        m.cwnd()
    };
    assert_eq!(after_loss(&[paper], 16), 8.0);
    assert_eq!(after_loss(&[paper], 32), 28.0);
    assert_eq!(after_loss(&[paper, ("legacy_window", "0")], 16), 14.0);
}

#[test]
fn scalable_ns2_counts_acks() {
    let ns2 = ("profile", "ns2");
    assert_eq!(model(&[ns2], 1020).round(), 1040.0, "a segment per 51 ACKs");
    assert_eq!(model(&[ns2], 1020).round_of(2), 1030.0, "half as many ACKs");
    let mut slow = Model::new("scalable", &[ns2], 100).at(10, None);
    assert_eq!(slow.round_of(2), 15.0, "slow start adds one per ACK");
}
