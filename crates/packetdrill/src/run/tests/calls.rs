//! System calls, commands and code.

use super::*;
use crate::call::{Control, Data, EpollEvent, Errno, SystemCall};
use crate::host::Fd;
use crate::symbols;

/// Runs one more call on the accepted connection, with the host's answer.
fn call(script: &str, answer: Answer) -> (Outcome, SystemCall) {
    let mut fake = server();
    fake.answers.push_back(answer);
    let outcome = serve(&mut fake, &format!("+0 {script}\n"));
    (outcome, fake.calls[4].clone())
}

fn now(value: i64) -> Answer {
    Answer::Now(CallResult::value(value))
}

fn first_field(outcome: Outcome) -> String {
    let found = mismatch(outcome).differences.remove(0);
    format!("{}: {} {}", found.field, found.expected, found.actual)
}

#[test]
fn files_of_the_script_are_mapped_to_those_of_the_host() {
    let (outcome, made) = call("write(4, ..., 10) = 10", now(10));
    matched(&outcome);
    let SystemCall::Send { fd, buffers, .. } = made else { panic!("{made:?}") };
    assert_eq!((fd, buffers), (Fd(108), vec![Data::Zeros(10)]));
    let (outcome, _) = call("write(9, ..., 10) = 10", now(10));
    assert!(matches!(&outcome.verdict, Verdict::Failed { reason, .. } if reason == "file 9 is not open in the script"));
}

#[test]
fn results_and_errors_are_compared() {
    let again = || Answer::Now(CallResult::error(Errno(11)));
    matched(&call("read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)", again()).0);
    matched(&call("read(4, ..., 10) = -1", again()).0);
    assert_eq!(first_field(call("read(4, ..., 10) = -1 EPIPE", again()).0), "error: EPIPE EAGAIN");
    assert_eq!(first_field(call("read(4, ..., 10) = 7", again()).0), "result: 7 -1 EAGAIN");
    assert_eq!(first_field(call("read(4, ..., 10) = 7", now(8)).0), "result: 7 8");
    assert_eq!(first_field(call("read(4, ..., 10) = -1 EAGAIN", now(8)).0), "result: -1 EAGAIN 8");
}

#[test]
fn a_sleeping_call_must_return_in_time() {
    let sleeping = |millis| Answer::After(Duration::from_millis(millis), CallResult::value(5));
    matched(&call("read(4, ..., 5) = 5", sleeping(500)).0);
    matched(&call("...0.2 read(4, ..., 5) = 5", sleeping(200)).0);
    let early = first_field(call("...0.2 read(4, ..., 5) = 5", sleeping(100)).0);
    assert!(early.starts_with("time of return: 0.300000 s, with a tolerance of 0.025000 s 0.200000 s"), "{early}");
    let at_once = first_field(call("...0.2 read(4, ..., 5) = 5", now(5)).0);
    assert!(at_once.starts_with("time of return"), "{at_once}");
    assert_eq!(first_field(call("read(4, ..., 5) = 5", Answer::Never).0), "return: returns at once still sleeping");
    let never = first_field(call("...0.2 read(4, ..., 5) = 5", Answer::Never).0);
    assert_eq!(never, "return: returns at 0.300000 s still sleeping");
}

#[test]
fn options_of_sockets_are_bytes() {
    let (outcome, made) = call("setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=2}, 8) = 0", now(0));
    matched(&outcome);
    let SystemCall::SetOption { value, length, .. } = made else { panic!("{made:?}") };
    assert_eq!((value, length), ([1_i32.to_ne_bytes(), 2_i32.to_ne_bytes()].concat(), 8));
    let (_, made) = call(r#"setsockopt(4, SOL_TCP, TCP_FASTOPEN_KEY, "\x01a", 3) = 0"#, now(0));
    assert!(matches!(made, SystemCall::SetOption { value, length: 3, .. } if value == [1, b'a']));
    let value = |n: i32| Answer::Now(CallResult::with(0, Output::Option(n.to_ne_bytes().to_vec())));
    matched(&call("getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0", value(1000)).0);
    let other = first_field(call("getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0", value(900)).0);
    assert_eq!(other, "value of the option: 1000 900");
    matched(&call("ioctl(4, SIOCINQ, [3]) = 0", Answer::Now(CallResult::with(0, Output::Integer(3)))).0);
    assert!(first_field(call("ioctl(4, SIOCINQ, [3]) = 0", now(0)).0).starts_with("value written: 3 nothing"));
}

#[test]
fn readiness_is_compared_by_name() {
    let ready = |bits: i16| Answer::Now(CallResult::with(1, Output::Ready(vec![bits])));
    let script = "poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1";
    matched(&call(script, ready(4)).0);
    assert_eq!(first_field(call(script, ready(5)).0), "revents: POLLOUT POLLIN|POLLOUT");
    let event = |events, data| Answer::Now(CallResult::with(1, Output::Events(vec![EpollEvent { events, data }])));
    let mut fake = server();
    fake.answers.extend([now(109), now(0), event(4, 108)]);
    let outcome = serve(
        &mut fake,
        "+0 epoll_create(1) = 5
         +0 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLOUT|EPOLLET, fd=4}) = 0
         +0 epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0) = 1\n",
    );
    matched(&outcome);
    let SystemCall::EpollControl { epoll, fd, event: Some(added), .. } = &fake.calls[5] else { panic!() };
    assert_eq!((*epoll, *fd, added.events, added.data), (Fd(109), Fd(108), 0x8000_0004, 108));
}

