/** What a plot shows, as values: lines over samples, lanes of states, levels. Samples are not copied. */

import type { Arm } from "../model/state";
import type { Grid } from "./grid";
import type { Frame, Pen } from "./pen";

/** Values of one flow, queue or router over time, as a look into the columns of a table. */
export interface Series {
  /** Times, ns. */
  time: Float64Array;
  /** Values or counters; NaN is "no value". */
  value: Float64Array;
  /** Rows of the columns that belong to the series, in order of time; null for all. */
  rows: Uint32Array | null;
  /** What values are multiplied by. */
  scale: number;
  /**
   * `gauge`: the value itself. `rate`: a counter's increase since the row before, per second. `count`: the increase
   * itself.
   */
  kind: "gauge" | "rate" | "count";
  /** Counter before the first row, if it is known. */
  before: number | null;
}

/** How the points of a line are joined: straight, held until the next, held since the last, or a stick from zero. */
export type Shape = "linear" | "hold" | "interval" | "stick";

/** A line of a figure. */
export interface Line {
  /** Name for people. */
  name: string;
  /** Flow, queue or router that it belongs to; the signal `hidden` has names of flows. */
  key: string;
  arm: Arm;
  /** Name of the CSS variable of its colour. */
  colour: string;
  series: Series;
  shape: Shape;
  /** Dashes and gaps, px; empty for a solid line. */
  dash: number[];
  /** Width, px. */
  width: number;
  /** Opacity, of 1. */
  opacity: number;
  /** Band around the line: two gauges with the times of `series`. */
  band: { low: Float64Array; high: Float64Array } | null;
  /** Whether the readout lists it. */
  listed: boolean;
}

/** A stretch of time in which a state holds. */
export interface Stretch {
  from: number;
  to: number;
  /** Index into the figure's words. */
  word: number;
}

/** States of one flow over time: a strip at the top of a plot. */
export interface Lane {
  key: string;
  colour: string;
  stretches: Stretch[];
}

/** A horizontal line: the limit of a queue. */
export interface Level {
  name: string;
  colour: string;
  value: number;
}

/** A plot with its data. */
export interface Figure {
  id: string;
  title: string;
  unit: string;
  /** What the values are, in a sentence. */
  note: string;
  lines: Line[];
  lanes: Lane[];
  /** Names of states, in the order of their colours. */
  words: string[];
  levels: Level[];
  fromZero: boolean;
  /** Draws a figure that is not made of lines. */
  custom: Custom | null;
}

/** A figure that draws itself. */
export interface Custom {
  /** Range of y in a stretch of time; null without data. */
  range(from: number, to: number): [number, number] | null;
  paint(pen: Pen, frame: Frame): void;
  grid(): Grid;
  /** What is at a time, for the readout. */
  told(time: number): [string, string][];
  /** Times that the keyboard steps through, s. */
  times: Float64Array;
  words: { name: string; colour: string }[];
}

/** Number of points. */
export function length(series: Series): number {
  return series.rows ? series.rows.length : series.time.length;
}

/** Time of a point, s. */
export function timeAt(series: Series, index: number): number {
  const row = series.rows ? (series.rows[index] ?? 0) : index;
  return (series.time[row] ?? Number.NaN) / 1e9;
}

/** Value of a point; NaN if there is none. */
export function valueAt(series: Series, index: number): number {
  const { rows, value, time, scale, kind } = series;
  const row = rows ? (rows[index] ?? 0) : index;
  const here = value[row] ?? Number.NaN;
  if (kind === "gauge") return here * scale;
  if (index === 0) return kind === "count" && series.before !== null ? (here - series.before) * scale : Number.NaN;
  const last = rows ? (rows[index - 1] ?? 0) : index - 1;
  const grown = here - (value[last] ?? Number.NaN);
  if (kind === "count") return grown * scale;
  const passed = ((time[row] ?? 0) - (time[last] ?? 0)) / 1e9;
  return passed > 0 ? (grown / passed) * scale : Number.NaN;
}

/** The first point at or after a time, from a point that is known to be no later; the number of points if there is none. */
export function firstFrom(series: Series, time: number, known = 0): number {
  let [low, high] = [known, length(series)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeAt(series, middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The value that a line shows at a time; NaN if none. */
export function shownAt(line: Line, time: number): number {
  const { series, shape } = line;
  const count = length(series);
  const next = firstFrom(series, time);
  if (shape === "interval" || shape === "stick") return next < count ? valueAt(series, next) : Number.NaN;
  if (next < count && timeAt(series, next) === time) return valueAt(series, next);
  if (next === 0) return Number.NaN;
  if (shape === "hold" || next === count)
    return next === count && shape !== "hold" ? Number.NaN : valueAt(series, next - 1);
  const [before, after] = [timeAt(series, next - 1), timeAt(series, next)];
  return time - before < after - time ? valueAt(series, next - 1) : valueAt(series, next);
}

/** A line with the usual settings; A is solid, B dashed and lighter. */
export function line(given: Pick<Line, "name" | "key" | "arm" | "colour" | "series"> & Partial<Line>): Line {
  const second = given.arm === "b";
  return {
    shape: "linear",
    dash: second ? [6, 4] : [],
    width: 1.5,
    opacity: second ? 0.8 : 1,
    band: null,
    listed: true,
    ...given,
  };
}

/** A figure with the usual settings. */
export function figure(given: Pick<Figure, "id" | "title" | "unit" | "note"> & Partial<Figure>): Figure {
  return { lines: [], lanes: [], words: [], levels: [], fromZero: true, custom: null, ...given };
}
