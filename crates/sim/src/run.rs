//! One run: from a scenario to samples.

use crate::build::build;
use crate::capture::{Capture, ChannelCapture};
use crate::digest::digest;
use crate::foreign::Algorithms;
use crate::routes::Routes;
use crate::spill::Spill;
use narrows_fabric::{PcapFailure, Progress, Topology};
use narrows_samples::{Fault, NoProbe, Probe, Samples, Store};
use narrows_scenario::{Sampling, Scenario};
use std::path::Path;
use std::sync::Arc;

/// Why a run failed.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The scenario needs more event sources or flows than the engine can number.
    #[error("the scenario is too large: {count} {what}; allowed are at most {allowed}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many are allowed.
        allowed: usize,
    },
    /// A name in the scenario is in no registry (the scenario was not validated against this version's catalogue).
    #[error("{kind} {name:?} is unknown; allowed: {allowed}")]
    Unknown {
        /// What it is the name of.
        kind: &'static str,
        /// The name.
        name: String,
        /// Names that exist.
        allowed: String,
    },
    /// A scheme's parameters are refused.
    #[error("{0}")]
    Scheme(String),
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
    /// Number of the run in its experiment: runs of one seed differ in it.
    pub run: u64,
    /// Directory for packet captures; `None` captures nothing.
    pub pcap_dir: Option<&'a Path>,
    /// Watches and stops the run.
    pub progress: Option<&'a Progress>,
    /// Looks at every link at each end of a transmission, with an event of its own, instead of lazily. Slower; the
    /// samples are the same, and a test holds the engine to that.
    pub plain_loop: bool,
    /// Congestion controls beside those of the registry, which come first.
    pub algorithms: Option<&'a Arc<dyn Algorithms>>,
    /// Where samples go that memory shall not hold; `None` keeps all of them in memory. The samples are the same.
    pub spill: Option<&'a Arc<Spill>>,
}

impl Options<'_> {
    /// Whether somebody has asked the run to end.
    pub(crate) fn stopped(&self) -> bool {
        self.progress.is_some_and(Progress::stopped)
    }
}

/// The nodes that the packets of each flow pass on their way from its `from` to its `to`, both included, as indices.
///
/// # Errors
/// [`RunError::Stopped`] where `progress` asks for it.
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
}

impl Outcome {
    /// SHA-256 of the samples, computed here and now: over samples of many queues it takes about a tenth of what the run took.
    ///
    /// # Errors
    /// [`Fault`]: samples cannot be read back from their temporary file.
    pub fn digest(&self) -> Result<String, Fault> {
        digest(&self.samples, || false)
    }

    /// The same, until `progress` is asked to stop.
    ///
    /// # Errors
    /// [`Fault`]: as for [`digest`](Self::digest), or `progress` was asked to stop before it was done.
    pub fn digest_unless_stopped(&self, progress: &Progress) -> Result<String, Fault> {
        digest(&self.samples, || progress.stopped())
    }
}

/// Runs a scenario to its end.
///
/// The same scenario, seed, run number and version give bit-identical samples, in debug and release builds and on
/// any number of threads.
///
/// # Errors
/// [`RunError`]: the scenario is too large or names what does not exist, a capture or samples cannot be written, or the run was
/// stopped.
pub fn run(scenario: &Scenario, options: &Options<'_>) -> Result<Outcome, RunError> {
    let mut world = build(scenario, options)?;
    if let Some(dir) = options.pcap_dir {
        let name = |n: usize| scenario.nodes[n].name.clone();
        let links: Vec<_> = scenario.links.iter().map(|l| (name(l.a), name(l.b))).collect();
        let channels =
            scenario.wifi.iter().map(|w| ChannelCapture::new(w, &scenario.nodes)).collect::<Result<_, _>>()?;
        world.capture = Some(Capture::create(dir, &links, channels)?);
    }
    let mut samples = options.spill.map_or_else(Samples::default, |spill| {
        let store: Arc<dyn Store> = spill.clone();
        Samples::kept_in(&store)
    });
    match scenario.sampling {
        Sampling::Off => world.run(&mut NoProbe, options.progress)?,
        Sampling::Interval(_) | Sampling::Events => world.run(&mut samples, options.progress)?,
    }
    if let Some(capture) = world.capture.take() {
        capture.finish()?;
    }
    if let Some(fault) = samples.fault() {
        return Err(fault.clone().into());
    }
    world.put_away();
    world.totals(&mut samples, options)?;
    Ok(Outcome { samples, events: world.events, packets: world.packets })
}
