//! Which scenario settings the kernel can honour.
//!
//! A setting is *honoured* if the kernel takes it, by a socket option, a route or a sysctl of the namespace. A setting
//! that the kernel does not take is the kernel's *own* if the scenario leaves it to its stack's defaults, and *refused*
//! if the scenario sets another value: a run with other settings than requested answers another question.

use crate::LiveError;
use crate::controls;
use crate::refusals::Refusals;
use narrows_cc::{self as cc, Params};
use narrows_fabric::catalogue;
use narrows_scenario::{
    Choices, DelayedAck, Flow, IdleRestart, InitialWindow, NodeKind, ParamValue, RecoveryKind, Scenario, Setting,
    Stack, Tcp, Word, defaults,
};
use std::sync::Arc;

/// The congestion control that a flow gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The kernel's own, by its name there.
    Kernel(String),
    /// One of our eBPF programs ([`crate::bpf::programs`]), by its name in the registry.
    Ours(&'static str),
}

/// A setting for which the kernel's own value replaces that of the scenario's stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelsOwn {
    /// The setting, as scenario files name it.
    pub setting: String,
    /// The value in the scenario's stack.
    pub scenario: String,
    /// The value in Linux.
    pub kernel: String,
}

/// Checks that a scenario can run live, apart from what this machine supports. Returns the settings that are the
/// kernel's own, without repetition.
///
/// # Errors
/// [`LiveError::Unsupported`] for features without a live form: 802.11 channels, a host with more than one link, and
/// TCP settings that the kernel does not take. Several are reported as [`LiveError::Refused`].
pub fn check(scenario: &Scenario) -> Result<Vec<KernelsOwn>, LiveError> {
    let mut refusals = Refusals::default();
    network(scenario, &mut refusals);
    let mut own = Vec::new();
    let mut before: Option<&Arc<Tcp>> = None;
    for flow in &scenario.flows {
        let Some(tcp) = flow.tcp() else { continue };
        // Flows with equal settings share them.
        if before.is_some_and(|before| Arc::ptr_eq(before, tcp)) {
            continue;
        }
        before = Some(tcp);
        let at = |setting: &str| format!("flows.{}.tcp.{setting}", flow.name);
        let mut defaults = Defaults::of(tcp)?;
        let mut settings = tcp.settings();
        let (recovery, others): (Vec<_>, Vec<_>) = settings.drain(..).partition(|setting| setting.name == RECOVERY);
        let mut compare = Compare { own: &mut own, refusals: &mut refusals, at: &at };
        if !has_recovery(tcp) {
            compare.all(recovery, &defaults.stack.settings(), &defaults.linux.settings());
        }
        bounds(tcp, &mut compare);
        starts(tcp, &mut compare);
        if tcp.recovery != defaults.stack.recovery {
            // Settings that follow from the recovery do not count as requested.
            defaults.stack = stack_defaults(tcp, tcp.stack, Some(tcp.recovery))?;
        }
        let open = others.into_iter().filter(|setting| !setting.honoured && !honours(tcp, &setting.name, &defaults));
        compare.all(open, &defaults.stack.settings(), &defaults.linux.settings());
    }
    refusals.end()?;
    own.sort();
    own.dedup();
    Ok(stacks(scenario).chain(own).collect())
}

/// Returns the stacks of a scenario's flows that are not Linux's. The settings that follow from them come after.
fn stacks(scenario: &Scenario) -> impl Iterator<Item = KernelsOwn> + '_ {
    let used = |stack: &Stack| scenario.flows.iter().any(|flow| flow.tcp().is_some_and(|tcp| tcp.stack == *stack));
    let others = [Stack::Rfc, Stack::Ns2].into_iter().filter(used);
    others.map(|stack| KernelsOwn {
        setting: "stack".to_owned(),
        scenario: stack.word().to_owned(),
        kernel: Stack::Linux.word().to_owned(),
    })
}

