//! ACKs and congestion events as a user's object sees them.

use narrows_cc::{Ack, Congestion};
use narrows_units::Rate;
use pyo3::prelude::*;

/// An ACK that delivered data.
#[pyclass(name = "Ack", frozen)]
pub(crate) struct PyAck(pub(super) Ack);

#[pymethods]
impl PyAck {
    /// Bytes newly acknowledged cumulatively.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked.as_u64()
    }

    /// Bytes newly delivered, cumulatively or by SACK.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.as_u64()
    }

    /// Round-trip time sample, s; None without a valid sample (Karn's rule).
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// One-way delay including the clocks' offset, s; only differences are meaningful. None without timestamps.
    #[getter]
    fn one_way_delay_s(&self) -> Option<f64> {
        self.0.one_way_delay.map(narrows_units::Duration::as_secs_f64)
    }

    /// Delivery-rate sample, bit/s; None without one.
    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        self.0.rate.map(|s| Rate::of(s.delivered, s.interval).as_bps() as f64)
    }

    /// Whether the application limited the delivery-rate sample.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.rate.is_some_and(|s| s.app_limited)
    }

    /// Bytes reported as marked CE.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked.as_u64()
    }

    /// Bytes that this ACK revealed as lost.
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost.as_u64()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A congestion event.
#[pyclass(name = "Congestion", frozen)]
pub(crate) struct PyCongestion(pub(super) Congestion);

#[pymethods]
impl PyCongestion {
    /// Kind of event: loss, ecn or timeout.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            Congestion::Loss { .. } => "loss",
            Congestion::Ecn { .. } => "ecn",
            Congestion::Timeout { .. } => "timeout",
        }
    }

    /// Whether it is a repeated timeout of the same data: ssthresh must then stay (RFC 5681, section 3.1).
    #[getter]
    fn repeated(&self) -> bool {
        matches!(self.0, Congestion::Timeout { repeated: true })
    }

    /// Bytes marked lost so far in this episode; zero for other events than a loss.
    #[getter]
    fn lost(&self) -> u64 {
        if let Congestion::Loss { lost } = self.0 { lost.as_u64() } else { 0 }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
