//! eBPF congestion controls against the Rust ones: the same events, and the same windows after each event.
//!
//! # Bounds
//! If both count whole segments, everything is equal. If the Rust form uses real numbers, two roundings remain. The
//! Rust form keeps whole octets: a reduction loses up to one octet and leaves at most 0.95 of the window, so a chain of
//! reductions loses at most 1 / (1 - 0.95) = 20 octets, and one more that cwnd does not show. The C form keeps 2^-16 or
//! 2^-32 of a segment. Together that is less than 1/64 of a segment of 1448 octets. To add an algorithm, add a test
//! that calls [`compare`].
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod native;

use narrows_cc::ParamValue::{self, Choice, Number, Switch};
use native::{Event, Program, Shown, Step, algorithm, recordings, replay, settings};
use std::collections::BTreeMap;

/// The largest difference of windows if one side counts octets, in segments.
const ROUNDING: f64 = 1.0 / 64.0;

/// Runs every recording through both forms. Checks that windows are within `bound` segments of each other, and what
/// `also` checks.
fn compare(
    program: &Program,
    given: &[(&str, ParamValue)],
    bound: f64,
    also: impl Fn(&Step, &Shown) -> Result<(), String>,
) {
    let name = program.algorithm.as_str();
    let (params, in_c) = settings(name, given);
    for (recording, events) in recordings() {
        let rust = replay(&mut *algorithm(name, &params), &events);
        let c = program.replay(&events, &in_c);
        assert_eq!((rust.len(), c.len()), (events.len(), events.len()));
        let (mut reducing, mut set) = (false, false);
        for (at, event) in events.iter().enumerate() {
            reducing = match event.what.as_str() {
                "loss" | "ecn" => true,
                "see" => reducing,
                _ => false,
            };
            // A window that the connection sets is in whole segments; programs drop their fraction of one when they
            // next see the window.
            set = matches!(event.what.as_str(), "window" | "idle") && (set || event.what == "window");
            let shown = Shown { state: if set { BTreeMap::new() } else { c[at].state.clone() }, ..c[at] };
            let place = format!("{name} {given:?}, {recording} event {at}: {}", event.line);
            let found = differ(reducing, &rust[at], &shown, bound).and_then(|()| also(&rust[at], &c[at]));
            assert_eq!(found, Ok(()), "{place}");
        }
    }
}

/// Checks that the two are equal; the error says what differs.
fn differ(reducing: bool, rust: &Step, c: &Shown, bound: f64) -> Result<(), String> {
    let (ours, theirs) = (rust.exact(), c.exact());
    if (ours - theirs).abs() > bound {
        return Err(format!("cwnd: {ours} in Rust, {theirs} in C"));
    }
    match (rust.ssthresh(), c.ssthresh) {
        (None, None) => Ok(()),
        (Some(ours), Some(theirs)) if whole_part(theirs, ours, bound) => Ok(()),
        // Until recovery is over, the kernel uses ssthresh as the target of cwnd; algorithms may lower it only
        // afterwards.
        (Some(ours), Some(theirs)) if reducing && whole_part(theirs, ours + 1.0, bound) => Ok(()),
        (ours, theirs) => Err(format!("ssthresh: {ours:?} in Rust, {theirs:?} in C")),
    }
}

/// Whether `whole` is `exact` without its fraction of a segment, where `exact` may be off by `bound`.
fn whole_part(whole: u64, exact: f64, bound: f64) -> bool {
    let whole = whole as f64;
    whole <= exact + bound && exact - bound < whole + 1.0
}

/// Compares nothing more than windows.
fn windows_only(_: &Step, _: &Shown) -> Result<(), String> {
    Ok(())
}

/// Compares fields of the state that differ only in their unit. `names` has Rust's name, C's, and how many of C's units
/// make one of Rust's.
fn same_state(names: &'static [(&str, &str, f64)]) -> impl Fn(&Step, &Shown) -> Result<(), String> {
    move |rust, c| {
        for (ours, theirs, unit) in names {
            let (a, b) = (rust.state[ours], c.state[*theirs] as f64 / unit);
            if (a - b).abs() > 1e-9 {
                return Err(format!("{ours}: {a} in Rust, {b} in C"));
            }
        }
        Ok(())
    }
}

