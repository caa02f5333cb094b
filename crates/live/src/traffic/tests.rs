//! Flows between real hosts over the network of their scenario.

use super::*;
use crate::bottleneck::carry;
use crate::network::Network;
use crate::testing::{doubts, lacks_root, scenario, scenario_under, trusted};
use crate::{check, control};
use narrows_samples::NONE;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a dumbbell of one pair (10 Mb/s, round-trip time 20 ms) with these flows, and calls `during` while it runs.
/// Returns the records; `None`, with the reason printed, if no run can be trusted.
fn run_and(rest: &str, during: impl FnMut(&Running, &Hosts)) -> Option<Vec<FlowRecord>> {
    carry_out(&scenario(rest), during)
}

fn carry_out(scenario: &Scenario, mut during: impl FnMut(&Running, &Hosts)) -> Option<Vec<FlowRecord>> {
    check(scenario).unwrap();
    trusted(|| carry_out_once(scenario, &mut during))
}

/// Returns the records of one run, and its doubts.
fn carry_out_once(scenario: &Scenario, during: impl FnOnce(&Running, &Hosts)) -> (Vec<FlowRecord>, Vec<String>) {
    let hosts = Hosts::new(scenario).unwrap();
    let controls: Vec<String> = scenario
        .flows
        .iter()
        .map(|flow| match flow.tcp().map(|_| control(flow)) {
            None => String::new(),
            Some(Ok(crate::Control::Kernel(name))) => name,
            Some(other) => unreachable!("{other:?}"),
        })
        .collect();
    let seeds = Seeds::new(1, 0);
    let traffic = Traffic::prepare(scenario, &hosts, seeds, &controls).unwrap();
    let network = Network::new(scenario, seeds).unwrap();
    let clock = Clock::starting_in(Duration::from_millis(20));
    let stop = AtomicBool::new(false);
    let end = Instant::ZERO + scenario.duration;
    std::thread::scope(|threads| {
        let (stop, hosts) = (&stop, &hosts);
        let carrying = threads.spawn(move || {
            let ports: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
            carry(network, (&ports, &[]), clock, end, Rate::mbps(100), stop).1
        });
        let running = traffic.start(clock).unwrap();
        during(&running, hosts);
        let records = running.join();
        stop.store(true, Ordering::Relaxed);
        let (records, lateness) = (records.unwrap(), carrying.join().unwrap());
        let doubts = doubts(scenario, &lateness, &records);
        (records, doubts)
    })
}

fn run(rest: &str) -> Option<Vec<FlowRecord>> {
    run_and(rest, |_, _| {})
}

/// Converts nanoseconds to seconds.
fn secs(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[test]
fn a_bulk_flow_fills_its_link_and_is_told_of() {
    if lacks_root() {
        return;
    }
    let Some(records) = run("[tcp]\nstack = \"linux\"\ncc = \"reno\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"") else {
        return;
    };
    let FlowRecord { rows, total, srtt, last, control, .. } = &records[0];
    assert_eq!(control.as_deref(), Some("reno"));
    let last = last.unwrap();
    assert_eq!((last.smss(), last.options(), last.ecn()), (1448, (true, true), false));
    let rate = total.delivered_bytes as f64 * 8.0 / 1e6;
    assert!(rate > 6.0 && rate < 9.66, "{rate} Mb/s of at most 9.65, start of the connection included");
    assert!(total.sent_bytes >= total.delivered_bytes);
    assert_eq!((total.start_ns, total.stop_ns, total.finished_ns, total.aborted_ns), (0, 1_000_000_000, NONE, NONE));
    assert!(rows.len() > 20, "{}", rows.len());
    assert!(rows.windows(2).all(|pair| pair[0].time_ns < pair[1].time_ns));
    let row = rows.last().unwrap();
    assert_eq!((row.rtt_ns, row.cwnd_bytes % 1448, row.lost_packets), (NONE, 0, NONE));
    assert!(row.inflight_bytes <= row.cwnd_bytes && row.rwnd_bytes > 64 << 10, "{row:?}");
    assert!(srtt.count() > 20 && srtt.min() >= 20_000_000, "{} {}", srtt.count(), srtt.min());
}

#[test]
fn the_congestion_control_is_there_before_the_connection() {
    if lacks_root() {
        return;
    }
    // Pacing that a default of BBR switched on would persist if the congestion control were set after connecting.
    let scenario = scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ncc = \"reno\"");
    let hosts = Hosts::new(&scenario).unwrap();
    let flow = &scenario.flows[0];
    let wishes = socket::Wishes { tcp: flow.tcp().unwrap(), control: "reno", dscp: 0, unsent: None, overhead: 0 };
    let at = SocketAddr::new(scenario.nodes[flow.from].address, 9);
    let host = hosts.of_node(flow.from).unwrap();
    let made = host.netns.run(|| socket::client(at, &wishes)).unwrap().unwrap();
    assert_eq!(socket::control(&made).unwrap(), "reno");
    let wishes = socket::Wishes { control: "no_such_thing", ..wishes };
    let refused = host.netns.run(|| socket::client(at, &wishes));
    let said = refused.unwrap().unwrap_err().to_string();
    assert!(said.starts_with("cannot set TCP_CONGESTION = no_such_thing"), "{said}");
}

