//! The packets that a station has taken from its interface queue and that are neither acknowledged nor given up.
//!
//! Without aggregation this is one MPDU. With aggregation it is, per peer, the MPDUs of the block ACK's window: those
//! that an answer did not acknowledge come first, and the peers are served in turn.

use crate::config::{Aggregation, Config};
use crate::frame::Mpdu;
use crate::medium::Host;
use crate::reorder::{MODULO, WINDOW, distance};
use narrows_units::{Bytes, Instant};
use narrows_wire::Packet;

/// MAC header of a data frame with three addresses, and FCS.
const HEADER: u64 = 24 + 4;

/// QoS control field, which block ACK needs.
const QOS: u64 = 2;

/// MPDU delimiter of an A-MPDU subframe. All subframes except the last are padded to a multiple of four bytes.
const DELIMITER: u64 = 4;

/// A station's MPDUs.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Open MPDUs per peer, in order of sequence number.
    open: Vec<Vec<Mpdu>>,
    /// Per peer: the next sequence number. Without aggregation there is one counter for all (the first).
    next_seq: Vec<u16>,
    /// The peer that is being served.
    peer: usize,
    /// How many of its open MPDUs are in the frame to send; 0 while there is none.
    count: usize,
    aggregates: bool,
    /// Length of the frame that [`batch`](Self::batch) makes.
    psdu: Bytes,
}

impl Outbox {
    pub(crate) fn new(peers: usize, aggregates: bool) -> Self {
        Self {
            open: (0..peers).map(|_| Vec::new()).collect(),
            next_seq: vec![0; peers],
            peer: 0,
            count: 0,
            aggregates,
            psdu: Bytes::ZERO,
        }
    }

    /// Whether there is a frame to send.
    pub(crate) const fn is_ready(&self) -> bool {
        self.count > 0
    }

    /// The station that the frame is for.
    pub(crate) const fn to(&self) -> usize {
        self.peer
    }

    /// The MPDUs of the frame to send; at least one if [`is_ready`](Self::is_ready).
    pub(crate) fn batch(&self) -> &[Mpdu] {
        &self.open[self.peer][..self.count]
    }

    /// Length of that frame's PSDU.
    pub(crate) const fn psdu(&self) -> Bytes {
        self.psdu
    }

    /// Takes the next packet or packets from the interface queue.
    pub(crate) fn fill(
        &mut self,
        station: usize,
        overhead: Bytes,
        config: &Config,
        now: Instant,
        host: &mut impl Host,
    ) {
        match config.aggregation {
            Some(aggregation) => self.fill_aggregate(station, overhead, aggregation, config, now, host),
            None => {
                let Some(out) = host.next(station, now) else { return };
                self.peer = out.to;
                self.push(0, out.packet, overhead);
                self.psdu = self.open[self.peer][0].len;
                self.count = 1;
            }
        }
    }

    fn fill_aggregate(
        &mut self,
        station: usize,
        overhead: Bytes,
        aggregation: Aggregation,
        config: &Config,
        now: Instant,
        host: &mut impl Host,
    ) {
        let peers = self.open.len();
        let mut found = false;
        for turn in 1..=peers {
            let peer = (self.peer + turn) % peers;
            if peer == station {
                continue;
            }
            if self.open[peer].is_empty() {
                let Some(packet) = host.next_for(station, peer, now) else { continue };
                self.peer = peer;
                self.push(peer, packet, overhead);
            }
            self.peer = peer;
            found = true;
            break;
        }
        if !found {
            return;
        }
        // A packet's size is known only after it is taken: a packet that turns out too long waits for the next frame.
        self.count = 1;
        self.psdu = Bytes::new(DELIMITER) + self.open[self.peer][0].len;
        loop {
            self.extend(&aggregation, config);
            let open = &self.open[self.peer];
            let span = open.first().map_or(0, |m| distance(m.seq, self.next_seq[self.peer]));
            if self.count < open.len() || self.count as u32 >= aggregation.max_mpdus || span >= WINDOW {
                return;
            }
            let Some(packet) = host.next_for(station, self.peer, now) else { return };
            self.push(self.peer, packet, overhead);
        }
    }

    /// Adds further open MPDUs to the A-MPDU, as many as its limits allow.
    fn extend(&mut self, aggregation: &Aggregation, config: &Config) {
        for mpdu in &self.open[self.peer][self.count..] {
            // All subframes except the last are padded (IEEE 802.11-2016, section 9.7.1).
            let next = Bytes::new(padded(self.psdu.as_u64()) + DELIMITER + mpdu.len.as_u64());
            let fits = next <= aggregation.max_bytes && config.data.airtime(next) <= aggregation.max_time;
            if !fits || self.count as u32 >= aggregation.max_mpdus {
                return;
            }
            self.psdu = next;
            self.count += 1;
        }
    }

    fn push(&mut self, counter: usize, packet: Packet, overhead: Bytes) {
        let header = HEADER + if self.aggregates { QOS } else { 0 };
        let seq = self.next_seq[counter];
        self.next_seq[counter] = (seq + 1) % MODULO;
        let len = Bytes::new(header) + overhead + packet.len();
        self.open[self.peer].push(Mpdu { seq, retry: false, attempts: 0, packet, len });
    }

    /// Removes the frame's MPDUs, after it was acknowledged or given up.
    pub(crate) fn clear(&mut self) {
        self.open[self.peer].drain(..self.count);
        self.count = 0;
    }

    /// Handles a block ACK. MPDUs that it does not acknowledge stay open and count an attempt; those that have used up
    /// their attempts go to `give_up`.
    pub(crate) fn settle(&mut self, start: u16, bitmap: u64, limit: u32, mut give_up: impl FnMut(&Mpdu)) {
        let mut left = self.count;
        self.open[self.peer].retain_mut(|m| {
            if left == 0 {
                return true;
            }
            left -= 1;
            let bit = distance(start, m.seq);
            if bit < WINDOW && bitmap >> bit & 1 == 1 {
                return false;
            }
            m.retry = true;
            m.attempts += 1;
            let kept = m.attempts < limit;
            if !kept {
                give_up(m);
            }
            kept
        });
        self.count = 0;
    }

    /// Marks the MPDUs of the frame as repetitions and counts an attempt for each.
    pub(crate) fn mark_retry(&mut self) {
        for mpdu in &mut self.open[self.peer][..self.count] {
            mpdu.retry = true;
            mpdu.attempts += 1;
        }
    }

    /// The oldest open sequence number towards the current peer: the start of the block ACK's window.
    pub(crate) fn window_start(&self) -> u16 {
        self.open[self.peer].first().map_or(self.next_seq[self.peer], |m| m.seq)
    }

    /// Packets taken from the interface queue that are neither acknowledged nor given up.
    pub(crate) fn len(&self) -> usize {
        self.open.iter().map(Vec::len).sum()
    }
}

const fn padded(len: u64) -> u64 {
    len.div_ceil(4) * 4
}
