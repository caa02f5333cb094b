/** Which queues are drawn as stacks, and where they stand. */

import type { Parsed, RunData } from "../engine/types";
import { radioQueues } from "./air";
import { type Geometry, type Point, RADIUS } from "./geometry";
import type { Layout } from "./layout";
import type { PacketIndex } from "./packet-index";

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
  /** Whether there is no room for the limit beside the number. */
  close: boolean;
  /** The one flow whose packets it holds; null if there are several, or the packets are known one by one. */
  flow: number | null;
}

/** A queue that may be drawn. */
interface Candidate {
  queue: number;
  edge: number | null;
  from: number;
  to: number | null;
  limitPackets: number | null;
  limitBytes: number | null;
}

/** A limit above this many times the longest queue is not drawn to scale. */
const FAR = 4;
/** Most queues that are drawn as stacks. */
const MOST = 8;
/** Queues that never held as many packets are not drawn as stacks, unless they dropped packets. */
const LEAST = 4;
/** Nor are those in which packets waited for less than this share of the time in the longest queue, all added. */
const SHARE = 0.02;
/** Shortest stack, px. */
const SHORTEST = 24;
/** Room for the number at a stack's end, px. */
const NUMBER = 18;
/** A link is level if it rises by less than this share of its length: its stack then stands on it. */
const LEVEL = 0.2;

type Drawn = Omit<Geometry, "stacks">;

/** The queues of a run that matter most, as stacks. */
export function stacksOf(layout: Layout, scenario: Parsed, data: RunData, index: PacketIndex, drawn: Drawn): Stack[] {
  const totals = data.tables.queue_totals?.columns ?? {};
  const total = (column: string, queue: number): number => totals[column]?.values[queue] || 0;
  const chosen = candidates(layout, scenario, data, index);
  const lone = ({ from, to }: Candidate): number | null => {
    const joins = (path: number[]): boolean =>
      path.some((node, i) => (node === from && path[i + 1] === to) || (node === to && path[i + 1] === from));
    const flows = scenario.paths.flatMap((path, flow) => (joins(path) ? [flow] : []));
    return flows.length === 1 ? (flows[0] as number) : null;
  };
  const level = ({ edge }: Candidate): boolean => edge !== null && Math.abs(drawn.lanes[edge]?.along.y ?? 1) < LEVEL;
  const size = { length: Math.min(drawn.narrow ? 70 : 96, drawn.height * 0.3), width: drawn.narrow ? 14 : 22 };
  const beside = new Map<number, number[]>();
  for (const one of chosen) {
    if (level(one)) continue;
    const place = layout.placeOf[one.from] as number;
    beside.set(
      place,
      [...(beside.get(place) ?? []), one.queue].sort((a, b) => a - b),
    );
  }
  return chosen.map((one) => {
    const place = layout.placeOf[one.from] as number;
    const others = beside.get(place) ?? [];
    const frame = level(one)
      ? onLane(drawn, one.edge as number, size)
      : atPlace(layout, drawn, place, others.indexOf(one.queue), others.length, size);
    return {
      queue: one.queue,
      edge: one.edge,
      ...frame,
      ...scaleOf(one, total),
      close: !level(one) && (others.length > 1 || layout.places[place]?.kind === "host"),
      flow: one.edge === null || index.edges[one.edge]?.source ? lone(one) : null,
    };
  });
}

/** What fills a stack, and its limit. */
function scaleOf(
  { queue, limitPackets, limitBytes }: Candidate,
  total: (column: string, queue: number) => number,
): Pick<Stack, "full" | "unit" | "limit" | "words"> {
  const unit = limitPackets === null && limitBytes !== null ? "bytes" : "packets";
  const limit = limitPackets ?? limitBytes;
  const most = Math.max(1, total(unit === "bytes" ? "max_bytes" : "max_packets", queue));
  if (limit === null) return { full: most * 1.1, unit, limit, words: "no limit" };
  const words = unit === "bytes" ? `${Math.round(limit / 1000)} kB` : `${limit}`;
  return limit <= FAR * most ? { full: limit, unit, limit, words } : { full: most * 1.1, unit, limit: null, words };
}

