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
use native::{Event, Kernel, Program, Shown, Step, algorithm, recordings, replay, replay_by, settings};
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

/// Linux's modules count whole segments, and so do both forms: windows are equal to the segment.
///
/// `thresholds` is by how many segments thresholds may differ.
fn in_profile_linux(name: &str, thresholds: f64, also: &[&[(&str, ParamValue)]]) {
    let Some(program) = Program::compile(name) else { return };
    let row = narrows_cc::find(name).unwrap();
    let profile: Vec<_> = row
        .params
        .iter()
        .filter(|param| param.name == "profile")
        .map(|_| ("profile", Choice("linux".to_owned())))
        .collect();
    for given in std::iter::once(&[][..]).chain(also.iter().copied()) {
        let (_, in_c) = settings(name, given);
        let (params, _) = settings(name, &[profile.as_slice(), given].concat());
        for (recording, events) in recordings() {
            // Westwood counts what snd_una says.
            let kernel = Kernel { acked_by_una: name == "westwood", ..Kernel::default() };
            let rust = replay_by(&mut *algorithm(name, &params), &events, kernel);
            let c = program.replay(&events, &in_c);
            for (at, (rust, c)) in rust.iter().zip(&c).enumerate() {
                let place = format!("{name} {given:?}, {recording} event {at}: {}", events[at].line);
                assert!(
                    (rust.exact() - c.exact()).abs() < 1e-9,
                    "{place}: {} in Rust, {} in C",
                    rust.exact(),
                    c.exact()
                );
                let (ours, theirs) = (rust.ssthresh().unwrap_or(1e9), c.ssthresh.map_or(1e9, |s| s as f64));
                assert!((ours - theirs).abs() <= thresholds, "{place}: ssthresh {ours} in Rust, {theirs} in C");
            }
        }
    }
}

#[test]
fn scalable_has_the_windows_of_the_rust_form() {
    in_profile_linux("scalable", 0.0, &[&[("per", Number(50.0))]]);
}

#[test]
fn highspeed_has_the_windows_of_the_rust_form() {
    in_profile_linux("highspeed", 0.0, &[]);
}

#[test]
fn hybla_has_the_windows_of_the_rust_form() {
    in_profile_linux("hybla", 0.0, &[&[("rtt0", Number(5.0))]]);
}

#[test]
fn veno_has_the_windows_of_the_rust_form() {
    // With another beta the first ACK after a recovery tells the forms apart: the kernel reports the end of a recovery
    // between an ACK's sample and its growth, and recordings before the ACK.
    in_profile_linux("veno", 0.0, &[]);
}

#[test]
fn vegas_has_the_windows_of_the_rust_form() {
    // Linux's threshold of three quarters of the window is rounded twice, the Rust form's once.
    in_profile_linux("vegas", 1.5, &[&[("alpha", Number(1.0)), ("beta", Number(3.0)), ("gamma", Number(2.0))]]);
}

#[test]
fn yeah_has_the_windows_of_the_rust_form() {
    in_profile_linux("yeah", 0.0, &[&[("alpha", Number(10.0)), ("zeta", Number(3.0)), ("rho", Number(2.0))]]);
}

#[test]
fn illinois_has_the_windows_of_the_rust_form() {
    in_profile_linux("illinois", 0.0, &[&[("win_thresh", Number(5.0)), ("theta", Number(2.0))]]);
}

#[test]
fn bic_has_the_windows_of_the_rust_form() {
    in_profile_linux(
        "bic",
        0.0,
        &[&[("beta", Number(0.7)), ("max_increment", Number(4.0)), ("fast_convergence", Switch(false))]],
    );
}

#[test]
fn westwood_has_the_windows_of_the_rust_form() {
    in_profile_linux("westwood", 0.0, &[]);
}

#[test]
fn htcp_has_the_windows_of_the_rust_form() {
    in_profile_linux("htcp", 0.0, &[&[("rtt_scaling", Switch(false))], &[("bandwidth_switch", Switch(false))]]);
}

