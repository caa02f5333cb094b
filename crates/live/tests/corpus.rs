//! The fuzz target's corpus, replayed through the target's own function, and the same checks on damaged packets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../../../fuzz/src/live.rs"]
mod fuzz;

use narrows_rng::Stream;
use std::path::Path;

/// Returns the seeds of the corpus with their names, in order of the names.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/bottleneck");
    let mut seeds: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    seeds
}

#[test]
fn the_corpus_keeps_the_rules() {
    let mut seen = [0, 0];
    for (name, bytes) in seeds() {
        let arrived = fuzz::bottleneck(&bytes) > 0;
        match name.split('-').next() {
            Some("ok") => assert!(arrived, "{name}: nothing arrives"),
            Some("bad") => assert!(!arrived, "{name}: something arrives"),
            Some("found") => {}
            _ => panic!("{name} starts with neither ok-, bad- nor found-"),
        }
        seen[usize::from(arrived)] += 1;
    }
    assert!(seen.iter().all(|&n| n >= 5), "{seen:?}");
}

/// Damages bytes: changes some, cuts or repeats a part.
fn damage(bytes: &mut Vec<u8>, stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        let len = bytes.len() as u64;
        if len < 2 {
            return;
        }
        let at = stream.below(len) as usize;
        match stream.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 => bytes[at] = if stream.chance(0.5) { 0xff } else { 0 },
            _ => bytes[at] ^= 1 << stream.below(8),
        }
    }
}

/// Sends `packets` damaged packets through the networks of the corpus; returns how many arrived.
fn damaged(packets: u64, seed: u64) -> u64 {
    let seeds = seeds();
    let mut stream = Stream::new(seed, 0, "corpus", "damage");
    let (mut sent, mut arrived) = (0, 0);
    while sent < packets {
        let (_, seed) = &seeds[stream.below(seeds.len() as u64) as usize];
        let mut input = vec![stream.below(8) as u8];
        for (node, later, packet) in fuzz::packets(seed.get(1..).unwrap_or_default()) {
            let mut packet = packet.to_vec();
            damage(&mut packet, &mut stream);
            input.push(u8::from(node != 0) << 7 | (later / 100) as u8);
            input.extend_from_slice(&(packet.len() as u16).to_be_bytes());
            input.extend_from_slice(&packet);
            sent += 1;
        }
        arrived += fuzz::bottleneck(&input);
    }
    arrived
}

#[test]
fn damaged_packets_do_no_harm() {
    let arrived = damaged(50_000, 1);
    assert!((1_000..49_000).contains(&arrived), "{arrived} of 50,000 arrived: some must, and some must not");
}

/// Takes a minute in an optimised build: `cargo test --release -p narrows-live --test corpus -- --ignored`.
#[test]
#[ignore = "ten million packets"]
fn ten_million_damaged_packets_do_no_harm() {
    let arrived = damaged(10_000_000, 2);
    eprintln!("{arrived} of 10,000,000 damaged packets arrived");
}
