//! Events in order: times, commands and code, and the end. System calls are in `calls.rs`, packets in `packets.rs`.

use super::calls::Pending;
use super::compare::tolerance;
use super::connection::Connection;
use super::files::Files;
use super::outcome::{Captured, Code, Difference, Mismatch, Outcome, Step, Verdict};
use super::packets::FIRST_EPHEMERAL;
use super::plan::{Plan, Planned, Work};
use crate::call::{Data, SystemCall};
use crate::host::{Fd, Happening, Host, HostError};
use crate::notation;
use crate::syntax::{Direction, When};
use narrows_units::{Duration, Instant};
use std::collections::VecDeque;

/// Longest wait for a packet that may come at any time (`*`).
const ANY_TIME: Duration = Duration::from_secs(60);

/// How long after its time a packet is waited for, as in the original tool.
const LATE: Duration = Duration::from_secs(2);

/// Most packets of a run. A host that sends without end is stopped here.
const MAX_PACKETS: usize = 1_000_000;

/// Most packets or returns that a host may report without its clock moving on.
const MAX_AT_ONCE: usize = 100_000;

/// Why a run ends early.
pub(super) enum Stop {
    /// A difference.
    Differed(Box<Mismatch>),
    /// The host lacks a feature, or failed.
    Host(HostError),
    /// The script is contradictory at run time.
    Script(String),
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

/// Runs a script against a host, until its end, the first difference, or [`Host::stopped`].
pub fn run(plan: &Plan, host: &mut dyn Host) -> Outcome {
    let mut executor = Executor::new(plan, host);
    let stopped = executor.init().and_then(|()| executor.events());
    let verdict = match stopped {
        Ok(()) => Verdict::Matched,
        Err(stop) => executor.verdict(stop),
    };
    let verdict = executor.clean_up(verdict);
    Outcome {
        verdict,
        warnings: executor.warnings,
        steps: executor.steps,
        packets: executor.captured,
        code: executor.code,
    }
}

pub(super) struct Executor<'a> {
    pub(super) plan: &'a Plan,
    pub(super) host: &'a mut dyn Host,
    /// When the script began, by the host's clock.
    pub(super) start: Instant,
    /// Whether the init command succeeded, so that the cleanup command is due.
    pub(super) initialised: bool,
    /// The event being carried out.
    pub(super) line: u32,
    /// Its time.
    pub(super) now: Timing,
    /// The script time of the event before, and whether that was an inbound packet.
    pub(super) last: Option<(Duration, bool)>,
    pub(super) files: Files,
    pub(super) connections: Vec<Connection>,
    /// The connection to which the script's packets belong.
    pub(super) under_test: Option<usize>,
    pub(super) next_port: u16,
    /// Packets sent that no event has taken yet.
    pub(super) sent: VecDeque<(Instant, Vec<u8>)>,
    pub(super) pending: Option<Pending>,
    /// The script sends bytes of its own, so payloads are not zero.
    pub(super) sends_bytes: bool,
    /// Happenings at the clock's current reading.
    at_once: (Instant, usize),
    pub(super) warnings: Vec<Mismatch>,
    steps: Vec<Step>,
    captured: Vec<Captured>,
    code: Vec<Code>,
}

/// An event's time in script time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    /// The time, or the start of the range.
    pub(super) from: Duration,
    /// The end of the range, where there is one.
    pub(super) to: Option<Duration>,
    /// The event may come at any time.
    pub(super) any: bool,
    /// What relative times were added to.
    pub(super) offset: Duration,
}

impl<'a> Executor<'a> {
    fn new(plan: &'a Plan, host: &'a mut dyn Host) -> Self {
        let sends_bytes = plan.steps.iter().any(|step| match &step.work {
            Work::Call(calling) => match &calling.prepared.call {
                Some(SystemCall::Send { buffers, .. }) => {
                    buffers.iter().any(|data| matches!(data, Data::Bytes(bytes) if bytes.iter().any(|b| *b != 0)))
                }
                _ => false,
            },
            _ => false,
        });
        let start = host.now();
        Self {
            plan,
            host,
            start,
            initialised: false,
            line: 0,
            now: Timing::default(),
            last: None,
            files: Files::default(),
            connections: Vec::new(),
            under_test: None,
            next_port: FIRST_EPHEMERAL,
            sent: VecDeque::new(),
            pending: None,
            sends_bytes,
            at_once: (start, 0),
            warnings: Vec::new(),
            steps: Vec::new(),
            captured: Vec::new(),
            code: Vec::new(),
        }
    }

