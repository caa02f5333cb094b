//! A first-in, first-out queue in one piece of memory, used as a ring.

/// A queue of small values. Unlike [`VecDeque`](std::collections::VecDeque) it is pushed to and popped from in place,
/// without a call, and it grows by a quarter.
#[derive(Debug)]
pub(super) struct Ring<T> {
    places: Box<[T]>,
    /// Place of the first value.
    head: u32,
    /// Number of values.
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: Box::default(), head: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of values.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of values for which there is room.
    pub(super) fn capacity(&self) -> usize {
        self.places.len()
    }

    /// The first value.
    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.get(self.head as usize) }
    }

    /// Appends a value.
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        if self.len as usize == self.places.len() {
            self.lengthen(value);
        }
        let mut place = self.head as usize + self.len as usize;
        if place >= self.places.len() {
            place -= self.places.len();
        }
        self.places[place] = value;
        self.len += 1;
    }

    /// Takes the first value out.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = self.places[self.head as usize];
        self.len -= 1;
        self.head += 1;
        if self.head as usize == self.places.len() {
            self.head = 0;
        }
        Some(value)
    }

    /// Makes room: a quarter more, because thousands of rings seldom use double. Free places hold any value.
    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, any: T) {
        let mut places = self.straighten();
        let more = (places.len() / 4).max(4);
        places.reserve_exact(more);
        places.resize(places.len() + more, any);
        self.places = places.into_boxed_slice();
    }

    /// Frees places beyond `capacity`, and none that has a value.
    #[cold]
    #[inline(never)]
    pub(super) fn shrink_to(&mut self, capacity: usize) {
        let mut places = self.straighten();
        places.truncate(capacity.max(self.len as usize));
        self.places = places.into_boxed_slice();
    }

    /// The places, with the first value in the first.
    fn straighten(&mut self) -> Vec<T> {
        let mut places = core::mem::take(&mut self.places).into_vec();
        places.rotate_left(self.head as usize);
        self.head = 0;
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec(0_u32..10, 0..400)) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    0..6 => {
                        ring.push(n);
                        model.push_back(n);
                    }
                    6..9 => prop_assert_eq!(ring.pop(), model.pop_front()),
                    _ => {
                        ring.shrink_to(model.len());
                        prop_assert_eq!(ring.capacity(), model.len());
                    }
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(ring.front(), model.front());
            }
        }
    }
}
