/** Directions of links: their ends, their limits, and when a packet that is sent at a time arrives. */

import type { Resolved } from "../engine/types";

/** One direction of a link. Its index is the `edge` of the packet log: link `edge >> 1`, forward if even. */
export interface Wire {
  from: number;
  to: number;
  /** When each rate and delay begins, ns; the first is 0. */
  since: number[];
  /** Rates, bit/s. */
  rate: number[];
  /** Propagation delays, ns. */
  delay: number[];
  /** Limit of the queue; null if it is in the other unit. */
  limitPackets: number | null;
  limitBytes: number | null;
  /** Why arrivals are approximate: the link follows a trace, or impairments change delays; null if they are exact. */
  approximate: "trace" | "impairments" | null;
}

interface Change {
  at_ns: number;
  rate_bps: number | null;
  delay_ns: number | null;
}

/** The directions of a resolved scenario, two for each link. */
export function wires(resolved: Resolved): Wire[] {
  const directions = resolved.directions as Resolved[];
  return (resolved.links as { a: number; b: number; forward: number; reverse: number }[]).flatMap((link) => [
    wire(link.a, link.b, directions[link.forward]),
    wire(link.b, link.a, directions[link.reverse]),
  ]);
}

function wire(from: number, to: number, direction: Resolved = {}): Wire {
  const since = [0];
  const rate = [Number(direction.rate_bps)];
  const delay = [Number(direction.delay_ns)];
  for (const change of (direction.changes ?? []) as Change[]) {
    since.push(change.at_ns);
    rate.push(change.rate_bps ?? (rate.at(-1) as number));
    delay.push(change.delay_ns ?? (delay.at(-1) as number));
  }
  const approximate = direction.trace ? "trace" : direction.impairments ? "impairments" : null;
  const { limit_packets, limit_bytes } = direction.queue ?? {};
  return {
    from,
    to,
    since,
    rate,
    delay,
    limitPackets: limit_packets ?? null,
    limitBytes: limit_bytes ?? null,
    approximate,
  };
}

/** When a packet whose transmission starts at `start` arrives at the far end, ns; rounded down, as the engine does. */
export function arrival(wire: Wire, start: number, bytes: number): number {
  let now = wire.since.length - 1;
  while (now > 0 && (wire.since[now] as number) > start) now--;
  return start + Math.floor((bytes * 8e9) / (wire.rate[now] as number)) + (wire.delay[now] as number);
}
