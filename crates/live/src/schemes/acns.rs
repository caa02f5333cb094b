//! ACNS: the object's constants, and its counters.

use super::{kernel_control, u32_at, u64_at};
use crate::LiveError;
use crate::bpf::Opened;
use narrows_scenario::{Acns, AcnsScope, Flow};

/// The object that clang compiled from bpf/acns.bpf.c.
const OBJECT: &[u8] = include_bytes!("../../bpf/objects/acns.bpf.o");

/// The map of connections.
pub(super) const FLOWS: &str = "acns_flows";

/// Congestion controls that ACNS runs over, each with the variable of ACNS's own control over it, in the order of
/// `acns_names`.
pub(super) const BASES: [(&str, &str); 2] = [("cubic", "acns_cubic"), ("reno", "acns_reno")];

/// `ACNS_TREND` of bpf/acns_rules.h: the number of metrics that the program has room for; one fewer is usable.
const METRICS: usize = 64;

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AcnsCounters {
    /// Segments sent that asked for a command.
    pub asked: u64,
    /// Advice received as a sender: normal, freeze, fallback.
    pub received: [u64; 3],
    /// Segments received as a receiver that carried the command to freeze.
    pub told_freeze: u64,
    /// Segments received as a receiver that carried the command to fall back.
    pub told_fallback: u64,
    /// ACKs at which a freeze or fallback withheld growth.
    pub held: u64,
    /// Times that the window fell back to its latest smaller value.
    pub fallbacks: u64,
    /// Losses by the trend's verdict: channel error, coming congestion, congestion.
    pub losses: [u64; 3],
    /// Advice that was lost because it arrived faster than the sender processed it.
    pub missed: u64,
    /// The command in force: 1 normal, 2 freeze, 3 fallback; 0 before the first and after a timeout.
    pub ruling: u32,
}

impl AcnsCounters {
    /// Reads `struct acns_flow`, whose layout bpf/acns_rules.h asserts.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let three = |at: usize| Some([u64_at(value, at)?, u64_at(value, at + 8)?, u64_at(value, at + 16)?]);
        Some(Self {
            told_freeze: u64::from(u32_at(value, 8)?),
            told_fallback: u64::from(u32_at(value, 12)?),
            received: three(80)?,
            asked: u64::from(u32_at(value, 128)?),
            held: u64_at(value, 160)?,
            fallbacks: u64_at(value, 168)?,
            losses: three(176)?,
            missed: u64_at(value, 200)?,
            ruling: u32_at(value, 208)?,
        })
    }
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
pub(super) fn trend(settings: &Acns) -> Result<(), LiveError> {
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

/// Opens the object and sets its constants; `names` are the names under which sockets find [`BASES`].
///
/// # Errors
/// As [`trend`].
pub(super) fn open(settings: &Acns, names: &[String; 2]) -> Result<Opened, LiveError> {
    trend(settings)?;
    let mut opened = Opened::new("acns", OBJECT)?;
    let scope = match settings.command_scope {
        AcnsScope::Window => 0,
        AcnsScope::Ack => 1,
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
fn metrics(settings: &Acns) -> [[u8; 4]; METRICS] {
    let metric = |i: usize| (libm::exp(-(i as f64) / settings.trend_sigma) * f64::from(1 << 30)).round() as u32;
    std::array::from_fn(|i| metric(i).to_ne_bytes())
}
