//! Calls that sleep: what they wait for, and when they return.

use super::data::Sending;
use super::receive::Receiving;
use super::{Answer, Event, Host, Progress, Ticket};
use crate::errno::Errno;
use narrows_units::{Duration, Instant};

/// A call that may sleep.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Accept { fd: i32, flags: i32 },
    Connect { fd: i32 },
    Send(Sending),
    Receive(Receiving),
    Poll { entries: Vec<(i32, u32)> },
    EpollWait { fd: i32, maximum: usize },
}

/// A sleeping call.
#[derive(Debug)]
pub(super) struct Waiting {
    ticket: Ticket,
    call: Call,
    /// When it returns although nothing came; [`Instant::NEVER`] for those that wait for ever.
    pub(super) deadline: Instant,
}

impl Host {
    /// Makes a call, or lets it sleep until `deadline`.
    pub(super) fn enter(&mut self, mut call: Call, deadline: Instant) -> Progress {
        if let Some(answer) = self.attempt(&mut call) {
            self.wake_waiting();
            return Progress::Done(answer);
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.push(Waiting { ticket, call, deadline });
        Progress::Blocked(ticket)
    }

    /// When a wait of this many milliseconds ends; negative is never.
    pub(super) fn deadline(&self, millis: i32) -> Instant {
        match u64::try_from(millis) {
            Ok(millis) => self.now + Duration::from_millis(millis),
            Err(_) => Instant::NEVER,
        }
    }

    /// Tries a call; `None` if it has to wait.
    fn attempt(&mut self, call: &mut Call) -> Option<Answer> {
        match call {
            Call::Accept { fd, flags } => self.try_accept(*fd, *flags),
            Call::Connect { fd } => self.try_connected(*fd),
            Call::Send(sending) => self.try_send(sending),
            Call::Receive(receive) => self.try_receive(receive),
            Call::Poll { entries } => self.try_poll(entries),
            Call::EpollWait { fd, maximum } => self.try_epoll_wait(*fd, *maximum),
        }
    }

    /// Lets sleeping calls return whose condition has come true or whose time is over.
    pub(super) fn wake_waiting(&mut self) {
        let mut at = 0;
        while at < self.waiting.len() {
            let Some(slot) = self.waiting.get_mut(at) else { return };
            let (mut call, deadline, ticket) = (slot.call.clone(), slot.deadline, slot.ticket);
            let answer = if self.is_ready(&call) { self.attempt(&mut call) } else { None };
            let answer = answer.or_else(|| (deadline <= self.now).then(|| self.expired(&call)));
            match answer {
                Some(answer) => {
                    self.waiting.remove(at);
                    self.events.push_back(Event::Returned { ticket, answer, at: self.now });
                    at = 0;
                }
                None => {
                    if let Some(slot) = self.waiting.get_mut(at) {
                        slot.call = call;
                    }
                    at += 1;
                }
            }
        }
    }

    /// Whether a sleeping call is woken. A writer sleeps until a third of the buffer is free, although it could take a
    /// little more before (`sk_stream_write_space`).
    fn is_ready(&self, call: &Call) -> bool {
        match call {
            Call::Send(sending) => self.may_send(sending),
            _ => true,
        }
    }

    /// What a call returns whose time is over.
    fn expired(&self, call: &Call) -> Answer {
        match call {
            Call::Poll { entries } => Answer { value: Ok(0), detail: super::Detail::Ready(vec![0; entries.len()]) },
            Call::EpollWait { .. } => Answer { value: Ok(0), detail: super::Detail::Events(Vec::new()) },
            _ => Answer::error(Errno::EAGAIN),
        }
    }
}
