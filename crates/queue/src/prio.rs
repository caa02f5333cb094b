//! Strict priority: several bands by DSCP, of which the first that is not empty is served.
//!
//! # Idea
//! The DSCP of a packet chooses a band. A band sends only while all bands before it are empty, so that its packets wait
//! for at most one packet of a later band: the one in transmission. A first band that fills the link starves the rest.
//!
//! # Sources
//! - Linux 6.1, `net/sched/sch_prio.c`: `prio_dequeue` (bands in order), three bands by default.
//! - RFC 4594, sections 2.3 and 4: service classes and their code points. RFC 5865: VOICE-ADMIT. RFC 8622: LE.
//! - RFC 2474, section 4.2.2 and RFC 791, section 3.1: precedence, the three high bits.
//!
//! # State
//! | Linux | field |
//! |---|---|
//! | `bands`, `queues` | `bands`: one queue for each |
//! | `prio2band` | [`PrioMap::band`] |
//!
//! With `map = "rfc4594"`, bands after the last one count as the last one:
//!
//! | code points | band |
//! |---|---|
//! | EF (46), VOICE-ADMIT (44), CS5 (40), CS6 (48), CS7 (56) | 0 |
//! | default (0), AF, CS2 to CS4, and all that no other line names | 1 |
//! | CS1 (8), LE (1) | 2 |
//!
//! With `map = "precedence"`, the band is (7 - precedence) * bands / 8, rounded down:
//!
//! | bands | precedence 7 | 6 | 5 | 4 | 3 | 2 | 1 | 0 |
//! |---|---|---|---|---|---|---|---|---|
//! | 2 | 0 | 0 | 0 | 0 | 1 | 1 | 1 | 1 |
//! | 3 | 0 | 0 | 0 | 1 | 1 | 1 | 2 | 2 |
//! | 8 | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
//!
//! # Differences
//! - Linux chooses the band by the socket's priority, which follows the old TOS bits, or by a filter. This file reads
//!   the DSCP only.
//! - Linux gives each band a queue of its own, with its own limit. Here `share = "per_band"` gives each band an equal
//!   part of `limit`, rounded down; `share = "shared"` lets all bands use the whole of it.
//! - A packet without room is dropped as it arrives, whatever its band; Linux's `skbprio` pushes out instead.
//!
//! # Limits
//! Bands are at most 8, where Linux has 16: precedence has eight values. CS1 is below the default class in `rfc4594`,
//! and above it in `precedence`. With `shared`, a late band that fills the limit makes the first bands lose packets.
//!
//! # Vectors
//! `dscp_chooses_the_band_by_rfc_4594`, `precedence_chooses_the_band`, `each_band_has_its_part_of_the_limit`,
//! `earlier_bands_leave_first_and_starve_later_ones`,
//! `a_shared_limit_is_taken_by_whoever_comes`.

use crate::fifo::Waiting;
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Word};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Limit, Queue, QueueView};
use narrows_units::{Bytes, Instant, Packets, Rate, Variable};
use narrows_wire::Packet;
use std::collections::VecDeque;

/// The row of strict priority.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "prio",
        title: "Strict priority",
        doc: "strict priority by DSCP",
        sources: &["Linux 6.1, net/sched/sch_prio.c", "RFC 4594, sections 2.3 and 4", "RFC 2474, section 4.2.2"],
        params: PARAMS,
        variables: &[
            Variable::new("busy_bands", "bands", "Bands in which packets wait."),
            Variable::new("first_band", "", "The band that is served next; -1 if no packet waits."),
        ],
        tail_only: false,
        fit,
        source: include_str!("prio.rs"),
    },
    build,
};

const PARAMS: &[Param] = &[
    Param {
        name: "bands",
        doc: "Number of bands; `rfc4594` has at most 3.",
        kind: Kind::Integer { unit: "bands", default: 3, min: 2, max: 8 },
    },
    Param {
        name: "map",
        doc: "How the DSCP chooses the band.",
        kind: Kind::Choice {
            default: "rfc4594",
            words: &[
                Word("rfc4594", "EF, VOICE-ADMIT and CS5 to CS7 first, CS1 and LE last, all others between"),
                Word("precedence", "by the three high bits, larger values first"),
            ],
        },
    },
    Param {
        name: "share",
        doc: "How the bands share the limit.",
        kind: Kind::Choice {
            default: "per_band",
            words: &[
                Word("per_band", "each band has an equal part of the limit"),
                Word("shared", "each band may use the whole limit"),
            ],
        },
    },
];

fn fit(params: &mut Params, limit: Limit) -> Result<(), Broken> {
    let bands = params.integer("bands");
    if params.choice("map") == "rfc4594" && bands > 3 {
        let reason = "is more than the table of rfc4594 uses".to_owned();
        return Err(Broken { param: "bands", reason, allowed: "2 or 3, or map = \"precedence\"".to_owned() });
    }
    let room = match limit {
        Limit::Packets(n) => n.as_u64(),
        Limit::Bytes(n) => n.as_u64(),
    };
    if params.choice("share") == "per_band" && room < bands {
        let reason = format!("is above the limit of {room}, which leaves bands without room");
        return Err(Broken { param: "bands", reason, allowed: format!("at most {room}, or share = \"shared\"") });
    }
    Ok(())
}

