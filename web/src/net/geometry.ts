/** The drawing of a network in pixels: places, lanes of directions, and stacks of queues. */

import type { Parsed, RunData } from "../engine/types";
import { radioQueues } from "./air";
import { joined, type Layout } from "./layout";
import type { PacketIndex } from "./packet-index";

/** A point, px. */
export interface Point {
  x: number;
  y: number;
}

/** The line along which a direction's packets move. */
export interface Lane {
  a: Point;
  b: Point;
  /** Unit vector from `a` to `b`, and the one to its left, where the direction's queue is. */
  along: Point;
  left: Point;
  length: number;
}

/** A queue that is drawn as a stack. */
export interface Stack {
  /** Index in the table `queues`. */
  queue: number;
  /** The direction that it leads to; null of an 802.11 queue. */
  edge: number | null;
  /** Middle of its foot, the way in which it grows, and the way to its right. */
  foot: Point;
  up: Point;
  across: Point;
  width: number;
  length: number;
  /** What fills its length: packets, or bytes. */
  full: number;
  unit: "packets" | "bytes";
  /** The limit in that unit; null if it lies beyond what the stack shows. */
  limit: number | null;
  /** The limit in words. */
  words: string;
}

/** A network in pixels. */
export interface Geometry {
  width: number;
  height: number;
  /** Whether there is little room: labels are short and packets small. */
  narrow: boolean;
  places: Point[];
  lanes: Lane[];
  /** Lines between places, each once: pairs of places, with the direction that goes first. */
  roads: { a: number; b: number; edge: number | null }[];
  stacks: Stack[];
}

/** Radius of a router, and half the width of a host, px. */
export const RADIUS = 10;
/** Distance of a lane from the middle of its link, px. */
const LANE = 4;
/** Width below which the drawing is narrow, px. */
const NARROW = 560;
/** A limit above this many times the longest queue is not drawn to scale. */
const FAR = 4;

/** The height that a layout needs at a width, px. */
export function heightOf(layout: Layout, width: number): number {
  return Math.round(Math.min(520, Math.max(width < NARROW ? 260 : 300, layout.rows * 44 + 60)));
}

/** Draws a layout to scale. */
export function geometryOf(
  layout: Layout,
  scenario: Parsed,
  data: RunData,
  index: PacketIndex,
  width: number,
): Geometry {
  const height = heightOf(layout, width);
  const narrow = width < NARROW;
  const places = placed(layout, width, height, narrow);
  const lanes = index.wires.map(({ from, to }) => {
    const [a, b] = [places[layout.placeOf[from] as number], places[layout.placeOf[to] as number]];
    return lane(a as Point, b as Point, LANE);
  });
  const seen = new Set<string>();
  const roads: Geometry["roads"] = [];
  joined(scenario.resolved).forEach(([from, to], link) => {
    const [a, b] = [layout.placeOf[from] as number, layout.placeOf[to] as number];
    const key = `${Math.min(a, b)},${Math.max(a, b)}`;
    if (seen.has(key)) return;
    seen.add(key);
    roads.push({ a, b, edge: link < lanes.length / 2 ? link * 2 : null });
  });
  const size = { length: Math.min(narrow ? 70 : 96, height * 0.3), width: narrow ? 14 : 22 };
  return {
    width,
    height,
    narrow,
    places,
    lanes,
    roads,
    stacks: stacksOf(scenario, data, index, lanes, places, layout, size),
  };
}

function placed(layout: Layout, width: number, height: number, narrow: boolean): Point[] {
  const margin = narrow ? 26 : 48;
  const whole = layout.gaps.reduce((sum, gap) => sum + gap, 0);
  const scale = whole > 0 ? (width - 2 * margin) / whole : 0;
  const start = whole > 0 ? margin : width / 2;
  const place = (layer: number): number => {
    const full = Math.floor(layer);
    const before = layout.gaps.slice(0, full).reduce((sum, gap) => sum + gap, 0);
    return start + (before + (layer - full) * (layout.gaps[full] ?? 1)) * scale;
  };
  return layout.places.map(({ layer, y }) => ({ x: place(layer), y: 14 + y * (height - 44) }));
}

function lane(from: Point, to: Point, offset: number): Lane {
  const distance = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const along = { x: (to.x - from.x) / distance, y: (to.y - from.y) / distance };
  const left = { x: along.y, y: -along.x };
  const shift = (point: Point, by: number): Point => ({
    x: point.x + along.x * by + left.x * offset,
    y: point.y + along.y * by + left.y * offset,
  });
  const room = Math.min(RADIUS + 1, distance / 3);
  return { a: shift(from, room), b: shift(to, -room), along, left, length: distance - 2 * room };
}

