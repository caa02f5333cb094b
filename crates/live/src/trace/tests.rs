use super::*;
use crate::testing::{doubts, lacks_root, scenario, trusted};
use crate::{Clock, Host, Hosts, Network, TcpInfo, carry};
use narrows_fabric::{Seeds, ports};
use narrows_units::{Duration, Instant, Rate};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

/// The kernel's own state of the sender at the end, and the trace.
struct Seen {
    last: TcpInfo,
    traced: Traced,
    began_ns: u64,
    ended_ns: u64,
}

/// Sends for `millis` ms over the first flow's ports from the first host to the other, through a bottleneck with the
/// queue `queue`. Another connection between them must not be traced. Returns `None`, with the reason printed, if no
/// run can be trusted.
fn bulk(queue: &str, millis: u64) -> Option<Seen> {
    trusted(|| bulk_once(queue, millis))
}

/// Returns one such run, and its doubts.
fn bulk_once(queue: &str, millis: u64) -> (Seen, Vec<String>) {
    let text = format!(
        "duration = \"1 s\"\n[topology]\nkind = \"dumbbell\"\n\
         bottleneck = {{ rate = \"10 Mb/s\", delay = \"8 ms\", queue = {{ limit = \"{queue}\" }} }}\n\
         access = {{ rate = \"100 Mb/s\", delay = \"1 ms\" }}\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n"
    );
    let scenario = narrows_scenario::parse(&text, "test.toml", &[], &narrows_fabric::catalogue()).unwrap();
    let hosts = Hosts::new(&scenario).unwrap();
    let of = |name: &str| hosts.of_node(scenario.nodes.iter().position(|node| node.name == name).unwrap()).unwrap();
    let (from, to) = (of("s1"), of("d1"));
    let network = Network::new(&scenario, Seeds::new(1, 0)).unwrap();
    let inodes: Vec<u64> = hosts.iter().map(|host| host.netns.inode()).collect();
    let trace = Trace::start(&inodes, &scenario).unwrap();
    let stop = AtomicBool::new(false);
    let clock = Clock::starting_in(Duration::from_millis(20));
    let began_ns = crate::monotonic_ns();
    std::thread::scope(|scope| {
        let devices: Vec<_> = hosts.iter().map(|host| (host.node, &host.tun)).collect();
        let stop = &stop;
        let end = Instant::ZERO + Duration::from_secs(6);
        let network = scope.spawn(move || carry(network, (&devices, &[]), clock, end, Rate::mbps(100), stop).1);
        let address = |host: &Host, port| SocketAddr::new(scenario.nodes[host.node].address, port);
        let (client, server) = ports(0);
        let (listener, other) = to
            .netns
            .run(|| {
                (TcpListener::bind(address(to, server)).unwrap(), TcpListener::bind(address(to, server + 1)).unwrap())
            })
            .unwrap();
        for listener in [listener, other] {
            // Not joined: the network may be gone before the last bytes arrive.
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut buffer = vec![0; 65536];
                while let Ok(1..) = stream.read(&mut buffer) {}
            });
        }
        let send = || {
            let mut other = TcpStream::connect(address(to, server + 1)).unwrap();
            other.write_all(&[0; 3000]).unwrap();
            drop(other);
            let mut stream = connect(address(from, client), address(to, server));
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(millis) {
                stream.write_all(&[0; 16384]).unwrap();
            }
            // Until then, everything in flight is acknowledged, so that the kernel's counters no longer change.
            std::thread::sleep(std::time::Duration::from_millis(1500));
            TcpInfo::read(stream.as_fd()).unwrap()
        };
        let last = from.netns.run(send).unwrap();
        let ended_ns = crate::monotonic_ns();
        let traced = trace.stop().unwrap();
        stop.store(true, Ordering::Relaxed);
        let lateness = network.join().unwrap();
        assert_eq!(lateness.refused, 0);
        (Seen { last, traced, began_ns, ended_ns }, doubts(&scenario, &lateness, &[]))
    })
}

/// Connects from an address and port of our choice.
fn connect(from: SocketAddr, to: SocketAddr) -> TcpStream {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, socket};
    use std::os::fd::AsRawFd;
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(socket.as_raw_fd(), &SockaddrStorage::from(from)).unwrap();
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to)).unwrap();
    socket.into()
}

#[test]
fn each_ack_leaves_a_record_of_the_sender() {
    if lacks_root() {
        return;
    }
    let Some(seen) = bulk("50 packets", 1000) else { return };
    let [flow] = &seen.traced.flows[..] else { panic!("{}", seen.traced.flows.len()) };
    let (first, last) = (flow.records[0], *flow.records.last().unwrap());
    // The kernel's counters of the same connection, read in another way.
    let row = last.row(0, Instant::ZERO);
    let info = seen.last.row(true);
    assert_eq!(row.sent_bytes, info.sent_bytes);
    assert_eq!((row.sent_packets, row.rwnd_bytes > 0), (info.sent_packets, true));
    assert_eq!((row.retransmitted_packets, row.timeouts), (info.retransmitted_packets, info.timeouts));
    // The record does not include its own ACK, which may move the window a little.
    assert!(row.cwnd_bytes.abs_diff(info.cwnd_bytes) <= 2 * u64::from(last.mss_bytes), "{row:?} {info:?}");
    assert!(row.rto_ns.abs_diff(info.rto_ns) <= 20_000_000, "{row:?} {info:?}");
    assert!(row.srtt_ns.abs_diff(info.srtt_ns) < row.srtt_ns / 4, "{row:?} {info:?}");
    assert!(last.flightsize_bytes <= 2 * last.mss_bytes && first.sent_bytes <= 10 * u64::from(first.mss_bytes));
    // About an ACK per two segments, each once, in order, within the time.
    let segments = flow.records.iter().filter(|record| record.event == Event::Segment).count() as u64;
    assert!((info.sent_packets / 4..=2 * info.sent_packets).contains(&segments), "{segments} of {info:?}");
    assert!(flow.records.is_sorted_by_key(|record| record.at_ns));
    assert!(first.at_ns > seen.began_ns && last.at_ns < seen.ended_ns);
    // A round trip takes 20 ms at least.
    assert!(flow.round_trips.min() >= 19_500_000 && flow.round_trips.count() > 50);
    assert_eq!((seen.traced.overruns, seen.traced.not_kept), (0, 0));
    assert_eq!(seen.traced.missing, Vec::<&str>::new());
}

