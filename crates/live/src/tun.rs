//! TUN devices: they carry packets between a namespace and the process that is the network.
//!
//! One read returns one packet: without `IFF_VNET_HDR` the kernel segments before it hands a packet out, so that queues
//! count what a wire would carry. A device lives as long as its file.

use crate::LiveError;
use crate::netlink::Netlink;
use crate::netns::{set_sysctl, sysctl};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

pub use crate::netlink::RouteSettings;

/// Packets that a device holds until they are read. With the kernel's 500, it would be one more drop-tail queue before
/// the first queue of the scenario.
pub const QUEUE_PACKETS: u32 = 5000;

/// Name of the device in its namespace.
pub const NAME: &str = "tun0";

/// A TUN device of the namespace in which it was made.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    index: u32,
}

/// The configuration of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunConfig {
    /// Its only address.
    pub address: IpAddr,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Destinations with TCP settings other than the kernel's; everything else takes the default route.
    pub routes: Vec<(IpAddr, RouteSettings)>,
}

impl Tun {
    /// Makes a device in the namespace that the current thread is in, and brings it up, with its address and routes.
    ///
    /// # Errors
    /// [`LiveError::Unavailable`] without `/dev/net/tun` or the right to use it; [`LiveError::Failed`] if a later step
    /// fails.
    pub fn open(config: &TunConfig) -> Result<Self, LiveError> {
        quiet_ipv6(config.address)?;
        let (fd, index) = device(0)?;
        let netlink = Netlink::open()?;
        netlink.bring_up(index, Some(config.mtu), Some(QUEUE_PACKETS))?;
        netlink.add_address(index, config.address)?;
        netlink.add_route(index, None, config.address, RouteSettings::default())?;
        for &(destination, settings) in &config.routes {
            netlink.add_route(index, Some(destination), config.address, settings)?;
        }
        Ok(Self { fd, index })
    }

