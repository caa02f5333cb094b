//! The conditions of a live run: which properties of the machine affected the results, and whether to trust them.

use crate::lateness::{LATE, LATE_SHARE, Lateness};
use crate::trace::Traced;
use narrows_samples::Histogram;
use narrows_units::{Duration, Instant};
use std::fs;

/// Lateness beyond which a single packet makes a run untrusted: it is longer than most round trips.
pub const FAR_TOO_LATE: Duration = Duration::from_millis(50);

/// Lateness that at most a share of [`LATE_SHARE`] of a flow thread's actions may exceed. Six runs at a time on two
/// processors, each with a window of 64 KiB at 100 Mb/s, were 35 to 130 ms late and 2 to 13 % slower than a run alone,
/// although no packet was late.
pub const TRAFFIC_OFTEN_LATE: Duration = Duration::from_millis(20);

/// Smallest number of actions for which a percentile says more than a single bad moment.
const OFTEN: u64 = 500;

/// Largest lateness that is allowed for a flow's thread: beyond it a socket may have run dry, or the window of a slow
/// reader closed.
pub const TRAFFIC_LATE: Duration = Duration::from_millis(500);

/// Lateness in nanoseconds: of packets handed over by the bottleneck, or of the actions of flows' threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatenessFacts {
    /// Number of packets handed over, or of a thread's actions.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// What the results of a live run depend on besides the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Kernel release: `6.18.44`.
    pub kernel: String,
    /// Processors that the process may use.
    pub cpus: usize,
    /// How the bottleneck's thread was scheduled.
    pub scheduling: String,
    /// Share of a processor that this thread used, in [0, 1]. TCP's receive processing runs in it.
    pub bottleneck_cpu: f64,
    /// How late it handed packets over.
    pub lateness: LatenessFacts,
    /// How late the thread of a flow was whenever its application or a read of `TCP_INFO` was due; of all flows, the
    /// worst.
    pub traffic: LatenessFacts,
    /// Packets that hosts did not accept, or that had no destination.
    pub astray: u64,
    /// Offloads of the hosts' devices.
    pub offloads: String,
    /// Sysctls that the run set in the hosts' namespaces: name and value.
    pub sysctls: Vec<(String, String)>,
    /// Where each congestion control came from: its name in the scenario, and `kernel` or `eBPF`.
    pub controls: Vec<(String, String)>,
    /// TCP settings of the scenario that the kernel replaces by its own, one sentence each.
    pub left_to_kernel: Vec<String>,
    /// Queue disciplines of the kernel that carried links, one line each; empty if ours did.
    pub queues: Vec<String>,
    /// Where round-trip times come from.
    pub rtt_source: String,
    /// Records of the kernel's tracepoints that were lost because the reader was late.
    pub trace_lost: u64,
    /// Records that were counted but not kept, because there were more than four million. Their round-trip time samples
    /// are missing.
    pub trace_not_kept: u64,
    /// Tracepoints that this kernel lacks; their records are missing.
    pub trace_missing: Vec<String>,
    /// Share of a processor used for reading the records, in [0, 1].
    pub trace_cpu: f64,
    /// Interval at which each flow's thread reads `TCP_INFO`.
    pub look: Duration,
    /// The user's programs that ran during the run, and how each ended: `s1: iperf3 -c d1: exit code 0`.
    pub programs: Vec<String>,
    /// Share of the machine's processors that this process used during the run, in [0, 1]: the bottleneck, flows, the
    /// trace, and what the kernel did for them. All else that used them is not in it.
    pub process_cpu: f64,
    /// Why the results cannot be trusted, one sentence each; empty if they can.
    pub doubts: Vec<String>,
}

