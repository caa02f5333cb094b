//! TCP Fast Open (RFC 7413): what an end of a connection is told, and what it found out.
//!
//! The cache of cookies and the choice to accept data are the socket layer's; [`cookie`] is the function that Linux
//! computes them by.

use core::net::IpAddr;
use narrows_units::Bytes;
use narrows_wire::FastOpenCookie;
use siphasher::sip::SipHasher24;

/// The cookie for a client at `client` of a server at `server` (`tcp_fastopen_cookie_gen_cipher`): SipHash-2-4 of both
/// addresses, 8 bytes.
#[must_use]
pub fn cookie(key: &[u8; 16], client: IpAddr, server: IpAddr) -> FastOpenCookie {
    let mut addresses = Vec::with_capacity(32);
    for address in [client, server] {
        match address {
            IpAddr::V4(v4) => addresses.extend_from_slice(&v4.octets()),
            IpAddr::V6(v6) => addresses.extend_from_slice(&v6.octets()),
        }
    }
    let hash = SipHasher24::new_with_key(key).hash(&addresses);
    FastOpenCookie::new(&hash.to_le_bytes(), false).unwrap_or(FastOpenCookie::REQUEST)
}

/// What a client's SYN carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpenClient {
    /// The option: a cookie, or a request for one. `None` sends data without an option, as where the server needs no
    /// cookie.
    pub option: Option<FastOpenCookie>,
    /// Whether data goes with the SYN; it does with a cookie, not with a request for one.
    pub data: bool,
    /// MSS of the peer as known from an earlier connection.
    pub mss: Option<u16>,
}

/// What a server does with a client's SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastOpenServer {
    /// Whether data of the SYN is taken and answered at once, because the cookie is right or none is needed.
    pub accept: bool,
    /// The option of the SYN-ACK.
    pub grant: Option<FastOpenCookie>,
}

/// What the SYN-ACK showed to a client that used Fast Open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpenReport {
    /// The cookie to use from now on, if the server sent one.
    pub cookie: Option<FastOpenCookie>,
    /// MSS of the server's SYN-ACK.
    pub mss: Option<u16>,
    /// Whether data was sent with the SYN and acknowledged.
    pub data_acked: bool,
    /// Whether data was sent with the SYN and must be sent again.
    pub data_lost: bool,
    /// Whether only a retransmitted SYN arrived, so that the path may drop SYNs with data.
    pub syn_dropped: bool,
    /// Whether a cookie was asked for in vain, so that the other kind of option is worth a try.
    pub refused: bool,
}

/// Fast Open at one end.
#[derive(Debug, Default)]
pub(crate) struct FastOpen {
    /// As a client: what our SYN carries.
    pub(crate) client: Option<FastOpenClient>,
    /// As a client: whether the SYN carried the option.
    pub(crate) asked: bool,
    /// As a client: payload bytes of the SYN.
    pub(crate) sent: Bytes,
    /// As a client: offset up to which data of the SYN is sent again.
    pub(crate) again: u64,
    /// As a client: whether a write waits for the handshake.
    pub(crate) write_waits: bool,
    /// As a client: what the SYN-ACK showed.
    pub(crate) report: Option<FastOpenReport>,
    /// As a server: what was decided about the SYN.
    pub(crate) server: FastOpenServer,
    /// As a server: whether the SYN's data was taken and our SYN-ACK is not acknowledged.
    pub(crate) pending: bool,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Cookies as the public packetdrill suites expect them of Linux for the key a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4
    /// and the key zero.
    #[test]
    fn cookies_are_those_of_linux() {
        let key: [u8; 16] = core::array::from_fn(|i| [0xa1, 0xb2, 0xc3, 0xd4][i / 4]);
        let of = |key, client: &str, server: &str| {
            let cookie = cookie(key, client.parse().unwrap(), server.parse().unwrap());
            u64::from_be_bytes(cookie.cookie().try_into().unwrap())
        };
        assert_eq!(of(&key, "192.0.2.1", "192.168.0.1"), 0x3021_b9d8_8901_7eeb);
        assert_eq!(of(&[0; 16], "192.0.2.1", "192.168.0.1"), 0xb7c1_2350_a90d_c8f5);
        assert_eq!(of(&key, "fd3d:fa7b:d17d::1", "fd3d:0a0b:17d6::1"), 0xc1d1_e974_2a47_a9bc);
    }
}
