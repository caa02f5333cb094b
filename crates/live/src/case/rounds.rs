//! Packet-timed round trips, counted from what `TCP_INFO` shows at each look.

use crate::TcpInfo;

/// Counts round trips: one ends when data that was sent after the end of the last one is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    end: Option<End>,
}

/// What was sent when the round trip under way began.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Bytes sent for the first time. More are cumulatively acknowledged only once later data is delivered.
    sent: u64,
    /// Segments that were delivered or in flight. More are delivered only once later data is, or one that was taken for
    /// lost.
    segments: u32,
}

/// What a look shows of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes sent for the first time.
    pub(super) sent: u64,
    /// Bytes cumulatively acknowledged.
    pub(super) acked: u64,
    /// Segments delivered so far; wraps. `None` on a kernel that does not count them.
    pub(super) delivered: Option<u32>,
    /// Segments in the network.
    pub(super) inflight: u32,
}

impl Progress {
    pub(super) fn of(info: &TcpInfo, opened: bool) -> Self {
        Self {
            sent: info.fresh_bytes(),
            acked: info.acked_bytes(opened),
            delivered: info.delivered(),
            inflight: info.inflight_segments(),
        }
    }

    fn end(&self) -> End {
        End { sent: self.sent, segments: self.delivered.unwrap_or(0).wrapping_add(self.inflight) }
    }
}

impl Rounds {
    /// Takes a look; returns the round trips that have ended.
    pub(super) fn take(&mut self, now: Progress) -> u64 {
        let Some(end) = self.end else {
            // The first round trip begins with the first data.
            if now.sent > 0 {
                self.end = Some(End { sent: 0, ..Progress { inflight: 0, ..now }.end() });
            }
            return self.count;
        };
        let passed = |delivered: u32| (delivered.wrapping_sub(end.segments) as i32) > 0;
        if now.acked > end.sent || now.delivered.is_some_and(passed) {
            self.count += 1;
            self.end = Some(now.end());
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sent: u64, acked: u64, delivered: u32, inflight: u32) -> Progress {
        Progress { sent: sent * 1000, acked: acked * 1000, delivered: Some(delivered), inflight }
    }

    #[test]
    fn a_round_ends_when_data_sent_after_the_last_one_is_delivered() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.take(at(0, 0, 1, 0)), 0, "the handshake alone");
        assert_eq!(rounds.take(at(10, 0, 1, 10)), 0);
        // The first ACK ends the first round trip; twelve segments are out then.
        assert_eq!(rounds.take(at(14, 2, 3, 12)), 1);
        assert_eq!(rounds.take(at(20, 14, 15, 6)), 1, "all of them are delivered, and nothing later");
        assert_eq!(rounds.take(at(22, 16, 17, 6)), 2);
    }

    #[test]
    fn sacked_data_ends_a_round_while_the_cumulative_ack_waits() {
        let mut rounds = Rounds::default();
        rounds.take(at(10, 0, 1, 10));
        assert_eq!(rounds.take(at(12, 2, 3, 10)), 1);
        // Segment 3 is lost: it is not delivered, and eleven later ones are.
        assert_eq!(rounds.take(at(24, 2, 13, 9)), 1, "ten of the twelve sent by then");
        assert_eq!(rounds.take(at(26, 2, 14, 9)), 2);
    }
}