    /// Runs the commands before the first event, then starts the script's clock.
    fn init(&mut self) -> Result<(), Stop> {
        let plan = self.plan;
        for command in plan.options.init_scripts.iter().chain(&plan.init) {
            self.command(command)?;
        }
        self.initialised = true;
        self.start = self.host.begin();
        Ok(())
    }

    fn events(&mut self) -> Result<(), Stop> {
        let plan = self.plan;
        for step in &plan.steps {
            self.line = step.line;
            let is_inbound = matches!(step.work, Work::Inject(_));
            self.now = self.timing(step, is_inbound);
            match &step.work {
                Work::Inject(packet) => {
                    self.wait("inbound packet")?;
                    self.inject(packet)?;
                }
                Work::Expect(packet) => self.expect(packet)?,
                Work::Call(calling) => self.call(calling)?,
                Work::Command(command) => {
                    self.wait("command")?;
                    self.command(command)?;
                }
                Work::Code(text) => {
                    self.wait("code")?;
                    self.record(text)?;
                }
            }
            self.last = Some((self.now.from, is_inbound));
        }
        self.await_idle()
    }

    /// Returns an event's time. Relative times count from now; those of inbound packets that follow each other from the
    /// packet before, so that delays of the run do not add up.
    fn timing(&self, step: &Planned, is_inbound: bool) -> Timing {
        let offset = match self.last {
            Some((last, true)) if is_inbound => last,
            _ => self.elapsed(),
        };
        let at = |from, to, offset| Timing { from, to, any: false, offset };
        match step.when {
            When::At(time) => at(time, None, Duration::ZERO),
            When::Between(from, to) => at(from, Some(to), Duration::ZERO),
            When::After(time) => at(offset + time, None, offset),
            When::AfterBetween(from, to) => at(offset + from, Some(offset + to), offset),
            When::Any => Timing { from: offset, to: None, any: true, offset },
        }
    }

    /// Time since the start of the script.
    pub(super) fn elapsed(&self) -> Duration {
        self.script_time(self.host.now())
    }

    /// Returns a time of the host's clock in script time.
    pub(super) fn script_time(&self, at: Instant) -> Duration {
        at.since(self.start)
    }

    /// Waits for the event's time, and checks that it is not past.
    pub(super) fn wait(&mut self, what: &str) -> Result<(), Stop> {
        self.advance_to(self.start + self.now.from)?;
        if self.last.is_some() {
            let now = self.elapsed();
            if let Some(difference) = self.time_difference(now) {
                return Err(self.differed(format!("time of {what}"), what, "the run is late", now, vec![difference]));
            }
        }
        Ok(())
    }

    /// Lets time pass and takes note of what happens meanwhile.
    fn advance_to(&mut self, until: Instant) -> Result<(), Stop> {
        while let Some(happening) = self.advance(until)? {
            self.note(happening)?;
        }
        Ok(())
    }

    /// Lets time pass until something happens.
    pub(super) fn advance(&mut self, until: Instant) -> Result<Option<Happening>, Stop> {
        self.heed()?;
        let happening = self.host.advance(until)?;
        if happening.is_none() {
            return Ok(None);
        }
        let now = self.host.now();
        self.at_once = if self.at_once.0 == now { (now, self.at_once.1 + 1) } else { (now, 1) };
        if self.at_once.1 > MAX_AT_ONCE || self.captured.len() > MAX_PACKETS {
            return Err(Stop::Host(HostError::Failed("the host sends without end".to_owned())));
        }
        Ok(happening)
    }

    /// Ends the run if somebody has asked for it.
    fn heed(&self) -> Result<(), Stop> {
        if self.host.stopped() { Err(HostError::Stopped.into()) } else { Ok(()) }
    }

