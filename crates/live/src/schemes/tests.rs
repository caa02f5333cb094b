//! The schemes between real hosts over the network of their scenario.

use super::*;
use crate::testing::{doubts, lacks_root, trusted};
use crate::{Clock, FlowRecord, Network, Traffic as Applications, carry};
use narrows_fabric::Seeds;
use narrows_samples::Samples;
use narrows_units::{Duration, Instant, Rate};
use std::sync::atomic::{AtomicBool, Ordering};

/// The results of a run.
struct Came {
    records: Vec<FlowRecord>,
    /// Packets that the bottleneck dropped.
    dropped: u64,
    schemes: Schemes,
    scenario: Scenario,
}

/// A dumbbell of 10 Mb/s with a round-trip time of 12 ms.
fn scenario(rest: &str) -> Scenario {
    // A key of the root stands before all tables.
    let (root, rest) = rest.strip_prefix(IPV6).map_or(("", rest), |rest| (IPV6, rest));
    let text = format!(
        "{root}duration = \"3 s\"\nsampling = \"10 ms\"\n[topology]\nkind = \"dumbbell\"\npairs = 2\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"5 ms\" }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"500 us\" }}\n{rest}\n"
    );
    narrows_scenario::parse(&text, "test.toml", &[], &narrows_fabric::catalogue()).unwrap()
}

/// Runs it; returns `None`, with the reason printed, if this machine cannot.
fn run(rest: &str) -> Option<Came> {
    run_by(rest, Hook::Newest)
}

/// Does the same, attaching packet programs by `hook`.
fn run_by(rest: &str, hook: Hook) -> Option<Came> {
    if lacks_root() {
        return None;
    }
    match trusted(|| {
        run_once(rest, hook).map_or_else(|why| (Err(why), Vec::new()), |(came, doubts)| (Ok(came), doubts))
    })? {
        Ok(came) => Some(came),
        Err(why) => {
            crate::testing::skip(why);
            None
        }
    }
}

/// Returns one run and its doubts, or why this machine cannot attach the programs.
fn run_once(rest: &str, hook: Hook) -> Result<(Came, Vec<String>), String> {
    let scenario = scenario(rest);
    let hosts = Hosts::new(&scenario).unwrap();
    let schemes = match Schemes::attach_by(&scenario, &hosts, hook) {
        Ok(schemes) => schemes,
        // A program that the verifier refuses is ours to mend, and no reason to skip.
        Err(LiveError::Unavailable { why, .. }) if !why.contains("the verifier: ") => return Err(why),
        Err(other) => panic!("{other}"),
    };
    let controls: Vec<String> = scenario
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| schemes.control(index).map_or_else(|| kernel_control(flow).unwrap(), str::to_owned))
        .collect();
    let seeds = Seeds::new(1, 0);
    let traffic = Applications::prepare(&scenario, &hosts, seeds, &controls).unwrap();
    let network = Network::new(&scenario, seeds).unwrap();
    let (clock, stop) = (Clock::starting_in(Duration::from_millis(20)), AtomicBool::new(false));
    let end = Instant::ZERO + scenario.duration;
    let ((network, lateness), records) = std::thread::scope(|threads| {
        let (stop, hosts) = (&stop, &hosts);
        let carrying = threads.spawn(move || {
            let ports: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
            carry(network, (&ports, &[]), clock, end, Rate::mbps(100), stop)
        });
        let records = traffic.start(clock).unwrap().join();
        stop.store(true, Ordering::Relaxed);
        (carrying.join().unwrap(), records.unwrap())
    });
    let mut samples = Samples::default();
    network.finish(&scenario, &mut samples).unwrap();
    let dropped = samples.queue_totals.dropped_overflow.iter().sum();
    let doubts = doubts(&scenario, &lateness, &records);
    Ok((Came { records, dropped, schemes, scenario }, doubts))
}

impl Came {
    /// Rate of a flow in Mb/s over the whole run.
    fn rate(&self, flow: usize) -> f64 {
        self.records[flow].total.delivered_bytes as f64 * 8.0 / 1e6 / self.scenario.duration.as_secs_f64()
    }

