/** Figures of queues: length, queueing delay, drops and marks, and the sub-queues of disciplines that have them. */

import type { Resolved, RunData } from "../engine/types";
import { type Figure, figure, type Level, type Line, line, type Series, type Shape } from "./figure";
import { type Choice, many, type Side } from "./figures";
import { column, peak, rowsBy, seriesOf, some } from "./rows";

/** Queues that are shown unless others are chosen: the fullest. */
const FULLEST = 4;

/** Most sub-queues of a queue that are drawn. */
const MOST_SUBQUEUES = 8;

/** A limit further above the queue than this factor is not drawn: the queue would be a line along zero. */
const FAR = 3;

/** Names of the queues that are shown: those chosen, or the fullest of A. */
export function shownQueues(sides: Side[], choice: Choice): string[] {
  const run = sides[0]?.run;
  const table = run?.tables.queues;
  if (!run || !table) return [];
  if (choice.queues) return run.names.queues.filter((name) => choice.queues?.has(name));
  const peaks = run.names.queues.map((name, index) => ({
    name,
    index,
    most: peak(seriesOf(table, "queue", index, "packets")),
  }));
  return peaks
    .filter(({ most }) => most > 0)
    .sort((a, b) => b.most - a.most || a.index - b.index)
    .slice(0, FULLEST)
    .sort((a, b) => a.index - b.index)
    .map(({ name }) => name);
}

/** A queue's name for people. */
export function arrow(name: string): string {
  return name.replace("->", " → ");
}

/** The direction that a queue feeds; null for the interface queues of 802.11 channels. */
// biome-ignore lint/suspicious/noExplicitAny: the format is the engine's
export function direction(resolved: Resolved, queue: number): Record<string, any> | null {
  const link = resolved.links?.[queue >> 1];
  if (!link) return null;
  return resolved.directions?.[queue % 2 === 0 ? link.forward : link.reverse] ?? null;
}

/** The queue of a direction, or the interface queue of the base station or a station of an 802.11 channel. */
// biome-ignore lint/suspicious/noExplicitAny: the format is the engine's
function settings(resolved: Resolved, index: number, name: string): Record<string, any> | undefined {
  const link = direction(resolved, index);
  if (link) return link.queue;
  const [from] = name.split("->");
  for (const { base, stations } of resolved.wifi ?? []) {
    const found = [base, ...stations].find(({ node }) => node === from);
    if (found) return found.queue;
  }
  return undefined;
}

/** Figures of the queues. */
export function queueFigures(sides: Side[], choice: Choice): Figure[] {
  const names = shownQueues(sides, choice);
  const lines = (shape: Shape, series: (side: Side, index: number) => Series | null): Line[] =>
    sides.flatMap((side) =>
      names.flatMap((name, place): Line[] => {
        const index = side.run.names.queues.indexOf(name);
        const made = index < 0 ? null : series(side, index);
        if (!made) return [];
        const common = { name: arrow(name), key: name, arm: side.arm, colour: `--flow-${place % 6}` };
        return [line({ ...common, series: made, shape })];
      }),
    );
  const of = ({ run }: Side, index: number, name: string, scale = 1): Series | null => {
    const table = run.tables.queues;
    return table && rowsBy(table, "queue")[index]?.length
      ? seriesOf(table, "queue", index, name, "gauge", scale)
      : null;
  };
  const inBytes = choice.unit === "bytes";
  const waiting = lines("hold", (side, index) => of(side, index, choice.unit, inBytes ? 1e-3 : 1));
  const delays = lines("hold", delaySeries);
  const dropped = lines("stick", (side, index) => counted(side.run, index, DROPS));
  // The losses of few flows at one queue are those of the plot by flow.
  const repeated = new Set(dropped.map(({ key }) => key)).size < 2 && !many(sides);
  const marked = lines("stick", (side, index) => counted(side.run, index, ["marked"]));
  const made = [
    figure({
      id: "queue",
      title: "Queue length",
      unit: inBytes ? "kB" : "packets",
      note: "Waiting packets; dotted: the limit, where it is near.",
      lines: waiting,
      levels: limits(sides, names, choice.unit),
    }),
    figure({
      id: "delay",
      title: "Queueing delay",
      unit: "ms",
      note: "Time that the waiting bytes need at the link's rate.",
      lines: delays,
    }),
    figure({
      id: "drops",
      title: "Drops by queue",
      unit: "packets",
      note: "Packets that the queue dropped or the link corrupted, per sampling interval.",
      lines: repeated ? [] : dropped,
    }),
    figure({
      id: "marks",
      title: "Marks",
      unit: "packets",
      note: "Packets marked CE (RFC 3168), per sampling interval.",
      lines: marked,
    }),
  ];
  return [...made.filter((one) => one.lines.length), ...subqueueFigures(sides, names, choice)];
}

