//! What the two ends of a flow report about it.

use crate::cc_info::CcInfo;
use crate::tcp_info::no_total;
use crate::{SenderPart, SenderState, TcpInfo};
use narrows_fabric::Source;
use narrows_samples::{DatagramTotal, FlowRow, FlowTotal, Histogram, NONE};
use narrows_units::{Duration, Instant};

/// A flow as its two ends saw it. Values that only the network knows (`arrived_*`, `lost_packets`) or only per-ACK
/// records have (`rtt_*` except the smallest, fast retransmits ..) are "no value" here.
#[derive(Debug)]
pub struct FlowRecord {
    /// Samples over time, if the scenario samples.
    pub rows: Vec<FlowRow>,
    /// State of the sender over time, if the scenario asks for it.
    pub states: Vec<SenderState>,
    /// Totals over its whole life.
    pub total: FlowTotal,
    /// Round-trip times in nanoseconds, from reads of `TCP_INFO` (every millisecond if flows are few): a substitute
    /// where there are no per-ACK records.
    pub srtt: Histogram,
    /// Those of them after the sender had closed, each with its count: the kernel makes no per-ACK records then.
    pub closing: Vec<(u64, u64)>,
    /// How late the flow's thread was, in nanoseconds, whenever its application or a sample was due.
    pub lateness: Histogram,
    /// The kernel's state of the sender's connection at the end; `None` for UDP, and for a flow that did not start.
    pub last: Option<TcpInfo>,
    /// Congestion control that the sender's socket had at the end; `None` likewise.
    pub control: Option<String>,
    /// When its application was to start.
    pub start: Instant,
    /// Its application, with its requests.
    pub source: Source,
    /// What its datagrams measured.
    pub datagrams: Option<DatagramTotal>,
}

/// A flow's counters and samples while it runs.
#[derive(Debug)]
pub(super) struct FlowRecorder {
    flow: usize,
    /// Time between rows; `None` keeps none.
    every: Option<Duration>,
    /// When the next row is due.
    pub(super) row_at: Instant,
    rows: Vec<FlowRow>,
    states: Vec<SenderState>,
    srtt: Histogram,
    closing: Vec<(u64, u64)>,
    seen: Option<Seen>,
    lateness: Histogram,
    /// Datagrams sent, and their payload.
    pub(super) datagrams: u64,
    pub(super) datagram_bytes: u64,
    pub(super) finished: Option<Instant>,
    pub(super) aborted: Option<Instant>,
}

impl FlowRecorder {
    /// Starts the counters of a flow whose rows begin at `from`.
    pub(super) fn new(flow: usize, every: Option<Duration>, from: Instant) -> Self {
        Self {
            flow,
            every,
            // The same times as in the simulator: multiples of the interval, from the start on.
            row_at: every.map_or(Instant::NEVER, |every| first_sample(from, every)),
            rows: Vec::new(),
            states: Vec::new(),
            srtt: Histogram::default(),
            closing: Vec::new(),
            seen: None,
            lateness: Histogram::default(),
            datagrams: 0,
            datagram_bytes: 0,
            finished: None,
            aborted: None,
        }
    }

    /// Records that an action due at `due` was done at `now`.
    pub(super) fn late(&mut self, due: Instant, now: Instant) {
        self.lateness.record(now.since(due).as_nanos());
    }

    /// Takes samples of the flow, and adds a row if one is due; returns whether it was. `info` is the state of the
    /// sender's connection, and whether that end sent the SYN; `delivered` is the number of bytes that the receiver has
    /// read.
    pub(super) fn sample(&mut self, now: Instant, info: Option<(TcpInfo, bool)>, delivered: u64) -> bool {
        if let Some((info, _)) = &info {
            self.round_trips(info);
        }
        let Some(every) = self.every.filter(|_| now >= self.row_at) else { return false };
        self.row_at = next_sample(now, every);
        let row = info.map_or_else(|| self.datagram_row(), |(info, opened)| info.row(opened));
        self.rows.push(FlowRow { time_ns: now.as_nanos(), flow: self.flow as u64, delivered_bytes: delivered, ..row });
        true
    }