    /// The counters of one end of a flow of ACNS.
    fn acns(&self, flow: usize, sender: bool) -> Option<AcnsCounters> {
        self.schemes.entry(&self.scenario, flow, sender).unwrap().map(|entry| AcnsCounters::read(&entry))
    }

    /// The counters of a flow's receiver with NGWA.
    fn ngwa(&self, flow: usize) -> Option<NgwaCounters> {
        self.schemes.entry(&self.scenario, flow, false).unwrap().map(|entry| NgwaCounters::read(&entry))
    }

    fn srtt_ms(&self, flow: usize) -> f64 {
        self.records[flow].srtt.percentile(0.5) as f64 / 1e6
    }
}

/// Counters of one end of a connection with ACNS: `struct acns_flow`, whose layout bpf/acns_rules.h asserts.
#[derive(Debug, PartialEq, Eq)]
struct AcnsCounters {
    /// Segments sent that asked for a command.
    asked: u64,
    /// Advice received as a sender: normal, freeze, fallback.
    received: [u64; 3],
    /// Segments received as a receiver that carried the command to freeze.
    told_freeze: u64,
    /// Segments received as a receiver that carried the command to fall back.
    told_fallback: u64,
    /// ACKs at which a freeze or fallback withheld growth.
    held: u64,
    /// Times that the window fell back to its latest smaller value.
    fallbacks: u64,
    /// Losses by the trend's verdict: channel error, coming congestion, congestion.
    losses: [u64; 3],
    /// Advice that was lost because it arrived faster than the sender processed it.
    missed: u64,
}

impl AcnsCounters {
    fn read(value: &[u8]) -> Self {
        let long = |at: usize| u64_at(value, at).unwrap();
        let three = |at: usize| [long(at), long(at + 8), long(at + 16)];
        Self {
            told_freeze: u64::from(u32_at(value, 8)),
            told_fallback: u64::from(u32_at(value, 12)),
            received: three(80),
            asked: u64::from(u32_at(value, 128)),
            held: long(160),
            fallbacks: long(168),
            losses: three(176),
            missed: long(200),
        }
    }
}

/// Counters of a receiver with NGWA: `struct ngwa_flow`, whose layout bpf/ngwa_rules.h asserts.
#[derive(Debug)]
struct NgwaCounters {
    /// Values taken from data segments.
    taken: u64,
    /// Malformed options.
    ignored: u64,
    /// The value that bounds the window in bytes, smoothed or not; `None` before the first.
    window: Option<u32>,
    /// Segments that left with a smaller window than the kernel's.
    capped: u64,
    /// The smallest window advertised after the first value, in bytes.
    least: u32,
    /// The largest window advertised after the first value, in bytes.
    largest: u32,
}

impl NgwaCounters {
    fn read(value: &[u8]) -> Self {
        let long = |at: usize| u64_at(value, at).unwrap();
        Self {
            taken: long(32),
            ignored: long(40),
            window: (u32_at(value, 8) != 0).then(|| u32_at(value, 12)),
            capped: long(88),
            least: u32_at(value, 96),
            largest: u32_at(value, 100),
        }
    }
}

/// The 32 bits at `at` of a map's value.
fn u32_at(value: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(value[at..at + 4].try_into().unwrap())
}

const IPV6: &str = "ip = 6\n";
const FLOW: &str = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n";
const ACNS: &str = "[queue]\nlimit = \"50 packets\"\n[acns]\nenabled = true\n[tcp]\nstack = \"linux\"\n";
const PLAIN: &str = "[queue]\nlimit = \"75 kB\"\n[tcp]\nstack = \"linux\"\n";

/// Smallest rate of a bulk flow that keeps the bottleneck busy, in Mb/s, with a margin for slow start on a busy
/// machine.
const BUSY: f64 = 7.0;

