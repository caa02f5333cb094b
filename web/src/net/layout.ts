/**
 * Places of a network's nodes: hosts at the edges, routers in the middle, in layers along the flows' paths.
 *
 * A host whose router has routers on both sides hangs above it if it sends, and below it if it receives: the cross
 * traffic of a parking lot. Many hosts of one router are one place.
 */

import type { Parsed, Resolved } from "../engine/types";

/** More hosts than this are grouped. */
const MOST_HOSTS = 40;
/** Most hosts of one router and kind that are drawn one by one when hosts are grouped. */
const FEW = 3;

/** Something drawn: a node, or a group of hosts. */
export interface Place {
  label: string;
  kind: "host" | "router";
  nodes: number[];
  /** Layer, from the left; hanging places lie between layers. */
  layer: number;
  /** Height, 0 at the top and 1 at the bottom. */
  y: number;
}

/** The drawing of a network, without size. */
export interface Layout {
  places: Place[];
  /** The place of each node. */
  placeOf: Int32Array;
  /** Width of the gap to the right of each layer, in any unit. */
  gaps: number[];
  /** Most places above each other in a layer. */
  rows: number;
}

/** The nodes that packets pass, flow by flow; of workloads, the shortest way between each pair. */
export function pathsOf(scenario: Parsed): number[][] {
  const nodes = scenario.resolved.nodes as Resolved[];
  const named = new Map(nodes.map((node, index) => [String(node.name), index]));
  const near = neighbours(scenario.resolved);
  const found = scenario.paths.map((path) => [...path]);
  for (const workload of scenario.resolved.workloads as { pairs?: [string, string][] }[]) {
    for (const [a, b] of workload.pairs ?? []) {
      const path = shortest(near, named.get(a) ?? -1, named.get(b) ?? -1);
      if (path.length > 0) found.push(path);
    }
  }
  return found;
}

/** Nodes that a link or an 802.11 channel joins to each node. */
function neighbours(resolved: Resolved): number[][] {
  const near: number[][] = (resolved.nodes as Resolved[]).map(() => []);
  for (const [a, b] of joined(resolved)) {
    near[a]?.push(b);
    near[b]?.push(a);
  }
  return near;
}

/** Pairs of nodes that a link joins, then those of stations and their bases. */
export function joined(resolved: Resolved): [number, number][] {
  const nodes = resolved.nodes as Resolved[];
  const named = new Map(nodes.map((node, index) => [String(node.name), index]));
  const pairs = (resolved.links as { a: number; b: number }[]).map(({ a, b }): [number, number] => [a, b]);
  for (const channel of resolved.wifi as Resolved[]) {
    for (const station of channel.stations as Resolved[]) {
      pairs.push([named.get(String(channel.base.node)) ?? 0, named.get(String(station.node)) ?? 0]);
    }
  }
  return pairs;
}

function shortest(near: number[][], from: number, to: number): number[] {
  const before = new Map<number, number>([[from, from]]);
  const queue = [from];
  for (const node of queue) {
    if (node === to) break;
    for (const other of near[node] ?? []) {
      if (before.has(other)) continue;
      before.set(other, node);
      queue.push(other);
    }
  }
  if (!before.has(to)) return [];
  const path = [to];
  while (path[0] !== from) path.unshift(before.get(path[0] as number) as number);
  return path;
}

/** Lays a network out. */
export function laidOut(scenario: Parsed): Layout {
  const { resolved } = scenario;
  const nodes = resolved.nodes as { name: string; kind: "host" | "router" }[];
  const paths = pathsOf(scenario);
  const near = neighbours(resolved);
  const layers = layered(nodes.length, paths, near);
  const places = grouped(nodes, near, layers, paths);
  const placeOf = new Int32Array(nodes.length);
  places.forEach((place, index) => {
    for (const node of place.nodes) placeOf[node] = index;
  });
  const routers = places.filter((place) => place.kind === "router").map((place) => place.layer);
  const [first, last] = [Math.min(...routers), Math.max(...routers)];
  const hanging = new Map<number, { above: Place[]; below: Place[] }>();
  const standing: Place[] = [];
  for (const place of places) {
    const only = near[place.nodes[0] as number];
    const router = only?.length === 1 ? places[placeOf[only[0] as number] as number] : undefined;
    const inner = router?.kind === "router" && router.layer > first && router.layer < last;
    if (place.kind === "router" || !router || !inner) {
      standing.push(place);
      continue;
    }
    const side = hanging.get(router.layer) ?? { above: [], below: [] };
    (place.layer < router.layer ? side.above : side.below).push(place);
    hanging.set(router.layer, side);
  }
  const rows = stacked(standing, placeOf, near);
  for (const [layer, { above, below }] of hanging) {
    hang(above, layer, -1);
    hang(below, layer, 1);
  }
  const most = Math.max(0, ...standing.map((place) => place.layer));
  return { places, placeOf, gaps: gapsOf(most, places), rows: hanging.size > 0 ? Math.max(rows, 3) : rows };
}

