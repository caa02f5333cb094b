//! The applications of all flows, on sockets of the hosts.
//!
//! There is one thread per flow, and one per host that accepts connections. No thread waits for ever: when the run is
//! over, or a bell rings, each returns its results.

mod door;
mod end;
mod flow;
mod handle;
mod record;
mod socket;
mod steered;

use crate::{Clock, Host, Hosts, LiveError};
use door::{Bell, Doors, Mailbox};
use end::End;
use flow::{Flow, Plan};
use narrows_fabric::{Seeds, Topology, Touched, flow_sources, flow_start, framed, ports, watched_flows};
use narrows_scenario::{Flow as Spec, Sampling, Scenario, Tcp, Traffic as Kind, Transport};
use narrows_timeline::Action;
use narrows_units::{Duration, Instant, Rate};
use narrows_wire::RTP_LEN;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

pub(crate) use handle::{Handle, Order};
pub use record::FlowRecord;
pub(crate) use record::Seen;

/// Time between two reads of a flow's `TCP_INFO`, if flows are few. A read costs some microseconds.
const LOOK: Duration = Duration::from_millis(1);

/// Largest number of flows still sampled every millisecond.
const FEW: u64 = 8;

/// Bound on the unsent data in the kernel of a flow that can be stopped, as time at the rate of its path's narrowest
/// link. When stopped, the application takes back all unsent data but this, as in the simulator. Its thread may be this
/// late without the sender running dry.
const UNSENT: Duration = Duration::from_millis(10);

/// Smallest such bound, in bytes: with less, a slow link would be fed in pieces of a segment.
const LEAST_UNSENT: u32 = 4096;

/// Flows with their sockets, bound and listening, before the first packet.
#[derive(Debug)]
pub struct Traffic {
    flows: Vec<Flow>,
    doors: Vec<Doors>,
    /// Of the flows that the scenario's test case names.
    handles: BTreeMap<usize, Arc<Handle>>,
}

/// Flows that are running. Dropping the value stops them.
#[derive(Debug)]
pub struct Running {
    flows: Vec<JoinHandle<Result<FlowRecord, LiveError>>>,
    doors: Vec<JoinHandle<Result<(), LiveError>>>,
    stop: Arc<Bell>,
}

impl Traffic {
    /// Makes the sockets of all flows. `controls` has the kernel's name of each flow's congestion control (ignored for
    /// UDP). Random times are those of the simulator under the same `seeds`.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel refuses a setting, such as a congestion control that it does not have.
    pub fn prepare(scenario: &Scenario, hosts: &Hosts, seeds: Seeds, controls: &[String]) -> Result<Self, LiveError> {
        descriptors(scenario.flows.len())?;
        let mut topology = Topology::new(scenario);
        scenario.flows.iter().for_each(|flow| topology.prepare(flow.to));
        let mut flows = Vec::new();
        let mut guests: BTreeMap<(usize, u16), Vec<Guest>> = BTreeMap::new();
        let (touched, handles) = (Touched::by(scenario), handles(scenario)?);
        for ((index, spec), mut source) in scenario.flows.iter().enumerate().zip(flow_sources(scenario, seeds)) {
            let (client_port, server_port) = ports(index);
            let at = SocketAddr::new(scenario.nodes[spec.from].address, client_port);
            let to = SocketAddr::new(scenario.nodes[spec.to].address, server_port);
            let control = controls.get(index).cloned().unwrap_or_default();
            let plan = plan(scenario, &topology, (index, spec), (to, control), seeds);
            let [from_host, to_host] = [spec.from, spec.to].map(|node| host(hosts, scenario, node));
            let (from_host, to_host) = (from_host?, to_host?);
            if touched.flows.contains(&index) {
                source.allow_control();
            }
            let mut flow = match &spec.transport {
                Transport::Udp(_) => {
                    let client = from_host.netns.run(|| socket::datagrams(at, to, spec.dscp))??;
                    let server = to_host.netns.run(|| socket::datagrams(to, at, spec.dscp))??;
                    let [client, server] = [client, server].map(|socket| End::new(Some(socket), None, None));
                    Flow::new(plan, source, client, server, None)
                }
                Transport::Tcp(tcp) => {
                    let client = from_host.netns.run(|| socket::client(at, &plan.wishes(tcp)))??;
                    let mailbox = Arc::new(Mailbox::new()?);
                    let guest = Guest { at, mailbox: Arc::clone(&mailbox), flow: index, tcp: Arc::clone(tcp) };
                    guests.entry((spec.to, server_port)).or_default().push(guest);
                    let ends = [Some(client), None].map(|socket| End::new(socket, Some(tcp), plan.unsent));
                    let [client, server] = ends;
                    Flow::new(plan, source, client, server, Some(mailbox))
                }
            };
            flow.handle = handles.get(&index).map(Arc::clone);
            flow.tell_sender()?;
            flows.push(flow);
        }
        let doors = doors(scenario, hosts, &guests, controls)?;
        Ok(Self { flows, doors, handles })
    }

