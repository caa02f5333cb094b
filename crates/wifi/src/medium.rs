//! The shared medium: who hears whom, and what collides.

use crate::config::{Config, Errors, StationConfig};
use crate::frame::{Frame, Mpdu};
use crate::meter::StationMeter;
use narrows_rng::Stream;
use narrows_units::Instant;
use narrows_wire::Packet;

/// A packet that a station is to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Station that shall have it.
    pub to: usize,
    /// The packet.
    pub packet: Packet,
}

/// What the stations need from whoever runs them: their interface queues, and somebody who takes what arrives.
pub trait Host {
    /// Takes the next packet from `station`'s interface queue; `None` where nothing waits.
    fn next(&mut self, station: usize, now: Instant) -> Option<Outgoing>;

    /// Takes a further packet for `to` from `station`'s interface queue, for the same A-MPDU.
    fn next_for(&mut self, station: usize, to: usize, now: Instant) -> Option<Packet>;

    /// A packet arrived at `station`, once and in order.
    fn received(&mut self, station: usize, packet: &Packet, now: Instant);

    /// `station` gave a packet up at a retry limit.
    fn given_up(&mut self, station: usize, packet: &Packet, now: Instant);

    /// A frame starts onto the air; `mpdus` are those that it carries (none for control frames). For captures.
    fn sent(&mut self, frame: &Frame, mpdus: &[Mpdu]);
}

/// A channel and its stations. Station 0 is the base station.
#[derive(Debug)]
pub struct Medium {
    _config: Config,
}

impl Medium {
    /// An idle medium.
    ///
    /// `hidden` lists pairs of which the first does not reach the second. `stream` makes the random stream of a station
    /// for a purpose (`"backoff"`, `"errors"`).
    pub fn new(
        config: Config,
        _stations: &[StationConfig],
        _hidden: &[(usize, usize)],
        _errors: &[Errors],
        _stream: impl FnMut(usize, &str) -> Stream,
    ) -> Self {
        Self { _config: config }
    }

    /// When the medium must be looked at next ([`handle`](Self::handle)); `Instant::NEVER` while nothing is going on.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        Instant::NEVER
    }

    /// Does what is due at `now`.
    pub fn handle(&mut self, _now: Instant, _host: &mut impl Host) {}

    /// A packet came into `station`'s interface queue. Afterwards [`next_event`](Self::next_event) may be earlier.
    pub fn wake(&mut self, _station: usize, _now: Instant, _host: &mut impl Host) {}

    /// A station's counters.
    #[must_use]
    pub fn meter(&self, _station: usize) -> &StationMeter {
        const NOTHING: &StationMeter = &StationMeter {
            data_frames: 0,
            mpdus: 0,
            rts_frames: 0,
            cts_frames: 0,
            ack_frames: 0,
            rts_failures: 0,
            data_failures: 0,
            retried_mpdus: 0,
            given_up: 0,
            received: 0,
            duplicates: 0,
            collisions: 0,
            corrupted: 0,
            airtime: narrows_units::Duration::ZERO,
        };
        NOTHING
    }
}
