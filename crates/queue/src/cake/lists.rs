//! Three lists of sub-queues, each of which is in one of them or in none.

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Sub-queues that were empty before their latest packets (`new_flows`).
    New,
    /// Sub-queues that take turns (`old_flows`).
    Old,
    /// Empty sub-queues whose controllers have not come to rest (`decaying_flows`).
    Decaying,
}

/// A sub-queue's place.
#[derive(Clone, Copy, Debug)]
struct Place {
    list: Option<List>,
    before: u32,
    after: u32,
}

/// The lists. Sub-queues leave them from any place, in constant time.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    places: Vec<Place>,
    /// First and last of each list.
    ends: [(u32, u32); 3],
}

impl Lists {
    /// Empty lists for sub-queues 0 to `count - 1`.
    pub(super) fn new(count: usize) -> Self {
        Self { places: vec![Place { list: None, before: NONE, after: NONE }; count], ends: [(NONE, NONE); 3] }
    }

    /// The first sub-queue of a list.
    pub(super) fn first(&self, list: List) -> Option<u32> {
        Some(self.ends[list as usize].0).filter(|&first| first != NONE)
    }

    /// Moves a sub-queue to the end of a list.
    pub(super) fn move_to(&mut self, list: List, number: u32) {
        self.remove(number);
        let (first, last) = &mut self.ends[list as usize];
        let before = core::mem::replace(last, number);
        if before == NONE {
            *first = number;
        } else {
            self.places[before as usize].after = number;
        }
        self.places[number as usize] = Place { list: Some(list), before, after: NONE };
    }

    /// Takes a sub-queue out of its list.
    pub(super) fn remove(&mut self, number: u32) {
        let Place { list, before, after } = self.places[number as usize];
        let Some(list) = list else { return };
        let (first, last) = &mut self.ends[list as usize];
        if before == NONE {
            *first = after;
        } else {
            self.places[before as usize].after = after;
        }
        if after == NONE {
            *last = before;
        } else {
            self.places[after as usize].before = before;
        }
        self.places[number as usize].list = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(lists: &Lists, list: List) -> Vec<u32> {
        let mut lists = lists.clone();
        std::iter::from_fn(|| {
            let first = lists.first(list)?;
            lists.remove(first);
            Some(first)
        })
        .collect()
    }

    #[test]
    fn sub_queues_leave_a_list_from_each_place() {
        for (leaves, rest) in [(0, [1, 2, 3]), (1, [0, 2, 3]), (2, [0, 1, 3]), (3, [0, 1, 2])] {
            let mut lists = Lists::new(4);
            (0..4).for_each(|number| lists.move_to(List::Old, number));
            lists.move_to(List::Decaying, leaves);
            assert_eq!(members(&lists, List::Old), rest);
            assert_eq!((members(&lists, List::Decaying), members(&lists, List::New)), (vec![leaves], vec![]));
            lists.move_to(List::Old, leaves);
            assert_eq!(members(&lists, List::Old), [&rest[..], &[leaves]].concat(), "at the end");
            lists.remove(leaves);
            lists.remove(leaves);
            assert_eq!(members(&lists, List::Old), rest);
        }
    }
}
