//! 802.11: stations, each a sans-IO state machine of the distributed coordination function (DCF), and the medium they share.
//!
//! A newcomer reads `phy` (how long a frame is on the air), `frame.rs` (what frames there are), `access.rs` (when a station
//! may send), `station.rs` (what it sends, and what it makes of what it hears), then `medium.rs` (who hears whom, and
//! what collides). Time is an argument; packets come from and go to a [`Host`]; random numbers come from streams
//! that the caller hands in.
//!
//! Not modelled: rate adaptation (rates are fixed), fading and mobility (a frame error rate and a strength per
//! station stand for the channel), the priorities of EDCA, fragmentation, power saving, beacons, association, and the
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
