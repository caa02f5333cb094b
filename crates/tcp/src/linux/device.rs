//! The device of a host, as one connection sees it.

use super::gro::Gro;
use super::small_queue::SmallQueue;
use narrows_settings::Config;
use narrows_units::Instant;

/// What the device does for a connection.
#[derive(Debug)]
pub(crate) struct Device {
    /// Present if it merges what arrives.
    pub(crate) gro: Option<Gro>,
    /// Present if what waits in it bounds the sender.
    pub(crate) small_queue: Option<SmallQueue>,
    /// End of the connection's TIME-WAIT, which shares a timer with the device.
    pub(crate) time_wait: Instant,
}

impl Device {
    /// The device that the settings ask for; `None` if it does neither.
    pub(crate) fn new(config: &Config) -> Option<Box<Self>> {
        let gro = Gro::new(config.gro);
        let small_queue = (config.gso && config.tsq).then(SmallQueue::default);
        let any = gro.is_some() || small_queue.is_some();
        any.then(|| Box::new(Self { gro, small_queue, time_wait: Instant::NEVER }))
    }

    /// When it has to be looked at next.
    pub(crate) fn due(&self) -> Instant {
        let merged = self.gro.as_ref().map_or(Instant::NEVER, Gro::due);
        let room = self.small_queue.as_ref().map_or(Instant::NEVER, SmallQueue::wake);
        merged.min(room).min(self.time_wait)
    }
}
