//! Parameters of NGWA, with the paper's values as defaults.

use narrows_settings::scheme::Values;
use narrows_units::{Bytes, Duration};
use thiserror::Error;

/// Largest number of flows that a table may be configured for; it holds at most two fewer.
const MOST_FLOWS: u64 = 1 << 32;

/// One of the paper's eight modes (table 1): which of three parts are switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NgwaMode {
    /// CW: whether a congestion window bounds the sender too (equation 1). Without one it is the TCP of RFC 793.
    pub congestion_window: bool,
    /// SE: whether the receiver smooths the values (equation 4).
    pub smoothing: bool,
    /// FD: whether routers write each flow's share of the queue (equation 3) instead of its free bytes.
    pub flow_division: bool,
}

impl NgwaMode {
    /// Returns the mode of this number, 1 to 8, in the order of table 1 of the paper.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number == 0 || number > 8 {
            return None;
        }
        let bits = number - 1;
        Some(Self { congestion_window: bits & 2 == 0, smoothing: bits & 1 != 0, flow_division: bits & 4 != 0 })
    }

    /// Returns the number of the mode, 1 to 8.
    #[must_use]
    pub const fn number(self) -> u8 {
        1 + self.smoothing as u8 + 2 * !self.congestion_window as u8 + 4 * self.flow_division as u8
    }
}

/// When a router counts a packet's flow and writes its value into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stamp {
    /// When the packet leaves the queue, as in the paper's Linux module (section 4.1: "called by the function
    /// dequeue"). The value is as fresh as possible, and the queue itself holds packets as their senders made them.
    #[default]
    Departure,
    /// When the packet arrives, before it enters the queue. The value is older by the queueing delay.
    Arrival,
}

/// Into which segments routers write their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Marks {
    /// Every TCP segment, as the paper says: "If the packet isn't TCP, nothing will be done" (section 4.1). A SYN
    /// brings the value to the receiver before it offers its first window.
    #[default]
    All,
    /// Only segments with payload. Headers stay short, but a flow's share is unknown until its first data segment.
    Data,
}

/// All parameters of NGWA. Routers, senders and receivers of one network share one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NgwaConfig {
    /// Which parts are on.
    pub mode: NgwaMode,
    /// alpha, the weight of the newest value in smoothing (equation 4): between 0 and 1, both excluded.
    pub alpha: f64,
    /// The part of the queue that flow division distributes (equation 3: 0.98, which leaves room for ACKs): above 0, at
    /// most 1.
    pub flow_factor: f64,
    /// A flow without a segment for this long is no longer counted.
    pub idle_timeout: Duration,
    /// Largest number of flows in a queue's table; a new flow beyond it replaces the longest idle one.
    pub max_flows: u64,
    /// Whether the receiver moves the right edge of its window left when the value falls. The paper's equation 2, taken
    /// literally, does so; RFC 9293, section 3.8.6, advises against it.
    pub shrink: bool,
    /// Whether flows without a congestion window keep their own loss recovery, instead of the timer alone.
    pub fast_retransmit: bool,
    /// When routers write their value.
    pub stamp: Stamp,
    /// Into which segments they write it.
    pub marks: Marks,
    /// Bytes that one place of a queue stands for, where its limit is in packets.
    pub packet_size: Bytes,
    /// `W_max` of equation 2, besides the receive buffer; `None` is no bound.
    pub max_window: Option<Bytes>,
}

impl Default for NgwaConfig {
    /// Mode 6, which has all that the paper recommends with a congestion window; the paper's 0.3 and 0.98; and, for
    /// what the paper leaves open, the choices named at each field.
    fn default() -> Self {
        Self {
            mode: NgwaMode { congestion_window: true, smoothing: true, flow_division: true },
            alpha: 0.3,
            flow_factor: 0.98,
            idle_timeout: Duration::from_secs(60),
            max_flows: 65_536,
            shrink: false,
            fast_retransmit: false,
            stamp: Stamp::Departure,
            marks: Marks::All,
            packet_size: Bytes::new(1500),
            max_window: None,
        }
    }
}

/// Why parameters make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NgwaConfigError {
    /// alpha is not strictly between 0 and 1.
    #[error("NGWA alpha is {0}; it must lie between 0 and 1, both excluded")]
    Alpha(f64),
    /// The factor of flow division is out of range.
    #[error("NGWA flow factor is {0}; it must be above 0 and at most 1")]
    FlowFactor(f64),
    /// Flows would leave the table at once.
    #[error("NGWA idle timeout is {0}; it must be longer than zero")]
    IdleTimeout(Duration),
    /// A place of a queue counts nothing.
    #[error("NGWA packet size is 0 B; it must be at least one byte")]
    PacketSize,
    /// The table holds nothing, or too much.
    #[error("NGWA table bound is {0} flows; it must be 1 to {MOST_FLOWS}")]
    MaxFlows(u64),
}

