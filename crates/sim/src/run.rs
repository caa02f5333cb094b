//! One run: from a scenario to samples.

use crate::build::build;
use crate::capture::{Capture, ChannelCapture, Packets};
use crate::digest::digest;
use crate::foreign::Algorithms;
use crate::parts::run_in_parts;
use crate::routes::Routes;
use crate::spill::Spill;
use narrows_fabric::{MOST_FLOWS, PcapFailure, Progress, Seeds, TooMany, Topology, with_transfers};
use narrows_queue::{BuildError, Disciplines};
use narrows_samples::{Fault, NoProbe, Probe, Samples, Store};
use narrows_scenario::{Sampling, Scenario};
use narrows_timeline::{Case, Outcome as CaseOutcome};
use narrows_units::Instant;
use std::path::Path;
use std::sync::Arc;

/// Why a run failed.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The scenario needs more event sources or flows than the engine can number.
    #[error("the scenario is too large: {count} {what}; allowed are at most {allowed}")]
    TooLarge {
        /// Kind of the items that are too many.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many are allowed.
        allowed: usize,
    },
    /// A name in the scenario is in no registry (the scenario was not validated against this version's catalogue).
    #[error("{kind} {name:?} is unknown; allowed: {allowed}")]
    Unknown {
        /// Kind of item that the name should refer to.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names that exist.
        allowed: String,
    },
    /// A scheme's parameters are refused.
    #[error("{0}")]
    Scheme(String),
    /// A queue's discipline is unknown, or its parameters are refused.
    #[error(transparent)]
    Queue(#[from] BuildError),
    /// An 802.11 channel has a modulation that its PHY does not know.
    #[error("802.11 channel {channel:?}: {reason}")]
    Radio {
        /// The channel's name.
        channel: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// A capture file cannot be written.
    #[error(transparent)]
    Capture(#[from] PcapFailure),
    /// Samples cannot be kept, in memory or in their temporary file.
    #[error("samples cannot be kept: {0}")]
    Samples(#[from] Fault),
    /// The run was stopped from outside.
    #[error("the run was stopped before its end")]
    Stopped,
}

/// How to run a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the run in its experiment; it distinguishes runs with the same seed.
    pub run: u64,
    /// Directory for packet captures; `None` captures nothing.
    pub pcap_dir: Option<&'a Path>,
    /// Receives every packet, if no captures are written. The run takes the plain loop, as with captures.
    pub packets: Option<&'a Arc<dyn Packets>>,
    /// Watches and stops the run.
    pub progress: Option<&'a Progress>,
    /// Schedules an event for each end of a transmission, instead of draining links lazily. Slower; a test checks that
    /// the samples are the same.
    pub plain_loop: bool,
    /// Fetches what hosts need before packets reach them, however few flows there are; 256 flows do it by themselves. A
    /// test checks that the samples are the same.
    pub many_flows: bool,
    /// Congestion controls in addition to those of the registry, which take precedence.
    pub algorithms: Option<&'a Arc<dyn Algorithms>>,
    /// Queue disciplines: those of the registry, and those of the caller.
    pub disciplines: Disciplines,
    /// Ends the run as soon as all steps of the scenario's test case have happened and all expectations are decided.
    /// Totals then are over the shorter run.
    pub until_decided: bool,
    /// Records the values of the case's variables at the looks from the first time to the second.
    pub looks: Option<(Instant, Instant)>,
    /// Where samples that exceed the memory budget go; `None` keeps all of them in memory. Their values do not change.
    pub spill: Option<&'a Arc<Spill>>,
    /// The number of threads. Results do not depend on it.
    pub threads: Threads,
}

/// How many threads a run has.
///
/// More than one needs a network of drop-tail links with some delay, without router agents, 802.11 channels, a test
/// case, captures, foreign controls, samples of every event or samples of the state of algorithms. Every other scenario
/// has one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// One.
    #[default]
    One,
    /// This many, if the scenario can be divided.
    Exactly(usize),
    /// Two, if the scenario can be divided, the process may use two cores, and the traffic to be expected is so much
    /// that it pays.
    WherePays,
}

impl Options<'_> {
    /// Whether packets are written to captures or handed to a caller.
    pub(crate) const fn captures(&self) -> bool {
        self.pcap_dir.is_some() || self.packets.is_some()
    }

    /// Whether the run was asked to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.progress.is_some_and(Progress::stopped)
    }
}

