//! How the window that a Linux receiver advertises grows (`net.ipv4.tcp_moderate_rcvbuf`).
//!
//! Two quantities bound the window:
//!
//! - memory (`sk_rcvbuf`): 128 KiB at first. Once per round-trip time it is raised to what the application may read in
//!   the next two, estimated from what it read in the last (dynamic right-sizing, W. Feng et al., "Dynamic
//!   Right-Sizing: A Simulation Study", ICCCN 2001; `tcp_rcv_space_adjust`);
//! - `rcv_ssthresh`: about 64 kB at first. It follows the memory by two segments for each segment that arrives
//!   (`tcp_grow_window`), so the window does not run ahead of what the sender has shown to need.
//!
//! Memory counts a segment with the kernel's overhead, its *truesize*. The versions of Linux differ
//! ([`Config::kernel`](crate::Config::kernel)):
//!
//! | | 6.1 | 6.12 | 6.18 | 7.2 |
//! |---|---|---|---|---|
//! | window of a memory | half (`tcp_adv_win_scale = 1`) | payload by truesize (`scaling_ratio`) | as 6.12 | as 6.12 |
//! | what was read | all | less what waits for the application | as 6.12 | as 6.12 |
//! | round-trip time below 1 ms | 1 ms | no sample by timestamps | as 6.12 | as 6.12 |
//! | while data waits | all samples | all samples | smaller samples only | as 6.18 |
//! | next memory | twice what was read, 16 segments, growth | as 6.1 | without the 16 segments | as 6.18 |
//! | data behind gaps | - | - | added to the memory | as 6.18 |
//! | growth below 1 ms | twice the sender's | as 6.1 | as 6.1 | what was read by the round-trip time in ms |
//!
//! Sources: `tcp_rcv_space_adjust`, `tcp_measure_rcv_mss` (since 6.6), `tcp_rcvbuf_grow` (since 6.18) and its
//! `tcp_rcvbuf_low_rtt` (7.2; Linux 6.18 has no such setting).

use narrows_settings::LinuxVersion;
use narrows_units::{Duration, Instant};

/// `net.ipv4.tcp_rmem[1]`: memory of a new socket, bytes.
const FIRST_MEMORY: u64 = 131_072;
/// `net.core.rmem_max`, used for the window scale, bytes.
const CORE_MEMORY: u64 = 212_992;
/// Segments assumed in the first measure of what an application reads (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;
/// `sizeof(struct sk_buff)`, aligned, bytes (x86-64).
const SK_BUFF: u64 = 256;
/// `sizeof(struct skb_shared_info)`, aligned, bytes (x86-64).
const SHARED_INFO: u64 = 320;
/// `MAX_TCP_HEADER` of Debian's and Ubuntu's configuration, bytes.
const MAX_TCP_HEADER: u64 = 320;
/// Bytes of headers and padding before a received segment's payload: Ethernet, IPv4, TCP with timestamps,
/// `NET_SKB_PAD`.
const ROOM_BEFORE: u64 = 14 + 20 + 32 + 64;

/// Memory charged for a segment of `len` bytes: its buffer, rounded up to a power of two as by the kernel's allocator,
/// and `sk_buff`. 2304 bytes at 1448 bytes of payload, as with most drivers that receive a packet at a time.
pub(super) fn truesize(len: u64) -> u64 {
    (len + ROOM_BEFORE + SHARED_INFO).next_power_of_two() + SK_BUFF
}

/// Memory charged for a packet of `len` bytes in segments of `size` bytes, which were merged as they arrived.
#[inline]
fn truesize_of(len: u64, size: u64) -> u64 {
    if len <= size {
        return truesize(len);
    }
    let rest = len % size.max(1);
    len / size.max(1) * truesize(size) + if rest > 0 { truesize(rest) } else { 0 }
}

/// The window that `memory` bytes allow with `tcp_adv_win_scale = 1`, bytes.
const fn half_of(memory: u64) -> u64 {
    memory - memory / 2
}