/// Returns the congestion control of a flow: the kernel's, or our eBPF program if the kernel has none of that name.
///
/// # Errors
/// [`LiveError::Unsupported`] if neither exists, the kernel's would have other parameters, or the flow is not TCP;
/// [`LiveError::Unavailable`] if Linux has it but this kernel does not.
pub fn control(flow: &Flow) -> Result<Control, LiveError> {
    let field = || format!("flows.{}.tcp.cc", flow.name);
    let Some(tcp) = flow.tcp() else {
        return Err(LiveError::Unsupported {
            field: field(),
            value: "none".to_owned(),
            reason: "UDP has no congestion control".to_owned(),
            allowed: "a TCP flow".to_owned(),
        });
    };
    let name = tcp.cc.as_str();
    let available = controls::available();
    // Where a kernel has the algorithm itself, that is what its users run.
    let there = module(name).is_some_and(|module| available.iter().any(|item| item == module));
    if let Some(program) = crate::bpf::programs().iter().find(|program| program.name == name && !there) {
        return Ok(Control::Ours(program.name));
    }
    let ours = crate::bpf::programs().iter().map(|program| program.name.to_owned());
    let allowed = || available.iter().cloned().chain(ours.clone()).collect::<Vec<_>>().join(", ");
    let Some(module) = module(name) else {
        return Err(LiveError::Unsupported {
            field: field(),
            value: name.to_owned(),
            reason: "neither Linux nor Narrows' eBPF programs have this congestion control".to_owned(),
            allowed: allowed(),
        });
    };
    if !available.iter().any(|item| item == module) {
        return Err(LiveError::Unavailable {
            what: format!("congestion control {name}"),
            why: format!("this kernel has {} alone", available.join(", ")),
            remedy: format!("load its module (modprobe tcp_{module}), or choose one of {}", allowed()),
        });
    }
    let defaults = Defaults::of(tcp)?;
    let mut refusals = Refusals::default();
    for (index, (key, value)) in tcp.cc_params.iter().enumerate() {
        let usual = |tcp: &Tcp| tcp.cc_params.get(index).is_some_and(|(_, usual)| usual == value);
        // [`starts`] has judged the slow start already.
        if !usual(&defaults.stack) && !usual(&defaults.linux) && key != START {
            refusals.add(LiveError::Unsupported {
                field: format!("flows.{}.tcp.cc_params.{key}", flow.name),
                value: shown(value),
                reason: format!("the kernel's {module} has no parameters per connection"),
                allowed: "its default, or a simulated run".to_owned(),
            });
        }
    }
    refusals.end()?;
    Ok(Control::Kernel(module.to_owned()))
}

/// Returns the parameters of a flow's congestion control.
pub(crate) fn params(tcp: &Tcp) -> Params {
    let value = |value: &ParamValue| match value {
        ParamValue::Number(number) => cc::ParamValue::Number(*number),
        ParamValue::Choice(word) => cc::ParamValue::Choice(word.clone()),
        ParamValue::Switch(on) => cc::ParamValue::Switch(*on),
    };
    Params::new(tcp.cc_params.iter().map(|(name, given)| (name.clone(), value(given))).collect())
}

/// Returns Linux's module of a congestion control; `None` if no Linux has one.
fn module(name: &str) -> Option<&str> {
    Some(match name {
        // These use Reno's window; the connection itself detects losses.
        "newreno" | "sack" => "reno",
        "bic" | "cdg" | "cubic" | "dctcp" | "highspeed" | "htcp" | "hybla" | "illinois" | "lp" | "nv" | "reno"
        | "scalable" | "vegas" | "veno" | "westwood" | "yeah" | "bbr" => name,
        _ => return None,
    })
}

fn shown(value: &ParamValue) -> String {
    match value {
        ParamValue::Number(number) => number.to_string(),
        ParamValue::Choice(word) => word.clone(),
        ParamValue::Switch(on) => on.to_string(),
    }
}

fn network(scenario: &Scenario, refusals: &mut Refusals) {
    for wifi in &scenario.wifi {
        refusals.add(LiveError::Unsupported {
            field: format!("wifi.{}", wifi.name),
            value: "an 802.11 channel".to_owned(),
            reason: "live runs have wired links only".to_owned(),
            allowed: "links, or a simulated run".to_owned(),
        });
    }
    for (index, node) in scenario.nodes.iter().enumerate() {
        let links = scenario.links.iter().filter(|link| link.a == index || link.b == index).count();
        if node.kind == NodeKind::Host && links > 1 {
            refusals.add(LiveError::Unsupported {
                field: format!("nodes.{}", node.name),
                value: format!("{links} links"),
                reason: "a live host has one device".to_owned(),
                allowed: "one link per host; let a router have the others".to_owned(),
            });
        }
    }
}

