//! Scripts of our own on the simulated host: calls, command lines, what is refused, and that a run repeats to the bit.

#![allow(clippy::unwrap_used, clippy::panic)]

use narrows_packetdrill::options::Options;
use narrows_packetdrill::run::{Outcome, Plan, Verdict, run};
use narrows_packetdrill::simulated::Simulated;
use narrows_packetdrill::syntax::parse;
use std::collections::BTreeMap;

/// A helper script as suites have one.
const DEFAULTS: &str = "# Settings of all scripts.\nip tcp_metrics flush all > /dev/null 2>&1\n\
                        sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\nsysctl -q net.ipv4.tcp_sack=1\n\
                        tc qdisc add dev tun0 root pfifo\n";

fn drill(text: &str) -> Outcome {
    let script = parse("t.pkt", text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::resolve("t.pkt", &script.options, &[]).unwrap();
    let plan = Plan::new("t.pkt", &script, &options).unwrap_or_else(|error| panic!("{error}"));
    let helper = |name: &str| (name == "../defaults.sh").then(|| DEFAULTS.to_owned());
    run(&plan, &mut Simulated::new(&options, Box::new(helper)))
}

fn matches(text: &str) {
    let outcome = drill(text);
    assert_eq!(outcome.verdict, Verdict::Matched, "{:#?}", outcome.steps);
}

/// A connection that the host accepted as file 4.
const ACCEPTED: &str = "`../defaults.sh`
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK,nop,wscale 8>
 +.01 < . 1:1(0) ack 1 win 257
   +0 accept(3, ..., ...) = 4
";

#[test]
fn data_both_ways_and_an_orderly_end() {
    matches(&format!(
        "{ACCEPTED}
   +0 write(4, ..., 2000) = 2000
   +0 > P. 1:2001(2000) ack 1
 +.01 < P. 1:501(500) ack 2001 win 257
   +0 > . 2001:2001(0) ack 501
   +0 ioctl(4, SIOCINQ, [500]) = 0
   +0 read(4, ..., 4096) = 500
   +0 close(4) = 0
   +0 > F. 2001:2001(0) ack 501
 +.01 < F. 501:501(0) ack 2002 win 257
   +0 > . 2002:2002(0) ack 502
"
    ));
}

#[test]
fn a_difference_is_reported_with_its_line() {
    let outcome = drill(&format!("{ACCEPTED}   +0 write(4, ..., 2000) = 1999\n"));
    let Verdict::Differed(mismatch) = outcome.verdict else { panic!("{:?}", outcome.verdict) };
    assert_eq!((mismatch.line, mismatch.what.as_str()), (10, "result of write()"));
    assert_eq!((mismatch.differences[0].expected.as_str(), mismatch.differences[0].actual.as_str()), ("1999", "2000"));
}

#[test]
fn settings_and_routes_are_obeyed() {
    matches(
        "`../defaults.sh
  sysctl -q net.ipv4.tcp_timestamps=0
  ip route change 192.0.2.1 via 192.168.0.1 dev tun0 advmss 600 mtu lock 640`
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
   +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
   +0 > S 0:0(0) <mss 600,nop,nop,sackOK,nop,wscale 8>
 +.01 < S. 0:0(0) ack 1 win 5792 <mss 1460,nop,nop,sackOK,nop,wscale 7>
   +0 > . 1:1(0) ack 1
   +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
   +0 `../set_sysctls.py /proc/sys/net/ipv4/tcp_sack=0`
   +0 `/tmp/sysctl_restore_${PPID}.sh`
",
    );
}

#[test]
fn what_cannot_be_obeyed_is_refused_with_the_line_and_the_reason() {
    let cases = [
        ("`sysctl -q net.ipv4.tcp_magic=1`", "`net.ipv4.tcp_magic` is no sysctl of this host"),
        ("`sysctl -q net.ipv4.tcp_sack=7`", "allowed is an integer from 0 to 1"),
        ("`reboot now`", "the simulated host has no such command"),
        ("`tc qdisc add dev tun0 root netem loss 1%`", "supported are the queue disciplines pfifo and fq"),
        ("`./missing.sh`", "there is no such helper script"),
        ("`while true; do ls; done`", "has no such command"),
        ("`echo $(date)`", "is not supported"),
    ];
    for (command, wanted) in cases {
        let outcome = drill(&format!("`../defaults.sh`\n0 {command}\n"));
        let Verdict::Unsupported { line, reason } = outcome.verdict else { panic!("{command}: {:?}", outcome.verdict) };
        assert_eq!(line, 2, "{command}");
        assert!(reason.contains(wanted), "{command}: {reason}");
    }
}

#[test]
fn counters_and_listeners_are_shown_to_commands() {
    matches(&format!(
        "{ACCEPTED}
   +0 `nstat > /dev/null`
   +0 `grep \" 0A \" /proc/net/tcp /proc/net/tcp6 | grep \":1F90\"`
   +0 close(3) = 0
"
    ));
    let outcome = drill(&format!("{ACCEPTED}   +0 `nstat | grep -q TcpExtNothing`\n"));
    assert!(matches!(outcome.verdict, Verdict::Differed(_)), "grep finds nothing");
}

