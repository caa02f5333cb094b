//! ACNS: the object's constants, and its counters.

use super::{Adapter, Attachment, Ends, Part, Site, kernel_control, u64_at};
use crate::LiveError;
use crate::bpf::{Opened, unique_name};
use crate::netlink::Netlink;
use narrows_samples::FLOW_COUNTERS;
use narrows_scenario::Flow;
use narrows_scheme::acns::{AcnsConfig, CommandScope, FallbackWindow, HistoryStep, NormalOnlyLosses};
use narrows_settings::scheme::Values;

/// The object that clang compiled from bpf/acns.bpf.c.
const OBJECT: &[u8] = include_bytes!("../../bpf/objects/acns.bpf.o");

/// Congestion controls that ACNS runs over, each with the variable of ACNS's own control over it, in the order of
/// `acns_names`.
const BASES: [(&str, &str); 2] = [("cubic", "acns_cubic"), ("reno", "acns_reno")];

/// `ACNS_TREND` of bpf/acns_rules.h: the number of metrics that the program has room for; one fewer is usable.
const METRICS: usize = 64;

/// ACNS.
pub(super) static ADAPTER: Adapter = Adapter {
    name: "acns",
    flows: "acns_flows",
    judge: |part, refusals| {
        if let Some(config) = refusals.take(config(part.settings)) {
            refusals.take(trend(&config));
            refusals.take(switches(&config));
        }
        for (_, flow) in &part.flows {
            refusals.take(base(flow));
        }
    },
    attach,
    brings_control: |_| true,
    counters,
};

/// Reads the commands that a sender received (normal, freeze, fallback) from `struct acns_flow`, whose layout
/// bpf/acns_rules.h asserts.
fn counters(value: &[u8]) -> Option<[u64; FLOW_COUNTERS]> {
    Some([u64_at(value, 80)?, u64_at(value, 88)?, u64_at(value, 96)?])
}

fn attach(part: &Part<'_>, site: &Site<'_>) -> Result<Attachment, LiveError> {
    let bases = part.flows.iter().map(|&(index, flow)| Ok((index, base(flow)?)));
    let bases = bases.collect::<Result<Vec<_>, LiveError>>()?;
    let names = BASES.map(|(_, ops)| unique_name(ops));
    let mut loaded = open(&config(part.settings)?, &names)?.load()?;
    let (mut links, mut controls) = (Vec::new(), Vec::new());
    for (base, name) in names.iter().enumerate() {
        if bases.iter().any(|&(_, used)| used == base) {
            links.push(loaded.attach_struct_ops(BASES[base].1)?);
        }
        let over_it = bases.iter().filter(|&&(_, used)| used == base);
        controls.extend(over_it.map(|&(flow, _)| (flow, name.clone())));
    }
    let packets = site.on_devices(&loaded, ADAPTER.name, &part.flows)?;
    for host in site.at(&part.flows) {
        // Each segment has marks of its own, so TCP must not pass several down as one.
        host.netns.run(|| Netlink::open()?.segment_in_tcp(host.tun.index()))??;
    }
    let ends = Ends { _packets: packets, _controls: links, loaded };
    Ok(Attachment { ends, controls, kernels_own: Vec::new() })
}

/// Reads the scenario's settings.
///
/// # Errors
/// [`LiveError::Failed`] for settings that the scenario's own check excludes.
pub(super) fn config(settings: &Values) -> Result<AcnsConfig, LiveError> {
    AcnsConfig::from_values(settings).map_err(|error| LiveError::failed("run ACNS", error))
}

/// Returns the index in [`BASES`] of a flow's congestion control.
///
/// # Errors
/// [`LiveError::Unsupported`] for any other.
pub(super) fn base(flow: &Flow) -> Result<usize, LiveError> {
    let name = kernel_control(flow)?;
    BASES.iter().position(|(base, _)| *base == name).ok_or_else(|| LiveError::Unsupported {
        field: format!("flows.{}.tcp.cc", flow.name),
        value: name,
        reason: "on Linux ACNS runs over CUBIC and Reno alone".to_owned(),
        allowed: "cubic and reno, or a simulated run".to_owned(),
    })
}

/// Rejects a trend that is longer than the program holds.
///
/// # Errors
/// [`LiveError::Unsupported`].
fn trend(settings: &AcnsConfig) -> Result<(), LiveError> {
    let count = settings.trend_count as usize;
    if count < METRICS {
        return Ok(());
    }
    Err(LiveError::Unsupported {
        field: "acns.trend_count".to_owned(),
        value: count.to_string(),
        reason: "the eBPF program stores fewer commands".to_owned(),
        allowed: format!("1 to {}, or a simulated run", METRICS - 1),
    })
}

/// Rejects readings of the papers that only the simulator's sender has.
///
/// # Errors
/// [`LiveError::Unsupported`] for the first of them.
fn switches(settings: &AcnsConfig) -> Result<(), LiveError> {
    let simulated = [
        ("fallback_window", "difference", "smaller", settings.fallback_window != FallbackWindow::Smaller),
        ("history_step", "ack", "round_trip", settings.history_step != HistoryStep::RoundTrip),
        ("normal_only_losses", "base", "trend", settings.normal_only_losses != NormalOnlyLosses::Trend),
    ];
    let Some((key, value, usual, _)) = simulated.into_iter().find(|&(.., differs)| differs) else { return Ok(()) };
    Err(LiveError::Unsupported {
        field: format!("acns.{key}"),
        value: value.to_owned(),
        reason: "the eBPF program has no such switch".to_owned(),
        allowed: format!("\"{usual}\", or a simulated run"),
    })
}

/// Opens the object and sets its constants; `names` are the names under which sockets find [`BASES`].
///
/// # Errors
/// As [`trend`] and [`switches`].
pub(super) fn open(settings: &AcnsConfig, names: &[String; 2]) -> Result<Opened, LiveError> {
    trend(settings)?;
    switches(settings)?;
    let mut opened = Opened::new("acns", OBJECT)?;
    let scope = match settings.command_scope {
        CommandScope::Window => 0,
        CommandScope::Ack => 1,
    };
    opened.set_number("param_command_scope", scope)?;
    opened.set_number("param_obey", u64::from(settings.obey))?;
    opened.set_number("param_loss_fallback_threshold", millionths(settings.loss_fallback_threshold))?;
    opened.set_number("param_loss_decrease_threshold", millionths(settings.loss_decrease_threshold))?;
    opened.set_number("param_trend_count", u64::from(settings.trend_count))?;
    opened.set_bytes("acns_metrics", &metrics(settings).concat())?;
    let mut known = [0; 32];
    for (place, (name, (_, ops))) in known.chunks_exact_mut(16).zip(names.iter().zip(BASES)) {
        opened.set_registered_name(ops, name)?;
        // The name leaves room for the zero at its end; a longer one was refused above.
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
    opened.set_bytes("acns_names", &known)?;
    Ok(opened)
}

/// Converts a threshold to millionths. Weights lie between 1 and 3, so all thresholds above 4 are equivalent.
fn millionths(threshold: f64) -> u64 {
    (threshold.min(4.0) * 1e6).round() as u64
}

/// Returns `exp(-i / sigma)` in units of 2^-30; only those up to the count are used. The newest has 1, so the divisor
/// is not zero however small sigma is.
fn metrics(settings: &AcnsConfig) -> [[u8; 4]; METRICS] {
    let metric = |i: usize| (libm::exp(-(i as f64) / settings.trend_sigma) * f64::from(1 << 30)).round() as u32;
    std::array::from_fn(|i| metric(i).to_ne_bytes())
}
