//! A recovery that goes by time, made of the trait and the scoreboard alone.
//!
//! It shows that [`LossRecovery`] has room for RACK-TLP (RFC 8985), for F-RTO (RFC 5682) and for what they need of an
//! ACK. It is their core and not the whole: a segment is lost once a round-trip time and a reordering window have
//! passed and something sent later has arrived; D-SACKs widen the window; the tail of a flow is probed; a timeout whose
//! second ACK delivers an original was spurious.

use super::harness::*;
use super::loss::{UNIT, config, congestions, number};
use crate::recovery::{AckEvent, Clock, LossRecovery, Next, Recovery, Room, RtoTimer, Verdict};
use crate::scoreboard::Scoreboard;
use crate::segment::flag;
use crate::{Config, RecoveryKind};
use narrows_cc::{Congestion, Phase};
use narrows_units::{Bytes, Duration, Instant};

/// How far F-RTO is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frto {
    Off,
    /// The timer expired.
    Expired,
    /// An ACK advanced; new data leaves.
    Waits,
}

/// A probe in the network.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent (TLP.end_seq).
    end: u64,
    /// Whether it was a retransmission.
    again: bool,
}

#[derive(Debug)]
struct Timed {
    /// RACK.xmit_ts and RACK.end_seq.
    newest: (Instant, u64),
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.reo_wnd_mult.
    widened: u64,
    /// SND.NXT when the window was last widened.
    widened_at: u64,
    reorder_at: Instant,
    probe_at: Instant,
    probe_due: bool,
    probe: Option<Probe>,
    /// Recovery point of fast recovery, and of the Loss phase.
    recovery: Option<u64>,
    loss: Option<u64>,
    frto: Frto,
    disorder: bool,
    /// Whether the first segment of an episode may leave whatever the window allows.
    first: bool,
}

impl Timed {
    fn new() -> Self {
        Self {
            newest: (Instant::ZERO, 0),
            rtt: Duration::ZERO,
            widened: 1,
            widened_at: 0,
            reorder_at: Instant::NEVER,
            probe_at: Instant::NEVER,
            probe_due: false,
            probe: None,
            recovery: None,
            loss: None,
            frto: Frto::Off,
            disorder: false,
            first: false,
        }
    }

    /// RFC 8985, section 6.2, step 5: walks the order of sending up to what is not late yet.
    fn detect(&mut self, clock: &Clock, board: &mut Scoreboard, verdict: &mut Verdict) {
        let quarter = clock.min_rtt.unwrap_or(Duration::ZERO) / 4;
        let wait = self.rtt + (quarter * self.widened).min(clock.srtt.unwrap_or(quarter));
        self.reorder_at = Instant::NEVER;
        while let Some((index, segment)) = board.in_send_order().next() {
            if (segment.sent_at, segment.end()) >= self.newest {
                break;
            }
            if segment.sent_at + wait > clock.now {
                self.reorder_at = segment.sent_at + wait;
                break;
            }
            if segment.has(flag::EVER) {
                verdict.lost_retransmission = Some(segment.sent_at);
            }
            verdict.newly_lost += board.mark_lost_at(index);
        }
        if verdict.newly_lost > 0 && self.recovery.is_none() && self.loss.is_none() {
            verdict.enter = true;
            (self.recovery, self.first, self.probe) = (Some(board.end()), true, None);
            board.restart_retransmission();
        }
    }

    /// RFC 8985, section 7.2.
    fn arm(&mut self, clock: &Clock, board: &Scoreboard) {
        let idle = board.is_empty() || board.any_sacked() || self.probe.is_some();
        self.probe_at = Instant::NEVER;
        if !idle && self.recovery.is_none() && self.loss.is_none() {
            let alone = if board.flight() <= UNIT { ms(200) } else { Duration::ZERO };
            let timeout = clock.srtt.map_or(ms(1000), |srtt| srtt * 2 + alone);
            self.probe_at = (clock.now + timeout).min(clock.rto_at);
        }
    }

