/** Metrics of flows, queues and stations over a whole run, from its tables of totals. */

import type { Table } from "../engine/types";
import { controls, type Side } from "./figures";
import { activeNs, jainsIndex, meanMs, rateMbps, ratio, utilisation } from "./formulas";
import { direction } from "./queues";

/** Metrics of a flow; NaN is "no value". Names and definitions as in `narrows run --json`. */
export interface FlowMetrics {
  name: string;
  /** Congestion control; null for UDP. */
  cc: string | null;
  start_s: number;
  active_s: number;
  throughput_mbps: number;
  goodput_mbps: number;
  sent_packets: number;
  delivered_bytes: number;
  lost_packets: number;
  retransmitted_packets: number;
  timeouts: number;
  rtt_mean_ms: number;
  rtt_p95_ms: number;
}

/** Metrics of a queue and of the link behind it. */
export interface QueueMetrics {
  name: string;
  /** Whether it feeds a link; otherwise an 802.11 channel, which others share. */
  wired: boolean;
  arrived_packets: number;
  forwarded_packets: number;
  dropped_packets: number;
  dropped_overflow: number;
  dropped_early: number;
  dropped_forced: number;
  corrupted_packets: number;
  marked_packets: number;
  utilisation: number;
  delay_mean_ms: number;
  delay_p95_ms: number;
  max_packets: number;
}

/** Metrics of a station of an 802.11 channel. */
export interface StationMetrics {
  name: string;
  airtime_ratio: number;
  failure_ratio: number;
  retry_ratio: number;
  mpdus_per_frame: number;
  given_up_packets: number;
}

/** All metrics of a run. */
export interface Metrics {
  flows: FlowMetrics[];
  queues: QueueMetrics[];
  stations: StationMetrics[];
  /** Completion times of the transfers that finished, of workloads and of requests, in order, s. */
  completion_s: Float64Array;
  /** Jain's index of the throughput of the flows that have a congestion control. */
  jain: number;
}

type Row = (column: string) => number;

function rowOf(table: Table | undefined, index: number): Row {
  return (column) => table?.columns[column]?.values[index] ?? Number.NaN;
}

const count = (value: number): number => (Number.isNaN(value) ? 0 : value);

function flowMetrics(name: string, cc: string | undefined, row: Row): FlowMetrics {
  const active = activeNs(row("start_ns"), row("stop_ns"), row("finished_ns"));
  return {
    name,
    cc: cc ?? null,
    start_s: row("start_ns") / 1e9,
    active_s: active / 1e9,
    throughput_mbps: rateMbps(row("arrived_bytes"), active),
    goodput_mbps: rateMbps(row("delivered_bytes"), active),
    sent_packets: row("sent_packets"),
    delivered_bytes: row("delivered_bytes"),
    lost_packets: count(row("lost_packets")),
    retransmitted_packets: row("retransmitted_packets"),
    timeouts: row("timeouts"),
    rtt_mean_ms: meanMs(row("rtt_sum_ns"), count(row("rtt_samples"))),
    rtt_p95_ms: row("rtt_p95_ns") / 1e6,
  };
}

function queueMetrics(name: string, wired: boolean, row: Row): QueueMetrics {
  return {
    name,
    wired,
    arrived_packets: row("arrived_packets"),
    forwarded_packets: row("forwarded_packets"),
    dropped_packets: row("dropped_overflow") + row("dropped_early") + row("dropped_forced"),
    dropped_overflow: row("dropped_overflow"),
    dropped_early: row("dropped_early"),
    dropped_forced: row("dropped_forced"),
    corrupted_packets: row("corrupted"),
    marked_packets: row("marked"),
    utilisation: utilisation(row("forwarded_bytes") - count(row("unsent_bytes")), count(row("capacity_bits"))),
    delay_mean_ms: meanMs(row("delay_sum_ns"), count(row("delay_samples"))),
    delay_p95_ms: row("delay_p95_ns") / 1e6,
    max_packets: row("max_packets"),
  };
}

function stationMetrics(name: string, row: Row, duration: number): StationMetrics {
  const failures = row("rts_failures") + row("data_failures");
  return {
    name,
    airtime_ratio: ratio(row("airtime_ns"), duration * 1e9),
    failure_ratio: ratio(failures, row("data_frames") + row("rts_failures")),
    retry_ratio: ratio(row("retried_mpdus"), row("mpdus")),
    mpdus_per_frame: ratio(row("mpdus"), row("data_frames")),
    given_up_packets: row("given_up_packets"),
  };
}

/** Completion times in order, s. */
function completions(table: Table | undefined): Float64Array {
  const [start, finished] = [table?.columns.start_ns?.values, table?.columns.finished_ns?.values];
  if (!start || !finished) return new Float64Array();
  const times = finished.map((at, i) => (at - (start[i] ?? 0)) / 1e9);
  return times.filter((time) => !Number.isNaN(time)).sort();
}

/** Computes the metrics of a run. */
export function metrics(side: Side): Metrics {
  const { run, resolved, duration } = side;
  const { flow_totals, queue_totals, station_totals, transfers } = run.tables;
  const cc = controls(side);
  const flows = run.names.flows.map((name, i) => flowMetrics(name, cc[i], rowOf(flow_totals, i)));
  return {
    flows,
    queues: run.names.queues.map((name, i) =>
      queueMetrics(name, direction(resolved, i) !== null, rowOf(queue_totals, i)),
    ),
    stations: run.names.stations.map((name, i) => stationMetrics(name, rowOf(station_totals, i), duration)),
    completion_s: completions(transfers),
    jain: jainsIndex(flows.filter((flow) => flow.cc !== null).map((flow) => flow.throughput_mbps)),
  };
}
