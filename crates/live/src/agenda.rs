//! Which link of the network acts next: a tournament over the times of their next events.

use narrows_units::Instant;

/// The next event of each of a fixed number of links. Finding the earliest takes no search, changing one takes as many
/// steps as the number of links has bits.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// The winner of each match, from the final at 1; node `n` is between `2 n` and `2 n + 1`.
    winners: Vec<u32>,
    times: Vec<Instant>,
}

impl Agenda {
    /// `links` links, none of which acts.
    pub(crate) fn new(links: usize) -> Self {
        let leaves = links.next_power_of_two().max(1);
        let mut agenda = Self { winners: vec![0; leaves], times: vec![Instant::NEVER; leaves] };
        (1..leaves).rev().for_each(|node| agenda.play(node));
        agenda
    }

    /// When the next link acts; `Instant::NEVER` if none does.
    pub(crate) fn next(&self) -> Instant {
        self.times[self.first()]
    }

    /// The link that acts next; of several at one time, the one with the smallest number.
    pub(crate) fn first(&self) -> usize {
        // A single link plays no match.
        self.winners.get(1).map_or(0, |&link| link as usize)
    }

    /// Notes when a link acts next.
    pub(crate) fn set(&mut self, link: usize, at: Instant) {
        if self.times[link] == at {
            return;
        }
        self.times[link] = at;
        let mut node = (link + self.winners.len()) / 2;
        while node > 0 {
            self.play(node);
            node /= 2;
        }
    }

    /// Plays the match at a node: the earlier time wins, the left one of equal times.
    fn play(&mut self, node: usize) {
        let leaves = self.winners.len();
        let winner = |child: usize| if child < leaves { self.winners[child] } else { (child - leaves) as u32 };
        let (left, right) = (winner(2 * node), winner(2 * node + 1));
        let later = self.times[left as usize] > self.times[right as usize];
        self.winners[node] = if later { right } else { left };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn one_link_and_none_need_no_match() {
        assert_eq!(Agenda::new(0).next(), Instant::NEVER);
        let mut one = Agenda::new(1);
        assert_eq!((one.next(), one.first()), (Instant::NEVER, 0));
        one.set(0, at(7));
        assert_eq!((one.next(), one.first()), (at(7), 0));
    }

    proptest! {
        #[test]
        fn the_first_is_what_a_search_finds(
            links in 1_usize..40,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), 0_u64..20), 1..100),
        ) {
            let mut agenda = Agenda::new(links);
            let mut times = vec![Instant::NEVER; links];
            for (link, time) in changes {
                let (link, time) = (link.index(links), if time == 0 { Instant::NEVER } else { at(time) });
                agenda.set(link, time);
                times[link] = time;
                let (first, earliest) = times.iter().enumerate().min_by_key(|(link, time)| (**time, *link)).unwrap();
                prop_assert_eq!((agenda.first(), agenda.next()), (first, *earliest));
            }
        }
    }
}
