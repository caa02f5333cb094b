//! What the kernel reports about a connection's congestion control: `getsockopt(TCP_CC_INFO)`, as the variables of the
//! algorithm's row.
//!
//! Only some of the kernel's algorithms report anything (`get_info` in `struct tcp_congestion_ops`), and only part of
//! their state. Programs in eBPF cannot report.

use std::os::fd::{AsRawFd, BorrowedFd};

/// One in the gains of `tcp_bbr.c` (`BBR_UNIT`).
const BBR_UNIT: u32 = 256;

/// One in the alpha of `tcp_dctcp.h` (`DCTCP_MAX_ALPHA`).
const DCTCP_UNIT: u32 = 1024;

/// Round-trip time of `tcp_vegas.c` and its relatives before a sample.
const NO_RTT: u32 = 0x7fff_ffff;

/// What one read of `TCP_CC_INFO` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CcInfo {
    bytes: [u8; Self::ROOM],
    /// Bytes that the kernel filled.
    length: usize,
}

impl CcInfo {
    /// Larger than `union tcp_cc_info` of any kernel.
    const ROOM: usize = 128;

    /// Reads the state of a socket's congestion control; `None` if it reports nothing.
    pub(crate) fn read(socket: BorrowedFd<'_>) -> Option<Self> {
        let mut bytes = [0; Self::ROOM];
        let mut length = Self::ROOM as libc::socklen_t;
        // SAFETY: the pointers are to a buffer of `length` bytes and to that length; the kernel writes no more than
        // that.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CC_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        (result == 0 && length > 0).then_some(Self { bytes, length: length as usize })
    }

    /// Reports the variables that the kernel's algorithm `control` has in common with our row of the same name.
    ///
    /// | algorithm | source | variables |
    /// |---|---|---|
    /// | `bbr` | `struct tcp_bbr_info` | `phase` (from the gains), `bw_bps`, `min_rtt_s`, `pacing_gain`, `cwnd_gain` |
    /// | `dctcp` | `struct tcp_dctcp_info` | `alpha`, `bytes_marked`, `bytes_delivered` |
    /// | `nv` | `struct tcpvegas_info` | `last_rtt`, `min_rtt`, `rtt_cnt` |
    /// | `vegas` | `struct tcpvegas_info` | `base_rtt`, `min_rtt`, `samples`, `doing_vegas` |
    /// | `yeah`, `illinois` | `struct tcpvegas_info` | `base_rtt` |
    /// | `westwood` | `struct tcpvegas_info` | `rtt_min` |
    pub(crate) fn state(&self, control: &str, visit: &mut dyn FnMut(&'static str, f64)) {
        match control {
            "bbr" => self.bbr(visit),
            "dctcp" => self.dctcp(visit),
            "nv" => self.nv(visit),
            "vegas" => self.vegas(visit),
            "yeah" => self.round_trip("base_rtt", 2, visit),
            "illinois" => self.round_trip("base_rtt", 3, visit),
            "westwood" => self.round_trip("rtt_min", 3, visit),
            _ => {}
        }
    }

    /// Returns the variables that [`state`](Self::state) reports of the kernel's algorithm `control`.
    pub(crate) fn names(control: &str) -> &'static [&'static str] {
        match control {
            "bbr" => &["phase", "bw_bps", "min_rtt_s", "pacing_gain", "cwnd_gain"],
            "dctcp" => &["alpha", "bytes_marked", "bytes_delivered"],
            "nv" => &["last_rtt", "min_rtt", "rtt_cnt"],
            "vegas" => &["base_rtt", "min_rtt", "samples", "doing_vegas"],
            "yeah" | "illinois" => &["base_rtt"],
            "westwood" => &["rtt_min"],
            _ => &[],
        }
    }

    /// The 32-bit word number `index`, if the kernel filled it.
    fn word(&self, index: usize) -> Option<u32> {
        let bytes = self.bytes[..self.length].chunks_exact(4).nth(index)?;
        bytes.try_into().ok().map(u32::from_ne_bytes)
    }

