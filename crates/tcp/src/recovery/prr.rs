//! Proportional Rate Reduction (RFC 9937): spreads a reduction of the window over a round trip.
//!
//! Sources: RFC 9937 (it obsoletes RFC 6937); Linux's `tcp_cwnd_reduction`. State: `delivered` (prr_delivered), `out`
//! (prr_out), `recover_fs` (RecoverFS), all in octets. The usable window is a second window beside that of the
//! congestion control, which holds the target; so nothing has to be restored when an episode ends, is undone or runs
//! into a timeout. A reduction inside an episode (a lost retransmission, a further echo) starts again from what is in
//! the network then.
//!
//! Differences: while more than the target is in flight, SndCnt is rounded up to whole segments, as in Linux, because
//! less than a segment cannot be sent; the RFC counts octets. Linux leaves the window unchanged on an ACK that delivers
//! nothing; in the RFC each ACK sets it. Both allow at least one segment in flight, so that the last hole is never left
//! to the timer.
//! Vectors: `sndcnt_of_rfc_9937`, `sndcnt_of_linux`, `sndcnt_towards_a_cubic_target`, `slow_start_reduction_bound`.

/// The reduction step of one episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prr {
    recover_fs: u64,
    delivered: u64,
    out: u64,
    cwnd: u64,
}

/// What one ACK means for the reduction, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The target window (the RFC's ssthresh).
    pub(crate) target: u64,
    /// Newly delivered, cumulatively or selectively (DeliveredData).
    pub(crate) delivered: u64,
    /// The pipe after the ACK.
    pub(crate) inflight: u64,
    /// Whether SND.UNA advanced and no further loss was found (SafeACK).
    pub(crate) safe: bool,
    /// SMSS.
    pub(crate) smss: u64,
}

impl Prr {
    /// Starts an episode in which `recover_fs` octets are expected to be acknowledged.
    pub(crate) fn new(recover_fs: u64, smss: u64) -> Self {
        Self { recover_fs: recover_fs.max(smss).max(1), delivered: 0, out: 0, cwnd: smss }
    }

    /// The usable window, which holds until the next step.
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Updates the usable window for an ACK.
    pub(crate) fn on_ack(&mut self, step: &Step) {
        self.delivered = self.delivered.saturating_add(step.delivered);
        let allowed = if step.inflight > step.target { self.proportional(step) } else { self.reduction_bound(step) };
        // The fast retransmit leaves at once.
        let allowed = if self.out == 0 { allowed.max(step.smss) } else { allowed };
        self.cwnd = step.inflight.saturating_add(allowed).max(step.smss);
    }

    /// Sends the same share of the target as is delivered of the flight.
    fn proportional(&self, step: &Step) -> u64 {
        let quota = (u128::from(self.delivered) * u128::from(step.target)).div_ceil(u128::from(self.recover_fs));
        let quota = u64::try_from(quota).unwrap_or(u64::MAX);
        let whole = quota.div_ceil(step.smss.max(1)).saturating_mul(step.smss);
        whole.saturating_sub(self.out)
    }

    /// Applies packet conservation, or slow start if the ACK shows that this is safe, up to the target.
    fn reduction_bound(&self, step: &Step) -> u64 {
        let conserved = self.delivered.saturating_sub(self.out).max(step.delivered);
        let grown = if step.safe { conserved.saturating_add(step.smss) } else { conserved };
        grown.min(step.target.saturating_sub(step.inflight))
    }

    /// Notes that SMSS is now `smss`: at least one segment fits into the window, so that the sender never stops.
    #[cold]
    pub(crate) fn on_smss(&mut self, smss: u64) {
        self.cwnd = self.cwnd.max(smss);
    }