fn build(Setup { limit, params, .. }: Setup<'_>) -> Box<dyn Queue> {
    Box::new(Prio::new(limit, PrioConfig::of(params)))
}

/// How a DSCP chooses a band; the head of the source file has both tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrioMap {
    /// Three groups of the service classes of RFC 4594.
    Rfc4594,
    /// The three high bits, larger values first.
    Precedence,
}

impl PrioMap {
    /// The band of a DSCP among `bands`.
    #[must_use]
    pub const fn band(self, dscp: u8, bands: usize) -> usize {
        let last = bands.saturating_sub(1);
        let band = match (self, dscp) {
            (Self::Rfc4594, 40 | 44 | 46 | 48 | 56) => 0,
            (Self::Rfc4594, 1 | 8) => 2,
            (Self::Rfc4594, _) => 1,
            (Self::Precedence, _) => (7 - ((dscp >> 3) & 7) as usize) * bands / 8,
        };
        if band < last { band } else { last }
    }
}

/// Parameters of strict priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrioConfig {
    /// Number of bands, at least one.
    pub bands: usize,
    /// How the DSCP chooses the band.
    pub map: PrioMap,
    /// Whether all bands may use the whole limit, instead of an equal part each.
    pub shared: bool,
}

impl Default for PrioConfig {
    /// Linux's three bands, each with its own room.
    fn default() -> Self {
        Self { bands: 3, map: PrioMap::Rfc4594, shared: false }
    }
}

impl PrioConfig {
    /// The values of the row's parameters.
    fn of(params: &Params) -> Self {
        let map = if params.choice("map") == "precedence" { PrioMap::Precedence } else { PrioMap::Rfc4594 };
        Self { bands: params.integer("bands") as usize, map, shared: params.choice("share") == "shared" }
    }
}

/// A band.
#[derive(Clone, Debug, Default)]
struct Band {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
}

/// A strict priority queue; see the head of this file.
#[derive(Clone, Debug)]
pub struct Prio {
    config: PrioConfig,
    limit: Limit,
    rate: Rate,
    bands: Vec<Band>,
    packets: u64,
    bytes: Bytes,
}

impl Prio {
    /// An empty queue.
    #[must_use]
    pub fn new(limit: Limit, config: PrioConfig) -> Self {
        let bands = vec![Band::default(); config.bands.max(1)];
        Self { config, limit, rate: Rate::ZERO, bands, packets: 0, bytes: Bytes::ZERO }
    }

    fn has_room_for(&self, size: Bytes, band: usize) -> bool {
        let (band, parts) = (&self.bands[band], self.bands.len() as u64);
        match (self.limit, self.config.shared) {
            (Limit::Packets(limit), true) => self.packets < limit.as_u64(),
            (Limit::Packets(limit), false) => (band.packets.len() as u64) < limit.as_u64() / parts,
            (Limit::Bytes(limit), true) => self.bytes + size <= limit,
            (Limit::Bytes(limit), false) => band.bytes + size <= limit / parts,
        }
    }

    /// The band that is served next. There are few bands, so that a search costs less than a list would.
    fn first(&self) -> Option<usize> {
        self.bands.iter().position(|band| !band.packets.is_empty())
    }
}

