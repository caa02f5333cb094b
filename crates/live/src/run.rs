//! One live run: from a scenario to samples, in real time.

mod stage;

use crate::LiveError;
use crate::bottleneck::carry;
use crate::child::{Child, Exit, Program};
use crate::clock::{Clock, process_time};
use crate::conditions::Conditions;
use crate::hold;
use crate::qdisc::{self, KernelQueues, Queues};
use crate::scheme_counters::SchemeCounters;
use crate::trace::Trace;
use crate::traffic::{FlowRecord, Traffic};
use narrows_fabric::{MOST_FLOWS, Progress, Seeds, with_transfers};
use narrows_samples::Samples;
use narrows_scenario::{Sampling, Scenario};
use narrows_timeline::{self as timeline, Case};
use narrows_units::{Duration, Instant};
use stage::Stage;
use std::borrow::Cow;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Time between the set-up and time zero of the scenario, for threads to start waiting for time zero.
const SETTLE: Duration = Duration::from_millis(50);

/// Interval at which progress is reported, and a stop noticed.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// Time that a program of the user has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

/// How to run a scenario live.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Seed of random losses, of queues that draw, and of applications. The kernel uses its own random numbers.
    pub seed: u64,
    /// Number of the run in its experiment: runs of one seed differ by it.
    pub run: u64,
    /// Directory for packet captures; `None` captures nothing.
    pub pcap_dir: Option<&'a Path>,
    /// Watches and stops the run.
    pub progress: Option<&'a Progress>,
    /// Programs to run during the run: a host's name, and a command line for `sh -c`.
    pub programs: &'a [(String, String)],
    /// Lets the kernel's own queue disciplines carry the directions of links whose discipline Linux has.
    pub kernel_qdisc: bool,
    /// Ends the run as soon as all steps of the scenario's test case have happened and all expectations are decided.
    pub until_decided: bool,
    /// Records the values of the case's variables at the looks from the first time to the second.
    pub looks: Option<(Instant, Instant)>,
}

/// What a live run yields.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Samples and totals, as a simulation has them; values that the kernel cannot report are
    /// [`narrows_samples::NONE`].
    pub samples: Samples,
    /// Packets that reached a host.
    pub packets: u64,
    /// What the results depend on besides the scenario.
    pub conditions: Conditions,
    /// The scenario's test case and what came of it; `None` for a scenario without one.
    pub case: Option<(Arc<Case>, timeline::Outcome)>,
}

/// Runs a scenario on this machine's own TCP stack; takes as long as the scenario lasts.
///
/// Everything that is created is held by file descriptors and threads of this process, and ends with it.
///
/// # Errors
/// [`LiveError`]: this machine cannot do it, the scenario cannot run live, a step failed, or the run was stopped.
pub fn run(scenario: &Scenario, options: &Options<'_>) -> Result<Outcome, LiveError> {
    let seeds = Seeds::new(options.seed, options.run);
    let drawn = drawn(scenario, seeds)?;
    let scenario = &*drawn;
    if options.kernel_qdisc {
        qdisc::judge(scenario)?;
    }
    let mut stage = Stage::new(scenario, seeds)?;
    let mut queues = if options.kernel_qdisc { KernelQueues::new(scenario)? } else { KernelQueues::default() };
    stage.conditions.queues = queues.words();
    let (queues, files) = queues.take(scenario);
    let mut network = stage.network(queues)?;
    if let Some(dir) = options.pcap_dir {
        network.capture(scenario, dir).map_err(|failure| LiveError::failed("capture packets", failure))?;
    }
    let traffic = stage.traffic()?;
    if let Some(case) = &scenario.case {
        network.follow(Box::new(stage.case_run(case, &traffic, options)?));
    }
    let trace = stage.trace()?;
    let (clock, used) = (Clock::starting_in(SETTLE), process_time());
    let end = Instant::ZERO + scenario.duration;
    let (ports, stop) = (stage.ports(), AtomicBool::new(false));
    let ((mut network, lateness), told) = thread::scope(|scope| {
        let bottleneck = scope.spawn(|| carry(network, (&ports, &files), clock, end, hold::pace(scenario), &stop));
        let told = meanwhile(&stage, traffic, options, clock, || {
            stop.fetch_or(stopped(options), Ordering::Relaxed);
            bottleneck.is_finished()
        });
        stop.store(true, Ordering::Relaxed);
        let carried =
            bottleneck.join().map_err(|_| LiveError::failed("carry packets", "the bottleneck's thread panicked"))?;
        Ok::<_, LiveError>((carried, told?))
    })?;
    drop(ports);
    stage.conditions.note_process(process_time() - used, clock.now().since(Instant::ZERO) + SETTLE);
    if stopped(options) {
        return Err(LiveError::Stopped);
    }
    if let Some(at) = lateness.gave_up {
        return Err(hold::not_held(scenario, at, &lateness));
    }
    let case = scenario.case.as_ref().and_then(|case| Some((Arc::clone(case), network.end_following()?)));
    // A case may end the run early.
    let lasted = case.as_ref().map_or(scenario.duration, |(_, outcome)| outcome.ended.since(Instant::ZERO));
    stage.conditions.note_lateness(&lateness, lasted);
    let traced = trace.map(Trace::stop).transpose()?;
    Ok(Outcome { case, ..stage.finish(network, told, traced, (clock, lasted))? })
}

fn stopped(options: &Options<'_>) -> bool {
    options.progress.is_some_and(Progress::stopped)
}

