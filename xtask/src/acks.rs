//! Records the calls that congestion controls receive in simulated connections, for other tests:
//! `crates/live/tests/acks`.

use narrows_cc::{Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Params, Path, Sent, Window};
use narrows_sim::{Algorithms, Options};
use narrows_units::Bytes;
use std::fmt::Write as _;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};

/// Directory of the scenarios; each record is written beside its scenario.
const ACKS: &str = "crates/live/tests/acks";

/// The name of the congestion control that records.
const RECORDER: &str = "recorder";

/// Largest number of lines kept of a connection, and of ACKs in a row by which the window may not grow.
const LINES: usize = 1200;
const SEEN: usize = 8;

/// Runs every scenario of the directory and writes the calls to the busiest connection's algorithm. Returns the files'
/// names.
pub fn write(root: &FilePath) -> Result<Vec<String>, String> {
    let directory = root.join(ACKS);
    let entries = std::fs::read_dir(&directory).map_err(|e| format!("{ACKS}: {e}"))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    names.sort();
    for name in &names {
        let path = directory.join(name).with_extension("toml");
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let told = record(&text, name)?;
        let file = directory.join(name).with_extension("txt");
        std::fs::write(&file, told).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(names)
}

/// Returns the calls to the busiest connection's algorithm in a run of this scenario.
fn record(text: &str, name: &str) -> Result<String, String> {
    let mut scenario = narrows_scenario::parse(text, &format!("{name}.toml"), &[], &narrows_sim::catalogue())
        .map_err(|problems| format!("{name}: {problems}"))?;
    let tcp = scenario.flows.first().and_then(|flow| flow.tcp()).ok_or_else(|| format!("{name}: no TCP flow"))?;
    let first = tcp.cc.clone();
    for tcp in scenario.flows.iter_mut().filter_map(|flow| flow.tcp_mut()) {
        tcp.cc = RECORDER.to_owned();
    }
    let recorder = Arc::new(Recorders { cc: first, logs: Mutex::default() });
    let algorithms: Arc<dyn Algorithms> = recorder.clone();
    let options = Options { seed: 1, algorithms: Some(&algorithms), ..Options::default() };
    narrows_sim::run(&scenario, &options).map_err(|e| format!("{name}: {e}"))?;
    let logs = recorder.logs.lock().unwrap_or_else(PoisonError::into_inner);
    let logs = logs.iter().map(|log| log.lock().unwrap_or_else(PoisonError::into_inner));
    let log = logs.max_by_key(|log| log.lines).ok_or_else(|| format!("{name}: no connection"))?;
    Ok(format!("# Written by `cargo xtask acks` from {name}.toml; README.md describes the columns.\n{}", log.text))
}

/// Builds recorders around an algorithm of the registry.
#[derive(Debug)]
struct Recorders {
    cc: String,
    logs: Mutex<Vec<Arc<Mutex<Log>>>>,
}

impl Algorithms for Recorders {
    fn has(&self, name: &str) -> bool {
        name == RECORDER
    }

    fn build(&self, _: &str, params: &Params) -> Box<dyn CongestionControl> {
        let log = Arc::<Mutex<Log>>::default();
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&log));
        let inner = narrows_cc::find(&self.cc).map(|row| (row.build)(params));
        // The scenario was validated against the same registry.
        Box::new(Recorder { inner: inner.unwrap_or_else(|| unreachable!("{} has no row", self.cc)), log })
    }
}

/// The record of one algorithm.
#[derive(Debug, Default)]
struct Log {
    text: String,
    lines: usize,
    /// An ACK that was observed; it is not yet known whether the window may grow by it.
    seen: Option<String>,
    /// ACKs that were only observed, since the last event of another kind.
    in_a_row: usize,
}

impl Log {
    fn line(&mut self, line: &str) {
        if self.lines < LINES {
            self.lines += 1;
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// Writes the ACK that was only observed, unless it has no measurement.
    fn see(&mut self) {
        if let Some(seen) = self.seen.take().filter(|seen| !seen.ends_with('-') && self.in_a_row < SEEN) {
            self.in_a_row += 1;
            self.line(&format!("see {seen}"));
        }
    }

    /// Writes an event with the connection's state at that time.
    fn event(&mut self, what: &str, path: &Path, rest: &str) {
        self.see();
        self.in_a_row = 0;
        let known = known(path);
        self.line(format!("{what} {known} {rest}").trim_end());
    }
}

/// Returns the columns that all lines share.
fn known(path: &Path) -> String {
    format!("{} {} {} {}", path.now.as_nanos() / 1000, path.snd_una, path.snd_nxt, u8::from(path.cwnd_limited))
}

/// Returns the columns of an ACK, in the units of Linux: segments (a part counts as one) and whole microseconds.
fn ack_columns(ack: &Ack, path: &Path) -> String {
    let delivered = ack.delivered.as_u64().div_ceil(path.smss.as_u64().max(1));
    let mut columns = format!("{} {delivered} ", known(path));
    match ack.rtt {
        Some(rtt) => write!(columns, "{}", rtt.as_micros()).unwrap_or_default(),
        None => columns.push('-'),
    }
    columns
}

/// An algorithm that records its calls and passes them on.
#[derive(Debug)]
struct Recorder {
    inner: Box<dyn CongestionControl>,
    log: Arc<Mutex<Log>>,
}

impl Recorder {
    fn log(&self, what: &str, path: &Path, rest: &str) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).event(what, path, rest);
    }
}

impl CongestionControl for Recorder {
    fn needs(&self) -> Needs {
        Needs { acks: true, ..self.inner.needs() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.log("start", path, &format!("{} {}", path.smss.as_u64(), segments(win.cwnd, path)));
        self.inner.on_start(path, win);
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.see();
        log.seen = Some(ack_columns(ack, path));
        drop(log);
        self.inner.observe(ack, path);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        let columns = ack_columns(ack, path);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // The cwnd limit may be judged again between the two calls; the one passed to `on_ack` counts.
        let what = if log.seen.take().is_some() { "ack" } else { "grow" };
        log.in_a_row = 0;
        log.line(&format!("{what} {columns}"));
        drop(log);
        self.inner.on_ack(ack, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let what = match event {
            Congestion::Loss { .. } => "loss",
            Congestion::Ecn { .. } => "ecn",
            Congestion::Timeout { repeated: false } => "timeout",
            Congestion::Timeout { repeated: true } => "again",
        };
        self.log(what, path, "");
        self.inner.on_congestion(event, path, win);
    }

    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        if !sent.idle.is_zero() {
            self.log("idle", path, "");
        }
        self.inner.on_sent(sent, path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.log("undo", path, "");
        self.inner.on_undo(path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.log("open", path, "");
        self.inner.on_recovered(path, win);
    }

    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.log("window", path, &segments(win.cwnd, path).to_string());
        self.inner.on_window_set(path, win);
    }

    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.inner.on_advice(advice, path, win);
    }

    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.inner.on_lost(lost, path, win);
    }

    fn holds_back(&self) -> bool {
        self.inner.holds_back()
    }
}

fn segments(amount: Bytes, path: &Path) -> u64 {
    amount.as_u64() / path.smss.as_u64().max(1)
}