/// For each flow, the indices of the nodes on the path from its `from` to its `to`, both included.
///
/// # Errors
/// [`RunError::Stopped`] if `progress` asks for it.
pub fn paths(scenario: &Scenario, progress: &Progress) -> Result<Vec<Vec<usize>>, RunError> {
    let topology = Topology::new(scenario);
    let routes = Routes::new(scenario, &topology, || progress.stopped()).ok_or(RunError::Stopped)?;
    Ok((0..scenario.flows.len()).map(|flow| routes.nodes(flow, &topology)).collect())
}

/// What a run yields.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Samples and totals.
    pub samples: Samples,
    /// Events that the loop handled.
    pub events: u64,
    /// Packets that arrived at a node, counted at every hop.
    pub packets: u64,
    /// The scenario's test case and what came of it; `None` for a scenario without one.
    pub case: Option<(Arc<Case>, CaseOutcome)>,
}

impl Outcome {
    /// Computes the SHA-256 of the samples. With samples of many queues this takes about a tenth of the run's time.
    ///
    /// # Errors
    /// [`Fault`]: samples cannot be read back from their temporary file.
    pub fn digest(&self) -> Result<String, Fault> {
        digest(&self.samples, || false)
    }

    /// Like [`digest`](Self::digest), but gives up when `progress` is asked to stop.
    ///
    /// # Errors
    /// [`Fault`]: as for [`digest`](Self::digest), or `progress` was asked to stop before it was done.
    pub fn digest_unless_stopped(&self, progress: &Progress) -> Result<String, Fault> {
        digest(&self.samples, || progress.stopped())
    }
}

/// Samples before the first, which go where the options say.
pub(crate) fn no_samples(options: &Options<'_>) -> Samples {
    options.spill.map_or_else(Samples::default, |spill| {
        let store: Arc<dyn Store> = spill.clone();
        Samples::kept_in(&store)
    })
}

/// Runs a scenario to its end.
///
/// The same scenario, seed, run number and version give bit-identical samples, in debug and release builds and on
/// any number of threads.
///
/// # Errors
/// [`RunError`]: the scenario is too large or contains an unknown name, a capture or samples cannot be written, or the
/// run was stopped.
pub fn run(scenario: &Scenario, options: &Options<'_>) -> Result<Outcome, RunError> {
    let too_many = |TooMany| RunError::TooLarge { what: "flows", count: MOST_FLOWS + 1, allowed: MOST_FLOWS };
    let drawn = with_transfers(scenario, Seeds::new(options.seed, options.run)).map_err(too_many)?;
    let scenario = &*drawn;
    let mut world = build(scenario, options)?;
    if let Some(dir) = options.pcap_dir {
        let name = |n: usize| scenario.nodes[n].name.clone();
        let links: Vec<_> = scenario.links.iter().map(|l| (name(l.a), name(l.b))).collect();
        let channels =
            scenario.wifi.iter().map(|w| ChannelCapture::new(w, &scenario.nodes)).collect::<Result<_, _>>()?;
        world.capture = Some(Capture::create(dir, &links, channels)?);
    } else if let Some(watcher) = options.packets {
        world.capture = Some(Capture::watched(Arc::clone(watcher)));
    }
    let mut samples = no_samples(options);
    match scenario.sampling {
        _ if run_in_parts(&mut world, &mut samples, scenario, options)? => {}
        Sampling::Off => world.run(&mut NoProbe, options.progress)?,
        Sampling::Interval(_) | Sampling::Events => world.run(&mut samples, options.progress)?,
    }
    if let Some(capture) = world.capture.take() {
        capture.finish()?;
    }
    if let Some(fault) = samples.fault() {
        return Err(fault.clone().into());
    }
    samples.series = world.states.take().map_or_else(Vec::new, |states| states.into_series());
    world.put_away();
    world.totals(&mut samples, options)?;
    let case = world.case.take().and_then(|run| run.into_outcome());
    Ok(Outcome { samples, events: world.events, packets: world.packets, case })
}
