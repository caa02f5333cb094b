//! The behaviour of Linux beyond the RFCs: a receiver's ACKs and window, and the bursts of a sender.
//!
//! | file | its part | switch |
//! |---|---|---|
//! | `peer_mss.rs` | the estimate of the peer's segment size that both others use | either |
//! | `quickack.rs` | when ACKs leave | [`Config::quick_ack`](crate::Config::quick_ack) |
//! | `autotuning.rs` | how the advertised window grows | [`Config::autotuning`](crate::Config::autotuning) |
//! | `gso.rs` | how many segments leave together | [`Config::gso`](crate::Config::gso) |
//! | `small_queue.rs` | how many wait in the sender's own host | [`Config::tsq`](crate::Config::tsq) |
//! | `gro.rs` | which of those that arrive become one packet | [`Config::gro`](crate::Config::gro) |
//! | `device.rs` | the host's device, which has the last two | either of them |
//! | `write_queue.rs` | the buffers that the application's data waits in | the same |
//!
//! The first three follow Linux 6.1 (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`), the window also later
//! versions ([`Config::kernel`](crate::Config::kernel)). They are state machines that the receiver notifies of segments
//! and queries; none knows a packet. If both switches are off, none of them exists.

pub(crate) mod autotuning;
pub(crate) mod device;
pub(crate) mod gro;
pub(crate) mod gso;
pub(crate) mod peer_mss;
pub(crate) mod quickack;
pub(crate) mod small_queue;
pub(crate) mod write_queue;

use autotuning::{Arrived, Autotuning};
use narrows_settings::{Config, DelayedAck};
use narrows_units::{Duration, Instant};
use peer_mss::PeerMss;
use quickack::QuickAck;

/// This end's estimates of its path when a segment arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPath {
    /// Smoothed round-trip time, if there was a sample.
    pub(crate) srtt: Option<Duration>,
    /// Retransmission timeout.
    pub(crate) rto: Duration,
}

/// A segment with data, as headers describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Payload, bytes.
    pub(crate) len: u64,
    /// Payload of each segment, bytes, if it is a packet of several (`gso_size`); else `len`.
    pub(crate) size: u64,
    /// TCP header with its options, bytes.
    pub(crate) header: u64,
    /// Whether PSH is set.
    pub(crate) push: bool,
    /// TSecr, and the time since our clock showed it.
    pub(crate) echo: Option<(u32, Duration)>,
    /// Its first octet, as an offset.
    pub(crate) start: i64,
}

/// The Linux part of a receiver.
#[derive(Debug)]
pub(crate) struct Linux {
    pub(crate) mss: PeerMss,
    /// Present if ACKs follow Linux.
    pub(crate) quick: Option<QuickAck>,
    /// Present if the window follows Linux.
    pub(crate) tuning: Option<Autotuning>,
}

impl Linux {
    /// The parts that the settings ask for. Without delayed ACKs every segment is acknowledged anyway, so `quick` has
    /// nothing to decide.
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        let quick = match config.delayed_ack {
            DelayedAck::On { timeout, .. } if config.quick_ack => Some(QuickAck::new(timeout)),
            _ => None,
        };
        let tuning = config
            .autotuning
            .then(|| Autotuning::new(config.kernel, config.recv_buffer.as_u64(), u64::from(config.mss)));
        let any = quick.is_some() || tuning.is_some();
        any.then(|| Box::new(Self { mss: PeerMss::default(), quick, tuning }))
    }

    /// The connection is established; `window` is what was offered last.
    pub(crate) fn establish(&mut self, advmss: u64, window: u64, shift: u8, now: Instant) {
        self.mss = PeerMss::new(advmss, window);
        if let Some(quick) = &mut self.quick {
            quick.establish(now);
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.establish(advmss, window, shift, now);
        }
    }

    /// A segment with data arrived in order (`tcp_event_data_recv`); `window` is what was offered last.
    pub(crate) fn on_in_order(&mut self, segment: &Segment, at: &Arrived, window: u64, own: &OwnPath) {
        let before = self.mss.bytes();
        let note = self.mss.measure(segment.size, segment.header, segment.push);
        if let Some(quick) = &mut self.quick {
            quick.on_push(note);
            quick.on_data(self.mss.quota(window), own.rto, at.now);
        }
        if let Some(tuning) = &mut self.tuning {
            if let Some(echo) = segment.echo {
                tuning.on_echo(echo, segment.len >= before, at.queued);
            }
            if segment.size > before {
                tuning.on_longer(segment.size);
            }
            tuning.on_window_edge(at.nxt, window, at.now);
            if segment.len >= SMALLEST_GROWTH
                && tuning.grow(at, (segment.len, segment.size), self.mss.bytes())
                && let Some(quick) = &mut self.quick
            {
                quick.nudge();
            }
        }
    }

    /// A segment beyond a gap arrived on a connection with SACK (`tcp_data_queue_ofo`).
    pub(crate) fn on_out_of_order(&mut self, segment: &Segment, at: &Arrived) {
        let Some(tuning) = &mut self.tuning else { return };
        if let Some(echo) = segment.echo {
            tuning.on_echo(echo, segment.len >= self.mss.bytes(), at.queued);
        }
        if tuning.grow(at, (segment.len, segment.size), self.mss.bytes())
            && let Some(quick) = &mut self.quick
        {
            quick.nudge();
        }
        tuning.on_gap(at.beyond);
    }

    /// Ends quick ACKs if less than half of the buffer is free, as `__tcp_select_window` does.
    pub(crate) fn note_pressure(&mut self, held: u64) {
        if let (Some(tuning), Some(quick)) = (&self.tuning, &mut self.quick)
            && tuning.is_tight(held, self.mss.bytes())
        {
            quick.exhaust();
        }
    }
}

/// Shortest payload for which the window grows (`tcp_event_data_recv`), bytes.
const SMALLEST_GROWTH: u64 = 128;
