//! ACNS: the object's constants, and its counters.

use super::{Adapter, Attachment, Ends, Part, Site, kernel_control, u64_at};
use crate::LiveError;
use crate::bpf::{Loaded, Opened, program, unique_name};
use crate::fit::params;
use crate::netlink::Netlink;
use narrows_samples::FLOW_COUNTERS;
use narrows_scenario::{Flow, Tcp};
use narrows_scheme::acns::{AcnsConfig, CommandScope, FallbackWindow, HistoryStep, Ipv6Encoding, NormalOnlyLosses};
use narrows_settings::scheme::Values;
use std::fmt;

/// The object with the packet programs, and with the congestion controls over bases that have no object of their own.
const OBJECT: &[u8] = include_bytes!("../../bpf/objects/acns.bpf.o");

/// A congestion control that ACNS runs over.
pub(super) struct Base {
    /// Its name, in the kernel or in [`programs`](crate::bpf::programs).
    pub(super) name: &'static str,
    /// The variable of ACNS's own control over it.
    ops: &'static str,
    /// The object of that variable, if it is not [`OBJECT`].
    object: Option<&'static [u8]>,
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The base of `bpf/acns_NAME.bpf.c`.
macro_rules! base {
    ($name:literal) => {
        Base {
            name: $name,
            ops: concat!("acns_", $name),
            object: Some(include_bytes!(concat!("../../bpf/objects/acns_", $name, ".bpf.o"))),
        }
    };
}

/// All bases: of the kernel's controls those whose functions eBPF programs may call, and our eBPF forms.
pub(super) static BASES: [Base; 16] = [
    Base { name: "cubic", ops: "acns_cubic", object: None },
    Base { name: "reno", ops: "acns_reno", object: None },
    base!("bbr"),
    base!("agile_sd"),
    base!("bic"),
    base!("compound"),
    base!("highspeed"),
    base!("htcp"),
    base!("hybla"),
    base!("illinois"),
    base!("lp"),
    base!("scalable"),
    base!("vegas"),
    base!("veno"),
    base!("westwood"),
    base!("yeah"),
];

/// Length of the hop-by-hop options header that carries CMI in IPv6, in bytes.
const HOP_BY_HOP: u16 = 8;

/// `ACNS_NAMES` of bpf/acns_rules.h: how many congestion controls over bases hosts have room for at once.
const NAMES: usize = 8;

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
        let all = part.flows.iter().map(|(_, flow)| refusals.take(base(flow)).is_some()).collect::<Vec<_>>();
        if all.into_iter().all(|known| known) {
            refusals.take(room(&part.flows));
        }
    },
    attach,
    brings_control: |_| true,
    ipv6: Some(|settings| {
        let option = config(settings).is_ok_and(|config| config.ipv6 == Ipv6Encoding::Extension);
        if option { HOP_BY_HOP } else { 0 }
    }),
    counters,
};

/// Reads the commands that a sender received (normal, freeze, fallback) from `struct acns_flow`, whose layout
/// bpf/acns_rules.h asserts.
fn counters(value: &[u8]) -> Option<[u64; FLOW_COUNTERS]> {
    Some([u64_at(value, 80)?, u64_at(value, 88)?, u64_at(value, 96)?])
}

/// A base with its parameters, and the flows that run over it.
pub(super) struct Variant<'a> {
    base: &'static Base,
    tcp: &'a Tcp,
    /// Name under which sockets find ACNS over it.
    name: String,
    flows: Vec<usize>,
}

/// Returns the different bases of these flows.
///
/// # Errors
/// As [`base`].
pub(super) fn variants<'a>(flows: &[(usize, &'a Flow)]) -> Result<Vec<Variant<'a>>, LiveError> {
    let mut variants: Vec<Variant<'a>> = Vec::new();
    for &(index, flow) in flows {
        let (base, Some(tcp)) = (base(flow)?, flow.tcp()) else { continue };
        // The kernel's own have no parameters.
        let same = |one: &&mut Variant<'_>| {
            one.base.name == base.name && (program(base.name).is_err() || one.tcp.cc_params == tcp.cc_params)
        };
        match variants.iter_mut().find(same) {
            Some(one) => one.flows.push(index),
            None => variants.push(Variant { base, tcp, name: unique_name(base.ops), flows: vec![index] }),
        }
    }
    Ok(variants)
}

/// Rejects more different bases than hosts have room for.
///
/// # Errors
/// [`LiveError::Unsupported`].
pub(super) fn room(flows: &[(usize, &Flow)]) -> Result<(), LiveError> {
    let count = variants(flows)?.len();
    if count <= NAMES {
        return Ok(());
    }
    Err(LiveError::Unsupported {
        field: "flows".to_owned(),
        value: format!("{count} congestion controls, or parameters of them"),
        reason: "on Linux ACNS runs over fewer at once".to_owned(),
        allowed: format!("up to {NAMES}, or a simulated run"),
    })
}

