//! Algorithms declare which events they need: an algorithm that receives all events gives the same samples.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::{BULK, PLAIN, path, scenario};
use narrows_cc::{
    Ack, Advice, Congestion, CongestionControl, LostSegment, Needs, Params, Path, Sent, Window, registry,
};
use narrows_sim::{Algorithms, Options, run};
use std::sync::Arc;

/// An algorithm of the registry that requests all events.
#[derive(Debug)]
struct Curious(Box<dyn CongestionControl>);

impl CongestionControl for Curious {
    fn needs(&self) -> Needs {
        Needs { acks: true, rates: true, losses: true, sending: true, ..self.0.needs() }
    }

    fn on_start(&mut self, path: &Path, win: &mut Window) {
        self.0.on_start(path, win);
    }
    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.0.observe(ack, path);
    }
    fn on_lost(&mut self, lost: &LostSegment, path: &Path, win: &mut Window) {
        self.0.on_lost(lost, path, win);
    }
    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.0.on_ack(ack, path, win);
    }
    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        self.0.on_congestion(event, path, win);
    }
    fn on_sent(&mut self, sent: &Sent, path: &Path, win: &mut Window) {
        self.0.on_sent(sent, path, win);
    }
    fn on_undo(&mut self, path: &Path, win: &mut Window) {
        self.0.on_undo(path, win);
    }
    fn on_advice(&mut self, advice: Advice, path: &Path, win: &mut Window) {
        self.0.on_advice(advice, path, win);
    }
    fn on_window_set(&mut self, path: &Path, win: &Window) {
        self.0.on_window_set(path, win);
    }
    fn on_recovered(&mut self, path: &Path, win: &mut Window) {
        self.0.on_recovered(path, win);
    }
    fn holds_back(&self) -> bool {
        self.0.holds_back()
    }
    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.0.state(visit);
    }
}

/// Provides `curious`, which wraps the algorithm of this name.
#[derive(Debug)]
struct Wrapped(String);

impl Algorithms for Wrapped {
    fn has(&self, name: &str) -> bool {
        name == "curious"
    }
    fn build(&self, _: &str, params: &Params) -> Box<dyn CongestionControl> {
        Box::new(Curious(narrows_cc::build(&self.0, params).unwrap()))
    }
}

/// A flow that goes idle again and again.
const IDLE: &str = r#"
[[flows]]
name = "idle"
from = "A"
to = "B"
kind = "request_response"
response = "200 kB"
think = "900 ms"
"#;

#[test]
fn what_an_algorithm_does_not_ask_for_would_change_nothing() {
    let network = path(&format!("{PLAIN}\nper = 0.005"), &format!("{BULK}{IDLE}")).replace("20 s", "6 s");
    for row in registry() {
        for stack in ["rfc", "linux", "ns2"] {
            let (name, needs_ecn) = (row.name, row.traits.needs_ecn);
            let ecn = if row.traits.l4s { "\"accurate\"".to_owned() } else { needs_ecn.to_string() };
            let mut asked = scenario(&format!("{network}\n[tcp]\ncc = \"{name}\"\nstack = \"{stack}\"\necn = {ecn}\n"));
            let alone = run(&asked, &Options { seed: 1, ..Options::default() }).unwrap();
            for tcp in asked.flows.iter_mut().filter_map(|flow| flow.tcp_mut()) {
                tcp.cc = "curious".to_owned();
            }
            let algorithms: Arc<dyn Algorithms> = Arc::new(Wrapped(name.to_owned()));
            let told = run(&asked, &Options { seed: 1, algorithms: Some(&algorithms), ..Options::default() }).unwrap();
            assert_eq!(alone.samples, told.samples, "{name}, {stack}");
        }
    }
}
