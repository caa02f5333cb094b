//! What flows see of links with impairments, in both loops.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{assert_conserved, scenario};
use narrows_samples::{FlowTotal, QueueTotal};
use narrows_sim::{Options, Outcome, run};
use proptest::prelude::*;

/// Two hosts with a router between them. The second link is the bottleneck, of 10 Mb/s and 10 ms, with these settings.
fn text(link: &str, flows: &str) -> String {
    format!(
        "name = \"impaired\"\nduration = \"10 s\"\nsampling = \"10 ms\"\ntcp = {{ stack = \"linux\" }}\n\
         nodes = [{{ name = \"a\" }}, {{ name = \"r\", kind = \"router\" }}, {{ name = \"b\" }}]\n\
         [[links]]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gb/s\"\ndelay = \"1 ms\"\n\
         [[links]]\nbetween = [\"r\", \"b\"]\nrate = \"10 Mb/s\"\ndelay = \"10 ms\"\n{link}\n{flows}"
    )
}

const TCP: &str = "[[flows]]\nname = \"tcp\"\nfrom = \"a\"\nto = \"b\"\ncc = \"cubic\"\n";
const UDP: &str =
    "[[flows]]\nname = \"udp\"\nfrom = \"a\"\nto = \"b\"\nkind = \"udp\"\nrate = \"1 Mb/s\"\nstop = \"9 s\"\n";

/// The outcome, which both loops have.
fn both(link: &str, flows: &str) -> Outcome {
    let scenario = scenario(&text(link, flows));
    let with = |plain_loop| run(&scenario, &Options { seed: 1, plain_loop, ..Options::default() }).unwrap();
    let (lazy, plain) = (with(false), with(true));
    assert_eq!(lazy.samples, plain.samples, "{link}");
    assert_eq!(lazy.digest(), plain.digest(), "{link}");
    assert_conserved(&lazy);
    lazy
}

fn flow(outcome: &Outcome) -> FlowTotal {
    outcome.samples.flow_totals.row(0).unwrap()
}

/// The bottleneck towards `b`, and back.
fn queues(outcome: &Outcome) -> [QueueTotal; 2] {
    [2, 3].map(|index| outcome.samples.queue_totals.row(index).unwrap())
}

fn mbps(outcome: &Outcome) -> f64 {
    flow(outcome).arrived_bytes as f64 * 8.0 / 10.0 / 1e6
}

#[test]
fn counters_say_what_each_direction_did() {
    let link = "forward.duplicate = 1\nforward.reorder = { delay = \"12 ms\", gap = 10, selected = \"behind\" }\n\
                reverse.ack_decimation = { every = 2, of = \"all\" }";
    let outcome = both(link, &(UDP.to_owned() + TCP));
    let told = &outcome.samples.impairment_totals;
    assert_eq!(told.queue, [2, 3]);
    let [there, back] = [0, 1].map(|row| told.row(row).unwrap());
    let [queue, _] = queues(&outcome);
    assert_eq!(there.duplicated, queue.forwarded_packets);
    assert!(there.reordered > queue.forwarded_packets / 20, "{there:?}");
    assert_eq!((there.decimated, there.held, there.outage_drops, back.duplicated, back.reordered), (0, 0, 0, 0, 0));
    assert!(back.decimated > 100, "{back:?}");
    assert!(both("", UDP).samples.impairment_totals.queue.is_empty());
}

#[test]
fn tcp_takes_reordering_for_loss_and_undoes_it() {
    let still = flow(&both("forward.queue.limit = \"1000 packets\"", TCP));
    let reordered = "forward.queue.limit = \"1000 packets\"\nforward.reorder = { delay = \"10 ms\", gap = 100, selected = \"behind\" }";
    let by_count = TCP.to_owned() + "tcp = { recovery = \"sack\" }\n";
    let outcome = both(reordered, &by_count);
    let tcp = flow(&outcome);
    assert_eq!((still.spurious, still.lost_packets), (0, 0));
    assert_eq!(tcp.lost_packets, 0, "nothing is lost");
    assert!(tcp.fast_retransmits > 5 && tcp.retransmitted_packets >= tcp.fast_retransmits, "{tcp:?}");
    assert!(tcp.spurious > 0, "D-SACK or timestamps show that it was spurious: {tcp:?}");
    let by_time = flow(&both(reordered, TCP));
    assert!(by_time.fast_retransmits * 2 < tcp.fast_retransmits, "RACK waits longer: {by_time:?}");
}