/// The ratio before the first segment, in parts of 256 (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_RATIO: u64 = 128;
/// Below this round-trip time the memory grows by the round-trip time, microseconds (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: u64 = 1_000;

/// The window scale of a receiver whose window grows up to `most` bytes (`tcp_select_initial_window`).
pub(crate) fn shift(most: u64) -> u8 {
    shift_of((2 * most).max(CORE_MEMORY))
}

/// The window scale for windows of up to `space` bytes.
pub(crate) fn shift_of(space: u64) -> u8 {
    (space.max(1).ilog2().saturating_sub(15)).min(14) as u8
}

/// The state of the connection when a segment has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// RCV.NXT, the segment included, as an offset.
    pub(crate) nxt: u64,
    /// Bytes that wait for the application or behind a gap, the segment included.
    pub(crate) held: u64,
    /// Bytes in order that waited for the application when the segment came.
    pub(crate) queued: u64,
    /// Bytes from RCV.NXT to the end of what waits behind gaps, the segment included.
    pub(crate) beyond: u64,
    /// The current time.
    pub(crate) now: Instant,
}

/// The window of a Linux receiver. Sizes are in bytes.
#[derive(Debug)]
pub(crate) struct Autotuning {
    version: LinuxVersion,
    /// Window by memory, in parts of 256 (`scaling_ratio`; since Linux 6.6).
    ratio: u64,
    /// MSS that this end announced, minus the negotiated options where the kernel subtracts them.
    advmss: u64,
    /// `sk_rcvbuf`, and its bound, `tcp_rmem[2]`.
    memory: u64,
    most: u64,
    /// `window_clamp`: the largest window that the memory allows.
    clamp: u64,
    /// `rcv_ssthresh`: the largest window that is advertised now.
    ssthresh: u64,
    /// Unit of the window field; 0 before the connection is established.
    unit: u64,
    /// `rcvq_space`: what was read in the last measured round-trip time; where and when the current measure began.
    read: u64,
    read_from: u64,
    read_since: Instant,
    /// `rcv_rtt_est`: round-trip time as the receiver sees it, in microseconds, times 8; 0 if unknown.
    rtt8: u64,
    /// The measure without timestamps: the end of the window that was offered when it began.
    rtt_edge: u64,
    rtt_since: Instant,
    /// TSecr of the last segment with data.
    last_echo: Option<u32>,
}

impl Autotuning {
    /// State of a connection that is not established. `window` is the largest window that it may offer; `mss` is its
    /// own.
    pub(crate) fn new(version: LinuxVersion, window: u64, mss: u64) -> Self {
        let memory = FIRST_MEMORY.min(2 * window);
        Self {
            version,
            ratio: FIRST_RATIO,
            advmss: mss,
            memory,
            most: 2 * window,
            clamp: half_of(memory),
            ssthresh: first_window(memory, mss),
            unit: 0,
            read: 0,
            read_from: 0,
            read_since: Instant::ZERO,
            rtt8: 0,
            rtt_edge: 0,
            rtt_since: Instant::NEVER,
            last_echo: None,
        }
    }

    /// Sets the memory, `sk_rcvbuf`; `fixed` is whether it grows no more (`SO_RCVBUF`). Returns the window of our SYN
    /// if that is not sent.
    pub(crate) fn set_memory(&mut self, memory: u64, fixed: bool) -> Option<u64> {
        self.memory = if fixed { memory } else { memory.min(self.most) };
        if fixed {
            self.most = memory;
        }
        if self.unit > 0 {
            self.clamp = self.clamp.min(self.window_of(self.memory));
            return None;
        }
        self.clamp = half_of(self.memory);
        self.ssthresh = first_window(self.memory, self.advmss);
        Some(self.ssthresh)
    }

    /// The window of our SYN, or of our SYN-ACK to a peer that sends segments of up to `segment` bytes.
    pub(crate) fn first_window(&mut self, segment: u64) -> u64 {
        self.ssthresh = first_window(self.memory, segment);
        self.ssthresh
    }

