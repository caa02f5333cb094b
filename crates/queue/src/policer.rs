//! A policer: a token bucket without a queue.
//!
//! # Idea
//! Operators hold a customer to a rate without giving the excess a buffer. Tokens for bytes arrive at `rate` and
//! collect in a bucket of `burst` bytes. An arriving packet that the tokens cover takes them and conforms: it enters
//! the link's queue, first in, first out. Any other is dropped at once, however empty the queue is. A sender therefore
//! sees no rise of the round-trip time before the losses: TCP empties the bucket at the rate of the link, and then
//! loses much of a window in one go. Flach et al. found policers on up to 7 % of the connections of a region, with six
//! times the loss of the others, and show that shaping and pacing reach the same end without it. What a policer lacks
//! is the buffer that absorbs bursts, which RFC 7567, section 2, names as the reason for queues.
//!
//! # Sources
//! - RFC 2697, section 3: the meter in colour-blind mode with EBS = 0. Green conforms, red exceeds.
//! - Linux 6.1, `net/sched/act_police.c`, `tcf_police_act`; tc-police(8) for the names of the parameters.
//! - Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
//! - RFC 7567, section 2; RFC 3168, section 5 (`exceed = "mark"`).
//!
//! # State
//! | RFC 2697 | Linux | here | unit |
//! |---|---|---|---|
//! | CIR, CBS | `rate`, `tcfp_burst` | `rate`, `burst` | b/s, bytes |
//! | Tc | `tcfp_toks` | `tokens` | bytes, kept in billionths of a bit |
//!
//! # Differences
//! | question | RFC 2697 | Linux | here |
//! |---|---|---|---|
//! | cost of a packet | its bytes | time at the rate, rounded down to 1 ns | its bytes, exactly |
//! | packet that exceeds | is coloured | the action that is given | as `exceed` says: dropped as forced, or marked |
//! | second bucket | EBS | `peakrate` | none |
//! | largest packet | CBS | `mtu` | `burst` |
//! | bytes of a packet | IP | with its link-layer header | IP |
//!
//! - A packet that exceeds takes no tokens, and one that conforms but finds the queue full has taken them, as a policer
//!   in front of a queue does.
//! - `exceed = "mark"` is an experiment: no standard lets a policer mark CE. It holds a sender that obeys marks, and
//!   no other.
//! - tc has no defaults. Here `rate` is 10 Mb/s, and `burst` what the rate brings in 100 ms: about a round-trip time,
//!   from which on a TCP flow can reach the rate.
//!
//! # Limits
//! One bucket for all packets of the link: there are no classes, and flows are not told apart. Drops of the policer
//! count as forced, those of the queue behind it as overflow.
//!
//! # Vectors
//! `packets_conform_while_tokens_cover_them`, `a_packet_that_exceeds_takes_no_tokens`.

use crate::droptail::DropTail;
use crate::registry::{Broken, Discipline, Kind, Param, Params, Row, Setup, Word};
use crate::tbf::{RATE, fit_burst};
use crate::token_bucket::{DEEPEST, TokenBucket};
use crate::{Dequeued, DropReason, Dropped, Enqueued, Fifo, Limit, Queue, QueueView};
use narrows_units::{Bytes, Duration, Instant, Rate, Variable};
use narrows_wire::{Ecn, Packet};

/// The row of the policer.
pub(crate) const ROW: Row = Row {
    about: Discipline {
        name: "policer",
        title: "Policer",
        doc: "drops what exceeds a token bucket; the rest waits first in, first out",
        sources: &[
            "RFC 2697, section 3",
            "Flach et al., An Internet-Wide Analysis of Traffic Policing, SIGCOMM 2016",
            "Linux 6.1, net/sched/act_police.c",
            "RFC 7567, section 2",
        ],
        params: PARAMS,
        variables: VARIABLES,
        tail_only: false,
        fit,
        source: include_str!("policer.rs"),
    },
    build,
};

const VARIABLES: &[Variable] =
    &[Variable::new("tokens", "bytes", "Tokens (Tc) after the last packet that arrived; full before the first.")];

const PARAMS: &[Param] = &[
    RATE,
    Param {
        name: "burst",
        doc: "Depth of the bucket (CBS), at least a packet of 1500 bytes. \"0 B\" is what `rate` brings in 100 ms.",
        kind: Kind::Size { default: Bytes::ZERO, min: Bytes::ZERO, max: DEEPEST },
    },
    Param {
        name: "exceed",
        doc: "What happens to a packet that the tokens do not cover.",
        kind: Kind::Choice {
            default: "drop",
            words: &[
                Word("drop", "it is dropped"),
                Word("mark", "it is marked CE if it is ECN-capable (RFC 3168), else dropped"),
            ],
        },
    },
];

/// Time in which the rate fills a bucket whose depth is not given.
const FILLED_IN: Duration = Duration::from_millis(100);

/// The packet that a bucket must hold: the MTU of Ethernet.
const MTU: Bytes = Bytes::new(1500);

