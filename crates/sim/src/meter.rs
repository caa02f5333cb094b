//! A flow's accounts: what the network and the receiver saw of it, in constant memory.

use narrows_samples::Histogram;
use narrows_units::{Bytes, Duration, Instant};

/// Width of the bins of which the fullest is reported as maximum throughput.
const BIN: Duration = Duration::from_secs(1);

/// What is counted per flow outside its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowMeter {
    /// Payload packets of the data direction, dropped by queues or corrupted on links.
    pub(crate) lost_packets: u64,
    /// IP bytes of the data direction that reached the receiving host.
    pub(crate) arrived_bytes: u64,
    /// Packets with payload of the data direction that reached the receiving host.
    pub(crate) arrived_packets: u64,
    /// Payload bytes of datagrams that reached the receiving host (UDP only).
    pub(crate) datagram_bytes: u64,
    /// Datagrams sent and their payload (UDP only).
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    /// Latest round-trip time sample.
    pub(crate) latest_rtt: Option<Duration>,
    /// All round-trip time samples.
    pub(crate) rtt: Histogram,
    /// When a bounded transfer was delivered in full.
    pub(crate) finished: Option<Instant>,
    bin_end: Instant,
    bin_bytes: u64,
    max_bin_bytes: u64,
}

impl FlowMeter {
    /// Counts a packet of the data direction that reached the receiving host.
    #[inline]
    pub(crate) fn arrived(&mut self, len: Bytes, payload: u32, now: Instant) {
        if now >= self.bin_end {
            self.max_bin_bytes = self.max_bin_bytes.max(self.bin_bytes);
            self.bin_bytes = 0;
            self.bin_end = Instant::ZERO + BIN * (now.as_nanos() / BIN.as_nanos() + 1);
        }
        self.bin_bytes += len.as_u64();
        self.arrived_bytes += len.as_u64();
        self.arrived_packets += u64::from(payload > 0);
    }

    /// Counts a round-trip time sample.
    #[inline]
    pub(crate) fn round_trip(&mut self, rtt: Duration) {
        self.latest_rtt = Some(rtt);
        self.rtt.record(rtt.as_nanos());
    }

    /// IP bytes in the fullest bin so far.
    pub(crate) fn max_bin_bytes(&self) -> u64 {
        self.max_bin_bytes.max(self.bin_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_second_counts() {
        let mut m = FlowMeter::default();
        for (ms, len) in [(0, 10), (999, 10), (1000, 15), (2500, 1), (9000, 3)] {
            m.arrived(Bytes::new(len), 1, Instant::ZERO + Duration::from_millis(ms));
        }
        assert_eq!((m.max_bin_bytes(), m.arrived_bytes, m.arrived_packets), (20, 39, 5));
    }
}
