//! Calls that receive.

use super::waiting::Call;
use super::{Answer, Control, Detail, Host, Payload, Progress, Receive};
use crate::errno::Errno;
use crate::number::{ip, level, msg, report, so, tcp};
use crate::socket::{Report, Socket, Stage};
use narrows_tcp::State;
use narrows_units::{Bytes, Instant};

/// Most bytes that a call transfers (`MAX_RW_COUNT`).
pub(super) const MOST: u64 = 0x7fff_f000;
/// Bytes of `struct sockaddr_in` and `struct sockaddr_in6`.
const SOCKADDR_IN: usize = 16;
const SOCKADDR_IN6: usize = 28;

/// A receive under way.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    receive: Receive,
    /// Bytes that it has room for, and that it received so far.
    wanted: u64,
    copied: u64,
    /// Whether the call sleeps until it has received enough.
    sleeps: bool,
}

impl Host {
    /// `read`, `recv`, `recvfrom`, `recvmsg` and their like.
    pub fn receive_call(&mut self, receive: &Receive) -> Progress {
        let sleeps = match self.at(receive.fd) {
            Ok((_, socket)) => !socket.nonblocking && receive.flags & (msg::DONTWAIT | msg::ERRQUEUE) == 0,
            Err(errno) => return Progress::Done(Answer::error(errno)),
        };
        let wanted = total(&receive.parts);
        let mut receiving = Receiving { receive: receive.clone(), wanted, copied: 0, sleeps };
        if !sleeps {
            let answer = self.try_receive(&mut receiving).unwrap_or(Answer::error(Errno::EAGAIN));
            self.wake_waiting();
            return Progress::Done(answer);
        }
        self.enter(Call::Receive(receiving), Instant::NEVER)
    }

    /// Receives what is there; `None` if that is not enough and the call has to wait (`tcp_recvmsg_locked`). What is
    /// received leaves the buffer at once, so a call that waits for more than the buffer holds goes on.
    pub(super) fn try_receive(&mut self, receiving: &mut Receiving) -> Option<Answer> {
        let flags = receiving.receive.flags;
        let (id, socket) = match self.at(receiving.receive.fd) {
            Ok(found) => found,
            Err(errno) => return Some(Answer::error(errno)),
        };
        if flags & msg::ERRQUEUE != 0 {
            return Some(socket.read_errors());
        }
        if matches!(socket.stage, Stage::Listening(_)) || (matches!(socket.stage, Stage::Idle) && !socket.deferred) {
            return Some(Answer::error(Errno::ENOTCONN));
        }
        let Receiving { wanted, sleeps, .. } = *receiving;
        let peeks = flags & msg::PEEK != 0;
        let before = if peeks { 0 } else { receiving.copied };
        let count = socket.readable().min(wanted - before);
        if count > 0 && flags & msg::TRUNC == 0 && begins_with_null(&receiving.receive.parts) {
            return Some(Answer::error(Errno::EFAULT));
        }
        if let (false, Some(connection)) = (peeks, socket.connection_mut()) {
            connection.read(Bytes::new(count));
        }
        receiving.copied = before + count;
        let lowat = if flags & msg::WAITALL != 0 { wanted } else { wanted.min(socket.options.receive_lowat.into()) };
        let stops = !sleeps || socket.error.is_some() || socket.shut_read || socket.is_finished();
        let enough = wanted == 0 || receiving.copied >= lowat.max(1) || (receiving.copied > 0 && stops);
        if !enough {
            let answer = if receiving.copied == 0 { socket.nothing_to_read() } else { None };
            self.pump(id);
            return answer;
        }
        let control = socket.inq(&receiving.receive);
        self.pump(id);
        Some(Answer { value: Ok(receiving.copied as i64), detail: Detail::Message { flags: 0, control } })
    }
}

/// Bytes that buffers hold in all, at most what a call transfers.
pub(super) fn total(parts: &[Payload]) -> u64 {
    parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.len())).min(MOST)
}

/// Whether the first buffer with room is a null pointer.
fn begins_with_null(parts: &[Payload]) -> bool {
    parts.iter().find(|part| !part.is_empty()).is_some_and(|part| matches!(part, Payload::Null(_)))
}

impl Socket {
    /// What a read returns if no data is there; `None` if it has to wait.
    fn nothing_to_read(&mut self) -> Option<Answer> {
        if self.is_finished() {
            return Some(Answer::value(0));
        }
        if let Some(errno) = self.take_error() {
            return Some(Answer::error(errno));
        }
        if self.shut_read {
            return Some(Answer::value(0));
        }
        if self.state() == State::Closed && !self.deferred {
            return Some(Answer::error(Errno::ENOTCONN));
        }
        None
    }

    /// The control message of `TCP_INQ`, if it is wanted: the bytes left, or one for the end of the stream.
    fn inq(&self, receive: &Receive) -> Vec<Control> {
        if !self.options.inq || !receive.control {
            return Vec::new();
        }
        let left = self.readable().max(u64::from(self.is_finished()));
        let data = i32::try_from(left).unwrap_or(i32::MAX).to_le_bytes().to_vec();
        vec![Control { level: level::TCP, kind: tcp::INQ, data }]
    }

    /// Takes the first report of the error queue (`MSG_ERRQUEUE`).
    fn read_errors(&mut self) -> Answer {
        let Some(first) = self.errors.pop_front() else { return Answer::error(Errno::EAGAIN) };
        let mapped = self.remote.is_some_and(|remote| remote.is_ipv4()) && !self.is_v6;
        let (level, kind) = if mapped { (level::IP, ip::RECVERR) } else { (level::IPV6, ip::V6_RECVERR) };
        let mut control = Vec::new();
        let mut flags = msg::ERRQUEUE;
        let data = match first {
            Report::ZeroCopy { first, last } => {
                error_report(0, report::ORIGIN_ZEROCOPY, report::ZEROCOPY_COPIED, first, last)
            }
            Report::Timestamp { point, at, key } => {
                flags |= msg::TRUNC;
                let nanos = at.as_nanos();
                let mut stamps = Vec::with_capacity(48);
                stamps.extend_from_slice(&(nanos / 1_000_000_000).to_le_bytes());
                stamps.extend_from_slice(&(nanos % 1_000_000_000).to_le_bytes());
                stamps.resize(48, 0);
                control.push(Control { level: level::SOCKET, kind: so::TIMESTAMPING, data: stamps });
                error_report(Errno::ENOMSG.number(), report::ORIGIN_TIMESTAMPING, 0, point, key)
            }
        };
        // The address of who reported the error follows: none.
        let data = [data, vec![0; if kind == ip::RECVERR { SOCKADDR_IN } else { SOCKADDR_IN6 }]].concat();
        control.push(Control { level, kind, data });
        Answer { value: Ok(0), detail: Detail::Message { flags, control } }
    }
}

/// A `struct sock_extended_err` of type 0.
fn error_report(errno: i32, origin: u8, code: u8, info: u32, data: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    out.extend_from_slice(&errno.to_le_bytes());
    out.extend_from_slice(&[origin, 0, code, 0]);
    out.extend_from_slice(&info.to_le_bytes());
    out.extend_from_slice(&data.to_le_bytes());
    out
}
