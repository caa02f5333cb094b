//! The language: what scripts mean, what is wrong with bad ones, and that nothing makes the parser panic.

#![allow(clippy::unwrap_used, clippy::panic)]

use narrows_packetdrill::notation;
use narrows_packetdrill::syntax::{
    Action, Body, Direction, Echoed, Expression, MAX_DEPTH, MAX_EVENTS, Packet, Script, Segment, TcpOption, TcpOptions,
    Tos, When, parse,
};
use narrows_units::Duration;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn read(text: &str) -> Script {
    parse("t.pkt", text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn message(text: &str) -> String {
    parse("t.pkt", text, &BTreeMap::new()).unwrap_err().to_string()
}

fn packet(text: &str) -> Packet {
    match read(&format!("0 {text}")).events.remove(0).action {
        Action::Packet(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn segment(text: &str) -> Segment {
    match packet(text).body {
        Body::Tcp(segment) => segment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_script() {
    let script = read(
        "// A comment
--local_ip=192.168.0.9
--define=CC=\"reno\" // another
--send_omit_free
/* a third,
   longer */
`../common/defaults.sh
 sysctl -q net.ipv4.tcp_sack=0`
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, CC, 4) = 0
# a fourth
  +.1 < S 0:0(0) win 1000 <mss 1460,nop,wscale 7>
   +0...0.200 accept(3, ..., ...) = 4
    * > F. 1:1(0) ack 1
+.1~+.2 > P. 1:11(10) ack 1 // the last
 0.500 %{ assert tcpi_snd_cwnd == 10, \\
          tcpi_snd_cwnd }%
  0.5 `true`
`tidy`",
    );
    let names: Vec<&str> = script.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["local_ip", "define", "send_omit_free"]);
    assert_eq!((script.options[1].value.as_deref(), script.options[1].line), (Some("CC=\"reno\""), 3));
    assert!(script.init.as_ref().is_some_and(|init| init.line == 7 && init.text.ends_with("tcp_sack=0")));
    assert_eq!(script.cleanup.as_ref().map(|command| command.text.as_str()), Some("tidy"));
    let micros = Duration::from_micros;
    let times: Vec<When> = script.events.iter().map(|event| event.when).collect();
    assert_eq!(
        times,
        [
            When::At(micros(0)),
            When::After(micros(0)),
            When::After(micros(100_000)),
            When::After(micros(0)),
            When::Any,
            When::AfterBetween(micros(100_000), micros(200_000)),
            When::At(micros(500_000)),
            When::At(micros(500_000)),
        ]
    );
    let lines: Vec<u32> = script.events.iter().map(|event| event.line).collect();
    assert_eq!(lines, [9, 10, 12, 13, 14, 15, 16, 18]);
    let Action::Call(call) = &script.events[1].action else { panic!() };
    assert_eq!(call.arguments[3], Expression::String(b"reno".to_vec()));
    let Action::Call(call) = &script.events[3].action else { panic!() };
    assert_eq!((call.name.as_str(), call.until), ("accept", Some(micros(200_000))));
    let Action::Code(code) = &script.events[6].action else { panic!() };
    assert!(code.starts_with("assert") && code.ends_with("tcpi_snd_cwnd"));
}

#[test]
fn every_option_of_tcp() {
    let options = "mss 1000,nop,nop,sackOK,TS val 1 ecr 2,wscale 7,nop,FO abcd,sack 1:2 3:4,eol,eol,eol,eol,eol";
    // More than 40 bytes are refused, so the list is read in parts.
    for part in [
        "mss 1000,nop,nop,sackOK,TS val 1 ecr 2,nop,wscale 7,nop,nop",
        "FO abcd1234,nop,nop",
        "FO,nop,nop",
        "FOEXP abcd1234abcd,nop,nop",
        "FOEXP,eol,nop,nop,nop",
        "nop,nop,sack 1:1001 2001:3001 4001:4001",
        "md5 000102030405060708090a0b0c0d0e0f,nop,nop",
        "ECN e0b 1 ceb 0 e1b 16777215,nop",
        "ECN e1b 1 ceb 0 e0b 1,nop",
        "ECN e1b 1,nop,nop,nop",
    ] {
        let read = segment(&format!("> . 1:1(0) ack 1 <{part}>"));
        let TcpOptions::List(list) = &read.options else { panic!() };
        assert_eq!(notation::options(list), part);
    }
    assert!(message(&format!("0 > . 1:1(0) <{options}>")).contains("TCP allows 40"));
    assert_eq!(segment("> . 1:1(0) ack 1 <...>").options, TcpOptions::Any);
    assert_eq!(segment("> . 1:1(0) ack 1").options, TcpOptions::List(Vec::new()));
    let counters = segment("> . 1:1(0) ack 1 <ECN e1b 3 ceb 2 e0b 1,nop>").options;
    let expected = TcpOption::AccEcn { ect1_first: true, counters: vec![3, 2, 1] };
    assert_eq!(counters, TcpOptions::List(vec![expected, TcpOption::Nop]));
}

#[test]
fn flags_and_ace() {
    let flags = segment("> SEWA 0:0(0)").flags;
    assert_eq!((flags.syn, flags.ack, flags.ace, flags.ace_as_number), (true, false, 7, false));
    let flags = segment("> P.5 1:2(1) ack 1").flags;
    assert_eq!((flags.psh, flags.ack, flags.ace, flags.ace_as_number), (true, true, 5, true));
    assert_eq!(segment("> F5. 1:1(0) ack 1").flags.ace, 5);
    let none = segment("< - 1:1(0) win 5").flags;
    assert_eq!(notation::flags(none), "-");
    assert!(message("0 > X. 1:1(0)").contains("`X` is no TCP flag"));
    assert!(message("0 > E.5 1:1(0)").contains("ACE is given both as a digit and as flags"));
}

#[test]
fn fields_of_ip_and_ports() {
    let read = packet("> [ect0] 80 > 1234 . 1:1(0) ack 1 win 5 urg 7");
    assert_eq!(read.ip.tos, Some(Tos::Ecn(2)));
    assert_eq!(notation::packet(&read), "> [ect0] 80 > 1234 . 1:1(0) ack 1 win 5 urg 7");
    let read = packet("> (tos 0x12, flowlabel 0x3) . 1:1(0)");
    assert_eq!((read.ip.tos, read.ip.flow_label), (Some(Tos::Byte(0x12)), Some(3)));
    assert_eq!(packet("< [ttl 7] . 1:1(0) win 5").ip.ttl, Some(7));
    assert_eq!(packet("> [ect01] . 1:1(0)").ip.tos, Some(Tos::AnyEct));
}

#[test]
fn icmp_and_udp() {
    let read = packet("< icmp unreachable frag_needed mtu 1200 [1:1461(1460)]");
    let Body::Icmp(icmp) = &read.body else { panic!() };
    assert_eq!((icmp.code.as_deref(), icmp.mtu), (Some("frag_needed"), Some(1200)));
    assert_eq!(icmp.echoed, Echoed::Tcp { start: 1, length: 1460 });
    assert_eq!(notation::packet(&read), "< icmp unreachable frag_needed mtu 1200 [1:1461(1460)]");
    // The time of the next event is no code.
    assert_eq!(read_events("0 < icmp unreachable\n0.5 < udp (10)\n+.1 > udp 5 > 6 (7)"), 3);
}

fn read_events(text: &str) -> usize {
    read(text).events.len()
}

#[test]
fn expressions() {
    let Action::Call(call) = read(
        r#"0 f(3, O_RDWR|O_NONBLOCK, 0x1f, -1, "a\x00b" "c", [], [1, 2], {..., 4},
            {sa_family = AF_INET, sin_port = htons(80), sin_addr = inet_addr("192.0.2.1")},
            {msg_name(...)=..., msg_iov(1)=[{..., 5}], msg_flags=0}, "cut"...) = 0x2 (flags O_RDWR)"#
            .replace("f(", "write(")
            .as_str(),
    )
    .events
    .remove(0)
    .action
    else {
        panic!()
    };
    assert_eq!(call.arguments.len(), 11);
    assert!(matches!(&call.arguments[1], Expression::Or(..)));
    assert_eq!(call.arguments[2], Expression::Integer(31));
    assert_eq!(call.arguments[4], Expression::String(b"a\0bc".to_vec()));
    assert_eq!(call.arguments[7], Expression::Group(vec![Expression::Ellipsis, Expression::Integer(4)]));
    assert!(matches!(&call.arguments[9], Expression::Struct(members) if members[1].count.is_some()));
    assert_eq!((call.result, call.note.as_deref()), (Expression::Integer(2), Some("flags O_RDWR")));
}

#[test]
fn defined_words_are_replaced() {
    let definitions = BTreeMap::from([("COOKIE".to_owned(), "abcd1234".to_owned())]);
    let script = parse("t.pkt", "--define=M=900\n0 > S 0:0(0) <mss M,FO COOKIE,nop,nop>", &definitions).unwrap();
    let Action::Packet(packet) = &script.events[0].action else { panic!() };
    assert_eq!(notation::packet(packet), "> S 0:0(0) <mss 900,FO abcd1234,nop,nop>");
    assert!(message("0 > S 0:0(0) <FO COOKIE,nop,nop>").contains("`COOKIE` is neither hexadecimal nor a defined word"));
}

#[test]
fn errors_name_the_place_and_what_is_expected() {
    for (text, expected) in [
        ("", "t.pkt:1:1: the script has no event"),
        ("0 `a`\n+0 > Q\n", "t.pkt:3:1: expected an integer"),
        ("0 frob(3) = 0", "t.pkt:1:3: unknown system call `frob`; known are accept, bind"),
        ("0 < . 1:1(0) ack 1", "t.pkt:1:5: a packet to the host needs its window (`win`)"),
        ("0 > . 1:5(3)", "t.pkt:1:7: the payload of 3 bytes does not end at 5"),
        ("0 > . 1:1(0) <mss 10>\n+-1 close(3) = 0", "t.pkt:2:2: `-1` is a negative time; times begin at 0"),
        ("0 `a`\n+.2~+.1 > . 1:1(0)", "t.pkt:2:1: the range ends before it begins: 0.200000 to 0.100000 s"),
        ("0 `a`\n* `b`", "t.pkt:2:1: the time `*` is for packets from the host (`>`) only"),
        ("0 `a`\n0~1 `b`", "t.pkt:2:1: a range of times is for packets from the host (`>`) only"),
        ("0.1 `a`", "t.pkt:1:1: the first event must be at time 0"),
        ("0 `a`\n0.2 `b`\n0.1 `c`", "t.pkt:3:1: time goes back from 0.200000 to 0.100000 s"),
        ("0 `a`\n99999 `b`", "t.pkt:2:1: `99999` is too late; times are below 86400 s"),
        ("0 > . 1:1(0) <nop>", "t.pkt:1:14: the options have 1 bytes; fill them with `nop` or `eol`"),
        ("0 > . 1:1(0) <colour 5>", "t.pkt:1:15: expected "),
        ("0 > . 1:1(0) <mss 70000>", "t.pkt:1:19: the MSS `70000` is out of range: 0 to 65535"),
        ("0 < . 1:1(0) win 5 <...>", "t.pkt:1:21: `<...>` is for packets from the host (`>`) only"),
        ("0 < [ect01] . 1:1(0) win 5", "t.pkt:1:6: `ect01` is for packets from the host (`>`) only"),
        ("0 > . 1:1(0) <ECN ceb 1,nop,nop,nop>", "t.pkt:1:15: AccECN's counters are"),
        ("0 > . 1:1(0) <FO abc,nop>", "t.pkt:1:18: `abc` has an odd number of hexadecimal digits"),
        ("0 write(3, \"\\q\", 1) = 1", "t.pkt:1:12: unknown escape `\\q`; known are"),
        ("0 bind(3, {sin_addr = inet_addr(\"1.2.3\")}, 5) = 0", "t.pkt:1:23: `1.2.3` is no IP address"),
        ("0 `never ends", "t.pkt:1:3: expected "),
        ("0 %{ never ends", "t.pkt:1:3: expected "),
    ] {
        let found = message(text);
        assert!(found.starts_with(expected), "{text:?}: {found:?} does not begin with {expected:?}");
    }
}

#[test]
fn large_scripts_are_refused() {
    let many = "0 `a`\n".to_owned() + &"+0 `b`\n".repeat(MAX_EVENTS);
    assert!(message(&many).contains(&format!("the script has more than {MAX_EVENTS} events")));
    let long = format!("0 `{}`", "a".repeat(1 << 20));
    assert!(message(&long).starts_with("t.pkt: the script has 1048580 bytes; at most 1048576 are allowed"));
    let deep = format!("0 read({}1{}) = 0", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert_eq!(message(&deep), "t.pkt:1: brackets nest deeper than 32 levels");
    let very_deep = format!("0 read({}", "[".repeat(500_000));
    assert!(message(&very_deep).contains("nest deeper"));
}

/// Pieces of the language, put together at random.
const PIECES: &[&str] = &[
    "0",
    "+0",
    "+.1",
    "-1",
    "*",
    "~",
    "...",
    ">",
    "<",
    "S",
    "S.",
    ".",
    "P.5",
    "-",
    "1:1(0)",
    "1:11(10)",
    "ack",
    "win",
    "urg",
    "5",
    "70000",
    "0x1f",
    "<",
    ">",
    "mss 1460",
    "nop",
    "sackOK",
    "sack",
    "TS val 1 ecr 2",
    "FO ab",
    "ECN e0b 1",
    ",",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "=",
    "|",
    "\"a\"",
    "\"\\x41\"",
    "`a`",
    "%{ a }%",
    "read",
    "write",
    "AF_INET",
    "icmp",
    "unreachable",
    "udp",
    "[ect0]",
    "// a\n",
    "/* a */",
    "--mtu=1500",
    "--define=A=b",
    "A",
    "\n",
    "'",
    "\\",
    "\u{e9}",
    "htons(5)",
    "inet_addr(\"192.0.2.1\")",
    "-1 EAGAIN (no)",
    "#",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,80}") {
        let _ = parse("t.pkt", &text, &BTreeMap::new());
    }

    #[test]
    fn no_row_of_pieces_makes_the_parser_panic(pieces in prop::collection::vec(0..PIECES.len(), 0..40), glue in " ?") {
        let text = pieces.iter().map(|at| PIECES[*at]).collect::<Vec<_>>().join(&glue);
        let _ = parse("t.pkt", &text, &BTreeMap::new());
    }

    #[test]
    fn a_packet_written_is_the_packet_read(packet in any_packet()) {
        let text = notation::packet(&packet);
        let read = parse("t.pkt", &format!("0 {text}"), &BTreeMap::new());
        let read = read.map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        let Action::Packet(again) = &read.events[0].action else { panic!("{text}") };
        prop_assert_eq!(again, &packet, "{}", text);
    }
}

prop_compose! {
    fn any_packet()(
        is_out: bool,
        tos in prop::option::of(0_u8..4),
        bits: u16,
        ace in 0_u8..8,
        start: u32,
        length in 0_u32..2000,
        ack: Option<u32>,
        window: u16,
        urgent: Option<u16>,
        options in any_options(),
    ) -> Packet {
        let flags = narrows_packetdrill::syntax::Flags {
            fin: bits & 1 != 0,
            syn: bits & 2 != 0,
            rst: bits & 4 != 0,
            psh: bits & 8 != 0,
            ack: bits & 16 != 0,
            urg: bits & 32 != 0,
            ace,
            ace_as_number: bits & 64 != 0 && bits & 31 != 0,
        };
        Packet {
            direction: if is_out { Direction::Outbound } else { Direction::Inbound },
            ip: narrows_packetdrill::syntax::IpInfo { tos: tos.map(Tos::Ecn), ..Default::default() },
            body: Body::Tcp(Segment {
                ports: None,
                flags,
                start,
                length,
                ack,
                window: Some(window),
                urgent,
                options: TcpOptions::List(options),
            }),
        }
    }
}

fn any_options() -> impl Strategy<Value = Vec<TcpOption>> {
    let option = prop_oneof![
        any::<u16>().prop_map(TcpOption::Mss),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        prop::collection::vec(any::<(u32, u32)>(), 1..3).prop_map(TcpOption::Sack),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(TcpOption::FastOpen),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(TcpOption::FastOpenExperimental),
        (any::<bool>(), prop::collection::vec(0_u32..1 << 24, 1..4))
            .prop_map(|(ect1_first, counters)| TcpOption::AccEcn { ect1_first, counters }),
    ];
    prop::collection::vec(option, 0..3).prop_map(|mut options| {
        while options.iter().map(TcpOption::wire_length).sum::<usize>() > 36 {
            options.pop();
        }
        while !options.iter().map(TcpOption::wire_length).sum::<usize>().is_multiple_of(4) {
            options.push(TcpOption::Nop);
        }
        options
    })
}
