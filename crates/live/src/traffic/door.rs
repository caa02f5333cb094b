//! Doors: listening sockets of a host, and the thread that hands what they accept to the flows.
//!
//! Flows to a host share a server port and differ in their client ports, so a packet's ports identify its flow. A door
//! identifies flows by the client's address.

use crate::LiveError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{SockFlag, SockaddrStorage, accept4, getpeername};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// A signal that stays set once given, until it is taken back.
#[derive(Debug)]
pub(super) struct Bell(EventFd);

impl Bell {
    pub(super) fn new() -> Result<Self, LiveError> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        EventFd::from_value_and_flags(0, flags).map(Self).map_err(|error| LiveError::failed("make an eventfd", error))
    }

    /// Gives the signal.
    pub(super) fn ring(&self) {
        // The only possible error is a full counter, and then the signal is given already.
        let _ = self.0.write(1);
    }

    /// Takes the signal back.
    pub(super) fn silence(&self) {
        // The only possible error is that it was not given.
        let _ = self.0.read();
    }

    /// Returns what to poll for the signal.
    pub(super) fn poll(&self) -> PollFd<'_> {
        PollFd::new(self.0.as_fd(), PollFlags::POLLIN)
    }
}

/// Passes an accepted connection to its flow's server.
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
    /// By the client's address and the listener's index.
    guests: BTreeMap<(SocketAddr, usize), Arc<Mailbox>>,
}

impl Doors {
    /// Adds a listening socket and the clients that are expected at it.
    pub(super) fn add(&mut self, listener: OwnedFd, guests: impl IntoIterator<Item = (SocketAddr, Arc<Mailbox>)>) {
        let place = self.listeners.len();
        self.listeners.push(listener);
        self.guests.extend(guests.into_iter().map(|(from, mailbox)| ((from, place), mailbox)));
    }

    /// Accepts the expected clients until the bell rings.
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
                    // An unexpected client (a program that was told to connect here) is rejected.
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
