//! Calls and packets in states in which they are rare: what Linux answers there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod bench;

use bench::{ACK, Bench, HERE, PEER, SYN, done};
use core::net::SocketAddr;
use narrows_socket::number::{epoll, event, family, file, level, msg, report, shut, so, tcp};
use narrows_socket::{Detail, EpollEvent, Errno, Payload, Progress, Send};
use narrows_units::{Instant, SeqNum};
use narrows_wire::{Ip, Packet, TcpFlags, TcpRepr, Transport};

const FIN: TcpFlags = TcpFlags::FIN;

fn there() -> SocketAddr {
    SocketAddr::new(PEER.into(), 9000)
}

/// Sends a SYN from another port of the peer.
fn syn_from(bench: &mut Bench, port: u16) {
    let tcp = TcpRepr { src_port: port, dst_port: 8080, flags: SYN, window: 1_000, ..TcpRepr::default() };
    let ip = Ip::between(PEER.into(), HERE.into());
    bench.host.receive(&Packet { ip, transport: Transport::Tcp(tcp), payload_len: 0 });
    bench.pass(0);
}

/// An ICMP message of type 3 about a segment of the connection that the host accepted.
fn unreachable(bench: &mut Bench, code: u8) {
    let tcp = TcpRepr {
        src_port: 8080,
        dst_port: 9000,
        seq: bench.first + narrows_units::Bytes::new(1),
        ..TcpRepr::default()
    };
    let ip = Ip::between(HERE.into(), PEER.into());
    let about = Packet { ip, transport: Transport::Tcp(tcp), payload_len: 0 }.emit();
    let mut bytes = vec![0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0];
    bytes.extend_from_slice(&PEER.octets());
    bytes.extend_from_slice(&HERE.octets());
    bytes.extend_from_slice(&[3, code, 0, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&about[..28]);
    bench.host.receive_bytes(&bytes).unwrap();
    bench.pass(0);
}

fn set(bench: &mut Bench, fd: i32, level: i32, name: i32, value: i32) -> Result<i64, Errno> {
    bench.host.set_option(fd, level, name, &value.to_le_bytes())
}

#[test]
fn time_without_end_passes_at_once_where_nothing_happens() {
    let mut bench = Bench::new();
    let before = bench.host.now();
    assert_eq!(bench.host.advance(Instant::NEVER), None);
    assert_eq!(bench.host.now(), before);
}

#[test]
fn a_refused_socket_may_connect_again() {
    let mut bench = Bench::new();
    let (fd, _) = bench.connecting(true);
    bench.peer_sends(TcpFlags::RST, 0, Some(1), 0);
    assert_eq!(done(bench.host.connect(fd, there())), Err(Errno::ECONNREFUSED));
    assert_eq!(done(bench.host.connect(fd, there())), Err(Errno::EINPROGRESS));
    bench.pass(0);
    let syn = bench.sent.pop().expect("another SYN");
    assert_eq!(syn.tcp().unwrap().flags, SYN);
}

#[test]
fn a_connection_that_was_reset_is_still_connected_for_connect() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.peer_sends(TcpFlags::RST, 1, Some(1), 0);
    assert_eq!(done(bench.host.connect(fd, there())), Err(Errno::EISCONN));
}

#[test]
fn a_shutdown_while_connecting_gives_up() {
    let mut bench = Bench::new();
    let (fd, progress) = bench.connecting(false);
    assert!(matches!(progress, Progress::Blocked(_)));
    assert_eq!(bench.host.shutdown(fd, shut::READ), Ok(0));
    bench.pass(0);
    assert_eq!(bench.returned.pop().unwrap().1.value, Err(Errno::ECONNRESET));
    bench.pass(100_000);
    assert!(bench.sent.is_empty(), "no other SYN");
}

#[test]
fn a_simultaneous_open_can_be_reset() {
    // RFC 9293, section 3.10.7.4: a connection reset in SYN-RECEIVED after an active open.
    let mut bench = Bench::new();
    let (fd, _) = bench.connecting(true);
    bench.peer_sends(SYN, 0, None, 0);
    bench.peer_sends(TcpFlags::RST, 1, None, 0);
    assert_eq!(bench.error(fd), Errno::ECONNRESET.number());
}

#[test]
fn a_receive_that_waits_for_all_takes_more_than_the_buffer_holds() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    set(&mut bench, fd, level::SOCKET, so::RCVBUF, 3_000).unwrap();
    let Progress::Blocked(_) = bench.read(fd, 20_000, msg::WAITALL) else { panic!("nothing is there") };
    for n in 0..20 {
        assert!(bench.returned.is_empty());
        bench.peer_sends(ACK, 1 + n * 1_000, Some(1), 1_000);
    }
    assert_eq!(bench.returned.pop().expect("all").1.value, Ok(20_000));
}

