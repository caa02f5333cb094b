//! The device of a script: packets written to a TUN device arrive at the namespace, and a packet socket sees what the
//! namespace sends, with the kernel's time stamps.
//!
//! The device has the offloads of an Ethernet device (`TUNSETOFFLOAD`), so TCP hands it super-packets of several
//! segments. The packet socket sees them whole, as a script expects them. Packets are read from the TUN device too and
//! thrown away: TCP does not retransmit what its device still holds (`skb_still_in_host_queue`).

use super::clock;
use crate::LiveError;
use crate::netlink::Netlink;
use crate::netns::set_sysctl;
use crate::tun;
use narrows_packetdrill::options::Options;
use narrows_units::Instant;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Largest IP packet.
const LONGEST_PACKET: usize = 65_600;

/// Room of the packet socket, in bytes.
const TAP_ROOM: libc::c_int = 4 << 20;

/// Longest wait for a route that the kernel adds by itself.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// The MTU of a TUN device, unless it is set.
const DEFAULT_MTU: u32 = 1500;

/// `struct virtio_net_hdr`, which precedes each packet of the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct VnetHeader {
    flags: u8,
    gso_type: u8,
    header_length: u16,
    gso_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// `VIRTIO_NET_HDR_GSO_TCPV4` and `VIRTIO_NET_HDR_GSO_TCPV6`.
const GSO_TCP: [u8; 2] = [1, 4];

/// The device, and the socket that sees its packets.
#[derive(Debug)]
pub(super) struct Device {
    tun: OwnedFd,
    tap: OwnedFd,
    /// Payload of an arriving packet above which it is marked as several segments (`--mss`).
    mss: Option<u16>,
    buffer: Vec<u8>,
}

/// A packet that the namespace has sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) bytes: Vec<u8>,
}

impl Device {
    /// Makes the device in the network namespace of the current thread, with the addresses and routes of the options.
    pub(super) fn open(options: &Options) -> Result<Self, LiveError> {
        quiet_ipv6()?;
        let (tun, index) = tun::device(libc::IFF_VNET_HDR)?;
        let offload = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: the file is a TUN device's; the request takes an integer.
        let set = unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offload)) };
        nix::Error::result(set).map_err(|error| LiveError::failed("set the offloads of a TUN device", error))?;
        let netlink = Netlink::open()?;
        let mtu = if options.mtu == 0 { DEFAULT_MTU } else { options.mtu };
        netlink.bring_up(index, Some(mtu), None)?;
        netlink.add_network(index, options.local, options.prefix)?;
        await_local(options.local)?;
        netlink.add_route_by(
            index,
            network(options.remote, options.remote_prefix),
            options.remote_prefix,
            options.gateway,
        )?;
        let tap = tap(index).map_err(|error| LiveError::failed("open a packet socket", error))?;
        Ok(Self { tun, tap, mss: options.mss, buffer: vec![0; LONGEST_PACKET] })
    }

    /// Lets a packet arrive at the namespace. The kernel's IP and TCP process it within the call.
    pub(super) fn inject(&self, packet: &[u8]) -> io::Result<()> {
        let header = self.header(packet);
        let pieces = [
            libc::iovec { iov_base: (&raw const header).cast_mut().cast(), iov_len: size_of::<VnetHeader>() },
            libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() },
        ];
        // SAFETY: the pieces are valid for their lengths, and are only read.
        let written = unsafe { libc::writev(self.tun.as_raw_fd(), pieces.as_ptr(), pieces.len() as libc::c_int) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Returns the header of an arriving packet: with `--mss`, TCP's arrive as if the device had merged segments of
    /// this size.
    fn header(&self, packet: &[u8]) -> VnetHeader {
        let (Some(mss), Some((start, libc::IPPROTO_TCP))) = (self.mss, transport(packet)) else {
            return VnetHeader::default();
        };
        let _ = start;
        let version = usize::from(packet[0] >> 4 == 6);
        VnetHeader { gso_type: GSO_TCP[version], gso_size: mss, ..VnetHeader::default() }
    }

    /// Throws away what the TUN device holds.
    pub(super) fn drain(&mut self) {
        // A shorter buffer cuts packets off, which no one reads.
        let mut start = [0_u8; 64];
        // SAFETY: the buffer is valid for its length.
        while unsafe { libc::read(self.tun.as_raw_fd(), start.as_mut_ptr().cast(), start.len()) } > 0 {}
    }

    /// Returns the next packet that the namespace has sent; `None` if there is none now.
    pub(super) fn sent(&mut self) -> io::Result<Option<Sent>> {
        loop {
            let Some(seen) = self.seen()? else { return Ok(None) };
            if !seen.outgoing {
                continue;
            }
            let mut bytes = self.buffer[..seen.length].to_vec();
            if seen.checksum_missing {
                complete_checksum(&mut bytes);
            }
            return Ok(Some(Sent { at: seen.at, bytes }));
        }
    }

    /// Reads the next packet of the device, in either direction, into the buffer.
    fn seen(&mut self) -> io::Result<Option<Seen>> {
        let mut piece = libc::iovec { iov_base: self.buffer.as_mut_ptr().cast(), iov_len: self.buffer.len() };
        let mut control = [0_u64; 32];
        // SAFETY: all bytes zero are valid values of these structures.
        let (mut from, mut message): (libc::sockaddr_ll, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: all pointers of the message are valid for the lengths beside them.
        let length = unsafe { libc::recvmsg(self.tap.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        if length < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(error),
            };
        }
        let mut seen = Seen {
            at: clock::now(),
            length: length as usize,
            outgoing: from.sll_pkttype == libc::PACKET_OUTGOING,
            checksum_missing: false,
        };
        // SAFETY: the kernel has filled the control messages and their length; each is read unaligned, after a check of
        // its kind, which fixes its structure.
        unsafe {
            let mut next = libc::CMSG_FIRSTHDR(&raw const message);
            while let Some(header) = next.as_ref() {
                let data = libc::CMSG_DATA(next);
                match (header.cmsg_level, header.cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                        seen.at = clock::instant(data.cast::<libc::timespec>().read_unaligned());
                    }
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                        let auxiliary = data.cast::<libc::tpacket_auxdata>().read_unaligned();
                        seen.checksum_missing = auxiliary.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
                    }
                    _ => {}
                }
                next = libc::CMSG_NXTHDR(&raw const message, next);
            }
        }
        Ok(Some(seen))
    }

    /// The files that are readable when there is something to do: packets seen, and packets to drain.
    pub(super) fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.tap.as_fd(), self.tun.as_fd()]
    }
}

