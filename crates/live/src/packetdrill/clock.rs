//! The clock of a live script, the start of a tick, and how long a sleep may be.

use narrows_units::{Duration, Instant};

/// Longest tick (`CONFIG_HZ=100`).
const LONGEST_TICK: Duration = Duration::from_millis(10);

/// Longest sleep of the host before it looks whether the run was stopped.
pub(super) const SLICE: std::time::Duration = std::time::Duration::from_millis(100);

/// Returns the time by `CLOCK_REALTIME`.
pub(super) fn now() -> Instant {
    read(libc::CLOCK_REALTIME)
}

/// Returns an instant of `CLOCK_REALTIME` from its seconds and nanoseconds.
pub(super) const fn instant(time: libc::timespec) -> Instant {
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Waits until the middle of a tick (`jiffies`) of the kernel, and returns the time then.
///
/// Timers of TCP end with a tick. A timer set at the begin of a tick, for a time that scripts count in whole
/// milliseconds, is late by up to a tick; set in the middle, it is half a tick early or late at most.
pub(super) fn wait_for_tick() -> Instant {
    // The coarse clock is set at each tick.
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `resolution` is a valid timespec to write to.
    unsafe { libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &raw mut resolution) };
    let tick = instant(resolution).since(Instant::ZERO).min(LONGEST_TICK);
    let begun = now();
    let before = read(libc::CLOCK_REALTIME_COARSE);
    // A tick may be missed where a processor that sleeps sets the clock.
    while read(libc::CLOCK_REALTIME_COARSE) == before && now().since(begun) < tick.mul_f64(2.0) {
        std::hint::spin_loop();
    }
    let middle = now() + tick.mul_f64(0.5);
    while now() < middle {
        std::hint::spin_loop();
    }
    now()
}

fn read(clock: libc::clockid_t) -> Instant {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    instant(time)
}
