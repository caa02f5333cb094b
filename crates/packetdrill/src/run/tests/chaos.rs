//! Random events against a host that answers at random: nothing panics, and every run ends.

use super::*;
use crate::call::{Control, EpollEvent, Errno};
use crate::host::Fd;
use proptest::prelude::*;

/// Lines of scripts. Files 3 to 6 may be open or not.
const LINES: &[&str] = &[
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
    "socket(..., SOCK_DGRAM, IPPROTO_UDP) = 4",
    "bind(3, ..., ...) = 0",
    "listen(3, 1) = 0",
    "connect(3, ..., ...) = -1 EINPROGRESS (no)",
    "connect(3, AF_UNSPEC, ...) = 0",
    "accept(3, ..., ...) = 4",
    "...0.2 accept(3, ..., ...) = 5",
    "write(4, ..., 100) = 100",
    "...0.1 write(4, \"abc\", 100) = 100",
    "read(4, ..., 100) = -1 EAGAIN",
    "sendto(3, ..., 10, MSG_FASTOPEN, ..., ...) = 10",
    "recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{..., 5}], msg_flags=0}, 0) = 5",
    "poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 0) = 1",
    "epoll_create(1) = 6",
    "epoll_ctl(6, EPOLL_CTL_ADD, 4, {events=EPOLLIN, fd=4}) = 0",
    "epoll_wait(6, {events=EPOLLIN, fd=4}, 1, 0) = 1",
    "getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0",
    "ioctl(4, SIOCINQ, [5]) = 0",
    "pipe([5, 6]) = 0",
    "close(3) = 0",
    "close(4) = 0",
    "< S 0:0(0) win 1000 <mss 1000,TS val 1 ecr 0,nop,nop>",
    "< S. 5:5(0) ack 1 win 1000",
    "< . 1:1(0) ack 1 win 1000",
    "< P. 1:101(100) ack 1 win 1000 <nop,nop,TS val 2 ecr 100>",
    "< R. 1:1(0) ack 1 win 0",
    "< udp (10)",
    "< icmp unreachable frag_needed mtu 1000 [1:11(10)]",
    "> S 0:0(0) <...>",
    "> S. 0:0(0) ack 1 <...>",
    "> . 1:1(0) ack 1",
    "> P. 1:101(100) ack 1 <nop,nop,TS val 100 ecr 1>",
    "> udp (10)",
    "`true`",
    "`false`",
    "%{ assert True }%",
];

fn any_result() -> impl Strategy<Value = CallResult> {
    let output = prop_oneof![
        Just(Output::None),
        Just(Output::Address("192.0.2.1:49152".parse().unwrap())),
        Just(Output::Files(Fd(20), Fd(21))),
        any::<i64>().prop_map(Output::Integer),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(Output::Option),
        prop::collection::vec(any::<i16>(), 0..3).prop_map(Output::Ready),
        any::<(u32, u64)>().prop_map(|(events, data)| Output::Events(vec![EpollEvent { events, data }])),
        (any::<i32>(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(flags, data)| Output::Message {
            bytes: Vec::new(),
            control: vec![Control { level: 0, kind: 11, data }],
            flags,
        }),
    ];
    let value = prop_oneof![
        Just(Ok(0)),
        Just(Ok(100)),
        (7_i64..30).prop_map(Ok),
        any::<i64>().prop_map(Ok),
        prop_oneof![Just(11), Just(115), any::<i32>()].prop_map(|errno| Err(Errno(errno))),
    ];
    (value, output).prop_map(|(value, output)| CallResult { value, output })
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        6 => any_result().prop_map(Answer::Now),
        1 => (0_u64..300, any_result()).prop_map(|(millis, result)| Answer::After(Duration::from_millis(millis), result)),
        1 => Just(Answer::Never),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    (0_u64..50, any::<u8>(), 0_u32..200, any::<u32>(), 0_usize..120, any::<bool>()).prop_map(
        |(millis, bits, seq, ack, length, stamped)| {
            let flags = TcpFlags::from_bits(u16::from(bits));
            let seq = if flags.has(SYN) { 0 } else { seq };
            let stamp = vec![TcpOption::Nop, TcpOption::Nop, TcpOption::Timestamps { value: ack, echo: seq }];
            let options = if stamped { stamp } else { Vec::new() };
            Reply(Duration::from_millis(millis), TcpHeader { options, ..segment(flags, seq, ack, length) })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_run_ends_without_panic(
        lines in prop::collection::vec(0..LINES.len(), 1..15),
        answers in prop::collection::vec(any_answer(), 0..15),
        replies in prop::collection::vec(prop::collection::vec(any_reply(), 0..3), 0..15),
        after_calls in prop::collection::vec(prop::collection::vec(any_reply(), 0..2), 0..15),
    ) {
        let text: String = lines.iter().map(|at| format!("+0 {}\n", LINES[*at])).collect();
        let mut fake = Fake::new("192.168.0.2:8080", "192.0.2.1:8080");
        fake.answers.extend(answers);
        fake.after_packet.extend(replies);
        fake.after_call.extend(after_calls);
        let outcome = run(&plan(&text), &mut fake);
        if let Verdict::Differed(mismatch) = &outcome.verdict {
            prop_assert!(!mismatch.to_string().is_empty() && !mismatch.differences.is_empty());
        }
    }
}
