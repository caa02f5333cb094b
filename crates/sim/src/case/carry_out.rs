//! Carries out the steps of a case: on directions of links, and on applications.

use super::CaseRun;
use crate::flow::End;
use crate::slots::Slots;
use crate::world::{World, on_link};
use narrows_fabric::{Effect, Intervention, effects};
use narrows_samples::Probe;
use narrows_units::{Bytes, Instant, Rate};
use std::sync::Arc;

/// Bytes per write of a limited application that has no connection yet; later a segment's.
const WRITE: Bytes = Bytes::new(1000);

/// Most actions of a step, for numbers of interventions.
const ACTIONS: usize = 1 << 8;

impl World<'_> {
    /// Does what a step that happens now asks for.
    pub(super) fn carry_out<P: Probe>(&mut self, step: usize, run: &mut CaseRun, probe: &mut P) {
        let case = Arc::clone(&run.case);
        let Some(actions) = case.steps.get(step).map(|step| &step.actions) else { return };
        let rounds_now = case.rounds.and_then(|id| run.values.get(id.0)).copied().filter(|rounds| !rounds.is_nan());
        for (index, action) in actions.iter().enumerate() {
            let number = step * ACTIONS + index;
            for effect in effects(action, self.scenario) {
                match effect {
                    Effect::Link { edge, what, rounds } => {
                        self.intervene(edge, number, Some(&what), probe);
                        if let Some(rounds) = rounds {
                            run.timed.push((number, edge, rounds_now.unwrap_or(0.0) + rounds as f64));
                        }
                    }
                    Effect::Pause(flow) => self.pause(flow, probe),
                    Effect::Resume(flow) => self.resume(flow),
                    Effect::Limit(flow, rate) => self.limit(flow, rate, probe),
                }
            }
        }
    }

    /// Ends interventions whose round trips have passed.
    pub(super) fn end_timed<P: Probe>(&mut self, run: &mut CaseRun, probe: &mut P) {
        if run.timed.is_empty() {
            return;
        }
        let rounds = run.case.rounds.and_then(|id| run.values.get(id.0)).copied().unwrap_or(f64::NAN);
        let over: Vec<_> = run.timed.extract_if(.., |(_, _, until)| rounds >= *until).collect();
        for (number, edge, _) in over {
            self.intervene(edge, number, None, probe);
        }
    }

    /// Begins an intervention in a direction, or ends the one with this number.
    fn intervene<P: Probe>(&mut self, edge: usize, number: usize, what: Option<&Intervention>, probe: &mut P) {
        let now = self.now;
        if edge >= self.links.len() {
            return;
        }
        let next = on_link!(self, edge,
        _line => return,
        (link, recorder) => {
            match what {
                Some(what) => link.intervene(number, what, now, &mut recorder),
                None => link.end_interventions(number, now, &mut recorder),
            }
            link.next_event()
        });
        self.agenda.arm_no_later(Slots::link(edge), next);
        self.watch_departure(edge);
        self.observe_queue(edge, probe);
    }

    /// Stops a flow's application.
    fn pause<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        if self.flows.get_mut(flow).is_some_and(|state| state.app.pause()) {
            self.withdraw(flow);
        }
        self.pump(flow, End::Client, probe);
    }

    /// Withdraws what a flow's application has written and its connection has not sent.
    fn withdraw(&mut self, flow: usize) {
        let Some(client) = self.connections.get_mut(flow, End::Client) else { return };
        let before = client.unsent();
        client.withdraw();
        let withdrawn = before.saturating_sub(client.unsent());
        if let Some(state) = self.flows.get_mut(flow) {
            state.app.take_back(withdrawn);
        }
    }

    /// Lets a flow's application go on.
    fn resume(&mut self, flow: usize) {
        let now = self.now;
        if let Some(state) = self.flows.get_mut(flow) {
            let wanted = state.app.resume(now);
            self.wake_app(flow, wanted);
        }
    }

    /// Limits the rate at which a flow's application writes, or ends the limit.
    fn limit<P: Probe>(&mut self, flow: usize, rate: Option<Rate>, probe: &mut P) {
        let now = self.now;
        let client = self.connections.get(flow, End::Client);
        let write = client.map_or(WRITE, |client| client.info().smss);
        if let Some(state) = self.flows.get_mut(flow) {
            let wanted = state.app.limit(rate, write, now);
            if wanted < Instant::NEVER {
                self.withdraw(flow);
                self.wake_app(flow, wanted);
                self.pump(flow, End::Client, probe);
            }
        }
    }

    /// Wakes an application at a time, if it has begun.
    fn wake_app(&mut self, flow: usize, wanted: Instant) {
        let Some(state) = self.flows.get(flow).filter(|state| state.start <= self.now && !state.stopped) else {
            return;
        };
        self.arm_app_no_later(flow, wanted.min(state.stop));
    }

    /// Closes a bounded transfer that steps may pause, once all of it is written and sent.
    pub(super) fn close_when_written<P: Probe>(&mut self, flow: usize, probe: &mut P) {
        let Some(state) = self.flows.get(flow).filter(|state| state.app.has_written_all()) else { return };
        if state.stopped {
            return;
        }
        if let Some(client) = self.connections.get_mut(flow, End::Client)
            && client.unsent() == Bytes::ZERO
            && client.state() == narrows_tcp::State::Established
        {
            client.close();
            self.pump(flow, End::Client, probe);
        }
    }
}
