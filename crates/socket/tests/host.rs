//! A host with sockets, driven by calls and forged segments.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;

use bench::{ACK, Bench, HERE, PEER, SYN, done};
use core::net::SocketAddr;
use narrows_socket::number::{epoll, event, family, file, level, msg, shut, so, tcp};
use narrows_socket::{Detail, EpollEvent, Errno, Payload, Progress, Receive, Send};
use narrows_units::SeqNum;
use narrows_wire::TcpFlags;

#[test]
fn a_listener_accepts_and_data_goes_both_ways() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    assert_eq!(done(bench.write(fd, 2_500)), Ok(2_500));
    let sent: u32 = bench.taken().iter().map(|segment| segment.3).sum();
    assert_eq!(sent, 2_500);
    bench.peer_sends(ACK, 1, Some(2_501), 700);
    assert_eq!(bench.host.ioctl(fd, file::SIOCINQ), Ok(700));
    assert_eq!(bench.host.ioctl(fd, file::SIOCOUTQ), Ok(0));
    assert_eq!(done(bench.read(fd, 200, msg::PEEK)), Ok(200));
    assert_eq!(done(bench.read(fd, 1_000, 0)), Ok(700));
    assert_eq!(done(bench.read(fd, 1_000, msg::DONTWAIT)), Err(Errno::EAGAIN));
    bench.peer_sends(TcpFlags::FIN, 701, Some(2_501), 0);
    assert_eq!(done(bench.read(fd, 1_000, 0)), Ok(0), "the end");
}

#[test]
fn accept_and_read_sleep_until_something_comes() {
    let mut bench = Bench::new();
    let listener = bench.listener();
    let Progress::Blocked(ticket) = bench.host.accept(listener, 0) else { panic!("nobody is there") };
    bench.pass(1_000);
    bench.handshake();
    let (found, answer) = bench.returned.pop().expect("accept returns");
    assert_eq!((found, answer.value), (ticket, Ok(4)));
    assert_eq!(answer.detail, Detail::Peer(SocketAddr::new(PEER.into(), 9000)));
    let Progress::Blocked(_) = bench.read(4, 100, 0) else { panic!("nothing is there") };
    bench.peer_sends(ACK, 1, Some(1), 50);
    assert_eq!(bench.returned.pop().expect("read returns").1.value, Ok(50));
}

#[test]
fn a_connect_that_does_not_block_reports_its_progress() {
    let mut bench = Bench::new();
    let (fd, progress) = bench.connecting(true);
    assert_eq!(done(progress), Err(Errno::EINPROGRESS));
    let to = SocketAddr::new(PEER.into(), 9000);
    assert_eq!(done(bench.host.connect(fd, to)), Err(Errno::EALREADY));
    assert_eq!(done(bench.write(fd, 10)), Err(Errno::EAGAIN));
    bench.peer_sends(SYN, 0, Some(1), 0);
    assert_eq!(bench.taken(), [(ACK, 1, 1, 0)]);
    assert_eq!(bench.error(fd), 0);
    assert_eq!(done(bench.host.connect(fd, to)), Ok(0), "the end of the first");
    assert_eq!(done(bench.host.connect(fd, to)), Err(Errno::EISCONN));
}

#[test]
fn a_silent_connect_times_out() {
    let mut bench = Bench::new();
    bench.host.sysctls_mut().set("tcp_syn_retries", "2").unwrap();
    bench.host.sysctls_mut().set("tcp_syn_linear_timeouts", "0").unwrap();
    let (_, Progress::Blocked(_)) = bench.connecting(false) else { panic!("it must sleep") };
    bench.pass(200_000);
    assert_eq!(bench.returned.pop().unwrap().1.value, Err(Errno::ETIMEDOUT));
    assert_eq!(bench.taken().len(), 2, "retransmissions of the SYN");
}

#[test]
fn a_refused_connect_fails() {
    let mut bench = Bench::new();
    let (_, Progress::Blocked(_)) = bench.connecting(false) else { panic!("it must sleep") };
    bench.peer_sends(TcpFlags::RST, 0, Some(1), 0);
    assert_eq!(bench.returned.pop().unwrap().1.value, Err(Errno::ECONNREFUSED));
}

