//! System calls of scripts as the socket host's calls.

use super::Simulated;
use crate::call::{Address, CallResult, Data, Errno, Output, Room, SystemCall};
use crate::host::{Fd, HostError, Progress, Ticket};
use narrows_socket::number::msg;
use narrows_socket::{Answer, Detail, Payload, Receive, Send};

/// The first descriptor of files that are no sockets, above all that the socket host gives.
const FIRST_FILE: i32 = 1_000;

/// An answer of the socket host as a result of the seam. Bytes received are zeros.
pub(super) fn result(answer: Answer) -> CallResult {
    let value = answer.value.map_err(|errno| Errno(errno.number()));
    let bytes = || vec![0; value.ok().and_then(|value| usize::try_from(value).ok()).unwrap_or(0)];
    let output = match answer.detail {
        Detail::Nothing => Output::None,
        Detail::Peer(peer) => Output::Address(peer),
        Detail::Message { flags, control } => Output::Message { bytes: bytes(), control, flags },
        Detail::Value(value) => Output::Option(value),
        Detail::Integer(value) => Output::Integer(value),
        Detail::Ready(events) => Output::Ready(events.into_iter().map(|events| events as i16).collect()),
        Detail::Events(events) => Output::Events(events),
    };
    CallResult { value, output }
}

fn progress(progress: narrows_socket::Progress) -> Progress {
    match progress {
        narrows_socket::Progress::Done(answer) => Progress::Done(result(answer)),
        narrows_socket::Progress::Blocked(ticket) => Progress::Blocked(Ticket(ticket.0)),
    }
}

fn done(value: Result<i64, narrows_socket::Errno>) -> Progress {
    Progress::Done(result(Answer::from(value)))
}

fn made(value: Result<i32, narrows_socket::Errno>) -> Progress {
    done(value.map(i64::from))
}

