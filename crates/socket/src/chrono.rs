//! How long a connection is busy, and what limits it meanwhile (`tcp_chrono`), and when what came and left last.

use narrows_units::{Duration, Instant};

/// What holds back a connection that has data to send or to be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Neither of the others.
    Other,
    /// The peer's window.
    Window,
    /// The send buffer: the program would write more.
    Buffer,
}

/// Stopwatches of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chrono {
    running: Option<(Limit, Instant)>,
    /// Nanoseconds by [`Limit`].
    spent: [u64; 3],
    pub(crate) data_sent: Instant,
    pub(crate) data_received: Instant,
    pub(crate) ack_received: Instant,
}

/// Times in the units of `struct tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// Microseconds.
    pub(crate) busy: u64,
    pub(crate) window_limited: u64,
    pub(crate) buffer_limited: u64,
    /// Milliseconds since then.
    pub(crate) data_sent: u64,
    pub(crate) data_received: u64,
    pub(crate) ack_received: u64,
}

impl Chrono {
    /// Stopwatches that begin now.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { running: None, spent: [0; 3], data_sent: now, data_received: now, ack_received: now }
    }

    /// What runs.
    pub(crate) fn limit(&self) -> Option<Limit> {
        self.running.map(|(limit, _)| limit)
    }

    /// Changes what runs; `None` if the connection has nothing to send and nothing in flight.
    pub(crate) fn run(&mut self, limit: Option<Limit>, now: Instant) {
        if self.limit() == limit {
            return;
        }
        if let Some((old, since)) = self.running {
            self.spent[old as usize] += now.since(since).as_nanos();
        }
        self.running = limit.map(|limit| (limit, now));
    }

    /// Reads all.
    pub(crate) fn read(&self, now: Instant) -> Times {
        let mut spent = self.spent;
        if let Some((limit, since)) = self.running {
            spent[limit as usize] += now.since(since).as_nanos();
        }
        let micros = |nanos: u64| Duration::from_nanos(nanos).as_micros();
        let since = |then: Instant| now.since(then).as_millis();
        Times {
            busy: micros(spent.iter().sum()),
            window_limited: micros(spent[Limit::Window as usize]),
            buffer_limited: micros(spent[Limit::Buffer as usize]),
            data_sent: since(self.data_sent),
            data_received: since(self.data_received),
            ack_received: since(self.ack_received),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limited_time_is_busy_time_too() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut chrono = Chrono::new(at(0));
        chrono.run(Some(Limit::Other), at(10));
        chrono.run(Some(Limit::Window), at(15));
        chrono.run(Some(Limit::Window), at(20));
        chrono.run(None, at(35));
        chrono.run(Some(Limit::Buffer), at(50));
        let times = chrono.read(at(52));
        assert_eq!((times.busy, times.window_limited, times.buffer_limited), (27_000, 20_000, 2_000));
        assert_eq!(times.data_sent, 52);
    }
}
