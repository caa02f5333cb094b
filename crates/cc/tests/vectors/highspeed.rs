//! HighSpeed TCP (RFC 3649, Linux 6.1 and ns-2; the reference's section 22).

use crate::common::{Model, close};
use narrows_cc::algorithms::highspeed::{Step, a, a_ns2_agent, b, table};

const LINUX: (&str, &str) = ("profile", "linux");

/// RFC 3649, appendix B, with the decrease in 1/256 as Linux holds it: window and decrease for a = 1 to 72.
const PUBLISHED: [(u64, u64); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10661, 52),
    (11358, 52),
    (12082, 51),
    (12834, 50),
    (13614, 49),
    (14424, 48),
    (15265, 48),
    (16137, 47),
    (17042, 46),
    (17981, 45),
    (18955, 45),
    (19965, 44),
    (21013, 43),
    (22101, 43),
    (23230, 42),
    (24402, 41),
    (25618, 41),
    (26881, 40),
    (28193, 39),
    (29557, 39),
    (30975, 38),
    (32450, 38),
    (33986, 37),
    (35586, 36),
    (37253, 36),
    (38992, 35),
    (40808, 35),
    (42707, 34),
    (44694, 33),
    (46776, 33),
    (48961, 32),
    (51258, 32),
    (53677, 31),
    (56230, 30),
    (58932, 30),
    (61799, 29),
    (64851, 28),
    (68113, 28),
    (71617, 27),
    (75401, 26),
    (79517, 26),
    (84035, 25),
    (89053, 24),
];

#[test]
fn highspeed_table() {
    assert_eq!(table().map(|Step { cwnd, md }| (cwnd, md)), PUBLISHED);
}

#[test]
fn highspeed_a_and_b() {
    close(&[a(118.0), b(118.0)], &[2.006, 0.4411], 1e-3);
    close(&[a(10_661.0), b(10_661.0)], &[30.0, 0.2068], 1e-3);
    close(&[a(83_000.0), b(83_000.0)], &[70.7, 0.1], 1e-3);
    assert_eq!([a(38.0), b(38.0), a(1.0), b(1.0), a(0.0), b(0.0)], [1.0, 0.5, 1.0, 0.5, 1.0, 0.5]);
    assert_eq!(b(1e9), 0.1, "a loss always takes something");
}

#[test]
fn highspeed_rfc3649_follows_a_and_b() {
    let mut m = Model::new("highspeed", &[], 100).at(10_661, Some(2));
    close(&[m.round() - 10_661.0], &[a(10_661.0)], 5e-3);
    let mut m = Model::new("highspeed", &[], 100).at(10_661, Some(2));
    assert_eq!(m.round_of(2).round(), 10_691.0, "delayed ACKs change nothing");
    for (cwnd, share) in [(118_u64, 0.4411), (1000, b(1000.0)), (83_000, 0.1)] {
        let mut m = Model::new("highspeed", &[], 100).at(cwnd, Some(2));
        m.loss();
        close(&[m.cwnd(), m.ssthresh()], &[cwnd as f64 * (1.0 - share); 2], 1e-3);
    }
}

#[test]
fn highspeed_linux_growth() {
    let from = |cwnd| Model::new("highspeed", &[LINUX], 100).at(cwnd, Some(2)).rounds(5);
    assert_eq!(from(1000), [1007.0, 1015.0, 1023.0, 1031.0, 1039.0]);
    assert_eq!(from(38), [39.0, 40.0, 42.0, 44.0, 46.0]);
}

#[test]
fn highspeed_linux_reduces_by_the_row() {
    let mut m = Model::new("highspeed", &[LINUX], 100).at(1000, Some(2));
    m.ack(1448);
    assert_eq!(m.state("ai") + 1.0, 8.0, "a = 8 at 1000");
    m.loss();
    assert_eq!((m.cwnd(), m.ssthresh()), (676.0, 676.0), "1000 * 83 / 256 = 324");
    assert_eq!(m.state("snd_cwnd_cnt"), 0.0);
    // The row found at 1000 is used until the next ACK in congestion avoidance.
    m.timeout(false);
    assert_eq!(m.ssthresh(), 676.0 - 219.0, "676 * 83 / 256 = 219");
}

