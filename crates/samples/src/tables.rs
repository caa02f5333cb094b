//! The tables of a run.
//!
//! A run has one scheme at most, so all schemes share the same columns for their counters. A scheme's row says what it
//! counts ([`Counters`](crate::Counters)).

use crate::table::table;

/// Most counters that a scheme has per flow.
pub const FLOW_COUNTERS: usize = 3;
/// Most values that a scheme has per router agent over time, beside its number of flows.
pub const ROUTER_VALUES: usize = 3;
/// Most counters that a scheme has per router agent over the whole run.
pub const ROUTER_COUNTERS: usize = 6;

table! {
    /// One flow at one time.
    FlowRow,
    /// Flows over time: counters are cumulative since the flow's start.
    FlowSamples = "flows" {
        time_ns: "ns", "Time of the sample.";
        flow: "index", "Index of the flow.";
        cwnd_bytes: "bytes", "Congestion window; none for UDP.";
        ssthresh_bytes: "bytes", "Slow-start threshold; none while unlimited.";
        srtt_ns: "ns", "Smoothed round-trip time (RFC 6298); none before the first sample.";
        rtt_ns: "ns", "Latest round-trip time sample; none before the first.";
        rto_ns: "ns", "Retransmission timeout.";
        rwnd_bytes: "bytes", "Window that the peer advertises.";
        flightsize_bytes: "bytes", "Sent and not cumulatively acknowledged (RFC 5681).";
        inflight_bytes: "bytes", "The scoreboard's estimate of what is in the network (RFC 6675 pipe).";
        sent_bytes: "bytes", "Payload bytes sent, retransmissions included.";
        sent_packets: "packets", "Segments with payload sent, retransmissions included.";
        delivered_bytes: "bytes", "Payload bytes that arrived in order at the receiving application.";
        lost_packets: "packets", "Segments of the flow's data direction dropped or corrupted in the network.";
        retransmitted_packets: "packets", "Segments sent again.";
        timeouts: "", "Expiries of the retransmission timer.";
        [counters; FLOW_COUNTERS];
        arrived_bytes: "bytes", "IP bytes of the flow's data direction that reached the receiving host.";
    }
}

table! {
    /// One queue at one time.
    QueueRow,
    /// Queues over time: counters are cumulative since the start of the run.
    QueueSamples = "queues" {
        time_ns: "ns", "Time of the sample.";
        queue: "index", "Index of the queue.";
        bytes: "bytes", "Waiting bytes.";
        packets: "packets", "Waiting packets.";
        forwarded_bytes: "bytes", "IP bytes that left for the link.";
        forwarded_packets: "packets", "Packets that left for the link.";
        dropped_overflow: "packets", "Dropped because there was no room.";
        dropped_early: "packets", "Dropped by the AQM by chance.";
        dropped_forced: "packets", "Dropped by the AQM by rule, or by the link: decimation of ACKs, or an outage.";
        corrupted: "packets", "Lost on the link after the queue (packet error rate, loss of ACKs), or given up by 802.11 at a retry limit without having arrived.";
        marked: "packets", "Marked CE.";
    }
}

table! {
    /// One router agent at one time.
    RouterRow,
    /// Router agents over time.
    RouterSamples = "routers" {
        time_ns: "ns", "Time of the sample.";
        router: "index", "Index of the router.";
        flows: "flows", "Flows in the table.";
        [values; ROUTER_VALUES];
    }
}

table! {
    /// A router agent over the whole run.
    RouterTotal,
    /// One row per router agent.
    RouterTotals = "router_totals" {
        [counters; ROUTER_COUNTERS];
    }
}

table! {
    /// A flow over its whole life.
    FlowTotal,
    /// One row per flow.
    FlowTotals = "flow_totals" {
        start_ns: "ns", "When the application started.";
        stop_ns: "ns", "When the transfer finished; else when the application stopped, the connection was given up or reset, or the run ended.";
        sent_bytes: "bytes", "Payload bytes sent, retransmissions included.";
        sent_packets: "packets", "Segments (or datagrams) with payload sent, retransmissions included.";
        arrived_bytes: "bytes", "IP bytes (headers included) of the data direction that reached the receiving host.";
        arrived_packets: "packets", "Packets with payload of the data direction that reached the receiving host.";
        delivered_bytes: "bytes", "Payload bytes delivered in order to the receiving application.";
        lost_packets: "packets", "Packets with payload dropped by a queue, corrupted on a link, or given up by 802.11.";
        retransmitted_packets: "packets", "Segments with payload sent again.";
        retransmitted_bytes: "bytes", "Payload bytes sent again.";
        timeouts: "", "Expiries of the retransmission timer.";
        fast_retransmits: "", "Entries into fast recovery.";
        triple_duplicate_acks: "", "Third duplicate ACKs in a row at the sender, those that move the window included.";
        later_duplicate_acks: "", "Duplicate ACKs in a row from the third on at the sender, those that move the window included.";
        ecn_reductions: "", "Reductions on an ECN echo.";
        spurious: "", "Reductions undone as spurious.";
        rtt_samples: "", "Number of round-trip time samples.";
        rtt_sum_ns: "ns", "Sum of the round-trip time samples.";
        rtt_min_ns: "ns", "Smallest round-trip time sample; none without samples.";
        rtt_max_ns: "ns", "Largest round-trip time sample; none without samples.";
        rtt_p50_ns: "ns", "Median of the round-trip time samples (histogram, error below 0.8 %).";
        rtt_p95_ns: "ns", "95th percentile.";
        rtt_p99_ns: "ns", "99th percentile.";
        max_bin_bytes: "bytes", "Most IP bytes that arrived in one bin of one second (bins from the start of the run).";
        [counters; FLOW_COUNTERS];
        transactions: "", "Requests answered in full (request and response).";
        finished_ns: "ns", "When the last byte of a bounded transfer was delivered; none otherwise.";
        aborted_ns: "ns", "When an end gave up after max_retries timeouts in a row, or the connection was reset; none otherwise.";
    }
}