fn attach(part: &Part<'_>, site: &Site<'_>) -> Result<Attachment, LiveError> {
    let settings = config(part.settings)?;
    room(&part.flows)?;
    let variants = variants(&part.flows)?;
    let named: Vec<_> = variants.iter().map(|one| (one.base, one.name.as_str())).collect();
    let mut loaded = open(&settings, &named)?.load()?;
    let (mut links, mut objects, mut controls) = (Vec::new(), Vec::new(), Vec::new());
    for one in &variants {
        links.push(match one.base.object {
            None => loaded.attach_struct_ops(one.base.ops)?,
            Some(object) => {
                let mut own = over(&settings, one, object, &loaded)?.load()?;
                let link = own.attach_struct_ops(one.base.ops)?;
                objects.push(own);
                link
            }
        });
        controls.extend(one.flows.iter().map(|&flow| (flow, one.name.clone())));
    }
    let packets = site.on_devices(&loaded, ADAPTER.name, &part.flows)?;
    for host in site.at(&part.flows) {
        // Each segment has marks of its own, so TCP must not pass several down as one.
        host.netns.run(|| Netlink::open()?.segment_in_tcp(host.tun.index()))??;
    }
    let ends = Ends { _packets: packets, _controls: links, _objects: objects, loaded };
    Ok(Attachment { ends, controls, kernels_own: Vec::new() })
}

/// Opens the object of a base of its own, which shares the connections of `packets`.
///
/// # Errors
/// As [`trend`] and [`switches`]; as [`Program::open_in`](crate::bpf::Program) for the base's parameters.
pub(super) fn over(
    settings: &AcnsConfig,
    one: &Variant<'_>,
    object: &[u8],
    packets: &Loaded,
) -> Result<Opened, LiveError> {
    let mut opened = match program(one.base.name) {
        Ok(program) => program.open_in(one.base.ops, object, &params(one.tcp))?,
        // The kernel's.
        Err(_) => Opened::new(one.base.ops, object)?,
    };
    constants(&mut opened, settings)?;
    opened.leave_out_control(one.base.name);
    opened.set_registered_name(one.base.ops, &one.name)?;
    opened.share_map(ADAPTER.flows, packets)?;
    Ok(opened)
}

/// Reads the scenario's settings.
///
/// # Errors
/// [`LiveError::Failed`] for settings that the scenario's own check excludes.
pub(super) fn config(settings: &Values) -> Result<AcnsConfig, LiveError> {
    AcnsConfig::from_values(settings).map_err(|error| LiveError::failed("run ACNS", error))
}

/// Returns the base that is a flow's congestion control.
///
/// # Errors
/// [`LiveError::Unsupported`] for any other.
fn base(flow: &Flow) -> Result<&'static Base, LiveError> {
    known(flow, kernel_control(flow)?)
}

/// Returns the base of this name, for a flow.
///
/// # Errors
/// [`LiveError::Unsupported`] for any other.
pub(super) fn known(flow: &Flow, name: String) -> Result<&'static Base, LiveError> {
    BASES.iter().find(|base| base.name == name).ok_or_else(|| LiveError::Unsupported {
        field: format!("flows.{}.tcp.cc", flow.name),
        value: name,
        reason: "ACNS has no eBPF program over this congestion control".to_owned(),
        allowed: format!("{}, or a simulated run", BASES.each_ref().map(|base| base.name).join(", ")),
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

/// Opens the object of the packet programs and sets its constants; `named` are the bases in use, with the names under
/// which sockets find ACNS over them.
///
/// # Errors
/// As [`trend`] and [`switches`].
pub(super) fn open(settings: &AcnsConfig, named: &[(&Base, &str)]) -> Result<Opened, LiveError> {
    let mut opened = Opened::new("acns", OBJECT)?;
    constants(&mut opened, settings)?;
    let scope = match settings.command_scope {
        CommandScope::Window => 0,
        CommandScope::Ack => 1,
    };
    opened.set_number("param_command_scope", scope)?;
    opened.set_number("param_ipv6", u64::from(settings.ipv6 == Ipv6Encoding::FlowLabel))?;
    let mut known = [0; 16 * NAMES];
    for (place, (base, name)) in known.chunks_exact_mut(16).zip(named) {
        if base.object.is_none() {
            opened.set_registered_name(base.ops, name)?;
        }
        // The name leaves room for the zero at its end; a longer one was refused above.
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
    opened.set_bytes("acns_names", &known)?;
    Ok(opened)
}

/// Sets what a sender goes by.
///
/// # Errors
/// As [`trend`] and [`switches`].
fn constants(opened: &mut Opened, settings: &AcnsConfig) -> Result<(), LiveError> {
    trend(settings)?;
    switches(settings)?;
    opened.set_number("param_obey", u64::from(settings.obey))?;
    opened.set_number("param_loss_fallback_threshold", millionths(settings.loss_fallback_threshold))?;
    opened.set_number("param_loss_decrease_threshold", millionths(settings.loss_decrease_threshold))?;
    opened.set_number("param_trend_count", u64::from(settings.trend_count))?;
    opened.set_bytes("acns_metrics", &metrics(settings).concat())
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
