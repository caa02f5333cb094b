//! Programs of `bpf/` compiled with the machine's own C compiler and fed with recorded events of connections, beside
//! the Rust algorithms.

use narrows_cc::{
    Ack, Clocks, Congestion, CongestionControl, ParamKind, ParamValue, Params, Path, Phase, Sent, Window,
};
use narrows_units::{Bytes, Duration, Instant};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

#[path = "../skips/mod.rs"]
mod skips;

/// The crate's directory.
fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// An event of a recorded connection; `acks/README.md` describes its columns.
#[derive(Clone, Debug)]
pub struct Event {
    /// The line it came from.
    pub line: String,
    /// The first word.
    pub what: String,
    pub now: Instant,
    pub snd_una: u64,
    pub snd_nxt: u64,
    pub limited: bool,
    /// The rest of the line.
    pub rest: Vec<String>,
}

impl Event {
    /// Reads a line.
    pub fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace().map(str::to_owned);
        let what = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let (now, snd_una, snd_nxt, limited) = (number(), number(), number(), number() == 1);
        let now = Instant::ZERO + Duration::from_micros(now);
        Self { line: line.to_owned(), what, now, snd_una, snd_nxt, limited, rest: words.collect() }
    }

    /// The `n`th number after the shared columns.
    pub fn number(&self, n: usize) -> u64 {
        self.rest[n].parse().unwrap()
    }
}

