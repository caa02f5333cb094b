//! Packets: numbers are mapped, fields compared, segments joined.

use super::fake::ISN;
use super::*;
use crate::run::observe::{Observed, ObservedBody};
use crate::syntax::Direction;

fn header(bytes: &[u8]) -> TcpHeader {
    match Observed::read(bytes).unwrap().body {
        ObservedBody::Tcp(header, _) => header,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_passive_connection_maps_both_initial_sequence_numbers() {
    let mut fake = server();
    fake.after_packet.push_back(at_once(segment(ACK, 1, 11, 0)));
    let outcome = serve(&mut fake, "+0 < P. 1:11(10) ack 1 win 1000\n +0 > . 1:1(0) ack 11\n");
    matched(&outcome);
    let (first, second, third) =
        (header(&fake.injected[0].1), header(&fake.injected[1].1), header(&fake.injected[2].1));
    // SYN packets have the script's numbers on the wire, the others count from the SYN's.
    assert_eq!((first.seq, first.options), (5, vec![TcpOption::Mss(1000)]));
    assert_eq!((second.seq, second.ack), (6, ISN.wrapping_add(1)));
    assert_eq!((third.seq, third.length), (6, 10));
    let path = Observed::read(&fake.injected[0].1).unwrap().path;
    assert_eq!(
        (path.source.to_string(), path.destination.to_string()),
        ("192.0.2.1:49152".into(), "192.168.0.2:8080".into())
    );
}

#[test]
fn every_connection_is_reset_at_the_end() {
    let mut fake = server();
    matched(&serve(&mut fake, ""));
    let last = header(&fake.injected.last().unwrap().1);
    assert!(last.flags.has(TcpFlags::RST));
    assert_eq!((last.seq, last.ack), (6, ISN.wrapping_add(1)));
}

#[test]
fn an_active_connection_learns_addresses_and_numbers_from_its_syn() {
    let mut fake = Fake::new("192.168.0.2:33000", "192.0.2.1:8080");
    fake.answers.push_back(Answer::Now(CallResult::value(50)));
    fake.answers.push_back(Answer::Now(CallResult::error(crate::symbols::errno("EINPROGRESS").unwrap())));
    fake.after_call.extend([Vec::new(), at_once(segment(SYN, 0, 0, 0))]);
    fake.after_packet.push_back(at_once(segment(ACK, 1, 1, 0)));
    let outcome = run(
        &plan(
            "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
             +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
             +0 > S 0:0(0)
             +.05 < S. 700:700(0) ack 1 win 1000
             +0 > . 1:1(0) ack 1",
        ),
        &mut fake,
    );
    matched(&outcome);
    let syn_ack = header(&fake.injected[0].1);
    assert_eq!((syn_ack.seq, syn_ack.ack), (700, ISN.wrapping_add(1)));
    assert_eq!(fake.path.destination.to_string(), "192.0.2.1:8080");
}

#[test]
fn a_window_that_differs_is_shown_beside_the_script() {
    let mut fake = server();
    fake.after_packet.push_back(at_once(segment(ACK, 1, 11, 0)));
    let outcome = serve(&mut fake, "+.1 < P. 1:11(10) ack 1 win 1000\n+0 > . 1:1(0) ack 11 win 400\n");
    assert_eq!(outcome.steps.len(), 9);
    assert_eq!(outcome.packets.iter().filter(|packet| packet.direction == Direction::Outbound).count(), 2);
    let found = mismatch(outcome);
    assert_eq!((found.line, found.actual_time), (10, Some(Duration::from_millis(200))));
    assert_eq!(found.tcp_info.as_ref().and_then(|info| info.get("tcpi_snd_cwnd")), Some(10));
    let text = found.to_string();
    assert!(text.contains("line 10: outbound packet differs: win\n"), "{text}");
    assert!(text.contains("script    0.200000  > . 1:1(0) ack 11 win 400\n"), "{text}");
    assert!(text.contains("actual    0.200000  > . 1:1(0) ack 11 win 500\n"), "{text}");
    assert!(text.contains("win: expected 400, found 500"), "{text}");
}

#[test]
fn every_field_that_differs_is_named() {
    let mut fake = server();
    let odd = TcpHeader { urgent: 3, options: vec![TcpOption::Nop; 4], ..segment(PSH_ACK, 2, 12, 1) };
    fake.after_packet.push_back(at_once(odd));
    let outcome = serve(&mut fake, "+0 < P. 1:11(10) ack 1 win 1000\n+0 > [ect0] . 1:1(0) ack 11 <sackOK,nop,nop>\n");
    let fields: Vec<String> = mismatch(outcome).differences.into_iter().map(|found| found.field).collect();
    assert_eq!(fields, ["IP ECN", "flags", "sequence number", "payload length", "ack", "urg", "TCP options"]);
}

#[test]
fn options_and_windows_left_open_are_not_compared() {
    let mut fake = server();
    let segment = TcpHeader { options: vec![TcpOption::Nop; 8], ..segment(ACK, 1, 11, 0) };
    fake.after_packet.push_back(at_once(segment));
    matched(&serve(&mut fake, "+0 < P. 1:11(10) ack 1 win 1000\n+0 > . 1:1(0) ack 11 <...>\n"));
}

#[test]
fn ace_is_compared_as_a_number_or_by_its_flags() {
    for (script, matches) in [(".5", true), (".4", false), ("EA.", true), ("E.", false), (".", false)] {
        let mut fake = server();
        fake.after_packet.push_back(at_once(segment(ACK.with_ace(5), 1, 11, 0)));
        let outcome = serve(&mut fake, &format!("+0 < P. 1:11(10) ack 1 win 9\n+0 > {script} 1:1(0) ack 11\n"));
        assert_eq!(outcome.verdict == Verdict::Matched, matches, "{script}");
    }
}

#[test]
fn timestamps_are_mapped_both_ways() {
    let stamp = |value, echo| vec![TcpOption::Nop, TcpOption::Nop, TcpOption::Timestamps { value, echo }];
    let host = |value| TcpHeader { options: stamp(value, 4), ..segment(ACK, 1, 11, 0) };
    let script = "+0 < P. 1:11(10) ack 1 win 9
        +0 > . 1:1(0) ack 11 <nop,nop,TS val 100 ecr 4>
        +.1 < . 11:11(0) ack 1 win 9 <nop,nop,TS val 5 ecr 100>
        +0 > . 1:1(0) ack 11 <nop,nop,TS val 200 ecr 4>\n";
    // Without a tick only the echo matters: it is the host's own timestamp.
    let mut fake = server();
    fake.after_packet.extend([at_once(host(77_000)), at_once(host(99_999))]);
    matched(&serve(&mut fake, script));
    assert_eq!(header(&fake.injected[3].1).options, stamp(5, 77_000));
    // With one the difference between timestamps is compared too: 100 ticks of 1 ms.
    for (second, matches) in [(77_100, true), (77_120, true), (77_200, false)] {
        let mut fake = server();
        fake.after_packet.extend([at_once(host(77_000)), at_once(host(second))]);
        let outcome = run(&plan(&format!("--tcp_ts_tick_usecs=1000\n{SERVER}{script}")), &mut fake);
        assert_eq!(outcome.verdict == Verdict::Matched, matches, "{second}: {outcome:?}");
    }
    // An echo of what the host has not sent cannot be put on the wire.
    let mut fake = server();
    let outcome = serve(&mut fake, "+0 < . 1:1(0) ack 1 win 9 <nop,nop,TS val 5 ecr 100>\n");
    assert!(matches!(outcome.verdict, Verdict::Failed { line: 9, .. }), "{:?}", outcome.verdict);
}

#[test]
fn blocks_of_sack_are_relative() {
    let mut fake = server();
    let remote_block = vec![TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(vec![(5 + 21, 5 + 31)])];
    fake.after_packet.extend([at_once(TcpHeader { options: remote_block, ..segment(ACK, 1, 1, 0) }), Vec::new()]);
    let outcome = serve(
        &mut fake,
        "+0 < P. 21:31(10) ack 1 win 9
         +0 > . 1:1(0) ack 1 <nop,nop,sack 21:31>
         +0 < . 31:31(0) ack 1 win 9 <nop,nop,sack 11:21 31:41>\n",
    );
    matched(&outcome);
    let wire = |offset: u32| ISN.wrapping_add(offset);
    let blocks = TcpOption::Sack(vec![(wire(11), wire(21)), (wire(31), wire(41))]);
    assert_eq!(header(&fake.injected[3].1).options, vec![TcpOption::Nop, TcpOption::Nop, blocks]);
}

#[test]
fn segments_that_follow_each_other_are_joined_unless_the_script_is_strict() {
    let write = "+0 write(4, ..., 25) = 25\n+0 > P. 1:26(25) ack 1\n";
    let parts = |lengths: &[usize]| -> Vec<Reply> {
        let mut seq = 1;
        let mut parts = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            let flags = if index + 1 == lengths.len() { PSH_ACK } else { ACK };
            parts.push(Reply(Duration::ZERO, segment(flags, seq, 1, *length)));
            seq += *length as u32;
        }
        parts
    };
    let outcome = |lengths: &[usize], option: &str| {
        let mut fake = server();
        fake.answers.push_back(Answer::Now(CallResult::value(25)));
        fake.after_call.push_back(parts(lengths));
        run(&plan(&format!("{option}{SERVER}{write}")), &mut fake)
    };
    matched(&outcome(&[25], ""));
    matched(&outcome(&[10, 10, 5], ""));
    assert_eq!(mismatch(outcome(&[10, 5, 10], "")).differences[0].field, "segments");
    assert_eq!(mismatch(outcome(&[10, 10], "")).actual, "no packet after 20 bytes of payload");
    let strict = mismatch(outcome(&[10, 10, 5], "--strict_segments\n"));
    assert_eq!(
        strict.differences.iter().map(|found| found.field.as_str()).collect::<Vec<_>>(),
        ["flags", "payload length"]
    );
}

#[test]
fn packets_of_other_connections_are_passed_over() {
    let mut fake = server();
    fake.after_packet.push_back(at_once(segment(ACK, 1, 11, 0)));
    let outcome = serve(
        &mut fake,
        // The packet comes from port 9, and its answer goes there.
        "+0 < 9 > 8080 P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11\n",
    );
    assert_eq!(mismatch(outcome).actual, "no packet");
}

#[test]
fn an_icmp_message_quotes_the_segment_on_the_wire() {
    let mut fake = server();
    matched(&serve(&mut fake, "+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]\n"));
    let bytes = &fake.injected[2].1;
    assert_eq!(bytes.len(), 20 + 8 + 20 + 8);
    assert_eq!((bytes[9], bytes[20], bytes[21]), (1, 3, 4));
    assert_eq!(u16::from_be_bytes([bytes[26], bytes[27]]), 1200);
    assert_eq!(narrows_wire::message_checksum(&bytes[20..]), 0);
    let quoted = &bytes[28..];
    assert_eq!(u16::from_be_bytes([quoted[2], quoted[3]]), 20 + 20 + 1000);
    assert_eq!(u16::from_be_bytes([quoted[20], quoted[21]]), 8080);
    assert_eq!(quoted[24..28], ISN.wrapping_add(1).to_be_bytes());
}

#[test]
fn ipv6_and_mapped_sockets_have_their_packets() {
    for (version, local, remote, domain, mapped) in [
        ("ipv6", "[fd3d:a0b:17d6::2]:8080", "[fd3d:fa7b:d17d::1]:49152", 10, "[fd3d:fa7b:d17d::1]:49152"),
        ("ipv4-mapped-ipv6", "192.168.0.2:8080", "192.0.2.1:49152", 10, "[::ffff:192.0.2.1]:49152"),
    ] {
        let mut fake = server();
        fake.path = emit_path(local, remote);
        fake.answers[3] = Answer::Now(CallResult::with(108, Output::Address(mapped.parse().unwrap())));
        let outcome = run(&plan(&format!("--ip_version={version}\n{SERVER}+0 %{{ x }}%\n")), &mut fake);
        matched(&outcome);
        assert!(outcome.code[0].info.is_some(), "accept() must find its connection");
        assert!(matches!(fake.calls[0], crate::call::SystemCall::Socket { domain: found, .. } if found == domain));
        let path = Observed::read(&fake.injected[0].1).unwrap().path;
        assert_eq!((path.destination.to_string(), path.source.to_string()), (local.into(), remote.into()));
    }
}

fn emit_path(local: &str, remote: &str) -> crate::run::emit::Path {
    crate::run::emit::Path { source: local.parse().unwrap(), destination: remote.parse().unwrap() }
}

#[test]
fn a_packet_that_is_not_fatal_becomes_a_warning() {
    let mut fake = server();
    fake.after_packet.push_back(at_once(segment(ACK, 1, 11, 0)));
    let script = format!("--non_fatal=packet\n{SERVER}+0 < P. 1:11(10) ack 1 win 9\n+0 > . 1:1(0) ack 11 win 400\n");
    let outcome = run(&plan(&script), &mut fake);
    matched(&outcome);
    assert_eq!(outcome.warnings.len(), 1);
}

#[test]
fn a_host_that_sends_without_end_is_stopped() {
    let mut fake = server();
    fake.is_endless = true;
    let outcome = serve(&mut fake, "");
    assert!(matches!(&outcome.verdict, Verdict::Failed { reason, .. } if reason.contains("without end")));
}
