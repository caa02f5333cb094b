//! Network-assisted schemes at live hosts: eBPF programs on the devices, congestion controls, and their counters.
//!
//! The bottleneck runs the routers' part, with the simulator's own code. The hosts' part is here: [`Schemes::attach`]
//! finds which flows take part, loads each scheme's object once for all hosts, and attaches it to the device of every
//! host at which such a flow begins or ends. File descriptors hold everything, so nothing remains after a drop or when
//! the process is killed.

mod acns;
mod ngwa;

pub use acns::AcnsCounters;
pub use ngwa::NgwaCounters;

use crate::bpf::{Attached, Direction, Hook, Loaded, unique_name};
use crate::fit::{Control, control};
use crate::netlink::Netlink;
use crate::refusals::Refusals;
use crate::{Host, Hosts, KernelsOwn, LiveError};
use libbpf_rs::{Link, MapCore as _, MapFlags};
use narrows_fabric::ports;
use narrows_scenario::{Flow, Scenario, Traffic};
use narrows_scheme::ngwa::NgwaMode;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// The schemes of a scenario, attached to its hosts until this is dropped.
#[derive(Debug)]
pub struct Schemes {
    /// By flow: the kernel's name of the congestion control that the scheme provides.
    controls: Vec<Option<String>>,
    acns: Option<Ends>,
    ngwa: Option<Ends>,
    kernels_own: Vec<KernelsOwn>,
    hook: Hook,
}

/// A scheme's object in the kernel, and its attachments. Links are dropped before the object.
#[derive(Debug)]
struct Ends {
    _packets: Vec<Attached>,
    _controls: Vec<Link>,
    loaded: Loaded,
}

impl Schemes {
    /// Loads and attaches the schemes in which flows of the scenario take part, if any.
    ///
    /// # Errors
    /// [`LiveError::Unsupported`] for features without a live form: a scheme over IPv6, ACNS over a congestion control
    /// other than CUBIC and Reno or with a longer trend than the program holds, and NGWA at a host at which a flow
    /// without it begins or ends. [`LiveError::Unavailable`] where the machine cannot load or attach the programs.
    pub fn attach(scenario: &Scenario, hosts: &Hosts) -> Result<Self, LiveError> {
        Self::attach_by(scenario, hosts, Hook::Newest)
    }

    /// Does the same, attaching packet programs by `hook`.
    fn attach_by(scenario: &Scenario, hosts: &Hosts, hook: Hook) -> Result<Self, LiveError> {
        let controls = vec![None; scenario.flows.len()];
        let mut schemes = Self { controls, acns: None, ngwa: None, kernels_own: Vec::new(), hook };
        if let Some(settings) = &scenario.acns
            && takes_part(scenario, "acns")?
        {
            schemes.acns = Some(schemes.attach_acns(scenario, settings, hosts)?);
        }
        if let Some(settings) = &scenario.ngwa
            && takes_part(scenario, "ngwa")?
        {
            schemes.ngwa = Some(schemes.attach_ngwa(scenario, settings, hosts)?);
        }
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

    /// Returns the counters of an ACNS flow's sender so far; `None` if there is no such flow or it has not begun.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel does not return them.
    pub fn acns_sender(&self, scenario: &Scenario, flow: usize) -> Result<Option<AcnsCounters>, LiveError> {
        self.acns(scenario, flow, true)
    }

    /// Returns the counters of an ACNS flow's receiver so far; `None` if there is no such flow or it has not begun.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel does not return them.
    #[cfg(test)]
    pub fn acns_receiver(&self, scenario: &Scenario, flow: usize) -> Result<Option<AcnsCounters>, LiveError> {
        self.acns(scenario, flow, false)
    }

    fn acns(&self, scenario: &Scenario, flow: usize, sender: bool) -> Result<Option<AcnsCounters>, LiveError> {
        let value = lookup(self.acns.as_ref(), acns::FLOWS, scenario, flow, sender)?;
        Ok(value.as_deref().and_then(AcnsCounters::read))
    }

    /// Returns the counters of an NGWA flow's receiver so far; `None` if there is no such flow or it has not begun.
    ///
    /// # Errors
    /// [`LiveError::Failed`] if the kernel does not return them.
    pub fn ngwa_receiver(&self, scenario: &Scenario, flow: usize) -> Result<Option<NgwaCounters>, LiveError> {
        let value = lookup(self.ngwa.as_ref(), ngwa::FLOWS, scenario, flow, false)?;
        Ok(value.as_deref().and_then(NgwaCounters::read))
    }

    fn attach_acns(
        &mut self,
        scenario: &Scenario,
        settings: &narrows_scenario::Acns,
        hosts: &Hosts,
    ) -> Result<Ends, LiveError> {
        let flows = flows_of(scenario, "acns");
        let bases = flows.iter().map(|&(index, flow)| Ok((index, acns::base(flow)?)));
        let bases = bases.collect::<Result<Vec<_>, LiveError>>()?;
        let names = acns::BASES.map(|(_, ops)| unique_name(ops));
        let mut loaded = acns::open(settings, &names)?.load()?;
        let mut controls = Vec::new();
        for (base, name) in names.iter().enumerate() {
            if bases.iter().any(|&(_, used)| used == base) {
                controls.push(loaded.attach_struct_ops(acns::BASES[base].1)?);
            }
            for &(flow, _) in bases.iter().filter(|&&(_, used)| used == base) {
                self.controls[flow] = Some(name.clone());
            }
        }
        let packets = self.on_devices(&loaded, "acns", &flows, hosts)?;
        for host in at(&flows, hosts) {
            // Each segment has marks of its own, so TCP must not pass several down as one.
            host.netns.run(|| Netlink::open()?.segment_in_tcp(host.tun.index()))??;
        }
        Ok(Ends { _packets: packets, _controls: controls, loaded })
    }

    fn attach_ngwa(
        &mut self,
        scenario: &Scenario,
        settings: &narrows_scenario::Ngwa,
        hosts: &Hosts,
    ) -> Result<Ends, LiveError> {
        let flows = flows_of(scenario, "ngwa");
        ngwa::alone(scenario, &flows)?;
        let mode = ngwa::mode(settings)?;
        let name = unique_name(ngwa::NONE);
        let mut opened = ngwa::open(settings)?;
        if mode.congestion_window {
            opened.leave_out_control(ngwa::NONE);
        } else {
            opened.set_registered_name(ngwa::NONE, &name)?;
        }
        let mut loaded = opened.load()?;
        let mut controls = Vec::new();
        if !mode.congestion_window {
            controls.push(loaded.attach_struct_ops(ngwa::NONE)?);
            flows.iter().for_each(|&(flow, _)| self.controls[flow] = Some(name.clone()));
            if !settings.fast_retransmit {
                self.kernels_own.push(ngwa::recovery());
            }
        }
        let packets = self.on_devices(&loaded, "ngwa", &flows, hosts)?;
        Ok(Ends { _packets: packets, _controls: controls, loaded })
    }

    /// Attaches `SCHEME_ingress` and `SCHEME_egress` to the devices of all hosts of these flows.
    fn on_devices(
        &self,
        loaded: &Loaded,
        scheme: &str,
        flows: &[(usize, &Flow)],
        hosts: &Hosts,
    ) -> Result<Vec<Attached>, LiveError> {
        let mut attached = Vec::new();
        for host in at(flows, hosts) {
            let index = i32::try_from(host.tun.index()).map_err(|error| LiveError::failed("number a device", error))?;
            for (end, direction) in [("ingress", Direction::Ingress), ("egress", Direction::Egress)] {
                let attach = || loaded.attach_packets(&format!("{scheme}_{end}"), index, direction, self.hook);
                attached.push(host.netns.run(attach)??);
            }
        }
        Ok(attached)
    }
}

/// Adds refusals of scheme settings that have no live form.
pub(crate) fn judge(scenario: &Scenario, refusals: &mut Refusals) {
    if let Some(settings) = &scenario.acns
        && refusals.take(takes_part(scenario, "acns")) != Some(false)
    {
        refusals.take(acns::trend(settings));
        for (_, flow) in flows_of(scenario, "acns") {
            refusals.take(acns::base(flow));
        }
    }
    if scenario.ngwa.is_some() && refusals.take(takes_part(scenario, "ngwa")) != Some(false) {
        refusals.take(ngwa::alone(scenario, &flows_of(scenario, "ngwa")));
    }
}

/// Whether a flow gets its congestion control from its scheme instead of [`control`].
pub(crate) fn brings_control(scenario: &Scenario, flow: &Flow) -> bool {
    match flow.assist() {
        Some("acns") => scenario.acns.is_some(),
        Some("ngwa") => {
            let mode = scenario.ngwa.as_ref().and_then(|settings| NgwaMode::new(settings.mode));
            mode.is_some_and(|mode| !mode.congestion_window)
        }
        _ => false,
    }
}

/// Returns the TCP flows that take part in a scheme, with their numbers.
fn flows_of<'a>(scenario: &'a Scenario, scheme: &str) -> Vec<(usize, &'a Flow)> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter(|(_, flow)| flow.assist() == Some(scheme)).collect()
}