    /// The flows that the scenario's test case names, by number.
    pub(crate) const fn handles(&self) -> &BTreeMap<usize, Arc<Handle>> {
        &self.handles
    }

    /// Starts all threads. Connections open at their flows' start times by `clock`.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if not enough threads can be started.
    pub fn start(self, clock: Clock) -> Result<Running, LiveError> {
        let stop = Arc::new(Bell::new()?);
        let mut running = Running { flows: Vec::new(), doors: Vec::new(), stop };
        for doors in self.doors {
            let stop = Arc::clone(&running.stop);
            running.doors.push(thread("doors".to_owned(), move || doors.attend(&stop))?);
        }
        for (index, flow) in self.flows.into_iter().enumerate() {
            let stop = Arc::clone(&running.stop);
            running.flows.push(thread(format!("flow {index}"), move || {
                let record = flow.run(clock, &stop);
                if record.is_err() {
                    // A run without one of its flows is not the requested one: all flows end.
                    stop.ring();
                }
                record
            })?);
        }
        Ok(running)
    }
}

impl Running {
    /// Asks all flows to end now.
    pub fn stop(&self) {
        self.stop.ring();
    }

    /// Returns whether all flows have ended, so that [`join`](Self::join) does not wait.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.flows.iter().all(JoinHandle::is_finished)
    }

    /// Waits for all flows to end, at the latest when the run does. Returns their records in the scenario's order.
    ///
    /// # Errors
    /// The first error of a flow.
    pub fn join(mut self) -> Result<Vec<FlowRecord>, LiveError> {
        let records: Vec<_> = std::mem::take(&mut self.flows).into_iter().map(wait).collect();
        self.stop.ring();
        let doors: Vec<_> = std::mem::take(&mut self.doors).into_iter().map(wait).collect();
        doors.into_iter().collect::<Result<(), _>>()?;
        records.into_iter().collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.ring();
        for flow in self.flows.drain(..) {
            // Their records are no longer needed.
            let _ = flow.join();
        }
        for door in self.doors.drain(..) {
            let _ = door.join();
        }
    }
}

fn wait<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn thread<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, LiveError> {
    Builder::new().name(name).spawn(work).map_err(|error| LiveError::failed("start a thread", error))
}

/// Raises the limit of open files to what flows need: two sockets each, one that is accepted, a bell.
///
/// # Errors
/// [`LiveError::Unavailable`] if the process may not raise it that far.
fn descriptors(flows: usize) -> Result<(), LiveError> {
    /// Files besides those of flows: devices, namespaces, programs, captures.
    const OTHERS: u64 = 1024;
    let wanted = 4 * flows as u64 + OTHERS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| LiveError::failed("read a limit", error))?;
    if soft >= wanted {
        return Ok(());
    }
    if hard < wanted {
        return Err(LiveError::Unavailable {
            what: format!("a live run of {flows} flows"),
            why: format!("this process may hold {hard} files, and needs {wanted}"),
            remedy: format!("raise the limit (ulimit -Hn {wanted})"),
        });
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)
        .map_err(|error| LiveError::failed("raise the limit of files", error))
}

/// Makes the handles of the flows that the scenario's test case names.
fn handles(scenario: &Scenario) -> Result<BTreeMap<usize, Arc<Handle>>, LiveError> {
    let Some(case) = &scenario.case else { return Ok(BTreeMap::new()) };
    let named = watched_flows(case).into_iter().chain(Touched::by(scenario).flows);
    named.map(|index| Ok((index, Arc::new(Handle::new()?)))).collect()
}

fn host<'a>(hosts: &'a Hosts, scenario: &Scenario, node: usize) -> Result<&'a Host, LiveError> {
    let name = || scenario.nodes[node].name.as_str();
    hosts.of_node(node).ok_or_else(|| LiveError::failed(format!("find the host {}", name()), "it is a router"))
}

/// A client that a door expects.
struct Guest {
    at: SocketAddr,
    mailbox: Arc<Mailbox>,
    flow: usize,
    tcp: Arc<Tcp>,
}