#[test]
fn losses_show_as_retransmissions_and_phases() {
    if lacks_root() {
        return;
    }
    let Some(seen) = bulk("5 packets", 1500) else { return };
    let flow = &seen.traced.flows[0];
    let sent_again = u64::from(flow.records.last().unwrap().retransmitted_packets);
    assert_eq!(sent_again, seen.last.row(true).retransmitted_packets);
    assert!(flow.retransmissions > 0 && flow.retransmissions <= sent_again, "{} of {sent_again}", flow.retransmissions);
    assert!(flow.fast_retransmits + flow.loss_recoveries > 0);
    let entry = flow.records.iter().find(|record| record.event == Event::Phase && record.phase == Phase::Recovery);
    assert!(entry.is_some_and(|record| record.lost_packets > 0 || record.sacked_packets > 0), "{entry:?}");
}

#[test]
fn the_end_that_sends_is_the_one_watched() {
    let scenario = scenario(
        "[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n\
         kind = \"udp\"\nrate = \"1 Mb/s\"\n[[flows]]\nfrom = \"s1\"\nto = \"d1\"\n\
         kind = \"request_response\"\nresponse = \"1 kB\"",
    );
    assert_eq!(senders(&scenario), [(0, false), (2, true)]);
}

/// A record of flow 5 as the program writes it: a timeout of 84 jiffies, where 50 jiffies are 200 ms.
fn written(srtt_eighths: u32, rtt_us: u32, delivered: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for long in [7_000_000_u64, 1, 2, 3] {
        bytes.extend(long.to_ne_bytes());
    }
    let head = [5, 10, 0x7fff_ffff, srtt_eighths, rtt_us];
    let tail = [84, 50, 65_535, 14_480, 10, 2, 1, 1, 1448, delivered, 11, 1, u32::MAX];
    bytes.extend(head.iter().chain(&tail).flat_map(|word: &u32| word.to_ne_bytes()));
    bytes.extend([2, 3, 0, 0, 0, 0, 0, 0]);
    bytes
}

#[test]
fn samples_that_the_kernel_does_not_keep_follow_from_its_smoothed_value() {
    // As in `tcp_rtt_estimator`.
    let smooth = |srtt: u32, sample: u32| srtt + sample - (srtt >> 3);
    let samples = [20_000, 20_500, 19_000, 45_677, 45_678, 301];
    let mut traced = Traced { flows: vec![FlowTrace::default(); 6], ..Traced::default() };
    let (mut srtt, mut kept) = (samples[0] << 3, 0);
    traced.take(&written(srtt, 0, 1), &mut kept);
    for (delivered, &sample) in (2..).zip(&samples[1..]) {
        srtt = smooth(srtt, sample);
        traced.take(&written(srtt, 0, delivered), &mut kept);
        // A segment that acknowledges nothing new brings no sample.
        traced.take(&written(srtt, 0, delivered), &mut kept);
    }
    let flow = &traced.flows[5];
    let inferred: Vec<_> = flow.records.iter().filter_map(|record| record.rtt_ns).collect();
    let wanted: Vec<_> = samples[1..].iter().map(|&us| u64::from(us) * 1000).collect();
    assert_eq!(inferred, wanted);
    assert_eq!((flow.round_trips.count(), flow.round_trips.max()), (5, 45_678_000));
    traced.take(&written(smooth(srtt, 9), 777, 50), &mut kept);
    assert_eq!(traced.flows[5].records.last().unwrap().rtt_ns, Some(777_000), "what is kept is taken");
}

#[test]
fn a_record_is_read_as_the_program_wrote_it() {
    let bytes = written(160_000, 20_500, 4);
    let (flow, record) = Record::from_bytes(&bytes).unwrap();
    assert_eq!((flow, record.at_ns, record.event, record.phase), (5, 7_000_000, Event::Phase, Phase::Recovery));
    assert_eq!((record.cwnd_packets, record.ssthresh_packets, record.timeouts), (10, None, None));
    let (srtt, rtt, rto) = (record.srtt_ns, record.rtt_ns, record.rto_ns);
    assert_eq!((srtt, rtt, rto), (Some(20_000_000), Some(20_500_000), Some(336_000_000)));
    assert_eq!((record.inflight_packets(), record.mss_bytes, record.flightsize_bytes), (8, 1448, 14_480));
    assert_eq!(Record::from_bytes(&bytes[1..]), None);
}