fn fit(params: &mut Params, _limit: Limit) -> Result<(), Broken> {
    fit_burst(params, FILLED_IN, (MTU, MTU))
}

fn build(Setup { limit, params, .. }: Setup<'_>) -> Box<dyn Queue> {
    let exceed = if params.choice("exceed") == "mark" { Exceed::Mark } else { Exceed::Drop };
    Box::new(Policer::new(limit, PolicerConfig { rate: params.rate("rate"), burst: params.size("burst"), exceed }))
}

/// What happens to a packet that the tokens do not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceed {
    /// It is dropped.
    Drop,
    /// It is marked CE if it is ECN-capable, else dropped.
    Mark,
}

/// Parameters of a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerConfig {
    /// Rate at which tokens arrive, counted over IP packets.
    pub rate: Rate,
    /// Depth of the bucket, up to 10^9 bytes.
    pub burst: Bytes,
    /// What happens to a packet that the tokens do not cover.
    pub exceed: Exceed,
}

/// The meter of a policer: RFC 2697's in colour-blind mode, with EBS = 0.
#[derive(Clone, Copy, Debug)]
pub struct Meter(TokenBucket);

impl Meter {
    /// A meter with a full bucket of `burst` bytes (CBS, up to 10^9), which `rate` (CIR, over IP packets) fills.
    #[must_use]
    pub const fn new(rate: Rate, burst: Bytes) -> Self {
        Self(TokenBucket::new(rate, burst))
    }

    /// Whether a packet of `size` IP bytes conforms at `now`, which takes its tokens.
    #[inline]
    pub fn conforms(&mut self, size: Bytes, now: Instant) -> bool {
        self.0.fill(now);
        let covered = self.0.wait(size).is_zero();
        if covered {
            self.0.take(size);
        }
        covered
    }
}

/// A policer and the queue behind it; see the head of this file.
#[derive(Debug)]
pub struct Policer {
    fifo: Fifo<DropTail>,
    meter: Meter,
    exceed: Exceed,
}

impl Policer {
    /// An empty queue with a full bucket.
    #[must_use]
    pub fn new(limit: Limit, config: PolicerConfig) -> Self {
        let PolicerConfig { rate, burst, exceed } = config;
        Self { fifo: Fifo::new(limit, DropTail), meter: Meter::new(rate, burst), exceed }
    }
}

impl Queue for Policer {
    #[inline]
    fn enqueue(&mut self, mut packet: Packet, now: Instant, dropped: &mut Vec<Dropped>) -> Enqueued {
        let size = packet.len();
        let mut marked = false;
        if !self.meter.conforms(size, now) {
            let ecn = packet.ip.ecn();
            if self.exceed == Exceed::Drop || !ecn.is_capable() {
                dropped.push(Dropped { packet, reason: DropReason::Forced, subqueue: 0 });
                return Enqueued::default();
            }
            // A packet that finds no room is dropped as it came.
            if ecn != Ecn::Ce && self.fifo.has_room_for(size) {
                packet.ip.set_ecn(Ecn::Ce);
                marked = true;
            }
        }
        Enqueued { marked, ..self.fifo.enqueue(packet, now, dropped) }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped>) -> Option<Dequeued> {
        self.fifo.dequeue(now, dropped)
    }

    fn view(&self) -> QueueView {
        self.fifo.view()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.fifo.set_rate(rate);
    }

    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("tokens", self.meter.0.bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp)]
mod tests {
    use super::*;
    use crate::registry::Value;
    use narrows_units::Packets;
    use narrows_wire::{Ip, Transport, UdpRepr};

    /// 8 Mb/s: a byte per microsecond.
    fn policer(burst: u64, exceed: Exceed, limit: u64) -> Policer {
        let config = PolicerConfig { rate: Rate::mbps(8), burst: Bytes::new(burst), exceed };
        Policer::new(Limit::Packets(Packets::new(limit)), config)
    }

    fn packet(ecn: Ecn, size: u32) -> Packet {
        let mut ip = Ip::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        ip.set_ecn(ecn);
        Packet {
            ip,
            transport: Transport::Udp(UdpRepr { src_port: 1, dst_port: 2, rtp: None }),
            payload_len: size - 28,
        }
    }

    /// Offers packets at times in us with sizes; returns what became of each: `None` if it entered the queue.
    fn offer(policer: &mut Policer, ecn: Ecn, packets: &[(u64, u32)]) -> Vec<Option<DropReason>> {
        let fate = |&(us, size): &(u64, u32)| {
            let (packet, mut dropped) = (packet(ecn, size), Vec::new());
            assert!(!policer.enqueue(packet, Instant::from_nanos(us * 1000), &mut dropped).marked);
            dropped.pop().map(|drop| {
                assert_eq!(drop.packet, packet, "as it came");
                drop.reason
            })
        };
        packets.iter().map(fate).collect()
    }

