//! Checks flows against channels: refuses packets that no frame can carry.

use super::{Row, rows};
use crate::build::Build;
use crate::check::Path;
use crate::quantity::{show_rate, show_time};
use crate::types::{Flow, Wifi, WifiMode};
use narrows_units::{Bytes, Rate};
use std::collections::BTreeSet;

/// Largest MSDU in bytes (IEEE 802.11-2016, section 9.2.4.7.1).
const MAX_MSDU: u64 = 2304;

/// Bytes around an MSDU in an MPDU of an A-MPDU: delimiter, QoS data header, FCS (sections 9.7.1, 9.2.4.1, 9.2.4.8).
const AROUND: u64 = 4 + 26 + 4;

impl Build<'_> {
    /// Refuses flows whose packets are larger than a frame of their channel, and A-MPDUs that cannot hold one packet.
    pub(crate) fn air_for_packets(&mut self, flows: &[Flow], wifi: &[Wifi]) {
        let rows = rows(self.root);
        // A channel that could not be built has been reported. Rows and channels then no longer correspond.
        if rows.len() != wifi.len() {
            return;
        }
        for (row, channel) in rows.iter().zip(wifi) {
            let stations: BTreeSet<usize> = channel.stations.iter().map(|station| station.node).collect();
            // Stations do not forward, so only flows that begin or end at one cross the channel.
            let crossing = flows.iter().filter(|flow| stations.contains(&flow.from) || stations.contains(&flow.to));
            let Some(largest) = crossing.max_by_key(|flow| self.packet(flow)) else { continue };
            self.frame_for_packet(row, channel, largest);
        }
    }

    fn frame_for_packet(&mut self, row: &Row<'_>, channel: &Wifi, flow: &Flow) {
        let packet = self.packet(flow);
        let overhead = channel.stations.iter().chain([&channel.base]).map(|station| station.overhead.as_u64()).max();
        let overhead = overhead.unwrap_or(0);
        let msdu = packet + overhead;
        if msdu > MAX_MSDU {
            let reason = format!(
                "carries packets of flow {:?}: {packet} B and {overhead} B of overhead are more than an MSDU ({MAX_MSDU} B)",
                flow.name
            );
            let allowed = format!("packets of at most {} B (tcp.mss, payload)", MAX_MSDU.saturating_sub(overhead));
            self.report.add(row.record.place, row.path, "", reason, allowed);
            return;
        }
        let Some(aggregation) = channel.aggregation else { return };
        let (own, parent) = (row.record.table("aggregation"), row.at("aggregation"));
        let mpdu = Bytes::new(msdu + AROUND);
        let rate = self.data_rate(channel);
        let mut complain = |key: &str, reason: String, allowed: String| {
            // If a default does not fit, the problem is reported at the channel.
            let item = own.and_then(|own| own.given(key));
            let (place, shown) = item.map_or((row.record.place, "the default"), |item| (item.place, &item.shown));
            self.report.add(place, Path::Key(&parent, key), shown, reason, allowed);
        };
        if mpdu > aggregation.max_bytes {
            let reason = format!("is less than one packet of flow {:?} in its MPDU", flow.name);
            complain("max_bytes", reason, format!("at least {} B", mpdu.as_u64()));
        }
        let Some(rate) = rate else { return };
        let time = rate.time_for(mpdu);
        if time > aggregation.max_time {
            let reason = format!("is too short for one packet of flow {:?} at {}", flow.name, show_rate(rate));
            complain("max_time", reason, format!("at least {}", show_time(time)));
        }
    }

    fn data_rate(&self, channel: &Wifi) -> Option<Rate> {
        match channel.mode {
            WifiMode::Rate(rate) => Some(rate),
            WifiMode::Mcs { mcs, width_mhz, streams, short_guard } => {
                self.catalogue.find_phy(&channel.phy)?.mcs_rate(mcs, width_mhz, streams, short_guard)
            }
        }
    }
}
