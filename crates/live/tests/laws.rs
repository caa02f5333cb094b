//! eBPF congestion controls on this kernel's TCP, through our bottleneck: their windows follow their papers' laws.
//!
//! Skipped, with the reason, where the machine or the user cannot run them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs)]

use narrows_cc::ParamValue::{self, Number};
use narrows_cc::Params;
use narrows_fabric::{Seeds, catalogue};
use narrows_live::bpf::{register, unique_name};
use narrows_live::{Clock, Conditions, Hosts, LiveError, Network, TcpInfo, carry};
use narrows_samples::NONE;
use narrows_scenario::Scenario;
use narrows_units::{Duration, Instant, Rate};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt::TcpCongestion,
};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use trusted::trusted;

mod trusted;

/// `TCP_INFO` at one time: cwnd and ssthresh in segments, smoothed round-trip time in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Look {
    at_ms: f64,
    cwnd: u64,
    ssthresh: Option<u64>,
    srtt_ms: f64,
    recovering: bool,
}

/// 20 Mb/s and a base round-trip time of 40 ms, with a queue of half the bandwidth-delay product.
fn scenario(seconds: u64) -> Scenario {
    let text = format!(
        "duration = \"{seconds} s\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"20 Mb/s\", delay = \"18 ms\", queue = {{ limit = \"33 packets\" }} }}\n\
         access = {{ rate = \"1 Gb/s\", delay = \"1 ms\", queue = {{ limit = \"1000 packets\" }} }}\n\
         [[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"
    );
    narrows_scenario::parse(&text, "laws.toml", &[], &catalogue()).unwrap()
}

