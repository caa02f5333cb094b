/** Frames on 802.11 channels, with those that overlap. */

import type { PacketLog, Resolved } from "../engine/types";
import { bisect, FRAME } from "./packet-index";

/** Words for kinds of frames, by the column `kind`. */
export const KINDS = ["RTS", "CTS", "data", "ACK"];

/** The kind of data frames. */
export const DATA = 2;

/** The flow of a frame without a packet. */
export const NO_FLOW = 0xffff_ffff;

/** The frames of one channel. */
export interface Channel {
  name: string;
  /** Node of each station, the base first. */
  nodes: number[];
  /** Rows of frames, by time. */
  rows: Uint32Array;
  /** 1 if another station's frame is on the air at the same time. */
  overlaps: Uint8Array;
  /** Longest airtime, ns. */
  longest: number;
}

/** A queue in front of a channel, of which only samples are known. */
export interface RadioQueue {
  /** Index in the table `queues`. */
  queue: number;
  from: number;
  /** Node that it leads to; null if it leads to all stations. */
  to: number | null;
  limitPackets: number | null;
  limitBytes: number | null;
}

/** The channels of a run. */
export function channelsOf(log: PacketLog, resolved: Resolved): Channel[] {
  const named = new Map((resolved.nodes as Resolved[]).map((node, index) => [String(node.name), index]));
  return (resolved.wifi as Resolved[]).map((channel, number) => {
    const stations = [channel.base, ...(channel.stations as Resolved[])];
    const rows: number[] = [];
    for (let row = 0; row < log.what.length; row++) {
      if (log.what[row] === FRAME && log.edge[row] === number) rows.push(row);
    }
    const longest = rows.reduce((most, row) => Math.max(most, log.airtime_ns[row] as number), 0);
    return {
      name: String(channel.name),
      nodes: stations.map((station) => named.get(String(station.node)) ?? 0),
      rows: Uint32Array.from(rows),
      overlaps: overlapping(log, rows),
      longest,
    };
  });
}

/** Marks frames that are on the air together with another station's. */
function overlapping(log: PacketLog, rows: number[]): Uint8Array {
  const marks = new Uint8Array(rows.length);
  let live: number[] = [];
  rows.forEach((row, position) => {
    const start = log.time_ns[row] as number;
    live = live.filter((other) => {
      const before = rows[other] as number;
      return (log.time_ns[before] as number) + (log.airtime_ns[before] as number) > start;
    });
    for (const other of live) {
      if (log.sender[rows[other] as number] !== log.sender[row]) {
        marks[other] = 1;
        marks[position] = 1;
      }
    }
    live.push(position);
  });
  return marks;
}

/** Visits the frames that are on the air at some time after `from` and not after `to`: positions in `rows`. */
export function eachFrame(
  log: PacketLog,
  channel: Channel,
  from: number,
  to: number,
  visit: (position: number) => void,
): void {
  const { rows } = channel;
  const start = (position: number): number => log.time_ns[rows[position] as number] as number;
  for (let i = bisect(rows.length, (at) => start(at) > from - channel.longest); i < rows.length; i++) {
    if (start(i) > to) break;
    if (start(i) + (log.airtime_ns[rows[i] as number] as number) > from) visit(i);
  }
}

/** The queues in front of channels, in the order of the table `queues`: they follow those of links. */
export function radioQueues(resolved: Resolved): RadioQueue[] {
  const named = new Map((resolved.nodes as Resolved[]).map((node, index) => [String(node.name), index]));
  const found: RadioQueue[] = [];
  let queue = 2 * (resolved.links as unknown[]).length;
  const put = (station: Resolved, to: number | null): void => {
    const { limit_packets, limit_bytes } = station.queue;
    const from = named.get(String(station.node)) ?? 0;
    found.push({ queue: queue++, from, to, limitPackets: limit_packets ?? null, limitBytes: limit_bytes ?? null });
  };
  for (const channel of resolved.wifi as Resolved[]) {
    const stations = channel.stations as Resolved[];
    const node = (station: Resolved): number => named.get(String(station.node)) ?? 0;
    if (channel.queues === "per_station") for (const station of stations) put(channel.base, node(station));
    else put(channel.base, null);
    for (const station of stations) put(station, node(channel.base));
  }
  return found;
}