/// Makes the doors of all hosts.
fn doors(
    scenario: &Scenario,
    hosts: &Hosts,
    guests: &BTreeMap<(usize, u16), Vec<Guest>>,
    controls: &[String],
) -> Result<Vec<Doors>, LiveError> {
    let mut of_host: BTreeMap<usize, Doors> = BTreeMap::new();
    for (&(node, port), guests) in guests {
        // A listener answers a SYN before the SYN's flow is known, so it has settings that suit all of its flows: the
        // largest receive buffer, for the window scale, and their congestion control if they agree on one, else Reno,
        // which leaves no state behind. A buffer that the listener sets would persist, so a flow whose window the
        // kernel tunes takes precedence.
        let Some(largest) = guests.iter().max_by_key(|guest| (guest.tcp.autotuning, guest.tcp.recv_buffer)) else {
            continue;
        };
        let control = |guest: &Guest| controls.get(guest.flow).map_or("", String::as_str);
        let agreed = guests.iter().all(|guest| control(guest) == control(largest));
        let wishes = socket::Wishes {
            tcp: &largest.tcp,
            control: if agreed { control(largest) } else { "reno" },
            dscp: 0,
            unsent: None,
            overhead: 0,
        };
        let at = SocketAddr::new(scenario.nodes[node].address, port);
        let listener = host(hosts, scenario, node)?.netns.run(|| socket::listener(at, &wishes, guests.len()))??;
        let known = guests.iter().map(|guest| (guest.at, Arc::clone(&guest.mailbox)));
        of_host.entry(node).or_default().add(listener, known);
    }
    Ok(of_host.into_values().collect())
}

fn plan(
    scenario: &Scenario,
    topology: &Topology,
    (index, spec): (usize, &Spec),
    (to, control): (SocketAddr, String),
    seeds: Seeds,
) -> Plan {
    let end = Instant::ZERO + scenario.duration;
    let (size, endless) = match &spec.traffic {
        Kind::Bulk { size } => (size.map(|size| size.as_u64()), size.is_none()),
        Kind::OnOff { rate, .. } => (None, rate.is_none()),
        _ => (None, false),
    };
    let steered = Touched::by(scenario).flows.contains(&index);
    let stoppable = steered || (endless && (spec.stop < end || matches!(spec.traffic, Kind::OnOff { .. })));
    let rate = || narrowest(scenario, topology, spec).max(fastest_step(scenario));
    let unsent = || u32::try_from(rate().bytes_in(UNSENT).as_u64()).unwrap_or(u32::MAX);
    // A transfer of a workload has no samples; its kernel state is read once, at the end.
    let look = if spec.part.is_some() { Duration::MAX } else { look(scenario) };
    let every = match scenario.sampling {
        _ if spec.part.is_some() => None,
        Sampling::Off => None,
        Sampling::Interval(every) => Some(every),
        Sampling::Events => Some(look),
    };
    Plan {
        index,
        start: flow_start(scenario, spec, seeds),
        stop: spec.stop,
        end,
        size,
        look,
        every,
        state: scenario.sample_state,
        to,
        tcp: spec.tcp().map(Arc::clone),
        control,
        dscp: spec.dscp,
        numbered: spec.udp().is_some_and(|udp| udp.payload.as_u64() >= RTP_LEN as u64),
        framed: framed(spec),
        overhead: crate::schemes::header_overhead(scenario, spec),
        unsent: stoppable.then(|| unsent().max(LEAST_UNSENT)),
    }
}

/// Returns the interval at which flows' threads read `TCP_INFO`: a millisecond, and longer with many flows, which share
/// the processors.
pub(crate) fn look(scenario: &Scenario) -> Duration {
    let look = LOOK * (scenario.listed().count() as u64).div_ceil(FEW).max(1);
    match scenario.sampling {
        Sampling::Interval(every) => look.min(every),
        Sampling::Off | Sampling::Events => look,
    }
}

/// Returns the largest rate that a step gives to a link; zero without one.
fn fastest_step(scenario: &Scenario) -> Rate {
    let actions = scenario.case.iter().flat_map(|case| &case.steps).flat_map(|step| &step.actions);
    let rates = actions.filter_map(|action| if let Action::Set { rate, .. } = action { *rate } else { None });
    rates.max().unwrap_or(Rate::ZERO)
}

/// Returns the rate of the narrowest link on a flow's path, with each link at its largest rate over the run.
fn narrowest(scenario: &Scenario, topology: &Topology, spec: &Spec) -> Rate {
    let mut narrowest = Rate::gbps(100);
    let mut at = spec.from;
    for _ in 0..scenario.nodes.len() {
        let Some(edge) = topology.next(at, spec.to).filter(|_| at != spec.to) else { break };
        let link = &scenario.links[edge / 2];
        narrowest = narrowest.min(if edge % 2 == 0 { &link.forward } else { &link.reverse }.largest_rate());
        at = topology.edges[edge].to;
    }
    narrowest
}

#[cfg(test)]
mod tests;
