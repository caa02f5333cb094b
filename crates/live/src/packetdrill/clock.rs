//! The clock of a live script, and the start of a tick.

use narrows_units::{Duration, Instant};

/// Longest wait for the start of a tick: one of a kernel with `CONFIG_HZ=100`, twice.
const LONGEST_TICK: Duration = Duration::from_millis(20);

/// How far into a tick a script starts. A start at the edge of a tick would make the kernel's times in ticks differ by
/// one from run to run.
const INTO_TICK: Duration = Duration::from_micros(250);

/// Returns the time by `CLOCK_REALTIME`.
pub(super) fn now() -> Instant {
    read(libc::CLOCK_REALTIME)
}

/// Returns an instant of `CLOCK_REALTIME` from its seconds and nanoseconds.
pub(super) const fn instant(time: libc::timespec) -> Instant {
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Waits until shortly after the start of a tick (`jiffies`) of the kernel, and returns the time then.
pub(super) fn wait_for_tick() -> Instant {
    let begun = now();
    // The coarse clock is set at each tick.
    let before = read(libc::CLOCK_REALTIME_COARSE);
    while read(libc::CLOCK_REALTIME_COARSE) == before && now().since(begun) < LONGEST_TICK {
        std::hint::spin_loop();
    }
    let tick = now();
    while now().since(tick) < INTO_TICK {
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