#[test]
fn few_places_of_reordering_are_below_the_threshold_of_duplicate_acks() {
    // 1 ms at 10 Mb/s is less than a packet of 1.2 ms: a packet falls back by one place.
    let outcome = both("forward.reorder = { delay = \"1.3 ms\", gap = 50, selected = \"behind\" }", TCP);
    let without = both("", TCP);
    assert!(flow(&outcome).spurious <= flow(&without).spurious);
    assert!((mbps(&outcome) / mbps(&without) - 1.0).abs() < 0.05);
}

#[test]
fn a_duplicated_datagram_arrives_twice() {
    let udp = flow(&both("forward.duplicate = 1", UDP));
    assert_eq!(udp.arrived_packets, 2 * udp.sent_packets);
    let udp = flow(&both("forward.duplicate = \"10 %\"", UDP));
    let share = udp.arrived_packets as f64 / udp.sent_packets as f64;
    assert!((share - 1.1).abs() < 0.03, "{share}");
    let tcp = flow(&both("forward.duplicate = \"1 %\"\nforward.queue.limit = \"1000 packets\"", TCP));
    assert_eq!((tcp.timeouts, tcp.lost_packets), (0, 0), "{tcp:?}");
}

#[test]
fn a_jitter_widens_the_round_trip_times() {
    let flows = "[[flows]]\nname = \"ask\"\nfrom = \"a\"\nto = \"b\"\nkind = \"request_response\"\nresponse = \"500 B\"\nthink = \"1 ms\"\n";
    let still = flow(&both("", flows));
    let shaken = flow(&both("forward.jitter = { time = \"5 ms\", distribution = \"normal\" }", flows));
    let spread = |row: &FlowTotal| row.rtt_p95_ns - row.rtt_p50_ns;
    assert!(spread(&still) < 2_000_000 && spread(&shaken) > 5_000_000, "{still:?} {shaken:?}");
    let median = shaken.rtt_p50_ns.abs_diff(still.rtt_p50_ns);
    assert!(median < 2_000_000, "the mean delay stays: {median}");
}

/// Packets that the bottleneck forwarded between two times, in milliseconds.
fn forwarded(outcome: &Outcome, from: u64, to: u64) -> u64 {
    let rows = outcome.samples.queues.unpack().unwrap();
    let at = |ms: u64| {
        let row = (0..rows.time_ns.len()).find(|&i| rows.queue[i] == 2 && rows.time_ns[i] == ms * 1_000_000);
        rows.forwarded_packets[row.unwrap()]
    };
    at(to) - at(from)
}

#[test]
fn an_outage_sends_nothing_and_keeps_or_drops_the_queue() {
    let outage =
        |queue| format!("forward.outages = [{{ start = \"5 s\", duration = \"500 ms\", queue = \"{queue}\" }}]");
    let keep = both(&outage("keep"), TCP);
    let drop = both(&outage("drop"), TCP);
    for outcome in [&keep, &drop] {
        assert!(forwarded(outcome, 5000, 5500) <= 1, "the packet in transmission");
        assert!(forwarded(outcome, 4500, 5000) > 300 && forwarded(outcome, 6500, 7000) > 100);
        assert_eq!(queues(outcome)[0].capacity_bits, 95_000_000);
    }
    assert_eq!(queues(&keep)[0].dropped_forced, 0);
    assert!(queues(&keep)[0].delay_max_ns > 500_000_000);
    assert!(queues(&drop)[0].dropped_forced > 10 && queues(&drop)[0].delay_max_ns < 200_000_000);
    assert!(flow(&drop).timeouts > 0);
}

#[test]
fn an_outage_at_the_end_of_the_run_leaves_busy_time_as_it_is() {
    let outcome = both("forward.outages = [{ start = \"8 s\", duration = \"5 s\" }]", UDP);
    let queue = queues(&outcome)[0];
    // 1 Mb/s over a link of 10 Mb/s: busy for a tenth of 8 s.
    assert!(queue.busy_ns.abs_diff(800_000_000) < 3_000_000, "{queue:?}");
    // A transmission may begin at the last instant, as in every run.
    assert_eq!((queue.capacity_bits, queue.unsent_bytes), (80_000_000, 1028));
}

#[test]
fn aggregation_of_acks_delivers_them_in_bursts() {
    // Without bursts, 15 ms of ACKs arrive one by one; each burst opens the window by many packets at once.
    let plain = both("", TCP);
    let outcome = both("reverse.aggregation = { packets = 64, time = \"15 ms\", of = \"acks\" }", TCP);
    let access = |outcome: &Outcome| outcome.samples.queue_totals.row(0).unwrap().max_packets;
    assert!(access(&outcome) > access(&plain), "{} {}", access(&outcome), access(&plain));
    assert!(mbps(&outcome) > 8.5, "{}", mbps(&outcome));
    assert!(flow(&outcome).rtt_min_ns >= flow(&plain).rtt_min_ns);
}