/// What the hosts report of a run once it is over.
struct Told {
    records: Vec<FlowRecord>,
    scheme_counters: SchemeCounters,
    /// How each of the user's programs ended.
    programs: Vec<String>,
}

/// Lets flows and programs run until `over`, reports progress, and returns the hosts' reports.
fn meanwhile(
    stage: &Stage<'_>,
    traffic: Traffic,
    options: &Options<'_>,
    clock: Clock,
    over: impl Fn() -> bool,
) -> Result<Told, LiveError> {
    let running = traffic.start(clock)?;
    let programs = stage.programs(options.programs, clock)?;
    let mut scheme_counters = SchemeCounters::new(stage.scenario);
    while !over() {
        let now = clock.now();
        if let Some(progress) = options.progress {
            progress.set(now.as_nanos(), stage.scenario.duration.as_nanos());
        }
        scheme_counters.look(&stage.schemes, stage.scenario, now)?;
        thread::sleep(LOOK);
    }
    scheme_counters.look(&stage.schemes, stage.scenario, clock.now())?;
    // Stopped from outside, or the bottleneck gave up.
    if stopped(options) || clock.now() < Instant::ZERO + stage.scenario.duration {
        running.stop();
    }
    let records = running.join();
    let programs = end(programs)?;
    Ok(Told { records: records?, scheme_counters, programs })
}

/// Ends programs, and reports how each of those ended that were already over.
fn end(programs: Vec<(String, Child)>) -> Result<Vec<String>, LiveError> {
    let by_itself = |(_, child): &(String, Child)| child.wait(Some(Duration::ZERO));
    let ends = programs.iter().map(by_itself).collect::<Result<Vec<_>, _>>()?;
    programs.iter().for_each(|(_, child)| child.ask());
    let mut told = Vec::new();
    for ((name, child), end) in programs.into_iter().zip(ends) {
        child.stop(GRACE)?;
        told.push(match end {
            Some(Exit::Code(code)) => format!("{name}: exit code {code}"),
            Some(Exit::Signal(signal)) => format!("{name}: ended by signal {signal}"),
            None => format!("{name}: ran until the end"),
        });
    }
    Ok(told)
}

/// Checks that a scenario can run live here, as far as that can be known without running it.
///
/// # Errors
/// [`LiveError`] as of [`run`]. Everything created for the check is gone on return.
pub fn check(scenario: &Scenario) -> Result<(), LiveError> {
    let seeds = Seeds::new(0, 0);
    Stage::new(&*drawn(scenario, seeds)?, seeds)?.traffic().map(drop)
}

/// Largest number of flows of a live run with workloads: each has a thread and four files.
const MOST_LIVE: usize = 1000;

/// Returns the scenario with the transfers of its workloads as flows.
fn drawn(scenario: &Scenario, seeds: Seeds) -> Result<Cow<'_, Scenario>, LiveError> {
    let drawn = with_transfers(scenario, seeds).ok();
    let count = drawn.as_ref().map_or(MOST_FLOWS, |drawn| drawn.flows.len());
    match drawn {
        Some(drawn) if scenario.workloads.is_empty() || count <= MOST_LIVE => Ok(drawn),
        _ => Err(LiveError::Unsupported {
            field: "workloads".to_owned(),
            value: format!("{count} connections"),
            reason: "are more than a live run can have, which needs a thread for each".to_owned(),
            allowed: format!("at most {MOST_LIVE}, by a shorter duration, a larger interval or a count"),
        }),
    }
}

/// Opens a shell on a host of the emulated network, on this process' terminal; returns its exit code. With `traffic`,
/// the scenario's flows run at the same time.
///
/// # Errors
/// [`LiveError`] as of [`run`].
pub fn shell(scenario: &Scenario, seed: u64, host: &str, traffic: bool) -> Result<i32, LiveError> {
    let drawn = drawn(scenario, Seeds::new(seed, 0))?;
    let mut lasting = Scenario { sampling: Sampling::Off, ..drawn.into_owned() };
    if !traffic {
        lasting.flows.clear();
    }
    let flows_end = Instant::ZERO + scenario.duration;
    lasting.flows.iter_mut().for_each(|flow| flow.stop = flow.stop.min(flows_end));
    lasting.duration = FOR_EVER;
    let stage = Stage::new(&lasting, Seeds::new(seed, 0))?;
    let netns = stage.netns(host)?;
    let (network, prepared, ports) = (stage.network(Queues::new())?, stage.traffic()?, stage.ports());
    let clock = Clock::starting_in(SETTLE);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope
            .spawn(|| carry(network, (&ports, &[]), clock, Instant::ZERO + FOR_EVER, hold::narrowest(&lasting), &stop));
        let exit = prepared.start(clock).and_then(|running| {
            let child = Child::spawn(netns, &Program::shell(host, &addresses(&lasting)))?;
            let exit = child.wait(None)?;
            running.stop();
            running.join()?;
            child.stop(GRACE)?;
            Ok(match exit {
                Some(Exit::Code(code)) => code,
                Some(Exit::Signal(signal)) => 128 + signal,
                None => 1,
            })
        });
        stop.store(true, Ordering::Relaxed);
        exit
    })
}

/// Longer than any session at a shell: ten years.
const FOR_EVER: Duration = Duration::from_secs(315_360_000);

/// Returns the names of nodes and their addresses.
fn addresses(scenario: &Scenario) -> Vec<(String, IpAddr)> {
    scenario.nodes.iter().map(|node| (node.name.clone(), node.address)).collect()
}