/// Returns every recorded connection: its name and the events that its algorithm received.
pub fn recordings() -> Vec<(String, Vec<Event>)> {
    let mut found: Vec<_> = std::fs::read_dir(here().join("tests/acks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let events = text.lines().filter(|l| !l.starts_with('#')).map(Event::parse).collect();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), events)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// A program compiled with `bpf/native/driver.c`; the file is removed on drop.
#[derive(Debug)]
pub struct Program {
    /// The name that it was built under: an algorithm's, or another.
    pub algorithm: String,
    path: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Program {
    /// Compiles a congestion control by its name; `None`, with the reason on standard error, where there is no C
    /// compiler.
    pub fn compile(algorithm: &str) -> Option<Self> {
        Self::compile_as(algorithm, algorithm)
    }

    /// Compiles the congestion control `ops`, whose windows shall be those of `algorithm`.
    pub fn compile_as(ops: &str, algorithm: &str) -> Option<Self> {
        let bpf = here().join("bpf");
        let sources = ["native/driver.c".to_owned(), format!("{ops}.bpf.c")];
        let built = Self::build(ops, &sources.map(|name| bpf.join(name)), &[format!("-DALGORITHM={ops}")]);
        built.map(|mut program| {
            algorithm.clone_into(&mut program.algorithm);
            program
        })
    }

    /// Compiles these sources to one program.
    pub fn build(name: &str, sources: &[PathBuf], flags: &[String]) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        if Command::new(&compiler).arg("--version").output().is_err() {
            skips::skip(format_args!("no C compiler {compiler}"));
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("narrows-{name}-{}-{number}", std::process::id()));
        let built = Command::new(&compiler)
            .args(["-O1", "-g", "-Wall", "-Werror", "-DNARROWS_NATIVE", "-I"])
            .arg(here().join("bpf"))
            .args(flags)
            .arg("-o")
            .arg(&path)
            .args(sources)
            .output()
            .unwrap();
        assert!(built.status.success(), "{name}: {}", String::from_utf8_lossy(&built.stderr));
        Some(Self { algorithm: name.to_owned(), path })
    }

    /// Returns the program's output for this standard input, line by line.
    pub fn run(&self, input: &str) -> Vec<String> {
        let mut child = Command::new(&self.path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            stdin.write_all(input.as_bytes()).unwrap();
        });
        let done = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(done.status.success(), "{:?}", done.status);
        String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// Returns the program's window after each event, with these parameters (numbers in millionths, words as their
    /// index).
    pub fn replay(&self, events: &[Event], params: &[(String, u64)]) -> Vec<Shown> {
        let mut input: String = params.iter().map(|(name, value)| format!("param {name} {value}\n")).collect();
        for event in events {
            input.push_str(&event.line);
            input.push('\n');
        }
        self.run(&input).iter().map(|line| Shown::parse(line)).collect()
    }
}

/// The output of a program after an event.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Segments.
    pub cwnd: u64,
    /// Segments; `None` as long as there is none.
    pub ssthresh: Option<u64>,
    /// The state that it reports.
    pub state: BTreeMap<String, u64>,
}

impl Shown {
    fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let (cwnd, ssthresh) = (number(), number());
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
        Self { cwnd, ssthresh: Some(ssthresh).filter(|s| *s < 0x7fff_ffff), state: words.filter_map(pair).collect() }
    }

    /// Returns cwnd in segments, including the program's `fraction`.
    pub fn exact(&self) -> f64 {
        self.cwnd as f64 + self.state.get("fraction").copied().unwrap_or(0) as f64 / 4_294_967_296.0
    }
}

/// Returns the parameters of an algorithm as the registry takes them, and as its program does: numbers in millionths,
/// words as their index among those allowed, switches as 0 and 1.
pub fn settings(name: &str, given: &[(&str, ParamValue)]) -> (Params, Vec<(String, u64)>) {
    let row = narrows_cc::find(name).unwrap();
    let in_c = given.iter().map(|(param, value)| {
        let kind = row.params.iter().find(|p| p.name == *param).unwrap().kind;
        let value = match (value, kind) {
            (ParamValue::Number(x), _) => (x * 1e6).round() as u64,
            (ParamValue::Switch(on), _) => u64::from(*on),
            (ParamValue::Choice(word), ParamKind::Choice { allowed, .. }) => {
                allowed.iter().position(|w| w == word).unwrap() as u64
            }
            (value, kind) => panic!("{name}: {param}: {value:?} for {kind:?}"),
        };
        ((*param).to_owned(), value)
    });
    let in_c = in_c.collect();
    let params = given.iter().map(|(param, value)| ((*param).to_owned(), value.clone())).collect();
    (Params::new(params), in_c)
}

/// An algorithm of the registry with these parameters.
pub fn algorithm(name: &str, params: &Params) -> Box<dyn CongestionControl> {
    narrows_cc::build(name, params).unwrap()
}

/// A Rust algorithm after an event.
#[derive(Clone, Debug)]
pub struct Step {
    pub win: Window,
    pub smss: f64,
    pub state: BTreeMap<&'static str, f64>,
}

impl Step {
    /// cwnd in segments.
    pub fn exact(&self) -> f64 {
        self.win.cwnd.as_f64() / self.smss
    }

    /// ssthresh in segments.
    pub fn ssthresh(&self) -> Option<f64> {
        self.win.ssthresh.map(|s| s.as_f64() / self.smss)
    }
}

/// A connection as a congestion control sees it, advanced by events.
struct Connection<'a> {
    cc: &'a mut dyn CongestionControl,
    path: Path,
    win: Window,
    /// The window before the last reduction.
    before: Window,
    /// Whether a reduction is under way that was not undone.
    reduced: bool,
    kernel: Kernel,
    /// `snd_una` when the algorithm last observed an ACK.
    seen: u64,
}

/// Returns the algorithm's window after each event, with calls as [`CongestionControl`] specifies them.
pub fn replay(cc: &mut dyn CongestionControl, events: &[Event]) -> Vec<Step> {
    replay_by(cc, events, Kernel::default())
}

/// What a replay takes over from the kernel's connection, for algorithms that notice it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel {
    /// Algorithms observe what `snd_una` advances by, and not all that an ACK delivered.
    pub acked_by_una: bool,
    /// A recovery that was not undone ends with cwnd at ssthresh.
    pub ends_at_ssthresh: bool,
}

/// Does the same with some of the kernel's rules.
pub fn replay_by(cc: &mut dyn CongestionControl, events: &[Event], kernel: Kernel) -> Vec<Step> {
    let first = &events[0];
    let smss = Bytes::new(first.number(0));
    let initial = smss * first.number(1);
    let win = Window { cwnd: initial, ssthresh: None, pacing_rate: None };
    let path = Path {
        now: first.now,
        smss,
        initial_window: initial,
        srtt: None,
        min_rtt: None,
        rto: Duration::from_secs(1),
        flightsize: Bytes::ZERO,
        inflight: Bytes::ZERO,
        snd_una: 0,
        snd_nxt: 0,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        cwnd_limited: true,
        pacing_rate: None,
        departure: Instant::ZERO,
        phase: Phase::Open,
        ecn: narrows_cc::EcnFeedback::Nothing,
        slow_start_at_equality: false,
    };
    let mut connection = Connection { cc, path, win, before: win, reduced: false, kernel, seen: 0 };
    events.iter().map(|event| connection.on(event)).collect()
}