#[test]
fn the_first_packet_is_the_flow_s_own() {
    if lacks_root() {
        return;
    }
    let flow = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ndscp = 46\ncc = \"reno\"\n\
                tcp = { mss = \"1000 B\", sack = false, ecn = true }";
    let scenario = scenario(flow);
    let hosts = Hosts::new(&scenario).unwrap();
    let traffic = Traffic::prepare(&scenario, &hosts, Seeds::new(1, 0), &["reno".to_owned()]).unwrap();
    let running = traffic.start(Clock::starting_in(Duration::ZERO)).unwrap();
    let mut buffer = [0; 2000];
    let begin = std::time::Instant::now();
    let tun = &hosts.of_node(scenario.flows[0].from).unwrap().tun;
    let packet = loop {
        match tun.receive(&mut buffer).unwrap() {
            Some(packet) => break packet.to_vec(),
            None => assert!(begin.elapsed().as_secs() < 5, "no packet came"),
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    drop(running);
    assert_eq!((packet[0], packet[1] >> 2, &packet[20..24]), (0x45, 46, &[0x27, 0x10, 0x03, 0xe8][..]), "{packet:?}");
    // A SYN with ECN setup. MSS 1000 is the first option, and SACK-permitted is not among the options.
    assert_eq!((packet[33], &packet[40..44]), (0xc2, &[2, 4, 0x03, 0xe8][..]));
    assert!(!packet[40..].windows(2).any(|pair| pair == [4, 2]), "{packet:?}");
}

#[test]
fn nothing_connects_before_the_network_s_time_zero() {
    if lacks_root() {
        return;
    }
    let flows = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\ncc = \"reno\"\n\
                 [[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"udp\"\nrate = \"800 kb/s\"\npayload = \"972 B\"";
    let scenario = scenario(flows);
    let hosts = Hosts::new(&scenario).unwrap();
    let controls = ["reno".to_owned(), String::new()];
    let traffic = Traffic::prepare(&scenario, &hosts, Seeds::new(1, 0), &controls).unwrap();
    let clock = Clock::starting_in(Duration::from_millis(200));
    let running = traffic.start(clock).unwrap();
    let tun = &hosts.of_node(scenario.flows[0].from).unwrap().tun;
    let mut buffer = [0; 2000];
    let packet = loop {
        if let Some(packet) = tun.receive(&mut buffer).unwrap() {
            break packet;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    assert!(clock.has_begun(), "{packet:?}");
    drop(running);
}

#[test]
fn ipv6_and_ecn_are_used_where_they_are_asked_for() {
    if lacks_root() {
        return;
    }
    let flow = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100 kB\"\ncc = \"reno\"\n\
                tcp = { stack = \"linux\", ecn = true }";
    let Some(records) = carry_out(&scenario_under("ip = 6", flow), |_, _| {}) else { return };
    assert_eq!(records[0].total.delivered_bytes, 100_000);
    let last = records[0].last.unwrap();
    assert_eq!((last.ecn(), last.smss()), (true, 1448));
}

#[test]
fn a_bounded_transfer_ends_and_both_ends_close() {
    if lacks_root() {
        return;
    }
    let Some(records) = run("[tcp]\nstack = \"linux\"\ncc = \"cubic\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n\
         size = \"200 kB\"\nstart = \"0.1 s\"")
    else {
        return;
    };
    let FlowRecord { rows, total, last, .. } = &records[0];
    assert!(rows.iter().all(|row| row.time_ns >= 100_000_000));
    assert_eq!(total.delivered_bytes, 200_000);
    assert_eq!(total.sent_bytes - total.retransmitted_bytes, 200_000);
    assert!(total.finished_ns < 900_000_000 && total.finished_ns > 100_000_000 + 160_000_000, "{total:?}");
    assert_eq!((total.start_ns, total.stop_ns), (100_000_000, total.finished_ns));
    assert!(!last.unwrap().is_established());
}

#[test]
fn a_flow_that_is_done_has_no_more_round_trip_times() {
    if lacks_root() {
        return;
    }
    let Some(records) =
        run("[tcp]\nstack = \"linux\"\ncc = \"cubic\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"4 kB\"")
    else {
        return;
    };
    let FlowRecord { total, srtt, closing, .. } = &records[0];
    assert_eq!((total.sent_packets, total.delivered_bytes), (3, 4000));
    // The handshake, an ACK for each one or two segments, and one for the FIN unless it comes with the last segment.
    assert!((2..=5).contains(&srtt.count()), "{}", srtt.count());
    let after: u64 = closing.iter().map(|&(_, times)| times).sum();
    assert!(after > 0 && after <= srtt.count(), "{closing:?}");
    assert!(srtt.min() >= 20_000_000 && closing.iter().all(|&(rtt, _)| rtt >= 20_000_000), "{closing:?}");
}

#[test]
fn requests_are_answered() {
    if lacks_root() {
        return;
    }
    let flow = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"request_response\"\nrequest = \"100 B\"\n\
                response = \"10 kB\"\nthink = \"20 ms\"\ncount = 4";
    let Some(records) = run(&format!("[tcp]\nstack = \"linux\"\ncc = \"reno\"\n{flow}")) else { return };
    let FlowRecord { total, .. } = &records[0];
    assert_eq!((total.transactions, total.delivered_bytes), (4, 40_000), "{total:?}");
    assert_eq!(total.sent_bytes - total.retransmitted_bytes, 40_000, "figures are of the server, which has the data");
    assert!(total.finished_ns > 4 * 36_000_000 && total.finished_ns < 900_000_000, "{total:?}");
}

#[test]
fn datagrams_keep_their_rate() {
    if lacks_root() {
        return;
    }
    let Some(records) = run("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"udp\"\n\
                       rate = \"800 kb/s\"\npayload = \"972 B\"\nstop = \"0.8 s\"")
    else {
        return;
    };
    let FlowRecord { rows, total, last, control, .. } = &records[0];
    // 100 packets of 1000 bytes a second, headers included.
    assert_eq!((total.sent_packets, total.sent_bytes), (80, 80 * 972));
    assert_eq!(total.delivered_bytes, 80 * 972, "{total:?}");
    assert!(last.is_none() && control.is_none());
    assert!(rows.iter().all(|row| row.cwnd_bytes == NONE));
}

#[test]
fn flows_to_one_port_find_their_own_server() {
    if lacks_root() {
        return;
    }
    let flow = |name: &str, more: &str| format!("[[flows]]\nname = {name:?}\nfrom = \"s1\"\nto = \"d1\"\n{more}\n");
    let Some(records) = run(&(flow("a", "size = \"30 kB\"\ncc = \"reno\"")
        + &flow("b", "size = \"50 kB\"\ncc = \"cubic\"\ndscp = 46")
        + &flow("c", "kind = \"udp\"\nrate = \"100 kb/s\"\npayload = \"500 B\"\nstop = \"0.5 s\"")
        + &flow("d", "kind = \"udp\"\nrate = \"100 kb/s\"\npayload = \"700 B\"\nstop = \"0.5 s\"")
        + &flow("e", "kind = \"rate\"\nrate = \"400 kb/s\"\nwrite = \"1000 B\"\nstop = \"0.5 s\"")))
    else {
        return;
    };
    let delivered: Vec<u64> = records.iter().map(|record| record.total.delivered_bytes).collect();
    assert_eq!(delivered[..2], [30_000, 50_000]);
    assert_eq!((delivered[2] % 500, delivered[3] % 700), (0, 0));
    assert!((secs(records[4].total.stop_ns) - 0.5).abs() < 1e-9);
    assert_eq!(delivered[4], 25_000, "each write when it was due, however late the thread");
    assert_eq!(records[0].control.as_deref(), Some("reno"));
    assert_eq!(records[1].control.as_deref(), Some("cubic"));
}

#[test]
fn an_application_that_goes_silent_takes_back_what_was_not_sent() {
    if lacks_root() {
        return;
    }
    let flow = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nkind = \"on_off\"\n\
                rate = \"unlimited\"\non = \"200 ms\"\noff = \"10 s\"\n\
                distribution = \"constant\"";
    let Some(records) = run(&format!("[tcp]\nstack = \"linux\"\ncc = \"reno\"\n{flow}")) else { return };
    let delivered = records[0].total.delivered_bytes;
    // 200 ms at 10 Mb/s, at most 10 ms more that were in the kernel, and what was in flight: at most a queue of 100
    // packets.
    assert!(delivered > 100_000 && delivered < 250_000 + 12_500 + 150_000, "{delivered}");
}

#[test]
fn a_receive_buffer_bounds_the_window() {
    if lacks_root() {
        return;
    }
    let Some(records) = run("[tcp]\nstack = \"linux\"\ncc = \"reno\"\nrecv_buffer = \"20 kB\"\n\
                       [[flows]]\nfrom = \"s1\"\nto = \"d1\"")
    else {
        return;
    };
    let rows = &records[0].rows;
    let late = &rows[rows.len() / 2..];
    let widest = late.iter().map(|row| row.rwnd_bytes).max().unwrap();
    assert!(widest <= 20_000 && widest > 15_000, "{widest}");
    let rate = records[0].total.delivered_bytes as f64 * 8.0 / 1e6;
    assert!(rate < 8.3, "{rate} Mb/s: 20 kB in 20 ms are 8 Mb/s");
}

#[test]
fn a_slow_reader_holds_the_sender_back() {
    if lacks_root() {
        return;
    }
    let Some(records) =
        run("[tcp]\nstack = \"linux\"\ncc = \"reno\"\nrecv_buffer = \"64 kB\"\nread_rate = \"1 Mb/s\"\n\
         [[flows]]\nfrom = \"s1\"\nto = \"d1\"")
    else {
        return;
    };
    let total = &records[0].total;
    assert!(total.delivered_bytes > 90_000 && total.delivered_bytes <= 125_000, "{total:?}");
    assert!(total.sent_bytes < 125_000 + 4 * 64_000, "{total:?}");
}

#[test]
fn a_run_that_is_stopped_ends_at_once() {
    if lacks_root() {
        return;
    }
    let scenario =
        scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nstart = \"0.9 s\"");
    let stopped = trusted(|| {
        carry_out_once(&scenario, |running, _| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            running.stop();
        })
    });
    let Some(records) = stopped else { return };
    // The scenario lasts a second, and its second flow would start after 0.9 s.
    assert!(records[0].total.stop_ns < 900_000_000 && records[1].last.is_none());
}

#[test]
fn hosts_and_their_sockets_leave_nothing() {
    if lacks_root() {
        return;
    }
    let mut watched = Vec::new();
    let text = "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"10 MB\"";
    carry_out_once(&scenario(text), |_, hosts| {
        watched.extend(hosts.iter().map(|host| host.netns.inode()));
    });
    assert_eq!(watched.len(), 2);
    let inside = namespaces_of_threads();
    assert!(watched.iter().all(|inode| !inside.contains(inode)), "{watched:?} {inside:?}");
}

/// Numbers of the network namespaces that any thread on this machine is in.
fn namespaces_of_threads() -> Vec<u64> {
    use std::os::unix::fs::MetadataExt;
    let tasks = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_dir(entry.path().join("task")).ok());
    tasks
        .flat_map(|tasks| tasks.flatten())
        .filter_map(|task| std::fs::metadata(task.path().join("ns/net")).ok())
        .map(|meta| meta.ino())
        .collect()
}

/// Otherwise a run in which a flow did nothing at all would be trusted.
#[test]
fn a_flow_whose_thread_gets_no_time_until_the_end_is_late() {
    if lacks_root() {
        return;
    }
    let scenario = scenario("[[flows]]\nfrom = \"s1\"\nto = \"d1\"");
    let hosts = Hosts::new(&scenario).unwrap();
    let traffic = Traffic::prepare(&scenario, &hosts, Seeds::new(1, 0), &["reno".to_owned()]).unwrap();
    let clock = Clock::starting_in(Duration::ZERO);
    clock.sleep_until(Instant::ZERO + scenario.duration);
    let records = traffic.start(clock).unwrap().join().unwrap();
    assert_eq!(records[0].lateness.max(), scenario.duration.as_nanos());
}
