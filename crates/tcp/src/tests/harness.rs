//! The network for the tests.

use crate::{Config, Connection};
use core::net::SocketAddr;
use narrows_cc::{Ack, Advice, Congestion, CongestionControl, Needs, Path, Sent, Window};
use narrows_units::{Bytes, Duration, Instant, SeqNum};
use narrows_wire::{Compact, Packet, TcpFlags, TcpOptions, TcpRepr, Transport};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Client and server.
pub(super) const C: usize = 0;
pub(super) const S: usize = 1;

pub(super) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(super) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// Hands a segment to an end, by the plain path where that takes it.
fn take(end: &mut Connection, packet: &Packet, now: Instant) {
    let data = packet.payload_len > 0;
    let plain = Compact::of(packet).is_some_and(|segment| {
        assert_eq!(end.expand(&segment), *packet);
        if data {
            return end.take_plain_data(&segment, now);
        }
        let plain = end.take_stored_or_bare(&segment, now);
        plain || (end.is_rich() && end.take_rich_ack(&segment, now).is_some())
    });
    if plain {
        end.answers = data;
    } else {
        end.handle_segment(packet, now);
    }
}

/// The next segment of an end, by the plain path where that sends it.
fn transmit(end: &mut Connection, now: Instant) -> Option<Packet> {
    let answers = core::mem::take(&mut end.answers);
    let mut segment = Compact::EMPTY;
    let plain = if answers {
        end.write_stored_or_bare(now, &mut segment)
    } else if end.is_rich() {
        end.write_rich_data(now, &mut segment)
    } else {
        end.write_plain_data(now, &mut segment)
    };
    if plain.is_some() {
        let Packet { ip, transport: Transport::Tcp(tcp), .. } = end.blank() else { return None };
        return Some(segment.packet((ip.src(), ip.dst()), (tcp.src_port, tcp.dst_port)));
    }
    if answers {
        return end.poll_transmit(now);
    }
    let rests = if end.is_rich() { end.rests_richly(now) } else { end.rests_plainly(now) };
    if rests { None } else { end.poll_transmit(now) }
}

pub(super) fn addresses() -> [SocketAddr; 2] {
    ["10.0.0.1:1000", "10.0.0.2:2000"].map(|a| a.parse().unwrap())
}

