//! Doors: listening sockets of a host, and the thread that hands what they accept to the flows.
//!
//! All flows to a host share a server port, so that a packet's ports name its flow; a door knows them by the client's
//! address.

use crate::LiveError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{SockFlag, SockaddrStorage, accept4, getpeername};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// A signal that stays once given.
#[derive(Debug)]
pub(super) struct Bell(EventFd);

impl Bell {
    pub(super) fn new() -> Result<Self, LiveError> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        EventFd::from_value_and_flags(0, flags).map(Self).map_err(|error| LiveError::failed("make an eventfd", error))
    }

    /// Gives the signal.
    pub(super) fn ring(&self) {
        // Nothing can be wrong but a counter that is full, and then the signal is given.
        let _ = self.0.write(1);
    }

    /// To wait for the signal.
    pub(super) fn poll(&self) -> PollFd<'_> {
        PollFd::new(self.0.as_fd(), PollFlags::POLLIN)
    }
}

/// Where a flow's server finds its connection.
#[derive(Debug)]
pub(super) struct Mailbox {
    socket: Mutex<Option<OwnedFd>>,
    pub(super) bell: Bell,
}

impl Mailbox {
    pub(super) fn new() -> Result<Self, LiveError> {
        Ok(Self { socket: Mutex::new(None), bell: Bell::new()? })
    }

    fn put(&self, socket: OwnedFd) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        self.bell.ring();
    }

    pub(super) fn take(&self) -> Option<OwnedFd> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The doors of a host.
#[derive(Debug, Default)]
pub(super) struct Doors {
    listeners: Vec<OwnedFd>,
    /// By the address of the client, and by the listener's place.
    guests: BTreeMap<(SocketAddr, usize), Arc<Mailbox>>,
}

impl Doors {
    /// Adds a listening socket and those who are expected at it.
    pub(super) fn add(&mut self, listener: OwnedFd, guests: impl IntoIterator<Item = (SocketAddr, Arc<Mailbox>)>) {
        let place = self.listeners.len();
        self.listeners.push(listener);
        self.guests.extend(guests.into_iter().map(|(from, mailbox)| ((from, place), mailbox)));
    }

    /// Lets in whoever is expected, until the bell rings.
    pub(super) fn attend(&self, stop: &Bell) -> Result<(), LiveError> {
        loop {
            let mut fds = vec![stop.poll()];
            fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)));
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) if fds[0].any().unwrap_or(true) => return Ok(()),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(LiveError::failed("wait for connections", error)),
            }
            for (place, listener) in self.listeners.iter().enumerate() {
                while let Some((from, socket)) = accept(listener) {
                    // A stranger (a program that was told to connect here) is turned away.
                    if let Some(mailbox) = self.guests.get(&(from, place)) {
                        mailbox.put(socket);
                    }
                }
            }
        }
    }
}

fn accept(listener: &OwnedFd) -> Option<(SocketAddr, OwnedFd)> {
    let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC).ok()?;
    // SAFETY: the call has just made this descriptor, and no other code owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let peer: SockaddrStorage = getpeername(socket.as_raw_fd()).ok()?;
    Some((plain(&peer)?, socket))
}

fn plain(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::new(IpAddr::V4(v4.ip()), v4.port()));
    }
    address.as_sockaddr_in6().map(|v6| SocketAddr::new(IpAddr::V6(v6.ip()), v6.port()))
}