/// A flow's default settings: those it would have if the scenario gave only its stack and congestion control, and the
/// same with Linux's stack.
struct Defaults {
    stack: Tcp,
    linux: Tcp,
}

impl Defaults {
    fn of(tcp: &Tcp) -> Result<Self, LiveError> {
        Ok(Self { stack: stack_defaults(tcp, tcp.stack, None)?, linux: stack_defaults(tcp, Stack::Linux, None)? })
    }
}

/// Returns the settings that follow from a stack, from a flow's congestion control, ECN and SACK, and from `recovery`
/// if it is given. ECN and SACK are the flow's because the kernel takes them and other settings depend on them.
fn stack_defaults(tcp: &Tcp, stack: Stack, recovery: Option<RecoveryKind>) -> Result<Tcp, LiveError> {
    let (ecn, accurate_ecn) = (tcp.ecn, tcp.accurate_ecn);
    let choices = Choices { stack, cc: &tcp.cc, ecn, accurate_ecn, sack: tcp.sack, recovery };
    defaults(&choices, &catalogue()).map_err(|problems| LiveError::failed("look up a stack's defaults", problems))
}

/// The setting whose own default decides what others default to.
const RECOVERY: &str = "recovery";

/// Whether Linux has a flow's recovery. It has NewReno's without SACK, so a flow that requests it runs without SACK.
fn has_recovery(tcp: &Tcp) -> bool {
    tcp.recovery == RecoveryKind::NewReno
        || (matches!(tcp.recovery, RecoveryKind::Sack | RecoveryKind::Rack) && tcp.sack)
}

/// Whether the kernel takes this flow's value of a setting for which it usually has its own, or the setting has no
/// effect beside the flow's others.
///
/// Only settings for which that depends on values are named here. The rows in `crates/scenario/src/schema/tcp` say
/// it of the others. `max_cwnd` is not among them: a route can lock cwnd (RTAX_CWND), but a connection obeys it only if
/// the kernel keeps metrics of its peer, which 6.18 does not.
fn honours(tcp: &Tcp, name: &str, defaults: &Defaults) -> bool {
    match name {
        "delayed_ack" | "quick_ack" => tcp.delayed_ack == DelayedAck::Off,
        "timestamp_offsets" => !tcp.timestamps,
        // Judged by [`starts`]; the threshold has no meaning without `limited`.
        START | "max_ssthresh" => true,
        _ if name.starts_with(RESUME) || name.starts_with(MISBEHAVIOR) => true,
        // What every kernel does.
        "gso" => tcp.gso,
        // Linux has F-RTO (`tcp_frto`), and uses it unless it is told otherwise.
        "frto" => tcp.frto,
        // The same of probes (`tcp_early_retrans`); other recoveries have none.
        "tail_probes" => tcp.tail_probes || tcp.recovery != RecoveryKind::Rack,
        "idle_restart" => tcp.idle_restart != IdleRestart::Rfc5681,
        // Values other than the stack's are set ([`rto_bounds_ms`]).
        "rto.min" => tcp.rto.min != defaults.stack.rto.min,
        "rto.max" => tcp.rto.max != defaults.stack.rto.max,
        _ => false,
    }
}

/// The setting of a slow start, and CUBIC's parameter of the same name.
const START: &str = "slow_start";
/// The setting of careful resume.
const RESUME: &str = "careful_resume";

/// The setting of a receiver that breaks the rules.
const MISBEHAVIOR: &str = "misbehavior";

