//! The thread that is the network: packets from the hosts' TUN devices through [`Network`] and back, in real time.

use crate::clock::{Clock, processor_time};
use crate::lateness::{LATE, LATE_SHARE, Lateness};
use crate::network::{Deliver, Network};
use crate::tun::Tun;
use narrows_units::{Duration, Instant, Rate};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest sleep, so that a stop is noticed.
const NAP: Duration = Duration::from_millis(20);

/// Longest time that passes without a sleep: to sleep and to wake takes some microseconds of the processor.
const SHORT: Duration = Duration::from_micros(8);

/// Packets taken from each device before due events are processed.
const BATCH: usize = 16;

/// Longest IP packet.
const LONGEST: usize = 65_535;

/// Largest rate to carry at which the thread runs under SCHED_FIFO. At larger rates it might use so much of a processor
/// that the kernel's throttling of real-time threads stops it for 50 ms at a time; a nice value of -20 is then better.
const FIFO_UP_TO: Rate = Rate::mbps(500);

/// Share of the time, in [0, 1], above which a working thread counts as having no pause. Real-time threads get 0.95 at
/// most.
const NO_PAUSE: f64 = 0.9;

/// The load and the patience of the thread.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Rate that it has to carry.
    pub rate: Rate,
    /// It gives up after this time without a pause, if it was late: the machine cannot carry the rate. With `None` it
    /// never gives up.
    pub patience: Option<Duration>,
}

impl From<Rate> for Pace {
    /// Carries at this rate and never gives up.
    fn from(rate: Rate) -> Self {
        Self { rate, patience: None }
    }
}

/// Host number and device, for each host.
pub type Ports<'a> = [(usize, &'a Tun)];

/// Direction of a link and device, for each queue of the kernel.
pub type KernelPorts = [(usize, Arc<Tun>)];

/// Checks whether the thread keeps up, each time its patience has passed.
struct Pauses {
    patience: Duration,
    since: Instant,
    cpu: Duration,
    handed_over: u64,
    late: u64,
}

impl Pauses {
    fn since(now: Instant, cpu: Duration, patience: Duration) -> Self {
        Self { patience, since: now, cpu, handed_over: 0, late: 0 }
    }

    /// Returns whether the thread has worked without a pause for as long as its patience, and was as late as in a run
    /// that is not trusted.
    fn are_over(&mut self, now: Instant, hosts: &Hosts<'_>) -> bool {
        let past = now.since(self.since);
        if past < self.patience {
            return false;
        }
        let (cpu, handed_over) = (processor_time(), hosts.lateness.handed_over.count());
        let busy = (cpu - self.cpu).as_secs_f64() / past.as_secs_f64();
        let late = (hosts.late - self.late) as f64 > LATE_SHARE * (handed_over - self.handed_over) as f64;
        *self = Self { since: now, cpu, handed_over, late: hosts.late, ..*self };
        busy > NO_PAUSE && late
    }
}

/// Hands packets over, and measures how late.
struct Hosts<'a> {
    /// By node.
    tuns: Vec<Option<&'a Tun>>,
    clock: Clock,
    end: Instant,
    lateness: Lateness,
    /// Packets that were later than [`LATE`].
    late: u64,
}

impl Deliver for Hosts<'_> {
    fn deliver(&mut self, node: usize, bytes: &[u8], at: Instant) {
        if at <= self.end {
            let late = self.clock.now().since(at);
            self.lateness.handed_over.record(late.as_nanos());
            self.late += u64::from(late > LATE);
        }
        let sent = self.tuns.get(node).copied().flatten().map(|tun| tun.send(bytes));
        if !matches!(sent, Some(Ok(()))) {
            self.lateness.refused += 1;
        }
    }
}

/// Runs the network on the calling thread until scenario time `end`, or until `stop` is set. Returns the network as it
/// was then. `queues` are the devices of queues that wait in the kernel.
///
/// Time zero of the network is time zero of `clock`; packets that hosts send before are carried at time zero. If `pace`
/// has a patience, the thread may give up before the end ([`Lateness::gave_up`]).
pub fn carry(
    network: Network,
    (ports, queues): (&Ports<'_>, &KernelPorts),
    clock: Clock,
    end: Instant,
    pace: impl Into<Pace>,
    stop: &AtomicBool,
) -> (Network, Lateness) {
    let Pace { rate, patience } = pace.into();
    let nodes = ports.iter().map(|&(node, _)| node + 1).max().unwrap_or(0);
    let mut tuns = vec![None; nodes];
    ports.iter().for_each(|&(node, tun)| tuns[node] = Some(tun));
    let lateness = Lateness { scheduling: schedule(rate), began: clock.now(), ..Lateness::default() };
    let mut hosts = Hosts { tuns, clock, end, lateness, late: 0 };
    let mut network = network;
    let mut devices = Devices::new(ports, queues);
    let mut buffer = vec![0; LONGEST];
    let begin = processor_time();
    let mut pauses = patience.map(|patience| Pauses::since(clock.now(), begin, patience));
    let mut due = Instant::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now().min(end);
        hosts.lateness.stood = hosts.lateness.stood.max(now.since(due));
        if pauses.as_mut().is_some_and(|pauses| pauses.are_over(now, &hosts)) {
            hosts.lateness.gave_up = Some(now);
            break;
        }
        network.advance(now, &mut hosts);
        if now >= end || network.is_over() {
            break;
        }
        let next = network.next_event().min(end);
        due = next.min(clock.now() + NAP);
        devices.wait(next, clock);
        devices.take(&mut buffer, (&mut network, &mut hosts));
    }
    hosts.lateness.cpu = processor_time() - begin;
    (network, hosts.lateness)
}