#[test]
fn acns_over_cubic_is_obeyed_where_cubic_alone_fills_the_queue() {
    let Some(plain) = run(&format!("{PLAIN}cc = \"cubic\"\n{FLOW}")) else { return };
    let Some(came) = run(&format!("{ACNS}cc = \"cubic\"\n{FLOW}")) else { return };
    assert!(plain.rate(0) > BUSY && came.rate(0) > BUSY, "{} {}", plain.rate(0), came.rate(0));
    assert!(came.records[0].control.as_deref().unwrap().starts_with("acns_"));
    let sender = came.acns(0, true).unwrap();
    let receiver = came.acns(0, false).unwrap();
    let told = receiver.told_freeze + receiver.told_fallback;
    let heard = sender.received[1] + sender.received[2];
    // About one request per round trip of 26 ms; the answers to the last ones are still on the way.
    assert!(sender.asked > 30 && told > 10, "{sender:?} {receiver:?}");
    // Each segment has marks of its own, and no command is lost or doubled; the last may be on the way.
    assert!(told >= heard && told - heard <= 2, "{sender:?} {receiver:?}");
    assert!(sender.held > 50 && sender.fallbacks > 5 && sender.fallbacks <= sender.received[2], "{sender:?}");
    assert_eq!((sender.missed, receiver.asked), (0, 0));
    assert!(came.srtt_ms(0) < 0.8 * plain.srtt_ms(0), "{} ms, {} ms without", came.srtt_ms(0), plain.srtt_ms(0));
    assert_eq!(came.acns(1, true), None);
}

/// Over every base that this machine has commands come, and windows are held and fall back.
#[test]
fn acns_is_obeyed_over_every_base() {
    for base in acns::BASES.iter().map(|base| base.name).filter(|base| *base != "cubic") {
        if base == "bbr" && !crate::controls::available().iter().any(|name| name == "bbr") {
            crate::testing::skip("this kernel has no bbr".to_owned());
            continue;
        }
        let Some(came) = run(&format!("{ACNS}cc = \"{base}\"\n{FLOW}")) else { return };
        let sender = came.acns(0, true).unwrap();
        assert!(came.rate(0) > BUSY, "{base}: {} Mb/s", came.rate(0));
        // BBR, LP and Vegas keep the queue short by themselves but for the start: few commands are not normal.
        let short = matches!(base, "bbr" | "lp" | "vegas");
        let (commands, held, fallbacks) = if short { (0, 0, 0) } else { (10, 50, 5) };
        assert!(sender.received[1] + sender.received[2] > commands && sender.held > held, "{base}: {sender:?}");
        assert!(sender.fallbacks > fallbacks, "{base}: {sender:?}");
    }
}

/// Over IPv6 with CMI in an option, and in the flow label.
#[test]
fn acns_is_obeyed_over_ipv6() {
    for (encoding, mss) in [("extension", 1440), ("flow_label", 1448)] {
        let text = ACNS.replace("enabled = true", &format!("ipv6 = \"{encoding}\""));
        let Some(came) = run(&format!("{IPV6}{text}cc = \"cubic\"\n{FLOW}")) else { return };
        assert!(came.scenario.nodes[0].address.is_ipv6());
        let sender = came.acns(0, true).unwrap();
        let receiver = came.acns(0, false).unwrap();
        let (told, heard) = (receiver.told_freeze + receiver.told_fallback, sender.received[1] + sender.received[2]);
        assert!(came.rate(0) > BUSY && told > 10 && told >= heard && told - heard <= 2, "{sender:?} {receiver:?}");
        assert!(sender.held > 50 && sender.fallbacks > 5, "{encoding}: {sender:?}");
        // As in the simulator: the option takes room, the label does not.
        assert_eq!(came.records[0].last.as_ref().unwrap().smss(), mss, "{encoding}");
    }
}

