//! Calls that send.

use super::receive::MOST;
use super::waiting::Call;
use super::{Answer, Host, Payload, Progress, Send};
use crate::errno::Errno;
use crate::memory::size_goal;
use crate::number::{msg, report};
use crate::socket::{Socket, Stage, Watched};
use core::net::SocketAddr;
use narrows_tcp::{State, WriteFlags};
use narrows_units::{Bytes, Instant};

/// Pages that a buffer of user memory has at most (`MAX_SKB_FRAGS`); each part of a zero-copy send takes one.
const MAX_FRAGMENTS: usize = 17;

/// A send under way.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    fd: i32,
    flags: i32,
    /// Where buffers end in any case, as bytes of this send: a zero-copy send of many parts.
    cuts: Vec<u64>,
    /// Bytes wanted and taken so far.
    wanted: u64,
    taken: u64,
    /// Whether a null pointer follows what is wanted.
    faults: bool,
    /// Whether it sleeps for want of room, not for the handshake.
    for_room: bool,
    /// Where a SYN with data goes (`MSG_FASTOPEN`).
    to: Option<SocketAddr>,
    /// Whether that SYN was sent by this call.
    opened: bool,
    /// Whether the call sleeps until all is taken.
    sleeps: bool,
    /// Whether the handshake that this call began is over.
    established: bool,
}

impl Host {
    /// `write`, `send`, `sendto`, `sendmsg` and their like.
    pub fn send(&mut self, send: &Send) -> Progress {
        let nonblocking = match self.at(send.fd) {
            Ok((_, socket)) => socket.nonblocking || send.flags & msg::DONTWAIT != 0,
            Err(errno) => return Progress::Done(Answer::error(errno)),
        };
        let valid = send.parts.iter().take_while(|part| matches!(part, Payload::Bytes(_)) || part.is_empty());
        let wanted = valid.fold(0u64, |sum, part| sum.saturating_add(part.len())).min(MOST);
        let faults = send.parts.iter().any(|part| matches!(part, Payload::Null(len) if *len > 0));
        let mut cuts = Vec::new();
        if send.flags & msg::ZEROCOPY != 0 {
            let parts: Vec<u64> = send.parts.iter().map(|part| part.len()).filter(|len| *len > 0).collect();
            let ends =
                parts.chunks(MAX_FRAGMENTS).map(|chunk| chunk.iter().fold(0u64, |sum, len| sum.saturating_add(*len)));
            cuts.extend(ends.scan(0, |end, len| {
                *end = len.saturating_add(*end);
                Some(*end)
            }));
        }
        let mut sending = Sending {
            fd: send.fd,
            flags: send.flags,
            cuts,
            wanted,
            taken: 0,
            faults,
            for_room: false,
            to: send.to,
            opened: false,
            sleeps: !nonblocking,
            established: false,
        };
        if nonblocking {
            let answer = self.try_send(&mut sending).unwrap_or_else(|| match sending.taken {
                0 if sending.opened => Answer::error(Errno::EINPROGRESS),
                0 => Answer::error(Errno::EAGAIN),
                taken => {
                    if !sending.established {
                        // What went with the SYN; a send that found no room has been noted.
                        self.watch(&sending);
                    }
                    Answer::value(taken as i64)
                }
            });
            self.wake_waiting();
            return Progress::Done(answer);
        }
        self.enter(Call::Send(sending), Instant::NEVER)
    }

    /// Whether a sleeping send can go on.
    pub(super) fn may_send(&self, sending: &Sending) -> bool {
        let Ok(id) = self.number(sending.fd) else { return true };
        let Some(socket) = self.socket(id) else { return true };
        if socket.error.is_some() || socket.shut_write || !sending.for_room {
            return true;
        }
        socket.memory.is_writable(socket.lowat(self.lowat()))
    }

    /// Takes as much of a send as the buffer has room for; `None` if the rest has to wait.
    pub(super) fn try_send(&mut self, sending: &mut Sending) -> Option<Answer> {
        let sysctl_lowat = self.lowat();
        let (id, socket) = match self.at(sending.fd) {
            Ok(found) => found,
            Err(errno) => return Some(Answer::error(errno)),
        };
        if !sending.opened
            && (sending.flags & msg::FASTOPEN != 0 || socket.deferred)
            && let Err(errno) = self.begin_fast_open(id, sending)
        {
            return Some(Answer::error(errno));
        }
        let Some(socket) = self.socket_mut(id) else { return Some(Answer::error(Errno::EBADF)) };
        if let Some(answer) = before_send(socket, sending) {
            return answer;
        }
        if sending.opened && sending.sleeps {
            socket.connecting = false;
        }
        sending.established = true;
        if sending.faults && sending.taken == 0 && sending.wanted == 0 {
            return Some(Answer::error(Errno::EFAULT));
        }
        let zero_copy = sending.flags & msg::ZEROCOPY != 0 && socket.options.zero_copy && sending.wanted > 0;
        // Taken into buffers, and not handed to the connection yet.
        let mut waits = 0;
        loop {
            let Some(socket) = self.socket_mut(id) else { return Some(Answer::error(Errno::EBADF)) };
            if socket.error.is_some() || socket.shut_write {
                return before_send(socket, sending).flatten();
            }
            let left = sending.wanted - sending.taken;
            if left == 0 {
                break;
            }
            let cut = sending.cuts.iter().find(|cut| zero_copy && **cut > sending.taken);
            let left = cut.map_or(left, |cut| left.min(cut - sending.taken));
            let lowat = socket.lowat(sysctl_lowat);
            let Some(connection) = socket.connection() else { return Some(Answer::error(Errno::EPIPE)) };
            let mss = connection.info().smss.as_u64();
            let max_window = connection.linux_info().max_window.as_u64();
            let goal = size_goal(mss, max_window);
            let Some((took, full)) = socket.memory.append(left, goal, lowat, zero_copy) else {
                socket.no_space = true;
                sending.for_room = true;
                // What was taken so far leaves before the call sleeps or returns.
                write(socket, waits, WriteFlags::default());
                if let (true, Some(connection)) = (sending.taken > 0, socket.connection_mut()) {
                    connection.push();
                }
                if !sending.sleeps {
                    // The call returns what it has taken, which is what is reported.
                    socket.watch(sending, zero_copy);
                }
                self.pump(id);
                return None;
            };
            sending.taken += took;
            let done = sending.taken == sending.wanted;
            waits += took;
            if done {
                let record = sending.flags & msg::EOR != 0;
                if record {
                    socket.memory.close_last();
                }
                write(socket, waits, WriteFlags { record, more: sending.flags & msg::MORE != 0 });
            } else if zero_copy && sending.cuts.contains(&sending.taken) {
                socket.memory.close_last();
                write(socket, core::mem::take(&mut waits), WriteFlags { record: true, more: false });
            } else if full {
                // A full buffer leaves at once if it is the next to leave, or half of the window was written since the
                // last push.
                let first = socket.memory.last_is_first();
                let half = socket.memory.is_half_a_window_unpushed(max_window);
                if first || half {
                    write(socket, core::mem::take(&mut waits), WriteFlags { record: false, more: true });
                }
                if half {
                    self.pump(id);
                } else if first {
                    self.pump_one(id);
                }
            }
        }
        self.watch(sending);
        self.pump(id);
        Some(Answer::value(sending.taken as i64))
    }

