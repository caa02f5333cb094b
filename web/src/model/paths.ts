/** The links that flows cross in a resolved scenario, with their delays and rates. */

import type { Parsed, Resolved } from "../engine/types";

/** A link that a flow's data crosses, and in which direction. */
export interface Hop {
  link: number;
  side: "forward" | "reverse";
}

/** Routes by scenario, since controls, estimates and views ask for the same ones. */
const known = new WeakMap<Parsed, (Hop | null)[][]>();

/** The hops of each flow: a link with its direction, or null for the air. */
export function routes(parsed: Parsed): (Hop | null)[][] {
  const before = known.get(parsed);
  if (before) return before;
  const { nodes, links } = parsed.resolved;
  const between = new Map<number, Hop>();
  for (const [link, { a, b }] of links.entries()) {
    between.set(a * nodes.length + b, { link, side: "forward" });
    between.set(b * nodes.length + a, { link, side: "reverse" });
  }
  const all = parsed.paths.map((path) =>
    path.slice(1).map((to, index) => between.get((path[index] ?? 0) * nodes.length + to) ?? null),
  );
  known.set(parsed, all);
  return all;
}

/** The hops of a flow. */
export function hops(parsed: Parsed, flow: number): (Hop | null)[] {
  return routes(parsed)[flow] ?? [];
}

/** The direction of a resolved link. */
export function direction(resolved: Resolved, link: number, side: "forward" | "reverse"): Resolved {
  return resolved.directions[resolved.links[link][side]];
}

/** Round-trip time of a flow without queues and transmission, s. */
export function baseRtt(parsed: Parsed, flow: number): number {
  let total = 0;
  for (const hop of hops(parsed, flow)) {
    if (!hop) continue;
    const both = [direction(parsed.resolved, hop.link, "forward"), direction(parsed.resolved, hop.link, "reverse")];
    for (const one of both) total += one.delay_ns;
  }
  return total / 1e9;
}

/** Data rates of one stream with 20 MHz and a guard interval of 800 ns, Mb/s (IEEE 802.11-2016, tables 19-27 and 21-29). */
const MCS = [6.5, 13, 19.5, 26, 39, 52, 58.5, 65, 78, 86.7];
/** Data subcarriers by the width in MHz (the same tables). */
const SUBCARRIERS: Record<number, number> = { 20: 52, 40: 108, 80: 234, 160: 468 };

/** Rate of a channel's data frames, b/s. */
export function channelRate(channel: Resolved): number {
  const { mode } = channel;
  if (mode.kind !== "mcs") return mode.rate_bps ?? 1e6;
  const share = (SUBCARRIERS[mode.width_mhz] ?? 52) / 52;
  return (MCS[mode.mcs] ?? 65) * 1e6 * share * mode.streams * (mode.guard_interval_ns === 400 ? 10 / 9 : 1);
}
