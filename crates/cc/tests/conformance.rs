//! Properties of every row of the registry, whatever the algorithm. No row has code of its own here: a row that opts
//! out of a property says so in its `Traits`. Each property is tested with the defaults and with every single choice
//! and switch of the row's parameters.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

#[path = "common/mod.rs"]
mod common;

use common::Model;
use narrows_cc::resume::{self, Saved};
use narrows_cc::start::{self, Start};
use narrows_cc::{Advice, Congestion, ParamKind, ParamValue, Params, Response, Row, registry};
use narrows_units::{Bytes, Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const SMSS: u64 = 1448;
const RTT: Duration = Duration::from_millis(50);

/// A row with one way to set its parameters.
#[derive(Clone, Debug)]
struct Case {
    row: &'static Row,
    params: Params,
    /// A slow start in place of the row's.
    start: Option<Start>,
    /// Whether the flow resumes a window of 400 segments.
    resumes: bool,
    label: String,
}

impl Case {
    fn model_with(&self, smss: u64) -> Model {
        let mut cc = (self.row.build)(&self.params);
        if let Some(kind) = self.start {
            cc = start::with(cc, kind);
        }
        if self.resumes {
            cc = resume::with(cc, Saved { cwnd: Bytes::new(400 * smss), rtt: RTT });
        }
        Model::of(cc, smss, RTT)
    }

    /// Whether slow start may more than double the window in a round.
    fn leaps(&self) -> bool {
        self.row.traits.response == Response::ReducesAndLeaps
    }

    /// Whether the window of `model` is that of careful resume's jump, which is no growth.
    fn jumped(&self, model: &Model) -> bool {
        self.resumes && model.win.cwnd == Bytes::new(200 * SMSS)
    }

    fn model(&self) -> Model {
        self.model_with(SMSS)
    }
}

/// Every row with its defaults, and with each other word, switch and bound of each of its parameters.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in registry() {
        let mut push = |given: Vec<(String, ParamValue)>| {
            for (name, value) in &given {
                row.check(name, value).unwrap();
            }
            let shown: Vec<String> = given.iter().map(|(n, v)| format!(" {n}={v}")).collect();
            let label = format!("{}{}", row.name, shown.concat());
            cases.push(Case { row, params: Params::new(given), start: None, resumes: false, label });
        };
        push(Vec::new());
        for param in row.params {
            let values: Vec<ParamValue> = match param.kind {
                ParamKind::Number { min, max, .. } => vec![ParamValue::Number(min), ParamValue::Number(max)],
                ParamKind::Switch { default } => vec![ParamValue::Switch(!default)],
                ParamKind::Choice { allowed, .. } => {
                    allowed.iter().map(|word| ParamValue::Choice((*word).to_owned())).collect()
                }
            };
            for value in values {
                push(vec![(param.name.to_owned(), value)]);
            }
        }
        if row.traits.own_start.is_none() {
            let kinds = [Start::HyStart, Start::HyStartPlusPlus, Start::Search, Start::Limited { max_ssthresh: 100 }];
            let kinds = kinds.into_iter().map(Some).chain([None]).map(|start| (start, start.is_none()));
            cases.extend(kinds.map(|(start, resumes)| {
                let label = format!("{} {start:?} resumes={resumes}", row.name);
                Case { row, params: Params::default(), start, resumes, label }
            }));
        }
    }
    cases
}

/// The cases of rows whose windows are reduced by congestion.
fn reducing() -> impl Iterator<Item = Case> {
    cases().into_iter().filter(|c| c.row.traits.response.reduces())
}

/// Situations in which each property is tested: at the start, in slow start, and some rounds after a loss.
fn situations(case: &Case) -> Vec<Model> {
    let started = case.model();
    let mut slow = case.model();
    slow.rounds(3);
    let mut lost = case.model().at(200, None);
    lost.loss();
    lost.rounds(10);
    vec![started, slow, lost]
}

#[test]
fn some_row_reduces_and_some_scales() {
    assert!(reducing().count() > 10);
    assert!(cases().iter().any(|c| c.row.traits.scales));
}

#[test]
fn no_growth_unless_cwnd_limited() {
    for case in reducing() {
        for mut m in situations(&case) {
            m.path.cwnd_limited = false;
            let before = m.cwnd();
            for (round, window) in m.rounds(20).into_iter().enumerate() {
                assert!(window <= before, "{}: {before} grew to {window} in round {round}", case.label);
            }
        }
    }
}

