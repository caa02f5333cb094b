//! Network-assisted schemes at live hosts: eBPF programs on the devices, congestion controls, and their counters.
//!
//! The bottleneck runs the routers' part, with the simulator's own code. The hosts' part is here: [`Schemes::attach`]
//! finds which flows take part, loads the scheme's object once for all hosts, and attaches it to the device of every
//! host at which such a flow begins or ends. File descriptors hold everything, so nothing remains after a drop or when
//! the process is killed.
//!
//! A scheme with a live form is a file here and a line in [`ADAPTERS`].

mod acns;
mod ngwa;

use crate::bpf::{Attached, Direction, Hook, Loaded};
use crate::fit::{Control, control};
use crate::refusals::Refusals;
use crate::{Host, Hosts, KernelsOwn, LiveError};
use libbpf_rs::{Link, MapCore as _, MapFlags};
use narrows_fabric::ports;
use narrows_samples::FLOW_COUNTERS;
use narrows_scenario::{Flow, Scenario};
use narrows_scheme::End;
use narrows_settings::scheme::Values;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The schemes that have a live form.
static ADAPTERS: [&Adapter; 2] = [&acns::ADAPTER, &ngwa::ADAPTER];

/// What a scheme does at live hosts.
struct Adapter {
    /// Name of the scheme.
    name: &'static str,
    /// The map of connections.
    flows: &'static str,
    /// Adds refusals of settings, and of flows that take part, that have no live form.
    judge: fn(&Part<'_>, &mut Refusals),
    /// Loads the object and attaches it.
    attach: fn(&Part<'_>, &Site<'_>) -> Result<Attachment, LiveError>,
    /// Whether the object provides the congestion control of flows that take part.
    brings_control: fn(&Values) -> bool,
    /// Bytes that the packets of a flow that takes part grow by on their way over IPv6; `None` if the programs do not
    /// read IPv6.
    ipv6: Option<fn(&Values) -> u16>,
    /// Reads a connection's counters, in the order of the scheme's row, from its entry in the map.
    counters: fn(&[u8]) -> Option<[u64; FLOW_COUNTERS]>,
}

/// A scheme's part in a scenario.
struct Part<'a> {
    scenario: &'a Scenario,
    settings: &'a Values,
    /// The flows that take part, with their numbers.
    flows: Vec<(usize, &'a Flow)>,
}

/// Where programs are attached.
struct Site<'a> {
    hosts: &'a Hosts,
    hook: Hook,
}

/// What a scheme has attached.
#[derive(Debug)]
struct Attachment {
    ends: Ends,
    /// By number of the flow: the kernel's name of the congestion control that the scheme provides.
    controls: Vec<(usize, String)>,
    kernels_own: Vec<KernelsOwn>,
}

/// The scheme of a scenario, attached to its hosts until this is dropped.
#[derive(Debug)]
pub struct Schemes {
    /// By flow: the kernel's name of the congestion control that the scheme provides.
    controls: Vec<Option<String>>,
    attached: Option<(&'static Adapter, Ends)>,
    kernels_own: Vec<KernelsOwn>,
    /// The end of a flow that has the scheme's counters, and whether samples over time have them.
    counting: Option<(End, bool)>,
}

/// A scheme's object in the kernel, and its attachments. Links are dropped before the object.
#[derive(Debug)]
struct Ends {
    _packets: Vec<Attached>,
    _controls: Vec<Link>,
    /// Further objects, of which only the links are used.
    _objects: Vec<Loaded>,
    loaded: Loaded,
}

impl std::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adapter").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Schemes {
    /// Loads and attaches the scenario's scheme, if flows take part in it.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] for features without a live form: NGWA over IPv6, a scheme without an adapter,
    /// and what the adapter refuses. [`LiveError::Unavailable`] where the machine cannot load or attach the programs.
    pub fn attach(scenario: &Scenario, hosts: &Hosts) -> Result<Self, LiveError> {
        Self::attach_by(scenario, hosts, Hook::Newest)
    }

