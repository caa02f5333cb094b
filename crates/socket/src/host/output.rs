//! Packets that leave, and whom a change of a connection wakes.

use super::{Event, Host};
use crate::chrono::Limit;
use crate::number::{event, report};
use crate::socket::{Report, Seen, Socket, Stage};
use narrows_tcp::{Connection, Info, LinuxEcnMode, State};
use narrows_units::Instant;

impl Host {
    /// Lets a socket's connection send what it has, then finds out what changed.
    pub(super) fn pump(&mut self, id: usize) {
        let now = self.now;
        if let Some(connection) = self.sockets.get_mut(&id).and_then(Socket::connection_mut) {
            let whole = takes_bursts(self.gso, connection);
            let next = if whole { Connection::poll_burst } else { Connection::poll_transmit };
            while let Some(packet) = next(connection, now) {
                self.events.push_back(Event::Sent { at: now, packet });
            }
        }
        self.look(id);
    }

    /// Lets a socket's connection send one burst, because a call that writes has filled the first buffer
    /// (`tcp_push_one`).
    pub(super) fn pump_one(&mut self, id: usize) {
        let now = self.now;
        if let Some(connection) = self.sockets.get_mut(&id).and_then(Socket::connection_mut) {
            let whole = takes_bursts(self.gso, connection);
            let next = if whole { Connection::poll_burst } else { Connection::poll_transmit };
            connection.set_eager(true);
            while let Some(packet) = next(connection, now) {
                self.events.push_back(Event::Sent { at: now, packet });
                if !connection.is_within_burst() {
                    break;
                }
            }
            connection.set_eager(false);
        }
        self.look(id);
    }

    /// Finds out what changed at a socket since it was looked at, and wakes whoever waits for that.
    fn look(&mut self, id: usize) {
        let now = self.now;
        self.learn_cookie(id);
        let sysctl_lowat = self.lowat();
        let Some(socket) = self.socket_mut(id) else { return };
        let Stage::Connected(connection) = &socket.stage else { return };
        let (state, finished) = (connection.state(), connection.is_finished());
        let delivered = connection.delivered_to_app().as_u64();
        let sent = socket.memory.written().saturating_sub(connection.unsent().as_u64());
        let acked = connection.acked().as_u64();
        let info = connection.info();
        let segments = info.cwnd.as_u64() / info.smss.as_u64().max(1);
        let (mss, room_in_window) = (info.smss.as_u64(), info.inflight < info.cwnd);
        let failure = match connection.failure() {
            Some(failure) if state == State::Closed && socket.seen.state != State::Closed => Some(failure.into()),
            _ => None,
        };
        let before = core::mem::replace(&mut socket.seen, Seen { state, delivered, finished });
        let before_sent = socket.memory.progress().0;
        socket.memory.follow(sent, acked);
        let mut woken = None;
        let mut wake = |events: u32| {
            woken = Some(woken.map_or(events, |old: u32| if old == 0 || events == 0 { 0 } else { old | events }));
        };
        if before.state != state && opens(before.state) && !opens(state) && state != State::Closed {
            socket.memory.expand(mss, segments);
            socket.chrono.data_received = now;
            wake(0);
        }
        let told = socket.connection_mut().and_then(Connection::take_told_failure);
        if let Some(failure) = told {
            socket.error = Some(failure.into());
            wake(0);
        }
        if let Some(errno) = failure {
            socket.error = Some(errno);
            socket.memory.clear();
            (socket.shut_read, socket.shut_write) = (true, true);
            wake(0);
        } else if state == State::Closed && before.state != State::Closed {
            wake(0);
        }
        if delivered > before.delivered {
            wake(event::IN | event::RDNORM);
        }
        if finished && !before.finished {
            wake(0);
        }
        if socket.reports(now) {
            wake(event::ERR);
        }
        if socket.no_space {
            if room_in_window {
                socket.memory.expand(mss, segments);
            }
            if socket.memory.is_writable(socket.lowat(sysctl_lowat)) {
                socket.no_space = false;
                wake(event::OUT | event::WRNORM);
            }
        }
        socket.time(&info, sent > before_sent, now);
        self.settle(id, before.state, state);
        if let Some(events) = woken {
            self.wake(id, events);
        }
    }

