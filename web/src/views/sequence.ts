/** The time-sequence graph of a flow, by tcptrace's conventions: segments, retransmissions, ACKs, SACK blocks, losses. */

import type { PacketLog, Resolved } from "../engine/types";
import { type Custom, type Figure, figure } from "./figure";
import type { Choice, Side } from "./figures";
import { direction } from "./queues";
import { lower } from "./rows";
import { paintSequence, SEQUENCE_WORDS } from "./sequence-paint";

/** Packets of a flow as its sender's first link saw them. Sequence numbers are relative to the first one. */
export interface Sequence {
  /** Segments: when their transmission starts, s. */
  time: Float64Array;
  from: Float64Array;
  to: Float64Array;
  again: Uint8Array;
  lost: Uint8Array;
  marked: Uint8Array;
  /** ACKs: when they reach the sender, s. */
  ackTime: Float64Array;
  ack: Float64Array;
  /** SACK blocks: the ACK that carries each, and its edges. */
  sackOf: Uint32Array;
  sackFrom: Float64Array;
  sackTo: Float64Array;
}

const [DEPARTED, CORRUPTED] = [0, 2];
const [FIN, SYN, ACK, CE] = [1, 2, 16, 3];

/** The direction from one node to another; -1 if no link joins them. */
function edgeBetween(resolved: Resolved, from: number, to: number): number {
  for (const [index, { a, b }] of (resolved.links ?? []).entries()) {
    if (a === from && b === to) return 2 * index;
    if (a === to && b === from) return 2 * index + 1;
  }
  return -1;
}

/** Flows whose packets the log has, and whose sender is at a link. */
export function sequenceFlows({ run, resolved, paths }: Side): string[] {
  const { log } = run;
  if (!log) return [];
  const known = offered.get(log);
  if (known) return known;
  const seen = new Set<number>();
  for (let row = 0; row < log.flow.length; row++)
    if (((log.flags[row] ?? 0) & ACK) !== 0) seen.add(log.flow[row] ?? -1);
  const names = run.names.flows.filter((_, flow) => {
    const path = paths[flow] ?? [];
    const [first, second] = path;
    if (!seen.has(flow) || first === undefined || second === undefined) return false;
    return edgeBetween(resolved, first, second) >= 0;
  });
  offered.set(log, names);
  return names;
}

/** Flows of logs that were looked through. */
const offered = new WeakMap<PacketLog, string[]>();

/** 32-bit sequence numbers as numbers that do not wrap. */
class Unwrapped {
  private last: number | null = null;
  private value = 0;

  constructor(private readonly base: number) {}

  of(number: number): number {
    this.value += (number - (this.last ?? this.base)) | 0;
    this.last = number;
    return this.value;
  }
}

/** Whether the data travels from the flow's `from` to its `to`: the direction with more payload. */
function dataAlong(log: PacketLog, flow: number): number {
  let balance = 0;
  for (let row = 0; row < log.flow.length; row++) {
    if (log.flow[row] === flow && log.what[row] === DEPARTED)
      balance += (log.along[row] ? 1 : -1) * (log.payload[row] ?? 0);
  }
  return balance >= 0 ? 1 : 0;
}

/** Numbers that are collected before their count is known. */
class Growing {
  private values = new Float64Array(1024);
  count = 0;

  push(value: number): void {
    if (this.count === this.values.length) {
      const more = new Float64Array(2 * this.count);
      more.set(this.values);
      this.values = more;
    }
    this.values[this.count++] = value;
  }

  done(): Float64Array {
    return this.values.slice(0, this.count);
  }
}

/** Follows the packets of one flow through the log. */
class Reader {
  readonly time = new Growing();
  readonly from = new Growing();
  readonly to = new Growing();
  readonly again = new Growing();
  readonly ackTime = new Growing();
  readonly ack = new Growing();
  readonly sackOf = new Growing();
  readonly sackFrom = new Growing();
  readonly sackTo = new Growing();
  readonly lost = new Set<number>();
  readonly marked = new Set<number>();
  /** The latest segment with each identity: a retransmission may have that of the segment before. */
  private readonly latest = new Map<number, number>();
  private readonly sent: Unwrapped;
  private readonly acked: Unwrapped;
  private highest = 0;
  private block = 0;

