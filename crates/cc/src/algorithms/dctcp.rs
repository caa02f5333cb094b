//! DCTCP: reduces the window in proportion to the share of marked bytes.
//!
//! # Idea
//! Switches mark every packet that finds more than K packets in the queue, and the receiver echoes each mark. The
//! sender keeps alpha, a moving average of the share of marked bytes per window. It answers an echo by reducing the
//! window by alpha / 2 instead of one half. A single mark costs little; a standing queue costs as much as a loss. The
//! queue then stays near K, and nearly all of the capacity is used. Growth, and the response to a loss, are Reno's.
//!
//! # Sources
//! RFC 8257, sections 3.2 (the receiver, which is the connection's setting `ecn_echo = "each_mark"`), 3.3 and 3.5; M.
//! Alizadeh and others, "Data Center TCP (DCTCP)", SIGCOMM 2010; Linux 6.1 (`tcp_dctcp`, profile linux).
//!
//! # State
//! | symbol | field | unit |
//! |---|---|---|
//! | DCTCP.Alpha, alpha | `alpha` | share from 0 to 1; 1/1024 in profile linux |
//! | g | `g`, 2^-`shift_g` | - |
//! | DCTCP.BytesAcked, BytesMarked; F or M is their ratio | `delivered`, `marked` | bytes |
//! | DCTCP.WindowEnd, `next_seq` (Linux) | `window_end` | stream offset, bytes |
//!
//! # Differences
//! | question | RFC 8257 | Linux 6.1 | ns-3 | ns-2 (patch) | parameter |
//! |---|---|---|---|---|---|
//! | alpha | real | integer, 1/1024 | real | real | `profile` |
//! | alpha at the start | 1 | 1 | 1 | 0 | `alpha` |
//! | a window ends | past WindowEnd, with this ACK | at `next_seq`, with this ACK | as RFC | by sequence | `profile` |
//! | alpha below 1/64 without marks | goes on to fall | becomes 0 | goes on to fall | goes on to fall | `profile` |
//! | echo: cwnd | (1 - alpha/2) cwnd | the same in whole segments, at least 2 | as RFC | as RFC | `profile` |
//! | loss | RFC 5681: half of FlightSize | half of cwnd | half | half | `profile` |
//! | growth | RFC 5681 | Reno, in whole segments | NewReno | Reno | `profile` |
//! | bytes counted | cumulative, SACK ignored | delivered, SACK included | cumulative | packets | - |
//!
//! The default follows RFC 8257. `profile = "linux"` uses Linux's integers.
//!
//! # Limits
//! * Bytes count when they are delivered, by SACK too, in both profiles. RFC 8257 ignores SACK, so it counts the bytes
//!   behind a hole when the hole is repaired.
//! * A loss in a window that an echo has reduced already reduces it again, because the echo's reduction can be very
//!   small. Linux does the same. RFC 8257 (section 3.5) allows one reduction per window across all loss signals, and
//!   does not say whether an echo is one.
//! * The first echo of a window reduces at once, as in Linux. RFC 8257 (section 3.3) lists the reduction among the
//!   steps at the end of an observation window.
//! * The first kernels of 6.1 tested for the end of a window before they counted the ACK. Later ones (6.1 with its
//!   fixes, 6.15) call `in_ack_event` after the ACK is counted, and so do we.
//! * With AccECN (`ecn = "accurate"`) marked bytes are those of the peer's option or, without it, whole segments of its
//!   packet count. Neither delayed ACKs nor lost ACKs then blur them, and `ecn_echo` has no effect.
//! * Without ECN this is Reno. Retransmissions and pure ACKs are not ECN-capable (RFC 3168); Linux's module makes them
//!   ECN-capable.
//! * A segment that is not ECN-capable ends an echo. Marks around a retransmission are reported as they arrive.
//!
//! # Vectors
//! `dctcp_alpha_without_marks`, `dctcp_alpha_all_marked`, `dctcp_alpha_half_marked`, `dctcp_alpha_real`,
//! `dctcp_echo_reduces_by_half_of_alpha`, `dctcp_loss_halves`, `dctcp_alpha_moves_once_per_window`,
//! `dctcp_linux_ends_a_window_with_the_ack_that_reaches_its_end`.

use crate::algorithms::reno::Reno;
use crate::row::{Param, ParamKind, Params, Response, Row, Traits};
use crate::{Ack, Congestion, CongestionControl, Needs, Path, Window, growth};
use narrows_units::{Bytes, Variable};