    /// Does the same, attaching packet programs by `hook`.
    fn attach_by(scenario: &Scenario, hosts: &Hosts, hook: Hook) -> Result<Self, LiveError> {
        let controls = vec![None; scenario.flows.len()];
        let mut schemes = Self { controls, attached: None, kernels_own: Vec::new(), counting: None };
        let Some((adapter, part)) = part(scenario)? else { return Ok(schemes) };
        let Attachment { ends, controls, kernels_own } = (adapter.attach)(&part, &Site { hosts, hook })?;
        for (flow, name) in controls {
            schemes.controls[flow] = Some(name);
        }
        schemes.kernels_own = kernels_own;
        schemes.attached = Some((adapter, ends));
        let counters = narrows_scheme::find(adapter.name).map(|row| row.flow_counters);
        schemes.counting = counters.map(|counters| (counters.end, counters.over_time));
        Ok(schemes)
    }

    /// Returns the kernel's name of the congestion control that a flow's scheme provides; `None` if the flow keeps its
    /// own.
    #[must_use]
    pub fn control(&self, flow: usize) -> Option<&str> {
        self.controls.get(flow)?.as_deref()
    }

    /// Returns the settings that are the kernel's own, for the conditions of a run.
    #[must_use]
    pub fn kernels_own(&self) -> &[KernelsOwn] {
        &self.kernels_own
    }

    /// Whether samples over time have the scheme's counters.
    #[must_use]
    pub fn counts_over_time(&self) -> bool {
        self.counting.is_some_and(|(_, over_time)| over_time)
    }

    /// Returns a flow's counters so far, in the order of the scheme's row; `None` if the flow takes part in no scheme
    /// or has not begun.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel does not return them.
    pub fn counters(&self, scenario: &Scenario, flow: usize) -> Result<Option<[u64; FLOW_COUNTERS]>, LiveError> {
        let (Some((end, _)), Some((adapter, _))) = (self.counting, &self.attached) else { return Ok(None) };
        let entry = self.entry(scenario, flow, end == End::Sender)?;
        Ok(entry.as_deref().and_then(adapter.counters))
    }

    /// Returns the entry of one end of a flow in the map of connections.
    fn entry(&self, scenario: &Scenario, flow: usize, sender: bool) -> Result<Option<Vec<u8>>, LiveError> {
        match &self.attached {
            Some((adapter, ends)) => lookup(ends, adapter.flows, scenario, flow, sender),
            None => Ok(None),
        }
    }
}

impl Site<'_> {
    /// Attaches `SCHEME_ingress` and `SCHEME_egress` to the devices of all hosts of these flows.
    fn on_devices(&self, loaded: &Loaded, scheme: &str, flows: &[(usize, &Flow)]) -> Result<Vec<Attached>, LiveError> {
        let mut attached = Vec::new();
        for host in self.at(flows) {
            let index = i32::try_from(host.tun.index()).map_err(|error| LiveError::failed("number a device", error))?;
            for (end, direction) in [("ingress", Direction::Ingress), ("egress", Direction::Egress)] {
                let attach = || loaded.attach_packets(&format!("{scheme}_{end}"), index, direction, self.hook);
                attached.push(host.netns.run(attach)??);
            }
        }
        Ok(attached)
    }

    /// The hosts at which these flows begin or end.
    fn at(&self, flows: &[(usize, &Flow)]) -> Vec<&Host> {
        let nodes: BTreeSet<usize> = flows.iter().flat_map(|(_, flow)| [flow.from, flow.to]).collect();
        nodes.into_iter().filter_map(|node| self.hosts.of_node(node)).collect()
    }
}

/// Returns the scenario's scheme and its part in it, if flows take part.
fn part(scenario: &Scenario) -> Result<Option<(&'static Adapter, Part<'_>)>, LiveError> {
    let Some(scheme) = &scenario.scheme else { return Ok(None) };
    let name = scheme.row.name;
    if !takes_part(scenario, name)? {
        return Ok(None);
    }
    let adapter = adapter(name).ok_or_else(|| LiveError::Unsupported {
        field: name.to_owned(),
        value: "true".to_owned(),
        reason: "the scheme has no eBPF programs".to_owned(),
        allowed: format!("{}, or a simulated run", ADAPTERS.map(|adapter| adapter.name).join(", ")),
    })?;
    Ok(Some((adapter, Part { scenario, settings: &scheme.values, flows: flows_of(scenario, name) })))
}

fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.into_iter().find(|adapter| adapter.name == name)
}

/// Adds refusals of scheme settings that have no live form.
pub(crate) fn judge(scenario: &Scenario, refusals: &mut Refusals) {
    if let Some(Some((adapter, part))) = refusals.take(part(scenario)) {
        (adapter.judge)(&part, refusals);
    }
}

/// Whether a flow gets its congestion control from its scheme instead of [`control`].
pub(crate) fn brings_control(scenario: &Scenario, flow: &Flow) -> bool {
    let Some(scheme) = &scenario.scheme else { return false };
    let name = scheme.row.name;
    flow.assist() == Some(name) && adapter(name).is_some_and(|adapter| (adapter.brings_control)(&scheme.values))
}

/// Returns the TCP flows that take part in a scheme, with their numbers.
fn flows_of<'a>(scenario: &'a Scenario, scheme: &str) -> Vec<(usize, &'a Flow)> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter(|(_, flow)| flow.assist() == Some(scheme)).collect()
}

/// Returns by how many bytes packets of a flow grow, which its largest segment must leave free.
pub(crate) fn header_overhead(scenario: &Scenario, flow: &Flow) -> u16 {
    let Some(scheme) = scenario.scheme.as_ref().filter(|scheme| flow.assist() == Some(scheme.row.name)) else {
        return 0;
    };
    let over_ipv6 = scenario.nodes[flow.from].address.is_ipv6();
    let grows = adapter(scheme.row.name).and_then(|adapter| adapter.ipv6).filter(|_| over_ipv6);
    grows.map_or(0, |bytes| bytes(&scheme.values))
}

/// Returns whether any flow takes part in the scheme; rejects flows over IPv6 where its programs do not read that.
fn takes_part(scenario: &Scenario, scheme: &str) -> Result<bool, LiveError> {
    let flows = flows_of(scenario, scheme);
    let reads_ipv6 = adapter(scheme).is_none_or(|adapter| adapter.ipv6.is_some());
    let mut refusals = Refusals::default();
    for (_, flow) in &flows {
        if !reads_ipv6 && !scenario.nodes[flow.from].address.is_ipv4() {
            refusals.add(LiveError::Unsupported {
                field: format!("flows.{}.tcp.assist", flow.name),
                value: scheme.to_owned(),
                reason: "the eBPF programs support IPv4 alone".to_owned(),
                allowed: "ip = 4, or a simulated run".to_owned(),
            });
        }
    }
    refusals.end()?;
    Ok(!flows.is_empty())
}

/// Reads the entry of one end of a flow from a map of flows.
fn lookup(
    ends: &Ends,
    map: &str,
    scenario: &Scenario,
    flow: usize,
    sender: bool,
) -> Result<Option<Vec<u8>>, LiveError> {
    let Some(spec) = scenario.flows.get(flow) else { return Ok(None) };
    let (client, server) = ports(flow);
    let address = |node: usize| scenario.nodes[node].address;
    let (from, to) = ((address(spec.from), client), (address(spec.to), server));
    // The end that answers requests sends the data.
    let client_sends = !spec.traffic.server_sends();
    let (local, remote) = if sender == client_sends { (from, to) } else { (to, from) };
    ends.loaded
        .map(map)?
        .lookup(&key(local, remote), MapFlags::ANY)
        .map_err(|error| LiveError::failed(format!("read {map}"), error))
}

/// `struct narrows_flow`: a connection as identified by the host of `local`.
fn key(local: (IpAddr, u16), remote: (IpAddr, u16)) -> [u8; 36] {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let mut key = [0; 36];
    key[..16].copy_from_slice(&octets(local.0));
    key[16..32].copy_from_slice(&octets(remote.0));
    key[32..34].copy_from_slice(&local.1.to_be_bytes());
    key[34..].copy_from_slice(&remote.1.to_be_bytes());
    key
}

/// The 64 bits at `at` of a map's value.
fn u64_at(value: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(value.get(at..at + 8)?.try_into().ok()?))
}

/// Returns the kernel's name of the congestion control below a scheme.
fn kernel_control(flow: &Flow) -> Result<String, LiveError> {
    match control(flow)? {
        Control::Kernel(name) => Ok(name),
        Control::Ours(name) => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests;