#[test]
fn a_receive_that_may_not_sleep_returns_a_part_although_all_was_wanted() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.peer_sends(ACK, 1, Some(1), 500);
    assert_eq!(done(bench.read(fd, 1_000, msg::WAITALL | msg::DONTWAIT | msg::PEEK)), Ok(500));
    assert_eq!(done(bench.read(fd, 1_000, msg::WAITALL | msg::DONTWAIT)), Ok(500));
    assert_eq!(done(bench.read(fd, 1_000, msg::WAITALL | msg::DONTWAIT)), Err(Errno::EAGAIN));
}

#[test]
fn a_receive_that_waits_for_all_returns_what_came_before_the_end() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    let Progress::Blocked(_) = bench.read(fd, 1_000, msg::WAITALL) else { panic!("nothing is there") };
    bench.peer_sends(ACK, 1, Some(1), 300);
    assert!(bench.returned.is_empty());
    bench.peer_sends(FIN, 301, Some(1), 0);
    assert_eq!(bench.returned.pop().unwrap().1.value, Ok(300));
}

#[test]
fn a_read_sleeps_until_the_low_water_mark_is_reached() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    set(&mut bench, fd, level::SOCKET, so::RCVLOWAT, 600).unwrap();
    let Progress::Blocked(_) = bench.read(fd, 1_000, 0) else { panic!("nothing is there") };
    bench.peer_sends(ACK, 1, Some(1), 500);
    assert!(bench.returned.is_empty());
    bench.peer_sends(ACK, 501, Some(1), 200);
    assert_eq!(bench.returned.pop().unwrap().1.value, Ok(700));
    bench.peer_sends(ACK, 701, Some(1), 100);
    assert_eq!(done(bench.host.poll(&[(fd, event::IN)], 0)), Ok(0), "100 are below the mark");
    assert_eq!(done(bench.read(fd, 50, 0)), Ok(50), "no more was asked for");
}

#[test]
fn a_low_water_mark_is_at_most_half_of_the_buffer() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    set(&mut bench, fd, level::SOCKET, so::RCVBUF, 4_000).unwrap();
    set(&mut bench, fd, level::SOCKET, so::RCVLOWAT, -1).unwrap();
    assert_eq!(bench.host.option(fd, level::SOCKET, so::RCVLOWAT).unwrap(), 4_000i32.to_le_bytes());
}

#[test]
fn a_full_window_is_readable_below_the_low_water_mark() {
    let mut bench = Bench::new();
    let listener = bench.listener();
    set(&mut bench, listener, level::SOCKET, so::RCVBUF, 4_000).unwrap();
    bench.handshake();
    let fd = i32::try_from(done(bench.host.accept(listener, 0)).unwrap()).unwrap();
    set(&mut bench, fd, level::SOCKET, so::RCVLOWAT, 4_000).unwrap();
    for n in 0..3 {
        bench.peer_sends(ACK, 1 + n * 1_000, Some(1), 1_000);
    }
    let Ok(waiting) = bench.host.ioctl(fd, file::SIOCINQ) else { panic!("a connection") };
    assert!(waiting < 4_000);
    assert_eq!(done(bench.host.poll(&[(fd, event::IN)], 0)), Ok(1), "the peer can send no more");
}

#[test]
fn lengths_beyond_all_bounds_are_cut() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
    for flags in [0, msg::ZEROCOPY] {
        let send = Send { fd, parts: vec![Payload::Bytes(u64::MAX); 3], flags, to: None };
        let taken = done(bench.host.send(&send));
        assert!(matches!(taken, Ok(_) | Err(Errno::EAGAIN)), "{taken:?}");
    }
    bench.peer_sends(ACK, 1, Some(1), 500);
    assert_eq!(done(bench.read(fd, u64::MAX, 0)), Ok(500));
}

#[test]
fn an_icmp_error_that_is_wanted_does_not_end_an_established_connection() {
    // RFC 1122, section 4.2.3.9, as Linux follows it: told, and tried on.
    let mut bench = Bench::new();
    let fd = bench.accepted();
    set(&mut bench, fd, level::IP, narrows_socket::number::ip::RECVERR, 1).unwrap();
    unreachable(&mut bench, 1);
    assert_eq!(done(bench.read(fd, 10, msg::DONTWAIT)), Err(Errno::EHOSTUNREACH), "told once");
    assert_eq!(done(bench.read(fd, 10, msg::DONTWAIT)), Err(Errno::EAGAIN));
    assert_eq!(done(bench.write(fd, 10)), Ok(10), "it goes on");
}

