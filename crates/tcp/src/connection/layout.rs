//! The cache lines of a connection that plain segments need.

use super::Connection;
use crate::episode::Episode;
use crate::receiver::Receiver;
use crate::recovery::Recovery;
use crate::scoreboard::Scoreboard;
use crate::sender::Sender;
use core::mem::offset_of;
use core::ops::Range;
use std::collections::BTreeSet;

/// Octets of a cache line.
const LINE: usize = 64;

/// The part `within` of what begins at octet `start`.
fn at(start: usize, within: Range<usize>) -> Range<usize> {
    start + within.start..start + within.end
}

fn lines(parts: &[Range<usize>]) -> BTreeSet<usize> {
    parts.iter().flat_map(|part| part.start / LINE..=(part.end - 1) / LINE).collect()
}

/// What data and ACKs need: the end of the receiver, timestamps, timers, rate, counters, the beginning of recovery, and
/// that of the sender with the first field of its scoreboard.
fn shared() -> Vec<Range<usize>> {
    let (rx, tx) = (offset_of!(Connection, rx), offset_of!(Connection, tx));
    vec![
        at(rx, Receiver::NEEDED_BY_ACKS),
        offset_of!(Connection, ts)..offset_of!(Connection, recovery),
        at(offset_of!(Connection, recovery), Recovery::NEEDED),
        tx..tx + offset_of!(Sender, board) + size_of::<u64>(),
    ]
}

#[test]
fn plain_data_needs_six_cache_lines_and_an_ack_eleven() {
    assert_eq!(align_of::<Connection>(), LINE);
    let mut data = shared();
    data.push(at(offset_of!(Connection, rx), Receiver::NEEDED_BY_DATA));
    assert_eq!(lines(&data), BTreeSet::from([1, 2, 3, 4, 6, 7]));

    let tx = offset_of!(Connection, tx);
    let mut acks = shared();
    acks.extend([
        at(tx + offset_of!(Sender, board), Scoreboard::NEEDED),
        at(tx, offset_of!(Sender, usage)..size_of::<Sender>()),
        offset_of!(Connection, smss)..offset_of!(Connection, episode),
        at(offset_of!(Connection, episode), Episode::NEEDED),
    ]);
    assert_eq!(lines(&acks), BTreeSet::from([2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13]));
}