const DROPS = ["dropped_overflow", "dropped_early", "dropped_forced", "corrupted"];

/** Sum of counters of a queue, as increases; null if they stay zero. */
function counted(run: RunData, index: number, names: string[]): Series | null {
  const table = run.tables.queues;
  if (!table) return null;
  const moving = names.filter((name) => some(seriesOf(table, "queue", index, name), (value) => value > 0));
  const [only] = moving;
  if (only === undefined) return null;
  if (moving.length === 1) return seriesOf(table, "queue", index, only, "count");
  const rows = rowsBy(table, "queue")[index] ?? new Uint32Array();
  const time = Float64Array.from(rows, (row) => column(table, "time_ns")[row] ?? 0);
  const value = Float64Array.from(rows, (row) =>
    moving.reduce((sum, name) => sum + (column(table, name)[row] ?? 0), 0),
  );
  return { time, value, rows: null, scale: 1, kind: "count", before: 0 };
}

/** Waiting bytes over the rate of the link at the time, ms; null for channels and for links that follow a trace. */
function delaySeries({ run, resolved }: Side, index: number): Series | null {
  const table = run.tables.queues;
  const link = direction(resolved, index);
  if (!table || !link?.rate_bps || link.trace || !rowsBy(table, "queue")[index]?.length) return null;
  const changes = (link.changes ?? []).filter((one: { rate_bps: number | null }) => one.rate_bps);
  if (!changes.length) return seriesOf(table, "queue", index, "bytes", "gauge", 8e3 / link.rate_bps);
  const rows = rowsBy(table, "queue")[index] ?? new Uint32Array();
  const time = Float64Array.from(rows, (row) => column(table, "time_ns")[row] ?? 0);
  let [rate, next] = [link.rate_bps as number, 0];
  const value = time.map((at, i) => {
    while (next < changes.length && changes[next].at_ns <= at) rate = changes[next++].rate_bps;
    return ((column(table, "bytes")[rows[i] ?? 0] ?? 0) * 8e3) / rate;
  });
  return { time, value, rows: null, scale: 1, kind: "gauge", before: null };
}

/** Limits of the queues that are shown, each once. */
function limits(sides: Side[], names: string[], unit: Choice["unit"]): Level[] {
  const found: Level[] = [];
  for (const { run, resolved, arm } of sides) {
    names.forEach((name, place) => {
      const index = run.names.queues.indexOf(name);
      const table = run.tables.queues;
      const queue = settings(resolved, index, name);
      const limit = unit === "bytes" ? queue?.limit_bytes : queue?.limit_packets;
      if (!table || typeof limit !== "number") return;
      if (limit > FAR * peak(seriesOf(table, "queue", index, unit))) return;
      const value = unit === "bytes" ? limit / 1e3 : limit;
      const told = sides.length > 1 ? `limit of ${arrow(name)} (${arm.toUpperCase()})` : `limit of ${arrow(name)}`;
      found.push({ name: told, colour: `--flow-${place % 6}`, value });
    });
  }
  return found;
}

/** The longest sub-queues of each queue that is shown and has some. */
function subqueueFigures(sides: Side[], names: string[], choice: Choice): Figure[] {
  return names.flatMap((name) => {
    const lines = sides.flatMap(({ run, arm }): Line[] => {
      const table = run.tables.subqueues;
      const queue = run.names.queues.indexOf(name);
      if (!table?.rows) return [];
      const found = run.names.subqueues
        .filter(([of]) => of === queue)
        .map(([, number, label]) => ({ label, series: subqueue(run, queue, number, choice.unit) }))
        .map((one) => ({ ...one, most: peak(one.series) }))
        .filter(({ most }) => most > 0)
        .sort((a, b) => b.most - a.most)
        .slice(0, MOST_SUBQUEUES)
        .sort((a, b) => a.label.localeCompare(b.label, "en", { numeric: true }));
      return found.map(({ label, series }, place) =>
        line({ name: label, key: `${name}/${label}`, arm, colour: `--flow-${place % 6}`, series, shape: "hold" }),
      );
    });
    if (!lines.length) return [];
    const unit = choice.unit === "bytes" ? "kB" : "packets";
    const note = "Packets waiting in the longest sub-queues.";
    return [figure({ id: `subqueues-${name}`, title: `Sub-queues of ${arrow(name)}`, unit, note, lines })];
  });
}

function subqueue(run: RunData, queue: number, number: number, unit: Choice["unit"]): Series {
  const table = run.tables.subqueues;
  if (!table) throw new Error("there are no sub-queues");
  const all = rowsBy(table, "subqueue")[number] ?? new Uint32Array();
  const of = column(table, "queue");
  const rows = all.filter((row) => of[row] === queue);
  const scale = unit === "bytes" ? 1e-3 : 1;
  return { time: column(table, "time_ns"), value: column(table, unit), rows, scale, kind: "gauge", before: null };
}
