//! A page load: objects fetched over several connections that share what is left to fetch.

use narrows_scenario::Page;
use narrows_units::{Bytes, Instant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A page being loaded, as its connections share it.
#[derive(Clone, Debug)]
pub struct PageLoad(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    page: Arc<Page>,
    /// Objects requested, and received.
    asked: usize,
    received: usize,
    started: Option<Instant>,
    finished: Option<Instant>,
}

impl PageLoad {
    /// A page of which nothing is loaded.
    pub(crate) fn new(page: Arc<Page>) -> Self {
        Self(Arc::new(Mutex::new(State { page, asked: 0, received: 0, started: None, finished: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a connection can request an object: the first one from the start, the others once the first object is
    /// there.
    pub(crate) fn has_work(&self, connection: u32) -> bool {
        let state = self.state();
        state.asked < state.page.objects.len() && (connection == 0 || state.received > 0)
    }

    /// The next object to request.
    pub(crate) fn ask(&self, now: Instant) -> Option<Bytes> {
        let mut state = self.state();
        let size = state.page.objects.get(state.asked).copied()?;
        state.asked += 1;
        state.started.get_or_insert(now);
        Some(size)
    }

    /// Notes an object that is received; returns whether it is the first one and others remain.
    pub(crate) fn receive(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.received += 1;
        if state.received == state.page.objects.len() {
            state.finished = Some(now);
        }
        state.received == 1 && state.asked < state.page.objects.len()
    }

    /// When the last object was received.
    #[must_use]
    pub fn finished(&self) -> Option<Instant> {
        self.state().finished
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> Arc<Page> {
        Arc::clone(&self.state().page)
    }
}
