//! Negotiation of options by the two SYNs. ECN and schemes: [`crate::ecn`].

use crate::assist::{Assist, WindowCap};
use crate::ecn::negotiates;
use crate::linux::autotuning;
use crate::receiver::rledbat::MOST_SHIFT;
use narrows_settings::{Config, ReceiverCc};
use narrows_units::Instant;
use narrows_wire::{Ecn, TcpFlags, TcpOptions, Timestamps};

/// MSS if the peer does not send one (RFC 9293, section 3.7.1), over IPv4 and over IPv6.
const DEFAULT_MSS: [u16; 2] = [536, 1220];
/// The largest window shift (RFC 7323, section 2.3).
const MAX_SHIFT: u8 = 14;
/// Smallest SMSS, so that a peer's absurd MSS option cannot stall the connection.
const MIN_SMSS: u64 = 16;
/// Bytes of the timestamps option on each data segment, padding included.
const TIMESTAMP_BYTES: u64 = 12;

/// The smallest shift that can offer the whole receive buffer; with autotuning, Linux's choice. rLEDBAT bounds it.
pub(crate) fn window_shift(config: &Config) -> u8 {
    let buffer = config.recv_buffer.as_u64();
    let shift = if config.autotuning {
        autotuning::shift(buffer)
    } else {
        (0..MAX_SHIFT).find(|&s| 65_535u64 << s >= buffer).unwrap_or(MAX_SHIFT)
    };
    if config.receiver_cc == ReceiverCc::Rledbat { shift.min(MOST_SHIFT) } else { shift }
}

/// The options of our SYN, or of our SYN-ACK to a SYN with the options `peer`.
pub(crate) fn syn_options(config: &Config, peer: Option<&TcpOptions>, ts: Option<Timestamps>) -> TcpOptions {
    let offered = |ours: bool, theirs: fn(&TcpOptions) -> bool| ours && peer.is_none_or(theirs);
    TcpOptions {
        mss: Some(config.mss),
        window_scale: offered(config.window_scaling, |o| o.window_scale.is_some()).then(|| window_shift(config)),
        sack_permitted: offered(config.sack, |o| o.sack_permitted),
        timestamps: if offered(config.timestamps, |o| o.timestamps.is_some()) { ts } else { None },
        ..TcpOptions::default()
    }
}

/// The settings that both ends use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Payload bytes of a full segment, before a scheme's header bytes are subtracted.
    pub(crate) smss: u64,
    /// Shift of the windows that we receive.
    pub(crate) send_shift: u8,
    /// Shift of the windows that we send.
    pub(crate) recv_shift: u8,
    /// Whether SACK is in use.
    pub(crate) sack: bool,
    /// TSval of the peer's SYN, if timestamps are in use.
    pub(crate) timestamps: Option<u32>,
}

impl Terms {
    /// Derives the terms from our configuration and the options of the peer's SYN. If that is a SYN-ACK, it answers our
    /// SYN, so it carries what both ends want.
    pub(crate) fn agree(config: &Config, peer: &TcpOptions, ipv6: bool) -> Self {
        let timestamps = peer.timestamps.filter(|_| config.timestamps).map(|t| t.val);
        // An MSS of zero is none (`tcp_parse_options`).
        let peer_mss = peer.mss.filter(|mss| *mss > 0).unwrap_or(DEFAULT_MSS[usize::from(ipv6)]);
        let options = if timestamps.is_some() { TIMESTAMP_BYTES } else { 0 };
        let scale = peer.window_scale.filter(|_| config.window_scaling);
        Self {
            smss: u64::from(config.mss.min(peer_mss)).saturating_sub(options).max(MIN_SMSS),
            send_shift: scale.map_or(0, |s| s.min(MAX_SHIFT)),
            recv_shift: if scale.is_some() { window_shift(config) } else { 0 },
            sack: config.sack && peer.sack_permitted,
            timestamps,
        }
    }
}

/// The bound of the window in our SYN, from a scheme that is not negotiated.
pub(crate) fn first_cap(assist: Option<&dyn Assist>) -> Option<WindowCap> {
    assist.filter(|assist| !negotiates(*assist)).and_then(Assist::window_cap)
}

/// Our own SYN: the state to send it again and to time it; and what the peer's SYN left to later segments.
#[derive(Debug, Default)]
pub(crate) struct Syn {
    /// Whether it is to be sent (again).
    pub(crate) due: bool,
    /// Whether it answers a SYN that came before we had sent ours: a passive open.
    pub(crate) passive: bool,
    /// Transmissions after the first.
    pub(crate) retransmissions: u32,
    /// Last transmission.
    pub(crate) sent_at: Instant,
    /// First transmission.
    pub(crate) first_sent: Instant,
    /// Flags beside SYN and ACK.
    pub(crate) flags: TcpFlags,
    /// Options of the peer's SYN, once it arrived.
    pub(crate) peer: Option<TcpOptions>,
    /// IP-ECN field of the peer's SYN.
    pub(crate) peer_ecn: Ecn,
    /// With which IP-ECN field our SYN arrived, by an AccECN peer's answer.
    pub(crate) reported: Option<Ecn>,
    /// Whether the connection may send ECN-capable data, if ECN is agreed on: no SYN that was sent or received after an
    /// offer of AccECN withdrew it (RFC 9768, section 3.1.5).
    pub(crate) capable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Bytes;

    #[test]
    fn the_window_shift_covers_the_buffer() {
        let shift = |n| window_shift(&Config { recv_buffer: Bytes::new(n), ..Config::default() });
        assert_eq!(shift(65_535), 0);
        assert_eq!(shift(65_536), 1);
        assert_eq!(shift(12_500_000), 8, "1 Gb/s times 100 ms");
        assert_eq!(shift(u64::MAX), 14);
    }

    #[test]
    fn options_are_in_force_only_if_both_ends_sent_them() {
        let config = Config::default();
        let terms = Terms::agree(&config, &TcpOptions::default(), false);
        assert_eq!(
            terms,
            Terms { smss: 536, send_shift: 0, recv_shift: 0, sack: false, timestamps: None },
            "and MSS is 536 by default"
        );
        let zero = TcpOptions { mss: Some(0), ..TcpOptions::default() };
        assert_eq!(Terms::agree(&config, &zero, false).smss, 536);
        let ts = Timestamps { val: 7, ecr: 0 };
        let peer = TcpOptions {
            mss: Some(9000),
            window_scale: Some(15),
            sack_permitted: true,
            timestamps: Some(ts),
            ..TcpOptions::default()
        };
        let terms = Terms::agree(&config, &peer, false);
        assert_eq!(terms, Terms { smss: 1448, send_shift: 14, recv_shift: 9, sack: true, timestamps: Some(7) });
    }
}
