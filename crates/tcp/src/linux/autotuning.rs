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
//! Memory counts a segment with the kernel's overhead, its *truesize*; the window is half of the memory
//! (`net.ipv4.tcp_adv_win_scale = 1`). Linux 6.6 replaced the half with a measured ratio, and 6.15 replaced the growth
//! of the memory; this module follows 6.1.

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

/// The window that `memory` bytes allow (`tcp_win_from_space` with `tcp_adv_win_scale = 1`).
pub(super) const fn window_of(memory: u64) -> u64 {
    memory - memory / 2
}

/// The window scale of a receiver whose window grows up to `most` bytes (`tcp_select_initial_window`).
pub(crate) fn shift(most: u64) -> u8 {
    let space = (2 * most).max(CORE_MEMORY);
    (space.ilog2().saturating_sub(15)).min(14) as u8
}

/// The state of the connection when a segment has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// RCV.NXT, the segment included, as an offset.
    pub(crate) nxt: u64,
    /// Bytes that wait for the application or behind a gap, the segment included.
    pub(crate) held: u64,
    /// The current time.
    pub(crate) now: Instant,
}

/// The window of a Linux receiver. Sizes are in bytes.
#[derive(Debug)]
pub(crate) struct Autotuning {
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
    pub(crate) fn new(window: u64, mss: u64) -> Self {
        let memory = FIRST_MEMORY.min(2 * window);
        Self {
            advmss: mss,
            memory,
            most: 2 * window,
            clamp: window_of(memory),
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

    /// The window of our SYN, or of our SYN-ACK to a peer that sends segments of up to `segment` bytes.
    pub(crate) fn first_window(&mut self, segment: u64) -> u64 {
        self.ssthresh = first_window(self.memory, segment);
        self.ssthresh
    }

    /// The connection is established (`tcp_init_buffer_space`); `window` is what was offered last.
    pub(crate) fn establish(&mut self, advmss: u64, window: u64, shift: u8, now: Instant) {
        let most = window_of(self.memory);
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

    /// The window to offer now, with `held` bytes waiting (`__tcp_select_window`). `mss` is the estimate of the peer's
    /// segment size.
    pub(crate) fn window(&self, held: u64, mss: u64) -> u64 {
        if self.unit == 0 {
            return self.ssthresh;
        }
        let (allowed, full) = (window_of(self.memory), self.clamp.min(window_of(self.memory)));
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
        self.free(held, mss) < self.clamp.min(window_of(self.memory)) / 2
    }

    /// `tcp_space`.
    fn free(&self, held: u64, mss: u64) -> u64 {
        let used = if held == 0 { 0 } else { held.div_ceil(mss.max(1)).saturating_mul(truesize(mss)) };
        window_of(self.memory.saturating_sub(used))
    }

    /// Grows the window after a segment of `len` bytes (`tcp_grow_window`); returns whether it grew.
    pub(crate) fn grow(&mut self, at: &Arrived, len: u64, mss: u64) -> bool {
        let room = self.clamp.min(self.free(at.held, mss)).saturating_sub(self.ssthresh);
        if room == 0 {
            return false;
        }
        let memory = truesize(len);
        let step =
            if window_of(memory) <= len { 2 * self.advmss } else { self.small_step(window_of(memory), len, mss) };
        if step == 0 {
            return false;
        }
        self.ssthresh += step.max(2 * len).min(room);
        true
    }

    /// The step after a segment that is small compared with its overhead (`__tcp_grow_window`): the window grows only
    /// while many such segments would fit.
    fn small_step(&self, overhead: u64, len: u64, mss: u64) -> u64 {
        let (mut overhead, mut window) = (overhead / 2, window_of(self.most) / 2);
        while self.ssthresh <= window {
            if overhead <= len {
                return 2 * mss;
            }
            (overhead, window) = (overhead / 2, window / 2);
        }
        0
    }

    /// Takes TSecr of a segment with data, and the time since our clock showed it (`tcp_rcv_rtt_measure_ts`); `full` is
    /// whether the segment is no smaller than the estimated MSS. Linux 6.1 counts timestamps in milliseconds, and at
    /// least one.
    pub(crate) fn on_echo(&mut self, (echo, age): (u32, Duration), full: bool) {
        if self.last_echo.replace(echo) != Some(echo) && full {
            self.on_rtt(age.as_millis().max(1) * 1000, false);
        }
    }

    /// Measures without timestamps: a window takes at least one round-trip time to arrive (`tcp_rcv_rtt_measure`).
    /// `window` is what was offered last.
    pub(crate) fn on_window_edge(&mut self, nxt: u64, window: u64, now: Instant) {
        if self.rtt_since != Instant::NEVER {
            if nxt < self.rtt_edge {
                return;
            }
            self.on_rtt((now.since(self.rtt_since).as_nanos() / 1000).max(1), true);
        }
        (self.rtt_edge, self.rtt_since) = (nxt + window, now);
    }

    /// Takes a sample in microseconds (`tcp_rcv_rtt_update`). Samples by windows count only if they are smaller.
    fn on_rtt(&mut self, sample: u64, by_window: bool) {
        if self.rtt8 == 0 || sample * 8 < self.rtt8 {
            self.rtt8 = sample * 8;
        } else if !by_window {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + sample;
        }
    }

    /// Notes that the application has read `copied` bytes since the beginning (`tcp_rcv_space_adjust`).
    pub(crate) fn on_read(&mut self, copied: u64, now: Instant) {
        let time = now.since(self.read_since).as_nanos() / 1000;
        if self.rtt8 == 0 || time < self.rtt8 / 8 {
            return;
        }
        let read = copied - self.read_from;
        if read > self.read {
            self.resize(read);
            self.read = read;
        }
        (self.read_from, self.read_since) = (copied, now);
    }

    /// Sets the memory for twice what was read and 16 segments against losses, increased by twice the sender's relative
    /// growth, because what is offered now arrives in the round-trip time after the next.
    fn resize(&mut self, read: u64) {
        let steady = 2 * read + 16 * self.advmss;
        let growth = u128::from(steady) * u128::from(read - self.read) / u128::from(self.read);
        let window = u128::from(steady) + 2 * growth;
        let mut per_segment = self.advmss + MAX_TCP_HEADER + SK_BUFF + SHARED_INFO;
        while window_of(per_segment) < self.advmss {
            per_segment += 128;
        }
        let memory = window / u128::from(self.advmss.max(1)) * u128::from(per_segment);
        let memory = u64::try_from(memory).unwrap_or(u64::MAX).min(self.most);
        if memory > self.memory {
            (self.memory, self.clamp) = (memory, window_of(memory));
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
    let space = window_of(memory);
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
    fn passive(window: u64) -> Autotuning {
        let mut tuning = Autotuning::new(window, 1460);
        let first = tuning.first_window(1448);
        tuning.establish(1460, first, shift(window), at(0));
        tuning
    }

    #[test]
    fn a_syn_offers_64240_bytes_and_its_answer_65160() {
        let mut tuning = Autotuning::new(3 << 20, 1460);
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
        let arrived = |nxt, now| Arrived { nxt, held: 1448, now };
        assert!(!tuning.grow(&arrived(1448, at(0)), 1448, 1448), "the memory is used up");
        tuning.on_echo((1_000, Duration::from_millis(40)), true);
        tuning.on_read(14_480, at(40));
        assert_eq!(tuning.memory, 131_072, "ten segments are what it began with");
        tuning.on_read(14_480 + 28_960, at(80));
        // (2 * 28960 + 16 * 1460) * (1 + 2 * 14360 / 14600) bytes in segments of 1460, each of 2996 bytes.
        assert_eq!((tuning.memory, tuning.clamp), (165 * 2996, 165 * 1498));
        assert!(tuning.grow(&arrived(50_000, at(81)), 1448, 1448));
        assert_eq!(tuning.ssthresh, 64_076 + 2 * 1460);
        for _ in 0..100 {
            tuning.grow(&arrived(50_000, at(81)), 1448, 1448);
        }
        assert_eq!(tuning.ssthresh, 165 * 1498 - 2304 / 2, "the segment itself takes room");
    }

    #[test]
    fn the_memory_never_exceeds_twice_the_largest_window() {
        let mut tuning = passive(1 << 20);
        tuning.on_echo((1_000, Duration::from_millis(10)), true);
        tuning.on_read(10_000_000, at(10));
        assert_eq!((tuning.memory, tuning.clamp), (2 << 20, 1 << 20));
    }

    #[test]
    fn nothing_is_measured_in_less_than_a_round_trip_time() {
        let mut tuning = passive(3 << 20);
        tuning.on_read(1_000_000, at(500));
        assert_eq!(tuning.memory, 131_072, "the round-trip time is not known");
        tuning.on_echo((1_000, Duration::from_millis(50)), true);
        tuning.on_echo((1_000, Duration::from_millis(90)), true);
        assert_eq!(tuning.rtt8, 50_000 * 8, "an echo is timed once");
        tuning.on_echo((2_000, Duration::from_millis(90)), true);
        assert_eq!(tuning.rtt8, 50_000 * 7 + 90_000);
        tuning.on_window_edge(0, 65_160, at(500));
        tuning.on_window_edge(65_159, 65_160, at(510));
        assert_eq!(tuning.rtt8, 440_000, "the window has not arrived");
        tuning.on_window_edge(65_160, 65_160, at(520));
        assert_eq!(tuning.rtt8, 20_000 * 8, "the smaller of the two counts");
    }

    #[test]
    fn small_segments_open_the_window_less() {
        let mut tuning = passive(3 << 20);
        (tuning.memory, tuning.clamp) = (4 << 20, 2 << 20);
        assert!(tuning.grow(&Arrived { nxt: 0, held: 200, now: at(0) }, 200, 200));
        assert_eq!(tuning.ssthresh, 64_076 + 400);
        tuning.ssthresh = 800_000;
        assert!(!tuning.grow(&Arrived { nxt: 0, held: 200, now: at(0) }, 200, 200), "they would not fit");
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