impl NgwaConfig {
    /// Converts the values of a scenario's table.
    ///
    /// # Errors
    /// A sentence that says which value is refused, and what is allowed.
    pub fn from_values(values: &Values) -> Result<Self, String> {
        let mode = values.integer("mode")?;
        let known = u8::try_from(mode).ok().and_then(NgwaMode::new);
        let config = Self {
            mode: known.ok_or_else(|| format!("NGWA mode is {mode}; it must be 1 to 8"))?,
            alpha: values.number("alpha")?,
            flow_factor: values.number("flow_factor")?,
            idle_timeout: values.time("idle_timeout")?,
            max_flows: values.integer("max_flows")?,
            shrink: values.switch("shrink")?,
            fast_retransmit: values.switch("fast_retransmit")?,
            stamp: match values.word("stamp")? {
                "arrival" => Stamp::Arrival,
                _ => Stamp::Departure,
            },
            marks: match values.word("marks")? {
                "data" => Marks::Data,
                _ => Marks::All,
            },
            packet_size: values.size("packet_size")?.unwrap_or_default(),
            max_window: values.size("max_window")?,
        };
        config.check().map_err(|error| error.to_string())?;
        Ok(config)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// The first broken rule: alpha in (0, 1), a flow factor in (0, 1], an idle timeout above zero, a packet
    /// size of at least one byte, a table of 1 to 2^32 flows.
    pub fn check(&self) -> Result<(), NgwaConfigError> {
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return Err(NgwaConfigError::Alpha(self.alpha));
        }
        if !(self.flow_factor > 0.0 && self.flow_factor <= 1.0) {
            return Err(NgwaConfigError::FlowFactor(self.flow_factor));
        }
        if self.idle_timeout.is_zero() {
            return Err(NgwaConfigError::IdleTimeout(self.idle_timeout));
        }
        if self.packet_size == Bytes::ZERO {
            return Err(NgwaConfigError::PacketSize);
        }
        if !(1..=MOST_FLOWS).contains(&self.max_flows) {
            return Err(NgwaConfigError::MaxFlows(self.max_flows));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_eight_modes_are_those_of_table_1() {
        // CW, SE, FD.
        let table = [
            (1, true, false, false),
            (2, true, true, false),
            (3, false, false, false),
            (4, false, true, false),
            (5, true, false, true),
            (6, true, true, true),
            (7, false, false, true),
            (8, false, true, true),
        ];
        for (number, congestion_window, smoothing, flow_division) in table {
            let mode = NgwaMode::new(number).unwrap();
            assert_eq!(mode, NgwaMode { congestion_window, smoothing, flow_division }, "mode {number}");
            assert_eq!(mode.number(), number);
        }
        assert!(NgwaMode::new(0).is_none() && NgwaMode::new(9).is_none() && NgwaMode::new(255).is_none());
    }

    #[test]
    fn every_rule_is_checked() {
        let d = NgwaConfig::default();
        assert_eq!((d.check(), d.mode.number()), (Ok(()), 6));
        for alpha in [0.0, 1.0, -0.3, 1.5, f64::NAN] {
            assert!(NgwaConfig { alpha, ..d }.check().is_err(), "{alpha}");
        }
        for flow_factor in [0.0, 1.01, -1.0, f64::NAN] {
            assert!(NgwaConfig { flow_factor, ..d }.check().is_err(), "{flow_factor}");
        }
        assert_eq!(NgwaConfig { flow_factor: 1.0, ..d }.check(), Ok(()));
        assert!(NgwaConfig { idle_timeout: Duration::ZERO, ..d }.check().is_err());
        for max_flows in [0, MOST_FLOWS + 1] {
            assert!(NgwaConfig { max_flows, ..d }.check().is_err(), "{max_flows}");
        }
        assert!(NgwaConfig { packet_size: Bytes::ZERO, ..d }.check().is_err());
        let text = NgwaConfig { alpha: 1.0, ..d }.check().unwrap_err().to_string();
        assert_eq!(text, "NGWA alpha is 1; it must lie between 0 and 1, both excluded");
    }
}