#[test]
fn a_soft_error_is_read_by_so_error_once() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    unreachable(&mut bench, 0);
    assert_eq!(done(bench.read(fd, 10, msg::DONTWAIT)), Err(Errno::EAGAIN));
    assert_eq!(bench.error(fd), Errno::ENETUNREACH.number());
    assert_eq!(bench.error(fd), 0);
}

#[test]
fn data_that_nobody_read_is_no_reason_for_a_reset_in_time_wait() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.shutdown(fd, shut::WRITE).unwrap();
    bench.pass(0);
    bench.peer_sends(ACK, 1, Some(2), 100);
    bench.peer_sends(FIN, 101, Some(2), 0);
    bench.taken();
    bench.host.close(fd).unwrap();
    bench.pass(1_000);
    assert_eq!(bench.taken(), []);
}

#[test]
fn nothing_is_kept_alive_in_time_wait() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    set(&mut bench, fd, level::TCP, tcp::KEEPIDLE, 1).unwrap();
    set(&mut bench, fd, level::SOCKET, so::KEEPALIVE, 1).unwrap();
    bench.host.close(fd).unwrap();
    bench.pass(0);
    bench.peer_sends(FIN, 1, Some(2), 0);
    bench.taken();
    bench.pass(50_000);
    assert_eq!(bench.taken(), []);
}

#[test]
fn a_descriptor_outlives_the_time_wait_that_a_syn_ends() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.shutdown(fd, shut::WRITE).unwrap();
    bench.pass(0);
    bench.peer_sends(FIN, 1, Some(2), 0);
    bench.peer_sends(SYN, 100_000, None, 0);
    let answer = bench.sent.pop().expect("a SYN-ACK");
    assert_eq!(answer.tcp().unwrap().flags, SYN.with(ACK));
    assert_eq!(done(bench.read(fd, 10, 0)), Ok(0), "the end of the old connection");
    assert_eq!(bench.host.close(fd), Ok(0));
}

#[test]
fn handshakes_under_way_are_limited() {
    let mut bench = Bench::new();
    bench.host.sysctls_mut().set("tcp_max_syn_backlog", "128").unwrap();
    bench.listener();
    for port in 1..=1_000 {
        syn_from(&mut bench, port);
    }
    assert_eq!(bench.sent.len(), 128);
    assert_eq!(bench.host.sockets(), 1 + 128);
    bench.pass(200_000);
    assert_eq!(bench.host.sockets(), 1, "given up");
}

#[test]
fn ready_files_are_reported_in_turn() {
    let mut bench = Bench::new();
    let listener = bench.listener();
    bench.handshake();
    let Progress::Done(answer) = bench.host.accept(listener, 0) else { panic!("nobody came") };
    let fd = i32::try_from(answer.value.unwrap()).unwrap();
    syn_from(&mut bench, 9_001);
    let other = bench.sent.pop().unwrap();
    let instance = bench.host.epoll_create(1).unwrap();
    for (fd, data) in [(fd, 1), (listener, 2)] {
        let wanted = EpollEvent { events: event::IN | event::OUT, data };
        bench.host.epoll_control(instance, epoll::ADD, fd, Some(wanted)).unwrap();
    }
    let tcp = TcpRepr {
        src_port: 9_001,
        dst_port: 8080,
        flags: ACK,
        seq: SeqNum::new(1),
        ack: other.tcp().unwrap().seq + narrows_units::Bytes::new(1),
        ..TcpRepr::default()
    };
    let ip = Ip::between(PEER.into(), HERE.into());
    bench.host.receive(&Packet { ip, transport: Transport::Tcp(tcp), payload_len: 0 });
    let mut next = || match bench.host.epoll_wait(instance, 1, 0) {
        Progress::Done(narrows_socket::Answer { detail: Detail::Events(events), .. }) => events[0].data,
        other => panic!("{other:?}"),
    };
    assert_eq!([next(), next(), next(), next()], [1, 2, 1, 2], "neither hides the other");
}

#[test]
fn listeners_share_a_port_only_by_reuseport() {
    let mut bench = Bench::new();
    let here = SocketAddr::new(HERE.into(), 8080);
    let (one, two) = (bench.socket(), bench.socket());
    for fd in [one, two] {
        set(&mut bench, fd, level::SOCKET, so::REUSEADDR, 1).unwrap();
        bench.host.bind(fd, here).unwrap();
    }
    assert_eq!(bench.host.listen(one, 1), Ok(0));
    assert_eq!(bench.host.listen(two, 1), Err(Errno::EADDRINUSE));
    let here = SocketAddr::new(HERE.into(), 8081);
    for _ in 0..2 {
        let fd = bench.socket();
        set(&mut bench, fd, level::SOCKET, so::REUSEPORT, 1).unwrap();
        assert_eq!(bench.host.bind(fd, here), Ok(0));
        assert_eq!(bench.host.listen(fd, 1), Ok(0));
    }
}