    /// Counts octets sent, new or retransmitted.
    #[inline]
    pub(crate) fn on_sent(&mut self, octets: u64) {
        self.out = self.out.saturating_add(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMSS: u64 = 1000;

    /// Segments that each duplicate ACK releases, from the third on, for one lost of 20 in flight; and what is in
    /// flight at the end.
    fn one_lost_of_twenty(recover_fs: u64, target: u64) -> (Vec<u64>, u64) {
        let mut prr = Prr::new(recover_fs * SMSS, SMSS);
        // Three SACKed, one lost.
        let mut inflight = 16 * SMSS;
        let mut counts = vec![];
        for ack in 0..17 {
            inflight -= if ack == 0 { 0 } else { SMSS };
            prr.on_ack(&Step { target: target * SMSS, delivered: SMSS, inflight, safe: false, smss: SMSS });
            let count = (prr.cwnd() - inflight) / SMSS;
            prr.on_sent(count * SMSS);
            inflight += count * SMSS;
            counts.push(count);
        }
        (counts, inflight / SMSS)
    }

    #[test]
    fn a_segment_that_became_longer_fits_into_the_window() {
        let mut prr = Prr::new(10 * SMSS, SMSS);
        prr.on_ack(&Step { target: 5 * SMSS, delivered: 0, inflight: 0, safe: false, smss: SMSS });
        prr.on_smss(SMSS + 12);
        assert_eq!(prr.cwnd(), SMSS + 12);
        prr.on_smss(SMSS);
        assert_eq!(prr.cwnd(), SMSS + 12);
    }

    #[test]
    fn sndcnt_of_rfc_9937() {
        let (counts, inflight) = one_lost_of_twenty(18, 10);
        assert_eq!(counts, [1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1]);
        assert_eq!((counts.iter().sum::<u64>(), inflight), (10, 10));
    }

    #[test]
    fn sndcnt_of_linux() {
        let (counts, inflight) = one_lost_of_twenty(20, 10);
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
        assert_eq!((counts.iter().sum::<u64>(), inflight), (10, 10));
    }

    #[test]
    fn sndcnt_towards_a_cubic_target() {
        let (counts, inflight) = one_lost_of_twenty(18, 14);
        assert_eq!((counts.iter().sum::<u64>(), inflight), (14, 14));
    }

    #[test]
    fn slow_start_reduction_bound() {
        let mut prr = Prr::new(60 * SMSS, SMSS);
        prr.on_sent(SMSS);
        prr.delivered = SMSS;
        let (mut inflight, mut counts) = (40 * SMSS, vec![]);
        for _ in 0..12 {
            inflight -= SMSS;
            prr.on_ack(&Step { target: 50 * SMSS, delivered: SMSS, inflight, safe: true, smss: SMSS });
            let count = (prr.cwnd() - inflight) / SMSS;
            prr.on_sent(count * SMSS);
            inflight += count * SMSS;
            counts.push(count);
        }
        assert_eq!(counts, [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
        assert_eq!(inflight, 50 * SMSS);
    }

    proptest! {
        /// Whatever the ACKs report, the window stays below the line from the flight to the target, apart from one
        /// segment for rounding and the fast retransmit. Below the target it goes no further than the target.
        #[test]
        fn the_window_goes_to_the_target_in_proportion(
            flight in 2u64..200,
            percent in 10u64..100,
            acks in prop::collection::vec((0u64..4, 0u64..3, any::<bool>(), any::<bool>()), 1..300),
        ) {
            let target = (flight * SMSS * percent / 100).max(2 * SMSS);
            let flight = flight * SMSS;
            let mut prr = Prr::new(flight, SMSS);
            let (mut inflight, mut total) = (flight, 0);
            for (delivered, lost, safe, sends) in acks {
                let delivered = (delivered * SMSS).min(inflight);
                let lost = (lost * SMSS).min(inflight - delivered);
                inflight -= delivered + lost;
                total += delivered;
                prr.on_ack(&Step { target, delivered, inflight, safe: safe && lost == 0, smss: SMSS });
                let line = (flight + (total * target).div_ceil(flight)).saturating_sub(total);
                prop_assert!(prr.cwnd() >= inflight.max(SMSS));
                prop_assert!(prr.cwnd() <= line.max(target) + SMSS, "{prr:?}, {line}");
                if inflight <= target && prr.out > 0 {
                    prop_assert!(prr.cwnd() <= target, "{prr:?}");
                }
                if sends {
                    let out = (prr.cwnd() - inflight) / SMSS * SMSS;
                    prr.on_sent(out);
                    inflight += out;
                }
            }
        }
    }
}
