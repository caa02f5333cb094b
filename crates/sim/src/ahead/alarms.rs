//! When the next timer or application of a host with several ends of flows acts.

use crate::flow::End;
use narrows_units::Instant;

/// The times of some sources of events, and the earliest of them. A tree of minima: a change takes a step for each
/// doubling of their number, or fewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Earliest {
    /// Node `p` is the earlier of nodes `2p` and `2p + 1`. The root is node 1, and the second half are the sources.
    nodes: Vec<Instant>,
}

impl Earliest {
    /// So many sources, all idle.
    fn of(sources: usize) -> Self {
        // One source would be the root's sibling.
        Self { nodes: vec![Instant::NEVER; 2 * sources.max(2)] }
    }

    /// Sets the time of a source; returns the earliest of all.
    fn set(&mut self, source: usize, time: Instant) -> Instant {
        let mut node = self.nodes.len() / 2 + source;
        self.nodes[node] = time;
        while node > 1 {
            node /= 2;
            let earlier = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == earlier {
                break;
            }
            self.nodes[node] = earlier;
        }
        self.nodes[1]
    }
}

/// The alarms of all hosts that watch several ends: the timer of each end, and the application of each client.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    hosts: Vec<Earliest>,
    /// By flow: for each end, its host in `hosts`, or [`NO_HOST`], and its first source there.
    places: Vec<[(u32, u32); 2]>,
}

/// The host is not watched.
const NO_HOST: u32 = u32::MAX;

impl Alarms {
    /// Of flows from and to the nodes `ends`; `watched` tells which nodes are watched.
    pub(super) fn new(ends: &[[u32; 2]], watched: &[bool]) -> Self {
        let mut number = vec![NO_HOST; watched.len()];
        let mut sources: Vec<u32> = Vec::new();
        let places = ends.iter().map(|ends| {
            [End::Client, End::Server].map(|end| {
                let node = ends[end.index()] as usize;
                if watched.get(node) != Some(&true) {
                    return (NO_HOST, 0);
                }
                if number[node] == NO_HOST {
                    number[node] = sources.len() as u32;
                    sources.push(0);
                }
                let taken = &mut sources[number[node] as usize];
                let first = *taken;
                *taken += if end == End::Client { 2 } else { 1 };
                (number[node], first)
            })
        });
        let places = places.collect();
        Self { hosts: sources.iter().map(|&sources| Earliest::of(sources as usize)).collect(), places }
    }

    /// Whether any host is watched.
    #[inline]
    pub(super) fn are_watched(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Notes when the timer of an end expires; returns the earliest alarm of its host, if it is watched.
    pub(super) fn timer(&mut self, flow: usize, end: End, due: Instant) -> Option<Instant> {
        self.set(flow, end, 0, due)
    }

    /// Notes when the application of a flow acts; returns the earliest alarm of the client's host, if it is watched.
    pub(super) fn app(&mut self, flow: usize, at: Instant) -> Option<Instant> {
        self.set(flow, End::Client, 1, at)
    }

    fn set(&mut self, flow: usize, end: End, source: usize, time: Instant) -> Option<Instant> {
        let (host, first) = self.places.get(flow)?[end.index()];
        let host = self.hosts.get_mut(host as usize)?;
        Some(host.set(first as usize + source, time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_is_that_of_all(
            sources in 1_usize..40,
            changes in prop::collection::vec((0_usize..40, 0_u64..50), 1..200),
        ) {
            let (mut tree, mut all) = (Earliest::of(sources), vec![Instant::NEVER; sources]);
            for (source, time) in changes {
                let time = if time == 0 { Instant::NEVER } else { Instant::from_nanos(time) };
                all[source % sources] = time;
                prop_assert_eq!(Some(tree.set(source % sources, time)), all.iter().min().copied());
            }
        }
    }

    #[test]
    fn each_host_has_alarms_of_its_own() {
        // Two flows from node 0 to node 1, one from node 1 to node 0, one to node 2, which is not watched.
        let mut alarms = Alarms::new(&[[0, 1], [0, 1], [1, 0], [0, 2]], &[true, true, false]);
        let at = |nanos| Instant::from_nanos(nanos);
        assert_eq!(alarms.timer(0, End::Client, at(9)), Some(at(9)));
        assert_eq!(alarms.timer(2, End::Server, at(8)), Some(at(8)));
        assert_eq!(alarms.app(3, at(7)), Some(at(7)));
        assert_eq!(alarms.timer(0, End::Server, at(20)), Some(at(20)));
        assert_eq!(alarms.app(2, at(10)), Some(at(10)));
        assert_eq!(alarms.timer(3, End::Server, at(1)), None);
        assert_eq!(alarms.app(3, Instant::NEVER), Some(at(8)));
        assert_eq!(alarms.timer(2, End::Server, Instant::NEVER), Some(at(9)));
    }
}
