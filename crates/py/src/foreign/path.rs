//! The path as a user's object sees it.

use narrows_cc::{Path, Phase};
use pyo3::prelude::*;

/// What the connection knows of its path.
#[pyclass(name = "Path", frozen)]
pub(crate) struct PyPath(pub(super) Path);

#[pymethods]
impl PyPath {
    /// Current time, s.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// Sender maximum segment size, bytes.
    #[getter]
    fn smss(&self) -> u64 {
        self.0.smss.as_u64()
    }

    /// Initial window (RFC 6928), bytes.
    #[getter]
    fn initial_window(&self) -> u64 {
        self.0.initial_window.as_u64()
    }

    /// Smoothed round-trip time, s; None before the first sample.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// Smallest round-trip time, s.
    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        self.0.min_rtt.map(narrows_units::Duration::as_secs_f64)
    }

    /// Retransmission timeout, s.
    #[getter]
    fn rto_s(&self) -> f64 {
        self.0.rto.as_secs_f64()
    }

    /// Bytes sent and not cumulatively acknowledged (RFC 5681).
    #[getter]
    fn flightsize(&self) -> u64 {
        self.0.flightsize.as_u64()
    }

    /// Bytes in the network as estimated by the scoreboard (RFC 6675's pipe).
    #[getter]
    fn inflight(&self) -> u64 {
        self.0.inflight.as_u64()
    }

    /// Offset of the first byte not acknowledged.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.0.snd_una
    }

    /// Offset of the next byte to send for the first time.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.0.snd_nxt
    }

    /// Bytes delivered over the life of the connection.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.as_u64()
    }

    /// Bytes marked lost over the life of the connection.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.as_u64()
    }

    /// Whether cwnd limited the sender last time; grow only then (RFC 7661).
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// Rate at which segments are paced, whoever set it, bit/s; None without pacing.
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.0.pacing_rate.map(|rate| rate.as_bps() as f64)
    }

    /// Earliest time at which pacing lets the next segment leave, s. It is `now_s` or earlier if nothing waits.
    #[getter]
    fn departure_s(&self) -> f64 {
        self.0.departure.as_secs_f64()
    }

    /// Phase of loss recovery: open, disorder, cwr, recovery or loss.
    #[getter]
    fn phase(&self) -> &'static str {
        match self.0.phase {
            Phase::Open => "open",
            Phase::Disorder => "disorder",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
