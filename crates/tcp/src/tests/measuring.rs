//! The phase in which an ACK is measured. Linux calls `pkts_acked` and `in_ack_event` before `tcp_fastretrans_alert`,
//! so the ACK that ends a recovery still belongs to it, and the one that begins it does not yet.

use super::harness::*;
use crate::{Config, Connection, DelayedAck, InitialWindow, Reduction};
use narrows_cc::{Ack, Congestion, CongestionControl, Needs, Params, Path, Phase, Window, find};
use narrows_units::{Bytes, Duration, SeqNum};
use std::sync::{Arc, Mutex};

/// What is noted of an ACK: the octets it acknowledges, the phase where it is measured, and the phase where the window
/// may grow.
type Seen = Arc<Mutex<Vec<(u64, Phase, Option<Phase>)>>>;

/// A window of 20 segments that a loss halves.
#[derive(Debug, Default)]
struct Observer {
    seen: Seen,
}

impl CongestionControl for Observer {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        win.cwnd = path.smss * 20;
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.seen.lock().unwrap().push((ack.acked.as_u64(), path.phase, None));
    }

    fn on_ack(&mut self, _ack: &Ack, path: &Path, _win: &mut Window) {
        if let Some(last) = self.seen.lock().unwrap().last_mut() {
            last.2 = Some(path.phase);
        }
    }

    fn on_congestion(&mut self, _event: &Congestion, path: &Path, win: &mut Window) {
        win.cwnd = path.smss * 10;
        win.ssthresh = Some(win.cwnd);
    }
}

fn config() -> Config {
    Config {
        mss: 1000,
        timestamps: false,
        reduction: Reduction::PrrLinux,
        delayed_ack: DelayedAck::Off,
        ..Config::default()
    }
}

/// A connection with `cc`, whose data segments with these numbers are lost once.
fn net(cc: Box<dyn CongestionControl>, config: Config, lost: &'static [u64]) -> Net {
    let [client, server] = addresses();
    let none = (find("none").unwrap().build)(&Params::default());
    let mut net = Net::with([
        Connection::connect(config, cc, None, client, server, SeqNum::new(0)),
        Connection::listen(config, none, None, server, client, SeqNum::new(0)),
    ]);
    net.establish();
    let mut waiting = lost.to_vec();
    net.rule = Box::new(move |from, packet, _| {
        let number = u64::from(packet.tcp().unwrap().seq.as_u32() - 1) / 1000 + 1;
        match waiting.iter().position(|&n| n == number && from == C && packet.payload_len > 0) {
            Some(i) => {
                waiting.swap_remove(i);
                Fate::Drop
            }
            None => Fate::Pass,
        }
    });
    net
}

#[test]
fn an_ack_is_measured_in_the_phase_that_it_finds() {
    let seen = Seen::default();
    let mut net = net(Box::new(Observer { seen: Arc::clone(&seen) }), config(), &[5]);
    net.ends[C].write(Bytes::new(60_000));
    net.run(at(3_000));
    assert_eq!(net.ends[C].acked(), Bytes::new(60_000));
    let seen = seen.lock().unwrap();
    let first = seen.iter().position(|s| s.0 == 0).unwrap();
    let measured: Vec<Phase> = seen[first..first + 4].iter().map(|s| s.1).collect();
    assert_eq!(measured, [Phase::Open, Phase::Disorder, Phase::Disorder, Phase::Recovery], "the third enters Recovery");
    assert_eq!(seen[first].2, Some(Phase::Disorder), "the window may grow in the phase after it");
    let last = seen.iter().rposition(|s| s.1 == Phase::Recovery).unwrap();
    assert!(seen[last].0 > 1000, "it acknowledges what was above the hole: {:?}", seen[last]);
    assert!(seen[last + 1..].iter().all(|s| s.1 == Phase::Open));
}

/// The largest `name` in the state of the algorithm `cc`, in its profile of Linux (or else ns-2), over a run of 400
/// segments with delayed ACKs and five losses.
fn most(cc: &str, name: &str) -> f64 {
    let row = find(cc).unwrap();
    let profile = row.profile("linux").or(row.profile("ns2")).unwrap();
    let params = Params::new(vec![("profile".to_owned(), narrows_cc::ParamValue::Choice(profile.to_owned()))]);
    let config = Config {
        delayed_ack: DelayedAck::On { every: 2, timeout: Duration::from_millis(40) },
        initial_window: InitialWindow::Segments(40),
        initial_ssthresh: Some(Bytes::new(40_000)),
        timestamps: true,
        ..config()
    };
    // Timestamps take 12 octets of each segment.
    let mut net = net((row.build)(&params), Config { mss: 1012, ..config }, &[41, 140, 230, 310, 370]);
    net.ends[C].write(Bytes::new(400_000));
    let mut most: f64 = 0.0;
    for step in 1..300 {
        net.run(at(20 * step));
        net.ends[C].cc().state(&mut |n, v| most = if n == name { most.max(v) } else { most });
    }
    assert_eq!(net.ends[C].acked(), Bytes::new(400_000));
    assert!(net.ends[C].stats().fast_retransmits >= 5);
    most
}

#[test]
fn bics_delayed_ack_ratio_is_two_segments_whatever_is_lost() {
    // In sixteenths. The cumulative ACK that ends a recovery covers a window of segments.
    let ratio = most("bic", "delayed_ack");
    assert!((29.0..=32.0).contains(&ratio), "{ratio}");
}