impl LatenessFacts {
    fn of(late: &Histogram) -> Self {
        let count = late.count();
        if count == 0 {
            return Self::default();
        }
        Self {
            count,
            mean_ns: late.sum() as f64 / count as f64,
            p50_ns: late.percentile(0.50),
            p99_ns: late.percentile(1.0 - LATE_SHARE),
            max_ns: late.max(),
        }
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

impl Conditions {
    /// Returns the properties of the machine; the run adds the rest.
    #[must_use]
    pub fn of_machine() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A TUN device without virtio headers takes one packet at a time, so the kernel segments before it.
        let offloads = "none: TCP segments before the device, and nothing is merged behind it".to_owned();
        Self { kernel, cpus, offloads, ..Self::default() }
    }

    /// Records how late the bottleneck was over a run of `duration`, and flags unreliable runs.
    pub fn note_lateness(&mut self, lateness: &Lateness, duration: Duration) {
        let late = &lateness.handed_over;
        self.scheduling.clone_from(&lateness.scheduling);
        self.bottleneck_cpu = lateness.cpu.as_secs_f64() / duration.as_secs_f64().max(1e-9);
        self.astray += lateness.refused;
        self.lateness = LatenessFacts::of(late);
        let began = lateness.began.since(Instant::ZERO);
        if began > LATE {
            self.doubts.push(format!(
                "the bottleneck began {:.1} ms after the run; the bound is {:.0} ms: first packets waited for it",
                began.as_millis_f64(),
                LATE.as_millis_f64(),
            ));
        }
        if self.lateness.p99_ns > LATE.as_nanos() {
            self.doubts.push(format!(
                "the bottleneck was late: 1 % of its packets came {:.1} ms late or more; the bound is {:.0} ms",
                ms(self.lateness.p99_ns),
                LATE.as_millis_f64(),
            ));
        }
        if self.lateness.max_ns > FAR_TOO_LATE.as_nanos() {
            self.doubts.push(format!(
                "the bottleneck stood still: a packet came {:.0} ms late; the bound is {:.0} ms",
                ms(self.lateness.max_ns),
                FAR_TOO_LATE.as_millis_f64(),
            ));
        } else if lateness.stood > FAR_TOO_LATE {
            self.doubts.push(format!(
                "the bottleneck stood still for {:.0} ms; the bound is {:.0} ms",
                lateness.stood.as_millis_f64(),
                FAR_TOO_LATE.as_millis_f64(),
            ));
        }
    }

    /// Records how late a flow's thread was in a run of `duration`. Flags the run if the thread was too often late, or
    /// stood still for a tenth of the run (but at least [`FAR_TOO_LATE`] and at most [`TRAFFIC_LATE`]).
    pub fn note_traffic(&mut self, flow: &str, late: &Histogram, duration: Duration) {
        let facts = LatenessFacts::of(late);
        let bound = (duration / 10).clamp(FAR_TOO_LATE, TRAFFIC_LATE);
        if facts.max_ns > bound.as_nanos() {
            self.doubts.push(format!(
                "the thread of flow {flow} stood still for {:.0} ms; the bound is {:.0} ms",
                ms(facts.max_ns),
                bound.as_millis_f64(),
            ));
        } else if facts.count >= OFTEN && facts.p99_ns > TRAFFIC_OFTEN_LATE.as_nanos() {
            self.doubts.push(format!(
                "the thread of flow {flow} was late: 1 % of its actions came {:.0} ms late or more; the bound is {:.0} ms",
                ms(facts.p99_ns),
                TRAFFIC_OFTEN_LATE.as_millis_f64(),
            ));
        }
        if facts.max_ns >= self.traffic.max_ns {
            self.traffic = facts;
        }
    }

    /// Records the processor time that this process used within `time`.
    pub(crate) fn note_process(&mut self, used: Duration, time: Duration) {
        let cpus = self.cpus.max(1) as f64;
        self.process_cpu = used.as_secs_f64() / (time.as_secs_f64() * cpus).max(1e-9);
    }

    /// Records how completely the kernel's tracepoints were read over a run of `duration`, and at what cost.
    pub(crate) fn note_trace(&mut self, traced: &Traced, duration: Duration) {
        self.trace_lost = traced.overruns;
        self.trace_not_kept = traced.not_kept;
        self.trace_missing = traced.missing.iter().map(|&name| name.to_owned()).collect();
        self.trace_cpu = traced.cpu.as_secs_f64() / duration.as_secs_f64().max(1e-9);
    }

    /// Returns whether the results can be trusted.
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
        assert_eq!(told.lateness.count, 10_000);
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
    fn one_that_began_after_the_run_is_not() {
        let began = |micros| {
            let began = Instant::ZERO + Duration::from_micros(micros);
            let mut conditions = Conditions::of_machine();
            conditions.note_lateness(&Lateness { began, ..Lateness::default() }, Duration::from_secs(1));
            conditions.doubts
        };
        assert_eq!(began(900), Vec::<String>::new());
        assert!(began(4200)[0].starts_with("the bottleneck began 4.2 ms after the run"), "{:?}", began(4200));
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

    #[test]
    fn a_flow_whose_thread_stood_still_is_not() {
        let mut conditions = Conditions::of_machine();
        let mut late = Histogram::default();
        late.record(200_000_000);
        conditions.note_traffic("f", &late, Duration::from_secs(10));
        assert!(conditions.trusted());
        late.record(700_000_000);
        conditions.note_traffic("g", &late, Duration::from_secs(10));
        assert!(
            conditions.doubts[0].starts_with("the thread of flow g stood still for 700 ms"),
            "{:?}",
            conditions.doubts
        );
        assert_eq!(conditions.traffic.max_ns, late.max());
    }

    /// The effect of six runs at a time on two processors: rates 13 % too low, although no packet was late.
    #[test]
    fn a_flow_whose_thread_is_late_too_often_is_not() {
        let doubts = |often_ms: u64| {
            let mut conditions = Conditions::of_machine();
            let mut late = Histogram::default();
            late.record_many(800_000, 9_800);
            late.record_many(often_ms * 1_000_000, 200);
            conditions.note_traffic("f", &late, Duration::from_secs(130));
            conditions.doubts
        };
        assert_eq!(doubts(15), Vec::<String>::new());
        let told = doubts(60);
        assert!(told[0].starts_with("the thread of flow f was late: 1 % of its actions came 6"), "{told:?}");
    }

    #[test]
    fn in_a_short_run_a_tenth_of_it_is_the_bound() {
        let mut conditions = Conditions::of_machine();
        let mut late = Histogram::default();
        late.record(60_000_000);
        conditions.note_traffic("f", &late, Duration::from_millis(500));
        assert!(conditions.doubts[0].ends_with("stood still for 60 ms; the bound is 50 ms"), "{:?}", conditions.doubts);
    }

    #[test]
    fn a_bottleneck_that_does_not_look_at_its_devices_is_doubted() {
        let mut conditions = Conditions::of_machine();
        let lateness = Lateness { stood: Duration::from_millis(80), ..Lateness::default() };
        conditions.note_lateness(&lateness, Duration::from_secs(1));
        assert_eq!(conditions.doubts, ["the bottleneck stood still for 80 ms; the bound is 50 ms"]);
    }
}
