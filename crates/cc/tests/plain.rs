//! An ACK taken by `on_plain_ack` moves the same window and state as one taken by `on_ack`, for every row of the
//! registry and every choice and switch of its parameters.
#![allow(clippy::unwrap_used)]

#[path = "common/mod.rs"]
mod common;

use common::Model;
use narrows_cc::{ParamKind, ParamValue, Params, Row, registry};
use narrows_units::Duration;

/// The row's defaults, and each choice and switch of one parameter.
fn settings(row: &Row) -> Vec<Params> {
    let one = |name: &str, value| Params::new(vec![(name.to_owned(), value)]);
    let mut all = vec![Params::default()];
    for param in row.params {
        match param.kind {
            ParamKind::Choice { allowed, .. } => {
                all.extend(allowed.iter().map(|word| one(param.name, ParamValue::Choice((*word).to_owned()))));
            }
            ParamKind::Switch { default } => all.push(one(param.name, ParamValue::Switch(!default))),
            ParamKind::Number { .. } => {}
        }
    }
    all
}

fn state(model: &Model) -> Vec<(&'static str, u64)> {
    let mut state = Vec::new();
    model.cc.state(&mut |name, value| state.push((name, value.to_bits())));
    state
}

/// Slow start, congestion avoidance at several round-trip times, a sender that cwnd does not limit, losses, a timeout
/// and an undo, by plain ACKs and by the others. Returns how many ACKs were plain.
fn compare(row: &Row, params: &Params) -> u64 {
    let smss = 1448;
    let mut models = [true, false].map(|plain| {
        let mut model = Model::of((row.build)(params), smss, Duration::from_millis(50)).at(10, Some(30));
        model.plain = plain;
        model.timestamps = !model.cc.needs().observes_plainly;
        model
    });
    for n in 0..4_000_u64 {
        for model in &mut models {
            match n % 1_000 {
                200 | 600 => model.loss(),
                700 => model.ecn(),
                900 => model.undo(),
                _ => {}
            }
            if n == 3_000 {
                model.timeout(false);
            }
            model.rtt = Duration::from_micros(50_000 + 37 * (n % 300));
            model.path.slow_start_at_equality = n >= 2_000;
            model.path.now += Duration::from_micros(1_700 + n % 11);
            model.ack(if n % 13 == 0 { 2 * smss } else { smss - n % 3 });
            // `ack` sends what cwnd allows; the next ACK may find a sender that did not need all of it.
            model.path.cwnd_limited = n % 40 > 4;
        }
        let [one, other] = &models;
        assert_eq!(one.win, other.win, "{} {params:?}: window after ACK {n}", row.name);
        assert_eq!(state(one), state(other), "{} {params:?}: state after ACK {n}", row.name);
    }
    let (observes, taken) = (models[0].cc.needs().observes_plainly, models[0].taken);
    assert!(taken > 0 || !observes, "{} {params:?} takes no plain ACK", row.name);
    taken
}

#[test]
fn plain_acks_move_the_window_as_others_do() {
    let (mut taking, mut observing) = (Vec::new(), Vec::new());
    for row in registry() {
        let all = settings(row);
        observing.extend(all.iter().filter(|&params| (row.build)(params).needs().observes_plainly).map(|_| row.name));
        let taken: Vec<u64> = all.iter().map(|params| compare(row, params)).collect();
        if taken.iter().any(|&n| n > 0) {
            taking.push(row.name);
        }
    }
    for name in ["reno", "newreno", "sack", "cubic", "agile_sd"] {
        assert!(taking.contains(&name), "{name} is not among {taking:?}");
    }
    assert_eq!(observing, ["cubic"], "with the rules of ns-2");
}
