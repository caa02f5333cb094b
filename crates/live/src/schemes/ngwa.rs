//! NGWA: the object's constants, and its counters.

use super::{u32_at, u64_at};
use crate::bpf::Opened;
use crate::refusals::Refusals;
use crate::{KernelsOwn, LiveError};
use narrows_scenario::{Flow, Ngwa, Scenario};
use narrows_scheme::ngwa::NgwaMode;
use narrows_units::Bytes;

/// The object that clang compiled from bpf/ngwa.bpf.c.
const OBJECT: &[u8] = include_bytes!("../../bpf/objects/ngwa.bpf.o");

/// The map of connections.
pub(super) const FLOWS: &str = "ngwa_flows";

/// The sender without a congestion window.
pub(super) const NONE: &str = "ngwa_none";

/// Counters of a connection's receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NgwaCounters {
    /// Values taken from data segments.
    pub taken: u64,
    /// Malformed options.
    pub ignored: u64,
    /// The value that bounds the window, smoothed or not; `None` before the first.
    pub window: Option<Bytes>,
    /// Segments that left with a smaller window than the kernel's.
    pub capped: u64,
    /// The smallest window advertised after the first value.
    pub least: Bytes,
    /// The largest window advertised after the first value.
    pub largest: Bytes,
    /// Probes of a window that the network had closed.
    pub probes: u64,
}

impl NgwaCounters {
    /// Reads `struct ngwa_flow`, whose layout bpf/ngwa_rules.h asserts.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let bytes = |at: usize| Some(Bytes::new(u64::from(u32_at(value, at)?)));
        Some(Self {
            taken: u64_at(value, 32)?,
            ignored: u64_at(value, 40)?,
            window: if u32_at(value, 8)? == 0 { None } else { bytes(12) },
            capped: u64_at(value, 88)?,
            least: bytes(96)?,
            largest: bytes(100)?,
            probes: u64::from(u32_at(value, 24)?),
        })
    }
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

/// Returns the scenario's mode.
///
/// # Errors
/// [`LiveError::Failed`] for a number that the scenario's own check excludes.
pub(super) fn mode(settings: &Ngwa) -> Result<NgwaMode, LiveError> {
    NgwaMode::new(settings.mode).ok_or_else(|| LiveError::failed("run NGWA", format!("mode {}", settings.mode)))
}

/// Returns the kernel's own setting that replaces recovery by the timer alone.
pub(super) fn recovery() -> KernelsOwn {
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
pub(super) fn open(settings: &Ngwa) -> Result<Opened, LiveError> {
    let mut opened = Opened::new("ngwa", OBJECT)?;
    opened.set_number("param_alpha", (settings.alpha * 4_294_967_296.0).round() as u64)?;
    opened.set_number("param_smoothing", u64::from(mode(settings)?.smoothing))?;
    opened.set_number("param_shrink", u64::from(settings.shrink))?;
    opened.set_number("param_max_window", settings.max_window.map_or(0, Bytes::as_u64))?;
    Ok(opened)
}