#[test]
fn a_reset_is_an_error_once_and_then_the_end() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.peer_sends(TcpFlags::RST, 1, Some(1), 0);
    assert_eq!(done(bench.read(fd, 10, 0)), Err(Errno::ECONNRESET));
    assert_eq!(done(bench.read(fd, 10, 0)), Ok(0));
    assert_eq!(done(bench.write(fd, 10)), Err(Errno::EPIPE));
}

#[test]
fn a_segment_for_nobody_is_refused() {
    let mut bench = Bench::new();
    bench.peer_sends(SYN, 7, None, 0);
    let refusal = bench.sent.pop().unwrap();
    let tcp = refusal.tcp().unwrap();
    assert_eq!((tcp.flags, tcp.seq, tcp.ack), (TcpFlags::RST.with(ACK), SeqNum::new(0), SeqNum::new(8)));
    bench.peer_sends(TcpFlags::RST, 7, None, 0);
    assert!(bench.sent.is_empty(), "no answer to a RST");
}

#[test]
fn close_resets_a_connection_with_unread_data() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.peer_sends(ACK, 1, Some(1), 50);
    bench.taken();
    bench.host.close(fd).unwrap();
    bench.pass(0);
    assert_eq!(bench.taken(), [(TcpFlags::RST.with(ACK), 1, 51, 0)]);
    assert_eq!(done(bench.read(fd, 1, 0)), Err(Errno::EBADF));
}

#[test]
fn after_close_the_connection_ends_by_itself_and_new_data_is_refused() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.close(fd).unwrap();
    bench.pass(0);
    assert_eq!(bench.taken(), [(TcpFlags::FIN.with(ACK), 1, 1, 0)]);
    bench.peer_sends(ACK, 1, Some(2), 0);
    bench.peer_sends(ACK, 1, Some(2), 10);
    assert_eq!(bench.taken(), [(TcpFlags::RST, 2, 0, 0)]);
}

#[test]
fn shutdown_sends_the_fin_and_forbids_writing() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    assert_eq!(bench.host.shutdown(fd, 3), Err(Errno::EINVAL));
    bench.host.shutdown(fd, shut::WRITE).unwrap();
    bench.pass(0);
    assert_eq!(bench.taken(), [(TcpFlags::FIN.with(ACK), 1, 1, 0)]);
    assert_eq!(done(bench.write(fd, 10)), Err(Errno::EPIPE));
    let fresh = bench.socket();
    assert_eq!(bench.host.shutdown(fresh, shut::WRITE), Err(Errno::ENOTCONN));
}

#[test]
fn a_write_sleeps_for_room_and_is_woken_when_a_third_is_free() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.set_option(fd, level::SOCKET, so::SNDBUF, &21_000i32.to_le_bytes()).unwrap();
    let size = bench.host.option(fd, level::SOCKET, so::SNDBUF).unwrap();
    assert_eq!(size, 42_000i32.to_le_bytes());
    let Progress::Blocked(_) = bench.write(fd, 61_000) else { panic!("42000 bytes of memory") };
    bench.peer_sends(ACK, 1, Some(10_001), 0);
    assert!(bench.returned.is_empty());
    bench.peer_sends(ACK, 1, Some(28_001), 0);
    assert_eq!(bench.returned.pop().expect("room").1.value, Ok(61_000));
}

#[test]
fn an_edge_is_reported_once_and_a_level_until_it_is_over() {
    for (flag, again) in [(0, 1), (event::EDGE, 0)] {
        let mut bench = Bench::new();
        let fd = bench.accepted();
        let instance = bench.host.epoll_create(1).unwrap();
        let wanted = EpollEvent { events: event::IN | flag, data: 9 };
        bench.host.epoll_control(instance, epoll::ADD, fd, Some(wanted)).unwrap();
        assert_eq!(bench.host.epoll_control(instance, epoll::ADD, fd, Some(wanted)), Err(Errno::EEXIST));
        assert_eq!(done(bench.host.epoll_wait(instance, 1, 0)), Ok(0));
        bench.peer_sends(ACK, 1, Some(1), 50);
        assert_eq!(done(bench.host.epoll_wait(instance, 1, 0)), Ok(1));
        assert_eq!(done(bench.host.epoll_wait(instance, 1, 0)), Ok(again));
    }
}

