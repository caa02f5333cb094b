/** Finds the packet at a point of the drawing. */

import type { Geometry, Lane, Point } from "./geometry";
import { eachOnWire, eachWaiting, type PacketIndex, wholeWay } from "./packet-index";
import type { Scene } from "./scene";
import type { Stack } from "./stacks";

/** Distance at which a packet is taken, px. */
const NEAR = 9;

/** Where a packet is on its lane at a time: 0 at the start, 1 at the end. */
export function shareOf(index: PacketIndex, edge: number, row: number, at: number): number {
  const start = index.log.time_ns[row] as number;
  const end = index.lost[row] ? wholeWay(index, edge, row) : (index.arrive[row] as number);
  return (at - start) / Math.max(1, end - start);
}

/** The row of the packet at a point; null if there is none. */
export function picked(scene: Scene, geometry: Geometry, at: number, point: Point): number | null {
  for (const stack of geometry.stacks) {
    const row = inStack(scene, stack, at, point);
    if (row !== null) return row;
  }
  let best: number | null = null;
  let nearest = NEAR;
  geometry.lanes.forEach((lane, edge) => {
    const { ahead, aside } = along(lane, point);
    if (Math.abs(aside) > NEAR || ahead < -NEAR || ahead > lane.length + NEAR) return;
    eachOnWire(scene.index, edge, at, (row) => {
      const distance = Math.hypot(shareOf(scene.index, edge, row, at) * lane.length - ahead, aside);
      if (distance < nearest) [nearest, best] = [distance, row];
    });
  });
  return best;
}

/** A point in a lane's directions: from its start, and to its left. */
function along({ a, along: ahead, left }: Lane, { x, y }: Point): { ahead: number; aside: number } {
  const [dx, dy] = [x - a.x, y - a.y];
  return { ahead: dx * ahead.x + dy * ahead.y, aside: dx * left.x + dy * left.y };
}

function inStack({ index }: Scene, stack: Stack, at: number, { x, y }: Point): number | null {
  const { edge, foot, up, across, width, length, full, unit } = stack;
  const [dx, dy] = [x - foot.x, y - foot.y];
  const height = dx * up.x + dy * up.y;
  const aside = Math.abs(dx * across.x + dy * across.y);
  if (edge === null || index.edges[edge]?.source || height < 0 || height > length || aside > width / 2) return null;
  const wanted = (height / length) * full;
  let held = 0;
  let found: number | null = null;
  eachWaiting(index, edge, at, (row) => {
    const size = unit === "bytes" ? (index.log.bytes[row] as number) : 1;
    if (found === null && wanted < held + size) found = row;
    held += size;
  });
  return found;
}