/// Rejects slow starts that the kernel does not have: it has HyStart in CUBIC, always, and the standard one in others.
fn starts(tcp: &Tcp, compare: &mut Compare<'_>) {
    let values = tcp.settings();
    let word = values.iter().find(|setting| setting.name == START).map_or("own", |setting| &*setting.value);
    let cubic = tcp.cc == "cubic";
    let reason = match word {
        "own" => None,
        "hystart" if cubic => None,
        "standard" if !cubic => None,
        "standard" => Some("Linux switches CUBIC's HyStart for the whole system (tcp_cubic's parameter hystart)"),
        "hystart" => Some("Linux has HyStart in CUBIC alone"),
        _ => Some("Linux has no such slow start"),
    };
    if let Some(reason) = reason {
        compare.refusals.add(LiveError::Unsupported {
            field: (compare.at)(START),
            value: word.to_owned(),
            reason: reason.to_owned(),
            allowed: format!("own or {}, or a simulated run", if cubic { "hystart" } else { "standard" }),
        });
    }
    if tcp.careful_resume.is_some() {
        compare.refusals.add(LiveError::Unsupported {
            field: (compare.at)(RESUME),
            value: "a saved window".to_owned(),
            reason: "Linux keeps thresholds of earlier connections, not windows (tcp_metrics)".to_owned(),
            allowed: "false, or a simulated run".to_owned(),
        });
    }
}

/// Rejects values that the kernel does not take, of settings that it does take.
fn bounds(tcp: &Tcp, compare: &mut Compare<'_>) {
    /// `MAX_TCP_WINDOW` of `include/net/tcp.h`, up to which the kernel lets a socket set its MSS.
    const MAX_MSS: u64 = 32_767;
    /// `SOCK_MIN_RCVBUF / 2` of `include/net/sock.h`, with a margin for kernels that count more overhead.
    const MIN_BUFFER: u64 = 4096;
    if tcp.accurate_ecn {
        compare.refusals.add(LiveError::Unsupported {
            field: (compare.at)("ecn"),
            value: "accurate".to_owned(),
            reason: "Linux has AccECN from 6.18 on, in parts and for a whole host (tcp_ecn = 3)".to_owned(),
            allowed: "true or false, or a simulated run".to_owned(),
        });
    }
    if tcp.misbehavior.is_some() {
        compare.refusals.add(LiveError::Unsupported {
            field: (compare.at)(MISBEHAVIOR),
            value: "a receiver that breaks the rules".to_owned(),
            reason: "the kernel's TCP acknowledges what has arrived, and nothing else".to_owned(),
            allowed: "false, or a simulated run".to_owned(),
        });
    }
    let mut refuse = |setting, value: u64, allowed: &str| {
        compare.refusals.add(LiveError::Unsupported {
            field: (compare.at)(setting),
            value: format!("{value} B"),
            reason: "Linux does not accept this size".to_owned(),
            allowed: allowed.to_owned(),
        });
    };
    if u64::from(tcp.mss) > MAX_MSS {
        refuse("mss", tcp.mss.into(), "at most 32767 B");
    }
    if tcp.recv_buffer.as_u64() < MIN_BUFFER {
        refuse("recv_buffer", tcp.recv_buffer.as_u64(), "at least 4096 B");
    }
}

/// The comparison of a flow's settings with those that Linux has.
struct Compare<'a> {
    own: &'a mut Vec<KernelsOwn>,
    refusals: &'a mut Refusals,
    at: &'a dyn Fn(&str) -> String,
}

impl Compare<'_> {
    /// Compares settings that the kernel does not take with Linux's: rejects those that are not the stack's defaults
    /// either, and notes the others as the kernel's own.
    fn all(&mut self, settings: impl IntoIterator<Item = Setting>, stack: &[Setting], linux: &[Setting]) {
        let of = |list: &[Setting], name: &str| {
            list.iter().find(|setting| setting.name == name).map_or_else(|| "none".to_owned(), |it| it.value.clone())
        };
        for Setting { name: setting, value: scenario, .. } in settings {
            let kernel = of(linux, &setting);
            if scenario == kernel {
                continue;
            }
            if scenario != of(stack, &setting) {
                self.refusals.add(LiveError::Unsupported {
                    field: (self.at)(&setting),
                    value: scenario,
                    reason: "Linux has no such setting for a connection".to_owned(),
                    allowed: format!("{kernel}, which is Linux's, or leave it out"),
                });
                continue;
            }
            self.own.push(KernelsOwn { setting, scenario, kernel });
        }
    }
}

