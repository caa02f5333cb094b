//! A flow at run time: its application and its counters.

use narrows_fabric::{DatagramMeter, FlowMeter, SlowReader, Source};
use narrows_scenario::{Flow, Traffic};
use narrows_tcp::prefetch_lines;
use narrows_units::{Bytes, Instant};
use narrows_wire::RTP_LEN;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// At the flow's `from`: opens the connection.
    Client,
    /// At the flow's `to`.
    Server,
}

impl End {
    /// 0 for the client, 1 for the server.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    /// The other end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A flow at run time. Fields that every packet needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowState {
    /// When the timers of the two ends expire; their slots are armed for then or earlier.
    pub(crate) alarms: [Instant; 2],
    /// Bytes of a bounded transfer; [`Bytes::MAX`] without bound.
    pub(crate) size: Bytes,
    /// Whether the server's side carries the data (request and response).
    server_sends: bool,
    /// Whether it is TCP.
    tcp: bool,
    /// Whether the application has stopped.
    pub(crate) stopped: bool,
    /// Whether trains lead from the flow's `to` to its `from`, and to no other host.
    pub(crate) rides_home: bool,
    /// Whether a packet that goes against the flow was lost, and no ACK of plain data has left since.
    pub(crate) ack_lost: bool,
    /// When its application acts next; it does when the flow stops, at the latest.
    pub(crate) app_at: Instant,
    /// Counters.
    pub(crate) meter: FlowMeter,
    /// The sending application.
    pub(crate) app: Box<Source>,
    /// When it starts in this run, jitter included.
    pub(crate) start: Instant,
    /// When the application stops.
    pub(crate) stop: Instant,
    /// What its datagrams measure, if they have room for a number.
    pub(crate) datagrams: Option<Box<DatagramMeter>>,
    /// The receiving application, if it is slow.
    pub(crate) reader: Option<Box<SlowReader>>,
}

impl FlowState {
    /// A flow that starts at `start`.
    pub(crate) fn new(spec: &Flow, start: Instant, app: Source) -> Self {
        let size = if let Traffic::Bulk { size: Some(size) } = spec.traffic { size } else { Bytes::MAX };
        Self {
            alarms: [Instant::NEVER; 2],
            server_sends: app.server_sends(),
            tcp: spec.tcp().is_some(),
            meter: FlowMeter::default(),
            size,
            app: Box::new(app),
            start,
            stop: spec.stop,
            stopped: false,
            rides_home: false,
            ack_lost: false,
            app_at: Instant::NEVER,
            datagrams: spec.udp().filter(|udp| udp.payload.as_u64() >= RTP_LEN as u64).map(|_| Box::default()),
            reader: spec.tcp().and_then(|tcp| tcp.read_rate).map(|rate| Box::new(SlowReader::at(rate))),
        }
    }

    /// Prefetches what a packet at a host needs: the first two cache lines.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch_lines(self, 0..2);
    }

    /// Whether the flow is TCP.
    pub(crate) const fn is_tcp(&self) -> bool {
        self.tcp
    }

    /// Whether the server's side carries the data (request and response), rather than the client's.
    #[inline]
    pub(crate) const fn server_sends(&self) -> bool {
        self.server_sends
    }

    /// The end that sends the data that the flow's metrics describe.
    #[inline]
    pub(crate) const fn sender(&self) -> End {
        if self.server_sends { End::Server } else { End::Client }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_three_cache_lines() {
        assert!(size_of::<FlowState>() <= 192, "{}", size_of::<FlowState>());
    }
}
