//! Congestion controls written in JavaScript: classes with `on_ack` and `on_congestion`, called during a run.
//!
//! Objects stay on the page's side and have numbers here. A hook gets an ACK or an event, the path and the window as an
//! array of numbers, and sets the window's fields. The fields are checked after each call as those of a Python class
//! are. The first call that throws, or sets an invalid value, stops the run; [`Failure`] keeps the reason.

use crate::host;
use js_sys::{Object, Reflect};
use narrows_cc::{Ack, Congestion, CongestionControl, Needs, ParamValue, Params, Path, Phase, Window};
use narrows_sim::{Algorithms, Progress};
use narrows_units::{Bytes, Duration, Rate};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use wasm_bindgen::JsValue;

/// Largest window that a congestion control may set: what a receiver can announce (RFC 7323, section 2.3), in bytes.
const MAX_WINDOW: f64 = (65_535_u64 << 14) as f64;

/// Names of the values that a hook gets, in order; NaN is "no value". The window's come first. `kind` is an index into
/// [`KINDS`], `phase` one into [`PHASES`]; switches are 0 or 1. `argument` says what the hook is called with beside
/// path and window: 0 nothing, 1 an ACK, 2 a congestion event.
pub(crate) const VALUES: [&str; 31] = [
    "cwnd",
    "ssthresh",
    "pacing_rate",
    "now_s",
    "smss",
    "initial_window",
    "srtt_s",
    "min_rtt_s",
    "rto_s",
    "flightsize",
    "inflight",
    "snd_una",
    "snd_nxt",
    "path.delivered",
    "path.lost",
    "cwnd_limited",
    "path.pacing_rate",
    "departure_s",
    "phase",
    "acked",
    "delivered",
    "rtt_s",
    "one_way_delay_s",
    "delivery_rate",
    "app_limited",
    "marked",
    "newly_lost",
    "kind",
    "repeated",
    "lost",
    "argument",
];

/// Kinds of congestion events.
pub(crate) const KINDS: [&str; 3] = ["loss", "ecn", "timeout"];

/// Phases of loss recovery.
pub(crate) const PHASES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// Why a user's algorithm ended the run.
#[derive(Debug)]
pub(crate) struct Failure {
    fault: Mutex<Option<String>>,
    progress: Arc<Progress>,
}

impl Failure {
    /// Makes a failure that stops the run which `progress` watches.
    pub(crate) fn new(progress: &Arc<Progress>) -> Arc<Self> {
        Arc::new(Self { fault: Mutex::default(), progress: Arc::clone(progress) })
    }

    /// The first fault.
    pub(crate) fn fault(&self) -> Option<String> {
        self.fault.lock().ok().and_then(|fault| fault.clone())
    }

    /// Keeps the first reason, and stops the run.
    fn note(&self, why: String) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(why);
        }
        self.progress.stop();
    }
}

/// The names of the page's classes in one run.
pub(crate) struct Classes {
    names: BTreeSet<String>,
    failure: Arc<Failure>,
}

impl Classes {
    /// Classes by name; the page makes and calls their objects.
    pub(crate) fn new(names: BTreeSet<String>, failure: Arc<Failure>) -> Self {
        Self { names, failure }
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.names).finish()
    }
}

impl Algorithms for Classes {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn build(&self, name: &str, params: &Params) -> Box<dyn CongestionControl> {
        let given = Object::new();
        for (key, value) in params.given() {
            let value = match value {
                ParamValue::Number(v) => JsValue::from_f64(*v),
                ParamValue::Choice(v) => JsValue::from_str(v),
                ParamValue::Switch(v) => JsValue::from_bool(*v),
            };
            // Setting a property of a new plain object does not fail.
            let _ = Reflect::set(&given, &key.into(), &value);
        }
        let number = match host::make(name, &given) {
            Ok(number) => Some(number),
            Err(error) => {
                self.failure.note(format!("{name}: threw when it was made: {}", shown(&error)));
                None
            }
        };
        Box::new(Foreign { name: name.to_owned(), number, failure: Arc::clone(&self.failure) })
    }
}

/// What was thrown, as text: an error's own, with its place if it has one.
fn shown(error: &JsValue) -> String {
    let text = |value: &JsValue| value.as_string();
    let field = |name: &str| Reflect::get(error, &name.into()).ok().as_ref().and_then(text);
    text(error).or_else(|| field("shown")).or_else(|| field("message")).unwrap_or_else(|| "no error object".to_owned())
}