#[test]
fn the_window_grows_when_there_is_room() {
    for case in reducing() {
        let mut m = case.model().at(20, Some(20));
        m.loss();
        let before = m.cwnd();
        let after = m.rounds(400).pop().unwrap();
        assert!(after > before + 5.0, "{}: {before} to {after} in 400 rounds; promised are 5 segments", case.label);
    }
}

#[test]
fn undo_restores_window_and_threshold() {
    for case in reducing() {
        for event in [
            Congestion::Loss { lost: Bytes::new(SMSS) },
            Congestion::Ecn { marked: Bytes::new(SMSS) },
            Congestion::Timeout { repeated: false },
        ] {
            for mut m in situations(&case) {
                m.event(event);
                let reduced = m.win.ssthresh;
                m.undo();
                assert_eq!(m.win.cwnd, m.before().cwnd, "{} after {event:?}", case.label);
                // The event's threshold stays if the window had grown so far that it is the larger one.
                let larger = m.before().ssthresh.and_then(|before| reduced.map(|r| r.max(before)));
                assert_eq!(m.win.ssthresh, larger, "{} after {event:?}", case.label);
            }
        }
    }
}

#[test]
fn growth_goes_on_after_an_undo() {
    // The rounds after an undone event are close to those without it. An algorithm may still remember the undone loss,
    // as Linux's BIC does; it then continues from the window before the loss and does not fall back.
    for case in reducing() {
        let mut undone = case.model().at(100, None);
        undone.loss();
        undone.rounds(40);
        let mut plain = case.model().at(100, None);
        plain.loss();
        plain.rounds(40);
        undone.loss();
        undone.undo();
        let restored = undone.cwnd();
        let (with, without) = (undone.rounds(10)[9], plain.rounds(10)[9]);
        assert!(with > restored.min(0.9 * without), "{}: {with} after an undo, {without} without", case.label);
    }
}

/// The largest window allowed if nothing was acknowledged: the window before, or any window without congestion control.
fn without_growth(case: &Case, before: Bytes) -> Bytes {
    if case.row.traits.response == Response::Nothing {
        before.max(narrows_cc::algorithms::none::UNBOUNDED)
    } else {
        before
    }
}

#[test]
fn ten_days_of_idleness_are_survived() {
    for case in cases() {
        for mut m in situations(&case) {
            let before = m.win.cwnd;
            m.idle(Duration::from_secs(864_000));
            let most = without_growth(&case, before);
            assert!(m.win.cwnd <= most, "{}: idleness is no growth: {before} to {}", case.label, m.win.cwnd);
            let before = m.win.cwnd;
            m.round();
            let doubled = m.win.cwnd <= before * 2 + m.path.smss;
            assert!(doubled || case.leaps() || case.jumped(&m), "{}: {before} to {}", case.label, m.win.cwnd);
        }
    }
}

#[test]
fn a_clock_at_its_end_is_survived() {
    for case in cases() {
        for mut m in situations(&case) {
            m.path.now = Instant::NEVER;
            let most = without_growth(&case, m.win.cwnd) + Bytes::new(2 * SMSS);
            m.ack(SMSS);
            m.loss();
            m.ack(SMSS);
            assert!(m.win.cwnd <= most || case.leaps(), "{}: {} above {most}", case.label, m.win.cwnd);
        }
    }
}

#[test]
fn timeout_restarts_from_one_segment() {
    for case in reducing() {
        let most = match case.row.traits.response {
            Response::ReducesToInitialWindow => 10.0,
            _ => 1.0,
        };
        for mut m in situations(&case) {
            let (cwnd, flight) = (m.win.cwnd, m.path.flightsize);
            m.timeout(false);
            assert!(m.cwnd() >= 1.0 && m.cwnd() <= most, "{}: {}", case.label, m.cwnd());
            let restart = m.cwnd();
            let ssthresh = m.win.ssthresh.unwrap();
            let two = m.path.smss * 2;
            assert!(ssthresh >= two && ssthresh <= cwnd.max(flight).max(two), "{}: {ssthresh}", case.label);
            m.timeout(true);
            assert_eq!((m.cwnd(), m.win.ssthresh), (restart, Some(ssthresh)), "{}: reduced twice", case.label);
        }
    }
}

