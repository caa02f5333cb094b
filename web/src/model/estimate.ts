/** Estimates how long a run will take: packets by the rates of links, and packets per second by former runs. */

import type { Parsed, Resolved, RunData } from "../engine/types";
import { baseRtt, channelRate, hops } from "./paths";

/** Packets per second before any run was measured. */
export const FIRST_SPEED = 3e6;

/** Shortest run whose speed is measured, ms: shorter ones show the overhead of a run instead. */
const MEASURED_MS = 30;

/** Share of an 802.11 channel's data rate that is left after preambles, backoffs and ACKs; roughly. */
const AIR = 0.6;

/** Bits of IP packets that a link carries per second, and how many flows share it. */
function capacities(parsed: Parsed): { rate: Map<string, number>; users: Map<string, number>; routes: string[][] } {
  const { resolved } = parsed;
  const rate = new Map<string, number>();
  const users = new Map<string, number>();
  const routes = parsed.paths.map((nodes, flow) =>
    hops(parsed, flow).map((hop, index) => {
      const station = (node: number | undefined): boolean => node !== undefined && resolved.nodes[node].kind === "host";
      const channel = resolved.wifi.findIndex((one: Resolved) =>
        one.stations.some(({ node }: { node: string }) =>
          [nodes[index], nodes[index + 1]].some((end) => station(end) && resolved.nodes[end ?? 0].name === node),
        ),
      );
      const key = hop ? `${hop.link} ${hop.side}` : `air ${channel}`;
      const bits = hop
        ? resolved.directions[resolved.links[hop.link][hop.side]].rate_bps
        : AIR * (resolved.wifi[channel] ? channelRate(resolved.wifi[channel]) : 1e6);
      rate.set(key, bits);
      users.set(key, (users.get(key) ?? 0) + 1);
      return key;
    }),
  );
  return { rate, users, routes };
}

/** The largest rate of an application, b/s. */
function offered(traffic: Resolved, rtt: number): number {
  if (traffic.rate_bps) return traffic.rate_bps;
  const think = (traffic.think_ns ?? 0) / 1e9 + 2 * rtt;
  const response = typeof traffic.response_bytes === "number" ? traffic.response_bytes : traffic.response?.mean_bytes;
  return response && think > 0 ? (8 * response) / think : Number.POSITIVE_INFINITY;
}

/** Packets that arrive at nodes for each bit of a TCP connection: data, and its ACKs the other way. */
function perBit(tcp: Resolved | null, payload: number): number {
  if (!tcp) return 1 / (8 * (payload + 28));
  return (tcp.delayed_ack ? 1.5 : 2) / (8 * (tcp.mss_bytes + 40));
}

/** Estimates how many packets arrive at nodes in a run, counted at every hop. */
export function packets(parsed: Parsed): number {
  const { resolved, duration } = parsed;
  const { rate, users, routes } = capacities(parsed);
  let total = 0;
  for (const [index, flow] of resolved.flows.entries()) {
    const route = routes[index] ?? [];
    const shares = route.map((key) => (rate.get(key) ?? 0) / (users.get(key) ?? 1));
    const tcp: Resolved | null = flow.tcp === null ? null : resolved.tcps[flow.tcp];
    const traffic = resolved.traffics[flow.traffic];
    const rtt = Math.max(baseRtt(parsed, index), 1e-6);
    const window = Math.min(
      tcp?.max_cwnd_bytes ?? Number.POSITIVE_INFINITY,
      tcp?.recv_buffer_bytes ?? Number.POSITIVE_INFINITY,
    );
    const bits = Math.min(
      offered(traffic, rtt),
      (8 * window) / rtt,
      tcp ? Math.min(...shares) : Number.POSITIVE_INFINITY,
    );
    const stop = Math.min((resolved.stops[flow.stop_ns] ?? 0) / 1e9 || duration, duration);
    const size = traffic.size_bytes ? 8 * traffic.size_bytes : Number.POSITIVE_INFINITY;
    const sent = Math.min(Number.isFinite(bits) ? bits * Math.max(0, stop - flow.start_ns / 1e9) : 0, size);
    total += sent * route.length * perBit(tcp, traffic.payload_bytes ?? 1000);
  }
  return total + resolved.workloads.reduce((sum: number, one: Resolved) => sum + workload(resolved, one, duration), 0);
}

/** Packets of a workload. Its path is not known here: the narrowest link and three hops stand for it. */
function workload(resolved: Resolved, one: Resolved, duration: number): number {
  const narrowest = Math.min(...resolved.directions.map((way: Resolved) => way.rate_bps));
  const mean = (one.size?.mean_bytes ?? 1e5) * (one.objects ?? 1);
  const bits = one.load ? one.load * narrowest : (8 * mean) / ((one.interval_ns ?? 1e9) / 1e9);
  return Math.min(bits, narrowest) * duration * 3 * perBit(one.tcp, 0);
}

/** Columns of the tables with a row per sample (docs/samples.md). */
const COLUMNS = { flow_rows: 20, queue_rows: 11, router_rows: 7, state_rows: 3 } as const;

/** Estimates the memory that a run's samples take at its end, bytes: in the engine, and as columns beside it. */
export function memory({ size }: Pick<Parsed, "size">): number {
  const values = Object.entries(COLUMNS).reduce(
    (sum, [key, columns]) => sum + size[key as keyof typeof COLUMNS] * columns,
    0,
  );
  return 2 * 8 * values;
}

/** Measures runs, and estimates others. Runs that log packets, or call a control of the user's, are kinds of their own. */
export class Speed {
  private readonly measured = new Map<string, number>();

  /** Packets per second of a kind of runs. */
  of(kind: string): number {
    return this.measured.get(kind) ?? Math.min(FIRST_SPEED, ...this.measured.values());
  }

  /** Learns from a run. */
  learn(kind: string, data: Pick<RunData, "packets" | "took_ms">): void {
    if (data.took_ms < MEASURED_MS || data.packets === 0) return;
    const now = (1000 * data.packets) / data.took_ms;
    const before = this.measured.get(kind);
    this.measured.set(kind, before === undefined ? now : (before + now) / 2);
  }
}
