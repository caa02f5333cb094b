//! The fuzz targets' corpora, replayed through the targets' own functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use core::net::{IpAddr, Ipv4Addr};
use narrows_wire::{Dot11Repr, Ipv4View, Ipv6View, Packet, RadiotapRepr, TcpOptions, TcpView, UdpView};
use std::path::Path;

#[path = "../../../fuzz/src/wire.rs"]
mod fuzz;

/// Replays the corpus of `target`. A file's name starts with the expected result of `accepts`: `ok-` or `bad-`; files
/// that a fuzzer found (`found-`) only have to keep the rules.
fn replay(target: &str, rules: fn(&[u8]), accepts: impl Fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut seen = [0, 0];
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        rules(&bytes);
        let name = path.file_name().unwrap().to_str().unwrap();
        let accepted = accepts(&bytes);
        match name.split('-').next() {
            Some("ok") => assert!(accepted, "{target}/{name} is refused: {:?}", Packet::parse(&bytes)),
            Some("bad") => assert!(!accepted, "{target}/{name} is accepted"),
            Some("found") => {}
            _ => panic!("{target}/{name} starts with neither ok-, bad- nor found-"),
        }
        seen[usize::from(accepted)] += 1;
    }
    assert!(seen.iter().all(|&n| n >= 3), "{target} has {seen:?} refused and accepted files");
}

#[test]
fn packet_corpus_keeps_the_rules() {
    replay("packet", fuzz::packet, |bytes| Packet::parse(bytes).is_ok());
}

#[test]
fn ipv4_corpus_keeps_the_rules() {
    replay("ipv4", fuzz::ipv4, |bytes| Ipv4View::new_checked(bytes).is_ok_and(|v| v.check_checksum().is_ok()));
}

#[test]
fn ipv6_corpus_keeps_the_rules() {
    replay("ipv6", fuzz::ipv6, |bytes| Ipv6View::new_checked(bytes).is_ok());
}

#[test]
fn tcp_corpus_keeps_the_rules() {
    replay("tcp", fuzz::tcp, |bytes| TcpView::new_checked(bytes).is_ok_and(|v| TcpOptions::parse(v.options()).is_ok()));
}

#[test]
fn udp_corpus_keeps_the_rules() {
    let (src, dst) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
    replay("udp", fuzz::udp, |bytes| UdpView::new_checked(bytes).is_ok_and(|v| v.check_checksum(src, dst).is_ok()));
}

#[test]
fn dot11_corpus_keeps_the_rules() {
    replay("dot11", fuzz::dot11, |bytes| Dot11Repr::parse(bytes).is_ok());
}

#[test]
fn radiotap_corpus_keeps_the_rules() {
    replay("radiotap", fuzz::radiotap, |bytes| RadiotapRepr::parse(bytes).is_ok());
}