#[test]
fn loss_reduces_and_leaves_two_segments() {
    for case in reducing() {
        for mut m in situations(&case) {
            let before = m.cwnd();
            m.loss();
            // A loss leaves at least two segments; a window of one segment stays.
            let reduced = m.cwnd() < before && m.cwnd() >= 2.0;
            assert!(reduced || (before <= 2.0 && m.cwnd() == before), "{}: {before} to {}", case.label, m.cwnd());
            assert!(m.ssthresh() >= 2.0 && m.ssthresh() <= before.max(2.0), "{}: {}", case.label, m.ssthresh());
        }
    }
}

#[test]
fn ecn_reduces_at_most_as_a_loss_does() {
    for case in reducing() {
        for (mut marked, mut lost) in situations(&case).into_iter().zip(situations(&case)) {
            let before = marked.cwnd();
            marked.ecn();
            lost.loss();
            // If a loss ends at its floor of two segments, an echo may end at one (RFC 9438, section 4.6).
            let least = if lost.cwnd() <= 2.0 { 1.0 } else { lost.cwnd() };
            assert!(marked.cwnd() >= least, "{}: {} and {}", case.label, marked.cwnd(), lost.cwnd());
            assert!(marked.cwnd() <= before, "{}: an ECN echo is no reason to grow", case.label);
        }
    }
}

#[test]
fn windows_scale_with_the_smss() {
    for case in cases().into_iter().filter(|c| c.row.traits.scales) {
        let windows = |smss| {
            let mut m = case.model_with(smss);
            let mut seen = m.rounds(4);
            m.loss();
            seen.extend(m.rounds(40));
            m.ecn();
            seen.extend(m.rounds(20));
            m.timeout(false);
            seen.extend(m.rounds(20));
            seen
        };
        let (small, large) = (windows(1000), windows(8000));
        for (round, (a, b)) in small.iter().zip(&large).enumerate() {
            // Rounding to bytes differs; everything else must not. Counting ACKs in whole rounds magnifies it a little.
            assert!((a - b).abs() <= 0.02 * a + 0.1, "{} in round {round}: {a} and {b} segments", case.label);
        }
    }
}

#[test]
fn a_change_of_the_smss_moves_no_window() {
    for case in reducing() {
        for smss in [500, 1448 * 4] {
            for mut m in situations(&case) {
                let (before, slow) = (m.win, m.win.in_slow_start(&m.path));
                m.path.smss = Bytes::new(smss);
                m.ack(smss);
                let most = before.cwnd + m.path.smss * if slow { 1 } else { 2 };
                assert!(m.win.cwnd >= before.cwnd, "{}: {before:?} to {:?}", case.label, m.win);
                assert!(m.win.cwnd <= most || case.leaps(), "{}: {before:?} to {:?}", case.label, m.win);
                m.loss();
                assert!(m.win.ssthresh.unwrap() >= m.path.smss * 2, "{}: counts new segments", case.label);
            }
        }
    }
}

/// The names that an algorithm reports now, in order; each value must be finite.
fn reported(case: &Case, m: &Model) -> Vec<&'static str> {
    let mut names = Vec::new();
    m.cc.state(&mut |name, value| {
        assert!(value.is_finite(), "{}: {name} is {value}", case.label);
        names.push(name);
    });
    names
}

/// Rounds with and without a queue, a loss, an ECN echo, an undo and a timeout; `look` sees the flow after each.
fn a_while(case: &Case, mut look: impl FnMut(&Model)) {
    let mut m = case.model().at(20, Some(40)).through(30);
    look(&m);
    for step in 0..6 {
        m.marking = step == 2;
        match step {
            1 => m.loss(),
            2 => m.ecn(),
            3 => m.loss(),
            4 => m.undo(),
            5 => m.timeout(false),
            _ => {}
        }
        look(&m);
        for _ in 0..12 {
            // A round of a large window takes too many ACKs for a test.
            if m.cwnd() < 500.0 {
                m.round();
            } else {
                m.ack(SMSS);
            }
            look(&m);
        }
    }
}

