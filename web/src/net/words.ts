/** Packets, events and the state of the network in words. */

import { DATA, KINDS, NO_FLOW } from "./air";
import { bisect, CORRUPTED, DROPPED, FRAME } from "./packet-index";
import type { Counts, Scene } from "./scene";
import { timeWords } from "./still";

/** Most directions that a sentence names. */
const MOST_DIRECTIONS = 5;
/** Most events of one instant that a sentence names. */
const MOST_EVENTS = 3;

/** A queue's name as words, such as `r1 to r2`. */
function directionWords(name: string): string {
  return name.replace("->", " to ");
}

/** The state of the network at a time: what holds packets, the most first. */
export function inWords(counts: Counts[], seconds: number): string {
  const busy = counts
    .filter((one) => (one.onWire ?? 0) > 0 || one.waiting > 0)
    .sort((a, b) => (b.onWire ?? 0) + (b.waiting || 0) - (a.onWire ?? 0) - (a.waiting || 0));
  const parts = busy.slice(0, MOST_DIRECTIONS).map(({ name, onWire, waiting }) => {
    const wire = onWire === null ? "" : `${onWire} on the link`;
    const queue = waiting > 0 ? `${waiting} waiting` : "";
    return `${directionWords(name)}: ${[wire, queue].filter(Boolean).join(", ")}`;
  });
  const rest = busy.length - parts.length;
  if (rest > 0) parts.push(`${rest} other ${rest === 1 ? "direction has" : "directions have"} packets`);
  const dropped = counts.reduce((sum, one) => sum + one.dropped, 0);
  const corrupted = counts.reduce((sum, one) => sum + one.corrupted, 0);
  const lost = corrupted > 0 ? `; lost on links so far: ${corrupted}` : "";
  const where = parts.length > 0 ? parts.join("; ") : "no packets in the network";
  return `At ${seconds.toFixed(6)} s: ${where}. Dropped so far: ${dropped}${lost}.`;
}

/** TCP flags that are worth a word. */
const FLAGS: [number, string][] = [
  [2, "SYN"],
  [1, "FIN"],
  [4, "RST"],
];

/** The flag ACK. */
const ACK_FLAG = 16;

/** A packet in words: what it is, its flow, its numbers. */
export function packetWords(scene: Scene, row: number): string {
  const { log, again } = scene.index;
  const owner = scene.data.names.flows[log.flow[row] as number] ?? "a transfer";
  const flags = log.flags[row] as number;
  const payload = log.payload[row] as number;
  const named = FLAGS.filter(([bit]) => flags & bit).map(([, word]) => word);
  const data = `${again[row] ? "retransmission" : "data"} of ${owner}`;
  const what = payload > 0 ? data : `${named.length > 0 ? named.join(" and ") : "ACK"} of ${owner}`;
  const number = (value: number): string => value.toLocaleString("en");
  // Relative to the SYN, if the flow is known: slots of transfers are used again.
  const way = 2 * (log.flow[row] as number) + (log.along[row] as number);
  const relative = (value: number, start = 0): string => number((value - start) >>> 0);
  const parts = [what];
  if (flags !== 0 && payload > 0) parts.push(`sequence number ${relative(log.seq[row] as number, scene.starts[way])}`);
  if (payload === 0 && flags & ACK_FLAG)
    parts.push(`acknowledges ${relative(log.ack[row] as number, scene.starts[way ^ 1])}`);
  parts.push(`${number(log.bytes[row] as number)} bytes`);
  if (log.ecn[row] === 3) parts.push("marked CE");
  return parts.join(", ");
}

/** What a row of the log says, as a sentence. */
function eventWords(scene: Scene, row: number): string {
  const { log } = scene.index;
  const edge = log.edge[row] as number;
  const what = log.what[row];
  if (what === FRAME) return frameWords(scene, row);
  const direction = directionWords(scene.data.names.queues[edge] ?? "");
  const packet = packetWords(scene, row);
  if (what === DROPPED) return `Queue ${direction} drops ${packet}.`;
  if (what === CORRUPTED) return `Link ${direction} loses ${packet}.`;
  return `Link ${direction} starts to send ${packet}.`;
}

function frameWords(scene: Scene, row: number): string {
  const { log } = scene.index;
  const channel = scene.channels[log.edge[row] as number];
  const nodes = scene.scenario.resolved.nodes as { name: string }[];
  const name = (station: number): string => nodes[channel?.nodes[station] ?? -1]?.name ?? "";
  const kind = KINDS[log.kind[row] as number] ?? "";
  const payload = log.kind[row] === DATA && (log.flow[row] as number) < NO_FLOW;
  const carried = payload ? ` with ${packetWords(scene, row)}` : "";
  const [from, to] = [name(log.sender[row] as number), name(log.receiver[row] as number)];
  return `${from} sends ${kind === "data" ? "a data frame" : kind} to ${to} for ${timeWords(log.airtime_ns[row] as number)}${carried}.`;
}

/** The events of an instant, ns, as sentences; empty if there are none. */
export function eventsAt(scene: Scene, at: number): string {
  const time = scene.index.log.time_ns;
  const first = bisect(time.length, (i) => (time[i] as number) >= at);
  const after = bisect(time.length, (i) => (time[i] as number) > at);
  const told: string[] = [];
  for (let row = first; row < Math.min(after, first + MOST_EVENTS); row++) told.push(eventWords(scene, row));
  const rest = after - first - told.length;
  if (rest > 0) told.push(`${rest} other ${rest === 1 ? "event" : "events"} at this time.`);
  return told.join(" ");
}
