/** A run with what its animation needs, and what is to be seen at a time. */

import type { PacketLog, Parsed, RunData } from "../engine/types";
import { type Channel, channelsOf } from "./air";
import { type Layout, laidOut, pathsOf } from "./layout";
import { count, countUntil, eachOnWire, eachWaiting, indexed, type PacketIndex } from "./packet-index";
import { Samples } from "./samples";

/** What the animation of a run needs. */
export interface Scene {
  scenario: Parsed;
  data: RunData;
  index: PacketIndex;
  channels: Channel[];
  layout: Layout;
  queues: Samples;
  flows: Samples;
  /** First sequence number of each flow, along and against it; NaN if it sent nothing. */
  starts: Float64Array;
  /** Round-trip time of the first path without queues, ns. */
  baseRtt: number;
}

/** Prepares a run with its log; null if it has none. */
export function sceneOf(scenario: Parsed, data: RunData): Scene | null {
  if (!data.log) return null;
  const index = indexed(data.log, scenario);
  return {
    scenario,
    data,
    index,
    channels: channelsOf(data.log, scenario.resolved),
    layout: laidOut(scenario),
    queues: new Samples(data.tables.queues, "queue"),
    flows: new Samples(data.tables.flows, "flow"),
    starts: startsOf(data.log, data.names.flows.length),
    baseRtt: baseRtt(scenario, index),
  };
}

/** First sequence numbers: those of SYN segments, which the engine draws at random. */
function startsOf(log: PacketLog, flows: number): Float64Array {
  const starts = new Float64Array(2 * flows).fill(Number.NaN);
  let left = starts.length;
  for (let row = 0; row < log.flow.length && left > 0; row++) {
    const way = 2 * (log.flow[row] as number) + (log.along[row] as number);
    if (way >= starts.length || !Number.isNaN(starts[way])) continue;
    starts[way] = log.seq[row] as number;
    left--;
  }
  return starts;
}

/** Twice the propagation delays of the first path's links; 10 ms if it has none. */
function baseRtt(scenario: Parsed, index: PacketIndex): number {
  const [path = []] = pathsOf(scenario);
  let sum = 0;
  path.forEach((node, position) => {
    const wire = index.wires.find(({ from, to }) => from === node && to === path[position + 1]);
    sum += 2 * (wire?.delay[0] ?? 0);
  });
  return sum > 0 ? sum : 10e6;
}

/** Latest RTT sample of the first flow that is sending, ns; the base RTT before the first. */
export function rttAt(scene: Scene, at: number): number {
  const flows = scene.scenario.size.flows;
  for (let flow = 0; flow < flows; flow++) {
    const rtt = scene.flows.at(flow, "rtt_ns", at);
    if (rtt > 0) return rtt;
  }
  return scene.baseRtt;
}

/** What a direction or an 802.11 queue holds at a time. */
export interface Counts {
  /** Name of the queue, such as `r1->r2`. */
  name: string;
  /** Packets on the wire; null of an 802.11 queue. */
  onWire: number | null;
  /** Packets that wait; NaN if that is not known yet. */
  waiting: number;
  /** Whether `waiting` is the latest sample instead of the present number. */
  sampled: boolean;
  /** Drops at the queue, and losses on the wire, so far. */
  dropped: number;
  corrupted: number;
}

/** Counts of all queues at a time, ns. */
export function countsAt(scene: Scene, at: number): Counts[] {
  const { index, queues } = scene;
  return scene.data.names.queues.map((name, queue) => {
    const edge = index.edges[queue];
    const sum = (columns: string[]): number =>
      columns.reduce((all, column) => all + (queues.at(queue, column, at) || 0), 0);
    if (!edge) {
      return {
        name,
        onWire: null,
        waiting: queues.at(queue, "packets", at),
        sampled: true,
        dropped: sum(["dropped_overflow", "dropped_early", "dropped_forced"]),
        corrupted: sum(["corrupted"]),
      };
    }
    return {
      name,
      onWire: count((visit) => eachOnWire(index, queue, at, visit)),
      waiting: edge.source ? queues.at(queue, "packets", at) : count((visit) => eachWaiting(index, queue, at, visit)),
      sampled: edge.source,
      dropped: countUntil(index, edge.dropped, at),
      corrupted: countUntil(index, edge.corrupted, at),
    };
  });
}

/** The packets that are on wires or wait, in all. */
export function inView(counts: Counts[]): number {
  return counts.reduce((sum, one) => sum + (one.onWire ?? 0) + (one.waiting || 0), 0);
}
