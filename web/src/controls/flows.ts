/** Flows as controls show them: the entries of a text's `[[flows]]` with what the resolved scenario says of them. */

import type { Parsed, Resolved } from "../engine/types";
import { baseRtt, direction, hops, routes } from "../model/paths";
import { type Place, places } from "./links";
import { get, isTable, type Path, type Tree } from "./toml";

/** Where a flow's round-trip time can be changed without changing another's. */
export interface Reach {
  /** The table that has the delay. */
  path: Path;
  /** Present delay of its links, s, and how many of them the flow passes. */
  delay: number;
  links: number;
  /** Whether the text has one table for all access links, which must become a list first. */
  split: boolean;
}

/** An entry of `[[flows]]`. */
export interface FlowRow {
  path: Path;
  name: string;
  kind: string;
  copies: number;
  /** Its flows in the resolved scenario; copies and calls have several. */
  flows: number[];
  /** TCP settings of the resolved scenario; null for UDP. */
  tcp: Resolved | null;
  /** Where the congestion control stands or belongs. */
  ccPath: Path;
  /** s */
  start: number;
  /** s; null at the end of the run. */
  stop: number | null;
  /** Rate of the application, b/s; null if it has none. */
  rate: number | null;
  /** Base round-trip time of its first flow, s. */
  rtt: number;
  reach: Reach | null;
}

/** Tables of the text's flows. */
export function tables(tree: Tree): Tree[] {
  return Array.isArray(tree.flows) ? tree.flows.filter(isTable) : [];
}

/** How many flows of the resolved scenario an entry makes. */
function makes(table: Tree): number {
  return Number(table.copies ?? 1) * (table.kind === "call" ? 2 : 1);
}

/** The entries of a text's flows. */
export function rows(tree: Tree, parsed: Parsed): FlowRow[] {
  const { resolved } = parsed;
  const entries = tables(tree);
  const owner: number[] = [];
  const groups = entries.map((table, index) =>
    Array.from({ length: makes(table) }, () => owner.push(index) - 1).filter((flow) => flow in resolved.flows),
  );
  const net: Net = { tree, parsed, spots: places(tree, resolved), users: users(parsed, owner) };
  return entries.flatMap((table, index): FlowRow[] => {
    const flows = groups[index] ?? [];
    const [first] = flows;
    if (first === undefined) return [];
    return [{ ...row(tree, parsed, table, index, first), flows, reach: reach(net, index, flows) }];
  });
}

/** An entry by its table and the first flow that it makes. */
function row(tree: Tree, parsed: Parsed, table: Tree, index: number, first: number): Omit<FlowRow, "flows" | "reach"> {
  const { resolved } = parsed;
  const flow = resolved.flows[first];
  const path: Path = ["flows", index];
  const inner: Path = [...path, "tcp", "cc"];
  const stop = resolved.stops[flow.stop_ns] ?? null;
  return {
    path,
    name: typeof table.name === "string" ? table.name : flow.name,
    kind: typeof table.kind === "string" ? table.kind : "bulk",
    copies: Number(table.copies ?? 1),
    tcp: flow.tcp === null ? null : (resolved.tcps[flow.tcp] ?? null),
    ccPath: get(tree, inner) === undefined ? [...path, "cc"] : inner,
    start: flow.start_ns / 1e9,
    stop: stop === null || stop >= parsed.duration * 1e9 ? null : stop / 1e9,
    rate: "rate" in table ? (resolved.traffics[flow.traffic]?.rate_bps ?? null) : null,
    rtt: baseRtt(parsed, first),
  };
}

/** What finding a flow's own links needs. */
interface Net {
  tree: Tree;
  parsed: Parsed;
  spots: Place[];
  /** The entries whose flows use a link. */
  users: Map<number, Set<number>>;
}

/** The entries that use each link; `owner` has the entry of each flow. */
function users(parsed: Parsed, owner: number[]): Map<number, Set<number>> {
  const found = new Map<number, Set<number>>();
  for (const [flow, route] of routes(parsed).entries()) {
    for (const hop of route) {
      if (hop) found.set(hop.link, (found.get(hop.link) ?? new Set()).add(owner[flow] ?? -1));
    }
  }
  return found;
}

/** Present delay of a link, s. */
function seconds({ resolved }: Parsed, link: number): number {
  return direction(resolved, link, "forward").delay_ns / 1e9;
}

/** Finds links that only one entry's flows use, nearest to its ends first. */
function reach(net: Net, index: number, flows: number[]): Reach | null {
  const { tree, parsed, spots, users } = net;
  const mine = (link: number): boolean => users.get(link)?.size === 1 && users.get(link)?.has(index) === true;
  const route = hops(parsed, flows[0] ?? 0).flatMap((hop) => (hop ? [hop.link] : []));
  const equal = (path: Path): boolean =>
    get(tree, [...path, "forward", "delay"]) === undefined && get(tree, [...path, "reverse", "delay"]) === undefined;
  for (const { path, links } of spots) {
    if (path.at(-1) === "bottleneck" || path.at(-2) === "bottleneck") continue;
    const passed = route.filter((link) => links.includes(link));
    const [first] = passed;
    if (first === undefined || !links.every((link) => mine(link) || !users.has(link)) || !equal(path)) continue;
    return { path, delay: seconds(parsed, first), links: passed.length, split: false };
  }
  return flows.length === 1 ? pair(net, route, mine) : null;
}

/** Access links of the flow's own pair, where one table describes those of all pairs. */
function pair({ tree, parsed, spots }: Net, route: number[], mine: (link: number) => boolean): Reach | null {
  const kind = get(tree, ["topology", "kind"]);
  const spot = spots.find(({ path }) => path.length === 2 && path[1] === "access");
  if (!spot || (kind !== "dumbbell" && kind !== "parking_lot")) return null;
  const passed = route.filter((link) => spot.links.includes(link));
  const numbers = new Set(passed.map((link) => Math.floor(spot.links.indexOf(link) / 2)));
  const [number] = numbers;
  const [first] = passed;
  if (number === undefined || first === undefined || numbers.size !== 1 || !passed.every(mine)) return null;
  return { path: ["topology", "access", number], delay: seconds(parsed, first), links: passed.length, split: true };
}

/** The base round-trip time that a flow has with no delay on the links that are its own, s. */
export function leastRtt({ rtt, reach }: FlowRow): number {
  return reach ? rtt - 2 * reach.links * reach.delay : rtt;
}

/** The delay of the flow's own links for a base round-trip time, s; at least zero. */
export function delayFor({ rtt, reach }: FlowRow, wanted: number): number {
  if (!reach) return 0;
  const exact = reach.delay + (wanted - rtt) / (2 * reach.links);
  return Math.max(0, Math.round(exact * 1e9) / 1e9);
}
