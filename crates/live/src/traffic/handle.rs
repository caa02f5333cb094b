//! A flow that a test case watches or steers: what other threads read of it, and what they ask of its application.

use super::door::Bell;
use crate::LiveError;
use narrows_units::Rate;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What a step asks of a flow's application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It writes nothing from now on.
    Pause,
    /// It writes again.
    Resume,
    /// It writes at this rate from now on, or without limit.
    Limit(Option<Rate>),
}

/// A flow, for threads other than its own.
#[derive(Debug)]
pub(crate) struct Handle {
    /// A second descriptor of the sender's connection, once that exists.
    sender: OnceLock<OwnedFd>,
    /// Bytes that the receiving application has read.
    goodput: AtomicU64,
    orders: Mutex<Vec<Order>>,
    bell: Bell,
}

impl Handle {
    pub(super) fn new() -> Result<Self, LiveError> {
        Ok(Self {
            sender: OnceLock::new(),
            goodput: AtomicU64::new(0),
            orders: Mutex::new(Vec::new()),
            bell: Bell::new()?,
        })
    }

    /// Notes the connection of the end that sends the flow's data; only the first call counts.
    pub(super) fn set_sender(&self, socket: &OwnedFd) -> Result<(), LiveError> {
        let copy = socket.try_clone().map_err(|error| LiveError::failed("copy a socket's descriptor", error))?;
        let _ = self.sender.set(copy);
        Ok(())
    }

    pub(super) fn set_goodput(&self, bytes: u64) {
        self.goodput.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Returns the orders that have come, in order, and silences the bell.
    pub(super) fn take_orders(&self) -> Vec<Order> {
        self.bell.silence();
        std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connection of the end that sends the flow's data.
    pub(crate) fn sender(&self) -> Option<BorrowedFd<'_>> {
        self.sender.get().map(AsFd::as_fd)
    }

    /// Bytes that the receiving application has read.
    pub(crate) fn goodput(&self) -> u64 {
        self.goodput.load(Ordering::Relaxed)
    }

    /// Asks several things of the application, which it does in their order before it writes again; its thread wakes
    /// for them. The thread may run between two calls: orders of one time belong in one call.
    pub(crate) fn ask(&self, orders: Vec<Order>) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).extend(orders);
        self.bell.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollTimeout, poll};

    #[test]
    fn orders_come_once_in_their_order_and_ring_until_they_are_taken() {
        let handle = Handle::new().unwrap();
        let rings = || poll(&mut [handle.bell().poll()], PollTimeout::ZERO).unwrap() == 1;
        assert!(!rings() && handle.take_orders().is_empty());
        handle.ask(vec![Order::Pause]);
        handle.ask(vec![Order::Limit(None)]);
        assert!(rings());
        assert_eq!(handle.take_orders(), [Order::Pause, Order::Limit(None)]);
        assert!(!rings() && handle.take_orders().is_empty());
    }

    /// An application that resumes before it knows its rate writes a whole window.
    #[test]
    fn a_thread_that_takes_orders_at_any_time_gets_those_of_one_call_together() {
        const CALLS: usize = 20_000;
        let handle = Handle::new().unwrap();
        let pair = [Order::Resume, Order::Limit(Some(Rate::mbps(2)))];
        std::thread::scope(|scope| {
            scope.spawn(|| (0..CALLS).for_each(|_| handle.ask(pair.to_vec())));
            let mut taken = 0;
            while taken < 2 * CALLS {
                let orders = handle.take_orders();
                assert!(orders.chunks(2).all(|orders| orders == pair), "{} orders", orders.len());
                taken += orders.len();
            }
        });
    }
}
