/** The calls of a user's controls in a run: what the list and the table show of them. */

import { ACK, CONGESTION, SWITCHES } from "../engine/own";
import type { Call } from "../engine/types";

/** Values of the window, as `Call.after` has them. */
export const WINDOW = ["cwnd", "ssthresh", "pacing_rate"] as const;

/** Words that values index, as the engine's `hooks()` gives them. */
export interface Words {
  kinds: string[];
  phases: string[];
}

/** When a call was made, s. */
export function timeOf(call: Call): number {
  return call.before.now_s ?? 0;
}

/** Index of the last call at or before a time; 0 if all are later. Calls are in the order of time. */
export function indexAt(calls: Call[], time: number): number {
  let low = 0;
  let high = calls.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const call = calls[middle];
    if (call && timeOf(call) <= time) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** A value as text, as the hook's argument has it. */
export function written(name: string, value: number, words: Words): string {
  if (Number.isNaN(value)) return "null";
  if (SWITCHES.has(name)) return String(value === 1);
  if (name === "phase") return words.phases[value] ?? String(value);
  if (name === "kind") return words.kinds[value] ?? String(value);
  return String(Number(value.toPrecision(9)));
}

/** A row of the table of a call. */
export interface Row {
  /** `ack`, `event`, `path` or `win`. */
  argument: string;
  name: string;
  before: string;
  /** After the call; of the window alone. */
  after: string | null;
}

/** All values of a call: the window first, then what the hook was called with, then the path. */
export function rows(call: Call, words: Words): Row[] {
  const kind = call.before.argument;
  const first = kind === 1 ? ACK : kind === 2 ? CONGESTION : [];
  const plain = (argument: string, key: string): Row => ({
    argument,
    name: key.replace("path.", ""),
    before: written(key.replace("path.", ""), call.before[key] ?? Number.NaN, words),
    after: null,
  });
  const window = WINDOW.map((name, index) => ({
    argument: "win",
    name,
    before: written(name, call.before[name] ?? Number.NaN, words),
    after: written(name, call.after[index] ?? Number.NaN, words),
  }));
  const others = new Set<string>([...WINDOW, ...ACK, ...CONGESTION, "argument"]);
  const path = Object.keys(call.before).filter((name) => !others.has(name));
  return [
    ...window,
    ...first.map((name) => plain(kind === 1 ? "ack" : "event", name)),
    ...path.map((name) => plain("path", name)),
  ];
}

/** Rows of a list that are drawn: a screenful and a few more, however many there are. */
export function visible(scroll: number, height: number, row: number, count: number): { from: number; to: number } {
  const spare = 5;
  const from = Math.max(0, Math.floor(scroll / row) - spare);
  return { from, to: Math.min(count, Math.ceil((scroll + height) / row) + spare) };
}
