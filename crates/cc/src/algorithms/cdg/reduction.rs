//! The reduction of cwnd after a backoff by delay, spread over the round that was in flight.

use crate::Path;
use narrows_units::Bytes;

/// A backoff under way: the kernel's state CWR.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// It ends when an ACK passes this offset (`high_seq`).
    pub(super) end: u64,
    /// Bytes delivered when it began.
    pub(super) delivered: Bytes,
    /// cwnd when it began.
    pub(super) from: Bytes,
    /// cwnd at its end.
    pub(super) to: Bytes,
}

impl Reduction {
    /// cwnd after what is delivered by now: proportional, as PRR (RFC 6937) makes it without losses.
    pub(super) fn cwnd(&self, path: &Path) -> Bytes {
        let (from, step) = (u128::from(self.from.as_u64()), self.from.saturating_sub(self.to).as_u64());
        let delivered = u128::from(path.delivered.saturating_sub(self.delivered).as_u64()).min(from);
        let less = u128::from(step) * delivered / from.max(1);
        self.from.saturating_sub(Bytes::new(u64::try_from(less).unwrap_or(step)))
    }
}