#[test]
fn highspeed_linux_halves_after_the_first_slow_start() {
    for profile in ["linux", "ns2"] {
        let mut m = Model::new("highspeed", &[("profile", profile)], 100).at(1000, None);
        m.loss();
        assert_eq!(m.cwnd(), 500.0, "{profile}");
    }
    let mut rfc = Model::new("highspeed", &[], 100).at(1000, None);
    rfc.loss();
    close(&[rfc.cwnd()], &[1000.0 * (1.0 - b(1000.0))], 1e-3);
}

#[test]
fn highspeed_low_windows_are_reno() {
    for profile in ["linux", "ns2"] {
        let mut m = Model::new("highspeed", &[("profile", profile)], 100).at(20, Some(2));
        assert_eq!(m.rounds(3), [21.0, 22.0, 23.0], "{profile}");
        m.loss();
        assert_eq!(m.cwnd(), 12.0, "{profile}: 23 - 23 * 128 / 256");
    }
    for profile in ["rfc3649", "ns2_agent"] {
        let mut m = Model::new("highspeed", &[("profile", profile)], 100).at(10, Some(2));
        close(&m.rounds(3), &[10.9586, 11.8393, 12.7375], 1e-3);
        let before = m.cwnd();
        m.loss();
        close(&[m.cwnd()], &[before / 2.0], 1e-3);
    }
}

#[test]
fn highspeed_linux_counts_acks() {
    let mut m = Model::new("highspeed", &[LINUX], 100).at(1000, Some(2));
    assert_eq!(m.round_of(2), 1003.0, "half as many ACKs: 4000 counted, and the fourth segment takes 4006");
    let slow = |profile| Model::new("highspeed", &[("profile", profile)], 100).at(10, None).round_of(2);
    assert_eq!((slow("linux"), slow("ns2")), (20.0, 15.0));
}

#[test]
fn highspeed_response_function() {
    // The window that a loss every 1/p segments sustains: w = 0.12 / p^0.835 (RFC 3649, section 5), so p = 1 /
    // (segments per cycle) from the window after a loss to the window before the next.
    for p in [1e-4, 1e-5] {
        let w = 0.12 / libm::pow(p, 0.835);
        let mut m = Model::new("highspeed", &[], 100).at(w as u64, Some(2));
        let (mut sent, mut sum, mut rounds) = (0.0, 0.0, 0.0);
        for _ in 0..3000 {
            let before = m.cwnd();
            m.round();
            (sent, sum, rounds) = (sent + before, sum + before, rounds + 1.0);
            if sent >= 1.0 / p {
                sent -= 1.0 / p;
                m.loss();
            }
        }
        close(&[sum / rounds], &[w], 0.15);
    }
}

#[test]
fn highspeed_ns2_agent_halves_first() {
    let mut m = Model::new("highspeed", &[("profile", "ns2_agent")], 100).at(1000, None);
    m.loss();
    assert_eq!(m.cwnd(), 500.0);
    m = m.at(1000, Some(500));
    m.loss();
    close(&[m.cwnd()], &[1000.0 * (1.0 - b(1000.0))], 1e-3);
}

#[test]
fn highspeed_ns2_agent_response_is_a_line_in_logarithms() {
    // At both ends of the line: p = 1.5 / 38^2, and 1e-7 at 83 000.
    close(&[a_ns2_agent(38.001)], &[1.0], 1e-3);
    close(&[a_ns2_agent(83_000.0)], &[83_000.0 * 83_000.0 * 1e-7 * 0.2 / 1.9], 1e-3);
    // In the middle of the logarithms p is the geometric mean.
    let (w, p) = ((38.0_f64 * 83_000.0).sqrt(), (1.5_f64 / (38.0 * 38.0) * 1e-7).sqrt());
    close(&[a_ns2_agent(w)], &[w * w * p / (1.0 / 0.3 - 0.5)], 1e-3);
    let mut m = Model::new("highspeed", &[("profile", "ns2_agent")], 100).at(1776, Some(2));
    close(&[m.round() - 1776.0], &[a_ns2_agent(1776.0)], 1e-2);
}

#[test]
fn highspeed_linux_finds_a_lower_row_again() {
    let mut m = Model::new("highspeed", &[LINUX], 100).at(1000, Some(2));
    m.ack(1448);
    // The row of a window holds up to and including that window: 118 is the last one with a = 2.
    for (cwnd, a) in [(500, 6.0), (119, 3.0), (118, 2.0), (39, 2.0), (38, 1.0)] {
        m = m.at(cwnd, Some(2));
        m.ack(1448);
        assert_eq!(m.state("ai") + 1.0, a, "at {cwnd}");
    }
}