table! {
    /// A queue over the whole run.
    QueueTotal,
    /// One row per queue.
    QueueTotals = "queue_totals" {
        arrived_packets: "packets", "Packets offered to the queue.";
        forwarded_bytes: "bytes", "IP bytes that left for the link.";
        forwarded_packets: "packets", "Packets that left for the link.";
        dropped_overflow: "packets", "Dropped because there was no room.";
        dropped_early: "packets", "Dropped by the AQM by chance.";
        dropped_forced: "packets", "Dropped by the AQM by rule, or by the link: decimation of ACKs, or an outage.";
        corrupted: "packets", "Lost on the link after the queue (packet error rate, loss of ACKs), or given up by 802.11 at a retry limit without having arrived.";
        marked: "packets", "Marked CE.";
        waiting_packets: "packets", "Still waiting when the run ended.";
        busy_ns: "ns", "Time that the link was sending; for 802.11, airtime of the RTS and data frames sent for this queue's packets, repetitions included.";
        unsent_bytes: "bytes", "Of forwarded_bytes, what the transmission under way at the end had still to send.";
        delay_samples: "", "Packets whose queueing delay was measured: until the link sends them, or the 802.11 station takes them up.";
        delay_sum_ns: "ns", "Sum of queueing delays.";
        delay_max_ns: "ns", "Longest queueing delay; none without packets.";
        delay_p50_ns: "ns", "Median queueing delay (histogram, error below 0.8 %).";
        delay_p95_ns: "ns", "95th percentile of queueing delay.";
        delay_p99_ns: "ns", "99th percentile of queueing delay.";
        max_packets: "packets", "Most packets ever waiting.";
        max_bytes: "bytes", "Most bytes ever waiting.";
        capacity_bits: "", "Bits that the link could have sent over the run, its changes of rate counted; for 802.11, data rate times duration.";
    }
}

table! {
    /// A station of an 802.11 channel over the whole run.
    StationTotal,
    /// One row per station, channel by channel, the base station first.
    StationTotals = "station_totals" {
        channel: "index", "Index of the channel.";
        data_frames: "frames", "Data frames sent (an A-MPDU is one), repetitions included.";
        mpdus: "frames", "MPDUs with data sent, repetitions included.";
        rts_frames: "frames", "RTS frames sent.";
        cts_frames: "frames", "CTS frames sent.";
        ack_frames: "frames", "ACK and block ACK frames sent.";
        rts_failures: "", "Attempts that failed because no CTS came.";
        data_failures: "", "Attempts that failed because no ACK came.";
        retried_mpdus: "frames", "MPDUs sent that had been sent before.";
        given_up_packets: "packets", "Packets given up at a retry limit, those included that arrived while every acknowledgment was lost.";
        received_packets: "packets", "Packets received, once each.";
        duplicates: "frames", "MPDUs received that had come before.";
        collisions: "frames", "Frames that could not be read because others overlapped.";
        corrupted: "frames", "Frames and MPDUs for it that the frame error rate struck.";
        airtime_ns: "ns", "Time that it sent.";
    }
}

table! {
    /// One sub-queue at one time.
    SubqueueRow,
    /// Sub-queues over time, of disciplines that have several queues behind one limit: counters are cumulative since
    /// the start of the run. A sub-queue has rows from its first packet on.
    SubqueueSamples = "subqueues" {
        time_ns: "ns", "Time of the sample.";
        queue: "index", "Index of the queue.";
        subqueue: "index", "Index of the sub-queue in its queue.";
        bytes: "bytes", "Waiting bytes.";
        packets: "packets", "Waiting packets.";
        forwarded_bytes: "bytes", "IP bytes that left for the link.";
        forwarded_packets: "packets", "Packets that left for the link.";
        dropped_overflow: "packets", "Dropped because there was no room.";
        dropped_early: "packets", "Dropped by the AQM by chance.";
        dropped_forced: "packets", "Dropped by the AQM by rule.";
        marked: "packets", "Marked CE.";
    }
}