#[test]
fn recordings_hold_every_kind_of_event() {
    let all: Vec<Event> = recordings().into_iter().flat_map(|(_, events)| events).collect();
    for what in ["start", "ack", "see", "grow", "loss", "ecn", "timeout", "again", "undo", "open", "idle", "window"] {
        assert!(all.iter().any(|e| e.what == what), "{what}");
    }
    assert!(all.iter().any(|e| e.what == "ack" && !e.limited), "growth that is asked for but must not be");
}

#[test]
fn agile_sd_paper_has_the_windows_of_the_rust_form() {
    let Some(program) = Program::compile("agile_sd") else { return };
    for lambda_max in [1.0, 2.0, 3.0, 3.7, 10.0, 100.0] {
        compare(&program, &[("lambda_max", Number(lambda_max))], ROUNDING, windows_only);
    }
    compare(&program, &[("beta1", Number(0.7)), ("beta2", Number(0.85))], ROUNDING, windows_only);
}

#[test]
fn agile_sd_module_has_the_windows_of_the_rust_form() {
    let Some(program) = Program::compile("agile_sd") else { return };
    let state = || same_state(&[("lambda", "lambda", 1e6), ("frac_tracer", "parts", 1e6)]);
    let profile = ("profile", Choice("module".to_owned()));
    for lambda_max in [1.0, 2.0, 3.0, 3.7, 10.0, 100.0] {
        compare(&program, &[profile.clone(), ("lambda_max", Number(lambda_max))], 0.0, state());
    }
    compare(&program, &[profile, ("beta2", Number(0.95))], 0.0, state());
}

#[test]
fn compound_draft_has_the_windows_of_the_rust_form() {
    let Some(program) = Program::compile("compound") else { return };
    for gamma in [5.0, 12.5, 30.0] {
        for tuning in [false, true] {
            let given = [("gamma", Number(gamma)), ("gamma_tuning", Switch(tuning))];
            compare(&program, &given, ROUNDING, windows_only);
        }
    }
    compare(&program, &[("low_window", Number(10.0))], ROUNDING, windows_only);
}

#[test]
fn compound_linux_has_the_windows_of_the_rust_form() {
    let Some(program) = Program::compile("compound") else { return };
    for gamma in [5.0, 30.0] {
        let given = [("profile", Choice("linux".to_owned())), ("gamma", Number(gamma))];
        compare(&program, &given, 0.0, same_state(&[("dwnd_segments", "dwnd", 1.0)]));
    }
}

#[test]
fn dctcp_has_the_windows_of_the_rust_form_in_profile_linux() {
    let Some(program) = Program::compile("dctcp") else { return };
    let profile = ("profile", Choice("linux".to_owned()));
    for (shift_g, alpha) in [(4.0, 1.0), (1.0, 0.3), (6.0, 1.0)] {
        let given = [("shift_g", Number(shift_g)), ("alpha", Number(alpha))];
        let (_, in_c) = settings("dctcp", &given);
        let (params, _) = settings("dctcp", &[given.as_slice(), std::slice::from_ref(&profile)].concat());
        for (recording, events) in recordings() {
            // Each third ACK tells of marks.
            let marked: Vec<Event> = events.iter().enumerate().map(|(n, event)| with_marks(n, event)).collect();
            for events in [events, marked] {
                let rust = replay(&mut *algorithm("dctcp", &params), &events);
                let c = program.replay(&events, &in_c);
                for (at, (rust, c)) in rust.iter().zip(&c).enumerate() {
                    let place = format!("{given:?}, {recording} event {at}: {}", events[at].line);
                    assert!((rust.state["alpha"] * 1024.0 - c.state["alpha"] as f64).abs() < 1e-9, "{place}");
                    assert_eq!(differ(false, rust, c, 0.0), Ok(()), "{place}");
                }
            }
        }
    }
}

/// An ACK with a share of what it delivers marked, if its number says so.
fn with_marks(number: usize, event: &Event) -> Event {
    if !number.is_multiple_of(3) || !matches!(event.what.as_str(), "ack" | "see") {
        return event.clone();
    }
    Event::parse(&format!("{} {}", event.line, event.number(0).div_ceil(2)))
}

