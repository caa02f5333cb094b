use super::*;

fn chance() -> Stream {
    Stream::new(1, 0, "test", "scheduler")
}

/// The next sub-queue that may send, after all turns that end.
fn next(scheduler: &mut Scheduler, chance: &mut Stream) -> u32 {
    loop {
        let number = scheduler.next(true).unwrap();
        if !scheduler.ends_turn(number, false, chance) {
            return number;
        }
    }
}

#[test]
fn a_sparse_sub_queue_goes_first_until_its_turn_is_used_up() {
    let (mut scheduler, mut chance) = (Scheduler::new(FlowMode::Flows, Bytes::new(1_000)), chance());
    scheduler.arrived(1, &mut chance);
    assert_eq!((scheduler.sparse, scheduler.bulk), (1, 0));
    // The first turn has 1000 * 65535 / 65536 bytes, rounded at random to 999 or 1000.
    assert_eq!(next(&mut scheduler, &mut chance), 1);
    scheduler.sent(1, Bytes::new(998));
    assert_eq!(next(&mut scheduler, &mut chance), 1, "a byte or two are left");
    scheduler.sent(1, Bytes::new(2));
    assert!(scheduler.ends_turn(1, false, &mut chance));
    assert_eq!((scheduler.sparse, scheduler.bulk), (0, 1));
    scheduler.arrived(2, &mut chance);
    assert_eq!(next(&mut scheduler, &mut chance), 2, "a new one goes before those that take turns");
}

#[test]
fn an_empty_sub_queue_waits_a_round_and_then_decays_or_rests() {
    let (mut scheduler, mut chance) = (Scheduler::new(FlowMode::Flows, Bytes::new(1_000)), chance());
    scheduler.arrived(1, &mut chance);
    scheduler.sent(1, Bytes::new(1_500));
    assert!(scheduler.ends_turn(1, true, &mut chance));
    assert_eq!((scheduler.sparse, scheduler.bulk), (1, 0), "it counts as sparse while it waits");
    scheduler.was_empty(1, true);
    assert_eq!((scheduler.sparse, scheduler.decaying, scheduler.is_used(1)), (0, 1, true));
    scheduler.arrived(2, &mut chance);
    assert_eq!((scheduler.next(true), scheduler.next(false)), (Some(1), Some(2)), "one decays for each packet sent");
    scheduler.was_empty(1, false);
    assert_eq!((scheduler.decaying, scheduler.is_used(1)), (0, false));
    scheduler.was_empty(2, true);
    scheduler.arrived(2, &mut chance);
    assert_eq!((scheduler.sparse, scheduler.decaying), (1, 0), "a packet ends the decay");
    // A packet that arrives in the round that it waits makes it bulk.
    scheduler.sent(2, Bytes::new(1_500));
    assert!(scheduler.ends_turn(2, true, &mut chance));
    scheduler.arrived(2, &mut chance);
    assert_eq!((scheduler.sparse, scheduler.bulk), (0, 1));
}

#[test]
fn a_turn_is_shared_by_the_bulk_sub_queues_of_the_busier_host() {
    for (mode, share) in [
        (FlowMode::Flows, 999),
        (FlowMode::DualSrchost, 499),
        (FlowMode::DualDsthost, 333),
        (FlowMode::TripleIsolate, 333),
    ] {
        let (mut scheduler, mut chance) = (Scheduler::new(mode, Bytes::new(1_000)), chance());
        // Two bulk sub-queues of source 70, and three to destination 90.
        for (number, hosts) in [(1, [70, 90]), (2, [70, 90]), (3, [71, 90])] {
            scheduler.settle(number, hosts.map(|host: u64| host << 54));
            scheduler.arrived(number, &mut chance);
            scheduler.sent(number, Bytes::new(5_000));
            assert!(scheduler.ends_turn(number, false, &mut chance));
        }
        assert_eq!(scheduler.share(1) >> 16, share, "{mode:?}");
        assert_eq!(scheduler.bulk, 3);
        // A sub-queue that collides is counted at its new hosts.
        scheduler.settle(2, [72 << 54, 92 << 54]);
        let left = if mode.by_destination() { 2 } else { 1 };
        assert_eq!(scheduler.share(1), 1_000 * (65_535 / left), "{mode:?}");
    }
}