/// What the packet socket says about a packet.
struct Seen {
    at: Instant,
    length: usize,
    outgoing: bool,
    /// The transport's checksum was left to the device.
    checksum_missing: bool,
}

/// Keeps the namespace's devices from sending packets of no connection: IPv6's search for routers, and its link-local
/// addresses. Unlike `disable_ipv6`, this leaves IPv6 in use for the script's own addresses.
fn quiet_ipv6() -> Result<(), LiveError> {
    if crate::sysctl("ipv6/conf/default/disable_ipv6").is_none() {
        // A kernel without IPv6 sends none.
        return Ok(());
    }
    for (name, value) in [("addr_gen_mode", "1"), ("accept_ra", "0"), ("router_solicitations", "0")] {
        set_sysctl(&format!("ipv6/conf/default/{name}"), value)?;
    }
    Ok(())
}

/// Waits until the kernel takes packets to an IPv6 address of its own: it adds the route to it later than the address,
/// in a work queue (`addrconf_dad_work`).
fn await_local(address: IpAddr) -> Result<(), LiveError> {
    let IpAddr::V6(v6) = address else { return Ok(()) };
    let route: String = v6.octets().iter().map(|octet| format!("{octet:02x}")).collect::<String>() + " 80 ";
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let routes = std::fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap_or_default();
        if routes.lines().any(|line| line.starts_with(&route)) {
            return Ok(());
        }
        if std::time::Instant::now() > until {
            return Err(LiveError::failed(format!("add the address {v6}"), "its route does not appear"));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Opens a packet socket for one device, with time stamps.
fn tap(index: u32) -> io::Result<OwnedFd> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    // SAFETY: a plain system call. With protocol 0 the socket sees nothing until it is bound to its device.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new, and ours alone.
    let tap = unsafe { OwnedFd::from_raw_fd(fd) };
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, TAP_ROOM),
        (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1),
        (libc::SOL_PACKET, libc::PACKET_AUXDATA, 1),
    ] {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is valid for its length.
        check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) })?;
    }
    // SAFETY: all bytes zero are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is valid for its length.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), length) })?;
    Ok(tap)
}

/// Returns the address with the bits behind its prefix cleared.
fn network(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

/// Returns where the transport's header of an IP packet begins, and its protocol; `None` if the packet is too short.
fn transport(packet: &[u8]) -> Option<(usize, libc::c_int)> {
    match packet.first()? >> 4 {
        4 => Some((usize::from(packet[0] & 15) * 4, libc::c_int::from(*packet.get(9)?))),
        6 => Some((40, libc::c_int::from(*packet.get(6)?))),
        _ => None,
    }
}

/// Fills in the checksum of TCP or UDP that the kernel left to the device (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn complete_checksum(packet: &mut [u8]) {
    let Some((start, protocol)) = transport(packet) else { return };
    let place = start
        + match protocol {
            libc::IPPROTO_TCP => 16,
            libc::IPPROTO_UDP => 6,
            _ => return,
        };
    if packet.len() < place + 2 {
        return;
    }
    packet[place..place + 2].fill(0);
    let addresses = if packet[0] >> 4 == 4 { 12..20 } else { 8..40 };
    let words = |bytes: &[u8]| -> u64 {
        let pairs = bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)));
        pairs.sum()
    };
    let mut sum = words(&packet[addresses]) + words(&packet[start..]) + (packet.len() - start) as u64 + protocol as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[place..place + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_lose_the_bits_behind_their_prefix() {
        let of = |address: &str, prefix| network(address.parse().unwrap(), prefix).to_string();
        assert_eq!(of("192.0.2.77", 24), "192.0.2.0");
        assert_eq!(of("192.0.2.77", 32), "192.0.2.77");
        assert_eq!(of("192.0.2.77", 0), "0.0.0.0");
        assert_eq!(of("fd3d:fa7b:d17d::1", 48), "fd3d:fa7b:d17d::");
    }

    /// A SYN from 192.0.2.1 to 192.168.0.1, whose checksum is worked out by hand: c000 + 0201 + c0a8 + 0001, + 0006
    /// (protocol) + 0014 (length), + 0050 + 0051 + 5002 = 1 d367, folded d368, inverted 2c97.
    #[test]
    fn a_missing_checksum_is_completed() {
        let mut packet = vec![0_u8; 40];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 168, 0, 1]);
        packet[20..24].copy_from_slice(&[0, 0x50, 0, 0x51]);
        packet[32..34].copy_from_slice(&[0x50, 0x02]);
        packet[36..38].copy_from_slice(&[0xde, 0xad]);
        complete_checksum(&mut packet);
        assert_eq!(packet[36..38], [0x2c, 0x97]);
    }
}