/// A call that a [`Double`] received.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Ack { acked: u64, delivered: u64, limited: bool },
    Congestion(Congestion, u64),
    Undo,
    Advice(Advice),
    Recovered,
    WindowSet(u64),
    Seen { delivered: u64, marked: u64 },
    Sent(Sent2),
    Whole(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sent2 {
    pub(super) bytes: u64,
    pub(super) retransmission: bool,
}

pub(super) type Diary = Arc<Mutex<Vec<Told>>>;

/// A congestion control for the tests: Reno by RFC 5681, or a window that never changes.
#[derive(Debug, Default)]
pub(super) struct Double {
    /// Whether growth and reduction are Reno's; otherwise only a timeout changes cwnd.
    pub(super) reno: bool,
    /// The first window in segments, set on the first event.
    pub(super) first: Option<u64>,
    pub(super) pacing: Option<narrows_units::Rate>,
    /// See [`Needs::window_in_recovery`].
    pub(super) rules: bool,
    /// See [`Needs::loss_after_echo`].
    pub(super) uncovered: bool,
    /// See [`Needs::acks`].
    pub(super) watches: bool,
    /// See [`Needs::rates`]; it then also asks for [`Needs::losses`].
    pub(super) rates: bool,
    /// Whether it is not told of what is sent.
    pub(super) quiet: bool,
    /// Whether to note whole ACKs and paths.
    pub(super) whole: bool,
    pub(super) diary: Diary,
}

impl Double {
    fn note(&self, what: Told) {
        self.diary.lock().unwrap().push(what);
    }

    fn note_whole(&self, ack: &Ack, path: &Path) {
        if self.whole {
            self.note(Told::Whole(format!("{ack:?} {path:?}")));
        }
    }
}

impl CongestionControl for Double {
    fn needs(&self) -> Needs {
        Needs {
            sending: !self.quiet,
            losses: self.rates,
            loss_after_echo: self.uncovered,
            acks: self.watches,
            observes_plainly: false,
            rates: self.rates,
            window_in_recovery: self.rules,
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let told =
            Told::Ack { acked: ack.acked.as_u64(), delivered: ack.delivered.as_u64(), limited: path.cwnd_limited };
        self.note(told);
        self.note_whole(ack, path);
        if self.quiet {
            win.pacing_rate = self.pacing;
        }
        if self.reno && path.cwnd_limited {
            if win.in_slow_start(path) {
                win.cwnd += ack.acked.min(path.smss);
            } else {
                win.cwnd += path.smss * ack.acked.min(path.smss).as_u64() / win.cwnd.as_u64();
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.note(Told::Congestion(*event, path.flightsize.as_u64()));
        let half = (path.flightsize / 2).max(path.smss * 2);
        match event {
            Congestion::Timeout { repeated } => {
                if !repeated {
                    win.ssthresh = Some(half);
                }
                win.cwnd = path.smss;
            }
            _ if self.reno => (win.ssthresh, win.cwnd) = (Some(half), half),
            _ => {}
        }
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        self.note(Told::Sent(Sent2 { bytes: sent.bytes.as_u64(), retransmission: sent.retransmission }));
        if let Some(first) = self.first.take() {
            win.cwnd = path.smss * first;
        }
        win.pacing_rate = self.pacing;
    }

    fn on_undo(&mut self, _path: &Path, _win: &mut Window) {
        self.note(Told::Undo);
    }

    fn on_advice(&mut self, advice: Advice, _path: &Path, _win: &mut Window) {
        self.note(Told::Advice(advice));
    }

    fn on_window_set(&mut self, _path: &Path, win: &Window) {
        self.note(Told::WindowSet(win.cwnd.as_u64()));
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.note_whole(ack, path);
        self.note(Told::Seen { delivered: ack.delivered.as_u64(), marked: ack.marked.as_u64() });
    }

    fn on_recovered(&mut self, _path: &Path, _win: &mut Window) {
        self.note(Told::Recovered);
    }
}

pub(super) fn reno() -> Box<Double> {
    Box::new(Double { reno: true, ..Double::default() })
}

/// What the network does with a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Pass,
    Drop,
    Late(Duration),
    Twice,
}

type Rule = Box<dyn FnMut(usize, &mut Packet, Instant) -> Fate>;

/// Two connections and the wire between them.
pub(super) struct Net {
    pub(super) ends: [Connection; 2],
    pub(super) now: Instant,
    wire: BTreeMap<(Instant, u64), (usize, Packet)>,
    count: u64,
    pub(super) delay: Duration,
    pub(super) rule: Rule,
    /// Everything that was sent: time, sender, packet, fate.
    pub(super) log: Vec<(Instant, usize, Packet, Fate)>,
    /// Right edge (sequence number) that each end offered last, and the largest of them.
    edges: [Option<(SeqNum, SeqNum)>; 2],
    /// Whether an end may move its right edge left.
    pub(super) shrinks: [bool; 2],
    shifts: [Option<u8>; 2],
}

impl Net {
    pub(super) fn new(config: [Config; 2], cc: [Box<Double>; 2], iss: [u32; 2]) -> Self {
        let [client, server] = addresses();
        let [cc_client, cc_server] = cc;
        let ends = [
            Connection::connect(config[0], cc_client, None, client, server, SeqNum::new(iss[0])),
            Connection::listen(config[1], cc_server, None, server, client, SeqNum::new(iss[1])),
        ];
        Self::with(ends)
    }

    pub(super) fn with(ends: [Connection; 2]) -> Self {
        Self {
            ends,
            now: Instant::ZERO,
            wire: BTreeMap::new(),
            count: 0,
            delay: ms(50),
            rule: Box::new(|_, _, _| Fate::Pass),
            log: Vec::new(),
            edges: [None; 2],
            shrinks: [false; 2],
            shifts: [None; 2],
        }
    }

    pub(super) fn simple(config: Config) -> Self {
        Self::new([config; 2], [reno(), reno()], [1_000, 5_000])
    }

    /// Polls both ends and puts what they send on the wire.
    pub(super) fn poll(&mut self) {
        for end in [C, S] {
            let mut bound = 0;
            while let Some(packet) = self.poll_one(end) {
                self.send(end, packet);
                bound += 1;
                assert!(bound < 100_000, "poll_transmit never ends");
            }
            self.ends[end].check();
        }
    }

    /// Polls one segment, and checks that new data never exceeds what the phase allows of cwnd.
    fn poll_one(&mut self, end: usize) -> Option<Packet> {
        let before = self.ends[end].info();
        let nxt = before.flightsize;
        let packet = transmit(&mut self.ends[end], self.now)?;
        let after = self.ends[end].info();
        let payload = Bytes::new(u64::from(packet.payload_len));
        // The idle restart may have lowered cwnd; a FIN's octet is not counted.
        if after.flightsize > nxt && !payload.is_zero() {
            // Duplicate ACKs inflate the window of NewReno and Reno: at most to what is in the network.
            let used = self.ends[end].window_used().unwrap_or(Bytes::ZERO);
            assert!(used <= after.cwnd + Bytes::new(1), "cwnd {} with {used} in flight, {:?}", after.cwnd, after.phase);
        }
        Some(packet)
    }

    fn send(&mut self, from: usize, mut packet: Packet) {
        self.watch(from, &packet);
        let fate = (self.rule)(from, &mut packet, self.now);
        self.log.push((self.now, from, packet, fate));
        let (times, extra) = match fate {
            Fate::Pass => (1, Duration::ZERO),
            Fate::Drop => (0, Duration::ZERO),
            Fate::Late(d) => (1, d),
            Fate::Twice => (2, Duration::ZERO),
        };
        for _ in 0..times {
            self.wire.insert((self.now + self.delay + extra, self.count), (1 - from, packet));
            self.count += 1;
        }
    }

    /// Checks that a sender keeps to the window that its peer offered, except for probes.
    fn watch(&mut self, from: usize, packet: &Packet) {
        let tcp = packet.tcp().unwrap();
        let syn = tcp.flags.has(TcpFlags::SYN);
        if syn {
            self.shifts[from] = tcp.options.window_scale;
        }
        let both = self.shifts[0].zip(self.shifts[1]).map(|(c, s)| [c, s]);
        let shift = if syn { 0 } else { both.map_or(0, |s| s[from]) };
        if tcp.flags.has(TcpFlags::ACK) && !tcp.flags.has(TcpFlags::RST) {
            let edge = tcp.ack + Bytes::new(u64::from(tcp.window) << shift);
            let (old, farthest) = self.edges[from].unwrap_or((edge, edge));
            // A move of less than a unit of the field may come from rounding (RFC 7323, section 2.4).
            let unit = Bytes::new(if syn { 1 } else { 1 << shift });
            let kept = (edge + unit).after(old) || self.shrinks[from];
            assert!(kept, "the right edge moved back from {old} to {edge}");
            self.edges[from] = Some((edge, if edge.after(farthest) { edge } else { farthest }));
        }
        if let Some((_, edge)) = self.edges[1 - from]
            && packet.payload_len > 1
        {
            let end = tcp.seq + Bytes::new(u64::from(packet.payload_len));
            assert!(!end.after(edge), "sent to {end}, beyond the window's edge {edge}");
        }
    }

    /// The time of the next event.
    fn next(&self) -> Instant {
        let wire = self.wire.first_key_value().map_or(Instant::NEVER, |(k, _)| k.0);
        self.ends.iter().map(Connection::poll_timeout).fold(wire, Instant::min)
    }

    /// Runs one event; returns `false` if there is none before `until`.
    pub(super) fn step(&mut self, until: Instant) -> bool {
        self.poll();
        let next = self.next();
        if next > until || next == Instant::NEVER {
            return false;
        }
        assert!(next >= self.now, "a timer in the past: {next} at {}", self.now);
        self.now = next;
        if let Some(entry) = self.wire.first_entry()
            && entry.key().0 == next
        {
            let (to, packet) = entry.remove();
            take(&mut self.ends[to], &packet, next);
            self.ends[to].check();
        } else {
            for end in &mut self.ends {
                if !end.take_pacer_timeout(next) {
                    end.handle_timeout(next);
                }
                end.check();
            }
        }
        true
    }

    pub(super) fn run(&mut self, until: Instant) {
        let mut events = 0;
        while self.step(until) {
            events += 1;
            assert!(events < 3_000_000, "the connection never comes to rest");
        }
        self.now = self.now.max(until);
    }

    pub(super) fn establish(&mut self) {
        self.run(at(200));
        assert_eq!(self.ends[C].state(), crate::State::Established);
        assert_eq!(self.ends[S].state(), crate::State::Established);
        self.log.clear();
    }

    /// Data segments sent by `end`: time in ms, packet and fate.
    pub(super) fn data(&self, end: usize) -> Vec<(u64, &Packet, Fate)> {
        let of = |e: &(Instant, usize, Packet, Fate)| e.1 == end && e.2.payload_len > 0;
        self.log.iter().filter(|e| of(e)).map(|e| (e.0.since(Instant::ZERO).as_millis(), &e.2, e.3)).collect()
    }
}

/// A segment made by hand, as if from the end `from`.
pub(super) fn forge(from: usize, seq: u32, ack: Option<u32>, flags: TcpFlags, payload_len: u32) -> Packet {
    let a = addresses();
    let (src, dst) = (a[from], a[1 - from]);
    let flags = if ack.is_some() { flags.with(TcpFlags::ACK) } else { flags };
    let tcp = TcpRepr {
        src_port: src.port(),
        dst_port: dst.port(),
        seq: SeqNum::new(seq),
        ack: SeqNum::new(ack.unwrap_or(0)),
        flags,
        window: 65_535,
        options: TcpOptions::default(),
    };
    Packet {
        ip: narrows_wire::Ip::between(src.ip(), dst.ip()),
        transport: narrows_wire::Transport::Tcp(tcp),
        payload_len,
    }
}