#[test]
fn state_reports_variables_of_the_row_and_always_the_same() {
    for case in cases() {
        let start = if case.start.is_some() { start::VARIABLES } else { &[] };
        let resume = if case.resumes { resume::VARIABLES } else { &[] };
        let declared: Vec<_> =
            case.row.variables.iter().chain(start).chain(resume).map(|variable| variable.name).collect();
        let first = reported(&case, &case.model());
        let mut unique = first.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), first.len(), "{}: a name twice in {first:?}", case.label);
        let unknown: Vec<_> = first.iter().filter(|name| !declared.contains(name)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?} is not declared in `variables`", case.label);
        a_while(&case, |m| assert_eq!(reported(&case, m), first, "{}: names change", case.label));
    }
}

#[test]
fn every_variable_of_a_row_is_reported_by_one_of_its_profiles_and_moves() {
    let mut still = Vec::new();
    for row in registry() {
        let mut seen: Vec<(&str, Vec<f64>)> = Vec::new();
        for case in cases().iter().filter(|case| case.row.name == row.name) {
            a_while(case, |m| {
                m.cc.state(&mut |name, value| match seen.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, values)) if values.contains(&value) => {}
                    Some((_, values)) => values.push(value),
                    None => seen.push((name, vec![value])),
                });
            });
        }
        for variable in row.variables {
            let values = seen.iter().find(|(name, _)| *name == variable.name).map(|(_, values)| values.len());
            assert!(values.is_some(), "{}: nothing reports {}", row.name, variable.name);
            if values == Some(1) {
                still.push((row.name, variable.name));
            }
        }
    }
    assert_eq!(still, NEEDS_MORE_THAN_A_WHILE);
}

/// Variables that the events of [`a_while`] do not move: their own vectors do.
const NEEDS_MORE_THAN_A_WHILE: &[(&str, &str)] = &[
    ("bbr", "min_rtt_s"),
    ("bbr", "policed"),
    ("bbr3", "bw_shortterm_bps"),
    ("bbr3", "inflight_shortterm_bytes"),
    ("bbr3", "inflight_longterm_bytes"),
    ("bbr3", "min_rtt_s"),
    ("bbr3", "ecn_alpha"),
    ("bbr3", "inflight_with_headroom_bytes"),
    ("bbr3", "send_quantum_bytes"),
    ("bbr3", "idle_restart"),
    ("bbr3", "probe_rtt_min_delay_s"),
    ("bbr3", "probe_rtt_min_stamp_s"),
    ("bbr3", "probe_rtt_expired"),
    ("bbr3", "prev_probe_too_high"),
    ("bbr3", "prev_probe_precautionary"),
    ("bbr3", "undo_state"),
    ("bbr3", "undo_bw_shortterm_bps"),
    ("bbr3", "undo_inflight_shortterm_bytes"),
    ("bbr3", "undo_inflight_longterm_bytes"),
    ("westwood", "accounted"),
    ("ledbat_pp", "base_rtt"),
    ("vivace", "loss_rate"),
];

/// Units of variables: the words that users see elsewhere, and fixed-point units of kernel modules.
const UNITS: &[&str] = &[
    "",
    "1/128",
    "1/128 segment",
    "1/16 segment per ACK",
    "ACKs",
    "Hz",
    "bit/s",
    "bytes",
    "bytes/s",
    "rounds",
    "s",
    "samples",
    "segments",
    "segments per RTT",
    "segments/s",
];

#[test]
fn variables_are_documented_and_have_a_known_unit() {
    for row in registry() {
        for (index, variable) in row.variables.iter().enumerate() {
            let label = format!("{}: {}", row.name, variable.name);
            assert!(UNITS.contains(&variable.unit), "{label}: unit {}", variable.unit);
            assert!(variable.doc.ends_with('.') && variable.doc.len() > 20, "{label}: {}", variable.doc);
            assert!(row.variables[..index].iter().all(|other| other.name != variable.name), "{label}: twice");
        }
    }
}