/// A recording with the timestamps that its ACKs would carry, from clocks `apart` milliseconds apart; the delay towards
/// the receiver is what the RTT exceeds its smallest by, and a constant.
fn with_stamps(events: &[Event], apart: u32) -> Vec<Event> {
    let rtt = |event: &Event| event.rest.get(1).and_then(|rtt| rtt.parse::<u64>().ok());
    let least = events.iter().filter(|event| event.what == "ack").filter_map(rtt).min().unwrap();
    let stamped = |event: &Event| {
        let Some(rtt) = rtt(event).filter(|_| matches!(event.what.as_str(), "ack" | "see")) else {
            return event.clone();
        };
        let now = event.now.since(narrows_units::Instant::ZERO).as_micros();
        // An RTT of the simulator's is not later than the time since the run began, but for what it is rounded by.
        let sent = now.saturating_sub(rtt);
        let received = (sent + rtt.saturating_sub(least) + least / 2) / 1000;
        Event::parse(&format!("{} 0 {} {}", event.line, apart.wrapping_add(received as u32), sent / 1000))
    };
    events.iter().map(stamped).collect()
}

#[test]
fn lp_has_the_windows_of_the_rust_form() {
    let Some(program) = Program::compile("lp") else { return };
    let mut reduced = 0;
    for given in [&[][..], &[("delta", Number(0.5)), ("inference", Number(1.5))]] {
        let (_, in_c) = settings("lp", given);
        let profile = ("profile", Choice("linux".to_owned()));
        let (params, _) = settings("lp", &[given, std::slice::from_ref(&profile)].concat());
        for (recording, plain) in recordings() {
            // Clocks that agree, that are an hour apart, and whose offset wraps.
            for apart in [Some(0), Some(3_600_000), Some(u32::MAX - 5_000), None] {
                let events = apart.map_or(plain.clone(), |apart| with_stamps(&plain, apart));
                // A sign may leave cwnd below ssthresh at a loss.
                let kernel = Kernel { ends_at_ssthresh: true, ..Kernel::default() };
                let rust = replay_by(&mut *algorithm("lp", &params), &events, kernel);
                let c = program.replay(&events, &in_c);
                for (at, (rust, c)) in rust.iter().zip(&c).enumerate() {
                    let place = format!("{given:?}, {recording}, {apart:?}, event {at}: {}", events[at].line);
                    let (hz, frozen) = (c.state["remote_hz"] as f64, c.state["frozen"] as f64);
                    assert_eq!((rust.state["remote_hz"], rust.state["inference"]), (hz, frozen), "{place}");
                    assert_eq!(differ(false, rust, c, 0.0), Ok(()), "{place}");
                    reduced += usize::from(frozen > 0.0);
                }
            }
        }
    }
    assert!(reduced > 100, "{reduced} events in an inference phase");
}

/// Where no command comes, ACNS leaves all to its base: every hook of the base is called, with the base's parameters.
#[test]
fn acns_without_commands_is_its_base() {
    let Some(program) = Program::compile_as("acns_agile_sd", "agile_sd") else { return };
    for profile in ["paper", "module"] {
        let given = [("profile", Choice(profile.to_owned())), ("lambda_max", Number(3.7))];
        compare(&program, &given, if profile == "paper" { ROUNDING } else { 0.0 }, windows_only);
    }
    for name in ["bic", "highspeed", "htcp", "hybla", "illinois", "lp", "scalable", "vegas", "veno", "westwood", "yeah"]
    {
        let Some(alone) = Program::compile(name) else { return };
        let Some(below) = Program::compile_as(&format!("acns_{name}"), name) else { return };
        for (recording, events) in recordings() {
            let (alone, below) = (alone.replay(&events, &[]), below.replay(&events, &[]));
            for (at, (alone, below)) in alone.iter().zip(&below).enumerate() {
                let (alone, below) = ((alone.cwnd, alone.ssthresh), (below.cwnd, below.ssthresh));
                assert_eq!(alone, below, "{name}, {recording} event {at}: {}", events[at].line);
            }
        }
    }
    let Some(program) = Program::compile_as("acns_compound", "compound") else { return };
    compare(&program, &[], ROUNDING, windows_only);
    compare(&program, &[("profile", Choice("linux".to_owned()))], 0.0, windows_only);
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