/// The registry's row.
pub(crate) const ROW: Row = Row {
    name: "dctcp",
    title: "DCTCP",
    sources: &["RFC 8257", "Alizadeh and others 2010", "Linux 6.1 (profile linux)"],
    params: &[
        Param {
            name: "profile",
            doc: "Rules: rfc8257 in real numbers, or linux with the integer arithmetic of Linux 6.1.",
            kind: ParamKind::Choice { default: "rfc8257", allowed: &["rfc8257", "linux"] },
        },
        Param {
            name: "shift_g",
            doc: "The newest window weighs g = 2^-shift_g in alpha (RFC 8257, section 4.2: 1/16; Linux's dctcp_shift_g); rounded down.",
            kind: ParamKind::Number { unit: "", default: 4.0, min: 0.0, max: 10.0 },
        },
        Param {
            name: "alpha",
            doc: "alpha before anything was measured (RFC 8257, section 3.3: 1; Linux's dctcp_alpha_on_init, in 1/1024).",
            kind: ParamKind::Number { unit: "", default: 1.0, min: 0.0, max: 1.0 },
        },
        crate::params::ABC_LIMIT,
        crate::params::MAX_SSTHRESH,
    ],
    variables: &[
        Variable::new("alpha", "", "DCTCP.Alpha, the estimated share of bytes that are marked, from 0 to 1."),
        Variable::new("bytes_marked", "bytes", "Bytes reported as marked in this observation window."),
        Variable::new("bytes_delivered", "bytes", "Bytes delivered in this observation window."),
        Variable::new("bytes_acked", "bytes", "Bytes acknowledged since congestion avoidance last grew the window."),
    ],
    traits: Traits { response: Response::Reduces, needs_ecn: true, scales: true, l4s: false, own_start: None },
    ns2: None,
    recovery: None,
    source: include_str!("dctcp.rs"),
    build,
};

fn build(params: &Params) -> Box<dyn CongestionControl> {
    let linux = params.choice(&ROW, "profile") == "linux";
    let shift = params.number(&ROW, "shift_g") as u32;
    let start = params.number(&ROW, "alpha");
    let limit = crate::params::abc_limit(params, &ROW, if linux { u64::MAX } else { 1 });
    let reno = Reno::counting(linux, limit, params.number(&ROW, "max_ssthresh") as u64);
    let alpha = if linux {
        Alpha::Linux { alpha: (start * LINUX_ONE as f64) as u64, shift: shift.min(LINUX_SHIFT) }
    } else {
        Alpha::Real { alpha: start, g: 1.0 / f64::from(1u32 << shift.min(LINUX_SHIFT)) }
    };
    Box::new(Dctcp { reno, alpha, delivered: 0, marked: 0, window_end: 0 })
}

/// Linux's alpha counts in 1/1024 (`DCTCP_MAX_ALPHA`).
const LINUX_SHIFT: u32 = 10;
const LINUX_ONE: u64 = 1 << LINUX_SHIFT;

/// The moving average of the share of marked bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Alpha {
    /// RFC 8257, section 3.3.
    Real { alpha: f64, g: f64 },
    /// Linux's `dctcp_update_alpha`, in 1/1024.
    Linux { alpha: u64, shift: u32 },
}

impl Alpha {
    /// Updates alpha at the end of a window in which `marked` of `delivered` bytes were marked.
    fn update(&mut self, marked: u64, delivered: u64) {
        match self {
            Self::Real { alpha, g } => {
                // A window without bytes is no sample.
                if delivered > 0 {
                    *alpha = (*alpha * (1.0 - *g) + *g * (marked as f64 / delivered as f64)).clamp(0.0, 1.0);
                }
            }
            Self::Linux { alpha, shift } => {
                // Once the step rounds to 0, the whole rest is subtracted at once.
                let step = if *alpha >> *shift == 0 { *alpha } else { *alpha >> *shift };
                *alpha -= step;
                let share = u128::from(marked) << (LINUX_SHIFT - *shift);
                let gain = u64::try_from(share / u128::from(delivered.max(1))).unwrap_or(u64::MAX);
                *alpha = alpha.saturating_add(gain).min(LINUX_ONE);
            }
        }
    }

    /// cwnd and ssthresh after an echo at a window of `cwnd`.
    fn reduced(self, cwnd: Bytes, path: &Path) -> (Bytes, Bytes) {
        match self {
            // The smallest threshold is two segments and the smallest window one (RFC 5681, equation 4; RFC 3168,
            // section 6.1.2).
            Self::Real { alpha, .. } => {
                let factor = 1.0 - alpha / 2.0;
                (growth::reduced(cwnd, factor, 1, path), growth::reduced(cwnd, factor, 2, path))
            }
            Self::Linux { alpha, .. } => {
                let segments = growth::whole_segments(cwnd, path);
                let cut = (u128::from(segments) * u128::from(alpha)) >> (LINUX_SHIFT + 1);
                let left = segments.saturating_sub(u64::try_from(cut).unwrap_or(u64::MAX));
                let ssthresh = path.smss * left.max(2);
                (ssthresh, ssthresh)
            }
        }
    }

