//! DCTCP (the reference's section 31; RFC 8257).

use crate::common::{Model, close, params};

fn at_100(profile: &str, alpha: &str) -> Model {
    Model::new("dctcp", &[("profile", profile), ("alpha", alpha)], 10).at(100, Some(50))
}

#[test]
fn dctcp_echo_reduces_by_half_of_alpha() {
    for profile in ["linux", "rfc8257"] {
        for (alpha, cwnd) in [("1", 50.0), ("0.5", 75.0), ("0.0625", 97.0), ("0", 100.0)] {
            let mut m = at_100(profile, alpha);
            m.ecn();
            // 100 - 100/32 is 96.875: Linux removes whole segments.
            let expected = if profile == "rfc8257" && alpha == "0.0625" { 96.875 } else { cwnd };
            close(&[m.cwnd(), m.ssthresh()], &[expected, expected], 1e-5);
        }
    }
}

#[test]
fn dctcp_loss_halves() {
    for profile in ["linux", "rfc8257"] {
        let mut m = at_100(profile, "0.0625");
        m.loss();
        assert_eq!((m.cwnd(), m.ssthresh()), (50.0, 50.0));
        let mut m = at_100(profile, "0.0625");
        m.timeout(false);
        assert_eq!((m.cwnd(), m.ssthresh()), (1.0, 50.0));
    }
}

#[test]
fn dctcp_alpha_moves_once_per_window() {
    for profile in ["linux", "rfc8257"] {
        let mut m = at_100(profile, "1");
        let mut seen = vec![m.state("alpha")];
        for _ in 0..1000 {
            m.path.now += m.rtt / 100;
            m.ack(1448);
            let alpha = m.state("alpha");
            if alpha != seen[seen.len() - 1] {
                seen.push(alpha);
            }
        }
        // 1000 segments are nearly ten windows of 100 and more; one more ends with the first ACK.
        assert!((10..=11).contains(&(seen.len() - 1)), "{profile}: {seen:?}");
        close(&seen[..3], &[1.0, 0.9375, 0.878_906], 1e-3);
    }
}

#[test]
fn dctcp_linux_ends_a_window_with_the_ack_that_reaches_its_end() {
    // The last segment of the first window of ten is marked. In Linux its ACK ends the window and is counted in it; in
    // RFC 8257 the next ACK ends the window, so that the window has eleven.
    let marked_last = |profile| {
        let mut m = Model::new("dctcp", &[("profile", profile), ("alpha", "0")], 10);
        let mut after = |n: u64| {
            m.marking = n == 10;
            m.ack(1448);
            (m.state("alpha"), m.state("bytes_delivered"))
        };
        for n in 1..=8 {
            after(n);
        }
        [9, 10, 11].map(after)
    };
    let tenth = f64::from(64 / 10) / 1024.0;
    assert_eq!(marked_last("linux"), [(0.0, 9.0 * 1448.0), (tenth, 0.0), (tenth, 1448.0)]);
    let rfc = marked_last("rfc8257");
    assert_eq!((rfc[1], rfc[2].1), ((0.0, 14_480.0), 0.0));
    close(&[rfc[2].0], &[1.0 / 11.0 / 16.0], 1e-9);
}

#[test]
fn dctcp_grows_as_reno() {
    for profile in ["linux", "rfc8257"] {
        let mut m = at_100(profile, "1");
        assert_eq!(m.rounds(3), [101.0, 102.0, 103.0]);
        let mut m = Model::new("dctcp", &[("profile", profile)], 10);
        assert_eq!(m.rounds(3), [20.0, 40.0, 80.0]);
    }
}

#[test]
fn a_queue_that_marks_half_of_each_window_settles_at_three_quarters() {
    let mut m = at_100("rfc8257", "0");
    for i in 0..20_000 {
        m.marking = i % 2 == 0;
        m.path.now += m.rtt / 100;
        m.ack(1448);
    }
    close(&[m.state("alpha")], &[0.5], 0.02);
    let before = m.cwnd();
    m.ecn();
    close(&[m.cwnd()], &[0.75 * before], 0.01);
}

#[test]
fn dctcp_and_prague_alone_ask_to_hear_of_a_loss_after_an_echo() {
    for row in narrows_cc::registry() {
        let cc = (row.build)(&params(row, &[]));
        assert_eq!(cc.needs().loss_after_echo, matches!(row.name, "dctcp" | "prague"), "{}", row.name);
    }
}
