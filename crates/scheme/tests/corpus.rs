//! The fuzz targets' corpora, replayed through the targets' own functions, and the same rules over arbitrary inputs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../../../fuzz/src/scheme.rs"]
mod fuzz;
#[path = "../../wire/tests/strategies/mod.rs"]
mod strategies;

use narrows_scheme::ngwa::codec::{KIND, Message, read};
use narrows_wire::Packet;
use proptest::prelude::*;
use std::path::Path;

/// Replays the corpus of `target`. A file's name starts with the answer that `accepts` must give, `ok-` or `bad-`.
/// Files that a fuzzer found (`found-`) must only keep the rules.
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
            Some("ok") => assert!(accepted, "{target}/{name} is refused"),
            Some("bad") => assert!(!accepted, "{target}/{name} is accepted"),
            Some("found") => {}
            _ => panic!("{target}/{name} starts with neither ok-, bad- nor found-"),
        }
        seen[usize::from(accepted)] += 1;
    }
    assert!(seen.iter().all(|&n| n >= 3), "{target} has {seen:?} refused and accepted files");
}

#[test]
fn ngwa_corpus_keeps_the_rules() {
    replay("ngwa", fuzz::ngwa, |bytes| {
        fuzz::value_and_area(bytes).is_some_and(|(_, area)| read(&area) != Message::Malformed)
    });
}

#[test]
fn on_bytes_corpus_keeps_the_rules() {
    replay("on_bytes", fuzz::on_bytes, |bytes| {
        fuzz::queue_and_packet(bytes).is_some_and(|(_, packet)| Packet::parse_unchecked(packet).is_ok())
    });
}

/// Bytes that resemble option areas: options of all kinds, NGWA's among them, some of a wrong length, then padding.
fn area() -> impl Strategy<Value = Vec<u8>> {
    let option = prop_oneof![
        3 => Just(vec![1]),
        4 => (2u8.., prop::collection::vec(any::<u8>(), 0..14)).prop_map(|(kind, data)| {
            [&[kind, data.len() as u8 + 2][..], &data].concat()
        }),
        3 => any::<[u8; 4]>().prop_map(|value| [&[KIND, 6][..], &value].concat()),
        1 => any::<[u8; 4]>().prop_map(|bytes| [&[KIND][..], &bytes].concat()),
        1 => Just(vec![0]),
    ];
    (prop::collection::vec(option, 0..8), 0usize..12).prop_map(|(options, padding)| {
        let mut area = options.concat();
        area.resize((area.len() + padding).next_multiple_of(4), 0);
        area.truncate(40);
        area
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn any_area_keeps_the_rules(value: u32, area in area()) {
        fuzz::ngwa(&[&value.to_be_bytes()[..], &area].concat());
    }

    #[test]
    fn any_packet_keeps_the_rules(
        percent: u8, p in strategies::packet(0u32..100).prop_filter("fits", Packet::fits),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut bytes = vec![percent];
        p.emit_into(&mut bytes);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        fuzz::on_bytes(&bytes);
    }
}