    /// As a share from 0 to 1.
    fn share(self) -> f64 {
        match self {
            Self::Real { alpha, .. } => alpha,
            Self::Linux { alpha, .. } => alpha as f64 / LINUX_ONE as f64,
        }
    }
}

/// DCTCP's window rules; see the module's page.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    alpha: Alpha,
    delivered: u64,
    marked: u64,
    window_end: u64,
}

impl Dctcp {
    fn count(&mut self, ack: &Ack) {
        self.delivered = self.delivered.saturating_add(ack.delivered.as_u64());
        self.marked = self.marked.saturating_add(ack.marked.min(ack.delivered).as_u64());
    }

    fn end_window(&mut self, path: &Path) {
        self.alpha.update(self.marked, self.delivered);
        (self.delivered, self.marked, self.window_end) = (0, 0, path.snd_nxt);
    }
}

impl CongestionControl for Dctcp {
    fn needs(&self) -> Needs {
        Needs { acks: true, loss_after_echo: true, ..Needs::default() }
    }

    fn on_start(&mut self, path: &Path, _win: &mut Window) {
        self.window_end = path.snd_nxt;
    }

    fn observe(&mut self, ack: &Ack, path: &Path) {
        self.count(ack);
        let ended = match self.alpha {
            Alpha::Real { .. } => path.snd_una > self.window_end,
            Alpha::Linux { .. } => path.snd_una >= self.window_end,
        };
        if ended {
            self.end_window(path);
        }
    }

    fn on_ack(&mut self, ack: &Ack, path: &Path, win: &mut Window) {
        self.reno.on_ack(ack, path, win);
    }

    fn on_congestion(&mut self, event: &Congestion, path: &Path, win: &mut Window) {
        let before = win.cwnd;
        self.reno.on_congestion(event, path, win);
        if matches!(event, Congestion::Ecn { .. }) {
            let (cwnd, ssthresh) = self.alpha.reduced(before, path);
            (win.cwnd, win.ssthresh) = (cwnd.min(before), Some(ssthresh));
        }
    }

    /// Reports `alpha`: 0 to 1; `bytes_marked` and `bytes_delivered` of the present window; then Reno's own.
    fn state(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha.share());
        visit("bytes_marked", self.marked as f64);
        visit("bytes_delivered", self.delivered as f64);
        self.reno.state(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// alpha in 1/1024 after each of `n` windows in which `marked` of 100 bytes were marked.
    fn linux(start: u64, marked: u64, n: usize) -> Vec<u64> {
        let mut alpha = Alpha::Linux { alpha: start, shift: 4 };
        let step = |_| {
            alpha.update(marked, 100);
            match alpha {
                Alpha::Linux { alpha, .. } => alpha,
                Alpha::Real { .. } => 0,
            }
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn dctcp_alpha_without_marks() {
        assert_eq!(linux(1024, 0, 10), [960, 900, 844, 792, 743, 697, 654, 614, 576, 540]);
        assert_eq!(linux(16, 0, 2), [15, 0], "the last steps at once");
    }

    #[test]
    fn dctcp_alpha_all_marked() {
        assert_eq!(linux(0, 100, 10), [64, 124, 181, 234, 284, 331, 375, 416, 454, 490]);
        assert_eq!(linux(1024, 100, 1), [1024]);
    }

    #[test]
    fn dctcp_alpha_half_marked() {
        let alphas = linux(1024, 50, 20);
        assert_eq!((&alphas[..3], alphas[19]), (&[992, 962, 934][..], 658));
    }

    #[test]
    fn dctcp_alpha_real() {
        let mut alpha = Alpha::Real { alpha: 1.0, g: 1.0 / 16.0 };
        alpha.update(0, 0);
        assert!((alpha.share() - 1.0).abs() < 1e-12, "a window without bytes says nothing");
        for _ in 0..10 {
            alpha.update(0, 100);
        }
        // (15/16)^10
        assert!((alpha.share() - 0.524_460).abs() < 1e-6);
        for _ in 0..1000 {
            alpha.update(25, 100);
        }
        assert!((alpha.share() - 0.25).abs() < 1e-12);
    }
}
