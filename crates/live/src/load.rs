//! How busy the machine's processors are: the system's own account of their idle time.

use std::fs;

/// Above this share of the time a machine without pause counts as too slow for a run, in [0, 1].
pub(crate) const FULL: f64 = 0.97;

/// The time since the system began, and the idle time of all processors, in seconds (`/proc/uptime`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    up: f64,
    idle: f64,
}

impl Load {
    /// Reads both now; `None` if the system does not say.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/uptime").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(str::parse);
        Some(Self { up: words.next()?.ok()?, idle: words.next()?.ok()? })
    }

    /// Returns the share of the time since `self` in which processors were busy, in [0, 1]; `None` without time.
    pub(crate) fn until(self, end: Self) -> Option<f64> {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        let (up, idle) = (end.up - self.up, end.idle - self.idle);
        (up > 0.0).then(|| (1.0 - idle / (up * cpus)).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_busy() {
        let cpus = std::thread::available_parallelism().unwrap().get() as f64;
        let begin = Load::parse("100.00 50.00").unwrap();
        let end = Load::parse(&format!("110.00 {:.2}", 50.0 + 7.5 * cpus)).unwrap();
        assert!((begin.until(end).unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(begin.until(begin), None);
        assert!(Load::parse("").is_none() && Load::parse("1.0 x").is_none());
    }
}
