//! The values of a case's variables in a simulation.

use super::CaseRun;
use crate::connections::delivered;
use crate::edge::Link;
use crate::slots::Slots;
use crate::world::{World, on_link};
use narrows_cc::{Phase, RateSample};
use narrows_fabric::{edge_of, link_value};
use narrows_tcp::{Info, Measured, Stats};
use narrows_timeline::{Case, FlowField, LinkField, PathField, Source};
use narrows_units::{Bytes, Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is read for a case, by where it is: the second number of each pair is the variable's place.
#[derive(Debug, Default)]
pub(super) struct Readings {
    time: Vec<usize>,
    flows: BTreeMap<usize, FlowReadings>,
    links: Vec<(usize, LinkField, usize)>,
    path: Vec<(PathField, usize)>,
    /// Directions that are brought up to now before they are read.
    edges: BTreeSet<usize>,
}

/// What is read of a flow.
#[derive(Debug, Default)]
struct FlowReadings {
    fields: Vec<(FlowField, usize)>,
    control: Vec<(Arc<str>, usize)>,
    receiver: Vec<(Arc<str>, usize)>,
}

impl Readings {
    pub(super) fn new(case: &Case) -> Self {
        let mut readings = Self::default();
        for (place, variable) in case.variables.iter().enumerate() {
            match &variable.source {
                Source::Time => readings.time.push(place),
                Source::Flow { flow, field } => {
                    readings.flows.entry(*flow).or_default().fields.push((*field, place));
                }
                Source::Control { flow, name } => {
                    readings.flows.entry(*flow).or_default().control.push((Arc::clone(name), place));
                }
                Source::Receiver { flow, name } => {
                    readings.flows.entry(*flow).or_default().receiver.push((Arc::clone(name), place));
                }
                Source::Link { link, side, field } => {
                    let edge = edge_of(*link, *side);
                    readings.edges.insert(edge);
                    readings.links.push((edge, *field, place));
                }
                Source::Path(field) => readings.path.push((*field, place)),
            }
        }
        readings
    }
}

impl World<'_> {
    /// Reads all variables of a case as they are now.
    pub(super) fn read_variables(&mut self, run: &mut CaseRun) {
        for &edge in &run.readings.edges {
            self.bring_up(edge);
        }
        let CaseRun { readings, values, .. } = run;
        let mut set = |place: usize, value: f64| {
            if let Some(of) = values.get_mut(place) {
                *of = value;
            }
        };
        readings.time.iter().for_each(|&place| set(place, self.now.as_secs_f64()));
        for (&edge, field, place) in readings.links.iter().map(|(edge, field, place)| (edge, *field, *place)) {
            if let Some(Link::Queue(link)) = self.links.get(edge) {
                set(place, link_value(link, field));
            }
        }
        for (&flow, of) in &readings.flows {
            self.read_flow(flow, of, &mut set);
        }
        if !readings.path.is_empty() {
            let (rtt, rate) = self.path_now(run.case.flow);
            for &(field, place) in &run.readings.path {
                set(place, path_value(field, rtt, rate));
            }
        }
    }

    /// Carries out what a direction has sent up to now.
    fn bring_up(&mut self, edge: usize) {
        let now = self.now;
        if edge >= self.links.len() {
            return;
        }
        let next = on_link!(self, edge,
        _line => return,
        (link, recorder) => {
            link.drain(now, &mut recorder);
            link.next_event()
        });
        self.agenda.arm_no_later(Slots::link(edge), next);
    }

    fn read_flow(&self, flow: usize, of: &FlowReadings, set: &mut impl FnMut(usize, f64)) {
        let Some(state) = self.flows.get(flow) else { return };
        // No value before the connection, and variables that the algorithm does not report now have none.
        of.control.iter().chain(&of.receiver).for_each(|(_, place)| set(*place, f64::NAN));
        let Some(sender) = self.connections.get(flow, state.sender()) else {
            return of.fields.iter().for_each(|(_, place)| set(*place, f64::NAN));
        };
        let numbers = Numbers {
            info: sender.info(),
            stats: sender.stats(),
            measured: sender.measured(),
            goodput: delivered(&self.connections, flow, state),
            unsent: sender.unsent(),
        };
        for (field, place) in &of.fields {
            set(*place, numbers.value(*field));
        }
        if !of.control.is_empty() {
            read_control(|visit| sender.cc().state(visit), &of.control, set);
        }
        if let (false, Some(receiver)) = (of.receiver.is_empty(), self.connections.get(flow, state.sender().other())) {
            read_control(|visit| receiver.receiver_state(visit), &of.receiver, set);
        }
    }

    /// Two-way propagation delay of a flow's path, and the smallest rate from its sender to its receiver, as the links
    /// are now. 802.11 hops have neither.
    fn path_now(&self, flow: usize) -> (Duration, Rate) {
        let client_sends = self.flows.get(flow).is_some_and(|state| !state.server_sends());
        let (mut rtt, mut slowest) = (Duration::ZERO, Rate::MAX);
        for along in [true, false] {
            let mut way = self.routes.start(flow, along);
            while let Some(edge) = self.routes.hop(way).edge() {
                if let Some(Link::Queue(link)) = self.links.get(edge) {
                    let (rate, delay) = link.rate_and_delay();
                    rtt += delay;
                    if along == client_sends {
                        slowest = slowest.min(rate);
                    }
                }
                way = way.next();
            }
        }
        (rtt, slowest)
    }
}