    /// Records what the kernel reports of a sender: its connection, and its congestion control `control` if that
    /// reports anything.
    pub(super) fn state(&mut self, at: Instant, info: &TcpInfo, cc: Option<CcInfo>, control: &str, paced: bool) {
        let states = &mut self.states;
        let mut keep = |of, variable, value| states.push(SenderState { at, of, variable, value });
        if let Some(cc) = cc {
            cc.state(control, &mut |variable, value| keep(SenderPart::Cc, variable, value));
        }
        info.state(paced, &mut |variable, value| keep(SenderPart::Connection, variable, value));
    }

    /// Records the round-trip times since the previous read.
    fn round_trips(&mut self, info: &TcpInfo) {
        let Some(now) = Seen::of(info) else { return };
        let (rtt, times) = now.samples_since(self.seen);
        self.seen = Some(now);
        if times > 0 {
            self.srtt.record_many(rtt, times);
            if info.has_closed() {
                self.closing.push((rtt, times));
            }
        }
    }

    fn datagram_row(&self) -> FlowRow {
        FlowRow {
            cwnd_bytes: NONE,
            ssthresh_bytes: NONE,
            srtt_ns: NONE,
            rtt_ns: NONE,
            rto_ns: NONE,
            rwnd_bytes: NONE,
            flightsize_bytes: NONE,
            inflight_bytes: NONE,
            sent_bytes: self.datagram_bytes,
            sent_packets: self.datagrams,
            lost_packets: NONE,
            arrived_bytes: NONE,
            ..FlowRow::default()
        }
    }

    /// Makes the record of a flow that has ended.
    pub(super) fn close(
        self,
        life: &Life,
        last: Option<TcpInfo>,
        control: Option<String>,
        source: Source,
    ) -> FlowRecord {
        let sender = last.map_or_else(
            || FlowTotal {
                sent_bytes: self.datagram_bytes,
                sent_packets: self.datagrams,
                retransmitted_packets: 0,
                retransmitted_bytes: 0,
                timeouts: 0,
                ..no_total()
            },
            |info| info.total(),
        );
        let given_up = self.aborted.unwrap_or(Instant::NEVER);
        let total = FlowTotal {
            start_ns: life.start.min(life.stop).min(life.end).as_nanos(),
            stop_ns: self.finished.unwrap_or(life.stop.min(given_up)).min(life.end).as_nanos(),
            delivered_bytes: life.delivered,
            transactions: life.transactions,
            finished_ns: self.finished.map_or(NONE, |at| at.as_nanos()),
            aborted_ns: self.aborted.map_or(NONE, |at| at.as_nanos()),
            ..sender
        };
        FlowRecord {
            rows: self.rows,
            states: self.states,
            total,
            srtt: self.srtt,
            closing: self.closing,
            lateness: self.lateness,
            last,
            control,
            start: life.start,
            source,
            datagrams: None,
        }
    }
}

/// What one read of `TCP_INFO` shows of the connection's round-trip times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    srtt_ns: u64,
    delivered: u32,
    segments: u32,
}

impl Seen {
    /// `None` before the first sample. On a kernel that does not count deliveries (before Linux 4.18), each change of
    /// the smoothed value counts as a sample.
    pub(crate) fn of(info: &TcpInfo) -> Option<Self> {
        let srtt_ns = info.srtt_ns()?;
        let delivered = info.delivered().unwrap_or(srtt_ns as u32);
        Some(Self { srtt_ns, delivered, segments: info.received_segments().unwrap_or(0) })
    }

    /// Returns the samples since the previous read: their value and their number. A single sample is computed from the
    /// smoothed value before and after it, which it moved by an eighth (RFC 6298, section 2.3). For several, the
    /// smoothed value is used.
    pub(crate) fn samples_since(self, before: Option<Self>) -> (u64, u64) {
        let Some(before) = before else { return (self.srtt_ns, 1) };
        let delivered = self.delivered.wrapping_sub(before.delivered);
        if delivered == 0 {
            return (self.srtt_ns, 0);
        }
        let acks = self.segments.wrapping_sub(before.segments).clamp(1, delivered);
        let moved = 8 * (i128::from(self.srtt_ns) - i128::from(before.srtt_ns));
        let alone = u64::try_from(i128::from(before.srtt_ns) + moved).unwrap_or(self.srtt_ns);
        (if acks == 1 { alone } else { self.srtt_ns }, acks.into())
    }
}

