//! The conditions of a live run: what of the machine had a say in its numbers, and whether to trust them.

use crate::bottleneck::Lateness;
use narrows_units::Duration;
use std::fs;

/// Share of packets that may be handed over later than [`LATE`].
pub const LATE_SHARE: f64 = 0.01;

/// From how late a packet counts as late.
pub const LATE: Duration = Duration::from_millis(1);

/// A packet later than this alone makes a run not to be trusted: it is longer than most round trips.
pub const FAR_TOO_LATE: Duration = Duration::from_millis(50);

/// Lateness of packets handed over by the bottleneck, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatenessFacts {
    /// Packets handed over.
    pub packets: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Latest packet.
    pub max_ns: u64,
}

/// What the numbers of a live run depend on beside the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Kernel release: `6.18.44`.
    pub kernel: String,
    /// Processors that the process may use.
    pub cpus: usize,
    /// How the bottleneck's thread was scheduled.
    pub scheduling: String,
    /// Share of a processor that it took, in [0, 1]. What receiving TCP does happens in it.
    pub bottleneck_cpu: f64,
    /// How late it was.
    pub lateness: LatenessFacts,
    /// Packets that hosts did not take, or that went nowhere.
    pub astray: u64,
    /// Offloads of the hosts' devices.
    pub offloads: String,
    /// Settings of the hosts' namespaces that a run set: name and value.
    pub sysctls: Vec<(String, String)>,
    /// Where each congestion control came from: its name in the scenario, and `kernel` or `eBPF`.
    pub controls: Vec<(String, String)>,
    /// What of the scenario's TCP settings is the kernel's own affair, a sentence each.
    pub left_to_kernel: Vec<String>,
    /// Where round-trip times come from.
    pub rtt_source: String,
    /// Records of the kernel's tracepoints that were lost because the reader was late.
    pub trace_lost: u64,
    /// Programs of the user's that ran meanwhile, and how each ended: `s1: iperf3 -c d1: exit code 0`.
    pub programs: Vec<String>,
    /// Why the numbers are not to be trusted, a sentence each; empty if they are.
    pub doubts: Vec<String>,
}

impl Conditions {
    /// What the machine is; the run adds the rest.
    #[must_use]
    pub fn of_machine() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A TUN device without virtio headers cannot be handed more than one packet at a time, so the kernel segments before.
        let offloads = "none: TCP segments before the device, and nothing is merged behind it".to_owned();
        Self { kernel, cpus, offloads, ..Self::default() }
    }

    /// Takes in how late the bottleneck was over a run of `duration`, and doubts what is to be doubted.
    pub fn note_lateness(&mut self, lateness: &Lateness, duration: Duration) {
        let late = &lateness.handed_over;
        let packets = late.count();
        self.scheduling.clone_from(&lateness.scheduling);
        self.bottleneck_cpu = lateness.cpu.as_secs_f64() / duration.as_secs_f64().max(1e-9);
        self.astray += lateness.refused;
        if packets == 0 {
            return;
        }
        self.lateness = LatenessFacts {
            packets,
            mean_ns: late.sum() as f64 / packets as f64,
            p50_ns: late.percentile(0.50),
            p99_ns: late.percentile(1.0 - LATE_SHARE),
            max_ns: late.max(),
        };
        let ms = |nanos: u64| nanos as f64 / 1e6;
        if self.lateness.p99_ns > LATE.as_nanos() {
            self.doubts.push(format!(
                "the bottleneck was late: 1 % of its packets came {:.1} ms late or more, and {:.0} ms is the bound",
                ms(self.lateness.p99_ns),
                LATE.as_millis_f64(),
            ));
        }
        if self.lateness.max_ns > FAR_TOO_LATE.as_nanos() {
            self.doubts.push(format!(
                "the bottleneck stood still: a packet came {:.0} ms late, and {:.0} ms is the bound",
                ms(self.lateness.max_ns),
                FAR_TOO_LATE.as_millis_f64(),
            ));
        }
    }

    /// Whether the numbers may be taken as they are.
    #[must_use]
    pub fn trusted(&self) -> bool {
        self.doubts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(late: &[(u64, u64)]) -> Conditions {
        let mut lateness = Lateness::default();
        late.iter().for_each(|&(micros, times)| lateness.handed_over.record_many(micros * 1000, times));
        let mut conditions = Conditions::of_machine();
        conditions.note_lateness(&lateness, Duration::from_secs(1));
        conditions
    }

    #[test]
    fn a_punctual_bottleneck_is_trusted() {
        let told = noted(&[(20, 9950), (3000, 50)]);
        assert!(told.trusted(), "{:?}", told.doubts);
        assert_eq!(told.lateness.packets, 10_000);
        assert!((told.lateness.mean_ns - 34_900.0).abs() < 100.0, "{:?}", told.lateness);
        assert!(!told.kernel.is_empty() && told.cpus > 0);
    }

    #[test]
    fn a_late_one_is_not() {
        let told = noted(&[(20, 900), (1500, 100)]);
        assert!(!told.trusted());
        assert!(
            told.doubts[0].starts_with("the bottleneck was late: 1 % of its packets came 1.5 ms"),
            "{:?}",
            told.doubts
        );
    }

    #[test]
    fn one_that_stood_still_is_not() {
        let told = noted(&[(20, 100_000), (60_000, 1)]);
        assert!(
            told.doubts[0].starts_with("the bottleneck stood still: a packet came 60 ms late"),
            "{:?}",
            told.doubts
        );
    }
}
