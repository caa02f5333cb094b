//! The variants that combine Reno's window rules with a recovery of their own (the reference's sections 3, 5, 6 and 8).

use crate::common::Model;

/// Slow start, avoidance, a loss, an echo and a timeout give the same windows as `reno` at each step; checks the
/// recovery's name.
fn is_reno_with_its_recovery(name: &str) {
    let row = narrows_cc::find(name).unwrap();
    let reno = narrows_cc::find("reno").unwrap();
    assert_eq!(row.recovery, Some(name));
    assert_eq!((row.params, reno.recovery), (reno.params, None));
    for profile in ["rfc5681", "linux", "ns2"] {
        let windows = |name: &str| {
            let mut m = Model::new(name, &[("profile", profile)], 100).at(10, Some(40));
            let mut seen = m.rounds(6);
            m.loss();
            seen.push(m.cwnd());
            seen.extend(m.rounds(4));
            m.timeout(false);
            seen.push(m.ssthresh());
            seen.extend(m.rounds(6));
            seen
        };
        let ours = windows(name);
        assert_eq!(ours, windows("reno"), "{name}, {profile}");
        assert!(ours[5] > 40.0 && ours[6] < 40.0, "{ours:?}");
    }
}

#[test]
fn newreno_is_reno_with_its_recovery() {
    is_reno_with_its_recovery("newreno");
}

#[test]
fn sack_is_reno_with_its_recovery() {
    is_reno_with_its_recovery("sack");
}

#[test]
fn fack_is_reno_with_its_recovery() {
    is_reno_with_its_recovery("fack");
}

#[test]
fn tahoe_is_reno_with_its_recovery() {
    is_reno_with_its_recovery("tahoe");
}