    /// RFC 8985, section 7.4.2.
    fn detect_repair(&mut self, ack: &AckEvent, verdict: &mut Verdict) {
        let Some(probe) = self.probe else { return };
        let duplicate = ack.dsack.is_some_and(|(_, right)| right == probe.end) || ack.duplicate;
        if ack.una >= probe.end && (!probe.again || duplicate || ack.una > probe.end) {
            verdict.repaired = probe.again && !duplicate;
            self.probe = None;
        }
    }

    /// RFC 5682, section 3.1: the state after a timeout.
    fn detect_spurious(&mut self, ack: &AckEvent, verdict: &mut Verdict) {
        let Some(recover) = self.loss else { return };
        match self.frto {
            Frto::Expired if ack.acked > 0 && ack.una < recover => self.frto = Frto::Waits,
            Frto::Waits => {
                verdict.spurious = ack.deliveries.original.is_some_and(|start| start < recover);
                self.frto = Frto::Off;
            }
            _ => self.frto = Frto::Off,
        }
    }
}

impl LossRecovery for Timed {
    fn on_ack(&mut self, ack: &AckEvent, board: &mut Scoreboard) -> Verdict {
        let mut verdict = Verdict::default();
        if let Some(newest) = ack.deliveries.newest.filter(|newest| *newest > self.newest) {
            self.newest = newest;
            self.rtt = ack.rtt.unwrap_or(ack.clock.now.since(newest.0));
        }
        if ack.dsack.is_some() && ack.una >= self.widened_at {
            (self.widened, self.widened_at) = (self.widened + 1, ack.nxt);
        }
        for point in [&mut self.recovery, &mut self.loss] {
            if point.is_some_and(|point| ack.una >= point) {
                (*point, verdict.exit) = (None, true);
            }
        }
        self.detect_spurious(ack, &mut verdict);
        self.detect_repair(ack, &mut verdict);
        if !verdict.spurious {
            self.detect(&ack.clock, board, &mut verdict);
        }
        self.disorder = board.any_sacked();
        self.arm(&ack.clock, board);
        verdict
    }

    fn on_timeout(&mut self, nxt: u64, board: &mut Scoreboard) -> u64 {
        (self.recovery, self.loss, self.frto) = (None, Some(nxt), Frto::Expired);
        (self.reorder_at, self.probe_at, self.probe_due, self.probe) = (Instant::NEVER, Instant::NEVER, false, None);
        board.mark_all_lost()
    }

    fn on_undo(&mut self, board: &mut Scoreboard) {
        (self.recovery, self.loss, self.frto) = (None, None, Frto::Off);
        board.clear_lost();
    }

    fn next(&mut self, board: &mut Scoreboard, room: &Room) -> Next {
        if self.probe_due && !board.is_empty() {
            return Next::Probe(if room.new > 0 { None } else { board.last_hole() });
        }
        let waits = self.frto == Frto::Waits && room.new > 0;
        if board.lost() > 0
            && !waits
            && let Some(index) = board.next_hole()
            && let Some(segment) = board.get(index)
            && segment.has(flag::LOST)
        {
            let fits = board.pipe() == 0 || self.first || board.pipe() + u64::from(segment.len) <= room.cwnd;
            return if fits { Next::Retransmit(index) } else { Next::Hold };
        }
        match room.new {
            0 => Next::Idle,
            new if board.pipe() + new <= room.cwnd => Next::New,
            _ => Next::Hold,
        }
    }

    fn on_sent(&mut self, sent: Next, clock: &Clock, board: &Scoreboard) {
        match sent {
            Next::Probe(index) => {
                self.probe_due = false;
                self.probe = Some(Probe { end: board.end(), again: index.is_some() });
            }
            Next::Retransmit(_) => self.first = false,
            _ => {}
        }
        self.arm(clock, board);
    }

