//! 802.11: stations, which are sans-IO state machines of the distributed coordination function (DCF), and their medium.
//!
//! Newcomers read `phy` (how long a frame is on the air), `frame.rs` (the kinds of frames), `access.rs` (when a station
//! may send), `station.rs` (what a station sends, and how it reacts to what it hears), then `medium.rs` (who hears
//! whom, and what collides). Time is an argument; packets come from and go to a [`Host`]; random numbers come from
//! streams that the caller passes in.
//!
//! Not modelled: rate adaptation (rates are fixed), fading and mobility (a frame error rate and a signal strength per
//! station represent the channel), the priorities of EDCA, fragmentation, power saving, beacons, association, and the
//! point coordination function.

mod access;
mod config;
mod frame;
mod medium;
mod meter;
mod outbox;
mod phy;
mod radio;
mod reorder;
mod station;

pub use config::{Aggregation, Config, Errors, StationConfig};
pub use frame::{Frame, FrameKind, Mpdu};
pub use medium::{Host, Medium, Outgoing};
pub use meter::StationMeter;
pub use phy::{Mcs, Mode, Modulation, PhyError, PhyRow, modulations, registry};