  constructor(
    private readonly log: PacketLog,
    private readonly edge: number,
    private readonly back: ReturnType<typeof direction>,
    private readonly end: number,
    base: number,
  ) {
    this.sent = new Unwrapped(base);
    this.acked = new Unwrapped(base);
  }

  /** A row of the data's direction. */
  data(row: number): void {
    const { log } = this;
    const [what, identity, flags] = [log.what[row] ?? 0, log.identity[row] ?? 0, log.flags[row] ?? 0];
    const sends = (log.payload[row] ?? 0) > 0 || (flags & (SYN | FIN)) !== 0;
    if (sends && log.edge[row] === this.edge && what !== CORRUPTED) {
      const from = this.sent.of(log.seq[row] ?? 0);
      const to = from + Math.max(1, log.payload[row] ?? 0);
      this.latest.set(identity, this.time.count);
      this.time.push((log.time_ns[row] ?? 0) / 1e9);
      this.from.push(from);
      this.to.push(to);
      this.again.push(from < this.highest ? 1 : 0);
      this.highest = Math.max(this.highest, to);
    }
    const segment = this.latest.get(identity);
    if (segment === undefined) return;
    if (what !== DEPARTED) this.lost.add(segment);
    else if (log.ecn[row] === CE) this.marked.add(segment);
  }

  /** An ACK on the last link to the sender: it arrives when it is sent and propagated, unless the run ends first. */
  answer(row: number): void {
    const { log, back } = this;
    const wire = ((log.bytes[row] ?? 0) * 8) / (back?.rate_bps || Number.POSITIVE_INFINITY);
    const here = log.ack[row] ?? 0;
    const arrival = (log.time_ns[row] ?? 0) / 1e9 + wire + (back?.delay_ns ?? 0) / 1e9;
    if (arrival > this.end) return;
    const number = this.acked.of(here);
    while ((log.sack_row[this.block] ?? Number.POSITIVE_INFINITY) < row) this.block += 1;
    for (; log.sack_row[this.block] === row; this.block++) {
      this.sackOf.push(this.ack.count);
      this.sackFrom.push(number + (((log.sack_left[this.block] ?? 0) - here) | 0));
      this.sackTo.push(number + (((log.sack_right[this.block] ?? 0) - here) | 0));
    }
    this.ackTime.push(arrival);
    this.ack.push(number);
  }
}

/** Reads the packets of a flow from the log. */
export function sequence({ run, resolved, paths, duration }: Side, flow: number): Sequence | null {
  const { log } = run;
  if (!log) return null;
  const along = dataAlong(log, flow);
  const path = along ? (paths[flow] ?? []) : [...(paths[flow] ?? [])].reverse();
  const edge = edgeBetween(resolved, path[0] ?? -1, path[1] ?? -1);
  if (edge < 0) return null;
  const rows = rowsOf(log, flow);
  const reader = new Reader(log, edge, direction(resolved, edge ^ 1), duration, baseOf(log, rows, along));
  for (const row of rows) {
    const what = log.what[row] ?? 0;
    if (what > CORRUPTED) continue;
    if (log.along[row] === along) reader.data(row);
    else if (log.edge[row] === (edge ^ 1) && what === DEPARTED && (log.flags[row] ?? 0) & ACK) reader.answer(row);
  }
  const { time, from, to, again, ackTime, ack, sackOf, sackFrom, sackTo, lost, marked } = reader;
  const among = (set: Set<number>): Uint8Array => Uint8Array.from({ length: time.count }, (_, i) => Number(set.has(i)));
  return {
    time: time.done(),
    from: from.done(),
    to: to.done(),
    again: Uint8Array.from(again.done()),
    lost: among(lost),
    marked: among(marked),
    ackTime: ackTime.done(),
    ack: ack.done(),
    sackOf: Uint32Array.from(sackOf.done()),
    sackFrom: sackFrom.done(),
    sackTo: sackTo.done(),
  };
}

function rowsOf(log: PacketLog, flow: number): Uint32Array {
  let count = 0;
  for (let row = 0; row < log.flow.length; row++) if (log.flow[row] === flow) count += 1;
  const rows = new Uint32Array(count);
  count = 0;
  for (let row = 0; row < log.flow.length; row++) if (log.flow[row] === flow) rows[count++] = row;
  return rows;
}