/// When a flow existed, and what its applications received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) start: Instant,
    pub(super) stop: Instant,
    /// When the run ended.
    pub(super) end: Instant,
    pub(super) delivered: u64,
    pub(super) transactions: u64,
}

/// The next multiple of `every` after `now`.
pub(super) fn next_sample(now: Instant, every: Duration) -> Instant {
    let every = every.as_nanos().max(1);
    Instant::from_nanos((now.as_nanos() / every + 1) * every)
}

/// The first multiple of `every` that is not before `from`.
pub(super) fn first_sample(from: Instant, every: Duration) -> Instant {
    from.as_nanos().checked_sub(1).map_or(Instant::ZERO, |before| next_sample(Instant::from_nanos(before), every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_were_missed_are_not_made_up() {
        let ms = Duration::from_millis(1);
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        assert_eq!(next_sample(at(0), ms), at(1000));
        assert_eq!(next_sample(at(1000), ms), at(2000));
        assert_eq!(next_sample(at(5300), ms), at(6000));
        assert_eq!([0, 1, 1000, 1001].map(|us| first_sample(at(us), ms)), [0, 1000, 1000, 2000].map(at));
    }

    #[test]
    fn a_look_after_which_nothing_came_shows_no_round_trip_time() {
        let seen = |srtt_us: u64, delivered, segments| Seen { srtt_ns: srtt_us * 1000, delivered, segments };
        assert_eq!(seen(12_000, 1, 1).samples_since(None), (12_000_000, 1), "the handshake");
        let before = Some(seen(12_000, 1, 1));
        assert_eq!(seen(12_000, 1, 1).samples_since(before).1, 0);
        assert_eq!(seen(12_000, 1, 2).samples_since(before).1, 0, "a segment that acknowledges nothing new");
        assert_eq!(seen(12_100, 3, 2).samples_since(before), (12_800_000, 1), "7/8 of 12.0 ms and 1/8 of 12.8 ms");
        assert_eq!(seen(12_100, 7, 4).samples_since(before), (12_100_000, 3));
        assert_eq!(seen(12_100, 2, 9).samples_since(before).1, 1, "an ACK at most for each segment delivered");
        assert_eq!(seen(100, 2, 2).samples_since(before).0, 100_000, "no sample is below zero");
    }

    fn datagrams() -> Source {
        let text = r#"
nodes = [{ name = "a" }, { name = "b" }]
links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "0 s" }]
flows = [{ from = "a", to = "b", kind = "udp", rate = "1 Mb/s" }]
"#;
        let catalogue = narrows_fabric::catalogue();
        let scenario = narrows_scenario::parse(text, "t.toml", &[], &catalogue).unwrap();
        narrows_fabric::flow_sources(&scenario, narrows_fabric::Seeds::new(1, 0)).next().unwrap()
    }

    #[test]
    fn a_flow_of_datagrams_has_no_window() {
        let mut recorder = FlowRecorder::new(3, Some(Duration::from_nanos(5)), Instant::from_nanos(3));
        (recorder.datagrams, recorder.datagram_bytes) = (2, 200);
        for at in [4, 7, 9] {
            recorder.sample(Instant::from_nanos(at), None, 100);
        }
        let life = Life {
            start: Instant::ZERO,
            stop: Instant::from_nanos(5),
            end: Instant::from_nanos(9),
            delivered: 100,
            transactions: 0,
        };
        let record = recorder.close(&life, None, None, datagrams());
        let [row] = record.rows[..] else { panic!("rows are due at 5 and 10: {:?}", record.rows) };
        assert_eq!(
            (row.flow, row.time_ns, row.cwnd_bytes, row.sent_packets, row.delivered_bytes),
            (3, 7, NONE, 2, 100)
        );
        assert_eq!((record.total.stop_ns, record.total.sent_bytes, record.total.rtt_samples), (5, 200, NONE));
    }
}