    fn tokens(policer: &Policer) -> f64 {
        let mut tokens = f64::NAN;
        policer.state(&mut |_, value| tokens = value);
        tokens
    }

    const RED: Option<DropReason> = Some(DropReason::Forced);

    #[test]
    fn packets_conform_while_tokens_cover_them() {
        // RFC 2697, section 3: Tc(0) = CBS = 3000, CIR = 1 byte/us.
        //  t (us)  size  Tc before
        //       0  1500       3000  green
        //       0  1000       1500  green
        //     499  1000        999  red: Tc - B < 0
        //     500  1000       1000  green
        //     510    40         10  red
        //   10000  1500       3000  green: full since 3500 us
        let mut policer = policer(3000, Exceed::Drop, 100);
        let fates = offer(
            &mut policer,
            Ecn::NotEct,
            &[(0, 1500), (0, 1000), (499, 1000), (500, 1000), (510, 40), (10_000, 1500)],
        );
        assert_eq!(fates, [None, None, RED, None, RED, None]);
        assert_eq!(tokens(&policer), 1500.0);
        assert_eq!(policer.view().packets, Packets::new(4), "they wait for the link alone");
    }

    #[test]
    fn a_packet_that_exceeds_takes_no_tokens() {
        let mut policer = policer(1500, Exceed::Drop, 100);
        assert_eq!(offer(&mut policer, Ecn::NotEct, &[(0, 1000), (100, 1500), (100, 600)]), [None, RED, None]);
        assert_eq!(tokens(&policer), 0.0);
    }

    #[test]
    fn drops_of_the_policer_and_of_the_queue_have_their_own_reasons() {
        let mut policer = policer(3000, Exceed::Drop, 1);
        let fates = offer(&mut policer, Ecn::NotEct, &[(0, 1500), (0, 1000), (0, 1000), (500, 1000)]);
        assert_eq!(fates, [None, Some(DropReason::Overflow), RED, Some(DropReason::Overflow)]);
    }

    #[test]
    fn the_long_run_gets_exactly_the_rate() {
        // Twice the rate for 10 s: of n bytes in t, burst + rate * t conform, less what is left in the bucket.
        let mut policer = policer(3000, Exceed::Drop, 100_000);
        let packets: Vec<(u64, u32)> = (0..20_000).map(|n| (n * 500, 1000)).collect();
        let fates = offer(&mut policer, Ecn::NotEct, &packets);
        let conforming = fates.iter().filter(|fate| fate.is_none()).count() as u64;
        let arrived = 3000 + packets.last().unwrap().0;
        assert_eq!(conforming * 1000 + tokens(&policer) as u64, arrived);
    }

    #[test]
    fn exceeding_packets_are_marked_where_they_are_capable() {
        // The ECN field of a packet that exceeds: before and after, and whether this counts as a mark.
        for (ecn, after) in [
            (Ecn::Ect0, Some((Ecn::Ce, true))),
            (Ecn::Ect1, Some((Ecn::Ce, true))),
            (Ecn::Ce, Some((Ecn::Ce, false))),
            (Ecn::NotEct, None),
        ] {
            let mut policer = policer(1500, Exceed::Mark, 2);
            let mut dropped = Vec::new();
            let first = policer.enqueue(packet(ecn, 1500), Instant::ZERO, &mut dropped);
            let conforming = policer.dequeue(Instant::ZERO, &mut dropped).unwrap().packet;
            assert_eq!((conforming.ip.ecn(), first.marked), (ecn, false));
            let second = policer.enqueue(packet(ecn, 1000), Instant::ZERO, &mut dropped);
            let head = policer.fifo.head().map(|packet| (packet.ip.ecn(), second.marked));
            assert_eq!((head, dropped.len()), (after, usize::from(after.is_none())), "{ecn:?}");
            assert!(dropped.iter().all(|drop| drop.reason == DropReason::Forced));
        }
        let mut full = policer(1500, Exceed::Mark, 1);
        let overflow = Some(DropReason::Overflow);
        assert_eq!(offer(&mut full, Ecn::Ect0, &[(0, 1500), (0, 1000)]), [None, overflow]);
    }

    #[test]
    fn a_burst_that_is_not_given_is_a_tenth_of_a_second() {
        let fitted = |rate, burst| {
            let mut params = Params::defaults(PARAMS);
            params.set("rate", Value::Rate(rate));
            params.set("burst", Value::Size(Bytes::new(burst)));
            fit(&mut params, Limit::Packets(Packets::new(1))).map(|()| params.size("burst").as_u64())
        };
        assert_eq!(fitted(Rate::mbps(10), 0), Ok(125_000));
        assert_eq!(fitted(Rate::kbps(8), 0), Ok(1_500));
        assert_eq!(fitted(Rate::mbps(10), 1_500), Ok(1_500));
        let broken = fitted(Rate::mbps(10), 1_499).unwrap_err();
        assert_eq!(broken.to_string(), "burst does not hold a packet of 1500 B; allowed: at least 1500 B");
    }
}