    fn bbr(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let words = [0, 1, 2, 3, 4].map(|index| self.word(index));
        let [Some(low), Some(high), Some(min_rtt), Some(pacing_gain), Some(cwnd_gain)] = words else { return };
        // The kernel initialises BBR when the connection is established; until then everything is zero.
        if cwnd_gain == 0 {
            return;
        }
        // Later versions of BBR append fields; their gains do not tell the state.
        let bandwidth = (u64::from(high) << 32) | u64::from(low);
        if self.length == 5 * size_of::<u32>() {
            // STARTUP has its gains only from the first bandwidth sample on.
            visit("phase", if bandwidth == 0 { 0.0 } else { bbr_phase(pacing_gain, cwnd_gain) });
        }
        visit("bw_bps", 8.0 * bandwidth as f64);
        visit("min_rtt_s", if min_rtt == u32::MAX { 0.0 } else { seconds(min_rtt) });
        visit("pacing_gain", f64::from(pacing_gain) / f64::from(BBR_UNIT));
        visit("cwnd_gain", f64::from(cwnd_gain) / f64::from(BBR_UNIT));
    }

    fn dctcp(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let [Some(alpha), Some(marked), Some(all)] = [1, 2, 3].map(|index| self.word(index)) else { return };
        let enabled = u16::from_ne_bytes([self.bytes[0], self.bytes[1]]);
        // Without ECN the module is Reno and counts nothing.
        if enabled == 0 {
            return;
        }
        visit("alpha", f64::from(alpha) / f64::from(DCTCP_UNIT));
        visit("bytes_marked", f64::from(marked));
        visit("bytes_delivered", f64::from(all));
    }

    fn nv(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let Some(rounds) = self.word(1) else { return };
        self.round_trip("last_rtt", 2, visit);
        self.round_trip("min_rtt", 3, visit);
        visit("rtt_cnt", f64::from(rounds));
    }

    fn vegas(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let (Some(enabled), Some(samples)) = (self.word(0), self.word(1)) else { return };
        self.round_trip("base_rtt", 2, visit);
        self.round_trip("min_rtt", 3, visit);
        visit("samples", f64::from(samples));
        visit("doing_vegas", f64::from(enabled));
    }

    fn round_trip(&self, name: &'static str, index: usize, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Some(us) = self.word(index) {
            visit(name, if us >= NO_RTT { 0.0 } else { seconds(us) });
        }
    }
}

/// The state of BBR (`bbr_mode`), which `struct tcp_bbr_info` does not have: each state has gains of its own. Numbered
/// as in our row.
fn bbr_phase(pacing_gain: u32, cwnd_gain: u32) -> f64 {
    match (pacing_gain, cwnd_gain) {
        (pacing, cwnd) if cwnd > 2 * BBR_UNIT => f64::from(u8::from(pacing < BBR_UNIT)),
        (_, cwnd) if cwnd > BBR_UNIT => 2.0,
        _ => 3.0,
    }
}

