//! The guest's first process, and its only child, which makes the run.
//!
//! The first process mounts what a run needs, loads the kernel's modules and waits for the child; when that ends, the
//! machine ends. A child of its own keeps the first process alive whatever the run does.

use super::region::Region;
use super::{Request, encode, modules};
use crate::{LiveError, Options, Outcome, monotonic_ns, run};
use narrows_fabric::{Progress, catalogue};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Share of the guest's processor, in [0, 1], above which it counts as too slow for a run. Interrupts are not in it, so
/// that a processor without a pause shows 92 to 95 %. One flow of 300 Mb/s (91 %) was still as simulated, and at
/// 500 Mb/s (95 %) the mean RTT was a third too small.
const FULL: f64 = 0.85;

/// The word by which the child knows its part.
const CHILD: &str = "run";

/// Interval at which the host is told how far the run is, in the guest's time.
const TELL: Duration = Duration::from_millis(100);

/// Runs as the first process or as its child; does not return as the first process.
pub fn main() {
    if std::env::args().nth(1).as_deref() == Some(CHILD) {
        child();
    } else {
        first();
    }
}

/// The first process.
fn first() -> ! {
    let failure = prepare().and_then(|()| {
        let ended = Command::new("/proc/self/exe").arg(CHILD).status();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(LiveError::failed("run the scenario", format!("the guest's program ended: {status}"))),
            Err(error) => Err(LiveError::failed("start the guest's program", error)),
        }
    });
    if let Err(error) = failure {
        tell(Err(error));
    }
    // With the command line `reboot=t` and QEMU's -no-reboot this ends the machine.
    let _ = reboot(RebootMode::RB_AUTOBOOT);
    loop {
        thread::park();
    }
}

fn prepare() -> Result<(), LiveError> {
    let places: [(&str, &str); 5] =
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("bpf", "/sys/fs/bpf")];
    for (kind, place) in places {
        let _ = fs::create_dir_all(place);
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|error| LiveError::failed(format!("mount {place}"), error))?;
    }
    // The run's programs and their shells find loopback and commands as elsewhere.
    modules::load()
}

/// The child: makes the run.
fn child() {
    tell(made());
}

/// Hands a result to the host; one that cannot be handed over goes to the console.
fn tell(outcome: Result<Outcome, LiveError>) {
    let told = Region::map().and_then(|mut region| {
        let payload = encode(&outcome);
        region.done(&payload).or_else(|error| region.done(&encode(&Err(error))))
    });
    if let Err(error) = told {
        let _ = fs::write("/dev/console", format!("narrows: {error}\n"));
    }
}

/// Flags a run that took all of the guest's processor: what was late then was late by the emulation.
fn doubted(mut outcome: Outcome) -> Outcome {
    let conditions = &mut outcome.conditions;
    let load = conditions.process_cpu;
    if load > FULL {
        conditions.doubts.push(format!(
            "the guest's processor was busy for {:.0} % of the run; the bound is {:.0} %: the scenario is too fast for emulation",
            100.0 * load,
            100.0 * FULL,
        ));
    }
    outcome
}

/// Makes the run that the host asks for.
fn made() -> Result<Outcome, LiveError> {
    let bytes = fs::read(Request::PATH).map_err(|error| LiveError::failed("read the request", error))?;
    let request = Request::decode(&bytes).map_err(|error| LiveError::failed("read the request", error))?;
    let scenario = narrows_scenario::parse(&request.scenario, "scenario.toml", &[], &catalogue())
        .map_err(|problems| LiveError::failed("read the scenario again", problems))?;
    let region = Region::map()?;
    let progress = Progress::default();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let now = progress.fraction() * scenario.duration.as_nanos() as f64;
                region.running(now as u64, monotonic_ns());
                thread::sleep(TELL);
            }
        });
        let options = Options {
            seed: request.seed,
            run: request.run,
            pcap_dir: None,
            progress: Some(&progress),
            programs: &request.programs,
            kernel_qdisc: request.kernel_qdisc,
            ..Options::default()
        };
        let outcome = run(&scenario, &options);
        over.store(true, Ordering::Relaxed);
        outcome.map(doubted)
    })
}