/// Values of a field of `tcp_info` at each piece of code.
fn seen(outcome: &Outcome, field: &str) -> Vec<u64> {
    assert_eq!(outcome.verdict, Verdict::Matched, "{:#?}", outcome.steps);
    outcome.code.iter().map(|code| code.info.as_ref().and_then(|info| info.get(field)).unwrap()).collect()
}

/// `tcp_may_raise_cwnd` of Linux: once reordering went beyond DupThresh, data that arrives out of order counts too.
/// Linux 6.18 has the same values.
#[test]
fn the_window_grows_by_sacks_once_reordering_was_seen() {
    let outcome = drill(&format!(
        "{ACCEPTED}
   +0 write(4, ..., 10000) = 10000
   +0 > P. 1:10001(10000) ack 1
 +.02 < . 1:1(0) ack 1 win 257 <sack 9001:10001,nop,nop>
   +0 %{{ }}%
   +0 < . 1:1(0) ack 1 win 257 <sack 3001:4001 9001:10001,nop,nop>
   +0 %{{ }}%
   +0 < . 1:1(0) ack 10001 win 257
   +0 %{{ }}%
"
    ));
    assert_eq!(seen(&outcome, "tcpi_reordering"), [3, 7, 10]);
    assert_eq!(seen(&outcome, "tcpi_snd_cwnd"), [10, 11, 19]);
}

/// `__tcp_ack_snd_check` of Linux looks at the window before it asks for quick ACKs, and a window that half of the
/// memory is too small for ends them. Linux 6.18 waits as well.
#[test]
fn a_segment_that_fills_the_buffer_is_not_acknowledged_at_once() {
    let text = |length: u32| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000>
   +0 > S. 0:0(0) ack 1 win 18980 <mss 1460>
 +.01 < . 1:1(0) ack 1 win 30000
   +0 accept(3, ..., ...) = 4
   +0 < P. 1:{end}({length}) ack 1 win 30000
   +0 < R. {end}:{end}(0) ack 1 win 30000
   +0 < . {end}:{end}(0) ack 1 win 30000
   +0 > R 1:1(0)
",
            end = length + 1
        )
    };
    matches(&text(18_980));
    let outcome = drill(&text(1_000));
    assert!(matches!(outcome.verdict, Verdict::Differed(_)), "a small one is: {:#?}", outcome.steps);
}

#[test]
fn a_run_repeats_to_the_bit() {
    let text = format!(
        "{ACCEPTED}
   +0 write(4, ..., 30000) = 30000
   +0 > P. 1:10001(10000) ack 1
 +.01 < . 1:1(0) ack 1 win 257 <sack 2001:4001,nop,nop>
 +.02 < . 1:1(0) ack 10001 win 257
"
    );
    let first = drill(&text);
    for _ in 0..1_000 {
        assert_eq!(drill(&text), first);
    }
}
