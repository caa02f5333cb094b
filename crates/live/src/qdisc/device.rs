//! A device whose packets pass the shaper and a discipline of the kernel: a TUN device in a namespace of its own.
//!
//! A packet socket hands packets to the device, which queues them as it does any sender's. What the shaper sends is
//! read from the device's file. A TUN device has no link-layer header, so that disciplines count IP packets, and gets
//! single packets, so that none is split or merged.

use super::message;
use super::queue::Discipline;
use super::table::Settings;
use crate::netlink::Netlink;
use crate::{LiveError, Netns, Tun};
use narrows_units::{Duration, Rate};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::SndBufForce};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// Lateness of a wake-up that the shaper makes up for. Its timer is some microseconds late, and more while the
/// processor handles packets; beyond it the rate is lower than the link's.
const BURST: Duration = Duration::from_micros(100);

/// Memory for packets that wait in the kernel, in bytes: more than 65,536 packets take.
const MEMORY: usize = 1 << 30;

/// A discipline of the kernel below a shaper.
#[derive(Debug)]
pub(super) struct Device {
    tun: Arc<Tun>,
    packets: OwnedFd,
    netlink: Netlink,
    _netns: Netns,
}

impl Device {
    /// Makes the device, with a shaper of this rate and the discipline.
    ///
    /// # Errors
    /// [`LiveError::Failed`] with the step and the kernel's reason: it may lack the discipline, or refuse its settings.
    pub(super) fn new(settings: &Settings, rate: Rate) -> Result<Self, LiveError> {
        let netns = Netns::new()?;
        let (tun, netlink, packets) = netns.run(|| {
            let tun = Tun::bare(settings.mtu)?;
            let netlink = Netlink::open()?;
            let index = tun.index();
            netlink.send(&message::shaper(index), "add the queue discipline htb")?;
            netlink.send(&message::class(index, rate, BURST, settings.mtu), "add a class of htb")?;
            netlink.send(
                &message::discipline(index, settings.kind, &settings.options),
                &format!("add the queue discipline {}", settings.words),
            )?;
            Ok::<_, LiveError>((tun, netlink, packet_socket()?))
        })??;
        Ok(Self { tun: Arc::new(tun), packets, netlink, _netns: netns })
    }

    /// The device's file, which can be read when a packet has come out.
    pub(super) fn tun(&self) -> Arc<Tun> {
        Arc::clone(&self.tun)
    }
}

impl Discipline for Device {
    fn send(&mut self, bytes: &[u8]) -> bool {
        let protocol =
            if bytes.first().is_some_and(|first| first >> 4 == 6) { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
        // SAFETY: all bytes zero are a valid sockaddr_ll.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as libc::c_ushort;
        to.sll_protocol = (protocol as u16).to_be();
        to.sll_ifindex = self.tun.index() as libc::c_int;
        // SAFETY: the socket is open, and both pointers are valid for the given lengths during the call.
        let sent = unsafe {
            libc::sendto(
                self.packets.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
                (&raw const to).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        sent >= 0
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.tun.receive(buffer).ok().flatten().map(|packet| packet.len())
    }

    fn waiting(&mut self) -> Option<u32> {
        let answer = self.netlink.request(&message::ask(self.tun.index())).ok()?;
        message::stats(&answer).map(|stats| stats.waiting)
    }
}

/// Opens a socket that sends packets as they are, from the IP header on, and receives none.
fn packet_socket() -> Result<OwnedFd, LiveError> {
    let failed = |error: nix::Error| LiveError::failed("open a packet socket", io::Error::from(error));
    let made = socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
    setsockopt(&made, SndBufForce, &MEMORY).map_err(failed)?;
    Ok(made)
}
