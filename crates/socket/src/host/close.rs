//! Calls that end a connection or a socket: `connect` to no address, `shutdown`, `close`.

use super::{File, Host};
use crate::errno::Errno;
use crate::number::shut;
use crate::socket::{Socket, Stage};
use narrows_tcp::State;

impl Host {
    /// `connect(fd)` to an address of family `AF_UNSPEC`: dissolves the association (`tcp_disconnect`).
    ///
    /// # Errors
    /// `EBADF` or `ENOTSOCK` if the descriptor is no socket.
    pub fn disconnect(&mut self, fd: i32) -> Result<i64, Errno> {
        let id = self.number(fd)?;
        self.dissolve(id);
        self.wake(id, 0);
        self.wake_waiting();
        Ok(0)
    }

    /// Takes a socket back to where it was before it had a connection or listened.
    pub(super) fn dissolve(&mut self, id: usize) {
        let (wmem, now) = (self.setup.sysctls.triple("tcp_wmem"), self.now);
        let Some(socket) = self.socket_mut(id) else { return };
        let over = matches!(socket.state(), State::Closed | State::Listen | State::TimeWait);
        if let Some(connection) = socket.connection_mut() {
            connection.abort();
        }
        self.pump(id);
        self.close_queue(id);
        let Some(socket) = self.socket_mut(id) else { return };
        let mut fresh = Socket::new(socket.is_v6, wmem, now);
        fresh.memory.inherit(&socket.memory);
        (fresh.options, fresh.nonblocking) = (socket.options.clone(), socket.nonblocking);
        (fresh.bound, fresh.local) = (socket.bound, socket.bound);
        fresh.error = (!over).then_some(Errno::ECONNRESET);
        *socket = fresh;
    }

    /// `shutdown(fd, how)`.
    ///
    /// # Errors
    /// `EINVAL` for another `how`, `ENOTCONN` if the socket is not connected.
    pub fn shutdown(&mut self, fd: i32, how: i32) -> Result<i64, Errno> {
        if !(shut::READ..=shut::BOTH).contains(&how) {
            return Err(Errno::EINVAL);
        }
        let (id, socket) = self.at(fd)?;
        match socket.state() {
            // A socket of Linux is closed in TIME-WAIT.
            State::Closed | State::TimeWait => return Err(Errno::ENOTCONN),
            State::SynSent => {
                self.dissolve(id);
                self.wake(id, 0);
                self.wake_waiting();
                return Ok(0);
            }
            State::Listen => {
                if how != shut::WRITE {
                    self.close_queue(id);
                    if let Some(socket) = self.socket_mut(id) {
                        socket.stage = Stage::Idle;
                    }
                }
                return Ok(0);
            }
            _ => {}
        }
        socket.shut_read |= how != shut::WRITE;
        if how != shut::READ {
            socket.shut_write = true;
            if let Some(connection) = socket.connection_mut() {
                connection.shutdown();
            }
        }
        if how != shut::WRITE
            && let Some(connection) = socket.connection_mut()
        {
            connection.stop_reading();
        }
        self.pump(id);
        self.wake(id, 0);
        self.wake_waiting();
        Ok(0)
    }

    /// `close(fd)`. Unread data, or `SO_LINGER` with no time, resets the connection.
    ///
    /// # Errors
    /// `EBADF` if there is no such descriptor.
    pub fn close(&mut self, fd: i32) -> Result<i64, Errno> {
        let file = self.files.remove(&fd).ok_or(Errno::EBADF)?;
        for epoll in self.epolls.values_mut() {
            epoll.remove(fd);
        }
        match file {
            File::Socket(id) => self.release(id),
            File::Epoll(number) => {
                self.epolls.remove(&number);
            }
        }
        self.wake_waiting();
        Ok(0)
    }

    /// Ends a socket that no descriptor refers to any longer (`tcp_close`).
    fn release(&mut self, id: usize) {
        self.close_queue(id);
        let now = self.now;
        let Some(socket) = self.socket_mut(id) else { return };
        socket.held = false;
        let linger = socket.options.linger;
        let Some(connection) = socket.connection_mut() else {
            self.forget(id);
            return;
        };
        connection.release(linger.on && linger.seconds == 0, now);
        self.pump(id);
        if self.socket(id).is_some_and(|socket| socket.state() == State::Closed) {
            self.forget(id);
        }
    }

    /// Ends the connections that wait for a listener's `accept`: established ones are reset, others forgotten.
    fn close_queue(&mut self, listener: usize) {
        if !matches!(self.socket(listener).map(|socket| &socket.stage), Some(Stage::Listening(_))) {
            return;
        }
        let children: Vec<usize> =
            self.sockets.iter().filter(|(_, socket)| socket.parent == Some(listener)).map(|(id, _)| *id).collect();
        let now = self.now;
        for id in children {
            let Some(socket) = self.socket_mut(id) else { continue };
            socket.parent = None;
            if !socket.is_opening()
                && let Some(connection) = socket.connection_mut()
            {
                connection.release(true, now);
                self.pump(id);
            }
            self.forget(id);
        }
    }
}
