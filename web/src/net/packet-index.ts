/**
 * An index of a run's packets: for each direction, those on the wire, those that wait and those that were dropped, sorted
 * by time. Queries search by bisection and visit only the packets in view.
 */

import type { PacketLog, Parsed } from "../engine/types";
import { pairUp } from "./matching";
import { arrival, type Wire, wires } from "./wires";

/** Values of the column `what`. */
export const DEPARTED = 0;
export const DROPPED = 1;
export const CORRUPTED = 2;
export const FRAME = 3;

/** The packets of one direction. */
export interface EdgePackets {
  /** Rows of packets that were sent, by time. */
  sent: Uint32Array;
  /** Latest arrival among a row of `sent` and those before it; null if arrivals are in order, as without impairments. */
  reach: Float64Array | null;
  /** A row of each packet that waited in the queue, in the order in which they left it. */
  waited: Uint32Array;
  /** When each of `waited` entered the queue and left it, ns; infinity for a packet that waits when the run ends. */
  enter: Float64Array;
  leave: Float64Array;
  /** Earliest entry among a packet of `waited` and those after it. */
  floor: Float64Array;
  /** Rows of drops at the queue, and of losses on the wire, by time. */
  dropped: Uint32Array;
  corrupted: Uint32Array;
  /** Whether packets come from a host that sends them. The log does not say when those entered the queue. */
  source: boolean;
}

/** The index of a run. */
export interface PacketIndex {
  log: PacketLog;
  wires: Wire[];
  edges: EdgePackets[];
  /** Arrival of a packet that was sent at the far end of the link, ns; of one that is lost there, half of the way. */
  arrive: Float64Array;
  /** The row of the same packet on its next direction; -1 if there is none. */
  next: Int32Array;
  /** 1 if the packet carries data that was sent before. */
  again: Uint8Array;
  /** 1 if the packet was sent and lost on the wire. */
  lost: Uint8Array;
  /** Time up to which the log reaches, ns: the end of the run unless packets were left out. */
  until: number;
}

/** Builds the index in one pass over the log, and one for each direction's lists. */
export function indexed(log: PacketLog, scenario: Parsed): PacketIndex {
  const all = wires(scenario.resolved);
  const rows = log.time_ns.length;
  const pairs = pairUp(log, scenario, all);
  const edges = lists(log, all, pairs.arrive, pairs.next, pairs.waiting);
  const until = log.left_out > 0 && rows > 0 ? (log.time_ns[rows - 1] as number) : scenario.duration * 1e9;
  const { arrive, next, again, lost } = pairs;
  return { log, wires: all, edges, arrive, next, again, lost, until };
}

/** Rows by direction, for one value of `what`. */
function rowsOf(log: PacketLog, what: number, edges: number): Uint32Array[] {
  const counts = new Uint32Array(edges);
  const rows = log.what.length;
  for (let row = 0; row < rows; row++) {
    if (log.what[row] === what) (counts[log.edge[row] as number] as number)++;
  }
  const all = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let row = 0; row < rows; row++) {
    if (log.what[row] !== what) continue;
    const edge = log.edge[row] as number;
    const list = all[edge];
    if (list) list[counts[edge] as number] = row;
    (counts[edge] as number)++;
  }
  return all;
}

function lists(
  log: PacketLog,
  all: Wire[],
  arrive: Float64Array,
  next: Int32Array,
  waiting: Map<number, number[]>,
): EdgePackets[] {
  const sent = rowsOf(log, DEPARTED, all.length);
  const dropped = rowsOf(log, DROPPED, all.length);
  const corrupted = rowsOf(log, CORRUPTED, all.length);
  const entries = new Float64Array(log.time_ns.length).fill(Number.NaN);
  for (let row = 0; row < next.length; row++) {
    const after = next[row] as number;
    if (after >= 0) entries[after] = arrive[row] as number;
  }
  return all.map((_, edge) => {
    const mine = sent[edge] as Uint32Array;
    const lost = dropped[edge] as Uint32Array;
    const queue = queued(log.time_ns, entries, mine, lost, arrive, waiting.get(edge) ?? []);
    // A direction whose packets come from no other link begins at a host, or at a base station.
    const source = mine.length > 0 && !mine.some((row) => !Number.isNaN(entries[row] as number));
    return {
      sent: mine,
      reach: reach(mine, arrive),
      ...queue,
      dropped: lost,
      corrupted: corrupted[edge] as Uint32Array,
      source,
    };
  });
}

/** The latest arrival so far, if arrivals are out of order. */
function reach(sent: Uint32Array, arrive: Float64Array): Float64Array | null {
  let latest = Number.NEGATIVE_INFINITY;
  let ordered = true;
  for (const row of sent) {
    const at = arrive[row] as number;
    if (at < latest) ordered = false;
    else latest = at;
  }
  if (ordered) return null;
  latest = Number.NEGATIVE_INFINITY;
  return Float64Array.from(sent, (row) => {
    latest = Math.max(latest, arrive[row] as number);
    return latest;
  });
}

