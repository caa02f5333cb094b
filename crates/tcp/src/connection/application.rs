//! What the application does: it writes, reads, closes and aborts.

use super::Connection;
use crate::linux::gso::Rest;
use crate::linux::write_queue::WriteFlags;
use crate::stats::State;
use narrows_units::Bytes;

impl Connection {
    /// Adds `bytes` to the application's stream; [`Bytes::MAX`] means endless. Ignored after [`close`](Self::close).
    pub fn write(&mut self, bytes: Bytes) {
        self.write_with(bytes, WriteFlags::default());
    }

    /// Adds `bytes` to the application's stream like [`write`](Self::write). The flags count at full ends, and with
    /// [`Config::gso`](narrows_settings::Config::gso).
    pub fn write_with(&mut self, bytes: Bytes, flags: WriteFlags) {
        self.tx.write(bytes.as_u64());
        if let Some(socket) = &mut self.socket {
            socket.hold.on_write(flags.more);
        }
        if let Some(gso) = &mut self.gso {
            gso.queue.write(self.tx.end(), flags);
        }
    }

    /// Withdraws what the application wrote and was not sent yet. The application may write again unless it has closed;
    /// then the FIN follows what was sent.
    pub fn withdraw(&mut self) {
        self.tx.calm = false;
        self.tx.withdraw();
        self.forget_unsent();
    }

    /// Forgets the buffers of what was withdrawn.
    pub(super) fn forget_unsent(&mut self) {
        if let Some(gso) = &mut self.gso {
            gso.queue.withdraw(self.tx.nxt, self.tx.end());
            gso.rest = Rest::Nothing;
        }
    }

    /// Puts what was sent up to the offset `sent` before what was not, as a buffer of its own.
    pub(super) fn write_again(&mut self, sent: u64) {
        let (nxt, end) = (self.tx.nxt, self.tx.end());
        if let Some(gso) = &mut self.gso {
            gso.queue.withdraw(nxt, nxt);
            gso.queue.write(sent, WriteFlags { record: true, more: false });
            gso.queue.write(end, WriteFlags::default());
            gso.rest = Rest::Nothing;
        }
    }

    /// Closes the application's stream: a FIN follows what was written. An endless stream ends at what has been sent.
    /// If the peer's SYN has not arrived and nothing was written, the connection is dropped (RFC 9293, section 3.10.4).
    /// With something written the RFC would drop it too; here the FIN follows later.
    pub fn close(&mut self) {
        self.tx.calm = false;
        if matches!(self.state, State::Listen | State::SynSent) && self.tx.unsent() == 0 {
            self.enter_closed();
        } else {
            let endless = self.tx.end() == u64::MAX;
            self.tx.close();
            if endless {
                self.forget_unsent();
            }
        }
    }

    /// Ends the connection at once; the peer gets a RST if it knows of the connection (RFC 9293, section 3.10.5).
    pub fn abort(&mut self) {
        self.tx.calm = false;
        let told = !matches!(self.state, State::Listen | State::SynSent | State::TimeWait | State::Closed);
        if told && self.socket.is_some() {
            self.reset_actively();
        } else if told {
            self.send_reset(self.tx.seq(self.tx.nxt), Some(self.rx.ack()));
        }
        self.enter_closed();
    }

    /// Sets whether the application reads at once (the default), so that the window stays open, or by
    /// [`read`](Self::read).
    pub fn set_auto_read(&mut self, on: bool) {
        self.tx.calm = false;
        self.rx.set_auto_read(on);
    }

    /// Reads up to `max` for the application; returns how much was read.
    pub fn read(&mut self, max: Bytes) -> Bytes {
        Bytes::new(self.rx.read(max.as_u64()))
    }

    /// In-order bytes that the application has not read; zero where it reads at once.
    #[must_use]
    pub fn readable(&self) -> Bytes {
        Bytes::new(self.rx.readable())
    }
}
