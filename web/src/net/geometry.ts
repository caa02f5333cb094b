/** The drawing of a network in pixels: places, lanes of directions, and stacks of queues. */

import type { Parsed, RunData } from "../engine/types";
import { joined, type Layout } from "./layout";
import type { PacketIndex } from "./packet-index";
import { type Stack, stacksOf } from "./stacks";

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

/** A network in pixels. */
export interface Geometry {
  width: number;
  height: number;
  /** Whether there is little room: labels are short and packets small. */
  narrow: boolean;
  /** Whether places are close above each other: labels are then beside hosts, and their links thin. */
  dense: boolean;
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
/** Distance of places above each other below which the drawing is dense, px. */
const CLOSE = 34;

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
  const dense = (height - 44) / layout.rows < CLOSE;
  // Queues of 802.11 stations and labels of dense drawings stand beside hosts.
  const beside = scenario.resolved.wifi.length > 0 || (dense && narrow);
  const margin = (narrow ? 26 : 48) + (beside ? 16 : 0);
  const places = placed(layout, width, height, margin);
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
  const drawn = { width, height, narrow, dense, places, lanes, roads };
  return { ...drawn, stacks: stacksOf(layout, scenario, data, index, drawn) };
}

function placed(layout: Layout, width: number, height: number, margin: number): Point[] {
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
