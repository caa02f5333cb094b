//! The sliding maximum.

use narrows_cc::windowed::MaxFilter;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_maximum_is_that_of_the_definition(steps in prop::collection::vec((0u64..4, 0u64..50), 1..80), window in 0u64..12) {
        let (mut filter, mut all, mut count) = (MaxFilter::default(), Vec::new(), 0);
        prop_assert_eq!(filter.max(), 0);
        for (ahead, value) in steps {
            count += ahead;
            all.push((count, value));
            let want = all.iter().filter(|(at, _)| count - at <= window).map(|(_, v)| *v).max();
            prop_assert_eq!(Some(filter.update(count, value, window)), want);
        }
        let last = all.iter().filter(|(at, _)| *at == count).map(|(_, v)| *v).max();
        prop_assert_eq!(Some(filter.advance(count + 100, window)), last, "the last stays");
    }
}