/// Anything that a connection may report to an algorithm.
#[derive(Clone, Debug)]
enum Event {
    Ack { bytes: u64, wait_us: u64, rtt_us: u64 },
    Round { per: u64 },
    Limited(bool),
    Loss,
    Ecn,
    Timeout { repeated: bool },
    Undo,
    Idle { secs: u64 },
    Advice(Advice),
    Smss(u64),
    NoSample,
    Cut { to: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let advice = prop_oneof![Just(Advice::Normal), Just(Advice::Freeze), Just(Advice::Fallback)];
    prop_oneof![
        8 => (0u64..200_000, 0u64..5_000_000, 1u64..2_000_000)
            .prop_map(|(bytes, wait_us, rtt_us)| Event::Ack { bytes, wait_us, rtt_us }),
        4 => (1u64..5).prop_map(|per| Event::Round { per }),
        2 => any::<bool>().prop_map(Event::Limited),
        2 => Just(Event::Loss),
        1 => Just(Event::Ecn),
        1 => any::<bool>().prop_map(|repeated| Event::Timeout { repeated }),
        1 => Just(Event::Undo),
        1 => (0u64..2_000_000).prop_map(|secs| Event::Idle { secs }),
        1 => advice.prop_map(Event::Advice),
        1 => (1u64..65_000).prop_map(Event::Smss),
        1 => Just(Event::NoSample),
        1 => (0u64..1_000_000).prop_map(|to| Event::Cut { to }),
    ]
}

/// Applies `event` to the flow and checks what holds after any event.
fn put(m: &mut Model, event: &Event, case: &Case) {
    let before = m.win;
    match *event {
        Event::Ack { bytes, wait_us, rtt_us } => {
            m.path.now += Duration::from_micros(wait_us);
            m.rtt = Duration::from_micros(rtt_us);
            m.ack(bytes);
            if case.row.traits.response.reduces() && !case.leaps() && !case.jumped(m) {
                let most = before.cwnd + Bytes::new(bytes).max(m.path.smss) + m.path.smss;
                // RFC 5681, section 3.1: slow start is the fastest growth, and an ACK adds at most what it
                // acknowledges.
                assert!(
                    m.win.cwnd <= most,
                    "{}: {:?} to {:?}, promised is at most {most:?}, on {event:?}",
                    case.label,
                    before,
                    m.win
                );
            }
        }
        // After slow start to gigabytes, a round takes too many ACKs for a test.
        Event::Round { per } if m.cwnd() < 2000.0 => {
            m.round_of(per);
        }
        Event::Round { .. } => m.timeout(false),
        Event::Limited(limited) => m.path.cwnd_limited = limited,
        Event::Loss => m.loss(),
        Event::Ecn => m.ecn(),
        Event::Timeout { repeated } => m.timeout(repeated),
        Event::Undo => m.undo(),
        Event::Idle { secs } => m.idle(Duration::from_secs(secs)),
        Event::Advice(advice) => m.cc.on_advice(advice, &m.path, &mut m.win),
        Event::Smss(smss) => {
            m.path.smss = Bytes::new(smss);
            m.win.cwnd = m.win.cwnd.max(m.path.smss);
        }
        Event::NoSample => {
            m.sampling = !m.sampling;
            m.path.srtt = None;
            m.path.min_rtt = None;
        }
        // A scheme on top of the algorithm reduces the window.
        Event::Cut { to } => m.win.cwnd = Bytes::new(to).max(m.path.smss),
    }
    assert!(m.win.cwnd >= m.path.smss, "{}: {:?} after {event:?}", case.label, m.win);
    if matches!(event, Event::Loss | Event::Ecn | Event::Timeout { .. }) && case.row.traits.response.reduces() {
        let estimates = case.row.traits.response == Response::ReducesToEstimate;
        let bounded = m.win.cwnd <= before.cwnd.max(m.path.smss);
        assert!(bounded || estimates, "{}: grew to {:?} on {event:?}", case.label, m.win);
        if !matches!(event, Event::Timeout { repeated: true }) {
            assert!(m.win.ssthresh.is_some_and(|s| s >= m.path.smss * 2), "{}: {:?}", case.label, m.win);
        }
    }
    m.cc.state(&mut |name, value| assert!(value.is_finite(), "{}: {name} is {value} after {event:?}", case.label));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        // Beside this file; the default looks for the root of a library, which a test does not have.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_of_events_is_survived_and_repeats(events in prop::collection::vec(event(), 1..120)) {
        for case in cases() {
            let (mut m, mut again) = (case.model(), case.model());
            for event in &events {
                put(&mut m, event, &case);
                put(&mut again, event, &case);
                prop_assert_eq!(m.win, again.win, "{}: same events, other window after {:?}", case.label, event);
            }
        }
    }
}
