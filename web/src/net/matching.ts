/** Follows each packet of the log from link to link. */

import type { PacketLog, Parsed } from "../engine/types";
import { arrival, type Wire } from "./wires";

/** What following the packets yields, by row. */
export interface Pairs {
  arrive: Float64Array;
  next: Int32Array;
  again: Uint8Array;
  lost: Uint8Array;
  /** By direction, the rows on earlier links of packets that wait in its queue when the log ends. */
  waiting: Map<number, number[]>;
}

/** TCP flags: SYN. */
const SYN = 2;

/**
 * Packets that were sent towards a node and have not left it, by identity: a hash table with chains, the newest first.
 * Two packets may have one identity (repeated ACKs without timestamps, datagrams without numbers); the oldest is taken.
 */
class Pending {
  private readonly heads: Int32Array;
  private readonly links: Int32Array;
  private readonly mask: number;

  constructor(
    rows: number,
    private readonly same: (row: number, other: number) => boolean,
  ) {
    const size = 1 << Math.max(4, Math.ceil(Math.log2(rows + 1)));
    this.heads = new Int32Array(size).fill(-1);
    this.links = new Int32Array(rows).fill(-1);
    this.mask = size - 1;
  }

  add(row: number, node: number, identity: number): void {
    const slot = this.slot(node, identity);
    this.links[row] = this.heads[slot] as number;
    this.heads[slot] = row;
  }

  /** Takes the oldest packet that `row` continues; -1 if there is none. */
  take(row: number, node: number, identity: number): number {
    const slot = this.slot(node, identity);
    let [found, before] = [-1, -1];
    for (let at = this.heads[slot] as number, last = -1; at >= 0; last = at, at = this.links[at] as number) {
      if (this.same(row, at)) [found, before] = [at, last];
    }
    if (found < 0) return found;
    const after = this.links[found] as number;
    if (before < 0) this.heads[slot] = after;
    else this.links[before] = after;
    return found;
  }

  /** Visits the packets that were not taken. */
  each(visit: (row: number) => void): void {
    for (const head of this.heads) {
      for (let at = head; at >= 0; at = this.links[at] as number) visit(at);
    }
  }

  private slot(node: number, identity: number): number {
    return (identity ^ Math.imul(node + 1, 0x9e3779b1)) & this.mask;
  }
}

/** Follows packets by their identities, and finds when they arrive. */
export function pairUp(log: PacketLog, scenario: Parsed, wires: Wire[]): Pairs {
  const rows = log.time_ns.length;
  const arrive = new Float64Array(rows).fill(Number.NaN);
  const next = new Int32Array(rows).fill(-1);
  const again = new Uint8Array(rows);
  const lost = lostRows(log, wires.length);
  const ends = endsOf(log, scenario);
  const pending = new Pending(
    rows,
    (row, other) =>
      log.identity[row] === log.identity[other] &&
      log.flow[row] === log.flow[other] &&
      log.along[row] === log.along[other] &&
      wires[log.edge[row] as number]?.from === wires[log.edge[other] as number]?.to,
  );
  const retransmitted = retransmissions(log);
  const follow = (before: number, row: number): void => {
    const time = log.time_ns[row] as number;
    next[before] = row;
    again[row] = again[before] as number;
    const inexact = wires[log.edge[before] as number]?.approximate;
    // The next link sends at once if it is idle, so its time is the better estimate where arrivals are approximate.
    if (inexact || (arrive[before] as number) > time) arrive[before] = time;
  };
  for (let row = 0; row < rows; row++) {
    const what = log.what[row] as number;
    const wire = wires[log.edge[row] as number];
    if (what > 1 || !wire) continue;
    const time = log.time_ns[row] as number;
    const before = pending.take(row, wire.from, log.identity[row] as number);
    if (before >= 0) follow(before, row);
    else if (retransmitted(row)) again[row] = 1;
    if (what === 1) continue;
    const end = arrival(wire, time, log.bytes[row] as number);
    arrive[row] = lost[row] ? time + (end - time) / 2 : end;
    if (!lost[row] && !ends(row, wire.to)) pending.add(row, wire.to, log.identity[row] as number);
  }
  const end = log.left_out > 0 ? (log.time_ns[rows - 1] as number) : scenario.duration * 1e9;
  return { arrive, next, again, lost, waiting: stillWaiting(log, end, arrive, next, pending) };
}

/**
 * The packets that have arrived at a node and not left it when the log ends, by the direction that they wait for: the one
 * that the latest packet of their flow from the same link took.
 */
function stillWaiting(
  log: PacketLog,
  end: number,
  arrive: Float64Array,
  next: Int32Array,
  pending: Pending,
): Map<number, number[]> {
  const wayOf = (row: number): number =>
    ((log.edge[row] as number) * 2 + (log.along[row] as number)) * 0x1_0000_0000 + (log.flow[row] as number);
  const byWay = new Map<number, number[]>();
  pending.each((row) => {
    if ((arrive[row] as number) > end) return;
    const list = byWay.get(wayOf(row));
    if (list) list.push(row);
    else byWay.set(wayOf(row), [row]);
  });
  const waiting = new Map<number, number[]>();
  for (let row = next.length - 1; row >= 0 && byWay.size > 0; row--) {
    const after = next[row] as number;
    if (after < 0) continue;
    const list = byWay.get(wayOf(row));
    if (!list) continue;
    byWay.delete(wayOf(row));
    const edge = log.edge[after] as number;
    waiting.set(edge, [...(waiting.get(edge) ?? []), ...list]);
  }
  return waiting;
}

/** Marks the rows of packets that were sent and then lost on the wire: a loss follows the start of its transmission. */
function lostRows(log: PacketLog, edges: number): Uint8Array {
  const lost = new Uint8Array(log.what.length);
  const latest = new Int32Array(edges).fill(-1);
  for (let row = 0; row < lost.length; row++) {
    const edge = log.edge[row] as number;
    if (log.what[row] === 0) latest[edge] = row;
    const sent = latest[edge] as number;
    if (log.what[row] === 2 && sent >= 0 && log.identity[sent] === log.identity[row]) lost[sent] = 1;
  }
  return lost;
}

/** Says whether a packet has reached its end at a node: the end of its flow's path, or, for workloads, any host. */
function endsOf(log: PacketLog, scenario: Parsed): (row: number, node: number) => boolean {
  const { paths } = scenario;
  const hosts = (scenario.resolved.nodes as { kind: string }[]).map((node) => node.kind === "host");
  return (row, node) => {
    const path = paths[log.flow[row] as number];
    return path ? node === (log.along[row] ? path.at(-1) : path[0]) : hosts[node] === true;
  };
}

/** Says, asked for rows in order, whether a packet that enters the network carries data that was sent before. */
function retransmissions(log: PacketLog): (row: number) => boolean {
  /** By flow and way: the sequence number after the highest that was sent. */
  const highest = new Map<number, number>();
  return (row) => {
    const payload = log.payload[row] as number;
    const flags = log.flags[row] as number;
    const way = (log.flow[row] as number) * 2 + (log.along[row] as number);
    // The slots of finished transfers are used again: a SYN begins a connection. Datagrams have no sequence numbers.
    if (flags & SYN) highest.delete(way);
    if (payload === 0 || flags === 0) return false;
    const seq = log.seq[row] as number;
    const top = highest.get(way);
    if (top !== undefined && ((seq - top) | 0) < 0) return true;
    highest.set(way, (seq + payload) >>> 0);
    return false;
  };
}