/** The packets that waited: those sent and dropped merged by the time at which they left, and those still waiting. */
function queued(
  time: Float64Array,
  entries: Float64Array,
  sent: Uint32Array,
  dropped: Uint32Array,
  arrive: Float64Array,
  waiting: number[],
): Pick<EdgePackets, "waited" | "enter" | "leave" | "floor"> {
  const waits = (row: number): boolean => (entries[row] as number) < (time[row] as number);
  let size = waiting.length;
  for (const row of sent) size += Number(waits(row));
  for (const row of dropped) size += Number(waits(row));
  const waited = new Uint32Array(size);
  const enter = new Float64Array(size);
  const leave = new Float64Array(size);
  let filled = 0;
  const put = (row: number, from: number, to: number): void => {
    waited[filled] = row;
    enter[filled] = from;
    leave[filled] = to;
    filled++;
  };
  for (let i = 0, j = 0; i < sent.length || j < dropped.length; ) {
    const departs = i < sent.length && (j >= dropped.length || (sent[i] as number) < (dropped[j] as number));
    const row = (departs ? sent[i++] : dropped[j++]) as number;
    if (waits(row)) put(row, entries[row] as number, time[row] as number);
  }
  waiting.sort((a, b) => (arrive[a] as number) - (arrive[b] as number));
  for (const row of waiting) put(row, arrive[row] as number, Number.POSITIVE_INFINITY);
  return { waited, enter, leave, floor: earliest(enter) };
}

/** The least of each value and those after it; the values themselves if they are in order. */
function earliest(values: Float64Array): Float64Array {
  if (values.every((value, i) => i === 0 || (values[i - 1] as number) <= value)) return values;
  const floor = Float64Array.from(values);
  for (let i = floor.length - 2; i >= 0; i--) floor[i] = Math.min(floor[i] as number, floor[i + 1] as number);
  return floor;
}

/** The first position in `0..count` for which `after` holds; it holds for all later ones. */
export function bisect(count: number, after: (position: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (after(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Visits the rows of packets that are on a direction's wire, or being sent, at a time. */
export function eachOnWire(index: PacketIndex, edge: number, at: number, visit: (row: number) => void): void {
  const list = index.edges[edge];
  if (!list) return;
  const { sent, reach: far } = list;
  const { arrive } = index;
  const time = index.log.time_ns;
  const first = bisect(sent.length, (i) => (far ? (far[i] as number) : (arrive[sent[i] as number] as number)) > at);
  for (let i = first; i < sent.length; i++) {
    const row = sent[i] as number;
    if ((time[row] as number) > at) break;
    if ((arrive[row] as number) > at) visit(row);
  }
}

/** Visits the rows of packets that wait in a direction's queue at a time, the one that leaves first to begin with. */
export function eachWaiting(index: PacketIndex, edge: number, at: number, visit: (row: number) => void): void {
  const list = index.edges[edge];
  if (!list) return;
  const { waited, enter, leave, floor } = list;
  const first = bisect(waited.length, (i) => (leave[i] as number) > at);
  for (let i = first; i < waited.length && (floor[i] as number) <= at; i++) {
    if ((enter[i] as number) <= at) visit(waited[i] as number);
  }
}

/** Visits the rows of a list by time that lie after `from` and not after `to`. */
export function eachBetween(
  index: PacketIndex,
  list: Uint32Array,
  from: number,
  to: number,
  visit: (row: number) => void,
): void {
  const time = index.log.time_ns;
  const first = bisect(list.length, (i) => (time[list[i] as number] as number) > from);
  for (let i = first; i < list.length; i++) {
    const row = list[i] as number;
    if ((time[row] as number) > to) break;
    visit(row);
  }
}

/** The number of rows of a list by time that are not after `at`. */
export function countUntil(index: PacketIndex, list: Uint32Array, at: number): number {
  const time = index.log.time_ns;
  return bisect(list.length, (i) => (time[list[i] as number] as number) > at);
}

/** When a packet that is sent on a direction arrives at its far end, or would, were it not lost, ns. */
export function wholeWay(index: PacketIndex, edge: number, row: number): number {
  const start = index.log.time_ns[row] as number;
  const wire = index.wires[edge];
  return wire ? arrival(wire, start, index.log.bytes[row] as number) : start;
}

/** The number of packets that a visitor sees. */
export function count(visits: (visit: (row: number) => void) => void): number {
  let seen = 0;
  visits(() => {
    seen++;
  });
  return seen;
}
