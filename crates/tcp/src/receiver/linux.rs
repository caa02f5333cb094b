//! A receiver whose ACKs or window follow Linux: its calls to the state machines in [`crate::linux`].

use super::{Arrival, Receiver};
use crate::linux::autotuning::Arrived;
use crate::linux::quickack::Due;
use crate::linux::{Linux, OwnPath, Segment};
use narrows_units::{Duration, Instant};

impl Receiver {
    /// Shift of the windows that this end sends.
    pub(crate) fn shift(&self) -> u8 {
        self.shift
    }

    /// Estimate of the peer's segment size (`icsk_ack.rcv_mss`), bytes.
    pub(crate) fn peer_mss(&self) -> u64 {
        self.linux.as_ref().map_or(u64::from(self.rmss), |linux| linux.mss.bytes())
    }

    /// Delay of ACKs (`icsk_ack.ato`).
    pub(crate) fn ack_delay(&self) -> Duration {
        let quick = self.linux.as_ref().and_then(|linux| linux.quick.as_ref());
        quick.map_or(Duration::from_nanos(u64::from(self.delay)), crate::linux::quickack::QuickAck::ack_delay)
    }

    /// Whether anything here follows Linux.
    #[inline]
    pub(crate) fn follows_linux(&self) -> bool {
        self.linux.is_some()
    }