    /// The connection is established (`tcp_init_buffer_space`); `window` is what was offered last.
    pub(crate) fn establish(&mut self, advmss: u64, window: u64, shift: u8, now: Instant) {
        let most = self.window_of(self.memory);
        self.advmss = advmss;
        self.unit = 1 << shift;
        self.clamp = most.min(65_535 << shift);
        if self.clamp > 2 * advmss && self.clamp + advmss > most {
            self.clamp = (most - advmss).max(2 * advmss);
        }
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.read = self.ssthresh.min(window).min(FIRST_SEGMENTS * advmss).max(1);
        self.read_since = now;
    }

    /// The window that `memory` bytes allow (`tcp_win_from_space`).
    fn window_of(&self, memory: u64) -> u64 {
        match self.version {
            LinuxVersion::V6_1 => half_of(memory),
            LinuxVersion::V6_12 | LinuxVersion::V6_18 | LinuxVersion::V7_2 => memory.saturating_mul(self.ratio) / 256,
        }
    }

    /// The memory for a window of `window` bytes in segments of `advmss` (`tcp_space_from_win`; before Linux 6.6 in
    /// whole segments).
    fn memory_for(&self, window: u128) -> u64 {
        let memory = match self.version {
            LinuxVersion::V6_1 => {
                let mut per_segment = self.advmss + MAX_TCP_HEADER + SK_BUFF + SHARED_INFO;
                while half_of(per_segment) < self.advmss {
                    per_segment += 128;
                }
                window / u128::from(self.advmss.max(1)) * u128::from(per_segment)
            }
            LinuxVersion::V6_12 | LinuxVersion::V6_18 | LinuxVersion::V7_2 => window * 256 / u128::from(self.ratio),
        };
        u64::try_from(memory).unwrap_or(u64::MAX).min(self.most)
    }

