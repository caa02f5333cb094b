//! The clock of a live run: scenario time on the machine's monotonic clock.

use narrows_units::{Duration, Instant};

/// A clock of scenario time. Its zero is an instant of `CLOCK_MONOTONIC`, which eBPF programs read too
/// (`bpf_ktime_get_ns`).
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero_ns: u64,
}

/// Returns the nanoseconds of `CLOCK_MONOTONIC`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the processor time of the calling thread.
pub(crate) fn processor_time() -> Duration {
    processor_time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the processor time of all threads of this process. The scheduler counts it exactly on every kernel, unlike
/// the idle time of `/proc/uptime`: Linux 7.2 samples that at its ticks (0 to 31 % where 9 % were used).
pub(crate) fn process_time() -> Duration {
    processor_time_of(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn processor_time_of(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

impl Clock {
    /// Makes a clock whose time zero is `delay` from now: the time left for preparations.
    #[must_use]
    pub fn starting_in(delay: Duration) -> Self {
        Self { zero_ns: monotonic_ns() + delay.as_nanos() }
    }

    /// Returns the scenario time now; zero before time zero.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.at(monotonic_ns())
    }

    /// Returns whether time zero has passed. [`now`](Self::now) cannot show this: it is zero before time zero too.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        monotonic_ns() >= self.zero_ns
    }

    /// Returns the scenario time at an instant of `CLOCK_MONOTONIC`, given in nanoseconds; zero before time zero.
    #[must_use]
    pub fn at(&self, monotonic_ns: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(monotonic_ns.saturating_sub(self.zero_ns))
    }

    /// Returns the instant of `CLOCK_MONOTONIC`, in nanoseconds, of a scenario time.
    #[must_use]
    pub fn monotonic_of(&self, at: Instant) -> u64 {
        self.zero_ns.saturating_add(at.as_nanos())
    }

    /// Sleeps until scenario time `at`; returns at once if it has passed.
    pub fn sleep_until(&self, at: Instant) {
        let target = self.monotonic_of(at);
        let time = libc::timespec {
            tv_sec: (target / 1_000_000_000) as libc::time_t,
            tv_nsec: (target % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `time` is a valid timespec; the last pointer may be null, since no remainder is wanted. A signal ends
        // the sleep early with EINTR, and the loop resumes it.
        while unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
        } == libc::EINTR
        {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zero_is_when_it_was_said_to_be() {
        let clock = Clock::starting_in(Duration::from_millis(20));
        assert_eq!(clock.now(), Instant::ZERO);
        clock.sleep_until(Instant::ZERO + Duration::from_millis(5));
        let now = clock.now();
        assert!(now >= Instant::ZERO + Duration::from_millis(5) && clock.has_begun(), "{now:?}");
        assert_eq!(clock.at(clock.monotonic_of(now)), now);
    }
}
