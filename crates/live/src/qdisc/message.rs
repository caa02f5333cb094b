//! Messages of rtnetlink(7) about queue disciplines and classes, as bytes (linux/pkt_sched.h, linux/rtnetlink.h).

use narrows_units::{Duration, Rate};

/// Message types.
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const NEW_CLASS: u16 = 40;

/// Message flags: a request; answer it by an acknowledgement, or by what it asks for; make it; refuse one that exists.
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const ECHO: u16 = 8;
const CREATE: u16 = 0x400;
const EXCL: u16 = 0x200;

/// Length of the headers: `nlmsghdr` and `tcmsg`.
const HEADERS: usize = 36;

/// Attributes of all messages.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS2: u16 = 7;

/// Flag of an attribute that holds attributes, which newer disciplines insist on.
const NESTED: u16 = 0x8000;

/// Attribute of [`STATS2`] with `gnet_stats_queue`.
const STATS_QUEUE: u16 = 3;

/// The parent of a device's first discipline.
const ROOT: u32 = 0xffff_ffff;

/// The shaper, its only class, and the discipline below it.
const SHAPER: u32 = 0x0001_0000;
const CLASS: u32 = 0x0001_0001;
const DISCIPLINE: u32 = 0x0002_0000;

/// Length of a tick, in which disciplines take some times (`/proc/net/psched`).
const TICK: Duration = Duration::from_nanos(64);

/// Attributes in a row, each a length, a number and a value, padded to four bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes(Vec<u8>);

impl Attributes {
    /// Adds an attribute.
    pub(super) fn put(&mut self, number: u16, value: &[u8]) {
        let length = (4 + value.len()) as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&number.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub(super) fn put_u32(&mut self, number: u16, value: u32) {
        self.put(number, &value.to_ne_bytes());
    }

    pub(super) fn put_u64(&mut self, number: u16, value: u64) {
        self.put(number, &value.to_ne_bytes());
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the values of attributes with their numbers; stops at bytes that are none.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let half = |at: usize| rest.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes);
        let (length, number) = (usize::from(half(0)?), half(2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        // The two highest bits are flags.
        Some((number & 0x3fff, value))
    })
}

/// A `tc_ratespec` of an IP packet's bytes, without overhead; the rate in bytes a second if it fits.
pub(super) fn rate_spec(rate: Rate) -> [u8; 12] {
    /// `TC_LINKLAYER_ETHERNET`: no cells, and no table of times from the user.
    const ETHERNET: u8 = 1;
    let mut spec = [0; 12];
    spec[1] = ETHERNET;
    spec[8..].copy_from_slice(&u32::try_from(rate.as_bps() / 8).unwrap_or(u32::MAX).to_ne_bytes());
    spec
}

/// A time in ticks, at least one.
pub(super) fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / TICK.as_nanos()).unwrap_or(u32::MAX).max(1)
}

fn message(kind: u16, flags: u16, (device, handle, parent): (u32, u32, u32), rest: &Attributes) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADERS + rest.0.len());
    out.extend_from_slice(&((HEADERS + rest.0.len()) as u32).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(&(REQUEST | flags).to_ne_bytes());
    // Number and sender of the message, then the family, which is none.
    out.extend_from_slice(&[0; 12]);
    [device, handle, parent, 0].iter().for_each(|word| out.extend_from_slice(&word.to_ne_bytes()));
    out.extend_from_slice(&rest.0);
    out
}

fn new(kind: u16, places: (u32, u32, u32), discipline: &str, options: &[u8]) -> Vec<u8> {
    let mut rest = Attributes::default();
    rest.put(KIND, &[discipline.as_bytes(), &[0]].concat());
    rest.put(OPTIONS | NESTED, options);
    message(kind, ACK | CREATE | EXCL, places, &rest)
}

/// Gives a device the shaper `htb`, all of whose packets go to its class.
pub(super) fn shaper(device: u32) -> Vec<u8> {
    const INIT: u16 = 2;
    // Version 3, rate2quantum 10, the class, no debugging, no counter.
    let words = [3, 10, CLASS & 0xffff, 0, 0_u32].map(u32::to_ne_bytes).concat();
    let mut options = Attributes::default();
    options.put(INIT, &words);
    new(NEW_QDISC, (device, SHAPER, ROOT), "htb", options.as_bytes())
}