impl Connection<'_> {
    fn on(&mut self, event: &Event) -> Step {
        let path = &mut self.path;
        (path.now, path.snd_una, path.snd_nxt) = (event.now, event.snd_una, event.snd_nxt);
        path.cwnd_limited = event.limited;
        match event.what.as_str() {
            "start" => self.cc.on_start(path, &mut self.win),
            "ack" => self.ack(event, true, true),
            "see" => self.ack(event, true, false),
            "grow" => self.ack(event, false, true),
            "loss" => self.congest(&Congestion::Loss { lost: Bytes::ZERO }, Phase::Recovery),
            "ecn" => self.congest(&Congestion::Ecn { marked: Bytes::ZERO }, Phase::Cwr),
            "timeout" => self.congest(&Congestion::Timeout { repeated: false }, Phase::Loss),
            "again" => self.congest(&Congestion::Timeout { repeated: true }, Phase::Loss),
            "undo" => self.undo(),
            "open" => {
                // tcp_end_cwnd_reduction; RFC 6675, section 5.
                if self.kernel.ends_at_ssthresh && self.reduced && path.phase != Phase::Loss {
                    self.win.cwnd = self.win.ssthresh.unwrap_or(self.win.cwnd);
                }
                self.reduced = false;
                path.phase = Phase::Open;
                self.cc.on_recovered(path, &mut self.win);
            }
            "idle" => {
                let idle = Duration::from_millis(1);
                let sent = Sent { bytes: path.smss, retransmission: false, idle, app_limited: true };
                self.cc.on_sent(&sent, path, &mut self.win);
            }
            "window" => {
                self.win.cwnd = path.smss * event.number(0);
                self.cc.on_window_set(path, &self.win);
            }
            what => panic!("{what}: no such event"),
        }
        self.win.cwnd = self.win.cwnd.max(self.path.smss);
        let mut state = BTreeMap::new();
        self.cc.state(&mut |name, value| {
            state.insert(name, value);
        });
        Step { win: self.win, smss: self.path.smss.as_f64(), state }
    }

    fn ack(&mut self, event: &Event, see: bool, grow: bool) {
        // The kernel counts what was delivered, so both count that.
        let delivered = self.path.smss * event.number(0);
        let rtt = event.rest[1].parse().ok().map(Duration::from_micros);
        let marked = self.path.smss * event.rest.get(2).map_or(0, |marked| marked.parse().unwrap());
        let stamp = |n: usize| event.rest.get(n).and_then(|stamp| stamp.parse().ok());
        let clocks = stamp(3).zip(stamp(4)).map(|(remote, local)| Clocks { remote, local });
        let ack = Ack { acked: delivered, delivered, marked, rtt, clocks, ..Ack::default() };
        if see && self.cc.needs().acks {
            let una = Bytes::new(event.snd_una - std::mem::replace(&mut self.seen, event.snd_una));
            let acked = if self.kernel.acked_by_una { una } else { delivered };
            self.cc.observe(&Ack { acked, ..ack }, &self.path);
        }
        if grow {
            self.cc.on_ack(&ack, &self.path, &mut self.win);
        }
    }

    fn congest(&mut self, event: &Congestion, phase: Phase) {
        if *event != (Congestion::Timeout { repeated: true }) {
            self.before = self.win;
        }
        self.reduced = true;
        self.cc.on_congestion(event, &self.path, &mut self.win);
        self.path.phase = phase;
    }

    fn undo(&mut self) {
        self.reduced = false;
        self.win.cwnd = self.win.cwnd.max(self.before.cwnd);
        self.win.ssthresh = match (self.win.ssthresh, self.before.ssthresh) {
            (Some(now), Some(before)) => Some(now.max(before)),
            _ => None,
        };
        self.cc.on_undo(&self.path, &mut self.win);
    }
}