/// Flows over different bases, and over one with different parameters, share hosts, and each has its own control.
#[test]
fn acns_runs_over_several_bases_at_once() {
    let flow = |cc: &str| FLOW.replace("[[flows]]", &format!("[[flows]]\ntcp = {{ {cc} }}"));
    let flows = [
        "cc = \"cubic\"",
        "cc = \"agile_sd\"",
        "cc = \"agile_sd\", cc_params = { lambda_max = 5 }",
        "cc = \"compound\"",
    ]
    .map(flow)
    .concat();
    let Some(came) = run(&format!("{ACNS}{flows}")) else { return };
    let names: BTreeSet<_> = (0..4).map(|index| came.schemes.control(index).unwrap().to_owned()).collect();
    assert_eq!(names.len(), 4);
    for index in 0..4 {
        let sender = came.acns(index, true).unwrap();
        assert!(sender.received.iter().sum::<u64>() > 10, "{index}: {sender:?}");
    }
}

#[test]
fn acns_over_reno_that_does_not_obey_counts_only() {
    let acns = ACNS.replace("enabled = true", "obey = false");
    let Some(came) = run(&format!("{acns}cc = \"reno\"\n{FLOW}")) else { return };
    let sender = came.acns(0, true).unwrap();
    assert!(sender.received[1] + sender.received[2] > 10, "{sender:?}");
    assert_eq!((sender.held, sender.fallbacks, sender.losses[..2].to_vec()), (0, 0, vec![0, 0]), "{sender:?}");
}

/// A flow without ACNS at the same hosts requests nothing, and behaves as it would without ACNS.
#[test]
fn a_flow_beside_acns_has_no_part_in_it() {
    let flows = format!("{FLOW}{}", FLOW.replace("from", "tcp = { assist = \"none\" }\nfrom"));
    let Some(came) = run(&format!("{ACNS}cc = \"cubic\"\n{flows}")) else { return };
    assert!(came.schemes.control(0).is_some() && came.schemes.control(1).is_none());
    assert!(came.acns(0, true).is_some());
    assert_eq!(came.acns(1, true), None);
    assert_eq!(came.acns(1, false), None);
}

#[test]
fn ngwa_caps_the_window_to_what_the_queue_takes() {
    let Some(plain) = run(&format!("{PLAIN}cc = \"cubic\"\n{FLOW}")) else { return };
    for mode in [1, 2, 3] {
        let Some(came) = run(&format!("{PLAIN}cc = \"cubic\"\n[ngwa]\nmode = {mode}\n{FLOW}")) else { return };
        let receiver = came.ngwa(0).unwrap();
        assert!(came.rate(0) > BUSY, "mode {mode}: {}", came.rate(0));
        assert_eq!(came.dropped, 0, "mode {mode}: {receiver:?}");
        assert!(came.srtt_ms(0) < 0.8 * plain.srtt_ms(0), "{} ms, {} ms without", came.srtt_ms(0), plain.srtt_ms(0));
        assert!(receiver.taken > 1000 && receiver.ignored == 0 && receiver.capped > 100, "mode {mode}: {receiver:?}");
        let value = receiver.window.unwrap();
        assert!(value <= 75_000 && receiver.least <= receiver.largest, "mode {mode}: {receiver:?}");
        assert_eq!(came.schemes.control(0).is_some(), mode == 3);
        assert_eq!(came.schemes.kernels_own().len(), usize::from(mode == 3));
    }
}

/// As on a kernel before 6.6: the same programs as filters of the devices.
#[test]
fn schemes_work_as_filters_where_there_is_no_tcx() {
    let Some(came) = run_by(&format!("{PLAIN}cc = \"cubic\"\n[ngwa]\nmode = 1\n{FLOW}"), Hook::Filter) else { return };
    let receiver = came.ngwa(0).unwrap();
    assert!(came.rate(0) > BUSY && came.dropped == 0, "{} {receiver:?}", came.rate(0));
    assert!(receiver.taken > 1000 && receiver.ignored == 0 && receiver.capped > 100, "{receiver:?}");
    let Some(came) = run_by(&format!("{ACNS}cc = \"cubic\"\n{FLOW}"), Hook::Filter) else { return };
    let sender = came.acns(0, true).unwrap();
    let receiver = came.acns(0, false).unwrap();
    let (told, heard) = (receiver.told_freeze + receiver.told_fallback, sender.received[1] + sender.received[2]);
    assert!(came.rate(0) > BUSY && told > 10 && told >= heard && told - heard <= 2, "{sender:?} {receiver:?}");
    assert!(sender.held > 50 && sender.fallbacks > 5, "{sender:?}");
}