/// A user's object as a congestion control.
struct Foreign {
    name: String,
    /// The object's number on the page; `None` after a fault: the window then stays unchanged until the run has
    /// stopped.
    number: Option<u32>,
    failure: Arc<Failure>,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Foreign {
    fn call(&mut self, hook: &str, first: First<'_>, path: &Path, win: &mut Window) {
        let Some(number) = self.number.filter(|_| !self.failure.progress.stopped()) else { return };
        let mut values = values(first, path, win);
        let why = match host::call(number, hook, &mut values) {
            Ok(None) => apply([values[0], values[1], values[2]], win).err(),
            Ok(Some(field)) => Some(format!("set {field}; allowed: a number")),
            Err(error) => Some(format!("threw {}", shown(&error))),
        };
        if let Some(why) = why {
            let (name, now, cwnd) = (&self.name, path.now.as_secs_f64(), win.cwnd.as_u64());
            self.failure
                .note(format!("{name}: {hook} {why}; simulated time {now} s, cwnd before the call {cwnd} bytes"));
            self.number = None;
        }
    }
}

/// The first argument of a hook.
#[derive(Clone, Copy)]
enum First<'a> {
    None,
    Ack(&'a Ack),
    Congestion(&'a Congestion),
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

fn seconds(value: Option<Duration>) -> f64 {
    value.map_or(f64::NAN, Duration::as_secs_f64)
}

fn rate(value: Option<Rate>) -> f64 {
    value.map_or(f64::NAN, |rate| rate.as_bps() as f64)
}

fn values(first: First<'_>, path: &Path, win: &Window) -> [f64; VALUES.len()] {
    let bytes = |value: Bytes| value.as_u64() as f64;
    let index = |list: &[&str], word: &str| list.iter().position(|one| *one == word).map_or(f64::NAN, |at| at as f64);
    let phase = match path.phase {
        Phase::Open => "open",
        Phase::Disorder => "disorder",
        Phase::Cwr => "cwr",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    };
    let mut all = [f64::NAN; VALUES.len()];
    all[..19].copy_from_slice(&[
        bytes(win.cwnd),
        win.ssthresh.map_or(f64::NAN, bytes),
        rate(win.pacing_rate),
        path.now.as_secs_f64(),
        bytes(path.smss),
        bytes(path.initial_window),
        seconds(path.srtt),
        seconds(path.min_rtt),
        path.rto.as_secs_f64(),
        bytes(path.flightsize),
        bytes(path.inflight),
        path.snd_una as f64,
        path.snd_nxt as f64,
        bytes(path.delivered),
        bytes(path.lost),
        flag(path.cwnd_limited),
        rate(path.pacing_rate),
        path.departure.as_secs_f64(),
        index(&PHASES, phase),
    ]);
    match first {
        First::None => {}
        First::Ack(ack) => all[19..27].copy_from_slice(&[
            bytes(ack.acked),
            bytes(ack.delivered),
            seconds(ack.rtt),
            seconds(ack.one_way_delay),
            rate(ack.rate.map(|sample| Rate::of(sample.delivered, sample.interval))),
            flag(ack.rate.is_some_and(|sample| sample.app_limited)),
            bytes(ack.marked),
            bytes(ack.newly_lost),
        ]),
        First::Congestion(event) => {
            let (kind, repeated, lost) = match event {
                Congestion::Loss { lost } => ("loss", false, bytes(*lost)),
                Congestion::Ecn { .. } => ("ecn", false, 0.0),
                Congestion::Timeout { repeated } => ("timeout", *repeated, 0.0),
            };
            all[27..30].copy_from_slice(&[index(&KINDS, kind), flag(repeated), lost]);
        }
    }
    all[30] = match first {
        First::None => 0.0,
        First::Ack(_) => 1.0,
        First::Congestion(_) => 2.0,
    };
    all
}

/// Applies cwnd, ssthresh and pacing rate if they are valid; otherwise returns what is wrong.
fn apply([cwnd, ssthresh, pacing_rate]: [f64; 3], win: &mut Window) -> Result<(), String> {
    let bytes = |what: &str, value: f64| {
        if (1.0..=MAX_WINDOW).contains(&value) {
            return Ok(Bytes::new(value as u64));
        }
        Err(format!("set {what} to {value}; allowed: a number of bytes from 1 to {MAX_WINDOW}"))
    };
    let cwnd = bytes("cwnd", cwnd)?;
    // NaN stands for null: no threshold. Infinity means the same.
    let unlimited = ssthresh.is_nan() || ssthresh == f64::INFINITY;
    let ssthresh = if unlimited { None } else { Some(bytes("ssthresh", ssthresh)?) };
    let pacing_rate = if pacing_rate.is_nan() {
        None
    } else if (1.0..=1e15).contains(&pacing_rate) {
        Some(Rate::bps(pacing_rate as u64))
    } else {
        return Err(format!("set pacing_rate to {pacing_rate}; allowed: null, or a number from 1 to 1e15 in bit/s"));
    };
    (win.cwnd, win.ssthresh, win.pacing_rate) = (cwnd, ssthresh, pacing_rate);
    Ok(())
}

impl CongestionControl for Foreign {
    fn needs(&self) -> Needs {
        Needs { rates: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.call("on_start", First::None, path, win);
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.call("on_ack", First::Ack(ack), path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.call("on_congestion", First::Congestion(event), path, win);
    }

    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.call("on_recovered", First::None, path, win);
    }

    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.call("on_undo", First::None, path, win);
    }
}
