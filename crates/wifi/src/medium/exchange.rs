//! The end of a station's own exchange: what is given up, and what it sends next.

use super::{Host, Medium};
use crate::outbox::Outbox;
use crate::station::{Outcome, Phase};
use narrows_units::Instant;

impl Medium {
    /// Handles the outcome of a station's own exchange.
    pub(super) fn conclude(&mut self, station: usize, outcome: Outcome, now: Instant, host: &mut impl Host) {
        let config = &self.config;
        let this = &mut self.stations[station];
        let cell = this.outbox.to() * self.errors.len() + station;
        let (last, reorder) = (self.last_seq[cell], self.reorder.get(cell));
        let arrived = |seq: u16| reorder.map_or(last == Some(seq), |reorder| reorder.has(seq));
        let protected = config.rts_threshold.is_some_and(|threshold| this.outbox.psdu() > threshold);
        let limit = if protected { config.long_retry } else { config.short_retry };
        match outcome {
            Outcome::None => return,
            Outcome::Acknowledged(None) => {
                this.outbox.clear();
                this.succeed(now);
            }
            Outcome::Acknowledged(Some((start, bitmap))) => {
                let given_up = &mut this.meter.given_up;
                this.outbox.settle(start, bitmap, limit, |mpdu| {
                    *given_up += 1;
                    host.given_up(station, &mpdu.packet, arrived(mpdu.seq), now);
                });
                this.succeed(now);
            }
            Outcome::NoCts | Outcome::NoAck => {
                let used_up = this.fail(outcome, now, config);
                if outcome == Outcome::NoAck {
                    this.outbox.mark_retry();
                }
                if !used_up {
                    return;
                }
                for mpdu in this.outbox.batch() {
                    this.meter.given_up += 1;
                    host.given_up(station, &mpdu.packet, arrived(mpdu.seq), now);
                }
                this.outbox.clear();
            }
        }
        self.move_window(station, now, host);
        self.take(station, now, host);
    }

    /// Informs the receiver of a block ACK agreement of the MPDUs that its sender gave up. On the air a block ACK
    /// request would do this; here it costs no time and is never lost.
    fn move_window(&mut self, station: usize, now: Instant, host: &mut impl Host) {
        if self.reorder.is_empty() {
            return;
        }
        let outbox: &Outbox = &self.stations[station].outbox;
        let (to, start) = (outbox.to(), outbox.window_start());
        let mut delivered = 0;
        self.reorder[to * self.errors.len() + station].advance(start, |packet| {
            delivered += 1;
            host.received(to, packet, now);
        });
        self.stations[to].meter.received += delivered;
    }

    /// Lets a station that has nothing to send take packets from its interface queue.
    pub(super) fn take(&mut self, station: usize, now: Instant, host: &mut impl Host) {
        let this = &mut self.stations[station];
        if this.phase != Phase::Rest || this.outbox.is_ready() {
            return;
        }
        this.outbox.fill(station, this.settings.overhead, &self.config, now, host);
        if this.outbox.is_ready() {
            this.back_off_if_busy(now);
            // The frame is new, whatever its sequence number. Real receivers mistake a repetition with the number of a
            // frame 4096 frames ago for that frame, and lose it.
            let cell = this.outbox.to() * self.errors.len() + station;
            self.last_seq[cell] = None;
        }
    }
}
