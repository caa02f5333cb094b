//! NGWA: the object's constants, and its counters.

use super::{Adapter, Attachment, Ends, Part, Site, u64_at};
use crate::bpf::{Opened, unique_name};
use crate::refusals::Refusals;
use crate::{KernelsOwn, LiveError};
use narrows_samples::FLOW_COUNTERS;
use narrows_scenario::{Flow, Scenario};
use narrows_scheme::ngwa::NgwaConfig;
use narrows_settings::scheme::Values;
use narrows_units::Bytes;

/// The object that clang compiled from bpf/ngwa.bpf.c.
const OBJECT: &[u8] = include_bytes!("../../bpf/objects/ngwa.bpf.o");

/// The sender without a congestion window.
const NONE: &str = "ngwa_none";

/// NGWA.
pub(super) static ADAPTER: Adapter = Adapter {
    name: "ngwa",
    flows: "ngwa_flows",
    judge: |part, refusals| {
        refusals.take(alone(part.scenario, &part.flows));
    },
    attach,
    brings_control: |settings| NgwaConfig::from_values(settings).is_ok_and(|config| !config.mode.congestion_window),
    ipv6: None,
    counters,
};

/// Reads values taken and malformed options of a receiver from `struct ngwa_flow`, whose layout bpf/ngwa_rules.h
/// asserts.
fn counters(value: &[u8]) -> Option<[u64; FLOW_COUNTERS]> {
    Some([u64_at(value, 32)?, u64_at(value, 40)?, 0])
}

fn attach(part: &Part<'_>, site: &Site<'_>) -> Result<Attachment, LiveError> {
    alone(part.scenario, &part.flows)?;
    let config = config(part.settings)?;
    let name = unique_name(NONE);
    let mut opened = open(&config)?;
    if config.mode.congestion_window {
        opened.leave_out_control(NONE);
    } else {
        opened.set_registered_name(NONE, &name)?;
    }
    let mut loaded = opened.load()?;
    let (mut links, mut controls, mut kernels_own) = (Vec::new(), Vec::new(), Vec::new());
    if !config.mode.congestion_window {
        links.push(loaded.attach_struct_ops(NONE)?);
        controls.extend(part.flows.iter().map(|&(flow, _)| (flow, name.clone())));
        if !config.fast_retransmit {
            kernels_own.push(recovery());
        }
    }
    let packets = site.on_devices(&loaded, ADAPTER.name, &part.flows)?;
    Ok(Attachment {
        ends: Ends { _packets: packets, _controls: links, _objects: Vec::new(), loaded },
        controls,
        kernels_own,
    })
}

/// Rejects scenarios with a flow without NGWA at a host with it: nothing in a packet distinguishes them.
///
/// # Errors
/// [`LiveError::Unsupported`] with each such flow.
pub(super) fn alone(scenario: &Scenario, flows: &[(usize, &Flow)]) -> Result<(), LiveError> {
    let with = |node: usize| flows.iter().any(|(_, flow)| flow.from == node || flow.to == node);
    let mut refusals = Refusals::default();
    for (index, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.tcp().is_some()) {
        if (with(flow.from) || with(flow.to)) && !flows.iter().any(|&(number, _)| number == index) {
            refusals.add(LiveError::Unsupported {
                field: format!("flows.{}.tcp.assist", flow.name),
                value: flow.assist().unwrap_or("none").to_owned(),
                reason: "NGWA is not negotiated per connection, so a live host runs it for all its flows or none"
                    .to_owned(),
                allowed: "assist = \"ngwa\" for all flows of a host, or a simulated run".to_owned(),
            });
        }
    }
    refusals.end()
}

/// Reads the scenario's settings.
///
/// # Errors
/// [`LiveError::Failed`] for settings that the scenario's own check excludes.
pub(super) fn config(settings: &Values) -> Result<NgwaConfig, LiveError> {
    NgwaConfig::from_values(settings).map_err(|error| LiveError::failed("run NGWA", error))
}

/// Returns the kernel's own setting that replaces recovery by the timer alone.
fn recovery() -> KernelsOwn {
    KernelsOwn {
        setting: "ngwa.fast_retransmit".to_owned(),
        scenario: "false".to_owned(),
        kernel: "true: Linux always has fast retransmit".to_owned(),
    }
}

/// Opens the object and sets its constants.
///
/// # Errors
/// [`LiveError::Failed`] where the object has other constants, which a test excludes.
pub(super) fn open(config: &NgwaConfig) -> Result<Opened, LiveError> {
    let mut opened = Opened::new("ngwa", OBJECT)?;
    opened.set_number("param_alpha", (config.alpha * 4_294_967_296.0).round() as u64)?;
    opened.set_number("param_smoothing", u64::from(config.mode.smoothing))?;
    opened.set_number("param_shrink", u64::from(config.shrink))?;
    opened.set_number("param_max_window", config.max_window.map_or(0, Bytes::as_u64))?;
    Ok(opened)
}