table! {
    /// A sub-queue over the whole run.
    SubqueueTotal,
    /// One row per sub-queue that a packet reached, queue by queue; empty where no discipline has sub-queues.
    SubqueueTotals = "subqueue_totals" {
        queue: "index", "Index of the queue.";
        subqueue: "index", "Index of the sub-queue in its queue.";
        arrived_packets: "packets", "Packets offered to the sub-queue.";
        forwarded_bytes: "bytes", "IP bytes that left for the link.";
        forwarded_packets: "packets", "Packets that left for the link.";
        dropped_overflow: "packets", "Dropped because there was no room.";
        dropped_early: "packets", "Dropped by the AQM by chance.";
        dropped_forced: "packets", "Dropped by the AQM by rule.";
        marked: "packets", "Marked CE.";
        waiting_packets: "packets", "Still waiting when the run ended.";
        delay_samples: "", "Packets whose queueing delay was measured.";
        delay_sum_ns: "ns", "Sum of queueing delays.";
        delay_max_ns: "ns", "Longest queueing delay; none without packets.";
        delay_p50_ns: "ns", "Median queueing delay (histogram, error below 0.8 %).";
        delay_p95_ns: "ns", "95th percentile of queueing delay.";
        delay_p99_ns: "ns", "99th percentile of queueing delay.";
    }
}

table! {
    /// A transfer: of a workload, or a request with its response.
    TransferRow,
    /// One row per transfer of a workload, in their order, then one per request of flows that ask for responses.
    Transfers = "transfers" {
        workload: "index", "Index of the workload; none for a request of a flow.";
        flow: "index", "Index of the flow; none for a transfer of a workload.";
        number: "", "Number of the transfer in its workload or flow, from 0.";
        pair: "index", "Index of the pair of hosts; 0 for a request of a flow.";
        size_bytes: "bytes", "Payload: of the transfer, of the response, or of all objects of a page.";
        start_ns: "ns", "When it began: the connection opened, or the request was written.";
        finished_ns: "ns", "When its last byte was received in order by the application; none if that did not happen.";
        ideal_ns: "ns", "Least time that it would take on an empty path; none across 802.11 channels.";
        delivered_bytes: "bytes", "Payload received by the end of the run; of requests under way, none.";
        retransmitted_packets: "packets", "Segments sent again by the sender of the data; none for requests over a connection that carries several.";
        timeouts: "", "Expiries of its retransmission timer; none likewise.";
    }
}

table! {
    /// A video player over a run.
    PlaybackTotal,
    /// One row per flow with a video.
    PlaybackTotals = "playback_totals" {
        flow: "index", "Index of the flow.";
        segments: "", "Segments received.";
        switches: "", "Segments of another rate than the one before.";
        media_ns: "ns", "Media time received.";
        media_bits: "", "Bits of that media time by the rates of the ladder.";
        started_ns: "ns", "When playback started; none if it did not.";
        stalls: "", "Times that playback stood still.";
        stalled_ns: "ns", "How long it stood still, until the end of the run if it then still did.";
        played_ns: "ns", "Media time played.";
    }
}

table! {
    /// What the impairments of a direction of a link did over a run.
    ImpairmentTotal,
    /// One row per direction with impairments.
    ImpairmentTotals = "impairment_totals" {
        queue: "index", "Index of the direction's queue.";
        duplicated: "packets", "Copies that went onto the wire.";
        reordered: "packets", "Packets that arrived after one that was sent later (RFC 4737, section 3).";
        held: "packets", "Packets held at the far end for a burst.";
        decimated: "packets", "Pure ACKs that decimation dropped; also in `dropped_forced` of the queue.";
        acks_lost: "packets", "Pure ACKs lost on the link; also in `corrupted` of the queue.";
        outage_drops: "packets", "Packets that an outage dropped; also in `dropped_forced` of the queue.";
    }
}

table! {
    /// A flow of datagrams over a run.
    DatagramTotal,
    /// One row per UDP flow whose datagrams have room for a number.
    DatagramTotals = "datagram_totals" {
        flow: "index", "Index of the flow.";
        delay_samples: "", "Datagrams that arrived, once each.";
        delay_sum_ns: "ns", "Sum of their one-way delays, from the sending to the receiving application.";
        delay_min_ns: "ns", "Smallest one-way delay; none without datagrams, as the following.";
        delay_p50_ns: "ns", "Median one-way delay (histogram, error below 0.8 %).";
        delay_p95_ns: "ns", "95th percentile.";
        delay_p99_ns: "ns", "99th percentile.";
        delay_max_ns: "ns", "Largest.";
        jitter_ns: "ns", "Interarrival jitter at the end (RFC 3550, section 6.4.1); none with fewer than two datagrams.";
        late_packets: "packets", "Datagrams that arrived after one that was sent later.";
        duplicate_packets: "packets", "Datagrams that arrived again.";
        frames: "frames", "Frames sent; none for flows without frames, as the following.";
        complete_frames: "frames", "Frames of which every datagram arrived.";
        frame_delay_p50_ns: "ns", "Median delay of complete frames, to the arrival of the last datagram; none without any.";
        frame_delay_p95_ns: "ns", "95th percentile.";
        frame_delay_p99_ns: "ns", "99th percentile.";
    }
}
