//! Tests of the agenda.

#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

fn at(n: u64) -> Instant {
    Instant::from_nanos(n)
}

#[test]
fn of_a_tie_the_lowest_slot_is_first_unless_both_are_arrivals() {
    let mut agenda = Agenda::new(1, 1, 5).unwrap();
    for slot in [3, 0, 4, 1] {
        agenda.arm(Slot::new(slot), at(7));
    }
    let mut order = Vec::new();
    while let Some((_, slot)) = agenda.next() {
        order.push(slot.index());
        agenda.arm(slot, Instant::NEVER);
    }
    assert_eq!(order, [0, 1, 3, 4]);
}

#[test]
fn lazy_arming_never_moves_a_timer_later() {
    let mut agenda = Agenda::new(0, 1, 1).unwrap();
    let slot = Slot::new(0);
    agenda.arm_no_later(slot, at(10));
    agenda.arm_no_later(slot, at(20));
    assert_eq!(agenda.armed(slot), at(10));
    agenda.arm_no_later(slot, at(5));
    assert_eq!(agenda.next(), Some((at(5), slot)));
}

#[test]
fn too_many_slots_are_refused() {
    assert!(Agenda::new(0, 0, MAX_SLOTS + 1).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_agenda_is_a_total_order(
        fixed in 0usize..4,
        arrivals in 0usize..42,
        arms in prop::collection::vec((0usize..41, 0u64..50, any::<bool>()), 0..400),
    ) {
        let near = (fixed + arrivals).min(41);
        let mut agenda = Agenda::new(fixed, near, 41).unwrap();
        let mut model: Vec<Option<u64>> = vec![None; 41];
        let place = |time: u64, slot: usize| match slot {
            s if s < fixed => (0, 0),
            s if s < near => (1, draw(time, s as u32)),
            _ => (2, 0),
        };
        for &(slot, time, idle) in &arms {
            agenda.arm(Slot::new(slot), if idle { Instant::NEVER } else { at(time) });
            model[slot] = (!idle).then_some(time);
            let pending = model.iter().enumerate().filter_map(|(s, t)| t.map(|t| (t, place(t, s), s)));
            prop_assert_eq!(agenda.next(), pending.min().map(|(t, _, s)| (at(t), Slot::new(s))));
        }
    }
}

#[test]
fn a_slot_has_a_leaf_only_while_it_is_armed() {
    let mut agenda = Agenda::new(1, 1_001, 1_001).unwrap();
    for n in 0..5_000 {
        // Never more than four at once.
        agenda.arm(Slot::new(1 + n % 1_000), at(n as u64));
        if n >= 3 {
            let (time, slot) = agenda.next().unwrap();
            assert_eq!((time, agenda.armed(slot)), (at(n as u64 - 3), time));
            agenda.arm(slot, Instant::NEVER);
            assert_eq!(agenda.armed(slot), Instant::NEVER);
        }
    }
    assert_eq!(agenda.near.leaves, 4);
}

#[test]
fn of_arrivals_at_one_instant_each_is_first_as_often() {
    let mut firsts = [0; 4];
    // Packets of 1000 bytes at 1 Gb/s arrive 8 us apart.
    for n in 0..40_000 {
        let mut agenda = Agenda::new(1, 5, 5).unwrap();
        (1..5).for_each(|slot| agenda.arm(Slot::new(slot), at(12_345 + n * 8_000)));
        firsts[agenda.next().unwrap().1.index() - 1] += 1;
    }
    assert!(firsts.iter().all(|n| (9_700..10_300).contains(n)), "{firsts:?}");
}
