//! Tests of the executor against a fake host.

mod calls;
mod chaos;
mod fake;
mod packets;
mod stop;
mod times;

use super::{Mismatch, Outcome, Plan, Verdict, run};
use crate::call::{CallResult, Output};
use crate::options::Options;
use crate::run::emit::TcpHeader;
use crate::syntax::{TcpOption, parse};
use fake::{Answer, Fake, Reply};
use narrows_units::Duration;
use narrows_wire::TcpFlags;
use std::collections::BTreeMap;

const ACK: TcpFlags = TcpFlags::ACK;
const SYN: TcpFlags = TcpFlags::SYN;
const SYN_ACK: TcpFlags = SYN.with(ACK);
const PSH_ACK: TcpFlags = TcpFlags::PSH.with(ACK);

/// Host, listener and an accepted connection: the host's own files are 107 and 108.
const SERVER: &str = "
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
    +0 bind(3, ..., ...) = 0
    +0 listen(3, 1) = 0
    +0 < S 5:5(0) win 1000 <mss 1000>
    +0 > S. 9:9(0) ack 6 <mss 1460>
    +.1 < . 1:1(0) ack 1 win 1000
    +0 accept(3, ..., ...) = 4
";

fn plan(text: &str) -> Plan {
    let script = parse("t.pkt", text, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::resolve("t.pkt", &script.options, &[]).unwrap();
    Plan::new("t.pkt", &script, &options).unwrap_or_else(|error| panic!("{error}"))
}

fn segment(flags: TcpFlags, seq: u32, ack: u32, length: usize) -> TcpHeader {
    TcpHeader { seq, ack, flags, window: 500, length, ..TcpHeader::default() }
}

fn at_once(header: TcpHeader) -> Vec<Reply> {
    vec![Reply(Duration::ZERO, header)]
}

/// A host that answers as [`SERVER`] expects.
fn server() -> Fake {
    let mut fake = Fake::new("192.168.0.2:8080", "192.0.2.1:8080");
    let syn_ack = TcpHeader { options: vec![TcpOption::Mss(1460)], ..segment(SYN_ACK, 0, 1, 0) };
    fake.after_packet.extend([at_once(syn_ack), Vec::new()]);
    let peer = Output::Address("192.0.2.1:49152".parse().unwrap());
    let now = |result| Answer::Now(result);
    fake.answers.extend([
        now(CallResult::value(107)),
        now(CallResult::value(0)),
        now(CallResult::value(0)),
        now(CallResult::with(108, peer)),
    ]);
    // socket, bind, listen and accept send nothing.
    fake.after_call.extend((0..4).map(|_| Vec::new()));
    fake
}

/// Runs the server's beginning and more.
fn serve(fake: &mut Fake, more: &str) -> Outcome {
    run(&plan(&format!("{SERVER}{more}")), fake)
}

fn matched(outcome: &Outcome) {
    assert_eq!(outcome.verdict, Verdict::Matched, "{outcome:#?}");
}

fn mismatch(outcome: Outcome) -> Mismatch {
    match outcome.verdict {
        Verdict::Differed(mismatch) => *mismatch,
        other => panic!("no mismatch: {other:?}"),
    }
}