fn settings(scenario: &Scenario) -> &Values {
    &scenario.scheme.as_ref().unwrap().values
}

#[test]
fn what_has_no_live_form_is_refused_before_anything_is_loaded() {
    let flow = |text: &str| scenario(&format!("{ACNS}{text}\n{FLOW}"));
    let said = acns::known(&flow("").flows[0], "dctcp".to_owned()).map(|base| base.name);
    let said = said.unwrap_err().to_string();
    assert!(said.contains("cc: dctcp") && said.contains("allowed: cubic, reno, bbr, agile_sd"), "{said}");
    let nine: String = (0..9)
        .map(|i| format!("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ntcp = {{ cc = \"agile_sd\", cc_params = {{ lambda_max = {i}.5 }} }}\n"))
        .collect::<String>()
        .replace("0.5", "9.5");
    let nine = scenario(&format!("{ACNS}{nine}"));
    let said = acns::room(&flows_of(&nine, "acns")).unwrap_err().to_string();
    assert!(said.starts_with("flows: 9 congestion controls") && said.contains("up to 8"), "{said}");
    acns::room(&flows_of(&nine, "acns")[1..]).unwrap();
    let names = [(&acns::BASES[0], "a"), (&acns::BASES[1], "b")];
    let of =
        |count: u32| scenario(&format!("{}{FLOW}", ACNS.replace("enabled = true", &format!("trend_count = {count}"))));
    let said = acns::open(&acns::config(settings(&of(64))).unwrap(), &names).unwrap_err().to_string();
    assert!(said.starts_with("acns.trend_count: 64: ") && said.contains("1 to 63"), "{said}");
    for (key, value) in [("fallback_window", "difference"), ("history_step", "ack"), ("normal_only_losses", "base")] {
        let other = scenario(&format!("{}{FLOW}", ACNS.replace("enabled = true", &format!("{key} = \"{value}\""))));
        let said = acns::open(&acns::config(settings(&other)).unwrap(), &names).unwrap_err().to_string();
        assert!(said.starts_with(&format!("acns.{key}: {value}: ")) && said.contains("simulated run"), "{said}");
    }
    let mixed = format!("{PLAIN}[ngwa]\nmode = 1\n{FLOW}{}", FLOW.replace("from", "tcp = { assist = \"none\" }\nfrom"));
    let mixed = scenario(&mixed);
    let said = ngwa::alone(&mixed, &flows_of(&mixed, "ngwa")).unwrap_err().to_string();
    assert!(said.contains("assist = \"ngwa\" for all flows of a host"), "{said}");
    let mut six = scenario(&format!("{PLAIN}[ngwa]\nmode = 1\n{FLOW}"));
    six.nodes.iter_mut().for_each(|node| node.address = std::net::Ipv6Addr::LOCALHOST.into());
    assert!(takes_part(&six, "ngwa").unwrap_err().to_string().contains("the eBPF programs support IPv4 alone"));
}

/// The objects have every constant that is set, with the size that is set. Needs no root.
#[test]
fn constants_of_the_objects_are_there() {
    let names = [(&acns::BASES[0], "one"), (&acns::BASES[1], "another")];
    let long = scenario(&format!("{}{FLOW}", ACNS.replace("enabled = true", "trend_count = 63")));
    acns::open(&acns::config(settings(&long)).unwrap(), &names).unwrap();
    let ngwa = scenario(&format!("{PLAIN}[ngwa]\nmode = 4\nmax_window = \"64 KiB\"\n{FLOW}"));
    ngwa::open(&ngwa::config(settings(&ngwa)).unwrap()).unwrap();
}