#[test]
fn dctcp_alpha_moves_by_the_share_of_marked_segments() {
    let Some(program) = Program::compile("dctcp") else { return };
    let mut events = vec![Event::parse("start 0 0 100000 1 1000 100")];
    for window in 1..=3 {
        events.push(Event::parse(&format!("ack {window} {}00000 {}00000 1 100 20000 50", window, window + 1)));
    }
    let alphas: Vec<u64> = program.replay(&events, &[]).iter().map(|shown| shown.state["alpha"]).collect();
    // 1024 - 64 + 50 * 64 / 100, and so on (crates/cc/src/algorithms/dctcp.rs, dctcp_alpha_half_marked).
    assert_eq!(alphas, [1024, 992, 962, 934]);
}

#[test]
fn a_wrong_parameter_is_noticed() {
    let Some(program) = Program::compile("agile_sd") else { return };
    let (params, _) = settings("agile_sd", &[]);
    let (_, other) = settings("agile_sd", &[("lambda_max", Number(2.0))]);
    let apart = |(_, events): &(String, Vec<Event>)| {
        let rust = replay(&mut *algorithm("agile_sd", &params), events);
        let c = program.replay(events, &other);
        rust.iter().zip(&c).map(|(rust, c)| (rust.exact() - c.exact()).abs()).fold(0.0, f64::max)
    };
    assert!(recordings().iter().map(apart).any(|most| most > 1.0));
}

/// Returns the events of a connection without delayed ACKs that loses at a window of `cwnd` segments in congestion
/// avoidance.
fn lost_at(cwnd: u64) -> Vec<Event> {
    // Two losses at the smallest window leave the smallest ssthresh behind.
    let lines = ["start 0 0 0 1 1000 2", "loss 1 0 0 1", "open 2 0 0 1", "loss 3 0 0 1", "open 4 0 0 1"];
    let mut events: Vec<Event> = lines.iter().map(|line| Event::parse(line)).collect();
    for line in [format!("window 5 0 0 1 {cwnd}"), "loss 6 0 0 1".to_owned(), "open 7 0 0 1".to_owned()] {
        events.push(Event::parse(&line));
    }
    events
}

#[test]
fn agile_sd_epochs_are_the_papers() {
    let Some(program) = Program::compile("agile_sd") else { return };
    // A gap of four segments, crossed segment by segment with the lambda of each: 80 falls to 76.
    for (lambda_max, ms) in [(1.0, 80.0), (2.0, 63.3333), (3.0, 48.8889), (4.0, 41.6667)] {
        let mut events = lost_at(80);
        for cwnd in 76..80 {
            events.push(Event::parse(&format!("window 8 0 0 1 {cwnd}")));
            events.push(Event::parse("ack 9 0 0 1 1 20000"));
        }
        let (_, params) = settings("agile_sd", &[("lambda_max", Number(lambda_max))]);
        let shown = program.replay(&events, &params);
        let lambdas = shown.iter().skip(lost_at(80).len()).skip(1).step_by(2).map(|shown| shown.state["lambda"]);
        let epoch: f64 = lambdas.map(|lambda| 20.0 / (lambda as f64 / 1e6)).sum();
        assert!((epoch - ms).abs() < 1e-3, "lambda_max {lambda_max}: {epoch} ms");
    }
}

#[test]
fn agile_sd_module_grows_as_the_authors_module() {
    let Some(program) = Program::compile("agile_sd") else { return };
    let profile = ("profile", Choice("module".to_owned()));
    let (_, params) = settings("agile_sd", &[profile, ("beta2", Number(0.95))]);
    let mut events = lost_at(1000);
    let mut windows = vec![program.replay(&events, &params).last().unwrap().cwnd];
    for _ in 0..10 {
        let cwnd = *windows.last().unwrap();
        events.extend((0..cwnd).map(|_| Event::parse("ack 9 0 0 1 1 20000")));
        windows.push(program.replay(&events, &params).last().unwrap().cwnd);
    }
    let at = [0, 1, 2, 5, 10].map(|rounds| windows[rounds]);
    assert_eq!(at, [950, 952, 955, 963, 972]);
}