    /// Takes note of a packet or a return.
    pub(super) fn note(&mut self, happening: Happening) -> Result<(), Stop> {
        match happening {
            Happening::Sent { at, bytes } => {
                self.capture(at, Direction::Outbound, bytes.clone());
                self.sent.push_back((at, bytes));
                Ok(())
            }
            Happening::Returned { ticket, result, at } => match self.pending.take() {
                Some(pending) if pending.ticket == ticket => self.returned(pending, &result, at),
                other => {
                    self.pending = other;
                    Err(Stop::Host(HostError::Failed(format!("call {} returned, but does not sleep", ticket.0))))
                }
            },
        }
    }

    pub(super) fn capture(&mut self, at: Instant, direction: Direction, bytes: Vec<u8>) {
        let at = self.script_time(at);
        self.captured.push(Captured { at, direction, bytes });
    }

    pub(super) fn step(&mut self, at: Duration, line: u32, text: String) {
        self.steps.push(Step { at, line, text });
    }

    /// Returns how `at` differs from the event's time, if it does by more than the tolerance.
    pub(super) fn time_difference(&self, at: Duration) -> Option<Difference> {
        if self.now.any {
            return None;
        }
        let since = self.last.map_or(Duration::ZERO, |(last, _)| self.now.from - last);
        let tolerance = tolerance(&self.plan.options, since);
        let to = self.now.to.unwrap_or(self.now.from);
        if at + tolerance >= self.now.from && at <= to + tolerance {
            return None;
        }
        let expected = match self.now.to {
            Some(to) => format!("{}~{}", notation::time(self.now.from), notation::time(to)),
            None => notation::time(self.now.from),
        };
        let allowed = format!("{expected} s, with a tolerance of {} s", notation::time(tolerance));
        Some(Difference::new("time", allowed, format!("{} s", notation::time(at))))
    }

    /// A difference at the current event.
    pub(super) fn differed(
        &mut self,
        what: impl Into<String>,
        expected: impl Into<String>,
        actual: impl Into<String>,
        at: Duration,
        differences: Vec<Difference>,
    ) -> Stop {
        Stop::Differed(Box::new(self.mismatch(what.into(), expected.into(), actual.into(), Some(at), differences)))
    }

    pub(super) fn mismatch(
        &mut self,
        what: String,
        expected: String,
        actual: String,
        at: Option<Duration>,
        differences: Vec<Difference>,
    ) -> Mismatch {
        Mismatch {
            line: self.line,
            what,
            expected_time: (!self.now.any).then_some(self.now.from),
            actual_time: at,
            expected,
            actual,
            differences,
            tcp_info: self.tcp_info().and_then(|fd| self.host.tcp_info(fd).ok()),
        }
    }

    /// Returns the file of the connection under test, by the host's number.
    fn tcp_info(&self) -> Option<Fd> {
        let connection = self.connections.get(self.under_test?)?;
        self.files.host(connection.file?).ok()
    }

    // Commands and code

    pub(super) fn command(&mut self, command: &str) -> Result<(), Stop> {
        self.heed()?;
        let result = self.host.shell(command)?;
        let at = self.elapsed();
        let shown = command.split_whitespace().collect::<Vec<_>>().join(" ");
        self.step(at, self.line, format!("`{shown}`"));
        if result.status == 0 {
            return Ok(());
        }
        let actual = format!("status {}: {}", result.status, result.output.trim());
        let difference = Difference::new("status", 0, result.status);
        Err(self.differed("command", format!("`{shown}` succeeds"), actual, at, vec![difference]))
    }

    fn record(&mut self, text: &str) -> Result<(), Stop> {
        let info = match self.tcp_info() {
            Some(fd) => Some(self.host.tcp_info(fd)?),
            None => None,
        };
        let at = self.elapsed();
        self.step(at, self.line, "%{ }%".to_owned());
        self.code.push(Code { line: self.line, at, text: text.to_owned(), info });
        Ok(())
    }
}

/// How long to wait for an expected packet beyond its time.
pub(super) fn patience(any: bool) -> Duration {
    if any { ANY_TIME } else { LATE }
}