/** The queues that matter, the one with the longest waits first. */
function candidates(layout: Layout, scenario: Parsed, data: RunData, index: PacketIndex): Candidate[] {
  const totals = data.tables.queue_totals?.columns ?? {};
  const total = (column: string, queue: number): number => totals[column]?.values[queue] || 0;
  const dropped = (queue: number): number =>
    total("dropped_overflow", queue) + total("dropped_early", queue) + total("dropped_forced", queue);
  const longest = (totals.delay_sum_ns?.values ?? new Float64Array()).reduce(
    (most, sum) => Math.max(most, sum || 0),
    0,
  );
  // Hosts of a group share one place, where their queues would cover each other.
  const alone = (node: number): boolean => layout.places[layout.placeOf[node] as number]?.nodes.length === 1;
  const wired = index.wires.map(
    ({ from, to, limitPackets, limitBytes }, edge): Candidate => ({
      queue: edge,
      edge,
      from,
      to,
      limitPackets,
      limitBytes,
    }),
  );
  return [...wired, ...radioQueues(scenario.resolved).map((one): Candidate => ({ ...one, edge: null }))]
    .filter(({ queue, from }) => alone(from) && (total("max_packets", queue) >= LEAST || dropped(queue) > 0))
    .filter(({ queue }) => total("delay_sum_ns", queue) >= SHARE * longest || dropped(queue) > 0)
    .sort((a, b) => total("delay_sum_ns", b.queue) - total("delay_sum_ns", a.queue))
    .slice(0, MOST);
}

type Frame = Pick<Stack, "foot" | "up" | "across" | "width" | "length">;
type Size = Pick<Stack, "width" | "length">;

/** A stack that stands at the start of a level lane, on its left. */
function onLane({ lanes, height }: Drawn, edge: number, { width, length }: Size): Frame {
  const { a, along, left } = lanes[edge] ?? { a: { x: 0, y: 0 }, along: { x: 1, y: 0 }, left: { x: 0, y: -1 } };
  const [ahead, aside] = [width / 2 + 3, 5];
  const foot = { x: a.x + along.x * ahead + left.x * aside, y: a.y + along.y * ahead + left.y * aside };
  const room = (left.y < 0 ? foot.y : height - foot.y) - NUMBER;
  return { foot, up: left, across: along, width, length: Math.max(SHORTEST, Math.min(length, room)) };
}

/** One of some stacks at a node: above a router, side by side, or beside a host, at the drawing's edge. */
function atPlace(layout: Layout, drawn: Drawn, place: number, number: number, count: number, size: Size): Frame {
  const { x, y } = drawn.places[place] as Point;
  const width = count > 1 || drawn.narrow ? size.width * 0.7 : size.width;
  const [up, across] = [
    { x: 0, y: -1 },
    { x: 1, y: 0 },
  ];
  if (layout.places[place]?.kind === "host") {
    const side = x > drawn.width / 2 ? 1 : -1;
    const near = drawn.places.filter((other) => other.x === x && other.y !== y).map((other) => Math.abs(other.y - y));
    const length = Math.max(
      SHORTEST,
      Math.min(size.length, y + RADIUS - NUMBER, ...near.map((gap) => gap - NUMBER - 6)),
    );
    const shift = RADIUS + 4 + width / 2 + number * (width + 2);
    return { foot: { x: x + side * shift, y: y + RADIUS }, up, across, width, length };
  }
  const foot = { x: x + (number - (count - 1) / 2) * (width + 8), y: y - RADIUS - 4 };
  return { foot, up, across, width, length: Math.max(SHORTEST, Math.min(size.length, foot.y - NUMBER)) };
}