/// Adds the shaper's class, which sends at `rate` and makes up for wake-ups that are late by up to `burst`.
///
/// `htb` sends a packet while the credit is not negative, and then takes off the packet's time at the rate. With a
/// small burst it therefore sends as a transmitter does: a packet begins when the one before it has ended.
pub(super) fn class(device: u32, rate: Rate, burst: Duration, quantum: u32) -> Vec<u8> {
    const PARMS: u16 = 1;
    const RATE64: u16 = 6;
    const CEIL64: u16 = 7;
    let mut parms = [rate_spec(rate), rate_spec(rate)].concat();
    for word in [ticks(burst), ticks(burst), quantum, 0, 0] {
        parms.extend_from_slice(&word.to_ne_bytes());
    }
    let mut options = Attributes::default();
    options.put(PARMS, &parms);
    if rate.as_bps() / 8 > u64::from(u32::MAX) {
        options.put_u64(RATE64, rate.as_bps() / 8);
        options.put_u64(CEIL64, rate.as_bps() / 8);
    }
    new(NEW_CLASS, (device, CLASS, SHAPER), "htb", options.as_bytes())
}

/// Gives the class its discipline.
pub(super) fn discipline(device: u32, kind: &str, options: &Attributes) -> Vec<u8> {
    new(NEW_QDISC, (device, DISCIPLINE, CLASS), kind, options.as_bytes())
}

/// Asks for the discipline's counters.
pub(super) fn ask(device: u32) -> Vec<u8> {
    message(GET_QDISC, ECHO, (device, DISCIPLINE, 0), &Attributes::default())
}

/// What the kernel counts of a discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stats {
    /// Packets that wait.
    pub(super) waiting: u32,
    /// Packets that it has dropped.
    pub(super) dropped: u32,
}

/// Reads the counters from the answer to [`ask`]; `None` if it has none.
pub(super) fn stats(answer: &[u8]) -> Option<Stats> {
    let find = |bytes, wanted| attributes(bytes).find(|&(number, _)| number == wanted).map(|(_, value)| value);
    let queue = find(find(answer.get(HEADERS..)?, STATS2)?, STATS_QUEUE)?;
    let word = |index: usize| queue.get(4 * index..4 * index + 4)?.try_into().ok().map(u32::from_ne_bytes);
    Some(Stats { waiting: word(0)?, dropped: word(2)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_come_back() {
        let mut made = Attributes::default();
        made.put(1, b"htb\0x");
        made.put_u32(2, 7);
        assert_eq!(made.as_bytes(), b"\x09\0\x01\0htb\0x\0\0\0\x08\0\x02\0\x07\0\0\0");
        let back: Vec<_> = attributes(made.as_bytes()).collect();
        assert_eq!(back, [(1, &b"htb\0x"[..]), (2, &[7, 0, 0, 0])]);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0, "shorter than its own head");
        assert_eq!(attributes(&[200, 0, 1, 0, 0]).count(), 0, "longer than the message");
    }

    /// As `strace tc class add dev d parent 1: classid 1:1 htb rate 10mbit burst ..` shows it, but for the table of
    /// times, which the kernel does not need.
    #[test]
    fn a_class_has_rate_and_burst_twice() {
        let made = class(5, Rate::mbps(10), Duration::from_micros(64), 1514);
        assert_eq!(made.len(), u32::from_ne_bytes(made[..4].try_into().unwrap()) as usize);
        assert_eq!(made[4..6], 40_u16.to_ne_bytes());
        assert_eq!(made[20..36], [5, 0x1_0001, 0x1_0000, 0_u32].map(u32::to_ne_bytes).concat());
        assert_eq!(made[36..44], *b"\x08\0\x01\0htb\0");
        assert_eq!(made[46..48], 0x8002_u16.to_ne_bytes(), "options, nested");
        let parms = &made[52..];
        assert_eq!((parms[1], &parms[8..12]), (1, &1_250_000_u32.to_ne_bytes()[..]));
        assert_eq!(parms[12..24], parms[..12]);
        assert_eq!(parms[24..], [1000, 1000, 1514, 0, 0_u32].map(u32::to_ne_bytes).concat());
    }

    #[test]
    fn counters_are_read_from_an_answer() {
        let mut queue = Attributes::default();
        queue.put(1, &[0; 12]);
        queue.put(STATS_QUEUE, &[3, 4500, 17, 0, 9_u32].map(u32::to_ne_bytes).concat());
        let mut rest = Attributes::default();
        rest.put(KIND, b"codel\0");
        rest.put(STATS2, queue.as_bytes());
        let answer = message(NEW_QDISC, 0, (1, DISCIPLINE, CLASS), &rest);
        assert_eq!(stats(&answer), Some(Stats { waiting: 3, dropped: 17 }));
        let cut = (0..answer.len()).filter_map(|length| stats(&answer[..length])).count();
        assert_eq!(cut, 0, "attributes that are cut off are not read");
    }
}
