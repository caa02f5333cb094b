//! Room in the rings of a board: with thousands of connections, capacity that is not used is most of the memory.
//!
//! A ring grows by a quarter, not to the double, and gives back what it no longer needs when it is three quarters
//! empty. Both take constant time per element on average.

use std::collections::VecDeque;

/// Elements by which a short ring grows.
const STEP: usize = 3;

/// Capacity that a ring keeps while it is in use.
const KEPT: usize = 16;

/// Makes room for one more element.
#[inline]
pub(super) fn make_room<T>(ring: &mut VecDeque<T>) {
    if ring.len() == ring.capacity() {
        grow(ring);
    }
}

#[cold]
#[inline(never)]
fn grow<T>(ring: &mut VecDeque<T>) {
    // Many connections send one segment at a time.
    ring.reserve_exact(if ring.is_empty() { 1 } else { STEP.max(ring.len() / 4) });
}

/// Gives back room after elements were removed.
#[inline]
pub(super) fn fit<T>(ring: &mut VecDeque<T>) {
    if ring.capacity() > KEPT.max(4 * ring.len()) {
        shrink(ring);
    }
}

#[cold]
#[inline(never)]
fn shrink<T>(ring: &mut VecDeque<T>) {
    ring.shrink_to(KEPT.max(2 * ring.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_follows_the_length() {
        let mut ring = VecDeque::new();
        let mut changes = 0;
        let mut before = 0;
        for turn in 0..4 {
            for n in 0..1000 {
                make_room(&mut ring);
                ring.push_back(n);
                changes += u32::from(ring.capacity() != before);
                before = ring.capacity();
                assert!(before <= ring.len() + STEP.max(ring.len() / 4) || before <= 4 * ring.len().max(4));
            }
            while ring.len() > turn {
                ring.pop_front();
                fit(&mut ring);
                changes += u32::from(ring.capacity() != before);
                before = ring.capacity();
                assert!(before <= KEPT.max(4 * ring.len()), "{before} for {}", ring.len());
            }
        }
        assert!(changes < 140, "{changes} changes of the capacity for 8000 changes of the length");
    }

    #[test]
    fn a_single_element_takes_the_room_of_one() {
        let mut ring = VecDeque::new();
        make_room(&mut ring);
        ring.push_back(1_u64);
        assert_eq!(ring.capacity(), 1);
    }
}