#[test]
fn two_connections_never_have_the_same_ends() {
    let mut bench = Bench::new();
    let here = SocketAddr::new(HERE.into(), 5_000);
    let connect = |bench: &mut Bench| {
        let fd = bench.socket();
        set(bench, fd, level::SOCKET, so::REUSEADDR, 1).unwrap();
        bench.host.fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
        bench.host.bind(fd, here).unwrap();
        done(bench.host.connect(fd, there()))
    };
    assert_eq!(connect(&mut bench), Err(Errno::EINPROGRESS));
    assert_eq!(connect(&mut bench), Err(Errno::EADDRNOTAVAIL));
}

#[test]
fn a_device_too_small_for_tcp_stops_nothing_but_the_connection() {
    let mut bench = Bench::new();
    bench.host.set_mtu(20);
    bench.host.sysctls_mut().set("tcp_fastopen", "0x5").unwrap();
    let fd = bench.socket();
    bench.host.fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
    let send = Send { fd, parts: vec![Payload::Bytes(500)], flags: msg::FASTOPEN, to: Some(there()) };
    assert_eq!(done(bench.host.send(&send)), Err(Errno::EINPROGRESS));
}

#[test]
fn options_take_the_values_that_linux_takes() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    assert_eq!(set(&mut bench, fd, level::TCP, tcp::WINDOW_CLAMP, 0), Err(Errno::EINVAL), "it is connected");
    set(&mut bench, fd, level::TCP, tcp::WINDOW_CLAMP, 1).unwrap();
    let clamp = bench.host.option(fd, level::TCP, tcp::WINDOW_CLAMP).unwrap();
    assert_eq!(clamp, 1_152i32.to_le_bytes(), "half of the least buffer");
    set(&mut bench, fd, level::SOCKET, so::RCVBUF, -1).unwrap();
    let size = bench.host.option(fd, level::SOCKET, so::RCVBUF).unwrap();
    assert_eq!(size, (2 * 4_194_304i32).to_le_bytes(), "an unsigned number, cut to rmem_max");
}

#[test]
fn a_disconnected_socket_keeps_its_port_and_buffers() {
    let mut bench = Bench::new();
    let fd = bench.socket();
    set(&mut bench, fd, level::SOCKET, so::SNDBUF, 10_000).unwrap();
    let (fd_port, here) = (5_000, SocketAddr::new(HERE.into(), 5_000));
    bench.host.bind(fd, here).unwrap();
    bench.host.fcntl(fd, file::SETFL, i64::from(file::NONBLOCK)).unwrap();
    let _ = bench.host.connect(fd, there());
    bench.host.disconnect(fd).unwrap();
    let other = bench.socket();
    assert_eq!(bench.host.bind(other, SocketAddr::new(HERE.into(), fd_port)), Err(Errno::EADDRINUSE));
    assert_eq!(bench.host.option(fd, level::SOCKET, so::SNDBUF).unwrap(), 20_000i32.to_le_bytes());
}

#[test]
fn a_v4_socket_and_one_for_v6_alone_share_a_port() {
    let mut bench = Bench::new();
    let v6 = bench.host.open_socket(family::INET6, family::STREAM, 0).unwrap();
    set(&mut bench, v6, level::IPV6, narrows_socket::number::ip::V6_ONLY, 1).unwrap();
    assert_eq!(bench.host.bind(v6, "[::]:8080".parse().unwrap()), Ok(0));
    let v4 = bench.socket();
    assert_eq!(bench.host.bind(v4, "0.0.0.0:8080".parse().unwrap()), Ok(0));
}

#[test]
fn timestamps_have_a_key_only_where_keys_are_asked_for() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    for (flags, key) in [(report::TX_SOFTWARE, 0), (report::TX_SOFTWARE | report::OPT_ID, 399u32)] {
        set(&mut bench, fd, level::SOCKET, so::TIMESTAMPING, flags as i32).unwrap();
        assert_eq!(done(bench.write(fd, 400)), Ok(400));
        let Progress::Done(answer) = bench.read(fd, 0, msg::ERRQUEUE) else { panic!("it never sleeps") };
        let Detail::Message { control, .. } = answer.detail else { panic!("a message") };
        assert_eq!(control[1].data[12..16], key.to_le_bytes(), "ee_data");
        bench.peer_sends(ACK, 1, Some(401), 0);
    }
}
