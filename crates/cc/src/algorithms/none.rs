//! No congestion control: the TCP of RFC 793, before 1988.
//!
//! # Idea
//! Only the receiver's window limits the sender. Losses are retransmitted, and nothing slows down. This caused the
//! congestion collapses of 1986, and is the reason for all other algorithms. It is useful as a baseline, for a
//! transport whose rate something else sets (a scheme, a pacer), and to show a collapse.
//!
//! # Sources
//! RFC 793, section 3.7 ("Managing the Window"); J. Nagle, RFC 896, on the consequences.
//!
//! # State
//! None. cwnd is held at [`UNBOUNDED`], the largest window that a receiver can announce, and ssthresh at "arbitrarily
//! high".
//!
//! # Differences
//! Neither Linux nor ns-3 offers this. In ns-2, `Agent/TCP/RFC793edu` slow-starts and has no fast retransmit; here
//! retransmission is the connection's choice.
//!
//! # Limits
//! Losses, timeouts and ECN echoes do not reduce the window. The row declares this with [`Response::Nothing`], so that
//! tools can warn and the conformance suite knows it.
//!
//! # Vectors
//! `rfc793_window_is_bounded_by_the_receiver_alone`.

use crate::row::{Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Sent, Window};
use narrows_units::Bytes;

/// Largest window that a receiver can announce: 65535 scaled by 14 bits (RFC 7323, section 2.3), in bytes.
pub const UNBOUNDED: Bytes = Bytes::new(65_535 << 14);

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "none",
    title: "No congestion control (RFC 793)",
    sources: &["RFC 793, section 3.7"],
    params: &[],
    variables: &[],
    traits: Traits {
        response: Response::Nothing,
        needs_ecn: false,
        scales: false,
        l4s: false,
        own_start: Some("has no slow start: its window is constant"),
    },
    ns2: None,
    recovery: None,
    source: include_str!("none.rs"),
    build,
};

fn build(_params: &Params) -> Box<dyn CongestionControl> {
    Box::new(Unlimited)
}

/// A window bounded by the receiver alone; see the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

fn open(win: &mut Window) {
    win.cwnd = UNBOUNDED;
    win.ssthresh = None;
}

impl CongestionControl for Unlimited {
    fn needs(&self) -> Needs {
        Needs { sending: true, window_in_recovery: true, ..Needs::default() }
    }

    fn on_ack(&mut self, _ack: &Ack, _path: &Path, win: &mut Window) {
        open(win);
    }

    fn on_congestion(&mut self, _event: &Congestion, _path: &Path, win: &mut Window) {
        open(win);
    }

    fn on_sent(&mut self, _sent: &Sent, _path: &Path, win: &mut Window) {
        // The first segment sent opens the window, so that not even the initial window of RFC 6928 limits the sender.
        open(win);
    }

    fn on_recovered(&mut self, _path: &Path, win: &mut Window) {
        open(win);
    }
}