    fn is_governed_by_pipe(&self) -> bool {
        true
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn awaits_ack(&self) -> bool {
        self.probe.is_some()
    }

    fn on_plain_ack(&mut self, clock: &Clock, board: &Scoreboard) {
        self.arm(clock, board);
    }

    fn next_timer(&self) -> Instant {
        self.reorder_at.min(self.probe_at)
    }

    fn on_timer(&mut self, clock: &Clock, board: &mut Scoreboard) -> Verdict {
        let mut verdict = Verdict::default();
        if clock.now >= self.reorder_at {
            self.detect(clock, board, &mut verdict);
        }
        if clock.now >= self.probe_at {
            (self.probe_at, self.probe_due) = (Instant::NEVER, true);
            verdict.rto_timer = RtoTimer::Restart;
        }
        verdict
    }

    fn phase(&self) -> Phase {
        match (self.loss, self.recovery, self.disorder) {
            (Some(_), ..) => Phase::Loss,
            (_, Some(_), _) => Phase::Recovery,
            (_, _, true) => Phase::Disorder,
            _ => Phase::Open,
        }
    }
}

/// A connection with this recovery and a first window of `window` segments; `fate` decides what becomes of the
/// transmission of a data segment, by its number, how often it was sent before, and the time.
fn start(window: u32, data: Bytes, mut fate: impl FnMut(u64, usize, Instant) -> Fate + 'static) -> (Net, Diary) {
    let config = Config { undo: true, ..config(RecoveryKind::Sack, window) };
    let cc = reno();
    let diary = cc.diary.clone();
    let mut net = Net::new([config; 2], [cc, reno()], [super::loss::ISS, 5]);
    net.establish();
    net.ends[C].use_recovery(Recovery::own(Box::new(Timed::new())));
    let mut sent = std::collections::BTreeMap::new();
    net.rule = Box::new(move |from, packet, now| {
        if from == S || packet.payload_len == 0 {
            return Fate::Pass;
        }
        let before = sent.entry(number(packet)).or_insert(0);
        *before += 1;
        fate(number(packet), *before - 1, now)
    });
    net.ends[C].write(data);
    (net, diary)
}

/// When segment `n` was sent, in ms.
fn times(net: &Net, n: u64) -> Vec<u64> {
    net.data(C).iter().filter(|d| number(d.1) == n).map(|d| d.0).collect()
}

fn drop_first(lost: &'static [u64]) -> impl FnMut(u64, usize, Instant) -> Fate {
    move |n, before, _| if before == 0 && lost.contains(&n) { Fate::Drop } else { Fate::Pass }
}

#[test]
fn a_hole_is_repaired_when_the_reordering_window_has_passed() {
    let (mut net, diary) = start(10, Bytes::MAX, drop_first(&[3]));
    net.run(at(1_000));
    // The ACKs of the others come at 300 ms. The window is a quarter of the round-trip time.
    assert_eq!(times(&net, 3), [200, 325]);
    let stats = net.ends[C].stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits, congestions(&diary).len()), (0, 1, 1));
    assert_eq!(stats.retransmitted_packets.as_u64(), 1);
}

#[test]
fn reordering_within_the_window_is_no_loss_and_duplicates_widen_it() {
    // Segments 1 and, later, 100 are overtaken by all others of their flight.
    let late =
        |by| move |n, before, _| if before == 0 && (n == 1 || n == 100) { Fate::Late(ms(by)) } else { Fate::Pass };
    let (mut net, _) = start(10, Bytes::MAX, late(20));
    net.run(at(3_000));
    assert_eq!((times(&net, 1).len(), times(&net, 100).len()), (1, 1));
    let (mut net, _) = start(10, Bytes::MAX, late(40));
    net.run(at(3_000));
    assert_eq!(times(&net, 1), [200, 325], "by the timer");
    assert_eq!(times(&net, 100).len(), 1, "the D-SACK widened the window to half a round-trip time");
    let stats = net.ends[C].stats();
    assert_eq!((stats.spurious, stats.timeouts), (1, 0));
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    let twice = |n, before, _| if n == 1 && before < 2 { Fate::Drop } else { Fate::Pass };
    let (mut net, diary) = start(20, Bytes::MAX, twice);
    net.run(at(3_000));
    // What left at 400 ms, after the retransmission, is SACKed at 500 ms.
    assert_eq!(times(&net, 1), [200, 325, 500]);
    assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 2), "a second indication");
}

