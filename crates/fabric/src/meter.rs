//! A flow's counters: what the network and the receiver saw of it, in constant memory.

use narrows_samples::Histogram;
use narrows_units::{Bytes, Duration, Instant};

/// Width of the bins; the fullest bin is reported as maximum throughput.
const BIN: Duration = Duration::from_secs(1);

/// Number of round-trip time samples kept before they go into the histogram.
const RECENT: usize = 7;

/// Counters of a flow outside its connections. Fields that change with each packet at the receiver come first, then
/// those that change with each packet at the sender, then the rest.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct FlowMeter {
    bin_end: Instant,
    bin_bytes: u64,
    /// IP bytes of the data direction that reached the receiving host.
    pub arrived_bytes: u64,
    /// Packets with payload of the data direction that reached the receiving host.
    pub arrived_packets: u64,
    /// Latest round-trip time sample; [`Duration::MAX`] before the first.
    latest_rtt: Duration,
    /// The latest few samples in nanoseconds. A histogram spans several cache lines, and with many flows each sample
    /// would have to fetch them. A flow with no more samples than these needs no histogram.
    recent_len: u32,
    recent: [u32; RECENT],
    /// All earlier samples.
    earlier: Option<Box<Histogram>>,
    max_bin_bytes: u64,
    /// Payload packets of the data direction, dropped by queues or corrupted on links.
    pub lost_packets: u64,
    /// What only a UDP flow counts.
    udp: Option<Box<UdpCounts>>,
    /// When a bounded transfer was delivered in full; [`Instant::NEVER`] before that.
    finished_at: Instant,
}

/// What a UDP flow counts, and a connection counts for itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct UdpCounts {
    /// Payload bytes of datagrams that reached the receiving host.
    pub received_bytes: u64,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Payload bytes of the datagrams sent.
    pub sent_bytes: u64,
}

impl Default for FlowMeter {
    fn default() -> Self {
        Self {
            bin_end: Instant::ZERO,
            bin_bytes: 0,
            arrived_bytes: 0,
            arrived_packets: 0,
            latest_rtt: Duration::MAX,
            recent_len: 0,
            recent: [0; RECENT],
            earlier: None,
            max_bin_bytes: 0,
            lost_packets: 0,
            udp: None,
            finished_at: Instant::NEVER,
        }
    }
}

impl FlowMeter {
    /// Counts a packet of the data direction that reached the receiving host.
    #[inline]
    pub fn arrived(&mut self, len: Bytes, payload: u32, now: Instant) {
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
    pub fn round_trip(&mut self, rtt: Duration) {
        self.latest_rtt = rtt;
        let Ok(nanos) = u32::try_from(rtt.as_nanos()) else {
            // More than four seconds, which is rare.
            return self.earlier.get_or_insert_default().record(rtt.as_nanos());
        };
        self.recent[self.recent_len as usize] = nanos;
        self.recent_len += 1;
        if self.recent_len as usize == RECENT {
            self.put_away();
        }
    }

    /// What a UDP flow has counted.
    pub fn udp(&self) -> UdpCounts {
        self.udp.as_deref().copied().unwrap_or_default()
    }

    /// What a UDP flow counts, for counting.
    pub fn udp_mut(&mut self) -> &mut UdpCounts {
        self.udp.get_or_insert_default()
    }

    /// Latest round-trip time sample.
    pub fn latest_rtt(&self) -> Option<Duration> {
        (self.latest_rtt < Duration::MAX).then_some(self.latest_rtt)
    }

    /// Notes that a bounded transfer has been delivered in full.
    pub fn finish(&mut self, now: Instant) {
        self.finished_at = now;
    }

    /// When a bounded transfer was delivered in full.
    pub fn finished(&self) -> Option<Instant> {
        (self.finished_at < Instant::NEVER).then_some(self.finished_at)
    }

    #[cold]
    fn put_away(&mut self) {
        let earlier = self.earlier.get_or_insert_default();
        earlier.record_all(&self.recent);
        self.recent_len = 0;
    }

    /// All round-trip time samples.
    pub fn round_trips(&self) -> Histogram {
        let mut all = self.earlier.as_deref().cloned().unwrap_or_default();
        self.recent[..self.recent_len as usize].iter().for_each(|&sample| all.record(sample.into()));
        all
    }

    /// IP bytes in the fullest bin so far.
    pub fn max_bin_bytes(&self) -> u64 {
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
