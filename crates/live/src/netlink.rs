//! Devices, addresses and routes of the namespace that the current thread is in, by rtnetlink(7).

use crate::LiveError;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::IpAddr;

/// Room for an answer to a request, in bytes.
const LONGEST_ANSWER: usize = 16_384;

/// An rtnetlink socket for one namespace: that of the thread which opened it.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
}

/// TCP settings for all connections to one destination, as `ip route` sets them; `None` is the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteSettings {
    /// First congestion window, in segments (`initcwnd`).
    pub initcwnd: Option<u32>,
    /// Floor of the retransmission timeout, in milliseconds (`rto_min`).
    pub rto_min_ms: Option<u32>,
    /// Each segment is acknowledged at once (`quickack`).
    pub quickack: bool,
}

impl RouteSettings {
    fn metrics(self) -> Vec<RouteMetric> {
        /// Bit of `RTAX_RTO_MIN` in `RTAX_LOCK`: without it the kernel's own floor stays.
        const LOCK_RTO_MIN: u32 = 1 << 13;
        [
            self.rto_min_ms.map(|_| RouteMetric::Lock(LOCK_RTO_MIN)),
            self.initcwnd.map(RouteMetric::InitCwnd),
            self.rto_min_ms.map(RouteMetric::RtoMin),
            self.quickack.then_some(RouteMetric::QuickAck(1)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Netlink {
    /// Opens a socket for the namespace that the current thread is in.
    ///
    /// # Errors
    /// [`LiveError::Failed`] with the kernel's reason.
    pub(crate) fn open() -> Result<Self, LiveError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        open().map(|socket| Self { socket }).map_err(|error| LiveError::failed("open a netlink socket", error))
    }

    /// Brings a device up. Sets its MTU and the length of its transmit queue where they are given.
    ///
    /// Multicast is switched off where an MTU is given: these devices are point to point, and neighbour discovery would
    /// send packets that belong to no flow.
    pub(crate) fn bring_up(&self, index: u32, mtu: Option<u32>, queue_packets: Option<u32>) -> Result<(), LiveError> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = if mtu.is_some() { LinkFlags::Up | LinkFlags::Multicast } else { LinkFlags::Up };
        link.attributes.extend(mtu.map(LinkAttribute::Mtu));
        link.attributes.extend(queue_packets.map(LinkAttribute::TxQueueLen));
        self.ask(RouteNetlinkMessage::SetLink(link), 0, "bring a device up")
    }

    /// Makes TCP pass single segments to a device (`ip link set DEV gso_max_segs 1`), instead of several to be split
    /// there: TCP does the latter whether or not the device's offload is on. Open connections are not affected.
    pub(crate) fn segment_in_tcp(&self, index: u32) -> Result<(), LiveError> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes.push(LinkAttribute::GsoMaxSegs(1));
        self.ask(RouteNetlinkMessage::SetLink(link), 0, "have segments handed down one by one")
    }

    /// Adds an address to a device, with no neighbours.
    pub(crate) fn add_address(&self, index: u32, address: IpAddr) -> Result<(), LiveError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = full_prefix(address);
        message.header.index = index;
        // No other host is on the device: duplicate address detection would only delay the use of the address (IPv6).
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.ask(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
            format!("add the address {address}"),
        )
    }

    /// Adds an address to a device, and with it the network of `prefix` bits that is behind the device.
    pub(crate) fn add_network(&self, index: u32, address: IpAddr, prefix: u8) -> Result<(), LiveError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        let what = format!("add the address {address}/{prefix}");
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL, what)
    }

    /// Adds a route to a network of `prefix` bits, over a device and the gateway behind it.
    pub(crate) fn add_route_by(
        &self,
        index: u32,
        network: IpAddr,
        prefix: u8,
        gateway: IpAddr,
    ) -> Result<(), LiveError> {
        let mut route = RouteMessage::default();
        route.header.address_family = family(network);
        route.header.destination_prefix_length = prefix;
        route.header.table = RouteHeader::RT_TABLE_MAIN;
        route.header.protocol = RouteProtocol::Boot;
        route.header.scope = RouteScope::Universe;
        route.header.kind = RouteType::Unicast;
        route.attributes = vec![
            RouteAttribute::Destination(RouteAddress::from(network)),
            RouteAttribute::Gateway(RouteAddress::from(gateway)),
            RouteAttribute::Oif(index),
        ];
        let what = format!("add a route to {network}/{prefix} by {gateway}");
        self.ask(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL, what)
    }

    /// Adds a route to `destination` (the default route if `None`) over a device, with the source address `source`.
    pub(crate) fn add_route(
        &self,
        index: u32,
        destination: Option<IpAddr>,
        source: IpAddr,
        settings: RouteSettings,
    ) -> Result<(), LiveError> {
        let mut route = RouteMessage::default();
        route.header.address_family = family(source);
        route.header.destination_prefix_length = destination.map_or(0, full_prefix);
        route.header.table = RouteHeader::RT_TABLE_MAIN;
        route.header.protocol = RouteProtocol::Static;
        route.header.scope = if source.is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
        route.header.kind = RouteType::Unicast;
        route.attributes.extend(destination.map(|to| RouteAttribute::Destination(RouteAddress::from(to))));
        route.attributes.push(RouteAttribute::PrefSource(RouteAddress::from(source)));
        route.attributes.push(RouteAttribute::Oif(index));
        let metrics = settings.metrics();
        if !metrics.is_empty() {
            route.attributes.push(RouteAttribute::Metrics(metrics));
        }
        let what = destination.map_or_else(|| "add the default route".to_owned(), |to| format!("add a route to {to}"));
        self.ask(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_EXCL, what)
    }

    /// Sends a request and waits for the kernel's answer to it.
    fn ask(&self, message: RouteNetlinkMessage, flags: u16, what: impl Into<String>) -> Result<(), LiveError> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        let answer = self.socket.send(&bytes, 0).and_then(|_| self.answer());
        answer.map_err(|error| LiveError::failed(what, error))
    }

    /// Sends a message that asks for an acknowledgement, given as bytes, and waits for it.
    ///
    /// # Errors
    /// [`LiveError::Failed`] with the kernel's reason.
    pub(crate) fn send(&self, message: &[u8], what: &str) -> Result<(), LiveError> {
        let answer = self.socket.send(message, 0).and_then(|_| self.answer());
        answer.map_err(|error| LiveError::failed(what, error))
    }

    /// Sends a message that asks for something, given as bytes, and returns the answer.
    ///
    /// # Errors
    /// That of the socket.
    pub(crate) fn request(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        self.socket.send(message, 0)?;
        // The kernel answers within the call, so that an answer that is not there never comes.
        let mut answer = Vec::with_capacity(LONGEST_ANSWER);
        self.socket.recv(&mut answer, libc::MSG_DONTWAIT)?;
        Ok(answer)
    }

    fn answer(&self) -> io::Result<()> {
        let (bytes, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes);
        let answer = answer.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::Error(_) => Ok(()),
            other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("an unexpected answer: {other:?}"))),
        }
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn full_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