impl Simulated<'_> {
    /// Makes a call.
    pub(super) fn make(&mut self, call: &SystemCall) -> Result<Progress, HostError> {
        let host = &mut self.host;
        Ok(match call {
            SystemCall::Socket { domain, kind, protocol } => made(host.open_socket(*domain, *kind, *protocol)),
            SystemCall::Bind { fd, address } => done(match address {
                Address::Inet(address) => host.bind(fd.0, *address),
                Address::Unspecified => Err(narrows_socket::Errno::EAFNOSUPPORT),
                Address::Null => Err(narrows_socket::Errno::EFAULT),
            }),
            SystemCall::Listen { fd, backlog } => done(host.listen(fd.0, *backlog)),
            SystemCall::Accept { fd } => progress(host.accept(fd.0, 0)),
            SystemCall::Connect { fd, address } => match address {
                Address::Inet(address) => progress(host.connect(fd.0, *address)),
                Address::Unspecified => done(host.disconnect(fd.0)),
                Address::Null => done(Err(narrows_socket::Errno::EFAULT)),
            },
            SystemCall::Receive { fd, buffers, control, flags, form: _ } => {
                let parts = buffers.iter().map(|room| match room {
                    Room::Buffer(len) => Payload::Bytes(*len as u64),
                    Room::Null(len) => Payload::Null(*len as u64),
                });
                let receive = Receive { fd: fd.0, parts: parts.collect(), flags: *flags, control: *control > 0 };
                progress(host.receive_call(&receive))
            }
            SystemCall::Send { fd, buffers, address, flags, control: _, form: _ } => {
                let parts = buffers.iter().map(|data| match data {
                    Data::Bytes(_) | Data::Zeros(_) => Payload::Bytes(data.len() as u64),
                    Data::Null(len) => Payload::Null(*len as u64),
                });
                let to = match address {
                    Some(Address::Inet(address)) => Some(*address),
                    _ => None,
                };
                progress(host.send(&Send { fd: fd.0, parts: parts.collect(), flags: *flags, to }))
            }
            SystemCall::Close { fd } => {
                if self.open.remove(&fd.0).is_some() {
                    done(Ok(0))
                } else {
                    done(host.close(fd.0))
                }
            }
            SystemCall::Shutdown { fd, how } => done(host.shutdown(fd.0, *how)),
            SystemCall::GetOption { fd, level, option, length } => {
                Progress::Done(match host.option(fd.0, *level, *option) {
                    Ok(mut value) => {
                        value.truncate(*length);
                        CallResult::with(0, Output::Option(value))
                    }
                    Err(errno) => CallResult::error(Errno(errno.number())),
                })
            }
            SystemCall::SetOption { fd, level, option, value, length } => {
                let mut value = value.clone();
                value.resize(*length, 0);
                done(host.set_option(fd.0, *level, *option, &value))
            }
            SystemCall::Ioctl { fd, request } => Progress::Done(match host.ioctl(fd.0, request.cast_unsigned()) {
                Ok(value) => CallResult::with(0, Output::Integer(value)),
                Err(errno) => CallResult::error(Errno(errno.number())),
            }),
            SystemCall::Fcntl { fd, command, argument } => done(host.fcntl(fd.0, *command, argument.unwrap_or(0))),
            SystemCall::Poll { entries, timeout } => {
                let entries: Vec<_> =
                    entries.iter().map(|(fd, events)| (fd.0, u32::from(events.cast_unsigned()))).collect();
                progress(host.poll(&entries, *timeout))
            }
            SystemCall::EpollCreate { size } => made(host.epoll_create(*size)),
            SystemCall::EpollControl { epoll, operation, fd, event } => {
                done(host.epoll_control(epoll.0, *operation, fd.0, *event))
            }
            SystemCall::EpollWait { epoll, maximum, timeout } => progress(host.epoll_wait(epoll.0, *maximum, *timeout)),
            SystemCall::Open { path, flags: _ } => self.open_file(path),
            SystemCall::SendFile { to, from, offset, count } => return self.send_file(*to, *from, *offset, *count),
            SystemCall::Pipe | SystemCall::Splice { .. } => {
                return Err(HostError::unsupported("pipe and splice", "payload is counted here, not carried in pages"));
            }
        })
    }

    fn open_file(&mut self, path: &str) -> Progress {
        if !self.files.contains_key(path) {
            return done(Err(narrows_socket::Errno::ENOENT));
        }
        let fd = (FIRST_FILE..).find(|fd| !self.open.contains_key(fd)).unwrap_or(FIRST_FILE);
        self.open.insert(fd, (path.to_owned(), 0));
        done(Ok(i64::from(fd)))
    }

    /// `sendfile`: a write of what the file has from there on.
    fn send_file(&mut self, to: Fd, from: Fd, offset: Option<i64>, count: usize) -> Result<Progress, HostError> {
        let Some((path, position)) = self.open.get(&from.0).cloned() else {
            return Ok(done(Err(narrows_socket::Errno::EBADF)));
        };
        let size = self.files.get(&path).copied().unwrap_or(0);
        let begin = offset.map_or(position, |offset| u64::try_from(offset).unwrap_or(0));
        let len = size.saturating_sub(begin).min(count as u64);
        if len == 0 {
            return Ok(done(Ok(0)));
        }
        let send = Send { fd: to.0, parts: vec![Payload::Bytes(len)], flags: msg::NOSIGNAL, to: None };
        match self.host.send(&send) {
            narrows_socket::Progress::Done(answer) => {
                let sent = answer.value.unwrap_or(0).unsigned_abs();
                if offset.is_none()
                    && let Some(open) = self.open.get_mut(&from.0)
                {
                    open.1 += sent;
                }
                let end = i64::try_from(begin + sent).unwrap_or(i64::MAX);
                let output = if offset.is_some() && answer.value.is_ok() { Output::Integer(end) } else { Output::None };
                Ok(Progress::Done(CallResult { output, ..result(answer) }))
            }
            blocked => Ok(progress(blocked)),
        }
    }
}
