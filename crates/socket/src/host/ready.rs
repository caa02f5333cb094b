//! `poll` and `epoll`.

use super::waiting::Call;
use super::{Answer, Detail, EpollEvent, File, Host, Progress};
use crate::epoll::Epoll;
use crate::errno::Errno;
use crate::number::{epoll, event};

impl Host {
    /// `poll(entries, timeout)`, with the events of each descriptor and a time in milliseconds; negative waits for
    /// ever.
    pub fn poll(&mut self, entries: &[(i32, u32)], timeout: i32) -> Progress {
        let deadline = self.deadline(timeout);
        match timeout {
            0 => Progress::Done(
                self.poll_now(entries)
                    .unwrap_or_else(|| Answer { value: Ok(0), detail: Detail::Ready(vec![0; entries.len()]) }),
            ),
            _ => self.enter(Call::Poll { entries: entries.to_vec() }, deadline),
        }
    }

    pub(super) fn try_poll(&mut self, entries: &[(i32, u32)]) -> Option<Answer> {
        self.poll_now(entries)
    }

    fn poll_now(&mut self, entries: &[(i32, u32)]) -> Option<Answer> {
        let ready: Vec<u32> = entries
            .iter()
            .map(|&(fd, events)| match self.files.get(&fd) {
                Some(File::Socket(id)) => {
                    let id = *id;
                    self.events_of(id) & (events | event::ERR | event::HUP)
                }
                Some(File::Epoll(_)) => 0,
                None if fd < 0 => 0,
                None => event::NVAL,
            })
            .collect();
        let count = ready.iter().filter(|found| **found != 0).count();
        (count > 0).then_some(Answer { value: Ok(count as i64), detail: Detail::Ready(ready) })
    }

    /// The events that a socket has now. If it has no room for a writer, one will be told of it.
    fn events_of(&mut self, id: usize) -> u32 {
        let lowat = self.lowat();
        let Some(socket) = self.socket_mut(id) else { return event::HUP };
        let (mask, wants_space) = socket.poll(lowat);
        socket.no_space |= wants_space;
        mask
    }

    /// `epoll_create(size)`; returns the descriptor.
    ///
    /// # Errors
    /// `EINVAL` if `size` is not positive.
    pub fn epoll_create(&mut self, size: i32) -> Result<i32, Errno> {
        if size <= 0 {
            return Err(Errno::EINVAL);
        }
        let number = self.number_of_next();
        self.epolls.insert(number, Epoll::default());
        Ok(self.install(File::Epoll(number)))
    }

    /// `epoll_ctl(epfd, operation, fd, event)`.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL`, `EEXIST`, `ENOENT`, `EPERM` as in Linux.
    pub fn epoll_control(
        &mut self,
        epfd: i32,
        operation: i32,
        fd: i32,
        event: Option<EpollEvent>,
    ) -> Result<i64, Errno> {
        let index = self.instance(epfd)?;
        let id = match self.files.get(&fd) {
            Some(File::Socket(id)) => *id,
            Some(File::Epoll(_)) => return Err(Errno::EPERM),
            None => return Err(Errno::EBADF),
        };
        let needed = || event.ok_or(Errno::EFAULT);
        let now = self.events_of(id);
        let Some(instance) = self.epolls.get_mut(&index) else { return Err(Errno::EBADF) };
        match operation {
            epoll::ADD => {
                let event = needed()?;
                instance.add(fd, id, event.events, event.data, now).then_some(0).ok_or(Errno::EEXIST)
            }
            epoll::MOD => {
                let event = needed()?;
                if event.events & event::EXCLUSIVE != 0 {
                    return Err(Errno::EINVAL);
                }
                instance.modify(fd, event.events, event.data, now).then_some(0).ok_or(Errno::ENOENT)
            }
            epoll::DEL => instance.remove(fd).then_some(0).ok_or(Errno::ENOENT),
            _ => Err(Errno::EINVAL),
        }
    }

    /// `epoll_wait(epfd, events, maximum, timeout)`, with a time in milliseconds; negative waits for ever.
    pub fn epoll_wait(&mut self, epfd: i32, maximum: i32, timeout: i32) -> Progress {
        let Ok(maximum) = usize::try_from(maximum) else { return Progress::Done(Answer::error(Errno::EINVAL)) };
        if maximum == 0 {
            return Progress::Done(Answer::error(Errno::EINVAL));
        }
        if let Err(errno) = self.instance(epfd) {
            return Progress::Done(Answer::error(errno));
        }
        let deadline = self.deadline(timeout);
        match timeout {
            0 => Progress::Done(
                self.try_epoll_wait(epfd, maximum)
                    .unwrap_or(Answer { value: Ok(0), detail: Detail::Events(Vec::new()) }),
            ),
            _ => self.enter(Call::EpollWait { fd: epfd, maximum }, deadline),
        }
    }

    pub(super) fn try_epoll_wait(&mut self, epfd: i32, maximum: usize) -> Option<Answer> {
        let index = match self.instance(epfd) {
            Ok(index) => index,
            Err(errno) => return Some(Answer::error(errno)),
        };
        let mut instance = core::mem::take(self.epolls.get_mut(&index)?);
        let found = instance.take(maximum, |id| self.events_of(id));
        *self.epolls.get_mut(&index)? = instance;
        let events: Vec<_> = found.into_iter().map(|(events, data)| EpollEvent { events, data }).collect();
        let count = events.len() as i64;
        (count > 0).then_some(Answer { value: Ok(count), detail: Detail::Events(events) })
    }

    fn instance(&self, epfd: i32) -> Result<usize, Errno> {
        match self.files.get(&epfd) {
            Some(File::Epoll(index)) => Ok(*index),
            Some(File::Socket(_)) => Err(Errno::EINVAL),
            None => Err(Errno::EBADF),
        }
    }
}
