/** Paints what does not move: links with their rates, nodes, labels. */

import { type Geometry, type Point, RADIUS } from "./geometry";
import type { Palette } from "./palette";
import type { Scene } from "./scene";
import type { Stack } from "./stacks";

type Context = CanvasRenderingContext2D;

/** Most width of a label, px. */
const labelWidth = (narrow: boolean): number => (narrow ? 54 : 110);

/** Paints links, nodes and labels. */
export function paintStill(context: Context, scene: Scene, geometry: Geometry, palette: Palette): void {
  const { places, roads, width, height, narrow, dense } = geometry;
  context.clearRect(0, 0, width, height);
  context.lineCap = "round";
  const host = (place: number): boolean => scene.layout.places[place]?.kind === "host";
  for (const { a, b, edge } of roads) {
    const [from, to] = [places[a] as Point, places[b] as Point];
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    context.strokeStyle = edge === null ? palette.rule : palette.road;
    context.lineWidth = edge === null ? 1 : dense && (host(a) || host(b)) ? 4 : 15;
    context.setLineDash(edge === null ? [3, 4] : []);
    context.stroke();
  }
  context.setLineDash([]);
  const small = narrow ? 10 : 11.5;
  context.font = `${small}px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { a, b, edge } of roads) if (edge !== null) paintRates(context, scene, geometry, palette, a, b, edge);
  paintLimits(context, geometry, palette);
  scene.layout.places.forEach(({ kind, label, nodes }, index) => {
    const { x, y } = places[index] as Point;
    context.beginPath();
    if (kind === "router") context.arc(x, y, RADIUS, 0, 2 * Math.PI);
    else context.roundRect(x - RADIUS, y - RADIUS + 2, 2 * RADIUS, 2 * RADIUS - 4, 3);
    context.fillStyle = kind === "router" ? palette.router : palette.host;
    context.fill();
    context.strokeStyle = palette.muted;
    context.lineWidth = nodes.length > 1 ? 2.5 : 1.2;
    context.stroke();
    context.fillStyle = palette.ink;
    paintLabel(context, geometry, label, { x, y }, dense && kind === "host");
  });
}

/** Writes a label below its place, or, where places are close above each other, on the outer side of it. */
function paintLabel(
  context: Context,
  { width, narrow }: Geometry,
  label: string,
  { x, y }: Point,
  aside: boolean,
): void {
  if (!aside) {
    context.fillText(clipped(context, label, labelWidth(narrow)), x, y + RADIUS + 2);
    return;
  }
  const left = x < width / 2;
  const room = (left ? x : width - x) - RADIUS - 5;
  context.textAlign = left ? "right" : "left";
  context.textBaseline = "middle";
  context.fillText(clipped(context, label, room), x + (left ? -1 : 1) * (RADIUS + 3), y);
  context.textAlign = "center";
  context.textBaseline = "top";
}

/** Writes the common limit of stacks that stand side by side, once. */
function paintLimits(context: Context, { stacks, narrow }: Geometry, palette: Palette): void {
  const groups = new Map<number, Stack[]>();
  for (const stack of stacks) {
    if (stack.close) groups.set(stack.foot.y, [...(groups.get(stack.foot.y) ?? []), stack]);
  }
  for (const [y, group] of groups) {
    const words = new Set(group.map((stack) => stack.words));
    const right = Math.max(...group.map(({ foot, width }) => foot.x + width / 2));
    if (group.length < 2 || words.size > 1) continue;
    context.fillStyle = palette.muted;
    context.textAlign = "left";
    context.fillText(
      narrow ? `of ${[...words][0]}` : `of ${[...words][0]} each`,
      right + 5,
      y - (group[0]?.length ?? 0) - 14,
    );
    context.textAlign = "center";
  }
}

/** A text, shortened to a width. */
function clipped(context: Context, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length - 1;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

/** Writes a link's rate and delay below its middle, if there is room. */
function paintRates(
  context: Context,
  scene: Scene,
  { places, narrow }: Geometry,
  palette: Palette,
  a: number,
  b: number,
  edge: number,
): void {
  const [from, to] = [places[a] as Point, places[b] as Point];
  const wire = scene.index.wires[edge];
  const back = scene.index.wires[edge + 1];
  if (!wire || !back) return;
  const [rate, reverse] = [rateWords(wire.rate[0] as number), rateWords(back.rate[0] as number)];
  const varies = wire.rate.length > 1 || wire.approximate === "trace" ? " at first" : "";
  const text = `${rate === reverse ? rate : `${rate} / ${reverse}`}${varies}, ${timeWords(wire.delay[0] as number)}`;
  const half = (place: number): number => {
    const label = clipped(context, scene.layout.places[place]?.label ?? "", labelWidth(narrow));
    return Math.max(RADIUS, context.measureText(label).width / 2);
  };
  const room = Math.abs(to.x - from.x) - half(a) - half(b) - (narrow ? 4 : 12);
  if (Math.abs(to.y - from.y) > 8 || context.measureText(text).width > room) return;
  context.fillStyle = palette.muted;
  context.fillText(text, (from.x + to.x) / 2, (from.y + to.y) / 2 + 12);
}

/** A rate with its unit. */
export function rateWords(bps: number): string {
  for (const [unit, size] of [
    ["Gb/s", 1e9],
    ["Mb/s", 1e6],
    ["kb/s", 1e3],
  ] as const) {
    if (bps >= size) return `${Number((bps / size).toPrecision(3))} ${unit}`;
  }
  return `${bps} b/s`;
}

/** A time with its unit. */
export function timeWords(ns: number): string {
  for (const [unit, size] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ] as const) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${ns} ns`;
}