#[test]
fn the_end_of_a_flow_is_probed() {
    // Two segments are outstanding from 300 ms on, and the probe is the last. Its SACK shows that 9 is late.
    let (mut net, diary) = start(10, Bytes::new(10 * UNIT), drop_first(&[9, 10]));
    net.run(at(3_000));
    assert_eq!((times(&net, 10), times(&net, 9)), (vec![200, 500], vec![200, 600]));
    assert_eq!(net.ends[C].acked(), Bytes::new(10 * UNIT));
    assert_eq!((net.ends[C].stats().timeouts, congestions(&diary).len()), (0, 1));
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window() {
    let (mut net, diary) = start(10, Bytes::new(10 * UNIT), drop_first(&[10]));
    net.run(at(1_000));
    // A single segment may wait for a delayed ACK.
    assert_eq!(times(&net, 10), [200, 700]);
    assert_eq!(congestions(&diary).len(), 0, "nothing shows yet whether 10 was lost");
    net.ends[C].write(Bytes::new(10 * UNIT));
    net.run(at(3_000));
    assert_eq!(congestions(&diary).len(), 1);
    let stats = net.ends[C].stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0));
}

#[test]
fn a_probe_of_new_data_restarts_the_retransmission_timer() {
    // All of the first flight and the probe are lost.
    let lost = |n, before, _| if n <= 5 && before == 0 { Fate::Drop } else { Fate::Pass };
    let (mut net, _) = start(4, Bytes::MAX, lost);
    net.run(at(1_450));
    assert_eq!((times(&net, 5), times(&net, 1)), (vec![400], vec![200, 1_400]), "2 SRTT, then an RTO of a second");
    assert_eq!(net.ends[C].stats().timeouts, 1);
    net.run(at(3_000));
    assert!(net.ends[C].acked() > Bytes::new(5 * UNIT));
}

#[test]
fn a_timeout_that_a_delay_caused_is_undone() {
    // All that leaves in the first second arrives together at 1420 ms, after the timeout at 1400 ms.
    let stall = |_, _, now: Instant| if now < at(1_300) { Fate::Late(at(1_370).since(now)) } else { Fate::Pass };
    let (mut net, diary) = start(4, Bytes::MAX, stall);
    net.run(at(1_469));
    assert_eq!((net.ends[C].stats().timeouts, net.ends[C].info().phase), (1, Phase::Loss));
    net.run(at(1_471));
    assert_eq!((net.ends[C].stats().spurious, net.ends[C].info().phase), (1, Phase::Open));
    assert!(net.ends[C].info().cwnd >= Bytes::new(4 * UNIT));
    assert_eq!((times(&net, 1), times(&net, 2)), (vec![200, 1_400], vec![200]), "new data left in place of 2");
    assert!(diary.lock().unwrap().contains(&Told::Undo));
    assert_eq!(congestions(&diary)[0].0, Congestion::Timeout { repeated: false });
    net.run(at(3_000));
    assert_eq!(net.ends[C].stats().timeouts, 1);
}

#[test]
fn a_closed_connection_has_no_timer_left() {
    let (mut net, _) = start(10, Bytes::new(10 * UNIT), drop_first(&[10]));
    net.run(at(400));
    assert_ne!(net.ends[C].poll_timeout(), Instant::NEVER);
    net.ends[C].abort();
    net.poll();
    assert_eq!(net.ends[C].poll_timeout(), Instant::NEVER);
}

#[test]
fn other_recoveries_run_no_timer() {
    let (mut net, _) = super::loss::start(config(RecoveryKind::Sack, 10), &[3]);
    net.run(at(310));
    assert_eq!(net.ends[C].recovery_timer(), Instant::NEVER);
}
