//! The two ends of every TCP flow, in one table.
//!
//! An end's place follows from its flow's number and a small table that stays in the caches. So a connection can be
//! prefetched long before it is needed, without reading the flow first.

use crate::flow::{End, FlowState};
use narrows_tcp::Connection;
use narrows_units::Bytes;

/// The place of a flow without connections. It is one below the maximum, so that the place of its server does not
/// overflow a `usize` of 32 bits; no table is that long there.
const NOWHERE: u32 = u32::MAX - 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Per flow: index of its client in `ends`; its server follows.
    places: Vec<u32>,
    /// In the order in which flows open.
    ends: Vec<Connection>,
}

impl Connections {
    /// An empty table for `flows` flows, with room for the connections of `tcp` of them.
    pub(crate) fn new(flows: usize, tcp: usize) -> Self {
        // Reserved memory is not used until a connection is written to it.
        Self { places: vec![NOWHERE; flows], ends: Vec::with_capacity(2 * tcp) }
    }

    /// Stores the client and the server of a flow.
    pub(crate) fn open(&mut self, flow: usize, ends: [Connection; 2]) {
        self.places[flow] = self.ends.len() as u32;
        self.ends.extend(ends);
    }

    /// Takes the connections of another table, of flows that have none in this one.
    pub(crate) fn adopt(&mut self, other: Self) {
        let before = self.ends.len() as u32;
        for (place, theirs) in self.places.iter_mut().zip(other.places).filter(|&(_, theirs)| theirs != NOWHERE) {
            *place = before + theirs;
        }
        self.ends.extend(other.ends);
    }

    /// Frees what the totals do not need.
    pub(crate) fn put_away(&mut self) {
        for end in &mut self.ends {
            end.put_away();
        }
    }

    /// An end of a flow; `None` for UDP and before the start.
    #[inline]
    pub(crate) fn get(&self, flow: usize, end: End) -> Option<&Connection> {
        self.ends.get(self.places[flow] as usize + end.index())
    }

    /// An end of a flow, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, flow: usize, end: End) -> Option<&mut Connection> {
        self.ends.get_mut(self.places[flow] as usize + end.index())
    }

    /// Prefetches an end that will soon get a packet, with data or without.
    #[inline]
    pub(crate) fn prefetch(&self, flow: usize, end: End, data: bool) {
        if let Some(connection) = self.get(flow, end) {
            connection.prefetch(data);
        }
    }

    /// Prefetches what an end points to, when it is in the caches itself.
    #[inline]
    pub(crate) fn prefetch_behind(&self, flow: usize, end: End, data: bool) {
        if let Some(connection) = self.get(flow, end) {
            connection.prefetch_behind(data);
        }
    }
}

/// Payload bytes that a flow's receiving application has received in order.
pub(crate) fn delivered(connections: &Connections, flow: usize, state: &FlowState) -> Bytes {
    match connections.get(flow, state.sender().other()) {
        Some(receiver) => receiver.delivered_to_app() - receiver.readable(),
        None => Bytes::new(state.meter.udp().received_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_server_that_is_not_there_does_not_wrap_round() {
        assert_eq!(NOWHERE.checked_add(End::Server.index() as u32), Some(u32::MAX));
    }

    #[test]
    fn a_connection_is_sixteen_cache_lines() {
        assert!(size_of::<Connection>() <= 16 * 64, "{}", size_of::<Connection>());
    }
}