/// Runs a bulk flow with the congestion control `name`, and reads `TCP_INFO` every millisecond. Returns `None`, with
/// the reason printed, if that is not possible.
fn looks(name: &str, given: &[(&str, ParamValue)], seconds: u64) -> Option<Vec<Look>> {
    match trusted(|| {
        looks_once(name, given, seconds).map_or_else(|e| (Err(e), Vec::new()), |(l, doubts)| (Ok(l), doubts))
    })? {
        Ok(looks) => Some(looks),
        Err(error @ LiveError::Unavailable { .. }) => {
            trusted::skips::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns one such run, and its doubts.
fn looks_once(name: &str, given: &[(&str, ParamValue)], seconds: u64) -> Result<(Vec<Look>, Vec<String>), LiveError> {
    let scenario = scenario(seconds);
    let params = Params::new(given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
    let hosts = Hosts::new(&scenario)?;
    let registered = register(name, &unique_name(name), &params)?;
    let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name).unwrap();
    let (from, to) = (hosts.of_node(node("s1")).unwrap(), hosts.of_node(node("d1")).unwrap());
    let IpAddr::V4(address) = scenario.nodes[node("d1")].address else { panic!("IPv4") };
    let server = SocketAddrV4::new(address, 1000);
    let network = Network::new(&scenario, Seeds::new(1, 0)).unwrap();
    let clock = Clock::starting_in(Duration::from_millis(20));
    let end = Instant::ZERO + scenario.duration;
    let stop = AtomicBool::new(false);
    let ports: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
    std::thread::scope(|scope| {
        let carrying = scope.spawn(|| carry(network, (&ports, &[]), clock, end, Rate::mbps(20), &stop).1);
        scope.spawn(|| to.netns.run(|| swallow(server, &stop)).unwrap());
        let flow = scope.spawn(|| from.netns.run(|| send(server, registered.name(), clock, end)).unwrap());
        let looks = flow.join();
        stop.store(true, Ordering::Relaxed);
        let mut conditions = Conditions::of_machine();
        conditions.note_lateness(&carrying.join().unwrap(), scenario.duration);
        Ok((looks.unwrap(), conditions.doubts))
    })
}

/// Accepts one connection and reads from it until `stop` is set, since its end may be lost with the network.
fn swallow(at: SocketAddrV4, stop: &AtomicBool) {
    let listener = TcpListener::bind(at).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut stream: Option<TcpStream> = None;
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        if stream.as_mut().is_some_and(|stream| stream.read(&mut buffer).is_ok_and(|n| n > 0)) {
            continue;
        }
        if stream.is_none() {
            stream = listener.accept().ok().map(|(stream, _)| stream);
            stream.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Sends as much as the connection takes until `end`, and reads `TCP_INFO` every millisecond.
fn send(to: SocketAddrV4, cc: &str, clock: Clock, end: Instant) -> Vec<Look> {
    // Gives the sink, which is another thread, time to listen.
    clock.sleep_until(Instant::ZERO + Duration::from_millis(100));
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    setsockopt(&socket, TcpCongestion, &cc.into()).unwrap();
    connect(socket.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_nonblocking(true).unwrap();
    let data = vec![0; 1 << 18];
    let mut looks = Vec::new();
    let mut next = clock.now();
    while clock.now() < end {
        // Fails if the buffer is full, as it should be.
        let _ = stream.write(&data);
        if let Ok(info) = TcpInfo::read(stream.as_fd()) {
            let (row, mss) = (info.row(true), u64::from(info.smss()));
            looks.push(Look {
                at_ms: clock.now().as_nanos() as f64 / 1e6,
                cwnd: row.cwnd_bytes / mss,
                ssthresh: (row.ssthresh_bytes != NONE).then_some(row.ssthresh_bytes / mss),
                srtt_ms: info.srtt_ns().unwrap_or(0) as f64 / 1e6,
                recovering: info.in_recovery(),
            });
        }
        next += Duration::from_millis(1);
        clock.sleep_until(next);
    }
    looks
}

/// One bottleneck at a time: two would make each other late.
static TURN: Mutex<()> = Mutex::new(());

/// Growth from one reduction to the next: cwnd before the first reduction, ssthresh at its end, and the samples from
/// the end of recovery to the next loss.
#[derive(Debug)]
struct Climb<'a> {
    loss: u64,
    ssthresh: u64,
    open: &'a [Look],
}

/// Returns the climbs that were sampled from beginning to end, without the one after slow start.
fn climbs(looks: &[Look]) -> Vec<Climb<'_>> {
    let spans: Vec<&[Look]> = looks.chunk_by(|a, b| a.recovering == b.recovering).collect();
    let climbs = spans.windows(3).filter(|spans| spans[1][0].recovering);
    let climbs = climbs.filter_map(|spans| {
        let (before, during, open) = (spans[0].last()?, spans[1].last()?, spans[2]);
        // Two recoveries with less than a look between them reduce the window twice.
        let once = spans[1].iter().all(|look| look.ssthresh == during.ssthresh);
        once.then_some(())?;
        Some(Climb { loss: before.cwnd, ssthresh: during.ssthresh?, open })
    });
    let mut climbs: Vec<_> = climbs.skip(1).collect();
    // The last is cut off by the end of the run.
    climbs.pop();
    climbs
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the time from cwnd = `from` until it is `to`, in milliseconds, and the mean round-trip time meanwhile.
fn time_to(open: &[Look], from: u64, to: u64) -> Option<(f64, f64)> {
    let begin = open.iter().position(|look| look.cwnd >= from)?;
    let end = open.iter().position(|look| look.cwnd >= to)?;
    let rtts = open[begin..=end].iter().map(|look| look.srtt_ms).sum::<f64>();
    Some((open[end].at_ms - open[begin].at_ms, rtts / (end - begin + 1) as f64))
}

/// Returns the ratios of measured time to the law's time, for the way back to the window of the loss, from climbs of
/// three segments or more.
fn agile_sd_ratios(lambda_max: f64) -> Option<Vec<f64>> {
    let looks = looks("agile_sd", &[("lambda_max", Number(lambda_max))], 6)?;
    let climbs = climbs(&looks);
    for climb in &climbs {
        // A millisecond may have passed between the last sample and the loss.
        let (least, most) = (0.95 * climb.loss as f64 - 1.0, 0.95 * (climb.loss + 2) as f64);
        assert!((least..most).contains(&(climb.ssthresh as f64)), "{} -> {}", climb.loss, climb.ssthresh);
        let after = climb.open.last().unwrap().ssthresh;
        assert_eq!(after, Some(climb.ssthresh - 1), "below cwnd once recovery is over");
    }
    let ratio = |climb: &Climb<'_>| {
        let gap = climb.loss.checked_sub(climb.ssthresh).filter(|gap| *gap >= 3)?;
        let (time, rtt) = time_to(climb.open, climb.ssthresh, climb.loss)?;
        // Equation 6, with equation 1's lambda at each window on the way.
        let lambda = |to_go: u64| (lambda_max * to_go as f64 / gap as f64).max(1.0);
        let law: f64 = (1..=gap).map(|to_go| rtt / lambda(to_go)).sum();
        Some(time / law)
    };
    Some(climbs.iter().filter_map(ratio).collect())
}

#[test]
fn agile_sd_climbs_back_by_equation_6() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for lambda_max in [3.0, 1.0] {
        let Some(ratios) = agile_sd_ratios(lambda_max) else { return };
        if ratios.len() < 3 {
            trusted::skips::skip(format_args!("only {} climbs in the time, lambda_max {lambda_max}", ratios.len()));
            continue;
        }
        let typical = median(ratios.clone());
        eprintln!("lambda_max {lambda_max}: {} climbs, median {typical:.3} of the law's time", ratios.len());
        assert!((0.6..1.5).contains(&typical), "lambda_max {lambda_max}: {typical} times the law's time; {ratios:?}");
    }
}

#[test]
fn compound_grows_faster_than_reno_until_a_queue_builds_up() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(looks) = looks("compound", &[], 16) else { return };
    // Growth in the six round-trip times after recovery: alpha win^(3/4) segments in each, where Reno has one. The
    // queue drains meanwhile, so each interval is divided by its own round-trip time, not by the first.
    let growth = |climb: &Climb<'_>| {
        let first = climb.open.first()?;
        let mut rounds = 0.0;
        let last = climb.open.windows(2).find_map(|pair| {
            rounds += (pair[1].at_ms - pair[0].at_ms) / pair[1].srtt_ms;
            (rounds >= 6.0).then_some(pair[1])
        })?;
        let win = f64::midpoint(first.cwnd as f64, last.cwnd as f64);
        let gained = last.cwnd as f64 - first.cwnd as f64;
        (first.cwnd >= 38).then(|| gained / rounds / (win * win * win).sqrt().sqrt())
    };
    let climbs = climbs(&looks);
    let alphas: Vec<f64> = climbs.iter().filter_map(growth).collect();
    let way =
        |look: &[Look]| !look[1].recovering && look[1].ssthresh == look[0].ssthresh && look[1].cwnd + 3 <= look[0].cwnd;
    let gave_way = looks.windows(2).filter(|pair| !pair[0].recovering && way(pair)).count();
    assert!(gave_way > 0, "a queue must shrink the delay window without a loss");
    if alphas.len() < 3 {
        return trusted::skips::skip(format_args!("only {} climbs in the time", alphas.len()));
    }
    let typical = median(alphas.clone());
    eprintln!("{} climbs, median alpha {typical:.3}; the window gave way {gave_way} times", alphas.len());
    assert!((0.11..0.14).contains(&typical), "alpha is 1/8: {typical}; {alphas:?}");
}