#[test]
fn poll_sleeps_until_its_time_is_over() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    let Progress::Blocked(_) = bench.host.poll(&[(fd, event::IN)], 30) else { panic!("nothing to read") };
    bench.pass(29);
    assert!(bench.returned.is_empty());
    bench.pass(1);
    assert_eq!(bench.returned.pop().unwrap().1.value, Ok(0));
    assert_eq!(done(bench.host.poll(&[(fd, event::OUT), (99, 0)], 30)), Ok(2), "room, and a descriptor that is none");
}

#[test]
fn bad_arguments_are_errors_by_linux_s_numbers() {
    let mut bench = Bench::new();
    let fd = bench.listener();
    let other = bench.socket();
    let here = |port| SocketAddr::new(HERE.into(), port);
    assert_eq!(bench.host.bind(other, here(8080)), Err(Errno::EADDRINUSE));
    assert_eq!(bench.host.bind(other, SocketAddr::new(PEER.into(), 1)), Err(Errno::EADDRNOTAVAIL));
    assert_eq!(bench.host.bind(fd, here(1)), Err(Errno::EINVAL), "bound already");
    assert_eq!(bench.host.bind(77, here(1)), Err(Errno::EBADF));
    assert_eq!(bench.host.open_socket(family::INET, 2, 0), Err(Errno::EPROTONOSUPPORT));
    assert_eq!(done(bench.read(fd, 1, 0)), Err(Errno::ENOTCONN));
    assert_eq!(bench.host.set_option(fd, level::TCP, 999, &[0; 4]), Err(Errno::ENOPROTOOPT));
    assert_eq!(bench.host.set_option(fd, level::TCP, tcp::NODELAY, &[1]), Err(Errno::EINVAL), "too short");
    let null = Send { fd: other, parts: vec![Payload::Null(5)], flags: 0, to: None };
    assert_eq!(done(bench.host.send(&null)), Err(Errno::EPIPE), "not connected comes first");
    let accepted = Bench::accepted(&mut Bench::new());
    assert_eq!(accepted, 4);
}

#[test]
fn a_null_pointer_is_a_bad_address() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    let null = Send { fd, parts: vec![Payload::Null(1_000)], flags: 0, to: None };
    assert_eq!(done(bench.host.send(&null)), Err(Errno::EFAULT));
    bench.peer_sends(ACK, 1, Some(1), 50);
    let receive = Receive { fd, parts: vec![Payload::Null(1_000)], flags: 0, control: false };
    assert_eq!(done(bench.host.receive_call(&receive)), Err(Errno::EFAULT));
}

#[test]
fn zero_copy_sends_are_reported_together() {
    let mut bench = Bench::new();
    let fd = bench.accepted();
    bench.host.set_option(fd, level::SOCKET, so::ZEROCOPY, &1i32.to_le_bytes()).unwrap();
    bench.host.set_option(fd, level::TCP, tcp::NODELAY, &1i32.to_le_bytes()).unwrap();
    for _ in 0..2 {
        let send = Send { fd, parts: vec![Payload::Bytes(400)], flags: msg::ZEROCOPY, to: None };
        assert_eq!(done(bench.host.send(&send)), Ok(400));
    }
    assert_eq!(done(bench.read(fd, 0, msg::ERRQUEUE)), Err(Errno::EAGAIN));
    bench.peer_sends(ACK, 1, Some(801), 0);
    let Progress::Done(answer) = bench.read(fd, 0, msg::ERRQUEUE) else { panic!("it never sleeps") };
    let Detail::Message { control, .. } = answer.detail else { panic!("a message") };
    assert_eq!(control[0].data[..16], [0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0], "sends 0 to 1, copied");
}

#[test]
fn the_same_calls_give_the_same_events() {
    let run = || {
        let mut bench = Bench::new();
        let fd = bench.accepted();
        done(bench.write(fd, 50_000)).unwrap();
        bench.pass(3_000);
        bench.sent
    };
    assert_eq!(run(), run());
}