/** Layers of nodes: those of the longest path count from its start, the others are placed beside known ones. */
function layered(nodes: number, paths: number[][], near: number[][]): Int32Array {
  const unknown = Number.MIN_SAFE_INTEGER;
  const layer: number[] = Array.from({ length: nodes }, () => unknown);
  const known = (node: number | undefined): boolean => node !== undefined && layer[node] !== unknown;
  const open = [...paths].sort((a, b) => b.length - a.length);
  while (open.length > 0) {
    const joins = open.findIndex((path) => path.some(known));
    const [path] = open.splice(Math.max(0, joins), 1);
    if (!path) break;
    const anchors = path.flatMap((node, position) => (known(node) ? [position] : []));
    const [first = 0, last = 0] = [anchors[0], anchors.at(-1)];
    const at = joins < 0 ? 0 : (layer[path[first] as number] as number);
    // A flow that crosses known nodes from right to left is drawn that way. One that only touches a node at the middle of
    // the drawing goes on to the right.
    const back = joins >= 0 && last > first && (layer[path[last] as number] as number) < at;
    path.forEach((node, position) => {
      if (!known(node)) layer[node] = at + (back ? -1 : 1) * (position - first);
    });
  }
  for (let changed = true; changed; ) {
    changed = false;
    near.forEach((others, node) => {
      const other = others.find(known);
      if (known(node) || other === undefined) return;
      layer[node] = (layer[other] as number) - 1;
      changed = true;
    });
  }
  const placed = layer.filter((one) => one !== unknown);
  const least = placed.length > 0 ? Math.min(...placed) : 0;
  return Int32Array.from(layer, (one) => (one === unknown ? 0 : one - least));
}

/** The places: nodes, or, if there are many hosts, groups of those of one router and kind. */
function grouped(
  nodes: { name: string; kind: "host" | "router" }[],
  near: number[][],
  layers: Int32Array,
  paths: number[][],
): Place[] {
  const hosts = nodes.filter((node) => node.kind === "host").length;
  const sends = new Set(paths.map((path) => path[0]));
  const receives = new Set(paths.map((path) => path.at(-1)));
  const groups = new Map<string, number[]>();
  nodes.forEach((node, index) => {
    const single = hosts > MOST_HOSTS && node.kind === "host" && near[index]?.length === 1;
    const key = single ? [near[index]?.[0], layers[index], sends.has(index), receives.has(index)].join() : `n${index}`;
    groups.set(key, [...(groups.get(key) ?? []), index]);
  });
  const places: Place[] = [];
  const put = (label: string, members: number[]): void => {
    const [first = 0] = members;
    places.push({ label, kind: nodes[first]?.kind ?? "host", nodes: members, layer: layers[first] ?? 0, y: 0.5 });
  };
  for (const members of groups.values()) {
    const [first = 0] = members;
    if (members.length <= FEW) {
      for (const node of members) put(nodes[node]?.name ?? "", [node]);
    } else {
      const word = sends.has(first) === receives.has(first) ? "hosts" : sends.has(first) ? "senders" : "receivers";
      put(`${members.length} ${word}`, members);
    }
  }
  return places;
}

/** Spreads the places of each layer over the height, each near those it is joined to. Returns the most in a layer. */
function stacked(places: Place[], placeOf: Int32Array, near: number[][]): number {
  const columns = new Map<number, Place[]>();
  for (const place of places) columns.set(place.layer, [...(columns.get(place.layer) ?? []), place]);
  const spread = (column: Place[]): void => {
    column.forEach((place, index) => {
      place.y = (index + 0.5) / column.length;
    });
  };
  for (const column of columns.values()) spread(column);
  const all = [...columns.keys()].sort((a, b) => a - b);
  // Two sweeps in each direction settle trees, and most networks have no more.
  for (const order of [all, [...all].reverse(), all, [...all].reverse()]) {
    for (const layer of order) {
      const column = columns.get(layer) ?? [];
      const mean = new Map(column.map((place) => [place, middle(place, places, placeOf, near)]));
      column.sort((a, b) => (mean.get(a) as number) - (mean.get(b) as number));
      spread(column);
    }
  }
  return Math.max(1, ...[...columns.values()].map((column) => column.length));
}

/** The mean height of the places that a place is joined to; its own if there are none. */
function middle(place: Place, places: Place[], placeOf: Int32Array, near: number[][]): number {
  const heights = place.nodes
    .flatMap((node) => near[node] ?? [])
    .flatMap((node) => places.find((other) => other.nodes.includes(node)) ?? [])
    .filter((other) => placeOf[other.nodes[0] as number] !== placeOf[place.nodes[0] as number])
    .map((other) => other.y);
  return heights.length > 0 ? heights.reduce((sum, y) => sum + y, 0) / heights.length : place.y;
}

/** Hangs places above (-1) or below (1) a router, senders at its left and receivers at its right. */
function hang(places: Place[], layer: number, side: number): void {
  places.forEach((place, index) => {
    place.layer = layer + side * (0.12 + (0.36 * (index + 1)) / (places.length + 1));
    // Many hang in two rows.
    place.y = 0.5 + side * (places.length > 3 && index % 2 === 1 ? 0.28 : 0.42);
  });
}

/** Gaps between layers: those between routers are wider, because packets and queues are seen there. */
function gapsOf(last: number, places: Place[]): number[] {
  const kinds = Array.from({ length: last + 1 }, (_, layer) =>
    places.some((place) => place.kind === "router" && place.layer === layer),
  );
  return Array.from({ length: last }, (_, layer) => (kinds[layer] && kinds[layer + 1] ? 1.8 : 1));
}