    /// Makes a device without addresses and routes in the namespace that the current thread is in, and brings it up.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn bare(mtu: u32) -> Result<Self, LiveError> {
        quiet_ipv6(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED))?;
        let (fd, index) = device(0)?;
        Netlink::open()?.bring_up(index, Some(mtu), Some(QUEUE_PACKETS))?;
        Ok(Self { fd, index })
    }

    /// Returns the index of the device in its namespace, to which packet programs are attached.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Reads the next packet that the namespace has sent; `None` if there is none now. The packet is complete if
    /// `buffer` is as long as the MTU.
    ///
    /// # Errors
    /// Those of `read(2)`; `EBADFD` once the device is gone.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a mut [u8]>> {
        match nix::unistd::read(&self.fd, buffer) {
            Ok(length) => Ok(Some(&mut buffer[..length])),
            Err(nix::Error::EAGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Passes a packet to the namespace. The kernel's IP and TCP process it within the call.
    ///
    /// # Errors
    /// Those of `write(2)`: `EINVAL` if the bytes are no IP packet, `EIO` while the device is down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        nix::unistd::write(&self.fd, packet).map(drop).map_err(io::Error::from)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Keeps devices made later from sending packets of no flow: IPv6's search for routers, and those for its other
/// addresses.
fn quiet_ipv6(address: IpAddr) -> Result<(), LiveError> {
    if sysctl("ipv6/conf/default/disable_ipv6").is_none() {
        // A kernel without IPv6 sends none; if IPv6 is wanted, adding the address fails.
        return Ok(());
    }
    let set = |name: &str, value: &str| set_sysctl(&format!("ipv6/conf/default/{name}"), value);
    if address.is_ipv4() {
        return set("disable_ipv6", "1");
    }
    // 1: no link-local address, without which nothing is sent unasked.
    set("addr_gen_mode", "1")?;
    set("accept_ra", "0")?;
    set("router_solicitations", "0")
}

/// Opens the file of a new device in non-blocking mode, and returns it with the device's index. `more` are flags of
/// `TUNSETIFF` besides `IFF_TUN | IFF_NO_PI`.
pub(crate) fn device(more: libc::c_int) -> Result<(OwnedFd, u32), LiveError> {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let fd = open("/dev/net/tun", flags, Mode::empty()).map_err(unavailable)?;
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | more) as libc::c_short;
    // SAFETY: the file is open and the ioctl reads and writes an ifreq, whose name ends in a zero.
    let made = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    nix::Error::result(made).map_err(unavailable)?;
    let index = nix::net::if_::if_nametoindex(NAME)
        .map_err(|error| LiveError::failed(format!("find the device {NAME}"), error))?;
    Ok((fd, index))
}

fn unavailable(error: nix::Error) -> LiveError {
    let (why, remedy) = match error {
        nix::Error::ENOENT | nix::Error::ENODEV | nix::Error::ENXIO => (
            "there is no /dev/net/tun",
            "load the kernel's module tun (modprobe tun), or give the container the device",
        ),
        nix::Error::EPERM | nix::Error::EACCES => {
            ("making TUN devices needs root (CAP_NET_ADMIN)", "run as root, for example with sudo")
        }
        _ => return LiveError::failed("make a TUN device", error),
    };
    LiveError::Unavailable { what: "live runs".to_owned(), why: why.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Netns;
    use crate::testing::lacks_root;
    use std::net::UdpSocket;
    use std::process::Command;

    fn config(address: &str) -> TunConfig {
        TunConfig { address: address.parse().unwrap(), mtu: 1500, routes: Vec::new() }
    }

    /// Returns the first packet to `to` from a socket in a namespace with this device.
    fn packet_to(config: &TunConfig, to: &str) -> Vec<u8> {
        let ns = Netns::new().unwrap();
        let tun = ns.run(|| Tun::open(config)).unwrap().unwrap();
        let socket = ns.run(|| UdpSocket::bind((config.address, 1000)).unwrap()).unwrap();
        socket.send_to(b"narrows", to).unwrap();
        let mut buffer = [0; 2000];
        tun.receive(&mut buffer).unwrap().unwrap().to_vec()
    }

    #[test]
    fn a_read_is_one_ip_packet() {
        if lacks_root() {
            return;
        }
        let packet = packet_to(&config("10.0.0.1"), "10.0.0.2:2000");
        assert_eq!((packet[0] >> 4, packet.len()), (4, 20 + 8 + 7));
        assert_eq!(packet[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
        let packet = packet_to(&config("fd00::1"), "[fd00::2]:2000");
        assert_eq!((packet[0] >> 4, packet.len()), (6, 40 + 8 + 7));
    }

    #[test]
    fn nothing_but_what_was_sent_leaves() {
        if lacks_root() {
            return;
        }
        let hosts = ["10.0.0.1", "fd00::1"].map(|address| {
            let ns = Netns::new().unwrap();
            let tun = ns.run(|| Tun::open(&config(address))).unwrap().unwrap();
            (ns, tun)
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        for (_, tun) in &hosts {
            let mut buffer = [0; 2000];
            let stray = tun.receive(&mut buffer).unwrap();
            assert!(stray.is_none(), "{stray:?}");
        }
    }

    #[test]
    fn routes_carry_tcp_s_settings() {
        if lacks_root() {
            return;
        }
        let settings = RouteSettings { initcwnd: Some(2), rto_min_ms: Some(300), quickack: true };
        let config = TunConfig { routes: vec![("10.0.0.9".parse().unwrap(), settings)], ..config("10.0.0.1") };
        let ns = Netns::new().unwrap();
        let (tun, shown) = ns
            .run(|| {
                let tun = Tun::open(&config).unwrap();
                let show = |what: &[&str]| {
                    let shown = Command::new("ip").args(what).output().ok()?;
                    Some(String::from_utf8(shown.stdout).unwrap())
                };
                (tun, show(&["route"]).zip(show(&["link", "show", NAME])))
            })
            .unwrap();
        let Some((routes, link)) = shown else { return crate::testing::skip("needs the program ip") };
        assert!(tun.index() > 1);
        assert!(routes.contains("default dev tun0 proto static scope link src 10.0.0.1"), "{routes}");
        let line = routes.lines().find(|line| line.starts_with("10.0.0.9 ")).unwrap();
        for setting in ["initcwnd 2", "rto_min lock 300ms", "quickack 1"] {
            assert!(line.contains(setting), "{setting}: {line}");
        }
        assert!(link.contains("mtu 1500") && link.contains("qlen 5000") && !link.contains("MULTICAST"), "{link}");
    }
}
