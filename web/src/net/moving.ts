/** Paints what moves: packets on links and in queues, drops, and 802.11 frames. */

import { DATA, eachFrame, KINDS, NO_FLOW } from "./air";
import type { Geometry, Lane, Point } from "./geometry";
import { eachBetween, eachOnWire, eachWaiting, wholeWay } from "./packet-index";
import type { Palette } from "./palette";
import { shareOf } from "./pick";
import type { Scene } from "./scene";
import type { Stack } from "./stacks";

type Context = CanvasRenderingContext2D;

/** What a frame shows beside the scene itself. */
export interface View {
  geometry: Geometry;
  palette: Palette;
  /** Simulated time, ns. */
  at: number;
  /** For how long drops and frames stay in view, ns. */
  fall: number;
  /** Flows whose packets are grey, by index. */
  hidden: ReadonlySet<number>;
}

/** Share of `fall` for which a frame stays in view after it has ended, and the longest such time, ns. */
const LINGER = 0.2;
const LONGEST_LINGER = 10e6;

/** For how long a frame stays in view after it has ended, ns. At high speeds, a channel has hundreds in `fall`. */
function lingers({ fall }: View): number {
  return Math.min(LONGEST_LINGER, fall * LINGER);
}
/** Distance over which a dropped packet falls, px. */
const DEPTH = 64;

/** Paints packets, queues, drops and frames at a time. Returns the number of packets painted. */
export function paintMoving(context: Context, scene: Scene, view: View): number {
  const { geometry, at, fall } = view;
  const { index } = scene;
  context.clearRect(0, 0, geometry.width, geometry.height);
  let painted = 0;
  for (const stack of geometry.stacks) painted += paintStack(context, scene, view, stack);
  geometry.lanes.forEach((lane, edge) => {
    painted += paintLane(context, scene, view, lane, edge);
    const list = index.edges[edge];
    if (!list) return;
    const stack = geometry.stacks.find((one) => one.edge === edge);
    const top = stack ? topOf(stack) : lane.a;
    const beside = stack ? stack.width / 2 + 8 : 0;
    eachBetween(index, list.dropped, at - fall, at, (row) => {
      const share = (at - (index.log.time_ns[row] as number)) / fall;
      const away = beside + 16 * share;
      paintFallen(context, scene, view, row, { x: top.x - lane.along.x * away, y: top.y }, share);
    });
    const middle = { x: (lane.a.x + lane.b.x) / 2, y: (lane.a.y + lane.b.y) / 2 };
    // Losses on the wire are found by the time of sending, and seen when half of the way is past.
    const way = (list.sent.length > 0 && longest(scene, edge)) || 0;
    eachBetween(index, list.corrupted, at - fall - way, at, (row) => {
      const lost = lostAt(scene, edge, row);
      if (lost <= at && lost > at - fall) paintFallen(context, scene, view, row, middle, (at - lost) / fall);
    });
  });
  for (const channel of scene.channels) {
    eachFrame(index.log, channel, at - lingers(view), at, (position) =>
      paintFrame(
        context,
        scene,
        view,
        channel.rows[position] as number,
        channel.nodes,
        channel.overlaps[position] === 1,
      ),
    );
  }
  return painted;
}

/** An upper bound of the time from the start of a transmission to its loss on the wire, ns. */
function longest(scene: Scene, edge: number): number {
  const wire = scene.index.wires[edge];
  if (!wire) return 0;
  return (Math.max(...wire.delay) + (65_535 * 8e9) / Math.min(...wire.rate)) / 2;
}

/** When a packet that the wire loses is seen to be lost, ns. */
function lostAt(scene: Scene, edge: number, row: number): number {
  const start = scene.index.log.time_ns[row] as number;
  return start + (wholeWay(scene.index, edge, row) - start) / 2;
}

function flowColour({ palette, hidden }: View, flow: number): string {
  if (hidden.has(flow)) return palette.line;
  return palette.flows[flow % palette.flows.length] ?? palette.muted;
}