#[test]
fn messages_have_flags_and_control_messages() {
    let script = "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 0}], msg_flags=MSG_ERRQUEUE,
        msg_control=[{cmsg_level=SOL_IP, cmsg_type=IP_RECVERR, cmsg_data={ee_errno=0, ee_origin=5, ee_type=0,
        ee_code=1, ee_info=2, ee_data=3}}]}, MSG_ERRQUEUE) = 0";
    let message = |info: u8, flags| {
        let mut data = vec![0; 32];
        (data[4], data[6], data[8], data[12]) = (5, 1, info, 3);
        let control = vec![Control { level: symbols::SOL_IP, kind: symbols::IP_RECVERR, data }];
        Answer::Now(CallResult::with(0, Output::Message { bytes: Vec::new(), control, flags }))
    };
    let (outcome, made) = call(script, message(2, symbols::MSG_ERRQUEUE));
    matched(&outcome);
    assert!(matches!(made, SystemCall::Receive { control: 48, .. }), "{made:?}");
    assert_eq!(first_field(call(script, message(2, 0)).0), "msg_flags: MSG_ERRQUEUE 0");
    assert!(first_field(call(script, message(7, symbols::MSG_ERRQUEUE)).0).contains("ee_info=7"));
}

#[test]
fn timestamps_of_messages_are_times_of_the_script() {
    let script = "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 0}], msg_flags=0, msg_control=[{
        cmsg_level=SOL_SOCKET, cmsg_type=SCM_TIMESTAMPING, cmsg_data={scm_sec=0, scm_nsec=100000000}}]}, 0) = 0";
    for (millis, matches) in [(5100_u64, true), (5103, true), (5110, false)] {
        let mut data = (millis / 1000).to_ne_bytes().to_vec();
        data.extend((millis % 1000 * 1_000_000).to_ne_bytes());
        data.resize(48, 0);
        let control = vec![Control { level: symbols::SOL_SOCKET, kind: symbols::SCM_TIMESTAMPING, data }];
        let output = Output::Message { bytes: Vec::new(), control, flags: 0 };
        let (outcome, _) = call(script, Answer::Now(CallResult::with(0, output)));
        assert_eq!(outcome.verdict == Verdict::Matched, matches, "{millis}: {:?}", outcome.verdict);
    }
}

#[test]
fn what_a_host_lacks_is_unsupported_with_its_line() {
    let (outcome, _) = call("setsockopt(4, SOL_SOCKET, SO_MARK, [7], 4) = 0", Answer::Unsupported);
    let reason = "SO_MARK: the simulated host has no marks".to_owned();
    assert_eq!(outcome.verdict, Verdict::Unsupported { line: 9, reason });
    let outcome = serve(&mut server(), "+0 cap_set(1, 2, 3) = 0\n");
    assert!(matches!(outcome.verdict, Verdict::Unsupported { line: 9, .. }));
}

#[test]
fn the_cleanup_command_runs_after_a_difference_too() {
    let mut fake = server();
    let script = format!("`prepare`\n{SERVER}+0 > . 1:1(0) ack 1\n+0 `never`\n`tidy`");
    mismatch(run(&plan(&script), &mut fake));
    assert_eq!(fake.commands, ["prepare", "tidy"]);
    let mut fake = server();
    let found = mismatch(run(&plan(&format!("`false`\n{SERVER}`tidy`")), &mut fake));
    assert_eq!((found.what.as_str(), fake.commands.len(), fake.calls.len()), ("command", 1, 0));
}

#[test]
fn code_is_recorded_with_the_state_of_the_connection() {
    let outcome = serve(&mut server(), "+.1 %{ assert tcpi_snd_cwnd == 10 }%\n+0 close(4) = 0\n+0 %{ pass }%\n");
    matched(&outcome);
    assert_eq!(outcome.code[0].text, "assert tcpi_snd_cwnd == 10");
    assert_eq!((outcome.code[0].line, outcome.code[0].at), (9, Duration::from_millis(200)));
    assert_eq!(outcome.code[0].info.as_ref().and_then(|info| info.get("tcpi_snd_cwnd")), Some(10));
    assert_eq!(outcome.code[1].info, None);
}

#[test]
fn wrong_arguments_are_errors_of_the_script() {
    let message = |call: &str| {
        let script = parse("t.pkt", &format!("0 {call}"), &BTreeMap::new()).unwrap();
        let options = Options::resolve("t.pkt", &script.options, &[]).unwrap();
        Plan::new("t.pkt", &script, &options).unwrap_err().to_string()
    };
    assert_eq!(message("close() = 0"), "t.pkt:1: close(): 0 arguments; expected 1");
    assert_eq!(message("fcntl(3, F_WRONG) = 0"), "t.pkt:1: fcntl(): unknown symbol `F_WRONG`");
    assert_eq!(message("read(3, ..., -1) = 0"), "t.pkt:1: read(): a length of -1 bytes; allowed are 0 to 67108864");
    assert_eq!(message("close(3) = -1 EWRONG"), "t.pkt:1: close(): unknown error `EWRONG`");
    assert!(message("readv(3, [{..., 1}], 2) = 0").contains("the count is 2, but the iovec has 1 elements"));
    assert!(message("poll([{fd=1, events=0, colour=1}], 1, 0) = 0").contains("unknown member `colour`"));
}