/// The hosts' devices, and those of them that have packets.
struct Devices<'a> {
    ports: &'a Ports<'a>,
    /// The kernel's queues; their indices come after those of the ports.
    queues: &'a KernelPorts,
    /// Tells which devices have packets, so that a sleep costs no more with hundreds of devices. `None` if the kernel
    /// gives none, and after a failure; then every device is asked each time.
    epoll: Option<Epoll>,
    events: Vec<EpollEvent>,
    /// Indices of devices that may have packets.
    ready: Vec<usize>,
}

impl<'a> Devices<'a> {
    fn new(ports: &'a Ports<'a>, queues: &'a KernelPorts) -> Self {
        let watch = || {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).ok()?;
            for (index, tun) in tuns(ports, queues).enumerate() {
                epoll.add(tun, EpollEvent::new(EpollFlags::EPOLLIN, index as u64)).ok()?;
            }
            Some(epoll)
        };
        let events = vec![EpollEvent::empty(); ports.len() + queues.len()];
        Self { ports, queues, epoll: watch(), events, ready: Vec::new() }
    }

    /// Sleeps until a device has a packet, or until the time `until`. An interrupted sleep is only shorter.
    fn wait(&mut self, until: Instant, clock: Clock) {
        // Before time zero the clock stands still, and only packets and naps end the sleep.
        let time = until.since(clock.now()).min(NAP);
        let time = TimeSpec::new((time.as_nanos() / 1_000_000_000) as i64, (time.as_nanos() % 1_000_000_000) as i64);
        self.ready.clear();
        let Some(epoll) = &self.epoll else {
            let mut polled: Vec<PollFd<'_>> =
                tuns(self.ports, self.queues).map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN)).collect();
            let _ = ppoll(&mut polled, Some(time), None);
            self.ready.extend(0..self.ports.len() + self.queues.len());
            return;
        };
        // epoll_wait counts in milliseconds, ppoll in nanoseconds. A sleep takes longer than the shortest waits.
        if until.since(clock.now()) > SHORT
            && ppoll(&mut [PollFd::new(epoll.0.as_fd(), PollFlags::POLLIN)], Some(time), None) == Ok(0)
        {
            return;
        }
        let found = epoll.wait(&mut self.events, EpollTimeout::ZERO).unwrap_or(0);
        self.ready.extend(self.events.iter().take(found).map(|event| event.data() as usize));
        // In the order of the hosts, as a scan finds them.
        self.ready.sort_unstable();
    }

    /// Takes packets from the devices that have some, one from each host in turn. The kernel's queues come first, as a
    /// departure comes before an arrival.
    fn take(&mut self, buffer: &mut [u8], (network, hosts): (&mut Network, &mut Hosts<'_>)) {
        while let Some((edge, _)) =
            self.ready.last().and_then(|&index| self.queues.get(index.wrapping_sub(self.ports.len())))
        {
            self.ready.pop();
            let now = hosts.clock.now().min(hosts.end);
            network.advance(now, hosts);
            network.wake(*edge, now);
        }
        for _ in 0..BATCH {
            self.ready.retain(|&index| {
                let (node, tun) = self.ports[index];
                let Ok(Some(packet)) = tun.receive(buffer) else { return false };
                let now = hosts.clock.now().min(hosts.end);
                network.advance(now, hosts);
                network.receive(node, packet, now);
                true
            });
            if self.ready.is_empty() {
                break;
            }
        }
    }
}

/// Returns all devices: the hosts', then those of the kernel's queues.
fn tuns<'a>(ports: &'a Ports<'a>, queues: &'a KernelPorts) -> impl Iterator<Item = &'a Tun> {
    ports.iter().map(|&(_, tun)| tun).chain(queues.iter().map(|(_, tun)| &**tun))
}

/// Asks the kernel to wake this thread promptly, and returns what it granted.
fn schedule(rate: Rate) -> String {
    // SAFETY: plain calls on the calling thread; none takes a pointer that outlives it.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        let real_time = libc::sched_param { sched_priority: 10 };
        if rate <= FIFO_UP_TO && libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const real_time) == 0 {
            return "SCHED_FIFO 10".to_owned();
        }
        let thread = libc::syscall(libc::SYS_gettid) as libc::id_t;
        if libc::setpriority(libc::PRIO_PROCESS, thread, -20) == 0 {
            return "nice -20".to_owned();
        }
    }
    "normal".to_owned()
}
