//! A station's receiver: which of the frames on the air it locks onto, and whether it can read that frame.
//!
//! It locks onto the first frame that begins while there is no other energy. An overlapping frame destroys that frame
//! unless the overlapping one is weaker by the capture threshold. Only among frames that begin at the same instant is
//! the strongest one chosen (ns-2's rule, `CPThresh_`; a later, stronger frame is not captured).

use narrows_units::Instant;

/// A frame under reception.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lock {
    /// Number of the frame on the air.
    id: u64,
    since: Instant,
    signal_db: f64,
    /// Strength of the strongest frame that overlaps it.
    interference_db: f64,
}

/// A receiver, and whether its own transmitter is on.
#[derive(Debug, Default)]
pub(crate) struct Radio {
    /// Number of other stations' frames heard now.
    hearing: u32,
    sending: bool,
    lock: Option<Lock>,
}

impl Radio {
    /// Whether there is no energy, neither from others nor its own.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.hearing == 0 && !self.sending
    }

    pub(crate) const fn is_sending(&self) -> bool {
        self.sending
    }

    pub(crate) const fn is_receiving(&self) -> bool {
        self.lock.is_some()
    }

    /// Starts its own frame; a frame that it was receiving is lost (it is half-duplex).
    pub(crate) fn send(&mut self) {
        self.sending = true;
        self.lock = None;
    }

    pub(crate) fn sent(&mut self) {
        self.sending = false;
    }

    /// Frame `id` begins here.
    pub(crate) fn begin(&mut self, id: u64, signal_db: f64, now: Instant) {
        self.hearing += 1;
        if self.sending {
            return;
        }
        match &mut self.lock {
            Some(lock) if lock.since == now && signal_db > lock.signal_db => {
                let interference_db = lock.interference_db.max(lock.signal_db);
                *lock = Lock { id, since: now, signal_db, interference_db };
            }
            Some(lock) => lock.interference_db = lock.interference_db.max(signal_db),
            None => {
                // Energy that it could not lock onto interferes with this frame.
                let interference_db = if self.hearing > 1 { f64::INFINITY } else { f64::NEG_INFINITY };
                self.lock = Some(Lock { id, since: now, signal_db, interference_db });
            }
        }
    }

    /// Frame `id` ends here: `Some(true)` if it was received and can be read, `Some(false)` if it was received and
    /// cannot be read, `None` if it was only noise.
    pub(crate) fn end(&mut self, id: u64, capture_db: Option<f64>) -> Option<bool> {
        self.hearing -= 1;
        let lock = self.lock.filter(|lock| lock.id == id)?;
        self.lock = None;
        Some(match capture_db {
            _ if lock.interference_db == f64::NEG_INFINITY => true,
            Some(capture) => lock.signal_db - lock.interference_db >= capture,
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn a_frame_alone_is_read() {
        let mut r = Radio::default();
        r.begin(1, 0.0, at(0));
        assert_eq!(r.end(1, Some(10.0)), Some(true));
        assert!(r.is_quiet());
    }

    #[test]
    fn overlapping_frames_destroy_each_other() {
        let mut r = Radio::default();
        r.begin(1, 0.0, at(0));
        r.begin(2, 0.0, at(5));
        assert_eq!((r.end(1, Some(10.0)), r.end(2, Some(10.0))), (Some(false), None));
    }

    #[test]
    fn a_much_stronger_frame_survives_in_either_order_of_a_tie() {
        for order in [[(1, 0.0), (2, 10.0)], [(2, 10.0), (1, 0.0)]] {
            let mut r = Radio::default();
            order.into_iter().for_each(|(id, signal)| r.begin(id, signal, at(0)));
            assert_eq!(r.end(2, Some(10.0)), Some(true));
            assert_eq!(r.end(1, Some(10.0)), None);
        }
    }

    #[test]
    fn capture_is_of_the_first_only_and_can_be_off() {
        let mut r = Radio::default();
        r.begin(1, 0.0, at(0));
        r.begin(2, 30.0, at(1));
        assert_eq!(r.end(1, Some(10.0)), Some(false));
        assert_eq!(r.end(2, Some(10.0)), None);
        r.begin(3, 30.0, at(2));
        r.begin(4, 0.0, at(3));
        assert_eq!(r.end(3, None), Some(false));
    }

    #[test]
    fn what_begins_in_noise_cannot_be_read() {
        let mut r = Radio::default();
        r.send();
        r.begin(1, 0.0, at(0));
        r.sent();
        r.begin(2, 30.0, at(1));
        assert_eq!(r.end(2, Some(10.0)), Some(false));
        assert!(!r.is_quiet());
        assert_eq!(r.end(1, Some(10.0)), None);
        assert!(r.is_quiet());
    }
}