impl Queue for Prio {
    fn enqueue(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let number = self.config.map.band(packet.ip.dscp(), self.bands.len());
        let (size, subqueue) = (packet.len(), number as u32);
        if self.has_room_for(size, number) {
            let band = &mut self.bands[number];
            band.packets.push_back(Waiting { packet, enqueued: now });
            band.bytes += size;
            self.packets += 1;
            self.bytes += size;
        } else {
            dropped.push(Dropped { packet, reason: DropReason::Overflow, subqueue });
        }
        Enqueued { marked: false, subqueue }
    }

    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        let number = self.first()?;
        let band = &mut self.bands[number];
        let Waiting { packet, enqueued } = band.packets.pop_front()?;
        band.bytes -= packet.len();
        self.packets -= 1;
        self.bytes -= packet.len();
        Some(Dequeued { packet, enqueued, marked: false, subqueue: number as u32 })
    }

    fn view(&self) -> QueueView {
        QueueView { bytes: self.bytes, packets: Packets::new(self.packets), limit: self.limit, rate: self.rate }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn subqueues(&self) -> Vec<String> {
        (0..self.bands.len()).map(|number| format!("band {number}")).collect()
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("busy_bands", self.bands.iter().filter(|band| !band.packets.is_empty()).count() as f64);
        visit("first_band", self.first().map_or(-1.0, |number| number as f64));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};
    use narrows_wire::{Ip, Transport, UdpRepr};

    fn packet(dscp: u8) -> Packet {
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut ip = Ip::between(host, host);
        ip.set_dscp(dscp);
        Packet { ip, transport: Transport::Udp(UdpRepr::default()), payload_len: 972 }
    }

    fn queue(limit: u64, shared: bool) -> Prio {
        Prio::new(Limit::Packets(Packets::new(limit)), PrioConfig { shared, ..PrioConfig::default() })
    }

    /// Offers packets of these code points; the sub-queues of those that were dropped.
    fn put(queue: &mut Prio, dscps: &[u8]) -> Vec<u32> {
        let mut dropped = Vec::new();
        for &dscp in dscps {
            queue.enqueue(packet(dscp), Instant::ZERO, &mut dropped);
        }
        dropped.iter().map(|d| d.subqueue).collect()
    }

    fn next(queue: &mut Prio) -> Option<u8> {
        queue.dequeue(Instant::ZERO, &mut Vec::new()).map(|out| out.packet.ip.dscp())
    }

    #[test]
    fn defaults_of_the_row_are_those_of_the_type() {
        assert_eq!(PrioConfig::of(&Params::defaults(PARAMS)), PrioConfig::default());
    }

    #[test]
    fn dscp_chooses_the_band_by_rfc_4594() {
        let of = |dscp| PrioMap::Rfc4594.band(dscp, 3);
        assert_eq!([46, 44, 40, 48, 56].map(of), [0; 5]);
        assert_eq!([1, 8].map(of), [2; 2]);
        let others = (0..64).filter(|dscp| ![46, 44, 40, 48, 56, 1, 8].contains(dscp));
        assert!(others.map(of).all(|band| band == 1));
        assert_eq!([46, 0, 8].map(|dscp| PrioMap::Rfc4594.band(dscp, 2)), [0, 1, 1]);
    }

    #[test]
    fn precedence_chooses_the_band() {
        for (bands, expected) in
            [(2, [0, 0, 0, 0, 1, 1, 1, 1]), (3, [0, 0, 0, 1, 1, 1, 2, 2]), (8, [0, 1, 2, 3, 4, 5, 6, 7])]
        {
            let seen = [7, 6, 5, 4, 3, 2, 1, 0].map(|high| PrioMap::Precedence.band(high << 3 | 6, bands));
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn earlier_bands_leave_first_and_starve_later_ones() {
        let mut queue = queue(30, false);
        assert!(put(&mut queue, &[8, 0, 46, 1, 10, 48]).is_empty());
        // Each packet that leaves is replaced by one of the first band: the others wait for ever.
        assert_eq!([next(&mut queue), next(&mut queue)], [Some(46), Some(48)]);
        for _ in 0..20 {
            put(&mut queue, &[46]);
            assert_eq!(next(&mut queue), Some(46));
        }
        let rest: Vec<_> = core::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(rest, [0, 10, 8, 1], "by band, and in order within one");
    }

    #[test]
    fn each_band_has_its_part_of_the_limit() {
        // 7 packets over 3 bands: 2 each.
        assert_eq!(put(&mut queue(7, false), &[8, 8, 8, 0, 46, 46, 46, 0, 0]), [2, 0, 1]);
        let limit = Limit::Bytes(Bytes::new(6_000));
        let mut queue = Prio::new(limit, PrioConfig::default());
        assert_eq!(put(&mut queue, &[0, 0, 0, 46]), [1]);
        assert_eq!(queue.view().bytes, Bytes::new(3_000));
    }

    #[test]
    fn a_shared_limit_is_taken_by_whoever_comes() {
        let mut queue = queue(3, true);
        assert_eq!(put(&mut queue, &[8, 8, 8, 46]), [0], "the first band loses to the last");
        assert_eq!(next(&mut queue), Some(8));
        assert!(put(&mut queue, &[46]).is_empty());
        assert_eq!(next(&mut queue), Some(46));
    }

    #[test]
    fn rules_among_parameters_are_checked() {
        let broken = |bands, map, share, limit| {
            let mut params = Params::defaults(PARAMS);
            params.set("bands", crate::registry::Value::Integer(bands));
            params.set("map", crate::registry::Value::Choice(map));
            params.set("share", crate::registry::Value::Choice(share));
            fit(&mut params, Limit::Packets(Packets::new(limit))).is_err()
        };
        assert!(broken(4, "rfc4594", "shared", 100) && !broken(4, "precedence", "shared", 100));
        assert!(broken(3, "rfc4594", "per_band", 2) && !broken(3, "rfc4594", "per_band", 3));
        assert!(!broken(3, "rfc4594", "shared", 2));
    }

    #[test]
    fn state_shows_busy_bands_and_the_next_one() {
        let seen = |queue: &Prio| {
            let mut seen = Vec::new();
            queue.state(&mut |_, value| seen.push(value as i64));
            seen
        };
        let mut queue = queue(30, false);
        assert_eq!(seen(&queue), [0, -1]);
        put(&mut queue, &[8, 0]);
        assert_eq!((seen(&queue), queue.subqueues().join(",")), (vec![2, 1], "band 0,band 1,band 2".to_owned()));
    }
}
