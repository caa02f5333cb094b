//! Growth steps that several algorithms share.

use crate::{Path, Window};
use narrows_units::Bytes;

/// Slow start with appropriate byte counting (RFC 5681, section 3.1; RFC 3465).
///
/// Adds `acked` to cwnd up to ssthresh and returns what is left of `acked` for congestion avoidance, as Linux's
/// `tcp_slow_start` does. `limit` bounds the growth of one ACK (RFC 3465's L times SMSS; `Bytes::MAX` for Linux's
/// unbounded counting).
pub fn slow_start(win: &mut Window, acked: Bytes, limit: Bytes, _path: &Path) -> Bytes {
    let step = acked.min(limit);
    let room = win.ssthresh.map_or(Bytes::MAX, |s| s.saturating_sub(win.cwnd));
    let used = step.min(room);
    win.cwnd += used;
    if used < step { step - used } else { Bytes::ZERO }
}