fn path_value(field: PathField, rtt: Duration, rate: Rate) -> f64 {
    let bps = if rate == Rate::MAX { f64::NAN } else { rate.as_bps() as f64 };
    match field {
        PathField::Rtt => rtt.as_secs_f64(),
        PathField::Rate => bps,
        PathField::Bdp => bps * rtt.as_secs_f64() / 8.0,
    }
}

/// Reads what a congestion control reports.
fn read_control(
    state: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    wanted: &[(Arc<str>, usize)],
    set: &mut impl FnMut(usize, f64),
) {
    state(&mut |name, value| {
        for (_, place) in wanted.iter().filter(|(of, _)| **of == *name) {
            set(*place, value);
        }
    });
}

/// What a sender has to show.
struct Numbers {
    info: Info,
    stats: Stats,
    measured: Measured,
    goodput: Bytes,
    unsent: Bytes,
}

impl Numbers {
    fn value(&self, field: FlowField) -> f64 {
        let Self { info, stats, measured, .. } = self;
        match field {
            FlowField::Cwnd => bytes(info.cwnd),
            FlowField::Ssthresh => info.ssthresh.map_or(f64::NAN, bytes),
            FlowField::Inflight => bytes(info.inflight),
            FlowField::Flightsize => bytes(info.flightsize),
            FlowField::Srtt => seconds(info.srtt),
            FlowField::Rttvar => seconds(info.rttvar),
            FlowField::MinRtt => seconds(info.min_rtt),
            FlowField::Rtt => seconds(info.rtt),
            FlowField::Rto => info.rto.as_secs_f64(),
            FlowField::PacingRate => info.pacing_rate.map_or(f64::NAN, |rate| rate.as_bps() as f64),
            FlowField::Delivered => bytes(info.delivered),
            FlowField::Lost => bytes(stats.lost_bytes),
            FlowField::Retransmitted => bytes(stats.retransmitted_bytes),
            FlowField::Sent => bytes(stats.sent_bytes),
            FlowField::Marked => bytes(measured.marked),
            FlowField::Rounds => measured.rounds as f64,
            FlowField::Smss => bytes(info.smss),
            FlowField::Rwnd => bytes(info.rwnd),
            FlowField::DeliveryRate => measured.rate.map_or(f64::NAN, rate),
            FlowField::AppLimited => measured.rate.map_or(f64::NAN, |sample| truth(sample.app_limited)),
            FlowField::CwndLimited => truth(measured.cwnd_limited),
            FlowField::Phase => phase(info.phase),
            FlowField::SlowStart => truth(measured.slow_start),
            FlowField::Losses => stats.fast_retransmits as f64,
            FlowField::Timeouts => stats.timeouts as f64,
            FlowField::Undos => stats.spurious as f64,
            FlowField::Goodput => bytes(self.goodput),
            FlowField::Idle => truth(info.flightsize.is_zero() && self.unsent.is_zero()),
        }
    }
}

fn bytes(value: Bytes) -> f64 {
    value.as_u64() as f64
}

fn seconds(value: Option<Duration>) -> f64 {
    value.map_or(f64::NAN, Duration::as_secs_f64)
}

const fn truth(value: bool) -> f64 {
    if value { 1.0 } else { 0.0 }
}

fn rate(sample: RateSample) -> f64 {
    bytes(sample.delivered) * 8.0 / sample.interval.as_secs_f64()
}

/// The place of a phase among [`narrows_timeline::PHASES`].
const fn phase(phase: Phase) -> f64 {
    match phase {
        Phase::Open => 0.0,
        Phase::Disorder => 1.0,
        Phase::Cwr => 2.0,
        Phase::Recovery => 3.0,
        Phase::Loss => 4.0,
    }
}
