//! How late the bottleneck hands packets over, and from when on that is too late.

use narrows_samples::Histogram;
use narrows_units::{Duration, Instant};

/// Largest share of packets that may be handed over later than [`LATE`].
pub const LATE_SHARE: f64 = 0.01;

/// Lateness beyond which a packet counts as late.
pub const LATE: Duration = Duration::from_millis(1);

/// How late packets were handed to their hosts.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Nanoseconds between a packet's arrival in the network's time and its handover.
    pub handed_over: Histogram,
    /// Packets that a host did not accept: its device was down, or the packet malformed.
    pub refused: u64,
    /// How the thread was scheduled: `SCHED_FIFO 10`, `nice -20`, `normal`.
    pub scheduling: String,
    /// When the thread began to carry packets; time zero if it was ready before. Packets that hosts sent earlier had to
    /// wait, which [`handed_over`](Self::handed_over) does not show.
    pub began: Instant,
    /// Largest lateness of the thread in polling its devices. Packets that wait there when the run ends are never
    /// handed over.
    pub stood: Duration,
    /// Processor time of the thread over the run.
    pub cpu: Duration,
    /// When the thread gave up, having been late and without a pause for its patience.
    pub gave_up: Option<Instant>,
}