/** A queue that may be drawn. */
interface Candidate {
  queue: number;
  edge: number | null;
  from: number;
  limitPackets: number | null;
  limitBytes: number | null;
}

/** Most queues that are drawn as stacks. */
const MOST = 8;
/** Queues that never held as many packets are not drawn as stacks, unless they dropped packets. */
const LEAST = 4;
/** Nor are those in which packets waited for less than this share of the time in the longest queue, all added. */
const SHARE = 0.02;

function stacksOf(
  scenario: Parsed,
  data: RunData,
  index: PacketIndex,
  lanes: Lane[],
  places: Point[],
  layout: Layout,
  size: { length: number; width: number },
): Stack[] {
  const totals = data.tables.queue_totals?.columns ?? {};
  const total = (column: string, queue: number): number => totals[column]?.values[queue] || 0;
  const dropped = (queue: number): number =>
    total("dropped_overflow", queue) + total("dropped_early", queue) + total("dropped_forced", queue);
  const wired = index.wires.map(
    ({ from, limitPackets, limitBytes }, edge): Candidate => ({ queue: edge, edge, from, limitPackets, limitBytes }),
  );
  const longest = Math.max(0, ...(totals.delay_sum_ns?.values ?? []).filter((sum) => sum > 0));
  // Hosts of a group share one place, where their queues would cover each other.
  const alone = (node: number): boolean => layout.places[layout.placeOf[node] as number]?.nodes.length === 1;
  const chosen = [...wired, ...radioQueues(scenario.resolved).map((one): Candidate => ({ ...one, edge: null }))]
    .filter(({ queue, from }) => alone(from) && (total("max_packets", queue) >= LEAST || dropped(queue) > 0))
    .filter(({ queue }) => total("delay_sum_ns", queue) >= SHARE * longest || dropped(queue) > 0)
    .sort((a, b) => total("delay_sum_ns", b.queue) - total("delay_sum_ns", a.queue))
    .slice(0, MOST);
  const radio = new Map<number, number[]>();
  for (const { edge, from, queue } of chosen) if (edge === null) radio.set(from, [...(radio.get(from) ?? []), queue]);
  for (const queues of radio.values()) queues.sort((a, b) => a - b);
  return chosen.map((one) => {
    const unit = one.limitPackets === null && one.limitBytes !== null ? "bytes" : "packets";
    const limit = one.limitPackets ?? one.limitBytes;
    const most = Math.max(1, total(unit === "bytes" ? "max_bytes" : "max_packets", one.queue));
    const shown = limit !== null && limit <= FAR * most;
    const frame = one.edge === null ? onAir(one, radio, places, layout, size) : onWire(lanes[one.edge], size);
    return {
      queue: one.queue,
      edge: one.edge,
      ...frame,
      length: size.length,
      full: shown ? limit : most * 1.1,
      unit,
      limit: shown ? limit : null,
      words: limit === null ? "no limit" : unit === "bytes" ? `${Math.round(limit / 1000)} kB` : `${limit}`,
    };
  });
}

type Frame = Pick<Stack, "foot" | "up" | "across" | "width">;

/** A direction's stack stands at the start of its lane, on its left. */
function onWire(lane: Lane | undefined, { width }: { width: number }): Frame {
  const { a, along, left } = lane ?? { a: { x: 0, y: 0 }, along: { x: 1, y: 0 }, left: { x: 0, y: -1 } };
  const [ahead, aside] = [width / 2 + 3, 5];
  const foot = { x: a.x + along.x * ahead + left.x * aside, y: a.y + along.y * ahead + left.y * aside };
  return { foot, up: left, across: along, width };
}

/** Stacks of 802.11 queues stand above their station, side by side. */
function onAir(
  { from, queue }: Candidate,
  radio: Map<number, number[]>,
  places: Point[],
  layout: Layout,
  size: { width: number },
): Frame {
  const queues = radio.get(from) ?? [queue];
  const width = queues.length > 1 ? size.width * 0.7 : size.width;
  const shift = (queues.indexOf(queue) - (queues.length - 1) / 2) * (width + 4);
  const { x, y } = places[layout.placeOf[from] as number] ?? { x: 0, y: 0 };
  return { foot: { x: x + shift, y: y - RADIUS - 4 }, up: { x: 0, y: -1 }, across: { x: 1, y: 0 }, width };
}