    /// Whether Linux's rules decide when ACKs leave.
    #[inline]
    pub(crate) fn acks_as_linux(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.quick.is_some())
    }

    /// Sets the window of our SYN-ACK to a peer whose segments carry up to `segment` bytes.
    pub(crate) fn on_accept(&mut self, segment: u64) {
        let Some(tuning) = self.linux.as_mut().and_then(|linux| linux.tuning.as_mut()) else { return };
        let mut first = tuning.first_window(segment);
        if let Some(bound) = self.bound() {
            first = first.min(bound);
        }
        (self.edge, self.offered, self.promised) = (first, first, first);
    }

    /// Both SYNs are acknowledged; `advmss` is the MSS that this end announced, as the kernel counts it.
    pub(crate) fn establish(&mut self, advmss: u64, now: Instant) {
        let window = self.offered_window();
        if let Some(linux) = &mut self.linux {
            linux.establish(advmss, window, self.shift, now);
        }
    }

    /// Decides when the ACK of a segment with data leaves, and lets the window grow. [`on_data`](Self::on_data) or
    /// [`on_expected`](Self::on_expected) has taken the segment as `arrival`; `sack` is whether SACK is in use.
    pub(crate) fn on_data_as_linux(
        &mut self,
        segment: &Segment,
        (arrival, sack): (Arrival, bool),
        own: &OwnPath,
        now: Instant,
    ) {
        let Some(mut linux) = self.linux.take() else { return };
        let window = self.offered_window();
        let waiting = self.held();
        let beyond =
            self.waiting.as_ref().and_then(|waiting| waiting.end()).map_or(0, |end| end.saturating_sub(self.nxt));
        let queued = self.readable().saturating_sub(if arrival == Arrival::InOrder { segment.len } else { 0 });
        match arrival {
            Arrival::InOrder => {
                // Data that the application reads at once takes memory until it is read.
                let held = waiting + if self.auto_read { segment.len } else { 0 };
                linux.on_in_order(segment, &Arrived { nxt: self.nxt, held, queued, beyond, now }, window, own);
                if let Some(tuning) = &mut linux.tuning {
                    tuning.on_read(self.delivered() - self.readable(), (self.readable(), beyond), now);
                }
                if self.has_several(&linux) {
                    // Linux looks at the window before it asks for quick ACKs.
                    linux.note_pressure(held);
                }
                self.decide(&linux, window, own, now);
            }
            Arrival::OutOfOrder => {
                if let Some(quick) = &mut linux.quick {
                    quick.schedule();
                }
                if sack {
                    linux.on_out_of_order(segment, &Arrived { nxt: self.nxt, held: waiting, queued, beyond, now });
                }
            }
            Arrival::Duplicate => {
                let old = segment.start + segment.len as i64 <= self.nxt as i64;
                let quota = linux.mss.quota(window);
                if let Some(quick) = &mut linux.quick {
                    if old { quick.on_old_data(quota) } else { quick.schedule() }
                }
            }
        }
        linux.note_pressure(waiting);
        self.linux = Some(linux);
    }

    /// Whether more than one full segment waits for an ACK.
    fn has_several(&self, linux: &Linux) -> bool {
        self.nxt - self.acked > u64::from(self.every - 1) * linux.mss.bytes()
    }

    /// Decides whether the ACK of data in order leaves at once, or when (`__tcp_ack_snd_check`, and `tcp_cleanup_rbuf`
    /// if the application has read the data).
    fn decide(&mut self, linux: &Linux, window: u64, own: &OwnPath, now: Instant) {
        let Some(quick) = &linux.quick else { return };
        let several = self.has_several(linux);
        let opens = self.auto_read
            || self.room_as_linux(linux).unwrap_or_else(|| self.buffer.saturating_sub(self.readable())) >= window;
        let read = self.readable() == 0 && quick.is_due_when_read();
        if (several && opens) || quick.is_quick() || read {
            self.ack_now = true;
        }
        if !self.ack_now {
            match quick.delay(self.ack_at, own.srtt, now) {
                Due::Now => self.ack_now = true,
                Due::At(deadline) => self.ack_at = deadline,
            }
        }
    }

    /// Lets the ACK of the peer's FIN, which has just arrived, wait like that of data, so that our own FIN may carry it
    /// (`tcp_fin`, `__tcp_ack_snd_check`). Returns whether Linux's rules decide that.
    pub(crate) fn delay_ack_of_fin(&mut self, own: &OwnPath, now: Instant) -> bool {
        let Some(mut linux) = self.linux.take() else { return false };
        let several = self.nxt - self.acked > u64::from(self.every - 1) * linux.mss.bytes();
        // Without memory for it an ACK leaves at once (`ICSK_ACK_NOMEM`).
        let closed = self.offered <= self.nxt;
        let waits = match &mut linux.quick {
            Some(quick) if !several && !closed && !self.has_blocks() => {
                quick.on_fin();
                self.ack_now = false;
                match quick.delay(self.ack_at, own.srtt, now) {
                    Due::At(deadline) if deadline > now => self.ack_at = deadline,
                    _ => self.ack_now = true,
                }
                true
            }
            _ => false,
        };
        self.linux = Some(linux);
        waits
    }

    /// Makes an ACK due after the application has read by hand: for data that waits for one, or for a window that has
    /// doubled. Returns whether Linux's rules decide that.
    pub(super) fn on_read_as_linux(&mut self) -> bool {
        let Some(linux) = self.linux.take() else { return false };
        if let Some(quick) = &linux.quick {
            let several = self.nxt - self.acked > u64::from(self.every - 1) * linux.mss.bytes();
            self.ack_now |= quick.is_scheduled() && (several || (self.readable() == 0 && quick.is_due_when_read()));
        }
        let left = self.offered.saturating_sub(self.nxt);
        self.ack_now |= match &linux.tuning {
            Some(tuning) => tuning.is_worth_telling(left, tuning.window(self.held(), linux.mss.bytes())),
            None => self.better_edge().is_some_and(|edge| edge > self.offered),
        };
        self.linux = Some(linux);
        true
    }

    /// Acknowledges the next segments at once, unless data of our own answers them (`tcp_enter_quickack_mode`).
    pub(crate) fn enter_quick_acks(&mut self) {
        let window = self.offered_window();
        let Some(linux) = &mut self.linux else { return };
        let quota = linux.mss.quota(window);
        if let Some(quick) = &mut linux.quick {
            quick.on_old_data(quota);
        }
    }

    /// Takes the ECN codepoint of a segment with data: see
    /// [`QuickAck::on_ecn`](crate::linux::quickack::QuickAck::on_ecn).
    pub(crate) fn on_ecn_as_linux(&mut self, ect: bool, first_mark: bool) {
        let window = self.offered_window();
        let Some(linux) = &mut self.linux else { return };
        let quota = linux.mss.quota(window);
        if let Some(quick) = &mut linux.quick {
            quick.on_ecn(ect, first_mark, quota);
        }
    }

    /// An ACK leaves.
    #[inline(never)]
    pub(super) fn on_ack_sent_as_linux(&mut self) {
        if let Some(quick) = self.linux.as_mut().and_then(|linux| linux.quick.as_mut()) {
            quick.on_ack_sent();
        }
    }

    /// A segment with data of our own leaves.
    #[inline(never)]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if let Some(quick) = self.linux.as_mut().and_then(|linux| linux.quick.as_mut()) {
            quick.on_data_sent(now);
        }
    }

    /// The room that a tuned window leaves; `None` if the window is not tuned.
    pub(super) fn tuned_room(&self) -> Option<u64> {
        self.linux.as_ref().and_then(|linux| self.room_as_linux(linux))
    }

    fn room_as_linux(&self, linux: &Linux) -> Option<u64> {
        linux.tuning.as_ref().map(|tuning| tuning.window(self.held(), linux.mss.bytes()))
    }

    /// The window as the last ACK offered it (`rcv_wnd`), bytes.
    pub(crate) fn offered_window(&self) -> u64 {
        self.offered.saturating_sub(self.acked)
    }

    /// Bytes from RCV.NXT to the right edge of the window that was advertised last.
    pub(crate) fn window_left(&self) -> u64 {
        self.offered.saturating_sub(self.nxt)
    }

    /// Bytes that wait for the application or behind a gap.
    fn held(&self) -> u64 {
        let behind = self.waiting.as_ref().filter(|_| self.gap).map_or(0, |waiting| waiting.octets());
        self.readable() + behind
    }
}