/// Returns the segments of the initial window, if it is not Linux's ten.
pub(crate) fn initial_segments(tcp: &Tcp) -> Option<u32> {
    /// `TCP_INIT_CWND` of `include/net/tcp.h`.
    const LINUX: u32 = 10;
    let mss = u64::from(tcp.mss);
    let segments = match tcp.initial_window {
        InitialWindow::Segments(segments) => segments.max(1),
        // min(10 MSS, max(2 MSS, 14600)) in whole segments (RFC 6928, section 2).
        InitialWindow::Rfc6928 => (14_600 / mss).clamp(2, 10) as u32,
        // RFC 5681, section 3.1.
        InitialWindow::Rfc5681 if mss <= 1095 => 4,
        InitialWindow::Rfc5681 if mss <= 2190 => 3,
        InitialWindow::Rfc5681 => 2,
    };
    (segments != LINUX).then_some(segments)
}

/// Returns the bounds of the retransmission timeout in milliseconds, `[min, max]`, where the scenario itself sets
/// others than its stack's and Linux's.
///
/// # Errors
/// [`LiveError::Failed`] if the defaults of its stack cannot be found, which a test excludes.
pub(crate) fn rto_bounds_ms(tcp: &Tcp) -> Result<[Option<u64>; 2], LiveError> {
    let Defaults { stack, linux } = Defaults::of(tcp)?;
    let bounds = [(tcp.rto.min, stack.rto.min, linux.rto.min), (tcp.rto.max, stack.rto.max, linux.rto.max)];
    Ok(bounds.map(|(asked, stack, linux)| (asked != stack && asked != linux).then(|| asked.as_millis())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_scenario::parse;

    fn scenario(tcp: &str) -> Scenario {
        let text = format!(
            "[topology]\nkind = \"dumbbell\"\nbottleneck = {{ rate = \"10 Mb/s\", delay = \"20 ms\" }}\n\
             access = {{ rate = \"1 Gb/s\", delay = \"1 ms\" }}\n[[flows]]\nname = \"f\"\nfrom = \"s1\"\nto = \"d1\"\n\
             [tcp]\n{tcp}\n"
        );
        parse(&text, "test.toml", &[], &catalogue()).unwrap()
    }

    fn refused(tcp: &str) -> String {
        check(&scenario(tcp)).unwrap_err().to_string()
    }

    #[test]
    fn accurate_ecn_is_refused() {
        let said = refused("stack = \"linux\"\necn = \"accurate\"");
        assert!(said.contains("ecn: accurate") && said.contains("true or false, or a simulated run"), "{said}");
    }

    #[test]
    fn linux_s_own_stack_leaves_nothing_to_tell() {
        for cc in ["cubic", "reno", "bbr", "agile_sd", "dctcp\"\necn = true #"] {
            assert_eq!(check(&scenario(&format!("stack = \"linux\"\ncc = \"{cc}\""))).unwrap(), [], "{cc}");
        }
    }

    #[test]
    fn another_stack_s_habits_are_the_kernel_s_own_and_told() {
        let own = check(&scenario("stack = \"rfc\"\ncc = \"reno\"")).unwrap();
        for (setting, scenario, kernel) in [
            ("rto.style", "rfc6298", "linux"),
            ("rto.min", "1 s", "200 ms"),
            ("tso", "false", "true"),
            ("reduction", "immediate", "prr_linux"),
            ("delayed_ack.timeout", "200 ms", "40 ms"),
        ] {
            let item = own.iter().find(|item| item.setting == setting).unwrap();
            assert_eq!((item.scenario.as_str(), item.kernel.as_str()), (scenario, kernel));
        }
        let own = check(&scenario("stack = \"ns2\"\ncc = \"reno\"")).unwrap();
        let stack = KernelsOwn { setting: "stack".to_owned(), scenario: "ns2".to_owned(), kernel: "linux".to_owned() };
        assert_eq!(own[0], stack, "the reason of the rest comes first");
        assert!(own.iter().any(|item| item.setting == "recovery"));
    }

    #[test]
    fn what_is_asked_for_and_not_to_be_had_is_refused() {
        assert_eq!(
            refused("stack = \"linux\"\nrecovery = \"tahoe\""),
            "flows.f.tcp.recovery: tahoe: Linux has no such setting for a connection; \
             allowed: rack, which is Linux's, or leave it out"
        );
        assert_eq!(
            refused("initial_ssthresh = \"20 kB\""),
            "flows.f.tcp.initial_ssthresh: 20 kB: Linux has no such setting for a connection; \
             allowed: unlimited, which is Linux's, or leave it out"
        );
        for line in
            ["initial_ssthresh = \"20 kB\"", "rate_limited = \"unlimited\"", "dupthresh = 5", "reduction = \"prr\""]
        {
            let key = line.split(' ').next().unwrap();
            let said = refused(line);
            assert!(said.starts_with(&format!("flows.f.tcp.{key}: ")), "{line}: {said}");
        }
        assert!(check(&scenario("stack = \"rfc\"\nreduce_once = true")).is_ok(), "asked for as Linux has it");
        assert!(
            refused("mss = \"40 kB\"")
                .contains("f.tcp.mss: 40000 B: Linux does not accept this size; allowed: at most")
        );
    }

    #[test]
    fn what_a_tun_device_does_not_do_is_refused() {
        for (line, said) in [("tsq = true", "tsq: true"), ("gro = \"50 us\"", "gro: 50 us")] {
            let refused = refused(&format!("stack = \"linux\"\n{line}"));
            assert!(refused.starts_with(&format!("flows.f.tcp.{said}: Linux has no such setting")), "{refused}");
        }
    }

    #[test]
    fn the_kernel_has_hystart_in_cubic_alone() {
        let linux = |lines: &str| format!("stack = \"linux\"\n{lines}");
        for lines in [
            "cc = \"cubic\"\nslow_start = \"own\"",
            "cc = \"cubic\"\nslow_start = \"hystart\"",
            "cc = \"reno\"\nslow_start = \"standard\"\nmax_ssthresh = 20",
        ] {
            assert_eq!(check(&scenario(&linux(lines))).unwrap(), [], "{lines}");
        }
        for (lines, said) in [
            (
                "cc = \"cubic\"\nslow_start = \"standard\"",
                "standard: Linux switches CUBIC's HyStart for the whole system",
            ),
            ("cc = \"cubic\"\nslow_start = \"hystart++\"", "hystart++: Linux has no such slow start"),
            ("cc = \"reno\"\nslow_start = \"hystart\"", "hystart: Linux has HyStart in CUBIC alone"),
            ("cc = \"reno\"\nslow_start = \"search\"", "search: Linux has no such slow start"),
            ("cc = \"reno\"\nslow_start = \"limited\"", "limited: Linux has no such slow start"),
            ("careful_resume = { saved_cwnd = \"1 MB\", saved_rtt = \"9 ms\" }", "Linux keeps thresholds"),
            ("misbehavior = { ack_division = 3 }", "misbehavior: a receiver that breaks the rules: the kernel's TCP"),
            ("rate_limited = \"max_flight\"", "max_flight: Linux has no such setting for a connection"),
            ("rate_limited = \"rfc7661\"", "allowed: cwnd_limited, which is Linux's"),
        ] {
            let refusal = refused(&linux(lines));
            assert!(refusal.contains(said), "{lines}: {refusal}");
        }
    }

    #[test]
    fn a_setting_is_compared_that_no_code_here_names() {
        let toy = |value: &str| Setting { name: "toy_wait".to_owned(), value: value.to_owned(), honoured: false };
        let compare = |flow: &str, stack: &str, linux: &str| {
            let (mut own, mut refusals) = (Vec::new(), Refusals::default());
            let at = |setting: &str| format!("flows.f.tcp.{setting}");
            let mut compare = Compare { own: &mut own, refusals: &mut refusals, at: &at };
            compare.all([toy(flow)], &[toy(stack)], &[toy(linux)]);
            (own.len(), refusals.end().err().map(|error| error.to_string()))
        };
        assert_eq!(compare("true", "false", "true"), (0, None), "as Linux has it");
        assert_eq!(compare("false", "false", "true"), (1, None), "its stack's, which is not Linux's");
        let said = "flows.f.tcp.toy_wait: true: Linux has no such setting for a connection; \
                    allowed: false, which is Linux's, or leave it out";
        assert_eq!(compare("true", "false", "false"), (0, Some(said.to_owned())), "requested");
    }

    #[test]
    fn a_delay_is_refused_by_the_key_that_differs() {
        let said = refused("stack = \"linux\"\ndelayed_ack = { every = 3 }");
        assert!(said.starts_with("flows.f.tcp.delayed_ack.every: 3: Linux"), "{said}");
        assert!(said.ends_with("allowed: 2, which is Linux's, or leave it out"), "{said}");
    }

    #[test]
    fn what_the_kernel_takes_is_not_refused() {
        let text = "stack = \"linux\"\nmss = \"1000 B\"\nsack = false\ntimestamps = false\ninitial_window = 2\n\
                    recv_buffer = \"60 kB\"\ndelayed_ack = false\nidle_restart = false\n\
                    max_retries = 3\nnagle = true\nread_rate = \"1 Mb/s\"\n\
                    pacing = { slow_start = 200, avoidance = 120 }";
        assert_eq!(check(&scenario(text)).unwrap(), []);
    }

    #[test]
    fn hosts_of_two_links_and_channels_have_no_live_form() {
        let mut two = scenario("");
        let host = two.flows[0].from;
        let link = two.links.iter().find(|link| link.a == host || link.b == host).unwrap().clone();
        two.links.push(link);
        let said = check(&two).unwrap_err().to_string();
        assert!(said.starts_with("nodes.s1: 2 links: a live host has one device; allowed: one link"), "{said}");
    }

    #[test]
    fn congestion_controls_are_the_kernel_s_or_ours_or_refused_with_what_there_is() {
        let of = |tcp: &str| control(&scenario(tcp).flows[0]);
        assert_eq!(of("cc = \"reno\""), Ok(Control::Kernel("reno".to_owned())));
        assert_eq!(of("cc = \"newreno\""), Ok(Control::Kernel("reno".to_owned())));
        assert_eq!(of("cc = \"agile_sd\"\ncc_params = { lambda_max = 2 }"), Ok(Control::Ours("agile_sd")));
        let tahoe = of("cc = \"tahoe\"").unwrap_err();
        assert!(matches!(&tahoe, LiveError::Unsupported { allowed, .. } if allowed.contains("reno")), "{tahoe}");
        if controls::available().iter().any(|name| name == "cubic") {
            let said = of("cc = \"cubic\"\ncc_params = { beta = 0.5 }").unwrap_err().to_string();
            assert!(said.starts_with("flows.f.tcp.cc_params.beta: 0.5: the kernel's cubic has no"), "{said}");
            assert_eq!(of("stack = \"rfc\"\ncc = \"cubic\""), Ok(Control::Kernel("cubic".to_owned())));
        }
        // Without the kernel's own, the eBPF form of the same rules takes its place.
        let ours = !controls::available().iter().any(|name| name == "yeah");
        let expected = if ours { Control::Ours("yeah") } else { Control::Kernel("yeah".to_owned()) };
        assert_eq!(of("cc = \"yeah\""), Ok(expected));
        if !controls::available().iter().any(|name| name == "bbr") {
            let said = of("cc = \"bbr\"").unwrap_err().to_string();
            assert!(said.contains("load its module (modprobe tcp_bbr), or choose one of"), "{said}");
        }
    }

    #[test]
    fn first_windows_in_segments() {
        let of = |tcp: &str| initial_segments(scenario(tcp).flows[0].tcp().unwrap());
        assert_eq!(of(""), None);
        assert_eq!(of("initial_window = 2"), Some(2));
        assert_eq!(of("mss = \"8960 B\""), Some(2));
        assert_eq!(of("mss = \"4380 B\""), Some(3));
        assert_eq!(of("initial_window = \"rfc5681\""), Some(3));
    }

    #[test]
    fn timeouts_are_set_where_the_scenario_asks_for_them() {
        let of = |tcp: &str| rto_bounds_ms(scenario(tcp).flows[0].tcp().unwrap()).unwrap();
        assert_eq!(of("stack = \"rfc\""), [None, None]);
        assert_eq!(of("stack = \"linux\"\nrto = { min = \"300 ms\", max = \"9 s\" }"), [Some(300), Some(9000)]);
        assert_eq!(of("stack = \"rfc\"\nrto = { style = \"linux\", min = \"200 ms\" }"), [None, None], "Linux's own");
    }
}
