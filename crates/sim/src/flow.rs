//! A flow at run time: its two connections, its application and its accounts.

use crate::app::Source;
use crate::meter::FlowMeter;
use narrows_scenario::{Flow, Traffic};
use narrows_tcp::Connection;
use narrows_units::{Bytes, Duration, Instant, Rate};
use narrows_wire::Ip;

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

/// A receiving application that reads at a limited rate.
#[derive(Debug)]
pub(crate) struct SlowReader {
    /// Bytes per reading.
    pub(crate) chunk: Bytes,
    /// Time between readings.
    pub(crate) every: Duration,
}

impl SlowReader {
    /// Readings of what `rate` gives in ten milliseconds, but at least one byte.
    pub(crate) fn at(rate: Rate) -> Self {
        let every = Duration::from_millis(10);
        let chunk = rate.bytes_in(every).max(Bytes::new(1));
        Self { chunk, every: rate.time_for(chunk) }
    }
}

/// A flow at run time.
#[derive(Debug)]
pub(crate) struct FlowState {
    /// As in the scenario.
    pub(crate) spec: Flow,
    /// When it starts in this run, jitter included.
    pub(crate) start: Instant,
    /// The two ends, by [`End::index`]; none for UDP and before the start.
    pub(crate) ends: [Option<Box<Connection>>; 2],
    /// Network header of UDP datagrams.
    pub(crate) datagram: Ip,
    /// The sending application.
    pub(crate) app: Source,
    /// The receiving application, if it is slow.
    pub(crate) reader: Option<SlowReader>,
    /// Whether the application has stopped.
    pub(crate) stopped: bool,
    /// Accounts.
    pub(crate) meter: FlowMeter,
}

impl FlowState {
    /// Whether the flow is TCP.
    pub(crate) const fn is_tcp(&self) -> bool {
        !matches!(self.spec.traffic, Traffic::Udp { .. })
    }

    /// The end whose data the flow's figures are about.
    pub(crate) fn sender(&self) -> End {
        if self.app.server_sends() { End::Server } else { End::Client }
    }

    /// The connection at the sending end.
    pub(crate) fn sender_connection(&self) -> Option<&Connection> {
        self.ends[self.sender().index()].as_deref()
    }

    /// When the first of the two ends gave the connection up, or was reset.
    pub(crate) fn aborted(&self) -> Option<Instant> {
        self.ends.iter().flatten().filter_map(|end| end.aborted_at()).min()
    }

    /// Payload bytes that the receiving application has got in order.
    pub(crate) fn delivered(&self) -> Bytes {
        match &self.ends[self.sender().other().index()] {
            Some(receiver) => receiver.delivered_to_app() - receiver.readable(),
            None => Bytes::new(self.meter.datagram_bytes),
        }
    }
}
