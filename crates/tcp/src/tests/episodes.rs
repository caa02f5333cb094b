//! Episodes of Tahoe and of FACK.

use super::harness::*;
use super::loss::{UNIT, congestions, cwnd, first_at, sent, start};
use crate::{Config, RecoveryKind};
use narrows_cc::{Congestion, Phase};
use narrows_units::Bytes;

fn config(recovery: RecoveryKind, window: u32) -> Config {
    Config { sack: recovery == RecoveryKind::Fack, ..super::loss::config(recovery, window) }
}

#[test]
fn tahoe_starts_anew_from_one_segment() {
    let (mut net, diary) = start(config(RecoveryKind::Tahoe, 16), &[1]);
    net.run(at(399));
    assert_eq!(sent(&net, 300), [1], "the hole, and no window for more");
    assert_eq!((cwnd(&net), net.ends[C].info().phase), (1.0, Phase::Loss));
    assert_eq!(net.ends[C].info().ssthresh, Some(Bytes::new(8 * UNIT)));
    assert_eq!(congestions(&diary), [(Congestion::Loss { lost: Bytes::new(16 * UNIT) }, 16 * UNIT)]);
    // Slow start to 8, then one more segment per round trip; in whole bytes, so a little less than with real numbers.
    let expected = [1.0, 2.0, 4.0, 8.0, 8.951, 9.808, 10.691, 11.592, 12.508];
    for (round, expected) in expected.into_iter().enumerate() {
        net.run(at(399 + 100 * round as u64));
        assert!((cwnd(&net) - expected).abs() < 0.05, "round {round}: {} and not {expected}", cwnd(&net));
    }
    assert_eq!(net.ends[C].stats().timeouts, 0);
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 1, "what the receiver has is passed over");
}

#[test]
fn tahoe_goes_back_and_sends_again_what_follows_the_hole() {
    let (mut net, diary) = start(config(RecoveryKind::Tahoe, 10), &[1, 4]);
    net.run(at(499));
    assert_eq!(sent(&net, 400), [4, 5], "5 has arrived, but nothing says so");
    assert_eq!(congestions(&diary).len(), 1, "one reduction for the window");
    net.run(at(599));
    assert_eq!(sent(&net, 500)[0], 11, "the ACK of 4 jumps");
    net.run(at(1_000));
    assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 1));
}

#[test]
fn tahoe_reduces_once_per_window() {
    // After five holes the window of slow start is large enough that three segments are sent again needlessly; their
    // duplicate ACKs come when all that was outstanding is acknowledged.
    let (mut net, diary) = start(config(RecoveryKind::Tahoe, 40), &[1, 2, 3, 4, 6, 8, 12]);
    net.run(at(3_000));
    assert!(net.ends[C].stats().retransmitted_packets.as_u64() > 10, "some for nothing");
    assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 1));
}

#[test]
fn a_timeout_in_tahoe_is_one_more_reduction_of_the_same_flight() {
    let (mut net, diary) = start(config(RecoveryKind::Tahoe, 16), &[1, 1]);
    net.run(at(1_250));
    let half = Some(Bytes::new(8 * UNIT));
    assert_eq!((net.ends[C].stats().timeouts, net.ends[C].info().ssthresh), (1, half));
    assert_eq!(congestions(&diary)[1], (Congestion::Timeout { repeated: false }, 16 * UNIT));
    net.run(at(2_000));
    assert_eq!(congestions(&diary).len(), 2);
}

#[test]
fn fack_enters_on_the_first_sack_beyond_three_segments() {
    let (mut net, diary) = start(config(RecoveryKind::Fack, 10), &[1, 2, 3, 4]);
    first_at(&mut net, 300);
    // SACK of 5: snd.fack is 6, SND.UNA is 1.
    assert_eq!(net.ends[C].info().phase, Phase::Recovery);
    assert_eq!(congestions(&diary), [(Congestion::Loss { lost: Bytes::new(4 * UNIT) }, 10 * UNIT)]);
    assert_eq!(net.ends[C].info().inflight, Bytes::new(5 * UNIT), "awnd: 6 to 10");
    // Three segments are not more than three.
    let (mut net, _) = start(config(RecoveryKind::Fack, 10), &[1, 2]);
    first_at(&mut net, 300);
    assert_eq!(net.ends[C].info().phase, Phase::Disorder);
}

#[test]
fn fack_repairs_four_losses_of_ten() {
    let (mut net, diary) = start(config(RecoveryKind::Fack, 10), &[1, 2, 3, 4]);
    net.run(at(399));
    // cwnd 5 and awnd 5: the hole first, whatever the window allows; then one segment for each SACK but the first of
    // them.
    assert_eq!(sent(&net, 300), [1, 2, 3, 4, 11]);
    net.run(at(600));
    assert_eq!(net.ends[C].stats().retransmitted_packets.as_u64(), 4);
    assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 1));
    assert_eq!(net.ends[C].info().phase, Phase::Open);
}

#[test]
fn fack_leaves_holes_out_of_the_window_before_an_episode() {
    let config = Config { limited_transmit: true, ..config(RecoveryKind::Fack, 10) };
    let (mut net, _) = start(config, &[1, 2]);
    first_at(&mut net, 300);
    net.poll();
    // SACK of 3: awnd is 7 of 10, so three new segments; by pipe it would be one.
    assert_eq!(sent(&net, 300), [11, 12, 13]);
}
