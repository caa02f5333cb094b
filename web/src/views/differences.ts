/** The numbers of one run, or of two with their differences, as rows of a table. */

import type { Grid } from "./grid";
import { quantile } from "./groups";
import { arrow } from "./queues";
import type { FlowMetrics, Metrics, QueueMetrics, StationMetrics } from "./totals";
import { mainQueue } from "./verdict";
import { written } from "./words";

/** A metric of one thing. NaN is "no value". */
export interface Row {
  /** What it is of: a flow, a queue, a station, or all flows. */
  of: string;
  metric: string;
  a: number;
  b: number;
}

/** Queues whose packets waited are listed up to this number, the one that matters most first. */
const MOST_QUEUES = 8;

type Measure<T> = [string, (one: T) => number];

const FLOW: Measure<FlowMetrics>[] = [
  ["Goodput (Mb/s)", (one) => one.goodput_mbps],
  ["Mean RTT (ms)", (one) => one.rtt_mean_ms],
  ["95th percentile of RTT (ms)", (one) => one.rtt_p95_ms],
  ["Retransmissions (packets)", (one) => one.retransmitted_packets],
  ["Losses (packets)", (one) => one.lost_packets],
];

const QUEUE: Measure<QueueMetrics>[] = [
  ["Mean queueing delay (ms)", (one) => one.delay_mean_ms],
  ["95th percentile of queueing delay (ms)", (one) => one.delay_p95_ms],
  ["Drops (packets)", (one) => one.dropped_packets],
  ["Marks (packets)", (one) => one.marked_packets],
  ["Utilisation (%)", (one) => 100 * one.utilisation],
];

const STATION: Measure<StationMetrics>[] = [
  ["Airtime (%)", (one) => 100 * one.airtime_ratio],
  ["Attempts without an answer (%)", (one) => 100 * one.failure_ratio],
  ["MPDUs sent again (%)", (one) => 100 * one.retry_ratio],
  ["MPDUs per data frame", (one) => one.mpdus_per_frame],
  ["Given up (packets)", (one) => one.given_up_packets],
];

/** Rows of all flows, of the queues where packets waited, of the stations, and Jain's index. */
export function differences(a: Metrics, b: Metrics | null): Row[] {
  const queues = waiting(a, b);
  return [
    ...completionRows(a, b),
    { of: "All flows", metric: "Jain's index of throughput", a: a.jain, b: b?.jain ?? Number.NaN },
    ...rows(a.flows, b?.flows, FLOW, (name) => name),
    ...rows(
      a.queues.filter(({ name }) => queues.has(name)),
      b?.queues.filter(({ name }) => queues.has(name)),
      QUEUE,
      arrow,
    ),
    ...rows(a.stations, b?.stations, STATION, (name) => `station ${name}`),
  ];
}

/** Completion times, if transfers finished. */
function completionRows(a: Metrics, b: Metrics | null): Row[] {
  if (!a.completion_s.length && !b?.completion_s.length) return [];
  const row = (metric: string, read: (times: Float64Array) => number): Row => ({
    of: "All transfers",
    metric,
    a: read(a.completion_s),
    b: b ? read(b.completion_s) : Number.NaN,
  });
  return [
    row("Finished", (times) => times.length),
    row("Median completion time (s)", (times) => quantile(times, 0.5)),
    row("99th percentile of completion time (s)", (times) => quantile(times, 0.99)),
  ];
}

/** Things of either run, in their order: those of A, then those that only B has. */
function rows<T extends { name: string }>(
  a: T[],
  b: T[] | undefined,
  measures: Measure<T>[],
  named: (name: string) => string,
): Row[] {
  const [left, right] = [new Map(a.map((one) => [one.name, one])), new Map(b?.map((one) => [one.name, one]))];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  return names.flatMap((name) => {
    const [mine, other] = [left.get(name), right.get(name)];
    const value = (of: T | undefined, read: (one: T) => number): number => (of ? read(of) : Number.NaN);
    return measures.map(([metric, read]) => ({
      of: named(name),
      metric,
      a: value(mine, read),
      b: value(other, read),
    }));
  });
}

/** Names of the queues where packets waited longest, in either run. */
function waiting(a: Metrics, b: Metrics | null): Set<string> {
  const weight = new Map<string, number>();
  for (const { name, delay_mean_ms, forwarded_packets, dropped_packets } of [...a.queues, ...(b?.queues ?? [])]) {
    weight.set(name, (weight.get(name) ?? 0) + (delay_mean_ms || 0) * forwarded_packets + dropped_packets);
  }
  const sorted = [...weight].filter(([, value]) => value > 0).sort(([, x], [, y]) => y - x);
  const names = new Set(sorted.slice(0, MOST_QUEUES).map(([name]) => name));
  const main = mainQueue(a.queues);
  if (main) names.add(main.name);
  return names;
}

/** B - A in percent of A; NaN without a value, or if A is zero. */
export function percent({ a, b }: Row): number {
  return a === 0 ? Number.NaN : (100 * (b - a)) / a;
}

const signed = (value: number): string => (value > 0 ? `+${written(value)}` : written(value).replace("-", "−"));

/** The rows as a table; B and the differences only if there are two runs. */
export function differencesGrid(all: Row[], both: boolean): Grid {
  const heads = ["Of", "Metric", "A", ...(both ? ["B", "B − A", "B − A (%)"] : [])];
  return {
    heads,
    rows: all.length,
    cell(index, column) {
      const row = all[index];
      if (!row) return "";
      const cells = [row.of, row.metric, written(row.a), written(row.b), signed(row.b - row.a), signed(percent(row))];
      return cells[column] ?? "";
    },
  };
}

/** The rows for a file: numbers as they are. */
export function exactGrid(all: Row[], both: boolean): Grid {
  const heads = ["of", "metric", "a", ...(both ? ["b", "difference", "percent"] : [])];
  return {
    heads,
    rows: all.length,
    cell(index, column) {
      const row = all[index];
      if (!row) return "";
      return [row.of, row.metric, row.a, row.b, row.b - row.a, percent(row)][column] ?? "";
    },
  };
}