/// Returns whether any flow takes part in the scheme; rejects flows that are not over IPv4.
fn takes_part(scenario: &Scenario, scheme: &str) -> Result<bool, LiveError> {
    let flows = flows_of(scenario, scheme);
    let mut refusals = Refusals::default();
    for (_, flow) in &flows {
        if !scenario.nodes[flow.from].address.is_ipv4() {
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

/// The hosts at which these flows begin or end.
fn at<'a>(flows: &[(usize, &Flow)], hosts: &'a Hosts) -> Vec<&'a Host> {
    let nodes: BTreeSet<usize> = flows.iter().flat_map(|(_, flow)| [flow.from, flow.to]).collect();
    nodes.into_iter().filter_map(|node| hosts.of_node(node)).collect()
}

/// Reads the entry of one end of a flow from a map of flows.
fn lookup(
    ends: Option<&Ends>,
    map: &str,
    scenario: &Scenario,
    flow: usize,
    sender: bool,
) -> Result<Option<Vec<u8>>, LiveError> {
    let (Some(ends), Some(spec)) = (ends, scenario.flows.get(flow)) else { return Ok(None) };
    let (client, server) = ports(flow);
    let address = |node: usize| match scenario.nodes[node].address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let (from, to) = ((address(spec.from), client), (address(spec.to), server));
    // The end that answers requests sends the data.
    let client_sends = !matches!(spec.traffic, Traffic::RequestResponse { .. });
    let (local, remote) = if sender == client_sends { (from, to) } else { (to, from) };
    ends.loaded
        .map(map)?
        .lookup(&key(local, remote), MapFlags::ANY)
        .map_err(|error| LiveError::failed(format!("read {map}"), error))
}

/// `struct narrows_flow`: a connection as identified by the host of `local`.
fn key(local: (Ipv4Addr, u16), remote: (Ipv4Addr, u16)) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&local.0.octets());
    key[4..8].copy_from_slice(&remote.0.octets());
    key[8..10].copy_from_slice(&local.1.to_be_bytes());
    key[10..].copy_from_slice(&remote.1.to_be_bytes());
    key
}

/// The 64 bits at `at` of a map's value.
fn u64_at(value: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(value.get(at..at + 8)?.try_into().ok()?))
}

/// The 32 bits at `at` of a map's value.
fn u32_at(value: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?))
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