#[test]
fn decimation_thins_the_acks_and_spares_the_flow() {
    let plain = both("", TCP);
    let outcome = both("reverse.ack_decimation = 4", TCP);
    let [_, before] = queues(&plain);
    let [_, back] = queues(&outcome);
    assert!(back.dropped_forced as f64 > 0.6 * back.arrived_packets as f64, "{back:?}");
    assert!(before.dropped_forced == 0 && mbps(&outcome) > 0.9 * mbps(&plain), "{} {}", mbps(&outcome), mbps(&plain));
}

#[test]
fn tcp_survives_the_loss_of_acks() {
    let outcome = both("reverse.ack_loss = \"30 %\"", TCP);
    let [there, back] = queues(&outcome);
    let lost = back.corrupted as f64 / back.forwarded_packets as f64;
    assert!((lost - 0.3).abs() < 0.03 && there.corrupted == 0, "{lost}");
    assert!(mbps(&outcome) > 8.5, "ACKs are cumulative: {}", mbps(&outcome));
}

#[test]
fn rates_may_differ_by_direction() {
    // ACKs of 52 bytes, one for two segments of 1500 bytes, need 1/58 of the rate; the way back has 1/100.
    // How much thinned ACKs gain depends on the sender: 0.98 to 1.26 times with five choices of recovery, gso and
    // kernel.
    let sender = TCP.to_owned() + "tcp = { recovery = \"sack\", frto = false, gso = false, kernel = \"linux-6.1\" }\n";
    let outcome = both("reverse = { rate = \"100 kb/s\" }", &sender);
    let thinned = both("reverse = { rate = \"100 kb/s\", ack_decimation = 8 }", &sender);
    assert!(mbps(&outcome) < 7.0 && mbps(&thinned) > 1.2 * mbps(&outcome), "{} {}", mbps(&outcome), mbps(&thinned));
}

#[test]
fn each_impairment_draws_from_a_stream_of_its_own() {
    let count = |link: &str| flow(&both(link, UDP)).arrived_packets;
    let alone = count("forward.duplicate = \"10 %\"");
    assert_eq!(alone, count("forward.duplicate = \"10 %\"\nforward.jitter = \"5 ms\"\nforward.ack_loss = 0.5"));
    let lossy = both("forward.per = 0.1", UDP);
    let more = both("forward.per = 0.1\nforward.jitter = \"5 ms\"\nreverse.duplicate = 0.5", UDP);
    assert_eq!(flow(&lossy).lost_packets, flow(&more).lost_packets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_impairments_give_the_same_samples_by_either_loop(
        jitter in 0u64..20, kept: bool, gap in 2u64..20, late in 1u64..20, behind: bool, twice in 0.0..0.2,
        outage in 0u64..2000, lasts in 1u64..2000, drop: bool,
        (hold, time, every, loss) in (1u64..40, 1u64..20, 1u64..6, 0.0..0.5),
        codel: bool, seed: u64,
    ) {
        let order = if kept { "kept" } else { "free" };
        let selected = if behind { "behind" } else { "ahead" };
        let queue = if drop { "drop" } else { "keep" };
        let kind = if codel { "codel" } else { "droptail" };
        let link = format!(
            "queue.kind = \"{kind}\"\n\
             forward.jitter = {{ time = \"{jitter} ms\", order = \"{order}\" }}\n\
             forward.reorder = {{ delay = \"{late} ms\", gap = {gap}, selected = \"{selected}\" }}\n\
             duplicate = {twice}\n\
             outages = [{{ start = \"{outage} ms\", duration = \"{lasts} ms\", queue = \"{queue}\" }}]\n\
             reverse.aggregation = {{ packets = {hold}, time = \"{time} ms\", of = \"acks\" }}\n\
             reverse.ack_decimation = {every}\nreverse.ack_loss = {loss}\n"
        );
        let text = text(&link, &format!("{TCP}{UDP}")).replace("10 s", "3 s").replace("stop = \"9 s\"", "");
        let scenario = scenario(&text);
        let with = |plain_loop| run(&scenario, &Options { seed, plain_loop, ..Options::default() }).unwrap();
        let (lazy, plain) = (with(false), with(true));
        prop_assert_eq!(&lazy.samples, &plain.samples);
        assert_conserved(&lazy);
    }
}
