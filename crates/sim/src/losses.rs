//! Losses on lines, which may be known ahead of the clock, until they are counted for their flows.

use crate::flow::{End, FlowState};
use crate::parcels::Parcel;
use narrows_units::Instant;

/// How many losses are kept before past ones are counted.
const MANY: usize = 4096;

/// A data packet that was lost, or will be.
#[derive(Clone, Copy, Debug)]
struct Loss {
    at: Instant,
    flow: u32,
}

/// Losses that are not counted yet.
#[derive(Debug)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// Length of the list at which past losses are counted. It is set to twice what the last pass left, so that each
    /// loss is examined only a few times.
    full: usize,
    /// The flows of losses that were counted since they were last asked for, if someone asks.
    told: Option<Vec<u32>>,
}

impl Losses {
    /// An empty list.
    pub(crate) fn new() -> Self {
        Self { list: Vec::new(), full: MANY, told: None }
    }

    /// Notes the loss of a packet at `at`. It counts for its flow if it carries payload in the flow's data direction.
    pub(crate) fn note(&mut self, parcel: Parcel, at: Instant, now: Instant, flows: &mut [FlowState]) {
        let data =
            parcel.loaded() && flows.get(parcel.flow()).is_some_and(|f| parcel.along() == (f.sender() == End::Client));
        if !data {
            return;
        }
        self.list.push(Loss { at, flow: parcel.flow() as u32 });
        if self.list.len() >= self.full {
            self.count(now, flows);
            self.full = MANY.max(2 * self.list.len());
        }
    }

    /// Counts the losses up to `now`.
    pub(crate) fn count(&mut self, now: Instant, flows: &mut [FlowState]) {
        self.list.retain(|loss| {
            let past = loss.at <= now;
            if past && let Some(flow) = flows.get_mut(loss.flow as usize) {
                flow.meter.lost_packets += 1;
                if let Some(told) = &mut self.told {
                    told.push(loss.flow);
                }
            }
            !past
        });
    }

    /// Keeps the flows of counted losses for [`told`](Self::told) from now on.
    pub(crate) fn tell(&mut self) {
        self.told = Some(Vec::new());
    }

    /// The flows of the losses that were counted since the last call, each as often as it lost a packet.
    pub(crate) fn told(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.told.iter_mut().flat_map(|told| told.drain(..))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::build::testing::flows;
    use crate::parcels::Parcels;
    use crate::routes::Way;
    use narrows_units::Duration;
    use narrows_wire::{Ip, Packet, Transport, UdpRepr};

    #[test]
    fn losses_are_counted_when_their_time_has_come() {
        let mut flows = flows();
        let (src_port, dst_port) = narrows_fabric::ports(0);
        let ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let packet = |src_port, dst_port, payload_len| Packet {
            ip,
            transport: Transport::Udp(UdpRepr { src_port, dst_port, rtp: None }),
            payload_len,
        };
        let mut parcels = Parcels::default();
        let mut label = |packet: &Packet, along| parcels.keep(packet, 0, along, Way::new(0));
        let data = label(&packet(src_port, dst_port, 100), true);
        let others = [label(&packet(src_port, dst_port, 0), true), label(&packet(dst_port, src_port, 100), false)];
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut losses = Losses::new();
        for other in others {
            losses.note(other, at(1), at(0), &mut flows);
        }
        losses.note(data, at(5), at(0), &mut flows);
        losses.note(data, at(7), at(0), &mut flows);
        let counted: Vec<_> = [4, 5, 6, 9, 9]
            .map(|ms| {
                losses.count(at(ms), &mut flows);
                flows[0].meter.lost_packets
            })
            .into();
        assert_eq!(counted, [0, 1, 1, 2, 2]);
    }
}