    /// Takes the length of a segment that is longer than the peer's were thought to be (`tcp_measure_rcv_mss`).
    pub(crate) fn on_longer(&mut self, len: u64) {
        if self.version == LinuxVersion::V6_1 {
            return;
        }
        let ratio = (256 * len / truesize(len)).clamp(1, 255);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.window_of(self.memory);
            self.read = self.read.min(self.clamp).max(1);
        }
    }

    /// The window to offer now, with `held` bytes waiting (`__tcp_select_window`). `mss` is the estimate of the peer's
    /// segment size.
    pub(crate) fn window(&self, held: u64, mss: u64) -> u64 {
        if self.unit == 0 {
            return self.ssthresh;
        }
        let allowed = self.window_of(self.memory);
        let full = self.clamp.min(allowed);
        let mss = mss.min(full);
        let mut free = self.free(held, mss);
        if free < full / 2 {
            free = free / self.unit * self.unit;
            if free < allowed / 16 || free < mss {
                return 0;
            }
        }
        let window = free.min(self.ssthresh);
        if self.unit > 1 {
            return window.next_multiple_of(self.unit);
        }
        // Without scaling the window is whole segments.
        window / mss.max(1) * mss
    }

    /// Whether less than half of the memory is free.
    pub(crate) fn is_tight(&self, held: u64, mss: u64) -> bool {
        self.free(held, mss) < self.clamp.min(self.window_of(self.memory)) / 2
    }

    /// `tcp_space`.
    fn free(&self, held: u64, mss: u64) -> u64 {
        let used = if held == 0 { 0 } else { held.div_ceil(mss.max(1)).saturating_mul(truesize(mss)) };
        self.window_of(self.memory.saturating_sub(used))
    }

    /// Grows the window after a segment of `len` bytes, or a packet of several of `size` bytes (`tcp_grow_window`);
    /// returns whether it grew.
    pub(crate) fn grow(&mut self, at: &Arrived, (len, size): (u64, u64), mss: u64) -> bool {
        let room = self.clamp.min(self.free(at.held, mss)).saturating_sub(self.ssthresh);
        if room == 0 {
            return false;
        }
        let overhead = self.window_of(truesize_of(len, size));
        let step = if overhead <= len { 2 * self.advmss } else { self.small_step(overhead, len, mss) };
        if step == 0 {
            return false;
        }
        self.ssthresh += step.max(2 * len).min(room);
        true
    }

    /// The step after a segment that is small compared with its overhead (`__tcp_grow_window`): the window grows only
    /// while many such segments would fit.
    fn small_step(&self, overhead: u64, len: u64, mss: u64) -> u64 {
        let (mut overhead, mut window) = (overhead / 2, self.window_of(self.most) / 2);
        while self.ssthresh <= window {
            if overhead <= len {
                return 2 * mss;
            }
            (overhead, window) = (overhead / 2, window / 2);
        }
        0
    }

    /// Takes TSecr of a segment with data, and the time since our clock showed it (`tcp_rcv_rtt_measure_ts`); `full` is
    /// whether the segment is no smaller than the estimated MSS, `queued` how many bytes waited for the application.
    /// Timestamps count milliseconds.
    pub(crate) fn on_echo(&mut self, (echo, age): (u32, Duration), full: bool, queued: u64) {
        if self.last_echo.replace(echo) == Some(echo) || !full {
            return;
        }
        match (self.version, age.as_millis()) {
            (LinuxVersion::V6_1, millis) => self.on_rtt(millis.max(1) * 1000, false, 0),
            (_, 0) => {}
            (_, millis) => self.on_rtt(millis * 1000, false, queued),
        }
    }

    /// Measures without timestamps: a window takes at least one round-trip time to arrive (`tcp_rcv_rtt_measure`).
    /// `window` is what was offered last.
    pub(crate) fn on_window_edge(&mut self, nxt: u64, window: u64, now: Instant) {
        if self.rtt_since != Instant::NEVER {
            if nxt < self.rtt_edge {
                return;
            }
            self.on_rtt((now.since(self.rtt_since).as_nanos() / 1000).max(1), true, 0);
        }
        (self.rtt_edge, self.rtt_since) = (nxt + window, now);
    }

    /// Takes a sample in microseconds (`tcp_rcv_rtt_update`). Samples by windows count only if they are smaller.
    fn on_rtt(&mut self, sample: u64, by_window: bool, queued: u64) {
        if self.rtt8 == 0 || sample * 8 < self.rtt8 {
            self.rtt8 = sample * 8;
        } else if !by_window && (!self.counts_waiting() || queued == 0) {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + sample;
        }
    }

    /// Notes that the application has read `copied` bytes since the beginning, while `queued` bytes wait for it, and
    /// `beyond` to the end of what waits behind gaps (`tcp_rcv_space_adjust`).
    pub(crate) fn on_read(&mut self, copied: u64, (queued, beyond): (u64, u64), now: Instant) {
        let time = now.since(self.read_since).as_nanos() / 1000;
        if self.rtt8 == 0 || time < self.rtt8 / 8 {
            return;
        }
        let mut read = copied - self.read_from;
        if self.version != LinuxVersion::V6_1 {
            read = read.saturating_sub(queued);
        }
        if read > self.read {
            self.resize(read, beyond);
            self.read = read;
        }
        (self.read_from, self.read_since) = (copied, now);
    }

    /// Whether what waits counts: data behind gaps for the memory, data in order for the round-trip time.
    const fn counts_waiting(&self) -> bool {
        matches!(self.version, LinuxVersion::V6_18 | LinuxVersion::V7_2)
    }

    /// Data behind a gap has arrived: since Linux 6.18 the memory grows with it, so that the sender can go on while the
    /// gap is repaired.
    pub(crate) fn on_gap(&mut self, beyond: u64) {
        if self.counts_waiting() {
            self.resize(self.read, beyond);
        }
    }

    /// Sets the memory for twice what was read, increased by twice the sender's relative growth, because what is
    /// offered now arrives in the round-trip time after the next.
    fn resize(&mut self, read: u64, beyond: u64) {
        let (was, growth) = (u128::from(self.read), u128::from(read - self.read));
        let read = u128::from(read);
        let window = match self.version {
            LinuxVersion::V6_1 | LinuxVersion::V6_12 => {
                let steady = 2 * read + 16 * u128::from(self.advmss);
                steady + 2 * (steady * growth / was)
            }
            LinuxVersion::V6_18 | LinuxVersion::V7_2 => {
                let (steady, rtt) = (2 * read, self.rtt8 / 8);
                let grown = if self.version == LinuxVersion::V7_2 && rtt < LOW_RTT {
                    steady * u128::from(rtt) / u128::from(LOW_RTT)
                } else {
                    2 * steady * growth / was
                };
                steady + grown + u128::from(beyond)
            }
        };
        let memory = self.memory_for(window);
        if memory > self.memory {
            (self.memory, self.clamp) = (memory, self.window_of(memory));
        }
    }

    /// Whether a read is worth a window update: it would at least double what is left of the window
    /// (`tcp_cleanup_rbuf`).
    pub(crate) fn is_worth_telling(&self, left: u64, window: u64) -> bool {
        2 * left <= self.clamp && window > 0 && window >= 2 * left
    }
}

