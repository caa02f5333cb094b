//! One end of a flow: its socket, what it still has to write, what it has read.

use super::socket::bound_window;
use narrows_scenario::Tcp;
use narrows_wire::{RTP_LEN, RtpRepr};
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, Shutdown, recv, send, sendmsg, shutdown};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// Largest number of bytes per call.
const PIECE: usize = 64 << 10;

/// Calls in a row before the flow checks its clock again.
const CALLS: usize = 16;

/// The payload of all flows.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// Value of `pending` for data without end.
pub(super) const ENDLESS: u64 = u64::MAX;

/// Bytes read after which the window is bounded again; see [`bound_window`].
const MEASURED: u64 = 1 << 14;

/// One end of a flow.
#[derive(Debug)]
pub(super) struct End {
    /// `None` until a connection is accepted.
    pub(super) socket: Option<OwnedFd>,
    /// `None` for datagrams.
    tcp: Option<Arc<Tcp>>,
    /// Largest number of unsent bytes in the kernel; `None` leaves the bound to the kernel.
    unsent: Option<u32>,
    /// Bytes still to be handed to the kernel; [`ENDLESS`] if there is no end.
    pub(super) pending: u64,
    /// Whether to close once the pending bytes are handed over.
    pub(super) closing: bool,
    closed: bool,
    /// Bytes that the application has read.
    pub(super) received: u64,
    /// Whether the peer has closed.
    pub(super) ended: bool,
    /// Whether the socket has failed and cannot be used any more.
    failed: bool,
    bounded: bool,
}

impl End {
    pub(super) fn new(socket: Option<OwnedFd>, tcp: Option<&Arc<Tcp>>, unsent: Option<u32>) -> Self {
        Self {
            socket,
            tcp: tcp.map(Arc::clone),
            unsent,
            pending: 0,
            closing: false,
            closed: false,
            received: 0,
            ended: false,
            failed: false,
            bounded: false,
        }
    }

    /// Adds bytes to write.
    pub(super) fn write(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
    }

    /// Drops the bytes that the kernel does not have yet, and closes.
    pub(super) fn stop(&mut self) {
        self.pending = 0;
        self.closing = true;
    }

    /// Returns the events to wait for; `None` if there are none.
    pub(super) fn interest(&self, reads: bool) -> Option<PollFlags> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, reads && !self.ended);
        flags.set(PollFlags::POLLOUT, self.pending > 0 && !self.closed);
        (self.socket.is_some() && !self.failed && !flags.is_empty()).then_some(flags)
    }

    /// Hands the kernel what it takes now, and closes if that was requested.
    ///
    /// # Errors
    /// The error of a connection that is gone, once.
    pub(super) fn push(&mut self) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.failed && !self.closed) else { return Ok(()) };
        let mut calls = 0;
        while self.pending > 0 && calls < CALLS {
            // The kernel checks its own bound only when it begins a packet of up to 64 KiB.
            let room = self.unsent.map_or(u32::MAX, |most| most.saturating_sub(unsent(socket)));
            if room == 0 {
                return Ok(());
            }
            let piece = self.pending.min(PIECE as u64).min(room.into()) as usize;
            match send(socket.as_raw_fd(), &ZEROS[..piece], MsgFlags::MSG_NOSIGNAL) {
                Ok(sent) if self.pending < ENDLESS => self.pending -= sent as u64,
                Ok(_) => {}
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(()),
                Err(error) => return self.fail(error),
            }
            calls += 1;
        }
        if self.pending == 0 && self.closing {
            self.closed = true;
            match shutdown(socket.as_raw_fd(), Shutdown::Write) {
                // Not connected yet, or no longer: there is nothing to close.
                Ok(()) | Err(nix::Error::ENOTCONN) => {}
                Err(error) => return self.fail(error),
            }
        }
        Ok(())
    }

    /// Reads the available data, up to `most` bytes.
    ///
    /// # Errors
    /// The error of a connection that is gone, once.
    pub(super) fn pull(&mut self, most: u64) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.failed && !self.ended) else { return Ok(()) };
        let before = self.received;
        for _ in 0..CALLS {
            let left = most - (self.received - before);
            if left == 0 {
                break;
            }
            match discard(socket, left.min(PIECE as u64) as usize) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.received += read as u64,
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => break,
                Err(error) => return self.fail(error),
            }
        }
        if let (Some(tcp), false, true) = (&self.tcp, self.bounded, self.received >= MEASURED) {
            self.bounded = true;
            // A window somewhat too large is no reason to end a run.
            let _ = bound_window(socket, tcp);
        }
        Ok(())
    }

    fn fail(&mut self, error: nix::Error) -> io::Result<()> {
        self.failed = true;
        Err(error.into())
    }
}

/// Returns the number of unsent bytes in a socket.
fn unsent(socket: &OwnedFd) -> u32 {
    /// `SIOCOUTQNSD` of `include/uapi/linux/sockios.h`.
    const SIOCOUTQNSD: libc::Ioctl = 0x894b;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes an int, and the pointer is to one.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCOUTQNSD, &raw mut bytes) };
    if result == 0 { u32::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Reads and discards up to `most` bytes of a connection; the kernel does not copy them (`MSG_TRUNC`, tcp(7)).
fn discard(socket: &OwnedFd, most: usize) -> nix::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel writes nothing for a TCP socket, and the address range is not used.
    let read =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    nix::Error::result(read).map(|read| read as usize)
}

/// Sends a datagram of `payload` bytes, with this header at its start if it has one; returns whether the kernel took
/// it.
pub(super) fn send_datagram(socket: &OwnedFd, payload: u64, header: Option<RtpRepr>) -> bool {
    let payload = ZEROS.len().min(payload as usize);
    let head = header.filter(|_| payload >= RTP_LEN).map(|header| header.bytes());
    let head = head.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let parts = [IoSlice::new(head), IoSlice::new(&ZEROS[..payload - head.len()])];
    sendmsg::<()>(socket.as_raw_fd(), &parts, &[], MsgFlags::MSG_NOSIGNAL, None).is_ok()
}

/// Reads the datagrams that have arrived, and calls `each` with the RTP header of each that has one; returns the bytes
/// of their payload.
pub(super) fn receive_datagrams(socket: &OwnedFd, mut each: impl FnMut(RtpRepr)) -> u64 {
    let mut bytes = 0;
    for _ in 0..CALLS * CALLS {
        let mut start = [0; RTP_LEN];
        // The length is that of the datagram, not of what fits the buffer.
        match recv(socket.as_raw_fd(), &mut start, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT) {
            Ok(length) => {
                bytes += length as u64;
                if let Some(header) = start.get(..length.min(RTP_LEN)).and_then(RtpRepr::parse) {
                    each(header);
                }
            }
            // If the peer's port was not open once (ECONNREFUSED), later datagrams may still arrive.
            Err(nix::Error::ECONNREFUSED | nix::Error::EINTR) => {}
            Err(_) => break,
        }
    }
    bytes
}