    /// Watches a send whose completion or times are reported.
    fn watch(&mut self, sending: &Sending) {
        if let Ok((_, socket)) = self.at(sending.fd) {
            let zero_copy = sending.flags & msg::ZEROCOPY != 0 && socket.options.zero_copy;
            socket.watch(sending, zero_copy);
        }
    }

    /// Sends a SYN with data for a call that may (`tcp_sendmsg_fastopen`).
    fn begin_fast_open(&mut self, id: usize, sending: &mut Sending) -> Result<(), Errno> {
        let offers = self.offers_fast_open();
        let Some(socket) = self.socket_mut(id) else { return Err(Errno::EBADF) };
        if !socket.deferred && (!offers || sending.to.is_none()) {
            return Err(Errno::EOPNOTSUPP);
        }
        if !socket.deferred {
            match (&socket.stage, socket.state()) {
                (Stage::Idle, _) => {}
                (_, State::SynSent | State::SynReceived) => return Err(Errno::EALREADY),
                // A connection that stands takes the data as any other call's.
                _ => return Ok(()),
            }
        }
        if let Some(errno) = socket.take_error() {
            return Err(errno);
        }
        if sending.faults && sending.wanted == 0 {
            return Err(Errno::EFAULT);
        }
        let to = if socket.deferred { socket.remote } else { sending.to };
        let to = to.ok_or(Errno::EDESTADDRREQ)?;
        socket.deferred = false;
        sending.opened = true;
        sending.taken = self.open_with_data(id, to, sending.wanted)?;
        if sending.sleeps
            && sending.taken < sending.wanted
            && let Some(connection) = self.socket_mut(id).and_then(Socket::connection_mut)
        {
            connection.expect_write();
        }
        Ok(())
    }
}

/// Hands written bytes to the connection.
fn write(socket: &mut Socket, bytes: u64, flags: WriteFlags) {
    if bytes > 0
        && let Some(connection) = socket.connection_mut()
    {
        connection.write_with(Bytes::new(bytes), flags);
    }
}

/// What a send returns before it takes anything; `None` if it may go on. The inner `None` means that it has to wait.
#[allow(clippy::option_option, reason = "whether to go on, and whether there is an answer")]
fn before_send(socket: &mut Socket, sending: &mut Sending) -> Option<Option<Answer>> {
    sending.for_room = false;
    let state = socket.state();
    let opening = socket.is_opening();
    if !opening && socket.error.is_none() && !socket.shut_write && !matches!(state, State::Closed | State::Listen) {
        return None;
    }
    // A call that began to connect and failed returns the error, although its SYN carried data.
    let partly = sending.taken > 0 && (sending.established || !sending.opened);
    if partly && (socket.error.is_some() || socket.shut_write) {
        return Some(Some(Answer::value(sending.taken as i64)));
    }
    if let Some(errno) = socket.take_error() {
        return Some(Some(Answer::error(errno)));
    }
    if opening && !socket.shut_write {
        return Some(None);
    }
    Some(Some(Answer::error(Errno::EPIPE)))
}

impl Socket {
    /// Watches a send whose completion or times are reported.
    fn watch(&mut self, sending: &Sending, zero_copy: bool) {
        let asked = self.options.timestamping & (report::TX_SCHED | report::TX_SOFTWARE | report::TX_ACK);
        if sending.taken == 0 || (!zero_copy && asked == 0) {
            return;
        }
        let end = self.memory.written();
        let number = zero_copy.then(|| {
            let number = self.next_zero_copy;
            self.next_zero_copy = number.wrapping_add(1);
            number
        });
        let counts = self.options.timestamping & report::OPT_ID != 0;
        let key = if counts { (end - 1).wrapping_sub(self.key_base) as u32 } else { 0 };
        self.watched.push_back(Watched { end, zero_copy: number, points: asked, key });
    }
}