/** Paints a packet, with its long side along a vector. */
function paintPacket(
  context: Context,
  scene: Scene,
  view: View,
  row: number,
  at: Point,
  along: Point,
  long: number,
): void {
  const { log, again } = scene.index;
  const colour = flowColour(view, log.flow[row] as number);
  const data = (log.payload[row] as number) > 0;
  context.fillStyle = colour;
  if (!data) {
    context.globalAlpha = 0.55;
    context.beginPath();
    context.arc(at.x, at.y, 1.8, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
  } else {
    const wide = view.geometry.narrow ? 5 : 6;
    // A rectangle turned into the link's direction, without changing the transform.
    const [lx, ly] = [(along.x * long) / 2, (along.y * long) / 2];
    const [wx, wy] = [(-along.y * wide) / 2, (along.x * wide) / 2];
    context.beginPath();
    context.moveTo(at.x - lx - wx, at.y - ly - wy);
    context.lineTo(at.x + lx - wx, at.y + ly - wy);
    context.lineTo(at.x + lx + wx, at.y + ly + wy);
    context.lineTo(at.x - lx + wx, at.y - ly + wy);
    context.closePath();
    context.fill();
    if (again[row]) {
      context.strokeStyle = view.palette.ink;
      context.lineWidth = 1.6;
      context.stroke();
    }
  }
  if (log.ecn[row] === 3) paintRing(context, view, at);
}

function paintRing(context: Context, { palette }: View, at: Point): void {
  context.beginPath();
  context.arc(at.x, at.y, 5.5, 0, 2 * Math.PI);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.stroke();
}

/** Paints the packets of a direction, thinner where many share it. */
function paintLane(context: Context, scene: Scene, view: View, lane: Lane, edge: number): number {
  const { index } = scene;
  const rows: number[] = [];
  eachOnWire(index, edge, view.at, (row) => rows.push(row));
  const long = Math.max(2, Math.min(view.geometry.narrow ? 6 : 8, (0.8 * lane.length) / Math.max(1, rows.length)));
  for (const row of rows) {
    const share = shareOf(index, edge, row, view.at);
    const point = { x: lane.a.x + (lane.b.x - lane.a.x) * share, y: lane.a.y + (lane.b.y - lane.a.y) * share };
    paintPacket(context, scene, view, row, point, lane.along, long);
  }
  return rows.length;
}

/** The middle of a stack's end. */
function topOf({ foot, up, length }: Stack): Point {
  return { x: foot.x + up.x * length, y: foot.y + up.y * length };
}

/** Paints a queue: its packets from the foot, its limit, and how many wait. Returns the number of packets painted. */
function paintStack(context: Context, scene: Scene, view: View, stack: Stack): number {
  const { index, queues } = scene;
  const { palette } = view;
  const { foot, up, across, width, length } = stack;
  const bytes = stack.unit === "bytes";
  const bar = (from: number, to: number, wide: number): void => {
    const [ax, ay] = [(across.x * wide) / 2, (across.y * wide) / 2];
    context.beginPath();
    context.moveTo(foot.x - ax + up.x * from, foot.y - ay + up.y * from);
    context.lineTo(foot.x + ax + up.x * from, foot.y + ay + up.y * from);
    context.lineTo(foot.x + ax + up.x * to, foot.y + ay + up.y * to);
    context.lineTo(foot.x - ax + up.x * to, foot.y - ay + up.y * to);
    context.closePath();
  };
  bar(0, length, width);
  context.fillStyle = palette.panel;
  context.fill();
  let held = 0;
  let number = 0;
  const slot = length / stack.full;
  const gap = !bytes && slot >= 3 ? 0.6 : 0;
  const known = stack.edge !== null && !index.edges[stack.edge]?.source;
  if (known) {
    eachWaiting(index, stack.edge as number, view.at, (row) => {
      const size = bytes ? (index.log.bytes[row] as number) : 1;
      const [low, high] = [held * slot, Math.min(length, (held + size) * slot)];
      bar(low, Math.max(low + 0.4, high - gap), width - 2);
      context.fillStyle = flowColour(view, index.log.flow[row] as number);
      context.globalAlpha = (index.log.payload[row] as number) > 0 ? 1 : 0.55;
      context.fill();
      context.globalAlpha = 1;
      if (slot >= 3 && !bytes) {
        const middle = (low + high - gap) / 2;
        const at = { x: foot.x + up.x * middle, y: foot.y + up.y * middle };
        if (index.again[row]) {
          context.strokeStyle = palette.ink;
          context.lineWidth = 1.2;
          context.stroke();
        }
        if (index.log.ecn[row] === 3) paintRing(context, view, at);
      }
      held += size;
      number++;
    });
  } else {
    held = queues.at(stack.queue, bytes ? "bytes" : "packets", view.at) || 0;
    bar(0, Math.min(length, held * slot), width - 2);
    context.fillStyle = stack.flow === null ? palette.faint : flowColour(view, stack.flow);
    context.fill();
  }
  // Open at the top where the limit is further away than the stack shows.
  bar(0, length, width);
  context.strokeStyle = palette.muted;
  context.lineWidth = 1;
  context.setLineDash(stack.limit === null ? [3, 3] : []);
  context.stroke();
  context.setLineDash([]);
  const value = bytes ? `${Math.round(held / 1000)}` : `${held}`;
  paintCount(context, view, stack, stack.close || stack.words === "no limit" ? value : `${value}/${stack.words}`);
  return number;
}

/** Writes a queue's length and limit at its end. */
function paintCount(context: Context, { palette, geometry }: View, stack: Stack, text: string): void {
  const top = topOf({ ...stack, length: stack.length + 9 });
  context.font = `600 ${geometry.narrow || stack.close ? 10 : 11.5}px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = palette.paper;
  context.lineJoin = "round";
  const x = Math.min(geometry.width - 22, Math.max(22, top.x));
  context.strokeText(text, x, top.y);
  context.fillStyle = palette.ink;
  context.fillText(text, x, top.y);
}

/** Paints a lost packet as it falls, with a cross. */
function paintFallen(context: Context, scene: Scene, view: View, row: number, from: Point, share: number): void {
  const at = { x: from.x, y: from.y + DEPTH * share * share };
  context.save();
  context.globalAlpha = 1 - share * share;
  const size = 5;
  context.fillStyle = flowColour(view, scene.index.log.flow[row] as number);
  context.fillRect(at.x - 4, at.y - 3, 8, 6);
  context.beginPath();
  context.moveTo(at.x - size, at.y - size);
  context.lineTo(at.x + size, at.y + size);
  context.moveTo(at.x + size, at.y - size);
  context.lineTo(at.x - size, at.y + size);
  context.strokeStyle = view.palette.accent;
  context.lineWidth = 2;
  context.stroke();
  context.restore();
}

/** Paints a frame on the air as an arc from its sender to its receiver. */
function paintFrame(context: Context, scene: Scene, view: View, row: number, nodes: number[], overlaps: boolean): void {
  const { log } = scene.index;
  const { geometry, palette, at } = view;
  const place = (station: number): Point | undefined =>
    geometry.places[scene.layout.placeOf[nodes[station] ?? -1] as number];
  const [from, to] = [place(log.sender[row] as number), place(log.receiver[row] as number)];
  if (!from || !to) return;
  const end = (log.time_ns[row] as number) + (log.airtime_ns[row] as number);
  const past = at > end ? (at - end) / lingers(view) : 0;
  const kind = log.kind[row] as number;
  const payload = kind === DATA && (log.payload[row] as number) > 0;
  // Frames of both directions bend to their own left, so that a frame and its answer are two arcs.
  const bend = 0.16;
  const middle = {
    x: (from.x + to.x) / 2 + (to.y - from.y) * bend,
    y: (from.y + to.y) / 2 - (to.x - from.x) * bend,
  };
  context.save();
  context.globalAlpha = Math.max(0, 1 - past) * (payload ? 1 : 0.7);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.quadraticCurveTo(middle.x, middle.y, to.x, to.y);
  const flow = log.flow[row] as number;
  context.strokeStyle = overlaps ? palette.accent : flow < NO_FLOW ? flowColour(view, flow) : palette.muted;
  context.lineWidth = payload ? 3.5 : 1.5;
  context.setLineDash(overlaps ? [6, 4] : []);
  context.stroke();
  context.setLineDash([]);
  const label = { x: (from.x + 2 * middle.x + to.x) / 4, y: (from.y + 2 * middle.y + to.y) / 4 };
  context.font = `10px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = palette.paper;
  // A data frame without payload carries ACKs of TCP.
  const word = kind === DATA && !payload && flow < NO_FLOW ? "TCP ACK" : KINDS[kind];
  const text = overlaps ? `${word} ✕` : `${word}`;
  context.strokeText(text, label.x, label.y);
  context.fillStyle = overlaps ? palette.accent : palette.ink;
  context.fillText(text, label.x, label.y);
  context.restore();
}