    /// Moves a connection that changed its state: an established one to its listener, an ended one away.
    fn settle(&mut self, id: usize, before: State, state: State) {
        let Some(socket) = self.socket_mut(id) else { return };
        if let Some(parent) = socket.parent {
            let usable = !socket.is_opening() && !matches!(state, State::Listen | State::Closed);
            if usable && !socket.queued {
                socket.queued = true;
                if let Some(Stage::Listening(listener)) = self.socket_mut(parent).map(|s| &mut s.stage) {
                    listener.ready.push_back(id);
                    self.wake(parent, event::IN | event::RDNORM);
                }
            } else if matches!(state, State::Listen | State::Closed) && opens(before) && !socket.queued {
                // The handshake failed: the peer reset it, or did not answer.
                self.forget(id);
            }
        } else if !socket.held && state == State::Closed {
            self.forget(id);
        }
    }

    /// Wakes the epoll instances that watch a socket; zero means any event.
    pub(super) fn wake(&mut self, id: usize, events: u32) {
        for epoll in self.epolls.values_mut() {
            epoll.wake(id, events);
        }
    }

    /// `tcp_notsent_lowat`.
    pub(super) fn lowat(&self) -> u64 {
        self.setup.sysctls.number("tcp_notsent_lowat").unsigned_abs()
    }
}

/// Whether a state is before the handshake's end.
pub(super) fn opens(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived | State::Listen)
}

impl Socket {
    /// Runs the stopwatches; `sent` is whether data just left.
    fn time(&mut self, info: &Info, sent: bool, now: Instant) {
        if sent {
            self.chrono.data_sent = now;
        }
        let (waits, in_flight) = (self.memory.not_sent() > 0, self.memory.unacked() > 0);
        let room_in_window = info.inflight + info.smss <= info.cwnd;
        let next = info.smss.as_u64().min(self.memory.not_sent());
        let limit = if waits && info.rwnd.as_u64() < info.flightsize.as_u64() + next && room_in_window {
            Some(Limit::Window)
        } else if self.no_space && self.chrono.limit() == Some(Limit::Buffer)
            || (self.no_space && sent && !waits && room_in_window)
        {
            Some(Limit::Buffer)
        } else {
            in_flight.then_some(Limit::Other)
        };
        self.chrono.run(limit, now);
    }

    /// Reports sends whose last byte was sent or acknowledged; returns whether anything was reported.
    fn reports(&mut self, now: Instant) -> bool {
        if self.watched.is_empty() {
            return false;
        }
        let (sent, una) = self.memory.progress();
        let mut reported = false;
        let mut at = 0;
        while let Some(watched) = self.watched.get_mut(at) {
            let (end, key) = (watched.end, watched.key);
            let mut found = Vec::new();
            if end <= sent {
                for (flag, point) in
                    [(report::TX_SCHED, report::TSTAMP_SCHED), (report::TX_SOFTWARE, report::TSTAMP_SND)]
                {
                    if watched.points & flag != 0 {
                        watched.points &= !flag;
                        found.push(Report::Timestamp { point, at: now, key });
                    }
                }
            }
            if end <= una {
                if watched.points & report::TX_ACK != 0 {
                    watched.points &= !report::TX_ACK;
                    found.push(Report::Timestamp { point: report::TSTAMP_ACK, at: now, key });
                }
                if let Some(number) = watched.zero_copy.take() {
                    found.push(Report::ZeroCopy { first: number, last: number });
                }
            }
            reported |= !found.is_empty();
            let done = end <= una;
            for report in found {
                self.report(report);
            }
            if done {
                self.watched.remove(at);
            } else {
                at += 1;
            }
        }
        reported
    }
}

/// Whether the device takes a connection's bursts as packets. If not, the kernel cuts the same bursts before a packet
/// socket sees them. A device takes none with AccECN (`NETIF_F_GSO_ACCECN`).
fn takes_bursts(gso: bool, connection: &Connection) -> bool {
    gso && connection.ecn_counters().is_none_or(|ecn| ecn.mode != LinuxEcnMode::Accurate)
}
