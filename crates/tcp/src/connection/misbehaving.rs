//! The ACKs of a receiver that breaks the rules.

use super::Connection;
use narrows_units::{Instant, Packets};

impl Connection {
    /// Lets a receiver that misbehaves acknowledge `len` octets that have arrived, if an ACK is due.
    #[cold]
    pub(super) fn misbehave(&mut self, len: u64, now: Instant) {
        self.rx.run_ahead(len);
        self.misbehave_when_due(now);
    }

    /// Puts ACKs in place of the one that is due now, if any.
    #[cold]
    pub(super) fn misbehave_when_due(&mut self, now: Instant) {
        if !self.rx.ack_due() {
            return;
        }
        let Some(plan) = self.rx.plan_acks() else { return };
        let mut honest = self.blank();
        self.pure_ack(now, &mut honest);
        let mut count = 0;
        for offset in plan.offsets() {
            let mut ack = honest;
            let (number, window) = self.rx.ack_of(offset);
            if let Some(tcp) = ack.tcp_mut() {
                (tcp.ack, tcp.window) = (number, window);
            }
            self.urgent.get_or_insert_default().acks.push_back(ack);
            count += 1;
        }
        self.stats.acks_sent += Packets::new(count - 1);
    }

    /// Answers an ACK without data by which the sender may have refused ours.
    #[cold]
    pub(super) fn on_refused_ack(&mut self, offset: i64, now: Instant) {
        if self.rx.on_refusal(offset) {
            self.rx.request_ack();
            self.misbehave_when_due(now);
        }
    }
}
