//! The conditions of a live run: which properties of the machine affected the results, and whether to trust them.

use crate::bottleneck::Lateness;
use crate::trace::Traced;
use narrows_samples::Histogram;
use narrows_units::{Duration, Instant};
use std::fs;

/// Share of packets that may be handed over later than [`LATE`].
pub const LATE_SHARE: f64 = 0.01;

/// From how late a packet counts as late.
pub const LATE: Duration = Duration::from_millis(1);

/// A packet later than this alone makes a run not to be trusted: it is longer than most round trips.
pub const FAR_TOO_LATE: Duration = Duration::from_millis(50);

/// From how late a share of [`LATE_SHARE`] of what a flow's thread has to do may be at most. Six runs at a time on two processors, each
/// with a window of 64 KiB at 100 Mb/s, were 35 to 130 ms late and 2 to 13 % slower than alone, while no packet was late.
pub const TRAFFIC_OFTEN_LATE: Duration = Duration::from_millis(20);

/// Fewest things done of which a percentile is told from a single bad moment.
const OFTEN: u64 = 500;

/// From how late the thread of a flow may be at most: by then a socket may have run dry, or the window of a slow reader closed.
pub const TRAFFIC_LATE: Duration = Duration::from_millis(500);

/// Lateness in nanoseconds: of packets handed over by the bottleneck, or of what flows' threads had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatenessFacts {
    /// How often: packets handed over, or times that a thread had something to do.
    pub count: u64,
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
    /// How late the threads of flows were whenever their application, or a look at their connection, was due: the worst of them.
    pub traffic: LatenessFacts,
    /// Packets that hosts did not take, or that went nowhere.
    pub astray: u64,
    /// Offloads of the hosts' devices.
    pub offloads: String,
    /// Settings of the hosts' namespaces that a run set: name and value.
    pub sysctls: Vec<(String, String)>,
    /// Where each congestion control came from: its name in the scenario, and `kernel` or `eBPF`.
    pub controls: Vec<(String, String)>,
    /// TCP settings of the scenario that the kernel replaces by its own, a sentence each.
    pub left_to_kernel: Vec<String>,
    /// Where round-trip times come from.
    pub rtt_source: String,
    /// Records of the kernel's tracepoints that were lost because the reader was late.
    pub trace_lost: u64,
    /// Records that were counted and, being more than four million, not kept: their samples of the round-trip time are missing.
    pub trace_not_kept: u64,
    /// Tracepoints that this kernel lacks; what they would tell is missing.
    pub trace_missing: Vec<&'static str>,
    /// Share of a processor that reading the records took, in [0, 1].
    pub trace_cpu: f64,
    /// How often each flow's thread looks at its connection (`TCP_INFO`).
    pub look: Duration,
    /// Programs of the user's that ran meanwhile, and how each ended: `s1: iperf3 -c d1: exit code 0`.
    pub programs: Vec<String>,
    /// Why the numbers are not to be trusted, a sentence each; empty if they are.
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
    /// What the machine is; the run adds the rest.
    #[must_use]
    pub fn of_machine() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A TUN device without virtio headers cannot be handed more than one packet at a time, so the kernel segments before.
        let offloads = "none: TCP segments before the device, and nothing is merged behind it".to_owned();
        Self { kernel, cpus, offloads, ..Self::default() }
    }

    /// Takes in how late the bottleneck was over a run of `duration`, and flags unreliable runs.
    pub fn note_lateness(&mut self, lateness: &Lateness, duration: Duration) {
        let late = &lateness.handed_over;
        self.scheduling.clone_from(&lateness.scheduling);
        self.bottleneck_cpu = lateness.cpu.as_secs_f64() / duration.as_secs_f64().max(1e-9);
        self.astray += lateness.refused;
        self.lateness = LatenessFacts::of(late);
        let began = lateness.began.since(Instant::ZERO);
        if began > LATE {
            self.doubts.push(format!(
                "the bottleneck began {:.1} ms after the run, and {:.0} ms is the bound: first packets waited for it",
                began.as_millis_f64(),
                LATE.as_millis_f64(),
            ));
        }
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
        } else if lateness.stood > FAR_TOO_LATE {
            self.doubts.push(format!(
                "the bottleneck stood still for {:.0} ms, and {:.0} ms is the bound",
                lateness.stood.as_millis_f64(),
                FAR_TOO_LATE.as_millis_f64(),
            ));
        }
    }

    /// Takes in how late a flow's thread was in a run of `duration`, and doubts a run in which one stood still for a tenth of it, within
    /// [`FAR_TOO_LATE`] and [`TRAFFIC_LATE`].
    pub fn note_traffic(&mut self, flow: &str, late: &Histogram, duration: Duration) {
        let facts = LatenessFacts::of(late);
        let bound = (duration / 10).clamp(FAR_TOO_LATE, TRAFFIC_LATE);
        if facts.max_ns > bound.as_nanos() {
            self.doubts.push(format!(
                "the thread of flow {flow} stood still for {:.0} ms, and {:.0} ms is the bound",
                ms(facts.max_ns),
                bound.as_millis_f64(),
            ));
        } else if facts.count >= OFTEN && facts.p99_ns > TRAFFIC_OFTEN_LATE.as_nanos() {
            self.doubts.push(format!(
                "the thread of flow {flow} got too little time: 1 % of what it had to do came {:.0} ms late or more, and {:.0} ms is the \
                 bound",
                ms(facts.p99_ns),
                TRAFFIC_OFTEN_LATE.as_millis_f64(),
            ));
        }
        if facts.max_ns >= self.traffic.max_ns {
            self.traffic = facts;
        }
    }

    /// Takes in how well the kernel's tracepoints were followed over a run of `duration`.
    pub(crate) fn note_trace(&mut self, traced: &Traced, duration: Duration) {
        self.trace_lost = traced.overruns;
        self.trace_not_kept = traced.not_kept;
        self.trace_missing.clone_from(&traced.missing);
        self.trace_cpu = traced.cpu.as_secs_f64() / duration.as_secs_f64().max(1e-9);
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

    /// What six runs at a time on two processors did to one another: rates 13 % too low, and no packet late.
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
        assert!(
            told[0].starts_with("the thread of flow f got too little time: 1 % of what it had to do came 6"),
            "{told:?}"
        );
    }

    #[test]
    fn in_a_short_run_a_tenth_of_it_is_the_bound() {
        let mut conditions = Conditions::of_machine();
        let mut late = Histogram::default();
        late.record(60_000_000);
        conditions.note_traffic("f", &late, Duration::from_millis(500));
        assert!(
            conditions.doubts[0].ends_with("stood still for 60 ms, and 50 ms is the bound"),
            "{:?}",
            conditions.doubts
        );
    }

    #[test]
    fn a_bottleneck_that_does_not_look_at_its_devices_is_doubted() {
        let mut conditions = Conditions::of_machine();
        let lateness = Lateness { stood: Duration::from_millis(80), ..Lateness::default() };
        conditions.note_lateness(&lateness, Duration::from_secs(1));
        assert_eq!(conditions.doubts, ["the bottleneck stood still for 80 ms, and 50 ms is the bound"]);
    }
}