/// The window of a SYN: whole segments, at most what its field can hold.
fn first_window(memory: u64, segment: u64) -> u64 {
    let space = half_of(memory);
    let whole = if space > segment { space - space % segment.max(1) } else { space };
    whole.min(65_535)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The receiver of a connection that its peer opened, with timestamps, established at time 0.
    fn passive_of(version: LinuxVersion, window: u64) -> Autotuning {
        let mut tuning = Autotuning::new(version, window, 1460);
        let first = tuning.first_window(1448);
        tuning.establish(1460, first, shift(window), at(0));
        tuning
    }

    fn passive(window: u64) -> Autotuning {
        passive_of(LinuxVersion::V6_1, window)
    }

    #[test]
    fn a_syn_offers_64240_bytes_and_its_answer_65160() {
        let mut tuning = Autotuning::new(LinuxVersion::V6_1, 3 << 20, 1460);
        assert_eq!(tuning.window(0, 536), 64_240);
        assert_eq!(tuning.first_window(1448), 65_160, "45 segments of 1448 bytes");
        assert_eq!(shift(3 << 20), 7, "tcp_rmem[2] is 6 MiB");
    }

    #[test]
    fn an_established_window_leaves_a_segment_out_and_is_rounded_up() {
        let tuning = passive(3 << 20);
        assert_eq!((tuning.clamp, tuning.ssthresh, tuning.read), (64_076, 64_076, 14_600));
        assert_eq!(tuning.window(0, 1448), 64_128);
        let small = passive(20_000);
        assert_eq!((small.memory, small.clamp), (40_000, 18_540));
    }

    #[test]
    fn a_segment_of_an_ethernet_packet_counts_2304_bytes() {
        assert_eq!([1448, 1460, 536, 8948, 100].map(truesize), [2304, 2304, 1280, 16_640, 1280]);
    }

    #[test]
    fn the_window_grows_by_two_segments_a_segment_once_the_memory_has() {
        let mut tuning = passive(3 << 20);
        let arrived = |nxt, now| Arrived { nxt, held: 1448, queued: 0, beyond: 0, now };
        assert!(!tuning.grow(&arrived(1448, at(0)), (1448, 1448), 1448), "the memory is used up");
        tuning.on_echo((1_000, Duration::from_millis(40)), true, 0);
        tuning.on_read(14_480, (0, 0), at(40));
        assert_eq!(tuning.memory, 131_072, "ten segments are what it began with");
        tuning.on_read(14_480 + 28_960, (0, 0), at(80));
        // (2 * 28960 + 16 * 1460) * (1 + 2 * 14360 / 14600) bytes in segments of 1460, each of 2996 bytes.
        assert_eq!((tuning.memory, tuning.clamp), (165 * 2996, 165 * 1498));
        assert!(tuning.grow(&arrived(50_000, at(81)), (1448, 1448), 1448));
        assert_eq!(tuning.ssthresh, 64_076 + 2 * 1460);
        for _ in 0..100 {
            tuning.grow(&arrived(50_000, at(81)), (1448, 1448), 1448);
        }
        assert_eq!(tuning.ssthresh, 165 * 1498 - 2304 / 2, "the segment itself takes room");
    }

    #[test]
    fn the_memory_never_exceeds_twice_the_largest_window() {
        let mut tuning = passive(1 << 20);
        tuning.on_echo((1_000, Duration::from_millis(10)), true, 0);
        tuning.on_read(10_000_000, (0, 0), at(10));
        assert_eq!((tuning.memory, tuning.clamp), (2 << 20, 1 << 20));
    }

    #[test]
    fn nothing_is_measured_in_less_than_a_round_trip_time() {
        let mut tuning = passive(3 << 20);
        tuning.on_read(1_000_000, (0, 0), at(500));
        assert_eq!(tuning.memory, 131_072, "the round-trip time is not known");
        tuning.on_echo((1_000, Duration::from_millis(50)), true, 0);
        tuning.on_echo((1_000, Duration::from_millis(90)), true, 0);
        assert_eq!(tuning.rtt8, 50_000 * 8, "an echo is timed once");
        tuning.on_echo((2_000, Duration::from_millis(90)), true, 0);
        assert_eq!(tuning.rtt8, 50_000 * 7 + 90_000);
        tuning.on_window_edge(0, 65_160, at(500));
        tuning.on_window_edge(65_159, 65_160, at(510));
        assert_eq!(tuning.rtt8, 440_000, "the window has not arrived");
        tuning.on_window_edge(65_160, 65_160, at(520));
        assert_eq!(tuning.rtt8, 20_000 * 8, "the smaller of the two counts");
    }

    #[test]
    fn since_6_6_the_window_follows_the_overhead_of_segments() {
        let mut tuning = passive_of(LinuxVersion::V6_12, 3 << 20);
        assert_eq!((tuning.ratio, tuning.clamp), (128, 64_076), "half, before the first segment");
        tuning.on_longer(1448);
        assert_eq!((tuning.ratio, tuning.clamp), (160, 81_920), "256 * 1448 / 2304, of 128 KiB");
        assert!(tuning.grow(&Arrived { nxt: 1448, held: 1448, queued: 0, beyond: 0, now: at(0) }, (1448, 1448), 1448));
        for _ in 0..10 {
            tuning.grow(&Arrived { nxt: 1448, held: 1448, queued: 0, beyond: 0, now: at(0) }, (1448, 1448), 1448);
        }
        // As Linux 6.12 and 7.2 in virtual time: 55.6 segments.
        assert_eq!(tuning.window(0, 1448), 80_512);
        tuning.on_longer(8948);
        assert_eq!(tuning.ratio, 137, "a jumbo frame");
        let mut before = passive(3 << 20);
        before.on_longer(1448);
        assert_eq!(before.clamp, 64_076, "Linux 6.1: half, whatever arrives");
    }

    #[test]
    fn each_version_sets_the_memory_by_its_own_rules() {
        let memory = |version: LinuxVersion, queued: u64, beyond: u64| {
            let mut tuning = passive_of(version, 3 << 20);
            tuning.on_longer(1448);
            tuning.on_echo((1_000, Duration::from_millis(40)), true, 0);
            tuning.on_read(43_440, (queued, beyond), at(40));
            tuning.memory
        };
        // 43,440 bytes were read, 14,600 before: 110,240 with the cushion, and twice 28,840 / 14,600 of it.
        assert_eq!(memory(LinuxVersion::V6_1, 0, 0), 373 * 2996);
        assert_eq!(memory(LinuxVersion::V6_12, 0, 0), (110_240 + 2 * 217_761) * 256 / 160);
        assert_eq!(memory(LinuxVersion::V6_12, 43_440, 0), 131_072, "what waits was not read");
        // 86,880 without a cushion, as much again by growth, and what waits behind gaps.
        assert_eq!(memory(LinuxVersion::V6_18, 0, 0), (86_880 + 343_235) * 256 / 160);
        assert_eq!(memory(LinuxVersion::V7_2, 0, 0), (86_880 + 343_235) * 256 / 160);
        assert_eq!(memory(LinuxVersion::V7_2, 0, 20_000), (86_880 + 343_235 + 20_000) * 256 / 160);
    }

    #[test]
    fn later_versions_measure_short_round_trips_otherwise() {
        let rtt = |version: LinuxVersion, samples: &[(u64, u64)]| {
            let mut tuning = passive_of(version, 3 << 20);
            for (count, &(micros, queued)) in (1..).zip(samples) {
                tuning.on_echo((count, Duration::from_micros(micros)), true, queued);
            }
            tuning.rtt8 / 8
        };
        assert_eq!([LinuxVersion::V6_1, LinuxVersion::V6_12].map(|version| rtt(version, &[(400, 0)])), [1_000, 0]);
        let samples = [(40_000, 0), (80_000, 5_000)];
        assert_eq!(rtt(LinuxVersion::V6_12, &samples), 45_000);
        for version in [LinuxVersion::V6_18, LinuxVersion::V7_2] {
            assert_eq!(rtt(version, &samples), 40_000, "data waits, so the reader was late");
        }
    }

    #[test]
    fn only_7_2_grows_by_the_round_trip_time_where_it_is_short() {
        let memory = |version: LinuxVersion| {
            let mut tuning = passive_of(version, 3 << 20);
            tuning.on_longer(1448);
            tuning.on_window_edge(0, 1, at(0));
            tuning.on_window_edge(1, 1, Instant::from_nanos(500_000));
            tuning.on_read(43_440, (0, 0), at(1));
            tuning.memory
        };
        assert_eq!(memory(LinuxVersion::V6_18), (86_880 + 343_235) * 256 / 160);
        assert_eq!(memory(LinuxVersion::V7_2), (86_880 + 43_440) * 256 / 160);
    }

    #[test]
    fn since_6_18_the_memory_grows_with_what_waits_behind_a_gap() {
        let grown = |version: LinuxVersion| {
            let mut tuning = passive_of(version, 3 << 20);
            tuning.on_echo((1_000, Duration::from_millis(40)), true, 0);
            tuning.on_gap(200_000);
            tuning.memory
        };
        assert_eq!(grown(LinuxVersion::V6_12), 131_072);
        for version in [LinuxVersion::V6_18, LinuxVersion::V7_2] {
            assert_eq!(grown(version), 2 * (2 * 14_600 + 200_000));
        }
    }

    #[test]
    fn small_segments_open_the_window_less() {
        let mut tuning = passive(3 << 20);
        (tuning.memory, tuning.clamp) = (4 << 20, 2 << 20);
        assert!(tuning.grow(&Arrived { nxt: 0, held: 200, queued: 0, beyond: 0, now: at(0) }, (200, 200), 200));
        assert_eq!(tuning.ssthresh, 64_076 + 400);
        tuning.ssthresh = 800_000;
        assert!(
            !tuning.grow(&Arrived { nxt: 0, held: 200, queued: 0, beyond: 0, now: at(0) }, (200, 200), 200),
            "they would not fit"
        );
    }

    #[test]
    fn a_full_memory_closes_the_window() {
        let tuning = passive(3 << 20);
        assert!(!tuning.is_tight(20 * 1448, 1448) && tuning.is_tight(30 * 1448, 1448));
        assert_eq!(tuning.window(30 * 1448, 1448), (131_072u64 - 30 * 2304) / 2 / 128 * 128);
        assert_eq!(tuning.window(55 * 1448, 1448), 0);
        assert!(tuning.is_worth_telling(10_000, 20_000) && !tuning.is_worth_telling(10_001, 20_000));
        assert!(!tuning.is_worth_telling(0, 0));
    }
}
