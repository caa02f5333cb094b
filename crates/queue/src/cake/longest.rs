//! Finds the sub-queue with the most bytes, by a heap that exists only while queues overflow.

/// Departures after the latest overflow for which the heap is kept up to date (`overflow_timeout`).
const KEPT_FOR: u32 = 65_535;

/// A heap of sub-queues by their bytes; of equal ones, the lowest number is first.
#[derive(Clone, Debug)]
pub(super) struct Longest {
    heap: Vec<u32>,
    /// The place of each sub-queue in the heap.
    places: Vec<u32>,
    /// Departures for which the heap is still kept; 0 if it is out of date.
    kept_for: u32,
}

impl Longest {
    /// A heap of `count` sub-queues, out of date.
    pub(super) fn new(count: usize) -> Self {
        let numbers: Vec<u32> = (0..count as u32).collect();
        Self { heap: numbers.clone(), places: numbers, kept_for: 0 }
    }

    /// The sub-queue with the most bytes. `bytes` gives those of each.
    pub(super) fn find(&mut self, bytes: &[u64]) -> u32 {
        if self.kept_for == 0 {
            for place in (0..self.heap.len() / 2).rev() {
                self.sink(place, bytes);
            }
        }
        self.kept_for = KEPT_FOR;
        self.heap.first().copied().unwrap_or(0)
    }

    /// Notes that a sub-queue became longer.
    #[inline]
    pub(super) fn grew(&mut self, number: u32, bytes: &[u64]) {
        if self.kept_for > 0 {
            self.rise(self.places[number as usize] as usize, bytes);
        }
    }

    /// Notes that a sub-queue became shorter.
    #[inline]
    pub(super) fn shrank(&mut self, number: u32, bytes: &[u64]) {
        if self.kept_for > 0 {
            self.sink(self.places[number as usize] as usize, bytes);
        }
    }

    /// Notes a departure: without further overflows, the heap is given up at some time.
    #[inline]
    pub(super) fn departed(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
    }

    /// Whether the sub-queue at one place belongs above that at another.
    fn is_above(&self, one: usize, other: usize, bytes: &[u64]) -> bool {
        let key = |place: usize| (bytes[self.heap[place] as usize], u32::MAX - self.heap[place]);
        key(one) > key(other)
    }

    fn rise(&mut self, mut place: usize, bytes: &[u64]) {
        while place > 0 && self.is_above(place, (place - 1) / 2, bytes) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize, bytes: &[u64]) {
        loop {
            let mut largest = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.is_above(child, largest, bytes) {
                    largest = child;
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.places[self.heap[place] as usize] = place as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_rng::Stream;

    #[test]
    fn the_heap_finds_what_a_search_finds() {
        let mut chance = Stream::new(1, 0, "test", "longest");
        let (mut longest, mut bytes) = (Longest::new(37), [0_u64; 37]);
        for round in 0..20_000_u64 {
            let number = chance.below(37) as usize;
            // Few sizes, so that many are equal.
            let size = 100 * chance.below(4);
            if chance.chance(0.5) {
                bytes[number] += size;
                longest.grew(number as u32, &bytes);
            } else {
                bytes[number] = bytes[number].saturating_sub(size);
                longest.shrank(number as u32, &bytes);
            }
            // Now and then the heap goes out of date.
            if round % 1000 == 999 {
                longest.kept_for = 0;
            }
            if round % 3 == 0 {
                let most = (0..37).max_by_key(|&number| (bytes[number], 37 - number)).unwrap_or(0);
                assert_eq!(longest.find(&bytes), most as u32, "{round}");
            }
        }
    }

    #[test]
    fn the_heap_is_given_up_after_65535_departures() {
        let mut longest = Longest::new(3);
        assert_eq!(longest.find(&[1, 3, 2]), 1);
        for _ in 1..KEPT_FOR {
            longest.departed();
        }
        longest.grew(2, &[1, 3, 4]);
        assert_eq!(longest.heap[0], 2, "still kept");
        longest.departed();
        longest.grew(0, &[5, 3, 4]);
        assert_eq!(longest.heap[0], 2, "no more");
        assert_eq!(longest.find(&[5, 3, 4]), 0);
    }
}