fn seconds(us: u32) -> f64 {
    f64::from(us) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    fn told(words: &[u32], control: &str) -> Vec<(&'static str, f64)> {
        let mut info = CcInfo { bytes: [0; CcInfo::ROOM], length: 4 * words.len() };
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        info.bytes.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        let mut told = Vec::new();
        info.state(control, &mut |name, value| told.push((name, value)));
        told
    }

    /// Gains of `tcp_bbr.c`: `bbr_high_gain`, `bbr_drain_gain` and `bbr_cwnd_gain`.
    #[test]
    fn the_state_of_bbr_follows_from_its_gains() {
        let phase = |pacing, cwnd| told(&[1, 0, 1, pacing, cwnd], "bbr")[0];
        assert_eq!(phase(739, 739), ("phase", 0.0));
        assert_eq!(phase(88, 739), ("phase", 1.0));
        for cycle in [320, 192, 256] {
            assert_eq!(phase(cycle, 512), ("phase", 2.0));
        }
        assert_eq!(phase(256, 256), ("phase", 3.0));
        assert_eq!(told(&[0, 0, 1, 256, 256], "bbr")[0], ("phase", 0.0), "before a bandwidth sample");
        assert!(told(&[1, 0, 1, 256, 256, 7], "bbr").iter().all(|(name, _)| *name != "phase"), "a later BBR");
    }

    #[test]
    fn values_have_the_units_of_our_rows() {
        let bbr = told(&[1_250_000, 1, 12_500, 320, 512], "bbr");
        let wide = 8.0 * (4_294_967_296.0 + 1_250_000.0);
        assert_eq!(bbr[1..], [("bw_bps", wide), ("min_rtt_s", 0.0125), ("pacing_gain", 1.25), ("cwnd_gain", 2.0)]);
        assert_eq!(told(&[0, 0, u32::MAX, 739, 739], "bbr")[2], ("min_rtt_s", 0.0));
        let dctcp = [("alpha", 0.25), ("bytes_marked", 30.0), ("bytes_delivered", 90.0)];
        assert_eq!(told(&[u32::from_ne_bytes([1, 0, 1, 0]), 256, 30, 90], "dctcp"), dctcp);
        assert_eq!(told(&[0, 256, 30, 90], "dctcp"), [], "Reno in its place");
        let vegas = [("base_rtt", 0.01), ("min_rtt", 0.0), ("samples", 3.0), ("doing_vegas", 1.0)];
        assert_eq!(told(&[1, 3, 10_000, NO_RTT], "vegas"), vegas);
        let nv = [("last_rtt", 0.011), ("min_rtt", 0.01), ("rtt_cnt", 3.0)];
        assert_eq!(told(&[1, 3, 11_000, 10_000], "nv"), nv);
        assert_eq!(told(&[1, 0, 11_000, 12_000], "yeah"), [("base_rtt", 0.011)]);
        assert_eq!(told(&[1, 0, 11_000, 12_000], "illinois"), [("base_rtt", 0.012)]);
        assert_eq!(told(&[1, 0, 11_000, 12_000], "westwood"), [("rtt_min", 0.012)]);
    }

    #[test]
    fn names_are_those_of_our_rows() {
        for (control, words) in [
            ("bbr", &[1, 0, 1, 256, 512][..]),
            ("dctcp", &[1, 1, 1, 1]),
            ("nv", &[1, 1, 1, 1]),
            ("vegas", &[1, 1, 1, 1]),
            ("yeah", &[1, 1, 1, 1]),
            ("illinois", &[1, 1, 1, 1]),
            ("westwood", &[1, 1, 1, 1]),
        ] {
            let row = narrows_cc::registry().iter().find(|row| row.name == control).expect("a row");
            let told = told(words, control);
            assert!(!told.is_empty(), "{control}");
            let names: Vec<_> = told.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, CcInfo::names(control), "{control}");
            for (name, _) in told {
                assert!(row.variables.iter().any(|variable| variable.name == name), "{control}: {name}");
            }
        }
    }

    #[test]
    fn what_is_cut_short_or_unknown_reports_nothing() {
        assert_eq!(told(&[1, 2, 3, 4], "bbr"), []);
        assert_eq!(told(&[0, 0, 0, 0, 0], "bbr"), [], "before the handshake");
        assert_eq!(told(&[1, 2], "dctcp"), []);
        assert_eq!(told(&[1], "vegas"), []);
        assert_eq!(told(&[1, 2, 3, 4, 5], "cubic"), []);
    }

    #[test]
    fn the_kernel_s_reno_reports_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let reno = std::ffi::OsString::from("reno");
        nix::sys::socket::setsockopt(&listener, nix::sys::socket::sockopt::TcpCongestion, &reno).unwrap();
        assert_eq!(CcInfo::read(listener.as_fd()), None);
    }
}
