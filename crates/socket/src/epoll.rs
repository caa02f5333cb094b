//! Which files of an epoll instance are ready.
//!
//! A file is on the ready list from a wake-up on until a wait finds nothing to report, or, edge-triggered, until a wait
//! has reported it (`ep_poll_callback`, `ep_send_events`). What was reported and stays goes to the end of the list, so
//! that no file hides another.

use crate::number::event;
use std::collections::VecDeque;

/// A file that an instance watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) fd: i32,
    /// The socket behind the descriptor when it was added.
    pub(crate) socket: usize,
    /// Events of interest and flags.
    pub(crate) events: u32,
    /// The caller's data.
    pub(crate) data: u64,
}

/// Flags that are no events.
const FLAGS: u32 = event::EDGE | event::ONESHOT | event::EXCLUSIVE;

/// An epoll instance.
#[derive(Debug, Default)]
pub(crate) struct Epoll {
    items: Vec<Item>,
    /// Descriptors of ready files, in the order in which they became ready or were reported last.
    ready: VecDeque<i32>,
}

impl Epoll {
    /// Watches a file; returns `false` if it is watched already.
    pub(crate) fn add(&mut self, fd: i32, socket: usize, events: u32, data: u64, now: u32) -> bool {
        if self.items.iter().any(|item| item.fd == fd) {
            return false;
        }
        self.items.push(Item { fd, socket, events: with_errors(events), data });
        self.put(fd, now & with_errors(events));
        true
    }

    /// Changes what a file is watched for; returns `false` if it is not watched.
    pub(crate) fn modify(&mut self, fd: i32, events: u32, data: u64, now: u32) -> bool {
        let Some(item) = self.items.iter_mut().find(|item| item.fd == fd) else { return false };
        (item.events, item.data) = (with_errors(events), data);
        self.put(fd, now & with_errors(events));
        true
    }

    /// Puts a file at the end of the ready list if it has events and is not there.
    fn put(&mut self, fd: i32, events: u32) {
        if events & !FLAGS != 0 && !self.ready.contains(&fd) {
            self.ready.push_back(fd);
        }
    }

    /// Stops watching a file; returns `false` if it is not watched.
    pub(crate) fn remove(&mut self, fd: i32) -> bool {
        let before = self.items.len();
        self.items.retain(|item| item.fd != fd);
        self.ready.retain(|ready| *ready != fd);
        self.items.len() < before
    }

    /// Takes a wake-up of a socket with these events; zero means any.
    pub(crate) fn wake(&mut self, socket: usize, events: u32) {
        let wanted = if events == 0 { u32::MAX } else { events };
        for at in 0..self.items.len() {
            if let Some(item) = self.items.get(at).filter(|item| item.socket == socket).copied() {
                self.put(item.fd, wanted & item.events);
            }
        }
    }

    /// The watched file behind a descriptor.
    #[cfg(test)]
    fn item(&self, fd: i32) -> Option<&Item> {
        self.items.iter().find(|item| item.fd == fd)
    }

    /// Reports up to `maximum` ready files as (events, data). `poll` tells which events a socket has now.
    pub(crate) fn take(&mut self, maximum: usize, mut poll: impl FnMut(usize) -> u32) -> Vec<(u32, u64)> {
        let mut reported = Vec::new();
        let mut again = Vec::new();
        while reported.len() < maximum
            && let Some(fd) = self.ready.pop_front()
        {
            let Some(item) = self.items.iter_mut().find(|item| item.fd == fd) else { continue };
            let found = poll(item.socket) & item.events & !FLAGS;
            if found == 0 {
                continue;
            }
            reported.push((found, item.data));
            if item.events & event::ONESHOT != 0 {
                item.events &= FLAGS;
            } else if item.events & event::EDGE == 0 {
                again.push(fd);
            }
        }
        self.ready.extend(again);
        reported
    }
}

/// Errors and hang-ups are reported in any case.
fn with_errors(events: u32) -> u32 {
    events | event::ERR | event::HUP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_stays_ready_and_an_edge_does_not() {
        for (flag, again) in [(0, 1), (event::EDGE, 0)] {
            let mut epoll = Epoll::default();
            assert!(epoll.add(4, 0, event::IN | flag, 7, event::IN));
            assert!(!epoll.add(4, 0, event::IN, 7, 0), "twice");
            assert_eq!(epoll.take(1, |_| event::IN | event::OUT), [(event::IN, 7)]);
            assert_eq!(epoll.take(1, |_| event::IN).len(), again);
            epoll.wake(0, event::IN);
            assert_eq!(epoll.take(1, |_| event::IN).len(), 1, "a new wake-up");
            epoll.wake(0, event::OUT);
            assert_eq!(epoll.take(1, |_| event::IN).len(), again, "not of interest");
        }
    }

    #[test]
    fn one_shot_reports_once_until_it_is_armed_again() {
        let mut epoll = Epoll::default();
        epoll.add(4, 0, event::OUT | event::ONESHOT, 4, event::OUT);
        assert_eq!(epoll.take(1, |_| event::OUT).len(), 1);
        epoll.wake(0, event::OUT);
        assert!(epoll.take(1, |_| event::OUT).is_empty());
        assert!(epoll.modify(4, event::OUT, 4, event::OUT) && epoll.item(4).is_some());
        assert_eq!(epoll.take(1, |_| event::OUT).len(), 1);
        assert!(epoll.remove(4) && !epoll.remove(4));
    }

    #[test]
    fn errors_are_reported_without_being_asked_for() {
        let mut epoll = Epoll::default();
        epoll.add(4, 0, event::IN, 4, 0);
        epoll.wake(0, event::ERR);
        assert_eq!(epoll.take(1, |_| event::ERR | event::OUT), [(event::ERR, 4)]);
    }
}