/** The first sequence number of the data's direction: that of the SYN. */
function baseOf(log: PacketLog, rows: Uint32Array, along: number): number {
  for (const row of rows) if (log.along[row] === along && log.what[row] === DEPARTED) return log.seq[row] ?? 0;
  return 0;
}

/** The figure of the chosen flow of A; none if packets are not logged. */
export function sequenceFigure(sides: Side[], choice: Choice): Figure[] {
  const [side] = sides;
  if (!side?.run.log) return [];
  const names = sequenceFlows(side);
  const name = choice.flow !== null && names.includes(choice.flow) ? choice.flow : names[0];
  if (name === undefined) return [];
  const flow = side.run.names.flows.indexOf(name);
  let read: Sequence | null | undefined;
  const custom = customOf(() => {
    if (read === undefined) read = sequence(side, flow);
    return read;
  });
  const left = side.run.log.left_out;
  const cut = left > 0 ? ` ${left.toLocaleString("en")} later packets did not fit in the log.` : "";
  const which = sides.length > 1 ? "Scenario A. " : "";
  const note = `${which}At the sender's first link; sequence numbers are relative. x: lost later on; R: retransmission.${cut}`;
  return [figure({ id: "sequence", title: `Time-sequence graph of ${name}`, unit: "bytes", note, custom })];
}

function customOf(read: () => Sequence | null): Custom {
  return {
    words: SEQUENCE_WORDS,
    get times() {
      return read()?.time ?? new Float64Array();
    },
    range(from, to) {
      const all = read();
      if (!all) return null;
      let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
      for (let i = lower(all.time, from); i < all.time.length && (all.time[i] ?? 0) <= to; i++) {
        [low, high] = [Math.min(low, all.from[i] ?? 0), Math.max(high, all.to[i] ?? 0)];
      }
      for (let i = Math.max(0, lower(all.ackTime, from) - 1); i < all.ack.length && (all.ackTime[i] ?? 0) <= to; i++) {
        [low, high] = [Math.min(low, all.ack[i] ?? 0), Math.max(high, all.ack[i] ?? 0)];
      }
      if (low > high) return null;
      const room = (high - low) * 0.06 || 1;
      return [Math.max(0, low - room), high + room];
    },
    paint(pen, frame) {
      const all = read();
      if (all) paintSequence(pen, frame, all);
    },
    told(time) {
      const all = read();
      if (!all) return [];
      const [segment, ack] = [lower(all.time, time), lower(all.ackTime, time + 1e-12) - 1];
      const out: [string, string][] = [];
      const near =
        segment > 0 && time - (all.time[segment - 1] ?? 0) < (all.time[segment] ?? Infinity) - time
          ? segment - 1
          : segment;
      if (near < all.time.length) out.push([what(all, near), `${whole(all.from[near])} to ${whole(all.to[near])}`]);
      if (ack >= 0) out.push(["ACK", whole(all.ack[ack])]);
      return out;
    },
    grid() {
      const all = read();
      const segments = all?.time.length ?? 0;
      const acks = all?.ack.length ?? 0;
      const rows = segments + acks + (all?.sackOf.length ?? 0);
      return {
        heads: ["Time (s)", "What", "From (bytes)", "To (bytes)"],
        rows,
        cell(row, column) {
          if (!all) return "";
          return cellOf(all, row, segments, acks)[column] ?? "";
        },
      };
    },
  };
}

function cellOf(all: Sequence, row: number, segments: number, acks: number): (string | number)[] {
  if (row < segments) return [all.time[row] ?? 0, what(all, row), all.from[row] ?? 0, all.to[row] ?? 0];
  if (row < segments + acks) {
    const i = row - segments;
    return [all.ackTime[i] ?? 0, "ACK", all.ack[i] ?? 0, all.ack[i] ?? 0];
  }
  const i = row - segments - acks;
  return [all.ackTime[all.sackOf[i] ?? 0] ?? 0, "SACK block", all.sackFrom[i] ?? 0, all.sackTo[i] ?? 0];
}

function what(all: Sequence, i: number): string {
  const words = [all.again[i] ? "retransmission" : "segment"];
  if (all.lost[i]) words.push("lost");
  if (all.marked[i]) words.push("marked CE");
  return words.join(", ");
}

const whole = (value: number | undefined): string => Math.round(value ?? 0).toLocaleString("en");
